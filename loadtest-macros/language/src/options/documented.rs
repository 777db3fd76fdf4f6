//! The names and the documentation of the options: a Markdown table for each attribute.
//!
//! rustdoc shows the tables, an editor shows their rows, and the parser takes the names from them.

/// The options of `#[scenario(..)]` as a literal, for the documentation of the attribute.
#[doc(hidden)]
#[macro_export]
macro_rules! scenario_options {
    () => {
        r#"| option | |
|---|---|
| `name = "checkout"` | the name in lists and reports; without it, the name of the function |
| `tags = ["shop", "critical"]` | free labels; `--tag critical` selects by them |
| `base = "http://localhost:8080"` | the base URL of the paths of steps; `--base-url` and `LOADTEST_BASE_URL` override it |
| `load = rate(200/s, ramp_up = 10s, for = 1m)` | journeys that start per second, also with `max_users = 500` and `warm_up = 10s`; or virtual users, `users(50, ramp_up = 10s, for = 5m)`, also with `spawn = 5/s` for `ramp_up`, and with `pace = 5s` from one start of a user to its next; or so many journeys, `iterations(1000, users = 10)` in all or `iterations(20/user, users = 10)` by each; or stages, `[rate(0/s -> 200/s, for = 10s), ..]`; or a curve, `rate(wave, for = 10m)` with `fn wave(time: Duration) -> f64` |
| `thresholds(p95 < 300ms, errors < 1% or abort)` | conditions for the run to pass, and to end it early: limits on whole journeys, such as `p50`, `p99_9`, `max`, `mean`, `errors`, `checks` and `rps`, and on all steps with a tag: `tag(api).p95 < 300ms` |
| `apdex = 300ms` | the response time that satisfies, which steps are graded by |
| `budget = 0.5%` | the share of errors that costs no grade |
| `grade_weight = 1` | the share of each step in the grade; without it, the `weight` of the step |
| `weight = 3` | the share in a mix (`--mix`); without it, 1 |
| `start = 30s` | in a mix (`--mix`), the load starts this long after the mix; without a mix it has no effect |
| `reaches = ["tcp://db.staging.example.com:5432"]` | targets of your own clients with `net: &mut Net`, also `tls://` and `udp://`; each must be permitted before the run starts |
| `grace = 2m` | how long journeys in progress may continue after the load, for long streams; without it, 30 s |
| `version = "2"` | shown in reports instead of the fingerprint of the source |
| `header("x-client", "loadtest")` | a header of every step that does not set it itself; repeatable; a header with placeholders for steps is sent with the steps after them: `{{login.headers.x-session}}` |
| `bearer = "{{login.response.token}}"` | the header `authorization: Bearer ..` of every step after `login` that does not set one itself |
| `basic = ("ada", "lovelace")` | the header `authorization: Basic ..` of every step that does not set one itself |
| `http = 2` | the version of the protocol, `1`, `2` or `3`, which needs the feature `http3`; without it, what the target chooses over TLS, and HTTP/1.1 in the clear |
| `connections = 8` | with `http = 2`, all users share this number of connections; without it, each user has its own |
| `connections = new` | each journey opens connections of its own, as new visitors do; without it, a user keeps its own |
| `cookies = user` | how long a cookie is kept: for the `user`, for the `iteration`, or `off` |
| `dns = ttl` | new connections look the host up again, as its addresses may change; without it, each host is looked up once, before the run |
| `insecure = true` | certificates go unchecked, and the report says so |
| `ca = "certs/ca.pem"` | certificates to trust in addition to the system's |
| `identity = "certs/client.pem"` | certificate and private key of the client, for mutual TLS |
| `redirects = 5` | how many redirects each step follows; without it, none |
| `timeout = 5s` | the time for each request of the steps that do not give their own; without it, 30 seconds |
| `think = 1s..3s` | the pause after each step that does not give its own |
| `expect = 2xx \| 404` | the statuses of success of each step that does not give its own |
| `retry(3)` | sends again after a failure, in each step that does not give its own |
| `check = \|answer\| answer.headers().contains_key("etag")` | a condition on the answer of each step, in addition to its own checks |
| `stop_on_failure` | a step that fails ends the journey; without it, only the steps that need its answer are skipped |
| `crate = acme::loadtest` | where the library is, under another name |"#
    };
}

