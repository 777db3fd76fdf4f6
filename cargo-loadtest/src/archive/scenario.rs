//! The runs of a scenario by version, and the history of its p95 from one run to the next.
//!
//! A trend is arithmetic on two runs, and no verdict: only runs of the same version, load and target are set
//! beside one another.

use super::entry::{Entry, Setting, Version};
use std::time::Duration;

/// The runs of a scenario.
#[derive(Debug)]
pub(crate) struct ScenarioHistory<'a> {
    /// Its identity.
    pub(crate) scenario: &'a str,
    /// Its versions, that of the newest run first.
    pub(crate) versions: Vec<VersionHistory<'a>>,
}

/// The runs of a version.
#[derive(Debug)]
pub(crate) struct VersionHistory<'a> {
    /// `None` of what did not get so far that it is known.
    pub(crate) version: Option<&'a Version>,
    /// The number of all runs, shown or not.
    pub(crate) count: usize,
    /// The start of the oldest run.
    pub(crate) first_seen: &'a str,
    /// The start of the newest run.
    pub(crate) last_seen: &'a str,
    /// Its runs by load and target, those of the newest run first.
    pub(crate) settings: Vec<SettingHistory<'a>>,
}

/// The runs of a version under one load.
#[derive(Debug)]
pub(crate) struct SettingHistory<'a> {
    /// The load and its target.
    pub(crate) setting: Option<&'a Setting>,
    /// The runs, the newest first.
    pub(crate) rows: Vec<Row<'a>>,
}

/// A run, and how it stands to the one before.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    /// The run.
    pub(crate) entry: &'a Entry,
    /// The change since the previous sound run of the same version and setting.
    pub(crate) trend: Option<Trend<'a>>,
    /// Its place among all runs of the scenario, the newest being 0.
    pub(crate) place: usize,
}

/// A change from one run to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Trend<'a> {
    /// The change of p95, a share of that of the run before.
    pub(crate) change: f64,
    /// The run before.
    pub(crate) against: &'a str,
}

impl<'a> ScenarioHistory<'a> {
    /// Collects the runs of `scenario` from `entries`, the newest first.
    pub(crate) fn from_entries(scenario: &'a str, entries: &'a [Entry]) -> Self {
        let mut versions: Vec<VersionHistory<'a>> = Vec::new();
        let own = entries.iter().filter(|entry| entry.scenario == scenario);
        for (place, entry) in own.enumerate() {
            let version = entry.version.as_ref();
            let at = versions.iter().position(|known| known.version == version);
            let at = at.unwrap_or_else(|| {
                versions.push(VersionHistory {
                    version,
                    count: 0,
                    first_seen: &entry.started_at,
                    last_seen: &entry.started_at,
                    settings: Vec::new(),
                });
                versions.len() - 1
            });
            versions[at].add(entry, place);
        }
        for setting in versions
            .iter_mut()
            .flat_map(|version| &mut version.settings)
        {
            setting.find_trends();
        }
        Self { scenario, versions }
    }
}

impl<'a> VersionHistory<'a> {
    fn add(&mut self, entry: &'a Entry, place: usize) {
        self.count += 1;
        self.first_seen = &entry.started_at;
        let setting = entry.load.as_ref();
        let row = Row {
            entry,
            trend: None,
            place,
        };
        match self
            .settings
            .iter_mut()
            .find(|known| known.setting == setting)
        {
            Some(known) => known.rows.push(row),
            None => self.settings.push(SettingHistory {
                setting,
                rows: vec![row],
            }),
        }
    }
}

impl<'a> SettingHistory<'a> {
    fn find_trends(&mut self) {
        let mut before: Option<(&'a str, Duration)> = None;
        for row in self.rows.iter_mut().rev() {
            let Some(p95) = row.entry.sound_p95() else {
                continue;
            };
            row.trend = before
                .filter(|(_, time)| !time.is_zero())
                .map(|(against, time)| Trend {
                    change: p95.as_secs_f64() / time.as_secs_f64() - 1.0,
                    against,
                });
            before = Some((&row.entry.run, p95));
        }
    }
}
