//! `[build]`: how load tests are compiled.

use super::key::{ConfigTable, Given};

/// The options of cargo that a team agrees on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BuildConfig {
    /// `profile`: the profile of cargo.
    pub(crate) profile: Option<String>,
}

impl ConfigTable for BuildConfig {
    const SECTION: &'static str = "build";

    fn set_key(&mut self, name: &str, given: &Given<'_>) -> Result<(), String> {
        match name {
            "profile" => self.profile = Some(given.name()?),
            _ => return Err("is not a key of this table".to_owned()),
        }
        Ok(())
    }
}