/// The options of `#[step(..)]` as a literal, for the documentation of the attribute.
#[doc(hidden)]
#[macro_export]
macro_rules! step_options {
    () => {
        r#"| every step | |
|---|---|
| `name = "log in"` | the name in lists and reports; without it, the name of the function |
| `tags = ["api"]` | labels, for limits on all steps with a label: `thresholds(tag(api).p95 < 300ms)` |
| `weight = 0.8`, `80%`, `4/5` | the probability that the step runs in an iteration, more than 0 and at most 1; without it, every user runs the step |
| `one_of = view` | at most one of the steps with this name runs in an iteration; their weights share one draw, and are shares of one, or all whole numbers such as `weight = 3` |
| `think = 500ms..2s` | a pause after the step, not part of any latency; also `500ms`, or by mean and standard deviation `normal(2s, 500ms)`, `lognormal(2s, 500ms)`, `exponential(2s)` |
| `rendezvous = 50` | before the step, users wait until 50 of them have arrived, and then continue together; with `rendezvous(50, within = 10s)`, waiting users continue after 10 s; without it, after 30 s |
| `timeout = 2s` | from the request being ready to the last byte of the answer; without it, 30 s |
| `check = \|response\| !response.items.is_empty()` | a condition on the answer; on one that is a number, `check = \|response\| *response == 45` |
| `p95 < 300ms`, `errors < 1%` | limits on this step, as in `thresholds(..)`; of an `async` step also on the requests of one name: `row("order status").p95 < 100ms` |
| `apdex = 300ms` | the response time that satisfies, which the step is graded by |
| `budget = 1%` | the share of errors that costs no grade |
| `grade_weight = 2` | the step's share in the grade of the scenario; without it, the scenario's value, else its `weight` |
| `stop_on_failure` | its failure, or a failed check, ends the journey; without it, only the steps that need its answer are skipped |
| `good(first_event < 800ms, per_unit < 50ms) > 95%` | the conditions of a good execution, on its `response` and `service` time, and the `first_event`, `per_unit` and longest `gap` of a stream; the limit on their share may be left out |
| `once`, `once(for = 50m)` | the step runs in the first iteration of a virtual user, and its answer is kept; or so long, and then the step runs again |
| `refresh = 401` | a `once` step runs again where a step that uses it is answered so, which is sent once more then |
| `last` | the step runs once for each virtual user, after its last iteration, when the load is over |
| `redirects = 5` | how many redirects the step follows; without it, the scenario's value |
| `connections = new` | each request of the step opens a connection of its own |
| `jar = admin` | read and store cookies in a jar with this name; default: the virtual user's jar |

| all but `async` steps | |
|---|---|
| `expect = 200` | the statuses of success, also `2xx`, `200..300`, `201 \| 202`; any other is an error of the step; without it, `2xx` |
| `retry(3, backoff = 100ms, on = 503 \| timeout)` | sends again after such failures; `on` also takes `connect` and `reset` |
| `until = \|job\| job.status == "done"` | sends again until the answer is the one it waits for |
| `every = 500ms` | the pause between two requests of `until` |
| `within = 30s` | when `until` gives up |

| steps that answer `Events<T>` | |
|---|---|
| `first = \|event\| event.text.is_some()` | selects the first event that counts; without it, the first event |
| `end = "[DONE]"`, `\|event\| event.is_last` | the data of the mark that ends the stream, or a condition on the last event; a stream that ends without it fails |
| `units = tokens` | the number of units of work in an answer, as a function of all its events; without it, the number of events |
| `events = 5` | the step ends the stream after this number of events, with success |
| `lasts = 20s` | the step ends the stream after this time, with success |
| `idle = 10s` | the longest time without an event; `idle(bytes) = 10s` lets a heartbeat count that is none; without it, 30 s |
| `format = lines` | a value on each line; or `events`, server-sent events; without it, as the `content-type` says |
| `graded = response` | graded by the time to the last event; without it, by the time to the first |

| steps that answer `Socket<T>` | |
|---|---|
| `protocol = "chat.v2"` | the offered protocol, or several, `"chat.v2, chat.v1"`; the target must choose one |
| `compress = true` | offers compression, `permessage-deflate`; without it, messages are not compressed |
| `heartbeat("ping", every = 25s)` | a text that is sent in this interval, whatever the steps do; with `answer = "pong"`, the answer of the target is not a message for steps |
| `reply("2", "3")` | answers this text of the target, whatever the steps do; it is not a message for steps. May be given several times |

| steps that answer `Graph<T>`, or have `graphql = ".."` | |
|---|---|
| `partial = true` | accepts errors together with data, which `Graph<T>` returns; without it, an answer with errors fails |

| steps without a body | |
|---|---|
| `ws = "/socket?room={{user.room}}"` | opens a WebSocket, of a path or of `wss://host/path`: the step answers `Socket<T>` |
| `get = "/path/{{login.response.id}}"`, `post`, `put`, `patch`, `delete`, `head`, `options` | method and URL of the request |
| `header("x-session", "{{login.headers.x-session}}")` | a header; may be given several times |
| `bearer = "{{login.response.token}}"` | the header `authorization: Bearer ..` |
| `basic = ("ada", "{{login.response.password}}")` | the header `authorization: Basic ..` |
| `query = { "page": 2, "q": "{{login.response.term}}" }` | goes to the end of the query of the URL |
| `json = { "id": {{browse.response.items[0].id}}, "note": "for {{login.response.name}}" }` | a body of JSON |
| `form = { "user": "ada", "remember": true }` | a body as a browser sends it for a form |
| `graphql = "query Cart($id: ID!) { cart(id: $id) { total } }"` | posts the operation to `/graphql`, or to the URL of `post`, and reads the answer from `data` |
| `variables = { "id": {{login.response.cart}} }` | the variables of the operation, as JSON |
| `body = "text with {{login.response.name}}"` | a body of text, or of a file: `body = file("data/blob.bin")` |
| `multipart = { "title": "me", "photo": file("data/me.png") }` | a form of parts, files among them |"#
    };
}

