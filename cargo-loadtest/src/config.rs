//! `loadtest.toml`: what a team agrees on, checked key by key, all mistakes at once.

use crate::error::Error;
use crate::selection::{one_of, similar};
use crate::units;
use loadtest::plan::GradingDefaults;
use loadtest::targets::{Listed, Mistake};
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The name of the file.
pub(crate) const FILE_NAME: &str = "loadtest.toml";

/// What `loadtest.toml` says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Config {
    /// The folder of the file, or the root of the workspace where there is none: baselines are beside it.
    pub(crate) folder: PathBuf,
    /// `[store]`.
    pub(crate) store: StoreConfig,
    /// `[grading]`: the policy for steps that declare none.
    pub(crate) grading: GradingDefaults,
    /// `[[notify]]`.
    pub(crate) notify: Vec<Notify>,
}

/// `[store]`: where runs are kept, and how many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StoreConfig {
    /// `directory`, made absolute by the folder of the file.
    pub(crate) directory: Option<PathBuf>,
    /// `keep`: how many runs, the newest.
    pub(crate) keep: Option<usize>,
    /// `max_age`: how old a run may be.
    pub(crate) max_age: Option<Duration>,
}

/// `[[notify]]`: who is told of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notify {
    /// `url`: where to, `http` or `https`.
    pub(crate) url: String,
    /// `events`: of what; of all, where nothing is said.
    pub(crate) events: Vec<Event>,
    /// `format`: in what form.
    pub(crate) format: NotifyFormat,
    /// `secret_env`: the variable of the environment that holds the key of the signature.
    pub(crate) secret_env: Option<String>,
}

/// What webhooks are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    /// `run.started`
    RunStarted,
    /// `run.finished`
    RunFinished,
    /// `gate.failed`
    GateFailed,
}

/// In what form a webhook is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum NotifyFormat {
    /// `json`: the documented payload.
    #[default]
    Json,
    /// `slack`: a message of Slack's incoming webhooks.
    Slack,
}

impl Config {
    /// Reads the first `loadtest.toml` from `start` upward to `root`; the defaults where there is none.
    ///
    /// # Errors
    /// [`Error::Config`] with every mistake in it; a file that cannot be read.
    pub(crate) fn load(start: &Path, root: &Path) -> Result<Self, Error> {
        let below_root = start
            .ancestors()
            .take_while(|folder| folder.starts_with(root));
        // `--manifest-path` may name a member outside of the folder of the workspace.
        for folder in below_root.chain([root]) {
            let path = folder.join(FILE_NAME);
            match std::fs::read(&path) {
                Ok(bytes) => {
                    let config = Self::decode(&bytes, &path)?;
                    return Ok(Self {
                        folder: folder.to_path_buf(),
                        ..config
                    });
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("read", path)(error)),
            }
        }
        Ok(Self {
            folder: root.to_path_buf(),
            ..Self::default()
        })
    }

    fn decode(bytes: &[u8], path: &Path) -> Result<Self, Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(text, path),
            Err(error) => {
                let before = &bytes[..error.valid_up_to()];
                let line = before.split(|byte| *byte == b'\n').count();
                Err(Error::Config {
                    path: path.to_path_buf(),
                    mistakes: vec![format!("line {line}: this is not UTF-8, as TOML is")],
                })
            }
        }
    }

    fn parse(text: &str, path: &Path) -> Result<Self, Error> {
        let mut reader = Reader {
            text,
            mistakes: Vec::new(),
        };
        let (table, syntax) = DeTable::parse_recoverable(text);
        for error in &syntax {
            reader.mistake(error.span().map_or(0, |span| span.start), error.message());
        }
        let mut config = Self::default();
        if syntax.is_empty() {
            reader.file(table.get_ref(), &mut config);
            if let Err(mistakes) = Listed::read(text) {
                let told = |one: Mistake| (one.line, one.message);
                reader.mistakes.extend(mistakes.into_iter().map(told));
            }
        }
        if !reader.mistakes.is_empty() {
            reader.mistakes.sort_by_key(|(line, _)| *line);
            return Err(Error::Config {
                path: path.to_path_buf(),
                mistakes: reader
                    .mistakes
                    .into_iter()
                    .map(|(line, mistake)| format!("line {line}: {mistake}"))
                    .collect(),
            });
        }
        if let (Some(directory), Some(folder)) = (&mut config.store.directory, path.parent()) {
            *directory = folder.join(&directory);
        }
        Ok(config)
    }
}

struct Reader<'a> {
    text: &'a str,
    mistakes: Vec<(usize, String)>,
}

type Key<'k, 'i> = &'k Spanned<std::borrow::Cow<'i, str>>;
type Value<'v, 'i> = &'v Spanned<DeValue<'i>>;

