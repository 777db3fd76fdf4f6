//! The families of figures: each name is said once, in `families.tsv`.

use std::sync::LazyLock;

/// The families: name without the suffix of its kind, kind and help.
pub(super) const FAMILIES: &str = include_str!("families.tsv");
static TABLE: LazyLock<Vec<Family>> =
    LazyLock::new(|| FAMILIES.lines().enumerate().map(Family::parse).collect());
/// Begins the name of every family.
const PREFIX: &str = "loadtest_";

/// A family of series.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Family {
    /// The place in the list.
    pub(super) place: usize,
    /// The full name: `loadtest_step_response_seconds`.
    pub(super) name: &'static str,
    pub(super) kind: FamilyKind,
    pub(super) help: &'static str,
}

/// The kind of values of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FamilyKind {
    Counter,
    Gauge,
    Histogram,
    Info,
}

impl Family {
    fn parse((place, line): (usize, &'static str)) -> Self {
        let fields: Vec<_> = line.split('\t').collect();
        let [name, kind, help] = fields[..] else {
            panic!("three fields: {line}");
        };
        Self {
            place,
            name,
            kind: match kind {
                "counter" => FamilyKind::Counter,
                "gauge" => FamilyKind::Gauge,
                "histogram" => FamilyKind::Histogram,
                _ => FamilyKind::Info,
            },
            help,
        }
    }

    /// The family of that name, which is without its prefix.
    pub(super) fn find(name: &str) -> &'static Self {
        let mut all = TABLE.iter();
        let found = all.find(|family| family.short_name() == name);
        found.expect("a family of the list")
    }

    /// All families, in their order.
    pub(super) fn all() -> &'static [Self] {
        &TABLE
    }

    /// The name without its prefix.
    pub(super) fn short_name(&self) -> &'static str {
        self.name.strip_prefix(PREFIX).unwrap_or(self.name)
    }

    /// The name of its series in Prometheus: `loadtest_errors_total`.
    pub(super) fn series_name(&self) -> String {
        let suffix = match self.kind {
            FamilyKind::Counter => "_total",
            FamilyKind::Info => "_info",
            FamilyKind::Gauge | FamilyKind::Histogram => "",
        };
        format!("{}{suffix}", self.name)
    }

    /// The name with dots and without its unit: `loadtest.step.response`.
    pub(super) fn dotted_name(&self) -> String {
        let name = self.unit().map_or(self.name, |unit| {
            let name = self.name.strip_suffix(unit.suffix);
            name.unwrap_or(self.name)
        });
        name.replace('_', ".")
    }

    /// The unit at the end of its name.
    pub(super) fn unit(&self) -> Option<Unit> {
        let units = [("_seconds", "s"), ("_bytes", "By"), ("_ratio", "1")];
        let units = units.map(|(suffix, symbol)| Unit { suffix, symbol });
        let mut units = units.into_iter();
        units.find(|unit| self.name.ends_with(unit.suffix))
    }
}

/// A unit of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    suffix: &'static str,
    /// As UCUM writes it.
    pub(super) symbol: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_conventions_of_each_receiver() {
        let names = |name: &str| {
            let family = Family::find(name);
            (family.series_name(), family.dotted_name())
        };
        let same = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        assert_eq!(
            names("errors"),
            same("loadtest_errors_total", "loadtest.errors")
        );
        assert_eq!(
            names("step_response_seconds"),
            same("loadtest_step_response_seconds", "loadtest.step.response")
        );
        assert_eq!(
            names("step_sent_bytes"),
            same("loadtest_step_sent_bytes_total", "loadtest.step.sent")
        );
        assert_eq!(names("run"), same("loadtest_run_info", "loadtest.run"));
    }

    #[test]
    fn every_family_stands_once_and_is_described() {
        let page = include_str!("../../../docs/telemetry.md");
        for family in Family::all() {
            assert_eq!(Family::find(family.short_name()), family);
            let name = family.series_name();
            assert!(page.contains(&format!("`{name}`")), "{name}");
            assert!(family.help.ends_with('.'), "{name}");
        }
    }
}