/// The options of `#[feed(..)]` as a literal, for the documentation of the attribute.
#[doc(hidden)]
#[macro_export]
macro_rules! feed_options {
    () => {
        r"| option | meaning |
|---|---|
| `rows = 3` | each journey gets 3 rows, one after another, all different: `user: [&User; 3]`, `{{user[0].name}}`; at most 100. Default: 1 |"
    };
}

/// The options of `#[setup(..)]` as a literal, for the documentation of the attribute.
#[doc(hidden)]
#[macro_export]
macro_rules! setup_options {
    () => {
        r"| option | meaning |
|---|---|
| `for = 50m` | the value is of use for 50 minutes from the start of its fetch; before they are over, it is fetched again |
| `refresh = 401` | also `401 \| 403`: fetched again when a step that uses the value fails with such a status; the step is sent once more |"
    };
}

/// The options of `#[scenario(..)]`.
pub(crate) const SCENARIO_TABLE: &str = scenario_options!();
/// The options of `#[step(..)]`.
pub(crate) const STEP_TABLE: &str = step_options!();
/// The options of `#[feed(..)]`.
pub(crate) const FEED_TABLE: &str = feed_options!();
/// The options of `#[setup(..)]`.
pub(crate) const SETUP_TABLE: &str = setup_options!();

