//! `LOADTEST_TABLE_KEY`: the layer between the file and the command line.

use super::key::{ConfigTable, Given, keys_of};
use super::{ConfigSetting, SettingOrigin};
use loadtest_console::console::clean;
use std::path::{Path, PathBuf};

/// The prefix of all variables.
const PREFIX: &str = "LOADTEST_";
/// Variables that are no keys: base URL, network, caller, and the messages between tool and load test.
const OTHERS: [&str; 6] = [
    "BASE_URL", "OFFLINE", "VALIDITY", "USER", "REQUEST", "SOURCE",
];

/// The variables of this tool, and where it was called.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfigEnvironment {
    variables: Vec<(String, String)>,
    folder: PathBuf,
    known: Vec<String>,
    mistakes: Vec<String>,
}

impl ConfigEnvironment {
    /// Reads the environment of the call.
    pub(crate) fn of_process() -> Self {
        let variables = loadtest_console::process::variables()
            .into_iter()
            .filter_map(|(name, value)| {
                let name = name.into_string().ok()?;
                let value = value.to_string_lossy().into_owned();
                name.starts_with(PREFIX).then_some((name, value))
            });
        let folder = loadtest_console::process::directory().unwrap_or_default();
        Self::new(variables, &folder)
    }

    /// Creates an environment of these variables.
    pub(crate) fn new(
        variables: impl IntoIterator<Item = (String, String)>,
        folder: &Path,
    ) -> Self {
        Self {
            // As with `LOADTEST_BASE_URL`, an empty one says nothing.
            variables: variables
                .into_iter()
                .filter(|(_, value)| !value.trim().is_empty())
                .collect(),
            folder: folder.to_path_buf(),
            known: OTHERS.map(str::to_owned).to_vec(),
            mistakes: Vec::new(),
        }
    }

    /// Reads the variables of a table's keys into `target`.
    pub(super) fn read<T: ConfigTable>(
        &mut self,
        section: &'static str,
        target: &mut T,
    ) -> Vec<ConfigSetting> {
        let mut settings = Vec::new();
        for key in keys_of(T::SECTION) {
            let variable = variable(section, key.name);
            self.known.push(variable[PREFIX.len()..].to_owned());
            let Some((_, text)) = self.variables.iter().find(|(name, _)| *name == variable) else {
                continue;
            };
            let words = if key.kind.is_several() {
                let words = text
                    .split(',')
                    .map(str::trim)
                    .filter(|word| !word.is_empty());
                words.map(str::to_owned).collect()
            } else {
                vec![text.trim().to_owned()]
            };
            let given = Given {
                words: &words,
                base: &self.folder,
            };
            match target.set_key(key.name, &given) {
                Ok(()) => settings.push(ConfigSetting {
                    section,
                    name: key.name,
                    words,
                    base: self.folder.clone(),
                    origin: SettingOrigin::Environment { variable },
                }),
                Err(mistake) => {
                    let colon = if key.kind.is_several() { ":" } else { "" };
                    let mistake = format!("`{variable}={text}`{colon} {mistake}");
                    self.mistakes.push(clean(&mistake));
                }
            }
        }
        settings
    }

    /// Returns the mistakes, and warnings about variables that look like misspelt keys.
    pub(super) fn finish(self) -> (Vec<String>, Vec<String>) {
        let mut doubts = Vec::new();
        for (variable, _) in &self.variables {
            let word = &variable[PREFIX.len()..];
            if self.known.iter().any(|known| known == word) {
                continue;
            }
            let known = || self.known.iter().map(String::as_str);
            // Somebody may write the beginning of a key for the whole.
            let begins = |known: &&str| word.contains('_') && known.starts_with(word);
            let like = loadtest_console::suggestion::find_similar(word, known())
                .or_else(|| known().find(begins));
            if let Some(like) = like {
                let doubt = format!("`{variable}` is not read; did you mean `{PREFIX}{like}`?");
                doubts.push(clean(&doubt));
            }
        }
        (self.mistakes, doubts)
    }
}

/// The variable of a key: that of `[grading] apdex` is `LOADTEST_GRADING_APDEX`.
pub(crate) fn variable(section: &str, name: &str) -> String {
    format!("{PREFIX}{section}_{name}").to_uppercase()
}
