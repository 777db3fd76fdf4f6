//! A `/metrics` page: the text format of Prometheus and OpenMetrics, as far as plain values go.
//!
//! Nothing in it is trusted: lines that cannot be read are left out, and only so many are looked at.

/// The most lines that are looked at.
const MOST_LINES: usize = 100_000;

/// One value of a page.
#[derive(Debug, PartialEq)]
struct Sample<'a> {
    family: &'a str,
    labels: Vec<(&'a str, String)>,
    value: f64,
}

/// The values that belong to a figure: those of a family whose labels are as they should be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// The family.
    pub(crate) family: String,
    /// The labels, each with the text that it has to have, or with `!` and the text that it must not have.
    pub(crate) labels: Vec<(String, String)>,
}

impl Selection {
    /// Returns the sum of all values that belong to it; `None` without any.
    pub(super) fn sum(&self, page: &str) -> Option<f64> {
        let lines = page.lines().take(MOST_LINES);
        let samples = lines.filter(|line| line.starts_with(&self.family));
        let values = samples.filter_map(parse_sample);
        let own = values.filter(|sample| self.has(sample));
        own.map(|sample| sample.value).reduce(|sum, value| sum + value)
    }

    fn has(&self, sample: &Sample<'_>) -> bool {
        let is_as_given = |(name, wanted): &(String, String)| {
            let found = sample.labels.iter().find(|(label, _)| label == name);
            let found = found.map_or("", |(_, value)| value);
            match wanted.strip_prefix('!') {
                Some(unwanted) => found != unwanted,
                None => found == wanted,
            }
        };
        sample.family == self.family && self.labels.iter().all(is_as_given)
    }
}

/// Reads `family{label="value",..} value`; a time or an exemplar behind it does not matter.
fn parse_sample(line: &str) -> Option<Sample<'_>> {
    let end = line.find(['{', ' ', '\t'])?;
    let (family, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(labels) => parse_labels(labels)?,
        None => (Vec::new(), rest),
    };
    let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
    value.is_finite().then_some(Sample {
        family,
        labels,
        value,
    })
}

/// Reads labels up to the bracket; returns what follows it besides.
fn parse_labels(mut rest: &str) -> Option<(Vec<(&str, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (name, behind) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut letters = behind.char_indices();
        let end = loop {
            match letters.next()? {
                (at, '"') => break at,
                (_, '\\') => value.push(match letters.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (_, letter) => value.push(letter),
            }
        };
        labels.push((name.trim(), value));
        rest = &behind[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 1000.5
node_cpu_seconds_total{cpu="0",mode="user"} 20.25 1700000000000
node_cpu_seconds_total{cpu="1",mode="system"} 3
node_cpu_seconds_total_other 99
odd{path="C:\\DIR\"\n}",} 7 # {trace_id="abc"} 0.5
node_memory_MemAvailable_bytes 2.5e+09
broken{ 1
nothing NaN
"#;

    fn sum(family: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let selection = Selection {
            family: family.to_owned(),
            labels: labels.collect(),
        };
        selection.sum(PAGE)
    }

    #[test]
    fn values_of_a_family_are_added_by_their_labels() {
        let cpu = "node_cpu_seconds_total";
        assert_eq!(sum(cpu, &[]), Some(1023.75));
        assert_eq!(sum(cpu, &[("mode", "!idle")]), Some(23.25));
        assert_eq!(sum(cpu, &[("mode", "user"), ("cpu", "0")]), Some(20.25));
        assert_eq!(sum(cpu, &[("mode", "nice")]), None);
        assert_eq!(sum("node_memory_MemAvailable_bytes", &[]), Some(2.5e9));
        assert_eq!(sum("odd", &[("path", "C:\\DIR\"\n}")]), Some(7.0));
        assert_eq!(sum("nothing", &[]), None);
    }

    #[test]
    fn no_page_is_too_strange() {
        let selection = Selection {
            family: "a".to_owned(),
            labels: vec![("b".to_owned(), "!c".to_owned())],
        };
        loadtest_tests::fuzz::fuzz_texts([PAGE, "a{b=\"c\"} 1\n", "a{b=\"\\\"", "a 1\n"], |text| {
            let _ = selection.sum(text);
        });
    }
}
