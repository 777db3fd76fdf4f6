//! Applications of package indexes: somebody works with one in a browser, and what becomes of the recording works with
//! another instance, with other rows, ids and tokens. Their own data tells if it acted on the right rows.

mod django;
mod homebridge;

use crate::archive::{Bodies, archive};
use crate::browser::Browser;
use crate::call::Call;
use crate::project::{Files, Project, ours};
use crate::trial::is_installed;
use libtest_mimic::{Completion, Trial};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn trials() -> Vec<Trial> {
    vec![django::trial(), homebridge::trial()]
}

/// How many journeys are made in the other instance.
const JOURNEYS: usize = 4;

/// The folder into which `.ci/run` installs the applications.
fn installed(path: &str) -> PathBuf {
    ours().join("applications").join(path)
}

/// Makes a trial that is left out where an application or a browser is not installed.
fn new_trial(name: &str, needs: PathBuf, run: fn(&Path)) -> Trial {
    Trial::ignorable_test(format!("applications::{name}"), move || {
        if !needs.is_file() || !is_installed("chromium") {
            let reason = format!("`{}` or `chromium` is not installed", needs.display());
            return Ok(Completion::ignored_with(reason));
        }
        run(&needs);
        Ok(Completion::Completed)
    })
}

/// A person who works with an application, recorded.
struct Visitor {
    browser: Browser,
    bodies: Bodies,
}

impl Visitor {
    fn new(url: &str) -> Self {
        let mut browser = Browser::start_with_window();
        browser.resize(1400, 1200);
        browser.visit(url);
        let bodies = Bodies::default();
        Self { browser, bodies }
    }

    /// Clicks, and waits for what the next page has.
    #[track_caller]
    fn go(&mut self, selector: &str, until: &str) {
        self.bodies.collect(&mut self.browser);
        let mark = "document.documentElement.setAttribute('data-left', '')";
        self.browser.value(mark);
        self.browser.click_on(selector);
        let until = format!(":root:not([data-left]) {until}");
        self.browser.wait_until_there_is(&until);
    }

    /// Waits until an expression of the page is true.
    #[track_caller]
    fn wait_until(&mut self, expression: &str) {
        self.browser.wait_until(expression);
    }

    fn archive(mut self) -> Value {
        self.bodies.collect(&mut self.browser);
        archive(&self.browser, &self.bodies)
    }
}

/// Imports an archive as it is into a project of its own; returns what the command says.
fn import(name: &'static str, archive: &Value) -> (Project, String) {
    let project = Files::single(name, "loadtest::main!();\n").create();
    fs::write(project.root().join("visit.har"), archive.to_string()).expect("our own file");
    let line = "import har visit.har --no-think --force -o tests/load.rs";
    let output = Call::tool(project.root()).line(line).run().exits(0);
    (project, output.stderr)
}

/// Runs journeys of a project, all of whose requests must succeed.
#[track_caller]
fn run(project: &Project, url: &str, users: &str, password: &str) {
    let call = project.tool("run", "--export json=-");
    let call = call.args(["--iterations", &JOURNEYS.to_string(), "--users", users]);
    let run = call
        .env("PASSWORD", password)
        .args(["--base-url", url])
        .run()
        .exits(0);
    let report: Value = serde_json::from_str(&run.stdout).expect("a report");
    let card = &report["cards"][0];
    assert_eq!(card["accounts"]["ok"], JOURNEYS, "{run}");
    for step in card["steps"].as_array().expect("steps") {
        assert_eq!(step["ok"], JOURNEYS, "{run}");
    }
}
