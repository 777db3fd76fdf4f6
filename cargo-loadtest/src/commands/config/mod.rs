//! `cargo loadtest config`: what is in force, and from where.
//!
//! No secret is printed: a webhook is named by its host, the key of its signature by its variable.

mod human;

use crate::cli::{ConfigArgs, ResultFormat};
use crate::config::{
    BuiltIn, Config, Event, FILE_NAME, Known, Notify, NotifyFormat, Origin, layered, variable,
};
use crate::error::Error;
use crate::policy::Caller;
use crate::shell;
use crate::workspace::Workspace;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use url::Url;

/// Prints what is in force.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn config(args: &ConfigArgs) -> Result<u8, Error> {
    let workspace = Workspace::load(&args.cargo)?;
    let config = Config::load(&workspace.start, workspace.root())?;
    let caller = match &config.organisation {
        Some(_) => Caller::of_process(&workspace.start),
        None => None,
    };
    let view = View {
        config: &config,
        caller,
        store: config
            .store
            .directory
            .clone()
            .unwrap_or_else(|| workspace.target_directory.join("loadtest")),
        is_set: |name| std::env::var_os(name).is_some_and(|value| !value.is_empty()),
    };
    match args.format {
        ResultFormat::Human => {
            let text = human::render(&view, shell::width(), shell::colours_results());
            shell::result(text.trim_end())?;
        }
        ResultFormat::Json => {
            let text = serde_json::to_string_pretty(&data(&view));
            shell::result(text.map_err(|error| Error::Internal {
                what: format!("could not encode the configuration: {error}"),
            })?)?;
        }
    }
    Ok(0)
}

/// What is shown.
#[derive(Debug)]
struct View<'a> {
    config: &'a Config,
    caller: Option<Caller>,
    /// Where runs are kept.
    store: PathBuf,
    /// Whether a variable of the environment has a value.
    is_set: fn(&str) -> bool,
}

/// A key and what is in force of it.
#[derive(Debug)]
struct InForce {
    known: Known,
    /// The value; `None` where there is none.
    value: Option<Vec<String>>,
    /// Where it stands; `None` where it is built in.
    origin: Option<Origin>,
}

impl InForce {
    /// Every key of the layers. Those of `[ci]` are what `--ci` makes of `[run]`.
    fn all(view: &View<'_>) -> Vec<Self> {
        let in_force = |known: Known| {
            let setting = view.config.setting(known.section, known.name);
            let value = match (known.section, known.name) {
                ("store", "directory") => Some(vec![view.shown(&view.store)]),
                _ => {
                    setting.map_or_else(|| built_in(&known), |setting| Some(setting.words.clone()))
                }
            };
            Self {
                known,
                value,
                origin: setting.map(|setting| setting.origin.clone()),
            }
        };
        layered().into_iter().map(in_force).collect()
    }

    /// The variable that sets it.
    fn variable(&self) -> String {
        variable(self.known.section, self.known.name)
    }

    /// The value in words.
    fn words(&self) -> String {
        match (&self.value, self.known.built_in) {
            (Some(words), _) => words.join(", "),
            (None, BuiltIn::Nothing(words)) => words.to_owned(),
            (None, _) => String::new(),
        }
    }
}

fn built_in(known: &Known) -> Option<Vec<String>> {
    match known.built_in {
        BuiltIn::Value(value) => Some(vec![value.to_owned()]),
        BuiltIn::Nothing(_) | BuiltIn::Required => None,
    }
}

impl View<'_> {
    /// A path, by the folder of the file where it is below it.
    fn shown(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.config.folder).unwrap_or(path);
        below.display().to_string()
    }

    /// The file that was read.
    fn file(&self) -> Option<PathBuf> {
        let is_file = self.config.is_file;
        is_file.then(|| self.config.folder.join(FILE_NAME))
    }
}

/// Where a value stands, in a word.
fn place(origin: Option<&Origin>) -> String {
    match origin {
        None => "built-in".to_owned(),
        Some(Origin::File { line }) => place_in_file(*line),
        Some(Origin::Environment { variable }) => variable.clone(),
    }
}

fn place_in_file(line: usize) -> String {
    format!("{FILE_NAME}:{line}")
}

/// Scheme and host of a webhook: the rest of a URL of Slack is a secret.
fn host(notify: &Notify) -> String {
    let url = Url::parse(&notify.url).ok();
    url.map_or_else(String::new, |url| url.origin().ascii_serialization())
}

fn events(notify: &Notify) -> Vec<&'static str> {
    notify.events.iter().copied().map(Event::word).collect()
}

fn format(notify: &Notify) -> &'static str {
    match notify.format {
        NotifyFormat::Json => "json",
        NotifyFormat::Slack => "slack",
    }
}

fn data(view: &View<'_>) -> Value {
    let config = view.config;
    let keys: Vec<_> = InForce::all(view)
        .iter()
        .map(|key| {
            let Known {
                section,
                name,
                kind,
                ..
            } = key.known;
            let (from, line) = match &key.origin {
                None => ("built_in", None),
                Some(Origin::File { line }) => ("file", Some(line)),
                Some(Origin::Environment { .. }) => ("environment", None),
            };
            let value = match &key.value {
                Some(words) if kind == crate::config::Kind::List => json!(words),
                Some(words) => json!(words.first()),
                None => Value::Null,
            };
            json!({
                "key": format!("{section}.{name}"),
                "value": value,
                "from": from,
                "line": line,
                "place": place(key.origin.as_ref()),
                "variable": key.variable(),
            })
        })
        .collect();
    let load: Vec<_> = config
        .presets
        .iter()
        .map(|preset| {
            json!({ "name": preset.name, "line": preset.line, "overrides": preset.overrides })
        })
        .collect();
    let notify: Vec<_> = config
        .notify
        .iter()
        .zip(&config.notify_lines)
        .map(|(notify, line)| {
            let secret_env = notify.secret_env.as_deref();
            json!({
                "line": line,
                "host": host(notify),
                "events": events(notify),
                "format": format(notify),
                "secret_env": secret_env,
                "is_secret_set": secret_env.map(view.is_set),
            })
        })
        .collect();
    let targets: Vec<_> = config
        .targets
        .iter()
        .map(|target| {
            json!({
                "line": target.line,
                "host": target.host,
                "scheme": target.scheme,
                "port": target.port,
                "owner": target.owner,
                "max_rate_per_second": target.max_rate,
                "max_in_flight": target.max_in_flight,
                "max_duration_us": target.max_duration.map(|time| u64::try_from(time.as_micros()).ok()),
                "addresses": target.addresses,
                "is_heeded": false,
            })
        })
        .collect();
    let organisation = config.organisation.as_ref().map(|organisation| {
        let members = organisation.members.iter().map(|member| {
            json!({ "name": member.name, "level": member.level.word(), "line": member.line })
        });
        json!({
            "plan": organisation.plan.word(),
            "members": members.collect::<Vec<_>>(),
            "caller": view.caller.as_ref().map(|caller| json!({
                "names": caller.names,
                "by": caller.source,
                "level": caller.level(config).map(crate::config::Level::word),
            })),
        })
    });
    json!({
        "file": view.file(),
        "folder": config.folder,
        "keys": keys,
        "load": load,
        "notify": notify,
        "targets": targets,
        "organisation": organisation,
    })
}
