//! What the runner of GitHub makes of what it is told: its rules, written down once more.

use super::annotation::{self, Level};
use super::github::{JobStep, append, entry};
use super::{Published, command, outputs};
use crate::store;
use loadtest_console::console::break_commands;
use loadtest_model::card::Report;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::record::NotRun;
use std::collections::BTreeMap;
use std::path::Path;

/// What breaks out of whatever is not escaped.
const HOSTILE: &str =
    "50 %0A\n::set-env name=PATH::x\r\n##[add-path]/tmp\n  ::stop-commands::x, title=a:b";

fn report(name: &str) -> Report {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../loadtest/tests/records/v1");
    let record = store::read_record(&folder.join(format!("{name}.json"))).unwrap();
    Report::grade(&record, None)
}

/// A command as the runner reads it from a line of the log: name, properties, text.
fn read(line: &str) -> Option<(String, BTreeMap<String, String>, String)> {
    let unescape = |text: &str| {
        let text = text.replace("%0D", "\r").replace("%0A", "\n");
        text.replace("%3A", ":")
            .replace("%2C", ",")
            .replace("%25", "%")
    };
    let (info, text) = line.trim_start().strip_prefix("::")?.split_once("::")?;
    let (name, properties) = info.split_once(' ').unwrap_or((info, ""));
    let properties = properties.split(',').filter_map(|one| one.split_once('='));
    let properties = properties.map(|(key, value)| (key.to_owned(), unescape(value)));
    Some((name.to_owned(), properties.collect(), unescape(text)))
}

/// Outputs as the runner reads them from the file.
fn outputs_of(text: &str) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    let mut lines = text.split('\n');
    while let Some(line) = lines.next() {
        let (equals, heredoc) = (line.find('='), line.find("<<"));
        match (equals, heredoc) {
            (Some(at), heredoc) if heredoc.is_none_or(|heredoc| at < heredoc) => {
                values.insert(line[..at].to_owned(), line[at + 1..].to_owned());
            }
            (_, Some(at)) => {
                let value: Vec<_> = lines
                    .by_ref()
                    .take_while(|one| *one != &line[at + 2..])
                    .collect();
                values.insert(line[..at].to_owned(), value.join("\n"));
            }
            _ => assert!(line.is_empty(), "neither value nor end: {line:?}"),
        }
    }
    values
}

#[test]
fn a_command_is_read_as_it_was_meant_whatever_is_in_it() {
    let properties = [
        ("file", "a:b,c.rs".to_owned()),
        ("title", HOSTILE.to_owned()),
    ];
    let line = command::command_line("error", &properties, HOSTILE);
    assert!(!line.contains(['\n', '\r']), "{line}");
    let (name, properties, text) = read(&line).unwrap();
    assert_eq!((name.as_str(), text.as_str()), ("error", HOSTILE));
    assert_eq!(properties["file"], "a:b,c.rs");
    assert_eq!(properties["title"], HOSTILE);
    assert_eq!(properties.len(), 2);
}

#[test]
fn no_line_that_is_printed_is_a_command() {
    for text in [
        HOSTILE,
        "::error::x",
        " \t\u{a0}::error::x",
        "\u{200b}\u{ad}::error::x",
        "\x1b[1m::error::x",
        "│ ::error::x",
        "all well ##[add-mask]p95",
    ] {
        let shown = break_commands(text);
        for line in shown.lines() {
            assert_eq!(read(line), None, "{line:?}");
            assert!(!line.contains("##["), "{line:?}");
            let visible = line.trim_start_matches(|one: char| !one.is_ascii_graphic());
            assert_eq!(read(visible), None, "{line:?}");
        }
    }
    for text in [
        "site::load::single: ok",
        "Running a::b (1/2)",
        "p95 ## [x]",
        "",
        "a\n\nb\n",
    ] {
        assert_eq!(break_commands(text), text);
    }
}

#[test]
fn no_value_breaks_out_of_the_file_of_outputs() {
    let values = [
        ("a", "1.5"),
        ("b", ""),
        ("c", "x=y<<EOF"),
        ("d", "one\ntwo\npassed=true\n"),
        ("e", "\r\n<<"),
        ("passed", "false"),
    ];
    let file: String = values
        .iter()
        .map(|(name, value)| entry(name, value))
        .collect();
    let read = outputs_of(&file);
    assert_eq!(read.len(), values.len());
    for (name, value) in values {
        assert_eq!(read[name], value);
    }
}

#[test]
fn what_others_wrote_into_a_file_stays() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "before").unwrap();
    append(&file, "a=1\n").unwrap();
    append(&file, "b=2\n").unwrap();
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        "before\na=1\nb=2\n"
    );
    append(&folder.path().join("new"), "a=1\n").unwrap();
    assert!(append(folder.path(), "a=1\n").is_err());
}

