//! The workflow files of `docs/ci`: checked by linters of their formats, and their commands run as they stand.

use crate::call::{Call, tool};
use crate::ci::Step;
use crate::project::{Project, kept, workspace};
use crate::shop::shop;
use crate::trials;
use libtest_mimic::{Completion, Trial};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials![needing "check-jsonschema": the_files_are_valid_to_their_schemas,];
    trials.extend([
        reading(
            "nothing_is_deployed_unless_the_gate_passed",
            deploys_are_gated,
        ),
        reading(
            "the_jobs_may_do_and_take_no_more_than_they_need",
            rights_are_least,
        ),
        reading("every_name_is_one_that_is_there", names_are_known),
        reading(
            "the_scripts_are_sound_and_end_at_the_first_failure",
            scripts_are_sound,
        ),
        reading(
            "the_tool_is_installed_at_the_revision_of_the_library",
            tool_is_of_library,
        ),
        reading("github_runs_the_gate_of_the_shop", github_runs),
        reading("gitlab_runs_the_gate_of_the_shop", gitlab_runs),
    ]);
    trials
}

/// A trial that is left out where no Python reads YAML.
fn reading(name: &str, run: fn(&Workflows)) -> Trial {
    Trial::ignorable_test(format!("workflows::{name}"), move || {
        let Some(workflows) = Workflows::read() else {
            let reason = "no `python3` with the module `yaml` is installed";
            return Ok(Completion::ignored_with(reason));
        };
        run(&workflows);
        Ok(Completion::Completed)
    })
}

const GITHUB: &str = "docs/ci/github.yml";
const GITLAB: &str = "docs/ci/gitlab-ci.yml";

/// Both files.
#[derive(Debug)]
struct Workflows {
    github: Value,
    gitlab: Value,
}

impl Workflows {
    fn read() -> Option<Self> {
        // What is `on:` to people is true to YAML 1.1.
        const SCRIPT: &str = "import json, sys, yaml\n\
                              read = yaml.load(open(sys.argv[1], encoding='utf-8'), yaml.BaseLoader)\n\
                              print(json.dumps(read))";
        let python = |program: &&str| {
            let call = Call::program(program, workspace()).args(["-c", "import yaml"]);
            call.run().status.success()
        };
        let python = ["python3", "/usr/bin/python3"].into_iter().find(python)?;
        let read = |path: &str| {
            let call = Call::program(python, workspace())
                .args(["-c", SCRIPT])
                .arg(path);
            serde_json::from_str(&call.run().exits(0).stdout).expect("JSON")
        };
        Some(Self {
            github: read(GITHUB),
            gitlab: read(GITLAB),
        })
    }

    /// The steps of a job of GitHub.
    fn steps(&self, job: &str) -> &[Value] {
        list(&self.github["jobs"][job]["steps"])
    }

    /// The step of the gate that has this name.
    #[track_caller]
    fn command(&self, name: &str) -> &str {
        let step = self.steps("gate").iter().find(|step| step["name"] == name);
        step.and_then(|step| step["run"].as_str()).expect(name)
    }

    /// All that a shell runs: where, and what.
    fn scripts(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for (job, body) in entries(&self.github["jobs"]) {
            for step in list(&body["steps"]) {
                if let Some(run) = step["run"].as_str() {
                    all.push((format!("{GITHUB}: {job}"), run.to_owned()));
                }
            }
        }
        for job in ["load-test", "deploy"] {
            all.push((format!("{GITLAB}: {job}"), self.of_gitlab(job)));
        }
        all
    }

