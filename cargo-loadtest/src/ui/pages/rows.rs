//! The rows of the list of scenarios: from the compiled load tests, from their sources, and from runs.

use super::text::is_under_way;
use crate::archive::{Archive, Entry, ScenarioHistory};
use crate::ui::dashboard::Dashboard;
use crate::ui::editor::SourceScenario;
use loadtest_model::definition::ScenarioDef;
use loadtest_model::display;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The runs that a sparkline shows.
const SPARKLINE_RUNS: usize = 20;

/// A scenario as the list shows it.
#[derive(Debug)]
pub(super) struct ListRow<'a> {
    pub(super) identity: String,
    pub(super) name: String,
    pub(super) tags: Vec<String>,
    pub(super) load: Option<String>,
    /// `login → browse → buy 80 %`.
    pub(super) steps: String,
    urls: Vec<String>,
    definition: Option<&'a ScenarioDef>,
    /// The mistakes that the compiler found in its source.
    pub(super) errors: usize,
    /// True if another scenario has the same name.
    pub(super) is_namesake: bool,
    history: ScenarioHistory<'a>,
}

/// Collects the rows; `names` are those of scenarios with runs. `sources` are read where the compiled load tests are
/// not there, or are outdated.
pub(super) fn collect_rows<'a>(
    dashboard: &Dashboard,
    declared: &'a [ScenarioDef],
    sources: &[SourceScenario],
    archive: &'a Archive,
    names: &'a [String],
) -> Vec<ListRow<'a>> {
    let definitions: BTreeMap<String, &ScenarioDef> =
        declared.iter().map(|one| (one.identity(), one)).collect();
    let in_source: BTreeMap<&str, &SourceScenario> = sources
        .iter()
        .map(|one| (one.identity.as_str(), one))
        .collect();
    let of_runs = names.iter().map(String::as_str);
    let of_sources = sources.iter().map(|one| one.identity.as_str());
    let of_declared = declared.iter().map(ScenarioDef::identity);
    let all = of_runs.chain(of_sources).map(str::to_owned);
    let mut seen = BTreeSet::new();
    let mut all: Vec<String> = all.chain(of_declared).collect();
    all.retain(|identity| {
        // What ran once and is not in the source any more has its history on the page of runs.
        let is_there = declared.is_empty()
            || definitions.contains_key(identity)
            || in_source.contains_key(identity.as_str());
        is_there && seen.insert(identity.clone())
    });
    let rows = all.into_iter().map(|identity| {
        let known = names.iter().find(|name| **name == identity);
        let history = known.map_or_else(
            || ScenarioHistory::from_entries("", &[]),
            |name| ScenarioHistory::from_entries(name, &archive.entries),
        );
        let source = in_source.get(identity.as_str()).copied();
        let definition = definitions.get(&identity).copied();
        ListRow::new(dashboard, identity, definition, source, history)
    });
    let mut rows: Vec<_> = rows.collect();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for row in &rows {
        *names.entry(row.name.clone()).or_default() += 1;
    }
    for row in &mut rows {
        row.is_namesake = names[&row.name] > 1;
    }
    rows
}

impl<'a> ListRow<'a> {
    fn new(
        dashboard: &Dashboard,
        identity: String,
        definition: Option<&'a ScenarioDef>,
        source: Option<&SourceScenario>,
        history: ScenarioHistory<'a>,
    ) -> Self {
        let row = Self {
            name: identity.clone(),
            identity,
            tags: Vec::new(),
            load: None,
            steps: String::new(),
            urls: Vec::new(),
            definition,
            errors: source.map_or(0, |source| source.count_errors(dashboard)),
            is_namesake: false,
            history,
        };
        match (definition, source) {
            (Some(definition), _) => Self {
                name: definition.name.to_string(),
                tags: definition.tags.iter().map(ToString::to_string).collect(),
                load: definition.load.as_ref().map(display::format_load),
                steps: format_steps(definition),
                urls: definition
                    .steps
                    .iter()
                    .filter_map(|step| step.url.as_ref().map(ToString::to_string))
                    .collect(),
                ..row
            },
            (None, Some(source)) => Self {
                name: source.name().to_owned(),
                tags: source.tags().to_vec(),
                load: source.load().map(str::to_owned),
                steps: source.steps().collect::<Vec<_>>().join(" → "),
                ..row
            },
            (None, None) => row,
        }
    }

