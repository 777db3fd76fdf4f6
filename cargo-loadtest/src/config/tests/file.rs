//! The file as a whole: where it is found, its syntax, and mistakes with their lines.

use super::*;
use loadtest_model::exit_code::ExitCode;

#[test]
fn every_key_is_read() {
    let config = parse(
        "[store]\ndirectory = \"runs\"\n[build]\nprofile = \"loadtest\"\n[grading]\n\
         apdex = \"300ms\"\nbudget = \"0.5%\"\ngrade_weight = 1\n",
    )
    .unwrap();
    assert_eq!(
        config.store.directory,
        Some(PathBuf::from("/home/ada/runs"))
    );
    assert_eq!(config.build.profile.as_deref(), Some("loadtest"));
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
fn broken_toml_names_the_line() {
    let error = parse("[store]\ndirectory = \n").unwrap_err();
    assert!(error.contains("line 2"), "{error}");
}

#[test]
fn text_in_another_encoding_names_the_line() {
    let (path, environment) = (Path::new(FILE), ConfigEnvironment::default());
    let bytes = b"[store]\ndirectory = \"\xff\"\n";
    let error = Config::decode(Some(bytes), path, environment).unwrap_err();
    assert_eq!(error.exit_code(), ExitCode::Usage);
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
        let (config, _) = Config::layers(&member, &root, ConfigEnvironment::default()).unwrap();
        config.grading.budget
    };
    write(outside.path(), "1%");
    assert_eq!(budget(), None);
    write(&root, "2%");
    assert_eq!(budget(), Some(0.02));
    write(&member, "3%");
    assert_eq!(budget(), Some(0.03));
}

#[cfg(unix)]
#[test]
fn a_device_is_no_configuration() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(FILE_NAME);
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    let environment = ConfigEnvironment::default();
    let error = Config::layers(root.path(), root.path(), environment).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("could not read `{}`", path.display())
    );
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(
        source.to_string(),
        "it is a pipe or a device, and only regular files are read"
    );
}

#[test]
fn a_file_that_is_too_large_for_a_configuration_is_not_read() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(FILE_NAME);
    let read = |bytes: usize| {
        std::fs::write(&path, "#".repeat(bytes)).unwrap();
        Config::layers(root.path(), root.path(), ConfigEnvironment::default())
    };
    assert!(read(1 << 20).is_ok());
    let error = read((1 << 20) + 1).unwrap_err();
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), "it is larger than 1 MiB");
}

#[test]
fn an_unknown_table_is_answered_with_those_there_are() {
    let error = parse("[organization]\nplan = \"free\"\n[x]\n").unwrap_err();
    assert!(error.contains("line 1: unknown key `organization`; did you mean `organisation`?"));
    assert!(
        error.contains("line 3: unknown key `x`; there is `store`, `build`"),
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

#[test]
fn a_line_that_is_no_toml_is_told_once() {
    for (text, lines) in [
        ("keep: 5\n", vec!["line 1: "]),
        ("[run]\nexport = [\"a\",\n[ci]\n", vec!["line 3: "]),
        (
            "[store]\nkeep =\n[run]\nload\n",
            vec!["line 2: ", "line 4: "],
        ),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.lines().count(), lines.len(), "{error}");
        for (told, line) in error.lines().zip(lines) {
            assert!(told.contains(line), "{error}");
        }
    }
}
