//! `loadtest.toml`: what a team agrees on, checked key by key, all mistakes at once.

mod grading;
mod key;
mod notify;
mod reader;
mod store;
#[cfg(test)]
mod tests;

use crate::error::Error;
use loadtest::plan::GradingDefaults;
pub(crate) use notify::{Event, Notify, NotifyFormat};
use reader::Reader;
use std::path::{Path, PathBuf};
pub(crate) use store::StoreConfig;
use toml::de::DeTable;

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
        let mut reader = Reader::new(text, path.parent().unwrap_or(Path::new("")));
        let (table, syntax) = DeTable::parse_recoverable(text);
        for error in &syntax {
            reader.mistake(error.span().map_or(0, |span| span.start), error.message());
        }
        let mut config = Self::default();
        if syntax.is_empty() {
            config.read(table.get_ref(), &mut reader);
        }
        match reader.finish() {
            Ok(()) => Ok(config),
            Err(mistakes) => Err(Error::Config {
                path: path.to_path_buf(),
                mistakes,
            }),
        }
    }

    fn read(&mut self, file: &DeTable<'_>, reader: &mut Reader<'_>) {
        for (name, value) in file {
            match &**name.get_ref() {
                "store" => {
                    if let Some(table) = reader.table("store", value) {
                        reader.keys(table, &store::KEYS, &mut self.store);
                    }
                }
                "grading" => {
                    if let Some(table) = reader.table("grading", value) {
                        reader.keys(table, &grading::KEYS, &mut self.grading);
                    }
                }
                "notify" => {
                    for entry in reader.tables("notify", value) {
                        let mut notify = Notify::default();
                        reader.entry("notify", &entry, &notify::KEYS, &mut notify);
                        self.notify.push(notify);
                    }
                }
                "targets" => reader.mistake(
                    name.span().start,
                    "`[[targets]]` comes in a later version; this one tests loopback and \
                     targets that a scenario starts itself",
                ),
                _ => reader.unknown(name, &["store", "grading", "notify"]),
            }
        }
    }
}
