//! What is read, and what is said of what cannot be.

use super::*;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);

const FILE: &str = "/home/ada/loadtest.toml";

fn parse(text: &str) -> Result<Config, String> {
    layers(text, &[]).map(|(config, _)| config)
}

/// What file and variables come to, and which variables look misspelt; the tool was called in `/tmp/here`.
fn layers(text: &str, variables: &[(&str, &str)]) -> Result<(Config, Vec<String>), String> {
    let variables = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let environment = Environment::new(variables, Path::new("/tmp/here"));
    Config::decode(Some(text.as_bytes()), Path::new(FILE), environment)
        .map_err(|error| error.to_string())
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
    let nothing = Config {
        folder: PathBuf::from("/home/ada"),
        is_file: true,
        ..Config::default()
    };
    assert_eq!(parse("").unwrap(), nothing);
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
fn text_in_another_encoding_names_the_line() {
    let (path, environment) = (Path::new(FILE), Environment::default());
    let bytes = b"[store]\ndirectory = \"\xff\"\n";
    let error = Config::decode(Some(bytes), path, environment).unwrap_err();
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
    let budget = || {
        let (config, _) = Config::layers(&member, &root, Environment::default()).unwrap();
        config.grading.budget
    };
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
        (
            "url = \"$T0-SECRET\"",
            "line 2: `url` is no name of a variable",
        ),
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

#[test]
fn every_layer_takes_the_place_of_the_one_below() {
    let file = "[grading]\napdex = \"300ms\"\n[store]\ndirectory = \"runs\"\nkeep = 5\n";
    let (config, _) = layers(
        file,
        &[
            ("LOADTEST_GRADING_APDEX", "200ms"),
            ("LOADTEST_STORE_DIRECTORY", "there"),
            ("LOADTEST_STORE_KEEP", " "),
            ("LOADTEST_STORE_MAX_AGE", "7d"),
        ],
    )
    .unwrap();
    assert_eq!(config.grading.apdex, Some(Duration::from_millis(200)));
    // Of a variable, a path is relative to where the tool is called; of the file, to the file.
    let directory = PathBuf::from("/tmp/here/there");
    assert_eq!(config.store.directory, Some(directory));
    assert_eq!(
        (config.store.keep, config.store.max_age),
        (Some(5), Some(7 * DAY))
    );
    let place = |section, name| config.setting(section, name).map(|setting| &setting.origin);
    let variable = "LOADTEST_GRADING_APDEX".to_owned();
    assert_eq!(
        place("grading", "apdex"),
        Some(&Origin::Environment { variable })
    );
    assert_eq!(place("store", "keep"), Some(&Origin::File { line: 5 }));
    assert_eq!(place("grading", "budget"), None);
}

#[test]
fn a_key_of_the_file_has_the_same_effect_as_its_variable() {
    let loads = "[load.smoke]\nusers = 1\n";
    for known in layered() {
        let Known {
            section,
            name,
            kind,
            ..
        } = known;
        let value = known.example;
        let given = if kind == Kind::List {
            value.trim_matches(['[', ']']).replace('"', "")
        } else {
            value.trim_matches('"').to_owned()
        };
        let by_file = parse(&format!("{loads}[{section}]\n{name} = {value}\n")).unwrap();
        let here = Environment::new([(variable(section, name), given)], Path::new("/home/ada"));
        let path = Path::new(FILE);
        let (by_variable, doubts) = Config::decode(Some(loads.as_bytes()), path, here).unwrap();
        assert_eq!(doubts, Vec::<String>::new());
        let alike = |config: &Config| {
            let Config {
                store,
                grading,
                run,
                ci,
                ..
            } = config.clone();
            (store, grading, run, ci)
        };
        assert_eq!(alike(&by_file), alike(&by_variable), "{section}.{name}");
        assert_ne!(
            alike(&by_file),
            alike(&parse(loads).unwrap()),
            "{section}.{name}"
        );
    }
}

#[test]
fn with_ci_its_table_holds_before_that_of_run_within_each_layer() {
    // What `[run]`, `[ci]` and their variables say; what is in force without and with `--ci`.
    let (a, b, c, d) = (Some("a"), Some("b"), Some("c"), Some("d"));
    for (given, run, ci) in [
        ([None, None, None, None], None, None),
        ([a, None, None, None], a, a),
        ([None, b, None, None], None, b),
        ([a, b, None, None], a, b),
        ([a, b, c, None], c, c),
        ([a, b, None, d], a, d),
        ([a, b, c, d], c, d),
    ] {
        let table = |name: &str, value: Option<&str>| {
            let key = value.map(|value| format!("baseline = \"{value}\"\n"));
            format!("[{name}]\n{}", key.unwrap_or_default())
        };
        let file = table("run", given[0]) + &table("ci", given[1]);
        let variables = [
            ("LOADTEST_RUN_BASELINE", given[2].unwrap_or("")),
            ("LOADTEST_CI_BASELINE", given[3].unwrap_or("")),
        ];
        let (config, _) = layers(&file, &variables).unwrap();
        assert_eq!(config.defaults(false).baseline.as_deref(), run, "{given:?}");
        assert_eq!(config.defaults(true).baseline.as_deref(), ci, "{given:?}");
        let shown = |section| {
            let setting = config.setting(section, "baseline")?;
            Some(setting.words[0].as_str())
        };
        assert_eq!((shown("run"), shown("ci")), (run, ci), "{given:?}");
    }
}

#[test]
fn a_bad_variable_is_named_beside_what_is_wrong_in_the_file() {
    let error = layers(
        "[grading]\nbudgt = \"1%\"\n",
        &[
            ("LOADTEST_GRADING_APDEX", "fast"),
            ("LOADTEST_RUN_LOAD", "smoke"),
            ("LOADTEST_CI_EXPORT", "junit,pfd"),
        ],
    )
    .unwrap_err();
    let lines: Vec<_> = error.lines().collect();
    assert_eq!(
        lines,
        [
            "/home/ada/loadtest.toml: line 2: unknown key `budgt`; did you mean `budget`?",
            "`LOADTEST_RUN_LOAD`: there is no load `smoke`; `loadtest.toml` has no `[load.NAME]`",
            "`LOADTEST_GRADING_APDEX=fast` is no length of time; write `10s`, `300ms` or `1.5m`",
            "`LOADTEST_CI_EXPORT=junit,pfd`: unknown format `pfd`; there is `html`, `pdf`, `json`, \
             `junit`, `markdown`, `csv`, `openmetrics`",
        ]
    );
}

#[test]
fn a_variable_that_looks_misspelt_is_doubted_and_others_are_left_alone() {
    let names = [
        "LOADTEST_BASE_URL",
        "LOADTEST_USER",
        "LOADTEST_API_TOKEN",
        "LOADTEST_WEBHOOK_KEY",
        "LOADTEST_NATS_SERVER",
        "LOADTEST_GRADING_APDX",
        "LOADTEST_STORE_DIR",
        "LOADTEST_BASEURL",
    ];
    let (_, doubts) = layers("", &names.map(|name| (name, "s3cret"))).unwrap();
    assert_eq!(
        doubts,
        [
            "`LOADTEST_GRADING_APDX` is not read; did you mean `LOADTEST_GRADING_APDEX`?",
            "`LOADTEST_STORE_DIR` is not read; did you mean `LOADTEST_STORE_DIRECTORY`?",
            "`LOADTEST_BASEURL` is not read; did you mean `LOADTEST_BASE_URL`?",
        ]
    );
}

#[test]
fn every_mistaken_default_of_run_is_told() {
    for (line, told) in [
        (
            "min_grade = \"G\"",
            "`min_grade = \"G\"` is no grade; there are A+, A, A-",
        ),
        ("baseline = \"\"", "is no name of a baseline: it is empty"),
        (
            "baseline = \"../main\"",
            "it has other characters than letters, digits, `-`, `_` and `.`; write for example",
        ),
        ("seed = -1", "`seed = -1` is no seed"),
        (
            "seed = \"7\"",
            "`seed` is a whole number, not string; write `seed = 7`",
        ),
        (
            "export = \"junit\"",
            "`export` is a list of texts, not string; write `export = [\"j",
        ),
        ("export = [\"junt\"]", "`export`: unknown format `junt`"),
        ("pdf_font = \"a.ttf\"", "`pdf_font` is a list of texts"),
        (
            "exports = [\"junit\"]",
            "unknown key `exports`; did you mean `export`?",
        ),
        (
            "load = \"smke\"",
            "there is no load `smke`; did you mean `smoke`?",
        ),
    ] {
        for section in ["run", "ci"] {
            let error = parse(&format!("[{section}]\n{line}\n[load.smoke]\nusers = 1\n"));
            let error = error.unwrap_err();
            assert!(
                error.contains("line 2: ") && error.contains(told),
                "{line}: {error}"
            );
        }
    }
    let config = parse("[run]\nexport = [\"json=out/a.json\", \"csv=-\", \"junit\"]\n").unwrap();
    let paths: Vec<_> = config
        .run
        .export
        .iter()
        .map(|export| export.path.clone())
        .collect();
    let path = |path: &str| Some(PathBuf::from(path));
    assert_eq!(paths, [path("/home/ada/out/a.json"), path("-"), None]);
}

#[test]
fn loads_are_read_under_their_names() {
    let config = parse(
        "[load.soak]\nrate = \"200/s\"\nramp_up = \"10s\"\nduration = \"1h\"\n\
         [load.smoke]\niterations = 1_000\nusers = 2\n",
    )
    .unwrap();
    let names: Vec<_> = config
        .presets
        .iter()
        .map(|preset| preset.name.as_str())
        .collect();
    assert_eq!(names, ["soak", "smoke"]);
    let soak = Overrides {
        rate_per_second: Some(200.0),
        ramp_up: Some(Duration::from_secs(10)),
        duration: Some(Duration::from_secs(3600)),
        ..Overrides::default()
    };
    assert_eq!(config.preset("soak").unwrap().overrides, soak);
    let smoke = &config.preset("smoke").unwrap().overrides;
    assert_eq!((smoke.iterations, smoke.users), (Some(1_000), Some(2)));
    let error = config.preset("smok").unwrap_err();
    assert_eq!(error.exit_code(), 2);
    let text = error.to_string();
    assert!(
        text.ends_with("did you mean `smoke`? There is `soak` and `smoke`"),
        "{text}"
    );
}

#[test]
fn a_mistaken_load_is_told_with_its_line() {
    for (text, told) in [
        ("[load.a]\n", "line 1: `[load.a]` says nothing of a load"),
        (
            "[load.a]\nrate = \"5/s\"\nusers = 5\n",
            "line 1: `[load.a]` has both `rate` and `users`",
        ),
        (
            "[load.a]\nrate = \"5/s\"\niterations = 5\n",
            "line 1: `[load.a]` has both `rate` and `iterations`",
        ),
        (
            "[load.a]\niterations = 5\nduration = \"5s\"\n",
            "a fixed number of iterations, which has no",
        ),
        (
            "[load.a]\nramp_up = \"5s\"\nduration = \"5s\"\n",
            "leaves nothing of its `duration`",
        ),
        (
            "[load.a]\nrate = 200\n",
            "line 2: `rate` is text, not integer; write it in quotes: `rate = \"200/s\"`",
        ),
        ("[load.a]\nrate = \"0/s\"\n", "starts nothing"),
        (
            "[load.a]\nusers = 0\n",
            "line 2: `users = 0` nobody would send anything",
        ),
        (
            "[load.a]\nusers = \"5\"\n",
            "`users` is a whole number, not string; write `users = 50`",
        ),
        (
            "[load.a]\niterations = 0\n",
            "`iterations = 0` runs nothing",
        ),
        ("[load.a]\nduration = \"31d\"\n", "at most 30 days"),
        (
            "[load.a]\nramp = \"5s\"\n",
            "line 2: unknown key `ramp`; there is `rate`",
        ),
        (
            "[load]\nrate = \"5/s\"\n",
            "line 2: `rate` is part of a load with a name",
        ),
        (
            "[load]\nsoak = 1\n",
            "line 2: `load.soak` is a table; write `[load.soak]`",
        ),
        ("load = \"soak\"\n", "line 1: `load` holds tables"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.contains(told), "{text}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn members_and_plan_are_read() {
    let config = parse(
        "[organisation]\nplan = \"free\"\n[organisation.members]\nada = \"admin\"\n\
         \"grace@example.com\" = \"viewer\"\n",
    )
    .unwrap();
    let organisation = config.organisation.unwrap();
    assert_eq!((organisation.plan, organisation.line), (Plan::Free, 2));
    let level = |name| organisation.member(name).map(|member| member.level);
    assert_eq!(level("Ada"), Some(Level::Admin));
    assert_eq!(level("grace@Example.com"), Some(Level::Viewer));
    assert_eq!(level("linus"), None);
    assert_eq!(
        parse("[organisation]\n")
            .unwrap()
            .organisation
            .unwrap()
            .plan,
        Plan::Pro
    );
    assert_eq!(parse("").unwrap().organisation, None);
    for (text, told) in [
        (
            "plan = \"fre\"",
            "line 2: `plan = \"fre\"` is no plan; did you mean `free`?",
        ),
        (
            "plans = \"free\"",
            "line 2: unknown key `plans`; did you mean `plan`?",
        ),
        (
            "members = [\"ada\"]",
            "line 2: `organisation.members` is a table; write",
        ),
        ("members = {}", "names nobody"),
        (
            "members.ada = \"teser\"",
            "line 2: `teser` is no level; did you mean `tester`?",
        ),
        (
            "members.ada = 1",
            "the level of `ada` is text, one of `viewer`, `tester` and `admin`",
        ),
        (
            "members.ada = \"tester\"\nmembers.ADA = \"admin\"",
            "is a member already",
        ),
    ] {
        let error = parse(&format!("[organisation]\n{text}\n")).unwrap_err();
        assert!(error.contains(told), "{text}: {error}");
    }
}

#[test]
fn targets_are_those_that_the_library_heeds() {
    let config = parse(
        "[[targets]]\nhost = \"Shop.Staging.Example.com.\"\nport = 8443\nowner = \"ada\"\n\
         [store]\nkeep = 3\n[[targets]]\nhost = \"10.0.0.7\"\nowner = \"ada\"\n",
    )
    .unwrap();
    let origins: Vec<_> = config.targets.iter().map(Listed::origin).collect();
    let expected = ["https://shop.staging.example.com:8443", "https://10.0.0.7"];
    assert_eq!(origins, expected);
    // With the mistakes of other tables, in the order of lines.
    let error = parse("[stor]\n[[targets]]\nhost = \"a.test\"\n\n[x]\n").unwrap_err();
    let lines: Vec<_> = error.lines().collect();
    assert_eq!(lines.len(), 3, "{error}");
    assert!(
        lines[1].contains("line 2: a target needs `owner`"),
        "{error}"
    );
}

#[test]
fn an_unknown_table_is_answered_with_those_there_are() {
    let error = parse("[organization]\nplan = \"free\"\n[x]\n").unwrap_err();
    assert!(error.contains("line 1: unknown key `organization`; did you mean `organisation`?"));
    assert!(
        error.contains("line 3: unknown key `x`; there is `store`, `grading`"),
        "{error}"
    );
}

#[test]
fn a_mistake_shows_nothing_that_drives_a_terminal() {
    for text in ["[\"a\\u001b[31m\"]\n", "[load]\n\"a\\u001b\" = 1\n"] {
        let error = parse(text).unwrap_err();
        assert!(!error.contains('\x1b'), "{error:?}");
    }
    let variables = [("LOADTEST_GRADING_APDEX", "\x1b[31m")];
    assert!(!layers("", &variables).unwrap_err().contains('\x1b'));
}

const PAGE: &str = include_str!("../../../docs/configuration.md");

/// The section of the page under `title`.
fn section(title: &str) -> &str {
    let (_, rest) = PAGE.split_once(&format!("\n## {title}\n")).expect(title);
    rest.split("\n## ").next().unwrap_or_default()
}

fn example(title: &str) -> &str {
    let (_, rest) = section(title).split_once("```toml\n").expect(title);
    rest.split("```").next().unwrap_or_default()
}

#[test]
fn the_examples_of_the_page_are_what_is_read() {
    let config = parse(example("A whole example")).unwrap();
    for known in layered().iter().filter(|known| known.section != "run") {
        let Known { section, name, .. } = *known;
        let is_set = config.setting(section, name).is_some();
        assert_eq!(
            is_set,
            !["seed", "pdf_font"].contains(&name),
            "{section}.{name}"
        );
    }
    assert_eq!((config.presets.len(), config.notify.len()), (2, 1));
    assert_eq!(config.organisation.unwrap().members.len(), 3);
    let config = parse(example("`[[targets]]`")).unwrap();
    assert!(config.targets[0].max_in_flight.is_some());
}

#[test]
fn the_page_has_every_key_with_its_variable() {
    for Known {
        section: table,
        name,
        ..
    } in layered()
    {
        let title = match table {
            "run" | "ci" => "`[run]` and `[ci]`".to_owned(),
            table => format!("`[{table}]`"),
        };
        let text = section(&title);
        assert!(text.contains(&format!("\n| `{name}` | ")), "{table}.{name}");
        assert!(
            text.contains(&format!("`{}`", variable(table, name))),
            "{table}.{name}"
        );
    }
    let keys = |title, names: Vec<&str>| {
        for name in names {
            assert!(
                section(title).contains(&format!("\n| `{name}` | ")),
                "{title} {name}"
            );
        }
    };
    keys(
        "`[load.NAME]`",
        load::KEYS.iter().map(|key| key.name).collect(),
    );
    keys(
        "`[[notify]]`",
        notify::KEYS.iter().map(|key| key.name).collect(),
    );
    keys("`[[targets]]`", loadtest::targets::KEYS.to_vec());
    keys("`[organisation]`", vec!["plan", "members"]);
}
