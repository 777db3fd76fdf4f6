//! The file, the environment, and what of both is in force.

use super::*;

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
        Some(&SettingOrigin::Environment { variable })
    );
    assert_eq!(
        place("store", "keep"),
        Some(&SettingOrigin::File { line: 5 })
    );
    assert_eq!(place("grading", "budget"), None);
}

#[test]
fn a_key_of_the_file_has_the_same_effect_as_its_variable() {
    let loads = "[load.smoke]\nusers = 1\n";
    for known in layered() {
        let Key {
            section,
            name,
            kind,
            ..
        } = known;
        let value = known.example;
        let given = if kind.is_several() {
            value
                .trim_matches(['[', ']', '{', '}', ' '])
                .replace('"', "")
        } else {
            value.trim_matches('"').to_owned()
        };
        let by_file = parse(&format!("{loads}[{section}]\n{name} = {value}\n")).unwrap();
        let here =
            ConfigEnvironment::new([(variable(section, name), given)], Path::new("/home/ada"));
        let path = Path::new(FILE);
        let (by_variable, doubts) = Config::decode(Some(loads.as_bytes()), path, here).unwrap();
        assert_eq!(doubts, Vec::<String>::new());
        let alike = |config: &Config| {
            let Config {
                store,
                build,
                grading,
                cluster,
                telemetry,
                traces,
                run,
                ci,
                ..
            } = config.clone();
            (store, build, grading, cluster, telemetry, traces, run, ci)
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
            "`LOADTEST_GRADING_APDEX=fast` is not a length of time; write `10s`, `300ms` or `1.5m`",
            "`LOADTEST_CI_EXPORT=junit,pfd`: unknown format `pfd`; available: `html`, `pdf`, `json`, \
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
fn a_flag_takes_back_a_default() {
    use crate::cli::{Cli, Command, parse as line};
    let (config, _) = layers(
        "[run]\nload = \"a\"\nbaseline = \"main\"\n[load.a]\nusers = 2\n",
        &[],
    )
    .unwrap();
    let completed = |flags: &str| {
        let words = format!("cargo-loadtest run {flags}");
        let Cli { command, .. } = line(words.split_whitespace().map(Into::into)).unwrap();
        let Command::Run(args) = command else {
            panic!("{flags}");
        };
        let args = config.defaults(false).complete(&args);
        (args.load.preset, args.gate.baseline)
    };
    let (load, baseline) = (Some("a".to_owned()), Some("main".to_owned()));
    assert_eq!(completed(""), (load.clone(), baseline.clone()));
    assert_eq!(completed("--no-baseline"), (load, None));
    assert_eq!(completed("--declared-load --users 5"), (None, baseline));
    for both in ["--no-baseline --baseline a", "--declared-load --load a"] {
        let words = format!("cargo-loadtest run {both}");
        let error = line(words.split_whitespace().map(Into::into)).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{both}");
    }
}