    /// The lines of a job of GitLab, which its runner puts together so.
    fn of_gitlab(&self, job: &str) -> String {
        let job = &self.gitlab[job];
        let lines = list(&job["before_script"])
            .iter()
            .chain(list(&job["script"]));
        let lines: Vec<_> = lines.filter_map(Value::as_str).collect();
        lines.join("\n")
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn the_files_are_valid_to_their_schemas() {
    for (file, schema) in [
        (GITHUB, "vendor.github-workflows"),
        ("docs/ci/shards.yml", "vendor.github-workflows"),
        (GITLAB, "vendor.gitlab-ci"),
    ] {
        let mut call = Call::program("check-jsonschema", workspace());
        call = call.args(["--builtin-schema", schema, file]);
        if file == GITLAB {
            call = call.args(["--data-transform", "gitlab-ci"]);
        }
        call.run().exits(0);
    }
}

fn deploys_are_gated(workflows: &Workflows) {
    let jobs = &workflows.github["jobs"];
    let deploy = &jobs["deploy"];
    assert_eq!(deploy["needs"], "gate");
    let condition = deploy["if"].as_str().expect("only of what was pushed");
    for word in ["always", "cancelled", "failure"] {
        assert!(!condition.contains(word), "{condition}");
    }
    for (name, job) in entries(jobs) {
        assert!(job["continue-on-error"].is_null(), "{name}");
        for step in list(&job["steps"]) {
            assert!(step["continue-on-error"].is_null(), "{step}");
        }
    }
    // What only a run that passed may do comes after the gate, and has no condition that lets more happen.
    let steps = workflows.steps("gate");
    let at = |name: &str| {
        steps
            .iter()
            .position(|step| step["name"] == name)
            .expect(name)
    };
    for after in ["Renew the baseline", "Keep the baseline"] {
        assert!(at("Load test") < at(after));
        assert_eq!(steps[at(after)]["if"], "github.event_name == 'push'");
    }
    let gitlab = &workflows.gitlab;
    let stages: Vec<_> = list(&gitlab["stages"])
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(stages, ["gate", "deploy"]);
    assert_eq!(gitlab["load-test"]["stage"], "gate");
    assert_eq!(list(&gitlab["deploy"]["needs"]), ["load-test"]);
    for job in ["load-test", "deploy"] {
        for key in ["allow_failure", "when"] {
            assert!(gitlab[job][key].is_null(), "{job}: {key}");
        }
    }
    let script = workflows.of_gitlab("load-test");
    let place = |part: &str| script.find(part).expect(part);
    assert!(place("loadtest run") < place("baseline save"));
}

fn rights_are_least(workflows: &Workflows) {
    let github = &workflows.github;
    assert_eq!(
        github["permissions"],
        serde_json::json!({ "contents": "read" })
    );
    for (name, job) in entries(&github["jobs"]) {
        let writes = entries(&job["permissions"]).any(|(_, right)| right == "write");
        assert_eq!(writes, name == "comment", "{name}");
        for step in list(&job["steps"]) {
            if let Some(action) = step["uses"].as_str() {
                let (from, version) = action.split_once('@').expect("a version");
                assert!(from.starts_with("actions/"), "{action}");
                let major = version.strip_prefix('v').expect("a major version");
                assert!(major.parse::<u32>().is_ok(), "{action}");
            }
        }
    }
    let events = &github["on"];
    assert!(
        events["pull_request_target"].is_null(),
        "forks would get our rights"
    );
    // What a pull request brings is in no command, but in the environment of one.
    for (place, script) in workflows.scripts() {
        assert!(!script.contains("${{"), "{place}: {script}");
    }
}

fn names_are_known(workflows: &Workflows) {
    let jobs = &workflows.github["jobs"];
    let gate = &jobs["gate"];
    let told = fs::read_to_string(workspace().join("docs/ci.md")).expect("the page");
    let text = fs::read_to_string(workspace().join(GITHUB)).expect("the file");
    for (marker, is_known) in [
        ("steps.gate.outputs.", &|name: &str| {
            told.contains(&format!("| `{name}` |"))
        }),
        ("needs.gate.outputs.", &|name: &str| {
            gate["outputs"][name].is_string()
        }),
    ] as [(&str, &dyn Fn(&str) -> bool); 2]
    {
        let mut found = 0;
        for part in text.split(marker).skip(1) {
            let end = part.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let name = &part[..end.unwrap_or(part.len())];
            assert!(is_known(name), "{marker}{name}");
            found += 1;
        }
        assert!(found > 0, "{marker}");
    }
    for (name, job) in entries(jobs) {
        if let Some(other) = job["needs"].as_str() {
            assert!(jobs[other].is_object(), "{name} needs {other}");
        }
    }
    assert!(
        workflows
            .steps("gate")
            .iter()
            .any(|step| step["id"] == "gate")
    );
    // Both files are what the page says they are, and with the same gate.
    let of_gitlab = workflows.of_gitlab("load-test");
    let command = workflows.command("Load test");
    assert!(
        of_gitlab.contains(command) && told.contains(command),
        "{command}"
    );
}

fn scripts_are_sound(workflows: &Workflows) {
    let folder = tempfile::tempdir().expect("a folder");
    let shellcheck = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join("shellcheck").is_file())
    });
    for (place, script) in workflows.scripts() {
        for weak in ["|| true", "||true", "set +e", "|| :", "; true"] {
            assert!(!script.contains(weak), "{place}: {weak}");
        }
        // A gate that is part of a pipe or a condition loses its code.
        let gates = script.lines().filter(|line| line.contains("loadtest run"));
        for line in gates {
            assert!(line.starts_with("cargo loadtest run"), "{place}: {line}");
            assert!(!line.contains(['|', '&', ';']), "{place}: {line}");
        }
        let file = folder.path().join("script.sh");
        fs::write(&file, format!("#!/usr/bin/env bash\n{script}\n")).expect("room");
        let bash = Call::program("bash", folder.path()).arg("-n").arg(&file);
        bash.run().exits(0);
        if shellcheck {
            let call = Call::program("shellcheck", folder.path()).arg(&file);
            call.run().exits(0);
        }
    }
}

