//! Each table, and what is wrong in it.

use super::*;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::plan::IterationCount;

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
fn runs_are_kept_by_number_and_by_age() {
    let store = parse("[store]\nkeep = 1_000\nmax_age = \"30d\"\n")
        .unwrap()
        .store;
    assert_eq!((store.keep, store.max_age), (Some(1_000), Some(30 * DAY)));
    for (line, told) in [
        ("keep = 0", "`keep = 0` is not a number of runs; write `50`"),
        ("keep = -1", "is not a number of runs"),
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
fn traces_are_read_and_what_is_wrong_is_told_with_what_to_write_instead() {
    let read = |lines: &str| parse(&format!("[traces]\n{lines}\n"));
    assert_eq!(read("sample = \"5%\"").unwrap().traces.tracing(None), None);
    let all =
        "propagate = true\nsample = \"0.5%\"\nat_most = \"30/m\"\nlink = \"https://h/{trace_id}\"";
    let tracing = read(all).unwrap().traces.tracing(None).unwrap();
    assert_eq!(
        (tracing.sample, tracing.at_most_per_second),
        (0.005, Some(0.5))
    );
    assert_eq!(tracing.link.as_deref(), Some("https://h/{trace_id}"));
    for (line, told) in [
        (
            "propagate = \"yes\"",
            "`propagate` is `true` or `false`, not string",
        ),
        ("sample = 1", "write it in quotes: `sample = \"1%\"`"),
        ("sample = \"101%\"", "is more than all"),
        ("at_most = \"10\"", "has no unit; write `10/s`"),
        ("at_most = \"0/s\"", "is too few; write `sample = \"0%\"`"),
        (
            "link = \"ftp://h/{trace_id}\"",
            "neither `http://` nor `https://`; write for example",
        ),
        (
            "link = \"http://h/{trace}\"",
            "unknown placeholder `{trace}`; available: `{trace_id}`",
        ),
        (
            "link = \"http://ada:pw@h/{trace_id}\"",
            "holds a user name, a password or a token",
        ),
        (
            "link = \"http://h/{trace_id}?token=abc\"",
            "holds a user name, a password or a token",
        ),
        ("samples = \"1%\"", "did you mean `sample`?"),
    ] {
        let error = read(line).unwrap_err();
        assert!(
            error.contains("line 2: ") && error.contains(told),
            "{line}: {error}"
        );
        assert!(!error.contains("pw@") && !error.contains("abc"), "{error}");
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
            "line 2: `url` is not a URL",
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
            "line 2: `url` is not a name of a variable",
        ),
        (
            "secret_env = \"T0SECRET-key\"",
            "is not a name of a variable",
        ),
        (
            "events = [\"run.startd\"]",
            "`run.startd` is not an event; did you mean `run.started`?",
        ),
        ("events = []", "names no event"),
        (
            "events = \"run.started\"",
            "is a list of texts, not string; write `events = [",
        ),
        ("events = [1]", "is a list of texts"),
        (
            "format = \"slak\"",
            "`format = \"slak\"` is not a format; did you mean `slack`?",
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
fn every_mistaken_default_of_run_is_told() {
    for (line, told) in [
        (
            "min_grade = \"G\"",
            "`min_grade = \"G\"` is not a grade; available: A+, A, A-",
        ),
        (
            "baseline = \"\"",
            "is not a valid baseline name: it is empty",
        ),
        (
            "baseline = \"../main\"",
            "it has characters other than letters, digits, `-`, `_` and `.`; write for example",
        ),
        ("seed = -1", "`seed = -1` is not a seed"),
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
    assert_eq!(
        (smoke.iterations, smoke.users),
        (Some(IterationCount::Total(1_000)), Some(2))
    );
    let error = config.preset("smok").unwrap_err();
    assert_eq!(error.exit_code(), ExitCode::Usage);
    let text = error.to_string();
    assert!(
        text.ends_with("did you mean `smoke`? Available: `soak` and `smoke`"),
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
            "line 2: `users = 0` no user would send anything",
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
            "line 2: `plan = \"fre\"` is not a plan; did you mean `free`?",
        ),
        (
            "plans = \"free\"",
            "line 2: unknown key `plans`; did you mean `plan`?",
        ),
        (
            "members = [\"ada\"]",
            "line 2: `organisation.members` is a table; write",
        ),
        ("members = {}", "is empty; write"),
        (
            "members.ada = \"teser\"",
            "line 2: `teser` is not a level; did you mean `tester`?",
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
    let targets: Vec<_> = config.targets.iter().map(ToString::to_string).collect();
    let expected = [
        "https://shop.staging.example.com:8443 of ada",
        "https://10.0.0.7 of ada",
    ];
    assert_eq!(targets, expected);
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
fn a_load_that_is_not_there_is_told_beside_other_mistakes() {
    let error = parse(
        "[run]\nload = \"smok\"\n[store]\nkep = 5\n[ci]\nload = \"soak\"\n\
         [load.smoke]\nrate = 5\n[load]\nsoak = 1\n",
    )
    .unwrap_err();
    let told = [
        "line 2: there is no load `smok`",
        "line 4: unknown key `kep`",
        "line 8: `rate` is text",
        "line 10: `load.soak` is a table",
    ];
    let lines: Vec<_> = error.lines().collect();
    assert_eq!(lines.len(), told.len(), "{error}");
    for (line, told) in lines.iter().zip(told) {
        assert!(line.contains(told), "{error}");
    }
    assert!(lines[0].contains("did you mean `smoke`?"), "{error}");
}

#[test]
fn a_quantity_without_a_unit_is_quoted_with_the_units_there_are() {
    let error = parse("[store]\nmax_age = \"90\"\n").unwrap_err();
    let told = "line 2: `max_age = \"90\"` has no unit; write `90ms`, `90s`, `90m`, `90h` or `90d`";
    assert!(error.ends_with(told), "{error}");
}

#[test]
fn sinks_are_read_with_what_their_format_has() {
    let config = parse(
        "[telemetry]\nlabels = { service = \"shop\" }\nrun_label = false\nmax_series = 500\n\
         [[telemetry.to]]\nformat = \"remote-write\"\nurl = \"https://mimir.example.com/push\"\n\
         token_env = \"MIMIR_TOKEN\"\nheaders = { X-Scope-OrgID = \"load\" }\ninterval = \"5s\"\n\
         histograms = \"native\"\n[[telemetry.to]]\nformat = \"prometheus\"\nlisten = \"127.0.0.1:9646\"\n",
    )
    .unwrap();
    let telemetry = config.telemetry;
    assert_eq!(telemetry.labels["service"], "shop");
    assert_eq!((telemetry.run_label, telemetry.max_series), (false, 500));
    let sink = &telemetry.sinks[0];
    assert_eq!(sink.format, SinkFormat::RemoteWrite);
    assert_eq!(sink.interval, Some(Duration::from_secs(5)));
    assert_eq!(sink.histograms, HistogramForm::Native);
    assert_eq!(sink.access.headers["X-Scope-OrgID"], "load");
    assert_eq!(sink.place(), "https://mimir.example.com");
    assert!(!sink.is_local() && telemetry.sinks[1].is_local());
    assert_eq!(telemetry.lines, [5, 12]);
}

#[test]
fn what_is_wrong_with_a_sink_is_told_with_its_line_and_without_its_secrets() {
    let url = "url = \"http://shop.example/hush\"\n";
    for (sink, told) in [
        (
            "format = \"prometheos\"",
            "line 3: `format = \"prometheos\"` is not a format; did you mean `prometheus`?",
        ),
        (
            "url = \"http://a/\"",
            "line 2: `[[telemetry.to]]` has no `format`",
        ),
        (
            "format = \"statsd\"",
            "line 2: a sink with `format = \"statsd\"` needs `address`",
        ),
        (
            "format = \"json\"\ninterval = \"5s\"\npath = \"x\"",
            "line 2: a sink with `format = \"json\"` has no `interval`; it has `path`",
        ),
        (
            "format = \"prometheus\"\nlisten = \"9646\"",
            "is not an address and port; write `127.0.0.1:9646`",
        ),
        (
            "format = \"otlp\"\nurl = \"collector/hush\"",
            "`url` is not a URL",
        ),
        (
            "format = \"otlp\"\nurl = \"ftp://c/hush\"",
            "starts with neither `http://` nor `https://`",
        ),
        (
            "format = \"otlp\"\nurl = \"https://ada:hush@c/\"",
            "`url` holds a user name, a password or a token",
        ),
        (
            "format = \"influx\"\nurl = \"http://c/write?u=ada&p=hush\"",
            "`url` holds a user name, a password or a token",
        ),
        (
            "format = \"influx\"\nurl = \"http://c/write?api_token=hush\"",
            "`url` holds a user name, a password or a token",
        ),
        (
            &format!("format = \"otlp\"\n{url}token_env = \"T\""),
            "a secret would go to another host over plain `http`",
        ),
        (
            &format!("format = \"otlp\"\n{url}headers = {{ Authorization = \"hush\" }}"),
            "`Authorization` holds a secret",
        ),
        (
            &format!("format = \"otlp\"\n{url}header_env = {{ DD-API-KEY = \"h ush\" }}"),
            "is not a name of a variable",
        ),
        (
            &format!("format = \"otlp\"\n{url}token_env = \"hush-hush\""),
            "is not a name of a variable",
        ),
        (
            "format = \"otlp\"\ninterval = \"1500ms\"",
            "is not a number of whole seconds",
        ),
        (
            "format = \"otlp\"\ninsecure = \"yes\"",
            "`insecure` is `true` or `false`, not string",
        ),
        (
            "format = \"otlp\"\nheaders = [\"a\"]",
            "`headers` is a table of texts, not array",
        ),
    ] {
        let error = parse(&format!("\n[[telemetry.to]]\n{sink}\n")).unwrap_err();
        assert!(error.contains(told), "{sink}: {error}");
        assert!(!error.contains("hush"), "{error}");
    }
    let open =
        format!("[[telemetry.to]]\nformat = \"otlp\"\n{url}token_env = \"T\"\ninsecure = true\n");
    assert!(parse(&open).is_ok());
    let here =
        "[[telemetry.to]]\nformat = \"otlp\"\nurl = \"http://127.0.0.1:4318\"\ntoken_env = \"T\"\n";
    assert!(parse(here).is_ok());
}

#[test]
fn labels_of_every_series_are_few_and_new() {
    let nine: Vec<_> = (0..9).map(|n| format!("l{n} = \"x\"")).collect();
    for (line, told) in [
        (
            format!("labels = {{ {} }}", nine.join(", ")),
            "9 labels are too many: at most 8",
        ),
        (
            "labels = { step = \"x\" }".to_owned(),
            "`step` is a label that the figures or their receivers have",
        ),
        (
            "labels = { \"a-b\" = \"x\" }".to_owned(),
            "`a-b` is not a name of a label",
        ),
        (
            "max_series = 10".to_owned(),
            "is not a number of series; write `10000`, at least `100`",
        ),
        ("labbels = {}".to_owned(), "did you mean `labels`?"),
        ("to = 1".to_owned(), "`telemetry.to` is a list of tables"),
    ] {
        let error = parse(&format!("[telemetry]\n{line}\n")).unwrap_err();
        assert!(error.contains(told), "{line}: {error}");
    }
}

#[test]
fn a_sink_of_the_command_line_is_read_like_one_of_the_file() {
    let read = |text: &str| text.parse::<SinkConfig>();
    assert_eq!(
        read("otlp=http://127.0.0.1:4318").unwrap().place(),
        "http://127.0.0.1:4318"
    );
    assert_eq!(
        read("statsd=127.0.0.1:8125").unwrap().format,
        SinkFormat::Statsd
    );
    assert_eq!(read("json=-").unwrap().path, Some("-".into()));
    assert!(read("otlp").unwrap().url.is_none(), "a variable holds it");
    for (text, told) in [
        ("jsn=x", "`jsn` is not a format; did you mean `json`?"),
        (
            "prometheus",
            "`prometheus` needs a place; write `prometheus=127.0.0.1:9646`",
        ),
        ("otlp=http://ada:hush@c", "its url holds a user name"),
        ("statsd=host", "its address is not a host and port"),
    ] {
        let error = read(text).unwrap_err();
        assert!(
            error.contains(told) && !error.contains("hush"),
            "{text}: {error}"
        );
    }
}