/// Returns the options of a table with their documentation. A row may describe several.
pub(crate) fn documented_options(table: &str) -> impl Iterator<Item = (&str, String)> {
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.flat_map(|line| {
        let row = line
            .strip_prefix("| ")
            .and_then(|row| row.strip_suffix(" |"));
        let (samples, text) = row
            .and_then(|row| row.split_once(" | "))
            .unwrap_or_default();
        let text = format!("{samples}: {text}").replace("\\|", "|");
        let names = samples
            .split('`')
            .skip(1)
            .step_by(2)
            .filter_map(option_name);
        names.map(move |name| (name, text.clone()))
    })
}

/// An option as its documentation shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentedOption {
    /// The head of its rows, which says where the option has a place: "every step".
    pub place: &'static str,
    /// The word before `=` or `(`, or the only one.
    pub name: &'static str,
    /// The option with a value: `timeout = 2s`.
    pub sample: &'static str,
}

/// Returns the options of `#[scenario(..)]`, in the order of the documentation.
pub fn documented_scenario_options() -> Vec<DocumentedOption> {
    read_samples(SCENARIO_TABLE)
}

/// Returns the options of `#[step(..)]`, limits aside, in the order of the documentation.
pub fn documented_step_options() -> Vec<DocumentedOption> {
    read_samples(STEP_TABLE)
}

/// Returns the first sample of each option in a table.
fn read_samples(table: &'static str) -> Vec<DocumentedOption> {
    let mut place = "";
    let mut all: Vec<DocumentedOption> = Vec::new();
    for line in table.lines() {
        let cell = line.strip_prefix("| ").unwrap_or_default();
        if !cell.starts_with('`') {
            // a line of dashes, or an empty one, is no head
            place = cell
                .split(" | ")
                .next()
                .filter(|head| !head.is_empty())
                .unwrap_or(place);
            continue;
        }
        let samples = cell.split(" | ").next().unwrap_or_default();
        for sample in samples.split('`').skip(1).step_by(2) {
            let Some(name) = option_name(sample) else {
                continue;
            };
            if all.iter().all(|one| one.name != name) {
                all.push(DocumentedOption {
                    place,
                    name,
                    sample,
                });
            }
        }
    }
    all
}

/// Returns the names of the options in a table.
pub(crate) fn option_names(table: &'static str) -> Vec<&'static str> {
    let mut names: Vec<_> = documented_options(table).map(|(name, _)| name).collect();
    // A row may show several forms of an option.
    names.dedup();
    names
}

/// Returns the word before `=` or `(`, or the only one.
fn option_name(sample: &str) -> Option<&str> {
    let is_of_word = |c: char| c == '_' || c.is_ascii_lowercase();
    let end = sample.find(|c| !is_of_word(c)).unwrap_or(sample.len());
    let (name, rest) = sample.split_at(end);
    let rest = rest.trim_start();
    (!name.is_empty() && (rest.is_empty() || rest.starts_with(['=', '(']))).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_pages_of_the_documentation_list_the_same_options() {
        let pages = [
            (
                SCENARIO_TABLE,
                include_str!("../../../../docs/language.md"),
                "## Scenario options",
            ),
            (
                STEP_TABLE,
                include_str!("../../../../docs/steps.md"),
                "## Options",
            ),
            (
                FEED_TABLE,
                include_str!("../../../../docs/language.md"),
                "### Several rows for a journey",
            ),
            (
                SETUP_TABLE,
                include_str!("../../../../docs/language.md"),
                "### Values that are fetched again",
            ),
        ];
        for (table, page, title) in pages {
            let (_, section) = page.split_once(title).unwrap();
            let section = section.split("\n## ").next().unwrap();
            let names =
                |text| -> BTreeSet<_> { documented_options(text).map(|(name, _)| name).collect() };
            assert_eq!(names(section), names(table), "{title}");
        }
    }

    #[test]
    fn a_row_describes_each_of_its_options() {
        let row = "| `get = \"/a\"`, `post`, `80%`, `p95 < 1s` | a \\| b |";
        let text = "`get = \"/a\"`, `post`, `80%`, `p95 < 1s`: a | b".to_owned();
        let found: Vec<_> = documented_options(row).collect();
        assert_eq!(found, [("get", text.clone()), ("post", text)]);
    }
}