#[test]
fn the_step_that_is_to_blame_is_noted_at_its_line() {
    let report = report("failed");
    let all = annotation::list_annotations(&report);
    let card = &report.cards[0];
    assert!(!card.reasons.is_empty());
    for reason in &card.reasons {
        let note = all
            .iter()
            .find(|note| note.text.starts_with(&reason.words))
            .unwrap();
        assert_eq!(note.level, Level::Error);
        assert_eq!(note.title, format!("{}: FAILED", card.name));
        let (file, line) = note.place.clone().unwrap();
        assert_eq!(file, "examples/shop/tests/load.rs");
        if let Some(step) = &reason.step {
            let row = card.steps.iter().find(|row| row.name == *step).unwrap();
            assert_eq!(line, row.line);
        }
    }
    let failing = card.steps.iter().filter(|step| step.failed > 0);
    for step in failing {
        let words = format!("`{}` failed", step.name);
        let note = all.iter().find(|note| note.text.contains(&words)).unwrap();
        assert_eq!(note.place.as_ref().unwrap().1, step.line, "{words}");
    }
    assert!(
        annotation::list_annotations(&self::report("passed"))
            .iter()
            .all(|note| note.level == Level::Warning)
    );
}

#[test]
fn a_search_is_noted_once_and_what_did_not_run_without_a_place() {
    let mut report = report("capacity");
    assert_eq!(report.exit_code(), ExitCode::Passed);
    assert!(annotation::list_annotations(&report).is_empty());
    report.capacity.as_mut().unwrap().verdict = loadtest_model::card::CapacityVerdict::TooLow;
    let all = annotation::list_annotations(&report);
    assert_eq!(all.len(), 1);
    assert!(all[0].title.ends_with("capacity TOO LOW") && all[0].place.is_some());
    report.capacity = None;
    report.not_run.push(NotRun {
        scenario: "shop::load::gone".to_owned(),
        exit_code: ExitCode::SetupFailed,
        message: "nobody there".into(),
        ..NotRun::default()
    });
    let all = annotation::list_annotations(&report);
    assert_eq!(
        (all[0].title.as_str(), &all[0].place),
        ("shop::load::gone: DID NOT RUN", &None)
    );
}

#[test]
fn a_file_is_named_from_the_root_of_the_repository_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let sources = folder.path().join("repository/services/shop");
    std::fs::create_dir_all(sources.join("tests")).unwrap();
    std::fs::write(sources.join("tests/load.rs"), "").unwrap();
    std::fs::write(folder.path().join("outside.rs"), "").unwrap();
    let step = JobStep {
        repository: Some(folder.path().join("repository")),
        ..JobStep::default()
    };
    let note = |file: &str| annotation::Annotation {
        level: Level::Warning,
        place: Some((file.to_owned(), 12)),
        title: "visit: x".to_owned(),
        text: "100 %".to_owned(),
    };
    let read = |file: &str| {
        let note = note(file);
        read(&step.command(&note, &note.text, &sources)).unwrap()
    };
    let (name, properties, text) = read("tests/load.rs");
    assert_eq!((name.as_str(), text.as_str()), ("warning", "100 %"));
    assert_eq!(properties["file"], "services/shop/tests/load.rs");
    assert_eq!(properties["line"], "12");
    for outside in ["../../../outside.rs", "tests/gone.rs"] {
        let (_, properties, text) = read(outside);
        assert_eq!(
            properties.keys().collect::<Vec<_>>(),
            ["title"],
            "{outside}"
        );
        assert!(text.contains(&format!("({outside}:12)")), "{text}");
    }
}

#[test]
fn the_outputs_are_the_figures_of_the_worst_scenario() {
    let mut report = report("passed");
    let failed = self::report("failed").cards.remove(0);
    let letter = failed.grade.letter.unwrap().to_string();
    report.cards.push(failed);
    let folder = Path::new("/runs/20261122-000000-abcd");
    let page = folder.join("report.html");
    let values = |report: &Report| -> BTreeMap<_, _> {
        let run = Published {
            report,
            folder,
            page: Some(&page),
            sources: folder,
        };
        outputs::list_outputs(&run).into_iter().collect()
    };
    let all = values(&report);
    assert_eq!(
        (all["verdict"].as_str(), &all["grade"]),
        ("failed", &letter)
    );
    assert_eq!(all["report"], "/runs/20261122-000000-abcd/report.html");
    assert_eq!(all["directory"], "/runs/20261122-000000-abcd");
    assert!(all["p95_ms"].parse::<f64>().unwrap() > 0.0);
    assert!((0.0..=1.0).contains(&all["error_rate"].parse::<f64>().unwrap()));
    let rows: serde_json::Value = serde_json::from_str(&all["scenarios"]).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 2);
    assert_eq!(rows[0]["verdict"], "passed");

    let search = self::report("capacity");
    let all = values(&search);
    assert_eq!(all["verdict"], "confirmed");
    assert!(all["capacity"].parse::<f64>().unwrap() > 0.0);

    let invalid = values(&self::report("invalid"));
    assert_eq!(
        (invalid["verdict"].as_str(), invalid["grade"].as_str()),
        ("invalid", "")
    );
}
