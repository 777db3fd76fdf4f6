//! `cargo loadtest config`: what is in force, and from where.
//!
//! No secret is printed: a webhook is named by its host, the key of its signature by its variable.

mod human;

#[cfg(feature = "ui")]
pub(crate) use human::ConfigTable;

use crate::cli::{ConfigArgs, ResultFormat};
use crate::config::{
    BuiltIn, Config, Event, FILE_NAME, Key, Level, Notify, NotifyFormat, SettingOrigin, SinkConfig,
    ValueKind, layered, variable,
};
use crate::policy::Caller;
use crate::workspace::Workspace;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_model::exit_code::ExitCode;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use url::Url;

/// Prints what is in force.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn config(args: &ConfigArgs) -> Result<ExitCode, Error> {
    let workspace = Workspace::load_or_folder(&args.cargo)?;
    let config = Config::load(&workspace.start, workspace.root())?;
    let store = config.store.directory.clone();
    let store = store.unwrap_or_else(|| workspace.run_directory());
    let view = View::new(&config, store, &workspace.start);
    match args.format {
        ResultFormat::Human => {
            let text = human::render(&view, console::result_width(), console::colours_results());
            console::print_result(text.trim_end())?;
        }
        ResultFormat::Json => console::print_json(format_args!("{:#}", config_json(&view)))?,
    }
    Ok(ExitCode::Passed)
}

/// The data to print.
#[derive(Debug)]
struct View<'a> {
    config: &'a Config,
    caller: Option<Caller>,
    /// The folder of runs.
    store: PathBuf,
    /// Returns true if a variable of the environment has a value.
    is_set: fn(&str) -> bool,
}

/// A key and what is in force of it.
#[derive(Debug)]
struct InForce {
    known: Key,
    /// The value; `None` where there is none.
    value: Option<Vec<String>>,
    /// The source; `None` if it is built in.
    origin: Option<SettingOrigin>,
}

