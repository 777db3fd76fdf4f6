//! Who may do what, by `[organisation]`: a guard-rail against slips, and no lock.
//!
//! Who somebody is, they say themselves; what holds against the unwilling is the access control of the
//! repository and of its build server.

use crate::config::{Config, FILE_NAME, Level, Plan};
use crate::selection::Found;
use loadtest_console::console::clean;
use loadtest_console::error::Error;
use loadtest_console::process::{self, USER_VARIABLE};
use std::path::Path;
use std::process::{Command, Stdio};

/// An action that needs permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// `run`.
    Run,
    /// `debug`.
    Debug,
    /// `capacity`.
    Capacity,
    /// `baseline save` and `baseline remove`.
    Baseline,
    /// `duplicate`.
    Duplicate,
    /// A change of a scenario's source in the dashboard.
    #[cfg(feature = "ui")]
    Edit,
}

impl Action {
    fn describe(self) -> &'static str {
        match self {
            Self::Run => "running load tests",
            Self::Debug => "running a journey",
            Self::Capacity => "searching for a capacity",
            Self::Baseline => "changing baselines",
            Self::Duplicate => "duplicating scenarios",
            #[cfg(feature = "ui")]
            Self::Edit => "editing scenarios",
        }
    }
}

/// The least level that may do any of it.
const NEEDED: Level = Level::Tester;

/// The caller, and the source of that knowledge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The names that stand for them; any of them may be the member's.
    pub(crate) names: Vec<String>,
    /// The source of the names.
    pub(crate) source: &'static str,
}

/// Variables that name the caller: our own first, then those of CI servers.
const VARIABLES: [&str; 3] = [USER_VARIABLE, "GITHUB_ACTOR", "GITLAB_USER_LOGIN"];

impl Caller {
    /// The one of this process, in `folder`.
    pub(crate) fn of_process(folder: &Path) -> Option<Self> {
        Self::find(process::variable, |key| read_git_config(key, folder))
    }

