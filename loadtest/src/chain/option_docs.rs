//! The documentation of the options, for editors: the names of attributes are no items, so that these
//! variants stand in for them. Nothing here is ever called.

/// The parts of a response that a placeholder can take.
#[derive(Debug)]
pub struct Answer<T> {
    /// `{{login.response.token}}`: the body.
    pub response: T,
    /// `{{login.headers.location}}`: a header, whose name follows.
    pub headers: (),
}

/// The options of `#[scenario(..)]`.
#[derive(Debug)]
pub enum scenario {
    /// `name = "checkout"`: the name in lists and reports. Without it, that of the function.
    name,
    /// `tags = ["shop", "critical"]`: free labels; `--tag critical` selects by them.
    tags,
    /// `base = "http://localhost:8080"`: what the paths of the steps are joined to. `--base-url` and
    /// `LOADTEST_BASE_URL` take its place.
    base,
    /// `load = rate(200/s, ramp_up = 10s, for = 1m)`, `users(50, for = 5m)`,
    /// `iterations(1000, users = 10)`, or a list of stages like `[rate(0/s -> 200/s, for = 10s)]`.
    load,
    /// `thresholds(p95 < 300ms, errors < 1% or abort)`: what has to hold for the run to pass, and what ends
    /// it early.
    thresholds,
    /// `apdex = 300ms`: the response time that satisfies, which steps are graded by.
    apdex,
    /// `budget = 0.5%`: the share of errors that costs no grade.
    budget,
    /// `grade_weight = 1`: the share of each step in the grade. Without it, the `weight` of the step.
    grade_weight,
    /// `version = "2"`: stands in reports in place of the fingerprint of the source.
    version,
    /// `weight = 3`: the scenario's share of a mix (`--mix`). Without it, 1.
    weight,
    /// `header("x-client", "loadtest")`: on every step that does not set it itself; may be given several
    /// times. One whose value names steps is on the steps after them: `{{login.headers.x-session}}`.
    header,
    /// `bearer = "{{login.response.token}}"`: the header `authorization: Bearer ..` of every step after
    /// `login` that does not set one itself.
    bearer,
    /// `basic = ("ada", "lovelace")`: the header `authorization: Basic ..` of every step that does not set
    /// one itself.
    basic,
    /// `http = 2`: the version of the protocol, `1` or `2`. Without it, what the target chooses over TLS
    /// and HTTP/1.1 in the clear.
    http,
    /// `cookies = user`: how long a cookie is kept: for the `user`, for the `iteration`, or `off`.
    cookies,
    /// `dns = ttl`: new connections look the host up again, as its addresses may change. Without it, each host
    /// is looked up once, before the run.
    dns,
    /// `insecure = true`: certificates go unchecked, and the report says so.
    insecure,
    /// `ca = "certs/ca.pem"`: certificates to trust besides those of the system.
    ca,
    /// `identity = "certs/client.pem"`: certificate and private key of the client, for mutual TLS.
    identity,
    /// `redirects = 5`: how many redirects each step follows. Without it, none.
    redirects,
    /// `timeout = 5s`: for each step that does not give its own. Without it, 30 seconds.
    timeout,
    /// `think = 1s..3s`: the pause after each step that does not give its own.
    think,
    /// `expect = 2xx | 404`: the statuses of success of each step that does not give its own.
    expect,
    /// `retry(3)`: for each step that does not give its own.
    retry,
    /// `check = |answer| answer.headers().contains_key("etag")`: holds for the answer of each step, besides the
    /// checks of its own.
    check,
    /// `stop_on_failure`: a step that fails ends the journey. Without it, only the steps that need its answer are
    /// skipped.
    stop_on_failure,
}

/// The options of `#[step(..)]`.
#[derive(Debug)]
pub enum step {
    /// `name = "log in"`: the name in lists and reports. Without it, that of the function.
    name,
    /// `weight = 0.8`, `80%` or `4/5`: the probability that the step runs in an iteration, more than 0 and at
    /// most 1. Without it, every user runs the step.
    weight,
    /// `one_of = view`: at most one of the steps with this name runs in an iteration; their weights share
    /// one draw, and are shares of one, or all whole numbers such as `weight = 3`.
    one_of,
    /// `expect = 200`, `2xx`, `200..300`, `201 | 202`: any other status is an error of the step.
    /// Without it, `2xx`.
    expect,
    /// `think = 500ms` or `500ms..2s`: a pause after the step, part of no latency.
    think,
    /// `timeout = 2s`: from the request being ready to the last byte of the answer. Without it, 30 s.
    timeout,
    /// `header("x-session", "{{login.headers.x-session}}")`: may be given several times.
    header,
    /// `bearer = "{{login.response.token}}"`: the header `authorization: Bearer ..`.
    bearer,
    /// `basic = ("ada", "{{login.response.password}}")`: the header `authorization: Basic ..`.
    basic,
    /// `query = { "page": 2, "q": "{{login.response.term}}" }`: goes to the end of the query of the URL.
    query,
    /// `form = { "user": "ada", "remember": true }`: what a browser sends for a form.
    form,
    /// `body = "text with {{login.response.name}}"` or `body = file("data/blob.bin")`.
    body,
    /// `multipart = { "title": "me", "photo": file("data/me.png") }`: a form of parts, files among them.
    multipart,
    /// `json = { "id": {{browse.response.items[0].id}}, "note": "for {{login.response.name}}" }`.
    json,
    /// `apdex = 300ms`: the response time that satisfies, which the step is graded by.
    apdex,
    /// `budget = 1%`: the share of errors that costs no grade.
    budget,
    /// `grade_weight = 2`: the step's share in the grade of the scenario. Without it, that of the scenario, else its
    /// `weight`.
    grade_weight,
    /// `check = |response| !response.items.is_empty()`: a condition on the answer; on one that is a number,
    /// `check = |response| *response == 45`.
    check,
    /// `redirects = 5`: how many redirects the step follows. Without it, those of the scenario.
    redirects,
    /// `stop_on_failure`: its failure, or that of one of its checks, ends the journey. Without it, only the steps
    /// that need its answer are skipped.
    stop_on_failure,
    /// `once`: the step runs in the first iteration of a virtual user, and its answer is kept.
    once,
    /// `last`: the step runs once for each virtual user, after its last iteration, when the load is over.
    last,
    /// `retry(3, backoff = 100ms, on = 503 | timeout)`: sends again after such failures.
    retry,
    /// `until = |job| job.status == "done"`: sends again until the answer is the one it waits for.
    until,
    /// `every = 500ms`: the pause between two requests of `until`.
    every,
    /// `within = 30s`: when `until` gives up.
    within,
    /// `get = "/path/{{login.response.id}}"`: method and URL of the request.
    get,
    /// `post = "/path/{{login.response.id}}"`: method and URL of the request.
    post,
    /// `put = "/path/{{login.response.id}}"`: method and URL of the request.
    put,
    /// `delete = "/path/{{login.response.id}}"`: method and URL of the request.
    delete,
    /// `patch = "/path/{{login.response.id}}"`: method and URL of the request.
    patch,
    /// `head = "/path/{{login.response.id}}"`: method and URL of the request.
    head,
    /// `options = "/path/{{login.response.id}}"`: method and URL of the request.
    options,
}
