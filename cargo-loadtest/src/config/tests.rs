//! What is read, and what is said of what cannot be.

use super::*;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(text, Path::new("/home/ada/loadtest.toml")).map_err(|error| error.to_string())
}

#[test]
fn every_key_is_read() {
    let config = parse(
        "[store]\ndirectory = \"runs\"\n[grading]\napdex = \"300ms\"\nbudget = \"0.5%\"\n\
         grade_weight = 1\n",
    )
    .unwrap();
    assert_eq!(
        config.store.directory,
        Some(PathBuf::from("/home/ada/runs"))
    );
    assert_eq!(config.grading.apdex, Some(Duration::from_millis(300)));
    assert_eq!(config.grading.budget, Some(0.005));
    assert_eq!(config.grading.grade_weight, Some(1.0));
    assert_eq!(parse("").unwrap(), Config::default());
}

#[test]
fn all_mistakes_are_told_with_their_lines() {
    let error =
        parse("[stor]\n\n[grading]\napdex = 500\nbudget = \"1\"\nbudgets = \"1%\"\n").unwrap_err();
    let lines: Vec<_> = error.lines().collect();
    assert_eq!(
        lines,
        [
            "/home/ada/loadtest.toml: line 1: unknown key `stor`; did you mean `store`?",
            "/home/ada/loadtest.toml: line 4: `apdex` is text, not integer; \
             write it in quotes: `apdex = \"500ms\"`",
            "/home/ada/loadtest.toml: line 5: `budget = \"1\"` has no unit; write `1%`",
            "/home/ada/loadtest.toml: line 6: unknown key `budgets`; did you mean `budget`?",
        ]
    );
}

#[test]
fn a_weight_in_the_grade_is_a_number_that_is_not_negative() {
    let read = |value: &str| parse(&format!("[grading]\ngrade_weight = {value}\n"));
    assert_eq!(read("0.5").unwrap().grading.grade_weight, Some(0.5));
    assert_eq!(read("1_000").unwrap().grading.grade_weight, Some(1_000.0));
    for value in ["-1", "\"1\"", "nan", "inf", "true", "2_000_000", "0x10"] {
        let error = read(value).unwrap_err();
        assert!(error.contains("line 2: `grade_weight"), "{value}: {error}");
        let instead = ["a number from 0 to 1000000", "write `grade_weight = 1`"];
        assert!(instead.iter().any(|words| error.contains(words)), "{error}");
    }
}

#[test]
fn broken_toml_names_the_line() {
    let error = parse("[store]\ndirectory = \n").unwrap_err();
    assert!(error.contains("line 2"), "{error}");
}

#[test]
fn targets_are_not_taken_as_if_they_were_heeded() {
    let error = parse("\n[[targets]]\nhost = \"staging.example\"\n").unwrap_err();
    assert!(
        error.contains("line 2: `[[targets]]` comes in a later version"),
        "{error}"
    );
}

#[test]
fn text_in_another_encoding_names_the_line() {
    let path = Path::new("loadtest.toml");
    let error = Config::decode(b"[store]\ndirectory = \"\xff\"\n", path).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("line 2"), "{error}");
}

#[test]
fn a_value_in_place_of_a_table_is_refused() {
    let error = parse("grading = 1\n").unwrap_err();
    assert!(error.contains("`grading` is a table"), "{error}");
}

#[test]
fn the_nearest_file_up_to_the_workspace_counts() {
    let outside = tempfile::tempdir().unwrap();
    let root = outside.path().join("workspace");
    let member = root.join("crates/shop");
    std::fs::create_dir_all(&member).unwrap();
    let write = |folder: &Path, budget: &str| {
        let text = format!("[grading]\nbudget = \"{budget}\"\n");
        std::fs::write(folder.join(FILE_NAME), text).unwrap();
    };
    let budget = || Config::load(&member, &root).unwrap().grading.budget;
    write(outside.path(), "1%");
    assert_eq!(budget(), None);
    write(&root, "2%");
    assert_eq!(budget(), Some(0.02));
    write(&member, "3%");
    assert_eq!(budget(), Some(0.03));
}

