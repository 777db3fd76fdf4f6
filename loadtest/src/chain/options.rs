//! The documentation of the options, for editors: the names of attributes are no items, so that these
//! stand in for them. Nothing here is ever called.

/// The parts of a response that a placeholder can take.
#[derive(Debug)]
pub struct Answer<T> {
    /// `{{login.response.token}}`: the body.
    pub response: T,
    /// `{{login.headers.location}}`: a header, whose name follows.
    pub headers: (),
}

/// The options of `#[scenario(..)]`.
pub mod scenario {
    /// `name = "checkout"`: the name in lists and reports. Without it, that of the function.
    #[derive(Debug)]
    pub struct name;
    /// `tags = ["shop", "critical"]`: free labels; `--tag critical` selects by them.
    #[derive(Debug)]
    pub struct tags;
    /// `base = "http://localhost:8080"`: what the paths of the steps are joined to. `--base-url` and
    /// `LOADTEST_BASE_URL` take its place.
    #[derive(Debug)]
    pub struct base;
    /// `load = rate(200/s, ramp_up = 10s, for = 1m)`, `users(50, for = 5m)`,
    /// `iterations(1000, users = 10)`, or a list of stages like `[rate(0/s -> 200/s, for = 10s)]`.
    #[derive(Debug)]
    pub struct load;
    /// `thresholds(p95 < 300ms, errors < 1% or abort)`: what has to hold for the run to pass, and what ends
    /// it early.
    #[derive(Debug)]
    pub struct thresholds;
    /// `apdex = 300ms`: the response time that satisfies, which steps are graded by.
    #[derive(Debug)]
    pub struct apdex;
    /// `budget = 0.5%`: the share of errors that costs no grade.
    #[derive(Debug)]
    pub struct budget;
    /// `grade_weight = 1`: the share of each step in the grade. Without it, the `weight` of the step.
    #[derive(Debug)]
    pub struct grade_weight;
    /// `version = "2"`: stands in reports in place of the fingerprint of the source.
    #[derive(Debug)]
    pub struct version;
    /// `weight = 3`: the scenario's share of a mix (`--mix`). Without it, 1.
    #[derive(Debug)]
    pub struct weight;
    /// `header("x-client", "loadtest")`: on every step that does not set it itself; may be given several
    /// times. One whose value names steps is on the steps after them: `{{login.headers.x-session}}`.
    #[derive(Debug)]
    pub struct header;
    /// `bearer = "{{login.response.token}}"`: the header `authorization: Bearer ..` of every step after
    /// `login` that does not set one itself.
    #[derive(Debug)]
    pub struct bearer;
    /// `basic = ("ada", "lovelace")`: the header `authorization: Basic ..` of every step that does not set
    /// one itself.
    #[derive(Debug)]
    pub struct basic;
    /// `http = 2`: the version of the protocol, `1` or `2`. Without it, what the target chooses over TLS
    /// and HTTP/1.1 in the clear.
    #[derive(Debug)]
    pub struct http;
    /// `cookies = user`: how long a cookie is kept: for the `user`, for the `iteration`, or `off`.
    #[derive(Debug)]
    pub struct cookies;
    /// `dns = ttl`: new connections look the host up again, as its addresses may change. Without it, each host
    /// is looked up once, before the run.
    #[derive(Debug)]
    pub struct dns;
    /// `insecure = true`: certificates go unchecked, and the report says so.
    #[derive(Debug)]
    pub struct insecure;
    /// `ca = "certs/ca.pem"`: certificates to trust besides those of the system.
    #[derive(Debug)]
    pub struct ca;
    /// `identity = "certs/client.pem"`: certificate and private key of the client, for mutual TLS.
    #[derive(Debug)]
    pub struct identity;
    /// `redirects = 5`: how many redirects each step follows. Without it, none.
    #[derive(Debug)]
    pub struct redirects;
}

