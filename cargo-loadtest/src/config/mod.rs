//! `loadtest.toml`: what a team agrees on, checked key by key, all mistakes at once.
//!
//! What is built in gives way to the file, the file to the environment, and that to the command line.

mod access;
mod build;
mod cluster;
mod environment;
mod grading;
mod key;
mod label_match;
mod load;
mod notify;
mod observe;
mod observe_limit;
mod organisation;
mod place;
mod reader;
mod run;
mod sink;
mod store;
mod telemetry;
#[cfg(test)]
mod tests;
mod traces;

use crate::cli::LoadArgs;
pub(crate) use access::AccessConfig;
pub(crate) use build::BuildConfig;
pub(crate) use cluster::ClusterConfig;
pub(crate) use environment::{ConfigEnvironment, variable};
pub(crate) use key::{BuiltIn, Key, ValueKind};
use key::{ConfigTable as _, keys_of};
#[cfg(test)]
pub(crate) use label_match::LabelMatch;
pub(crate) use load::Preset;
use loadtest::targets::ListedTarget;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::files;
use loadtest_model::plan::{GradingDefaults, Overrides};
use loadtest_model::protocol::MAX_CONFIGURATION_BYTES;
pub(crate) use notify::{Event, Notify, NotifyFormat, destination};
pub(crate) use observe::{
    FigureConfig, MOST_GROUPS, MetricConfig, ObserveConfig, PER_REQUEST, list_figures,
};
pub(crate) use observe_limit::WrittenLimit;
#[cfg(test)]
pub(crate) use organisation::Member;
pub(crate) use organisation::{Level, Organisation, Plan};
#[cfg(feature = "cluster")]
pub(crate) use place::is_loopback_host;
pub(crate) use place::{OPEN_SECRET, is_loopback, is_open_to_others, sink_url};
use reader::ConfigReader;
pub(crate) use run::RunDefaults;
pub(crate) use sink::{HistogramForm, SinkConfig, SinkFormat, StatsdDialect};
#[cfg(feature = "telemetry")]
pub(crate) use sink::{OtlpEncoding, Temporality};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
pub(crate) use store::StoreConfig;
pub(crate) use telemetry::TelemetryConfig;
use toml::de::DeTable;
pub(crate) use traces::TracesConfig;

/// The name of the file.
pub(crate) const FILE_NAME: &str = "loadtest.toml";

/// The effective configuration, without the command line.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Config {
    /// The folder of the file, or the root of the workspace where there is none: baselines are beside it.
    pub(crate) folder: PathBuf,
    /// True if the file exists.
    pub(crate) is_file: bool,
    /// `[store]`.
    pub(crate) store: StoreConfig,
    /// `[build]`.
    pub(crate) build: BuildConfig,
    /// `[grading]`: the policy for steps that declare none.
    pub(crate) grading: GradingDefaults,
    /// `[cluster]`.
    pub(crate) cluster: ClusterConfig,
    /// `[telemetry]`.
    pub(crate) telemetry: TelemetryConfig,
    /// `[traces]`.
    pub(crate) traces: TracesConfig,
    /// `[[observe]]`.
    pub(crate) observe: Vec<ObserveConfig>,
    /// The line of each of them.
    pub(crate) observe_lines: Vec<usize>,
    /// `[run]`: what `run` does where its command line says nothing.
    pub(crate) run: RunDefaults,
    /// The same with `--ci`: `[ci]`, and `[run]` where that says nothing.
    pub(crate) ci: RunDefaults,
    /// `[load.NAME]`, in the order of the file.
    pub(crate) presets: Vec<Preset>,
    /// `[[notify]]`.
    pub(crate) notify: Vec<Notify>,
    /// The line of each of them.
    pub(crate) notify_lines: Vec<usize>,
    /// `[[targets]]`, as the library reads and heeds it.
    pub(crate) targets: Vec<ListedTarget>,
    /// `[organisation]`.
    pub(crate) organisation: Option<Organisation>,
    /// Every key that is set, in the order in which one takes the place of another.
    pub(crate) settings: Vec<ConfigSetting>,
}

/// A key that somebody set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigSetting {
    /// The table.
    pub(crate) section: &'static str,
    /// The key in it.
    pub(crate) name: &'static str,
    /// The value: one word, or those of a list.
    pub(crate) words: Vec<String>,
    /// The folder that paths in it are relative to.
    base: PathBuf,
    /// The file or variable it comes from.
    pub(crate) origin: SettingOrigin,
}

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    /// A line of the file.
    File {
        /// The line.
        line: usize,
    },
    /// A variable of the environment.
    Environment {
        /// Its name.
        variable: String,
    },
}

/// The keys that every layer has, in the order in which they are shown.
pub(crate) fn layered() -> Vec<Key> {
    let sections = [
        "store",
        "build",
        "grading",
        "cluster",
        "telemetry",
        "traces",
        "run",
    ]
    .into_iter();
    let ci = keys_of("run").map(|key| Key {
        section: "ci",
        ..*key
    });
    sections.flat_map(keys_of).copied().chain(ci).collect()
}