impl InForce {
    /// Every key of the layers. Those of `[ci]` are what `--ci` makes of `[run]`.
    fn all(view: &View<'_>) -> Vec<Self> {
        let in_force = |known: Key| {
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
    fn describe(&self) -> String {
        match (&self.value, self.known.built_in) {
            (Some(words), _) => words.join(", "),
            (None, BuiltIn::Nothing(words)) => words.to_owned(),
            (None, _) => String::new(),
        }
    }
}

fn built_in(known: &Key) -> Option<Vec<String>> {
    match known.built_in {
        BuiltIn::Value(value) => Some(vec![value.to_owned()]),
        BuiltIn::Nothing(_) | BuiltIn::Required => None,
    }
}

/// Returns the effective configuration as tables, for the caller in `folder`.
#[cfg(feature = "ui")]
pub(crate) fn describe_tables(config: &Config, store: PathBuf, folder: &Path) -> Vec<ConfigTable> {
    human::render_tables(&View::new(config, store, folder))
}

impl<'a> View<'a> {
    fn new(config: &'a Config, store: PathBuf, folder: &Path) -> Self {
        let caller = config
            .organisation
            .as_ref()
            .and_then(|_| Caller::of_process(folder));
        Self {
            config,
            caller,
            store,
            is_set: |name| {
                loadtest_console::process::variable_os(name).is_some_and(|value| !value.is_empty())
            },
        }
    }

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

/// Formats the source of a value.
fn describe_place(origin: Option<&SettingOrigin>) -> String {
    match origin {
        None => "built-in".to_owned(),
        Some(SettingOrigin::File { line }) => place_in_file(*line),
        Some(SettingOrigin::Environment { variable }) => variable.clone(),
    }
}

fn place_in_file(line: usize) -> String {
    format!("{FILE_NAME}:{line}")
}

/// Scheme and host of a webhook: the rest of a URL of Slack is a secret. Of one that a variable holds, the
/// variable.
fn webhook_host(notify: &Notify) -> String {
    if notify.url_variable().is_some() {
        return notify.url.clone();
    }
    let url = Url::parse(&notify.url).ok();
    url.map_or_else(String::new, |url| url.origin().ascii_serialization())
}

/// Scheme and host of a sink's URL, its address, or its path.
fn place_of_sink(view: &View<'_>, sink: &SinkConfig) -> String {
    match &sink.path {
        Some(path) => view.shown(path),
        None => sink.place(),
    }
}

fn event_names(notify: &Notify) -> Vec<&'static str> {
    notify.events.iter().copied().map(Event::word).collect()
}

fn format_name(notify: &Notify) -> &'static str {
    match notify.format {
        NotifyFormat::Json => "json",
        NotifyFormat::Slack => "slack",
    }
}

/// Formats a key with its value and the source of that.
fn key_json(key: &InForce) -> Value {
    let Key {
        section,
        name,
        kind,
        ..
    } = key.known;
    let (from, line) = match &key.origin {
        None => ("built_in", None),
        Some(SettingOrigin::File { line }) => ("file", Some(line)),
        Some(SettingOrigin::Environment { .. }) => ("environment", None),
    };
    let number = |words: &[String]| words.first()?.parse::<serde_json::Number>().ok();
    let value = match &key.value {
        Some(words) if kind == ValueKind::List => json!(words),
        Some(words) if kind == ValueKind::Flag => {
            json!(words.first().is_some_and(|word| word == "true"))
        }
        Some(words) if kind.is_several() => {
            let pairs = words.iter().filter_map(|word| word.split_once('='));
            pairs.collect::<BTreeMap<_, _>>().into_iter().collect()
        }
        Some(words) if matches!(kind, ValueKind::Whole | ValueKind::Number) => {
            json!(number(words))
        }
        Some(words) => json!(words.first()),
        None => Value::Null,
    };
    json!({
        "key": format!("{section}.{name}"),
        "value": value,
        "from": from,
        "line": line,
        "place": describe_place(key.origin.as_ref()),
        "variable": key.variable(),
    })
}

fn config_json(view: &View<'_>) -> Value {
    let config = view.config;
    let keys: Vec<_> = InForce::all(view).iter().map(key_json).collect();
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
                "host": webhook_host(notify),
                "events": event_names(notify),
                "format": format_name(notify),
                "secret_env": secret_env,
                "is_secret_set": secret_env.map(view.is_set),
            })
        })
        .collect();
    let telemetry: Vec<_> = config
        .telemetry
        .sinks
        .iter()
        .zip(&config.telemetry.lines)
        .map(|(sink, line)| {
            let variables = sink.access.secret_variables();
            let variables = variables.map(|name| (name, (view.is_set)(name)));
            json!({
                "line": line,
                "format": sink.format.word(),
                "place": place_of_sink(view, sink),
                "options": sink.options().collect::<BTreeMap<_, _>>(),
                "variables": variables.collect::<BTreeMap<_, _>>(),
            })
        })
        .collect();
    let observe: Vec<_> = config
        .observe
        .iter()
        .zip(&config.observe_lines)
        .map(|(source, line)| {
            let variables = source.access.secret_variables();
            let variables = variables.map(|name| (name, (view.is_set)(name)));
            let figures = source.figures().into_iter().map(|figure| {
                json!({
                    "name": figure.name,
                    "unit": figure.unit,
                    "limit": figure.limit.map(|limit| limit.describe(&figure.unit)),
                })
            });
            json!({
                "line": line,
                "source": source.kind(),
                "place": source.place(),
                "figures": figures.collect::<Vec<_>>(),
                "options": source.options().collect::<BTreeMap<_, _>>(),
                "variables": variables.collect::<BTreeMap<_, _>>(),
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
                "level": caller.level(config).map(Level::word),
            })),
        })
    });
    json!({
        "file": view.file(),
        "folder": config.folder,
        "keys": keys,
        "load": load,
        "notify": notify,
        "telemetry": telemetry,
        "observe": observe,
        "targets": config.targets,
        "organisation": organisation,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigEnvironment;

    const FILE: &str = "\
[store]
keep = 50
[grading]
apdex = \"300ms\"
[run]
seed = 7
[ci]
load = \"smoke\"
export = [\"junit\", \"markdown=reports/a_rather_long_name_of_a_file/summary.md\"]
[load.smoke]
rate = \"10/s\"
ramp_up = \"2s\"
duration = \"30s\"
[load.work]
iterations = 1000
users = 1
[[notify]]
url = \"https://hooks.slack.com/services/T0SECRET/xyz?token=T0SECRET\"
format = \"slack\"
secret_env = \"HOOK_KEY\"
[[notify]]
url = \"http://127.0.0.1:8080/T0SECRET\"
events = [\"gate.failed\"]
[telemetry]
labels = { service = \"shop\" }
[[telemetry.to]]
format = \"remote-write\"
url = \"https://mimir.example.com/T0SECRET/push?tenant=T0SECRET\"
token_env = \"MIMIR_TOKEN\"
headers = { X-Scope-OrgID = \"T0SECRET\" }
interval = \"5s\"
[[telemetry.to]]
format = \"otlp\"
header_env = { DD-API-KEY = \"HOOK_KEY\" }
[[telemetry.to]]
format = \"json\"
path = \"target/loadtest/{run}/intervals.jsonl\"
[[observe]]
name = \"db cpu\"
prometheus = \"https://prometheus.example.com/T0SECRET\"
query = \"sum(rate(T0SECRET[15s]))\"
unit = \"cores\"
limit = \"max < 3.5 or abort\"
token_env = \"HOOK_KEY\"
interval = \"10s\"
[[observe]]
name = \"node\"
scrape = \"http://10.20.0.7:9100/T0SECRET\"
metrics = [
  { name = \"cpu\", family = \"node_cpu_seconds_total\", where = { mode = \"!idle\" }, as = \"rate\", unit = \"cores\" },
  { name = \"memory\", family = \"node_memory_Active_bytes\", unit = \"bytes\", limit = \"max < 1GiB\" },
]
[[observe]]
process = \"cpu\"
limit = \"mean < 2\"
[[targets]]
host = \"shop.staging.example.com\"
scheme = \"https\"
owner = \"shop-team@example.com\"
max_rate = \"200/s\"
[organisation]
plan = \"free\"
[organisation.members]
\"ada@example.com\" = \"admin\"
\"\\u001b[31mvera\" = \"viewer\"
";

    fn shown<T>(file: Option<&str>, show: impl Fn(&View<'_>) -> T) -> T {
        let variables = [("LOADTEST_GRADING_BUDGET".to_owned(), "0.5%".to_owned())];
        let environment = match file {
            Some(_) => ConfigEnvironment::new(variables, Path::new("/tmp")),
            None => ConfigEnvironment::default(),
        };
        let path = Path::new("/home/ada/shop/loadtest.toml");
        let (config, _) = Config::decode(file.map(str::as_bytes), path, environment).unwrap();
        show(&View {
            config: &config,
            caller: Some(Caller {
                names: vec!["ada@example.com".to_owned()],
                source: "GITHUB_ACTOR",
            }),
            store: PathBuf::from("/home/ada/shop/target/loadtest"),
            is_set: |name| name == "HOOK_KEY",
        })
    }

    #[test]
    fn people_see_every_key_and_where_it_is_from() {
        insta::assert_snapshot!(shown(Some(FILE), |view| human::render(view, 80, false)));
    }

    #[test]
    fn people_see_what_is_built_in() {
        insta::assert_snapshot!(shown(None, |view| human::render(view, 80, false)));
    }

    #[test]
    fn programs_see_the_same() {
        insta::assert_json_snapshot!(shown(Some(FILE), config_json));
    }

    #[test]
    fn nothing_shown_is_secret_or_wider_than_the_terminal_or_drives_it() {
        for width in [60, 80, 132] {
            let text = shown(Some(FILE), |view| human::render(view, width, false));
            for line in text.lines() {
                let wide = unicode_width::UnicodeWidthStr::width(line);
                assert!(wide <= width, "{width}: {line:?}");
            }
            assert!(
                !text.contains("T0SECRET") && !text.contains('\x1b'),
                "{text}"
            );
            let host = "https://hooks.slack.com";
            assert!(width < 80 || text.contains(host), "{text}");
        }
        assert!(
            !shown(Some(FILE), config_json)
                .to_string()
                .contains("T0SECRET")
        );
    }
}