    fn find(
        variable: impl Fn(&str) -> Option<String>,
        git: impl Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let trimmed = |text: Option<String>| {
            let text = text?.trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        for source in VARIABLES {
            if let Some(name) = trimmed(variable(source)) {
                let names = vec![name];
                return Some(Self { names, source });
            }
        }
        let configured = ["user.email", "user.name"].map(|key| trimmed(git(key)));
        let names: Vec<_> = configured.into_iter().flatten().collect();
        let source = "git's configuration";
        (!names.is_empty()).then_some(Self { names, source })
    }

    /// Formats the caller: `ada@example.com` (by `GITHUB_ACTOR`).
    pub(crate) fn describe(&self) -> String {
        let names: Vec<_> = self
            .names
            .iter()
            .map(|name| format!("`{}`", clean(name)))
            .collect();
        format!("{} (by {})", names.join(", "), self.source)
    }

    /// The level that `config` gives them; `None` where it does not know them.
    pub(crate) fn level(&self, config: &Config) -> Option<Level> {
        let organisation = config.organisation.as_ref()?;
        let member = self.names.iter().find_map(|name| organisation.member(name));
        member.map(|member| member.level)
    }
}

/// Returns git's setting of `key`.
fn read_git_config(key: &str, folder: &Path) -> Option<String> {
    let output = Command::new("git")
        .args(["config", "--get", key])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
}

/// Refuses `action` where the organisation gives its caller, who stands in `folder`, too low a level.
///
/// # Errors
/// When it is refused.
pub(crate) fn permits(action: Action, config: &Config, folder: &Path) -> Result<(), Error> {
    match &config.organisation {
        Some(organisation) if !organisation.members.is_empty() => {
            judge(action, config, Caller::of_process(folder).as_ref())
        }
        _ => Ok(()),
    }
}

/// Refuses `action` where the organisation gives `caller` too low a level.
///
/// # Errors
/// When it is refused.
pub(crate) fn judge(action: Action, config: &Config, caller: Option<&Caller>) -> Result<(), Error> {
    let level = caller.and_then(|caller| caller.level(config));
    if level.is_some_and(|level| level >= NEEDED) {
        return Ok(());
    }
    let needs = format!("{} needs the level {}", action.describe(), NEEDED.word());
    let admins: Vec<_> = (config.organisation.iter())
        .flat_map(|organisation| &organisation.members)
        .filter(|member| member.level == Level::Admin)
        .map(|member| format!("`{}`", clean(&member.name)))
        .collect();
    let change = match admins.as_slice() {
        [] => format!("`[organisation.members]` in `{FILE_NAME}` lists the levels of all members"),
        admins => format!(
            "ask {} for a line in `[organisation.members]` of `{FILE_NAME}`",
            admins.join(" or ")
        ),
    };
    let (who, help) = match (caller, level) {
        (None, _) => (
            "your name is not known".to_owned(),
            format!("set `LOADTEST_USER`, or git's `user.email`; {change}"),
        ),
        (Some(caller), None) => (
            format!("{} is not a member of the organisation", caller.describe()),
            format!("{change}; or set `LOADTEST_USER` to your name there"),
        ),
        (Some(caller), Some(level)) => (
            format!("{} has the level {}", caller.describe(), level.word()),
            change,
        ),
    };
    Err(Error::usage(format!("{who}, and {needs}")).with_help(help))
}

/// Refuses scenarios that are more than the plan of the organisation allows.
///
/// # Errors
/// When it is refused.
pub(crate) fn permits_tests(config: &Config, chosen: &[Found]) -> Result<(), Error> {
    let Some(organisation) = &config.organisation else {
        return Ok(());
    };
    if organisation.plan == Plan::Pro {
        return Ok(());
    }
    let too_much: Vec<_> = chosen
        .iter()
        .map(|found| (found.definition.identity(), found.definition.steps.len()))
        .filter(|(_, steps)| *steps > 1)
        .map(|(identity, steps)| format!("\n  {} ({steps} steps)", clean(&identity)))
        .collect();
    if too_much.is_empty() {
        return Ok(());
    }
    let line = organisation.line;
    Err(Error::usage(format!(
        "the plan `free` allows tests of a single request only, and these have several \
             steps:{}",
        too_much.concat()
    ))
    .with_help(format!(
        "select scenarios of one step, with a filter or `--tag`; or write `plan = \"pro\"` \
             into `[organisation]`, {FILE_NAME}:{line}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Member, Organisation};
    use crate::session::sample;
    use crate::workspace::Binary;
    use loadtest_model::exit_code::ExitCode;
    use std::path::PathBuf;

    fn config(plan: Plan, members: &[(&str, Level)]) -> Config {
        let members = members.iter().map(|(name, level)| Member {
            name: (*name).to_owned(),
            level: *level,
            line: 1,
        });
        Config {
            organisation: Some(Organisation {
                plan,
                line: 2,
                members: members.collect(),
            }),
            ..Config::default()
        }
    }

    fn caller(names: &[&str]) -> Caller {
        Caller {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            source: "LOADTEST_USER",
        }
    }

    #[test]
    fn the_first_that_names_somebody_says_who_calls() {
        let find = |set: &'static [(&str, &str)]| {
            let value = |name: &str| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            Caller::find(value, value).map(|caller| (caller.names.join("|"), caller.source))
        };
        assert_eq!(
            find(&[("user.email", "ada@example.com\n"), ("user.name", "Ada")]),
            Some(("ada@example.com|Ada".to_owned(), "git's configuration"))
        );
        assert_eq!(
            find(&[("GITLAB_USER_LOGIN", "ada"), ("user.name", "Ada")]),
            Some(("ada".to_owned(), "GITLAB_USER_LOGIN"))
        );
        assert_eq!(
            find(&[("LOADTEST_USER", "grace"), ("GITHUB_ACTOR", "ada")]),
            Some(("grace".to_owned(), "LOADTEST_USER"))
        );
        assert_eq!(
            find(&[("LOADTEST_USER", " "), ("GITHUB_ACTOR", "ada")]),
            Some(("ada".to_owned(), "GITHUB_ACTOR"))
        );
        assert_eq!(find(&[]), None);
    }

    #[test]
    fn testers_and_admins_may_and_viewers_and_strangers_may_not() {
        let levels = [
            ("vera", Level::Viewer),
            ("tess", Level::Tester),
            ("ada", Level::Admin),
        ];
        let config = config(Plan::Pro, &levels);
        let judge = |names: &[&str]| judge(Action::Run, &config, Some(&caller(names)));
        assert!(judge(&["tess"]).is_ok() && judge(&["Ada"]).is_ok());
        // Any of the names that git knows may be the member's.
        assert!(judge(&["x@example.com", "tess"]).is_ok());
        let error = judge(&["vera"]).unwrap_err();
        assert_eq!(error.exit_code(), ExitCode::Usage);
        assert_eq!(
            error.to_string(),
            "`vera` (by LOADTEST_USER) has the level viewer, and running load tests needs the \
             level tester"
        );
        assert!(
            error
                .help()
                .unwrap()
                .starts_with("ask `ada` for a line in `[organisation.members]`")
        );
        let text = judge(&["mallory\x1b"]).unwrap_err().to_string();
        assert!(
            text.starts_with("`mallory␛` (by LOADTEST_USER) is not a member"),
            "{text}"
        );
        let nobody = super::judge(Action::Duplicate, &config, None).unwrap_err();
        assert!(
            nobody
                .to_string()
                .contains("your name is not known, and duplicating scenarios needs")
        );
        assert!(nobody.help().unwrap().contains("set `LOADTEST_USER`"));
    }

    #[test]
    fn without_members_everybody_may() {
        let folder = Path::new(".");
        assert!(permits(Action::Run, &Config::default(), folder).is_ok());
        assert!(permits(Action::Run, &config(Plan::Free, &[]), folder).is_ok());
    }

    #[test]
    fn a_free_plan_runs_tests_of_a_single_request() {
        let found = |function: &str, steps: usize| {
            let mut definition = sample::definition(function, &[]);
            definition.steps.to_mut().truncate(steps);
            Found {
                definition,
                binary: Binary {
                    package: "shop".to_owned(),
                    package_root: PathBuf::new(),
                    target: "test `load`".to_owned(),
                    executable: PathBuf::new(),
                    script: None,
                    packages: None,
                },
                also_in: Vec::new(),
            }
        };
        let (free, pro) = (config(Plan::Free, &[]), config(Plan::Pro, &[]));
        let (one, two) = (found("one", 1), found("two", 2));
        assert!(permits_tests(&free, std::slice::from_ref(&one)).is_ok());
        let both = [one, two];
        assert!(permits_tests(&pro, &both).is_ok());
        let error = permits_tests(&free, &both).unwrap_err();
        assert_eq!(error.exit_code(), ExitCode::Usage);
        let text = error.to_string();
        assert!(
            text.ends_with("steps:\n  shop::load::two (2 steps)"),
            "{text}"
        );
        assert!(
            error
                .help()
                .unwrap()
                .ends_with("`[organisation]`, loadtest.toml:2")
        );
    }
}