/// Reads a file that is no larger than a configuration.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    if std::fs::metadata(path)?.len() > MAX_CONFIGURATION_BYTES {
        return Err(std::io::Error::other("it is larger than 1 MiB"));
    }
    files::read(path)
}

impl Config {
    /// Reads the first `loadtest.toml` from `start` upward to `root`, and the variables of the environment;
    /// the defaults where there is neither. Variables that look misspelt are told.
    ///
    /// # Errors
    /// Every mistake at once; a file that cannot be read.
    pub(crate) fn load(start: &Path, root: &Path) -> Result<Self, Error> {
        let (config, doubts) = Self::layers(start, root, ConfigEnvironment::of_process())?;
        for doubt in doubts {
            console::print_warning(doubt);
        }
        Ok(config)
    }

    /// Reads the configuration in a bundle; baselines and runs are in `folder`.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(crate) fn of_bundle(path: &Path, folder: &Path) -> Result<Self, Error> {
        let bytes = read_file(path).map_err(Error::io("read", path))?;
        let environment = ConfigEnvironment::of_process();
        let (config, doubts) = Self::decode(Some(&bytes), &folder.join(FILE_NAME), environment)?;
        for doubt in doubts {
            console::print_warning(doubt);
        }
        Ok(config)
    }

    fn layers(
        start: &Path,
        root: &Path,
        environment: ConfigEnvironment,
    ) -> Result<(Self, Vec<String>), Error> {
        let below_root = start
            .ancestors()
            .take_while(|folder| folder.starts_with(root));
        // `--manifest-path` may name a member outside of the folder of the workspace.
        for folder in below_root.chain([root]) {
            let path = folder.join(FILE_NAME);
            match read_file(&path) {
                Ok(bytes) => return Self::decode(Some(&bytes), &path, environment),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("read", path)(error)),
            }
        }
        Self::decode(None, &root.join(FILE_NAME), environment)
    }

    /// Reads what the file at `path` holds, if there is one, and `environment`.
    pub(crate) fn decode(
        bytes: Option<&[u8]>,
        path: &Path,
        mut environment: ConfigEnvironment,
    ) -> Result<(Self, Vec<String>), Error> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut config = Self {
            folder: folder.to_path_buf(),
            is_file: bytes.is_some(),
            ..Self::default()
        };
        let told = |mistakes: Vec<String>| {
            let with_path = |mistake| format!("{}: {mistake}", path.display());
            mistakes.into_iter().map(with_path).collect::<Vec<_>>()
        };
        let read = match std::str::from_utf8(bytes.unwrap_or_default()) {
            Ok(text) => config.read(text),
            Err(error) => {
                let before = &bytes.unwrap_or_default()[..error.valid_up_to()];
                let line = before.split(|byte| *byte == b'\n').count();
                Err(vec![format!("line {line}: this is not UTF-8, as TOML is")])
            }
        };
        // Which presets there are is not known of a file that is no TOML.
        let knows_presets = read.is_ok();
        let (Ok(mistakes) | Err(mistakes)) = read;
        let mut mistakes = told(mistakes);
        config.take(&mut environment);
        config.settle();
        if knows_presets {
            for (origin, mistake) in config.unknown_presets() {
                if let SettingOrigin::Environment { variable } = origin {
                    mistakes.push(format!("`{variable}`: {mistake}"));
                }
            }
        }
        let (wrong, doubts) = environment.finish();
        mistakes.extend(wrong);
        if mistakes.is_empty() {
            Ok((config, doubts))
        } else {
            Err(Error::usage(mistakes.join("\n")))
        }
    }

    /// Reads the text of the file; what is wrong with it, or with its syntax, so that nothing was read.
    fn read(&mut self, text: &str) -> Result<Vec<String>, Vec<String>> {
        let folder = self.folder.clone();
        let mut reader = ConfigReader::new(text, &folder);
        let (table, syntax) = DeTable::parse_recoverable(text);
        if !syntax.is_empty() {
            let mut lines = BTreeSet::new();
            for error in &syntax {
                let at = error.span().map_or(0, |span| span.start);
                // What else there is in a line follows from the first mistake in it.
                if lines.insert(reader.line(at)) {
                    reader.mistake(at, error.message());
                }
            }
            return Err(reader.finish());
        }
        self.tables(table.get_ref(), &mut reader);
        for (origin, mistake) in self.unknown_presets() {
            if let SettingOrigin::File { line } = origin {
                reader.mistake_in(*line, mistake);
            }
        }
        match ListedTarget::read(text) {
            Ok(targets) => self.targets = targets,
            Err(mistakes) => {
                for mistake in mistakes {
                    reader.mistake_in(mistake.line, mistake.message);
                }
            }
        }
        Ok(reader.finish())
    }

    fn tables(&mut self, file: &DeTable<'_>, reader: &mut ConfigReader<'_>) {
        for (name, value) in file {
            let line = reader.line(name.span().start);
            let mut unused = RunDefaults::default();
            let (section, read) = match &**name.get_ref() {
                "store" => ("store", reader.keys_of("store", value, &mut self.store)),
                "build" => ("build", reader.keys_of("build", value, &mut self.build)),
                "grading" => (
                    "grading",
                    reader.keys_of("grading", value, &mut self.grading),
                ),
                "cluster" => (
                    "cluster",
                    reader.keys_of("cluster", value, &mut self.cluster),
                ),
                "telemetry" => (
                    "telemetry",
                    telemetry::read(value, &mut self.telemetry, reader),
                ),
                "traces" => ("traces", reader.keys_of("traces", value, &mut self.traces)),
                // What is in force is known when all layers are.
                "run" => ("run", reader.keys_of("run", value, &mut unused)),
                "ci" => ("ci", reader.keys_of("ci", value, &mut unused)),
                "load" => {
                    self.presets = load::read(value, reader);
                    continue;
                }
                "notify" => {
                    (self.notify_lines, self.notify) =
                        reader.entries("notify", value).into_iter().unzip();
                    continue;
                }
                "observe" => {
                    (self.observe_lines, self.observe) =
                        observe::read(value, reader).into_iter().unzip();
                    continue;
                }
                // The library reads it, which heeds it.
                "targets" => continue,
                "organisation" => {
                    self.organisation = Some(organisation::read(value, line, reader));
                    continue;
                }
                _ => {
                    reader.unknown(name, &TABLES);
                    continue;
                }
            };
            self.settings
                .extend(read.into_iter().map(|read| ConfigSetting {
                    section,
                    name: read.name,
                    words: read.words,
                    base: self.folder.clone(),
                    origin: SettingOrigin::File { line: read.line },
                }));
        }
    }

    /// Lets the variables of the environment take the place of what the file says.
    fn take(&mut self, environment: &mut ConfigEnvironment) {
        let mut unused = RunDefaults::default();
        let mut settings = environment.read("store", &mut self.store);
        settings.extend(environment.read("build", &mut self.build));
        settings.extend(environment.read("grading", &mut self.grading));
        settings.extend(environment.read("cluster", &mut self.cluster));
        settings.extend(environment.read("telemetry", &mut self.telemetry));
        settings.extend(environment.read("traces", &mut self.traces));
        settings.extend(environment.read("run", &mut unused));
        settings.extend(environment.read("ci", &mut unused));
        self.settings.extend(settings);
    }

    /// Puts the settings in the order in which one takes the place of another, and finds out what `run`
    /// does without and with `--ci`.
    fn settle(&mut self) {
        let rank = |setting: &ConfigSetting| {
            let is_of_environment = matches!(setting.origin, SettingOrigin::Environment { .. });
            (is_of_environment, setting.section == "ci")
        };
        self.settings.sort_by_key(rank);
        for setting in &self.settings {
            let targets = match setting.section {
                "run" => vec![&mut self.run, &mut self.ci],
                "ci" => vec![&mut self.ci],
                _ => continue,
            };
            for target in targets {
                let given = key::Given {
                    words: &setting.words,
                    base: &setting.base,
                };
                // It was read before, where what is wrong with it was told.
                let _ = target.set_key(setting.name, &given);
            }
        }
    }

    /// Returns the presets that are named but do not exist.
    fn unknown_presets(&self) -> Vec<(&SettingOrigin, String)> {
        let names = self
            .settings
            .iter()
            .filter(|setting| setting.name == "load");
        let mistake = |setting: &ConfigSetting| self.preset(&setting.words[0]).err();
        names
            .filter_map(|setting| Some((&setting.origin, mistake(setting)?.to_string())))
            .collect()
    }

    /// Returns the setting that set a key last. With `ci`, `[ci]` may set a key of `[run]`.
    pub(crate) fn setting(&self, section: &str, name: &str) -> Option<&ConfigSetting> {
        let sections = match section {
            "ci" => ["ci", "run"],
            section => [section; 2],
        };
        let mut settings = self.settings.iter().rev();
        settings.find(|setting| setting.name == name && sections.contains(&setting.section))
    }

    /// Returns the defaults of `run`.
    pub(crate) fn defaults(&self, ci: bool) -> &RunDefaults {
        if ci { &self.ci } else { &self.run }
    }

    /// The preset called `name`.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn preset(&self, name: &str) -> Result<&Preset, Error> {
        load::find_preset(&self.presets, name)
    }

    /// Applies preset and flags to the load that a scenario declares.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn overrides(&self, load: &LoadArgs) -> Result<Overrides, Error> {
        let flags = load.overrides();
        let overrides = match &load.preset {
            Some(name) => load::override_load(&self.preset(name)?.overrides, &flags),
            None => flags,
        };
        Ok(Overrides {
            tracing: self.traces.tracing(None),
            ..overrides
        })
    }
}

/// The tables of the file.
const TABLES: [&str; 13] = [
    "store",
    "build",
    "grading",
    "cluster",
    "telemetry",
    "traces",
    "observe",
    "run",
    "ci",
    "load",
    "notify",
    "targets",
    "organisation",
];
