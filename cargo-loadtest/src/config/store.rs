//! `[store]`: where runs are kept, and how many.

use super::key::{ConfigTable, Given};
use loadtest_console::units;
use std::path::PathBuf;
use std::time::Duration;

/// The place and the number of kept runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StoreConfig {
    /// `directory`, made absolute by the folder of the file.
    pub(crate) directory: Option<PathBuf>,
    /// `keep`: how many runs, the newest.
    pub(crate) keep: Option<usize>,
    /// `max_age`: how old a run may be.
    pub(crate) max_age: Option<Duration>,
}

impl ConfigTable for StoreConfig {
    const SECTION: &'static str = "store";

    fn set_key(&mut self, name: &str, given: &Given<'_>) -> Result<(), String> {
        match name {
            "directory" => self.directory = Some(given.path(&given.name()?)),
            "keep" => {
                let runs = given.text().parse().ok().filter(|runs| *runs > 0);
                self.keep = Some(runs.ok_or("is not a number of runs; write `50`, at least `1`")?);
            }
            "max_age" => match units::duration(given.text())? {
                Duration::ZERO => {
                    return Err("would keep no runs; use for example `90d`".to_owned());
                }
                age => self.max_age = Some(age),
            },
            _ => return Err("is not a key of this table".to_owned()),
        }
        Ok(())
    }
}
