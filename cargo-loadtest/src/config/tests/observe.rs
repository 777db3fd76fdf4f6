//! `[[observe]]`, and what is wrong in it.

use super::*;

const DATABASE: &str = "[[observe]]\nname = \"db cpu\"\nprometheus = \"http://127.0.0.1:9090\"\n\
                        query = \"sum(a)\"\n";
const NODE: &str = "[[observe]]\nname = \"node\"\nscrape = \"http://127.0.0.1:9100/metrics\"\n";

#[test]
fn sources_are_read_with_their_figures() {
    let text = format!(
        "{DATABASE}unit = \"cores\"\nlimit = \"max < 3.5 or abort\"\ntoken_env = \"T\"\n\n{NODE}\
         metrics = [{{ name = \"cpu\", family = \"node_cpu\", where = {{ mode = \"!idle\" }}, as = \"rate\" }}, \
         {{ family = \"load\", by = \"host\" }}]\ninterval = \"2s\"\n\n[[observe]]\nprocess = \"memory\"\n\
         limit = \"max < 1GiB\"\n"
    );
    let config = parse(&text).unwrap();
    let [database, node, process] = &config.observe[..] else {
        panic!("{config:?}")
    };
    let words = |source: &ObserveConfig| {
        let figures = source.figures();
        let words: Vec<_> = figures.iter().map(FigureConfig::describe).collect();
        words.join("; ")
    };
    assert_eq!(words(database), "db cpu in cores, max < 3.5 cores or abort");
    assert_eq!(database.place(), "http://127.0.0.1:9090");
    assert_eq!(words(node), "node cpu; node");
    let metric = node.figures()[0].metric.clone().unwrap();
    let idle = LabelMatch::parse("mode".to_owned(), "!idle".to_owned()).unwrap();
    assert_eq!(metric.labels, [idle]);
    assert!(metric.is_rate);
    assert_eq!(node.figures()[1].by.as_deref(), Some("host"));
    assert_eq!(node.interval, Some(Duration::from_secs(2)));
    assert_eq!(
        words(process),
        "target memory in bytes, max < 1.1 GB",
        "the size is shown in powers of ten"
    );
    assert_eq!(config.observe_lines, [1, 9, 15]);
}

#[test]
fn a_figure_per_request_has_a_unit_of_its_own() {
    let text = format!(
        "{DATABASE}unit = \"cores\"\nper = \"request\"\nlimit = \"mean < 3ms\"\n\n{NODE}\
         metrics = [{{ name = \"sent\", family = \"a\", as = \"rate\", per = \"request\", unit = \"bytes/s\" }}, \
         {{ name = \"jobs\", family = \"b\", as = \"rate\", per = \"request\" }}]\n\n\
         [[observe]]\nprocess = \"cpu\"\nper = \"request\"\n\n\
         [[observe]]\nprocess = \"cpu\"\nlimit = \"max < 2\"\n"
    );
    let config = parse(&text).unwrap();
    let figures = config.observe.iter().flat_map(ObserveConfig::figures);
    let words: Vec<_> = figures.map(|figure| figure.describe()).collect();
    assert_eq!(
        words,
        [
            "db cpu in s/request, mean < 3.00 ms/request",
            "node sent in bytes/request",
            "node jobs in /request",
            "target cpu per request in s/request",
            "target cpu in cores, max < 2 cores",
        ]
    );
}

