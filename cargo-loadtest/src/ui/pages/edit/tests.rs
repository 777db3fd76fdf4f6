//! Forms that are sent after their file changed: nothing is overwritten, and what was entered stays.

use super::*;
use crate::cli::{Cli, Command, parse};
use crate::commands::Project;
use crate::store::{RunFolder, Store};
use crate::ui::guard::{Door, Guard};
use loadtest_console::interrupt::Interrupts;
use loadtest_model::record::{RunRecord, SCHEMA_VERSION};
use std::fs;
use std::path::PathBuf;
use std::sync::Once;
use tempfile::TempDir;

/// Signals have one handler in a process.
static HANDLER: Once = Once::new();

const VISIT: &str = "shop::load::visit";
const MANIFEST: &str = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n\
                        [[test]]\nname = \"load\"\nharness = false\n";
const LOAD: &str = r#"use loadtest::prelude::*;

#[scenario]
fn visit() {
    #[step(get = "/")]
    fn login();

    #[step(get = "/orders")]
    fn orders();

    #[step(get = "/products", weight = 0.8)]
    fn browse();
}

loadtest::main!();
"#;

/// A dashboard over a load test. A run is in progress, so that nothing is compiled after a save.
struct Bench {
    folder: TempDir,
    dashboard: Arc<Dashboard>,
    _run: RunFolder,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tests")).unwrap();
        fs::write(folder.path().join("Cargo.toml"), MANIFEST).unwrap();
        fs::write(folder.path().join("tests/load.rs"), LOAD).unwrap();
        let manifest = folder.path().join("Cargo.toml");
        let words = [
            "loadtest",
            "ui",
            "--manifest-path",
            manifest.to_str().unwrap(),
        ];
        let cli = parse(words.map(Into::into)).unwrap();
        let dashboard = open_dashboard(&cli);
        let run = dashboard.store.create().unwrap();
        let record = RunRecord {
            schema_version: SCHEMA_VERSION,
            run_id: "r".to_owned(),
            tool_version: "0.1.0".to_owned(),
            started_at: "2026-11-21T14:30:05Z".to_owned(),
            environment: loadtest_model::record::Environment::default(),
            scenarios: Vec::new(),
            not_run: Vec::new(),
            capacity: None,
            telemetry: Vec::new(),
        };
        run.open(&record).unwrap();
        Self {
            folder,
            dashboard,
            _run: run,
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("tests/load.rs")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    /// Changes the file as an editor does.
    fn change(&self, from: &str, to: &str) {
        let text = self.text();
        assert!(text.contains(from), "{text}");
        fs::write(self.path(), text.replace(from, to)).unwrap();
    }

    /// The names of the steps in the file.
    fn steps(&self) -> Vec<String> {
        let text = self.text();
        let names = text.lines().filter_map(|line| line.strip_prefix("    fn "));
        names
            .map(|line| line.split('(').next().unwrap().to_owned())
            .collect()
    }

    /// Presses a button of the form as it is now; returns the form of the difference.
    fn preview(&self, button: &str, value: &str) -> Fields {
        let html = render(&self.dashboard, VISIT).unwrap().body.0;
        let form = form_of(&html, "/edit/preview");
        let form = form.with(button, value);
        let form = match button {
            "new.name" => form.with("new.url", "/receipt"),
            _ => form,
        };
        let answer = preview(&self.dashboard, &form).unwrap();
        let (status, html) = page(answer);
        assert_eq!(status, StatusCode::OK);
        form_of(&html, "/edit/save")
    }

    fn save(&self, form: &Fields) -> Answer {
        save(&self.dashboard, form).unwrap()
    }
}

fn open_dashboard(cli: &Cli) -> Arc<Dashboard> {
    let Command::Ui(args) = &cli.command else {
        panic!("{cli:?}");
    };
    HANDLER.call_once(|| Interrupts::install_for_program().unwrap());
    let project = Project::open_anywhere(&args.project, cli).unwrap();
    let store = Store::in_workspace(&project.workspace, &project.config().unwrap());
    let secret = String::new();
    let guard = Guard::new(Door::Cookie { port: 1, secret }, false);
    Arc::new(Dashboard::new(&project, store, guard, true))
}

fn page(answer: Answer) -> (StatusCode, String) {
    match answer {
        Answer::Page(status, html) => (status, html.0),
        other => panic!("{other:?}"),
    }
}

/// The fields of the form with this action, as a browser sends them.
fn form_of(html: &str, action: &str) -> Fields {
    let (_, form) = html
        .split_once(&format!("action=\"{action}\""))
        .expect(action);
    Fields::from_html(form.split("</form>").next().unwrap())
}

#[test]
fn a_difference_of_another_text_is_not_saved_but_shown_again() {
    let bench = Bench::new();
    let duplicate = bench.preview("duplicate", "browse");
    let removal = bench.preview("remove", "orders");
    assert!(matches!(bench.save(&removal), Answer::SeeOther(_)));
    assert_eq!(bench.steps(), ["login", "browse"]);

    // The copy was shown in a file that had the removed step.
    let before = bench.text();
    let (status, html) = page(bench.save(&duplicate));
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(
        html.contains("The file changed; nothing was saved."),
        "{html}"
    );
    assert_eq!(bench.text(), before);
    // What was asked for is still there, as a difference of the file as it is now, and the form behind it.
    assert!(html.contains("browse_2"), "{html}");
    let entered = form_of(&html, "/edit/preview");
    assert_eq!(entered.get("scenario"), Some(VISIT));
    let again = form_of(&html, "/edit/save");
    assert!(matches!(bench.save(&again), Answer::SeeOther(_)));
    assert_eq!(bench.steps(), ["login", "browse", "browse_2"]);
}

#[test]
fn no_stale_move_or_change_by_an_editor_is_overwritten() {
    let bench = Bench::new();
    for (button, value) in [
        ("move", "browse login"),
        ("duplicate", "login"),
        ("remove", "orders"),
        ("new.name", "receipt"),
    ] {
        fs::write(bench.path(), LOAD).unwrap();
        let form = bench.preview(button, value);
        bench.change("/products", "/goods");
        let changed = bench.text();
        let (status, html) = page(bench.save(&form));
        assert_eq!(status, StatusCode::CONFLICT, "{button}");
        assert!(html.contains("nothing was saved"), "{button}");
        assert_eq!(bench.text(), changed, "{button}");
        // A form without a version is none of this file.
        let unversioned = form.with("version", "");
        assert_eq!(page(bench.save(&unversioned)).0, StatusCode::CONFLICT);
        assert_eq!(bench.text(), changed, "{button}");
        let again = form_of(&html, "/edit/save");
        assert!(
            matches!(bench.save(&again), Answer::SeeOther(_)),
            "{button}"
        );
        assert!(bench.text().contains("/goods"), "{button}");
        assert_ne!(bench.text(), changed, "{button}");
    }
}

#[test]
fn what_was_entered_stays_if_the_scenario_is_gone() {
    let bench = Bench::new();
    let form = bench.preview("new.name", "receipt");
    bench.change("#[scenario]", "");
    let (status, html) = page(bench.save(&form));
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let entered = form_of(&html, "/edit/preview");
    assert_eq!(entered.get("new.name"), Some("receipt"));
}

#[test]
fn only_the_save_that_the_page_showed_is_taken_back() {
    let bench = Bench::new();
    let undo_with = |version: &Fields| undo(&bench.dashboard, VISIT, version.get("version"));
    let undo_form = || {
        let html = render(&bench.dashboard, VISIT).unwrap().body.0;
        form_of(&html, "/edit/undo")
    };
    bench.save(&bench.preview("remove", "orders"));
    let first = undo_form();
    bench.save(&bench.preview("duplicate", "login"));
    let second = undo_form();
    let steps = bench.steps();
    let address = undo_with(&first).unwrap();
    assert!(address.contains("notice="), "{address}");
    assert_eq!(bench.steps(), steps);
    undo_with(&second).unwrap();
    assert_eq!(bench.steps(), ["login", "browse"]);
    assert_eq!(
        bench.dashboard.changes()[1].text,
        "the file changed; nothing was taken back"
    );
}