impl Reader<'_> {
    fn file(&mut self, table: &DeTable<'_>, config: &mut Config) {
        for (key, value) in table {
            match &**key.get_ref() {
                "store" => self.table(key, value, |reader, key, value| {
                    reader.store(key, value, config);
                }),
                "grading" => self.table(key, value, |reader, key, value| {
                    reader.grading(key, value, config);
                }),
                // Read by the library, as a whole.
                "targets" => {}
                _ => self.unknown(key, &["store", "grading"]),
            }
        }
    }

    fn store(&mut self, key: Key<'_, '_>, value: Value<'_, '_>, config: &mut Config) {
        match &**key.get_ref() {
            "directory" => match self.text(key, value, "") {
                Some("") => self.mistake(value.span().start, "`directory` is empty"),
                Some(directory) => config.store.directory = Some(PathBuf::from(directory)),
                None => {}
            },
            _ => self.unknown(key, &["directory"]),
        }
    }

    fn grading(&mut self, key: Key<'_, '_>, value: Value<'_, '_>, config: &mut Config) {
        match &**key.get_ref() {
            "apdex" => {
                config.grading.apdex =
                    self.quantity(key, value, "ms", |text| match units::duration(text)? {
                        time if time.is_zero() => {
                            Err("leaves no time; use for example `500ms`".to_owned())
                        }
                        time => Ok(time),
                    });
            }
            "budget" => config.grading.budget = self.quantity(key, value, "%", units::share),
            "grade_weight" => config.grading.grade_weight = self.weight(key, value),
            _ => self.unknown(key, &["apdex", "budget", "grade_weight"]),
        }
    }

    fn table(
        &mut self,
        key: Key<'_, '_>,
        value: Value<'_, '_>,
        mut entry: impl FnMut(&mut Self, Key<'_, '_>, Value<'_, '_>),
    ) {
        match value.get_ref().as_table() {
            Some(table) => {
                for (key, value) in table {
                    entry(self, key, value);
                }
            }
            None => self.mistake(
                value.span().start,
                format!(
                    "`{key}` is a table; write `[{key}]` on a line of its own",
                    key = key.get_ref()
                ),
            ),
        }
    }

    /// A number that is not negative.
    fn weight(&mut self, key: Key<'_, '_>, value: Value<'_, '_>) -> Option<f64> {
        let number = match value.get_ref().type_str() {
            "integer" | "float" => self.text.get(value.span()),
            _ => None,
        };
        let weight = number.and_then(|text| text.replace('_', "").parse().ok());
        let weight = weight.filter(|weight| (0.0..=1e6).contains(weight));
        if weight.is_none() {
            let key = key.get_ref();
            let message = format!("`{key}` is a number from 0 to 1000000; write `{key} = 1`");
            self.mistake(value.span().start, message);
        }
        weight
    }

    fn quantity<T>(
        &mut self,
        key: Key<'_, '_>,
        value: Value<'_, '_>,
        unit: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.text(key, value, unit)?;
        read(text)
            .map_err(|mistake| {
                let key = key.get_ref();
                self.mistake(
                    value.span().start,
                    format!("`{key} = \"{text}\"` {mistake}"),
                );
            })
            .ok()
    }

    fn text<'v>(&mut self, key: Key<'_, '_>, value: Value<'v, '_>, unit: &str) -> Option<&'v str> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            let (key, kind) = (key.get_ref(), value.get_ref().type_str());
            let source = self.text.get(value.span()).unwrap_or_default();
            self.mistake(
                value.span().start,
                format!(
                    "`{key}` is text, not {kind}; write it in quotes: `{key} = \"{source}{unit}\"`"
                ),
            );
        }
        text
    }

    fn unknown(&mut self, key: Key<'_, '_>, known: &[&str]) {
        let name = key.get_ref();
        let instead = similar(name, known.iter().copied()).map_or_else(
            || format!("there is {}", one_of(known)),
            |name| format!("did you mean `{name}`?"),
        );
        self.mistake(key.span().start, format!("unknown key `{name}`; {instead}"));
    }

    fn mistake(&mut self, at: usize, message: impl Into<String>) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        self.mistakes.push((line, message.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("/home/ada/loadtest.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn every_key_is_read() {
        let config = parse(
            "[store]\ndirectory = \"runs\"\n[grading]\napdex = \"300ms\"\nbudget = \"0.5%\"\n\
             grade_weight = 1\n",
        )
        .unwrap();
        assert_eq!(
            config.store.directory,
            Some(PathBuf::from("/home/ada/runs"))
        );
        assert_eq!(config.grading.apdex, Some(Duration::from_millis(300)));
        assert_eq!(config.grading.budget, Some(0.005));
        assert_eq!(config.grading.grade_weight, Some(1.0));
        assert_eq!(parse("").unwrap(), Config::default());
    }

    #[test]
    fn all_mistakes_are_told_with_their_lines() {
        let error = parse("[stor]\n\n[grading]\napdex = 500\nbudget = \"1\"\nbudgets = \"1%\"\n")
            .unwrap_err();
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
    fn a_weight_in_the_grade_is_a_number_that_is_not_negative() {
        let read = |value: &str| parse(&format!("[grading]\ngrade_weight = {value}\n"));
        assert_eq!(read("0.5").unwrap().grading.grade_weight, Some(0.5));
        assert_eq!(read("1_000").unwrap().grading.grade_weight, Some(1_000.0));
        for value in ["-1", "\"1\"", "nan", "inf", "true", "2_000_000", "0x10"] {
            let error = read(value).unwrap_err();
            let told =
                "line 2: `grade_weight` is a number from 0 to 1000000; write `grade_weight = 1`";
            assert!(error.contains(told), "{value}: {error}");
        }
    }

    #[test]
    fn broken_toml_names_the_line() {
        let error = parse("[store]\ndirectory = \n").unwrap_err();
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn targets_are_checked_as_the_library_reads_them() {
        let error = parse("\n[[targets]]\nhost = \"staging.example\"\n").unwrap_err();
        assert!(error.contains("line 2: a target needs `owner`"), "{error}");
        assert!(parse("[[targets]]\nhost = \"staging.example\"\nowner = \"ada\"\n").is_ok());
    }

    #[test]
    fn text_in_another_encoding_names_the_line() {
        let path = Path::new("loadtest.toml");
        let error = Config::decode(b"[store]\ndirectory = \"\xff\"\n", path).unwrap_err();
        assert_eq!(error.exit_code(), 2);
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
        let budget = || Config::load(&member, &root).unwrap().grading.budget;
        write(outside.path(), "1%");
        assert_eq!(budget(), None);
        write(&root, "2%");
        assert_eq!(budget(), Some(0.02));
        write(&member, "3%");
        assert_eq!(budget(), Some(0.03));
    }
}
