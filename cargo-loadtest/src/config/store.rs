//! `[store]`: where runs are kept, and how many.

use super::key::{BuiltIn, Key, ValueKind};
use crate::units;
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

/// The keys of the table.
pub(super) const KEYS: [Key<StoreConfig>; 3] = [
    Key {
        name: "directory",
        kind: ValueKind::TEXT,
        example: "\"target/loadtest\"",
        built_in: BuiltIn::Value("target/loadtest"),
        read: |given, store| {
            store.directory = Some(given.path(&given.name()?));
            Ok(())
        },
    },
    Key {
        name: "keep",
        kind: ValueKind::Whole,
        example: "50",
        built_in: BuiltIn::Nothing("every run"),
        read: |given, store| {
            let runs = given.text().parse().ok().filter(|runs| *runs > 0);
            let runs = runs.ok_or("is no number of runs; write `50`, at least `1`")?;
            store.keep = Some(runs);
            Ok(())
        },
    },
    Key {
        name: "max_age",
        kind: ValueKind::Text { unit: "d" },
        example: "\"90d\"",
        built_in: BuiltIn::Nothing("of any age"),
        read: |given, store| {
            store.max_age = match units::duration(given.text())? {
                Duration::ZERO => return Err("would keep no run; use for example `90d`".to_owned()),
                age => Some(age),
            };
            Ok(())
        },
    },
];