/// The options of `#[step(..)]`.
pub mod step {
    /// `name = "log in"`: the name in lists and reports. Without it, that of the function.
    #[derive(Debug)]
    pub struct name;
    /// `weight = 0.8` or `80%`: the probability that the step runs in an iteration, more than 0 and at
    /// most 1. Without it, every user runs the step.
    #[derive(Debug)]
    pub struct weight;
    /// `one_of = view`: at most one of the steps with this name runs in an iteration; their weights share
    /// one draw and add up to at most 1.
    #[derive(Debug)]
    pub struct one_of;
    /// `expect = 200`, `2xx`, `200..300`, `201 | 202`: any other status is an error of the step.
    /// Without it, `2xx`.
    #[derive(Debug)]
    pub struct expect;
    /// `think = 500ms` or `500ms..2s`: a pause after the step, part of no latency.
    #[derive(Debug)]
    pub struct think;
    /// `timeout = 2s`: from the request being ready to the last byte of the answer. Without it, 30 s.
    #[derive(Debug)]
    pub struct timeout;
    /// `header("x-session", "{{login.headers.x-session}}")`: may be given several times.
    #[derive(Debug)]
    pub struct header;
    /// `bearer = "{{login.response.token}}"`: the header `authorization: Bearer ..`.
    #[derive(Debug)]
    pub struct bearer;
    /// `basic = ("ada", "{{login.response.password}}")`: the header `authorization: Basic ..`.
    #[derive(Debug)]
    pub struct basic;
    /// `query = { "page": 2, "q": "{{login.response.term}}" }`: goes to the end of the query of the URL.
    #[derive(Debug)]
    pub struct query;
    /// `form = { "user": "ada", "remember": true }`: what a browser sends for a form.
    #[derive(Debug)]
    pub struct form;
    /// `body = "text with {{login.response.name}}"` or `body = file("data/blob.bin")`.
    #[derive(Debug)]
    pub struct body;
    /// `multipart = { "title": "me", "photo": file("data/me.png") }`: a form of parts, files among them.
    #[derive(Debug)]
    pub struct multipart;
    /// `json = { "id": {{browse.response.items[0].id}}, "note": "for {{login.response.name}}" }`.
    #[derive(Debug)]
    pub struct json;
    /// `apdex = 300ms`: the response time that satisfies, which the step is graded by.
    #[derive(Debug)]
    pub struct apdex;
    /// `budget = 1%`: the share of errors that costs no grade.
    #[derive(Debug)]
    pub struct budget;
    /// `grade_weight = 2`: the step's share in the grade of the scenario. Without it, that of the scenario, else its
    /// `weight`.
    #[derive(Debug)]
    pub struct grade_weight;
    /// `check = |response| !response.items.is_empty()`: a condition on the answer; on one that is a number,
    /// `check = |response| *response == 45`.
    #[derive(Debug)]
    pub struct check;
    /// `redirects = 5`: how many redirects the step follows. Without it, those of the scenario.
    #[derive(Debug)]
    pub struct redirects;
    /// `once`: the step runs in the first iteration of a virtual user, and its answer is kept.
    #[derive(Debug)]
    pub struct once;
    /// `last`: the step runs once for each virtual user, after its last iteration, when the load is over.
    #[derive(Debug)]
    pub struct last;
    /// `retry(3, backoff = 100ms, on = 503 | timeout)`: sends again after such failures.
    #[derive(Debug)]
    pub struct retry;
    /// `until = |job| job.status == "done"`: sends again until the answer is the one it waits for.
    #[derive(Debug)]
    pub struct until;
    /// `every = 500ms`: the pause between two requests of `until`.
    #[derive(Debug)]
    pub struct every;
    /// `within = 30s`: when `until` gives up.
    #[derive(Debug)]
    pub struct within;

    macro_rules! methods {
        ($($method:ident)*) => {$(
            #[doc = concat!("`", stringify!($method), " = \"/path/{{login.response.id}}\"`: method and URL of the request.")]
            #[derive(Debug)]
            pub struct $method;
        )*};
    }
    methods! { get post put delete patch head options }
}