    /// Returns true if its name, a tag, a step or a URL holds the text.
    pub(super) fn matches(&self, filter: &str) -> bool {
        let filter = filter.to_lowercase();
        let texts = [&self.identity, &self.name, &self.steps];
        let mut texts = texts.into_iter().chain(&self.tags).chain(&self.urls);
        texts.any(|text| text.to_lowercase().contains(&filter))
    }

    /// Returns the last run that has ended.
    pub(super) fn last(&self) -> Option<&'a Entry> {
        self.newest(|entry| !is_under_way(entry))
    }

    /// Returns the run under way.
    pub(super) fn under_way(&self) -> Option<&'a Entry> {
        self.newest(is_under_way)
    }

    fn newest(&self, is_meant: impl Fn(&Entry) -> bool) -> Option<&'a Entry> {
        let settings = self.history.versions.iter();
        let rows = settings
            .flat_map(|version| &version.settings)
            .flat_map(|setting| &setting.rows)
            .filter(|row| is_meant(row.entry));
        rows.min_by_key(|row| row.place).map(|row| row.entry)
    }

    /// Returns p95 of the sound runs with the version, load and target of the newest, the oldest first.
    pub(super) fn times(&self) -> Vec<Duration> {
        let Some(last) = self.last() else {
            return Vec::new();
        };
        let settings = self
            .history
            .versions
            .iter()
            .flat_map(|version| &version.settings);
        let mut same =
            settings.filter(|setting| setting.rows.iter().any(|row| std::ptr::eq(row.entry, last)));
        let rows = same.next().map_or(&[][..], |setting| &setting.rows);
        let mut times: Vec<_> = rows
            .iter()
            .filter_map(|row| row.entry.sound_p95())
            .take(SPARKLINE_RUNS)
            .collect();
        times.reverse();
        times
    }

    /// Returns true if the source is another than that of the last run.
    pub(super) fn has_changed(&self) -> bool {
        let ran = self.last().and_then(|last| last.version.as_ref());
        match (self.definition, ran) {
            (Some(definition), Some(version)) => version.fingerprint != definition.fingerprint,
            _ => false,
        }
    }
}

/// Sorts by the column called `order`; any other leaves the order.
pub(super) fn sort_rows(rows: &mut [ListRow<'_>], order: &str) {
    let p95 = |row: &ListRow<'_>| row.last().and_then(|last| last.figures()?.p95);
    let errors = |row: &ListRow<'_>| {
        row.last()
            .and_then(|last| last.figures()?.error_rate)
            .unwrap_or(-1.0)
    };
    let grade = |row: &ListRow<'_>| row.last().and_then(|last| last.figures()?.grade);
    let when = |row: &ListRow<'_>| row.last().map(|last| last.started_at.clone());
    rows.sort_by(|one, other| match order {
        "grade" => grade(one).cmp(&grade(other)),
        "p95" => p95(other).cmp(&p95(one)),
        "errors" => errors(other).total_cmp(&errors(one)),
        "last" => when(other).cmp(&when(one)),
        _ => std::cmp::Ordering::Equal,
    });
}

fn format_steps(definition: &ScenarioDef) -> String {
    let steps = definition.steps.iter().map(|step| {
        if step.weight < 1.0 {
            format!(
                "{} {}",
                step.name,
                display::format_whole_percent(step.weight)
            )
        } else {
            step.name.to_string()
        }
    });
    steps.collect::<Vec<_>>().join(" → ")
}