#[test]
fn runs_are_kept_by_number_and_by_age() {
    let store = parse("[store]\nkeep = 1_000\nmax_age = \"30d\"\n")
        .unwrap()
        .store;
    assert_eq!((store.keep, store.max_age), (Some(1_000), Some(30 * DAY)));
    for (line, told) in [
        ("keep = 0", "`keep = 0` is no number of runs; write `50`"),
        ("keep = -1", "is no number of runs"),
        (
            "keep = 1.5",
            "`keep` is a whole number, not float; write `keep = 50`",
        ),
        ("keep = \"50\"", "`keep` is a whole number, not string"),
        ("max_age = 30", "write it in quotes: `max_age = \"30d\"`"),
        ("max_age = \"0d\"", "would keep no run"),
        ("max_age = \"30\"", "has no unit"),
        (
            "max_age = \"3 weeks\"",
            "unknown unit `weeks`; use `ms`, `s`, `m`, `h` or `d`",
        ),
        ("directory = \" \"", "is empty"),
        (
            "directory = [\"a\"]",
            "`directory` is text, not array; write `directory = \"target",
        ),
        ("max_ages = \"30d\"", "did you mean `max_age`?"),
    ] {
        let error = parse(&format!("[store]\n{line}\n")).unwrap_err();
        assert!(error.contains("line 2: "), "{error}");
        assert!(error.contains(told), "{line}: {error}");
    }
}

#[test]
fn webhooks_are_read_with_what_goes_without_saying() {
    let config = parse(
        "[[notify]]\nurl = \"https://hooks.example.com/x\"\n\n[[notify]]\n\
         url = \"http://127.0.0.1:9\"\nevents = [\"gate.failed\", \"run.started\", \"gate.failed\"]\n\
         format = \"slack\"\nsecret_env = \"HOOK_KEY\"\n",
    )
    .unwrap();
    let [one, other] = config.notify.as_slice() else {
        panic!("{config:?}")
    };
    assert_eq!(
        *one,
        Notify {
            url: "https://hooks.example.com/x".to_owned(),
            events: vec![Event::RunStarted, Event::RunFinished, Event::GateFailed],
            format: NotifyFormat::Json,
            secret_env: None,
        }
    );
    assert_eq!(other.events, [Event::GateFailed, Event::RunStarted]);
    assert_eq!(other.format, NotifyFormat::Slack);
    assert_eq!(other.secret_env.as_deref(), Some("HOOK_KEY"));
}

#[test]
fn a_mistaken_webhook_is_told_without_its_url_or_key() {
    for (line, told) in [
        (
            "url = \"hooks.example/T0SECRET\"",
            "line 2: `url` is no URL",
        ),
        (
            "url = \"ftp://hooks.example/T0SECRET\"",
            "neither `http://` nor `https://`",
        ),
        (
            "url = \"https://ada:T0SECRET@hooks.example\"",
            "a user name or a password",
        ),
        ("url = 1", "`url` is text, not integer"),
        ("secret_env = \"T0SECRET-key\"", "is no name of a variable"),
        (
            "events = [\"run.startd\"]",
            "`run.startd` is no event; did you mean `run.started`?",
        ),
        ("events = []", "names no event"),
        (
            "events = \"run.started\"",
            "is a list of texts, not string; write `events = [",
        ),
        ("events = [1]", "is a list of texts"),
        (
            "format = \"slak\"",
            "`format = \"slak\"` is no format; did you mean `slack`?",
        ),
        (
            "secret = \"T0SECRET\"",
            "unknown key `secret`; there is `url`, `events`, `format` and",
        ),
    ] {
        let error = parse(&format!("[[notify]]\n{line}\n")).unwrap_err();
        assert!(
            error.contains("line 2: ") && error.contains(told),
            "{line}: {error}"
        );
        assert!(!error.contains("T0SECRET"), "{error}");
    }
    let error = parse("\n[[notify]]\nformat = \"json\"\n").unwrap_err();
    assert!(
        error.contains("line 2: `[[notify]]` has no `url`; write `url = "),
        "{error}"
    );
    for text in [
        "[notify]\nurl = \"https://x\"",
        "notify = [1]",
        "notify = 1",
    ] {
        let error = parse(text).unwrap_err();
        assert!(
            error.contains("line 1: `notify` is a list of tables"),
            "{error}"
        );
    }
}