/// The lock file of a project that depends on a revision of the library.
const LOCK: &str = "version = 4\n\n[[package]]\nname = \"http\"\nversion = \"1.0.0\"\n\
                    source = \"registry+https://example.test\"\n\n[[package]]\nname = \"loadtest\"\n\
                    version = \"0.1.0\"\nsource = \"git+https://example.test/loadtest.git?rev=ab12#ab12cd\"\n\
                    dependencies = [\n \"http\",\n]\n";

fn tool_is_of_library(workflows: &Workflows) {
    const WANTED: &str =
        "install --locked --git https://example.test/loadtest.git --rev ab12cd cargo-loadtest\n";
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("Cargo.lock"), LOCK).expect("room");
    let before = &list(&workflows.gitlab["load-test"]["before_script"])[..2];
    let of_gitlab: Vec<_> = before.iter().filter_map(Value::as_str).collect();
    let metadata = r#"{"packages":[{"name":"http","source":"registry+x"},{"name":"loadtest","source":"git+https://example.test/loadtest.git?rev=ab12#ab12cd"}]}"#;
    for script in [
        of_gitlab.join("\n"),
        workflows.command("Install cargo-loadtest").to_owned(),
    ] {
        let script = format!(
            "set -eo pipefail\ncargo() {{\n  case $1 in\n  metadata) echo '{metadata}' ;;\n  \
             *) echo \"$@\" ;;\n  esac\n}}\n{script}"
        );
        let output = Call::program("bash", folder.path())
            .args(["-c", &script])
            .run()
            .exits(0);
        assert_eq!(output.stdout, WANTED);
    }
}