#[test]
fn what_is_wrong_with_a_source_is_told_with_its_line() {
    let metrics = "metrics = [{ family = \"a\" }]\n";
    for (text, told) in [
        (
            "[[observe]]\nname = \"a\"\n".to_owned(),
            "line 2: `[[observe]]` has no source; write `prometheus = ",
        ),
        (
            format!("{DATABASE}process = \"cpu\"\n"),
            "line 2: `[[observe]]` has one source, not `prometheus` and `process`",
        ),
        (
            format!("{DATABASE}quary = \"x\"\n"),
            "line 6: unknown key `quary`; did you mean `query`?",
        ),
        (
            DATABASE.replace("query = \"sum(a)\"\n", ""),
            "line 2: `[[observe]]` with `prometheus` needs `query`",
        ),
        (
            DATABASE.replace("name = \"db cpu\"\n", ""),
            "`[[observe]]` with `prometheus` needs `name`; write `name = \"db cpu\"`",
        ),
        (
            NODE.to_owned(),
            "`[[observe]]` with `scrape` needs `metrics`; write `metrics = [{ family",
        ),
        (
            format!("{NODE}{metrics}limit = \"max < 3\"\n"),
            "`[[observe]]` with `scrape` has no `limit`; write it in one of the `metrics`",
        ),
        (
            format!("{NODE}metrics = [{{ name = \"a\" }}]\n"),
            "`[[observe.metrics]]` has no `family`",
        ),
        (
            format!("{NODE}metrics = [{{ family = \"a\", ass = \"rate\" }}]\n"),
            "unknown key `ass`; did you mean `as`?",
        ),
        (
            format!("{NODE}metrics = [{{ family = \"a\", as = \"speed\" }}]\n"),
            "is not a way to read a value; there is `value` and `rate`",
        ),
        (
            format!("{NODE}metrics = [{{ family = \"a\", where = {{ mode = \"/user(/\" }} }}]\n"),
            "line 5: `where`: has `/user(/`, which is not a regular expression: unclosed group",
        ),
        (
            "[[observe]]\nprocess = \"cpus\"\nlimit = \"max < 3\"\n".to_owned(),
            "is not a figure of a process; did you mean `cpu`?",
        ),
        (
            "[[observe]]\nprocess = \"threads\"\nper = \"request\"\n".to_owned(),
            "`target threads` is not a rate, so it cannot be divided by requests; write `process = \"cpu\"`",
        ),
        (
            format!("{NODE}metrics = [{{ family = \"a\", per = \"request\" }}]\n"),
            "`a` with `per = \"request\"` is divided as a rate; write `as = \"rate\"`",
        ),
        (
            format!("{DATABASE}per = \"second\"\n"),
            "is not a unit to divide by; there is `request`",
        ),
        (
            format!(
                "{DATABASE}unit = \"cores\"\nper = \"request\"\nlimit = \"max < 1ms or abort\"\n"
            ),
            "a limit of a figure per request is judged after the load; leave `or abort` out",
        ),
        (
            "[[observe]]\nprocess = \"cpu\"\n".to_owned(),
            "`[[observe]]` with `process` needs `limit`; write `limit = \"max < 3.5\"`",
        ),
    ] {
        assert_mistake(&text, told);
    }
}

#[test]
fn what_is_wrong_with_a_value_is_told_without_its_secrets() {
    for (text, told) in [
        (
            format!("{DATABASE}limit = \"p95 < 3\"\n"),
            "line 6: `limit = \"p95 < 3\"` is a limit of `p95`, which is not a statistic",
        ),
        (
            format!("{DATABASE}limit = \"max < 80%\"\n"),
            "line 2: its limit is in `%`, and it has no unit; write `unit = \"%\"`",
        ),
        (
            format!("{DATABASE}interval = \"100ms\"\n"),
            "is not a number of whole seconds; write `1s` to `5m`",
        ),
        (
            DATABASE.replace("http://", "http://ada:hush@"),
            "line 4: `prometheus` holds a user name, a password or a token",
        ),
        (
            NODE.replace("/metrics", "/metrics?api_key=hush"),
            "`scrape` holds a user name, a password or a token",
        ),
        (
            format!(
                "{}token_env = \"HUSH\"\n",
                DATABASE.replace("127.0.0.1:9090", "10.0.0.1/hush")
            ),
            "a secret would go to another host over plain `http`",
        ),
        (
            format!("{DATABASE}token_env = \"A\"\nbasic_env = \"B\"\n"),
            "`[[observe]]` has `token_env` or `basic_env`, not both",
        ),
        (
            format!("{DATABASE}\n{DATABASE}"),
            "there are two figures called `db cpu`",
        ),
        (
            DATABASE.replace("db cpu", "target cpu"),
            "`target cpu` is a figure of the target's process",
        ),
        (
            format!("{NODE}metrics = [{}]\n", {
                let metric = |number| format!("{{ name = \"{number}\", family = \"a\" }}");
                (0..33).map(metric).collect::<Vec<_>>().join(", ")
            }),
            "33 series are too many: at most 32",
        ),
        (
            "observe = 1\n".to_owned(),
            "`observe` is a list of tables; write `[[observe]]`",
        ),
    ] {
        assert_mistake(&text, told);
    }
}

#[track_caller]
fn assert_mistake(text: &str, told: &str) {
    let error = parse(&format!("\n{text}")).unwrap_err();
    assert!(error.contains(told), "{text}: {error}");
    assert!(!error.contains("hush"), "{error}");
}
