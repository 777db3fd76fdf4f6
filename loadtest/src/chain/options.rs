//! The documentation of the options, for editors: the names of attributes are no items, so that these
//! stand in for them. Nothing here is ever called.

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
    /// `thresholds(p95 < 300ms, errors < 1%)`: what has to hold for the run to pass.
    #[derive(Debug)]
    pub struct thresholds;
    /// `apdex = 300ms`: the response time that satisfies, which steps are graded by.
    #[derive(Debug)]
    pub struct apdex;
    /// `budget = 0.5%`: the share of errors that costs no grade.
    #[derive(Debug)]
    pub struct budget;
    /// `version = "2"`: stands in reports in place of the fingerprint of the source.
    #[derive(Debug)]
    pub struct version;
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
    /// `json = { "id": {{browse.response.items[0].id}}, "note": "for {{login.response.name}}" }`.
    #[derive(Debug)]
    pub struct json;
    /// `apdex = 300ms`: the response time that satisfies, which the step is graded by.
    #[derive(Debug)]
    pub struct apdex;
    /// `budget = 1%`: the share of errors that costs no grade.
    #[derive(Debug)]
    pub struct budget;
    /// `grade_weight = 2`: the step's share in the grade of the scenario. Without it, its `weight`.
    #[derive(Debug)]
    pub struct grade_weight;
    /// `check = |response| !response.items.is_empty()`: a condition on the answer.
    #[derive(Debug)]
    pub struct check;

    macro_rules! methods {
        ($($method:ident)*) => {$(
            #[doc = concat!("`", stringify!($method), " = \"/path/{{login.response.id}}\"`: method and URL of the request.")]
            #[derive(Debug)]
            pub struct $method;
        )*};
    }
    methods! { get post put delete patch head options }
}