/// A script in a shell as a build server starts it, with this tool, a short load, and a package registry that is
/// a folder.
fn script(project: &Project, step: &Step, text: &str) -> Call {
    const SHELL: &str = r#"set -eo pipefail
cargo() {
  case "$1 $2" in
  "loadtest run") shift 2; "$TOOL" loadtest run --profile test "$@" ;;
  "loadtest "*) "$TOOL" "$@" ;;
  *) echo "cargo $*" ;;
  esac
}
curl() {
  local file='' to=''
  while [ $# -gt 0 ]; do
    case $1 in
    --output) to=$2; shift ;;
    --upload-file) file=$2; shift ;;
    esac
    shift
  done
  if [ -n "$file" ]; then cp "$file" "$REGISTRY"
  elif [ -e "$REGISTRY" ]; then cp "$REGISTRY" "$to"; printf 200
  else printf 404; fi
}
"#;
    // There may be as many users as arrivals, so that none is dropped.
    let text = text.replace("--duration 5m", "--duration 3s --rate 10/s");
    step.call(Call::program("bash", project.root()))
        .args(["-c", &format!("{SHELL}{text}")])
        .env("TOOL", tool())
        .env("REGISTRY", step.file("registry"))
        .env("GITHUB_WORKSPACE", project.root())
        // What the workspace builds for its own tests is built already.
        .env("CARGO_TARGET_DIR", kept("target"))
}

/// Removes what earlier runs left in a project.
fn forget(project: &Project) {
    let baselines = project.path(".loadtest");
    if baselines.exists() {
        fs::remove_dir_all(baselines).expect("our own folder");
    }
}

fn github_runs(workflows: &Workflows) {
    let project = shop("ci-github");
    forget(&project);
    // The first time there is no baseline.
    let step = Step::new();
    let run = script(&project, &step, workflows.command("Load test")).run();
    let run = run.exits(0).says(&["there is no baseline `main`"]);
    let all = step.outputs();
    assert_eq!(all["scenario"], "shop::load::checkout");
    assert_eq!(all["passed"], "true", "{run}");
    assert!(step.summary().contains("checkout"));
    let folder = PathBuf::from(&all["directory"]);
    // What the other steps and jobs take from it.
    for file in ["report.html", "report.md", "junit.xml", "record.json"] {
        assert!(folder.join(file).exists(), "{file}");
    }
    let command = workflows.command("Renew the baseline");
    // One whose validity was not judged is nothing to compare with, which is said of it and no baseline is made.
    let renewed = script(&project, &step, command).run().exits(2);
    renewed.says(&[
        "cannot be saved as a baseline",
        "its validity was not judged",
    ]);
    assert!(!project.path(".loadtest/baselines/main").exists());
}

fn gitlab_runs(workflows: &Workflows) {
    let project = shop("ci-gitlab");
    forget(&project);
    let step = Step::new();
    let lines = workflows.of_gitlab("load-test");
    let (_, lines) = lines
        .split_once("cargo install")
        .expect("the tool is installed");
    let (_, lines) = lines.split_once('\n').expect("and then something is run");
    let call = |branch: &str| {
        script(&project, &step, lines)
            .env("GITHUB_ACTIONS", "")
            .env("CI_DEFAULT_BRANCH", "main")
            .env("CI_COMMIT_BRANCH", branch)
            .env("CI_JOB_TOKEN", "token")
            .env("BASELINE", "https://example.test/baseline.tar.gz")
            .env(
                "CARGO_HOME",
                std::env::var_os("CARGO_HOME").unwrap_or_default(),
            )
            .run()
    };
    let run = call("");
    let run = run.exits(0).prints(&["no baseline yet"]);
    assert!(!step.file("registry").exists(), "of main alone\n{run}");
    for file in ["report.html", "junit.xml", "metrics.txt"] {
        assert!(!project.text(file).is_empty(), "{file}");
    }
    // On main it is to become the baseline, for which it would have to be judged: the script ends there.
    let run = call("main");
    let run = run.exits(2);
    let run = run.says(&[
        "cannot be saved as a baseline",
        "its validity was not judged",
    ]);
    assert!(!step.file("registry").exists(), "{run}");
}
