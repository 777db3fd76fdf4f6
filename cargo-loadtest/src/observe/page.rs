//! A `/metrics` page: the text format of Prometheus and OpenMetrics, as far as plain values go.
//!
//! Nothing in it is trusted: lines that cannot be read are left out, and only so many are read.

use crate::config::MetricConfig;

/// The most lines of a page.
const MOST_LINES: usize = 100_000;

/// One value of a page.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScrapedSample<'a> {
    /// The line up to the value: the family with its labels.
    pub(super) series: &'a str,
    family: &'a str,
    labels: Vec<(&'a str, String)>,
    pub(super) value: f64,
}

impl ScrapedSample<'_> {
    /// Returns the value of a label; that of one that is not there is empty.
    pub(super) fn label(&self, name: &str) -> &str {
        let found = self.labels.iter().find(|(label, _)| *label == name);
        found.map_or("", |(_, value)| value)
    }
}

/// Returns the values that belong to each metric, in the order of the page.
///
/// # Errors
/// When the page is too long.
pub(super) fn select_samples<'a>(
    page: &'a str,
    metrics: &[&MetricConfig],
) -> Result<Vec<Vec<ScrapedSample<'a>>>, String> {
    let mut selected = vec![Vec::new(); metrics.len()];
    for (count, line) in page.lines().enumerate() {
        if count >= MOST_LINES {
            return Err(format!("its page has more than {MOST_LINES} lines"));
        }
        let family = line.split(['{', ' ', '\t']).next().unwrap_or_default();
        if metrics.iter().all(|metric| metric.family != family) {
            continue;
        }
        let Some(sample) = parse_sample(line) else {
            continue;
        };
        for (metric, samples) in metrics.iter().zip(&mut selected) {
            if belongs_to(&sample, metric) {
                samples.push(sample.clone());
            }
        }
    }
    Ok(selected)
}

fn belongs_to(sample: &ScrapedSample<'_>, metric: &MetricConfig) -> bool {
    let mut labels = metric.labels.iter();
    sample.family == metric.family && labels.all(|label| label.matches(sample.label(label.label())))
}

/// Reads `family{label="value",..} value`; a time or an exemplar behind it does not matter.
fn parse_sample(line: &str) -> Option<ScrapedSample<'_>> {
    let end = line.find(['{', ' ', '\t'])?;
    let (family, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(labels) => parse_labels(labels)?,
        None => (Vec::new(), rest),
    };
    let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
    value.is_finite().then_some(ScrapedSample {
        series: &line[..line.len() - rest.len()],
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
    use crate::config::LabelMatch;

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

    fn metric(family: &str, labels: &[(&str, &str)]) -> MetricConfig {
        let labels = labels.iter();
        let labels = labels.map(|(name, written)| {
            LabelMatch::parse((*name).to_owned(), (*written).to_owned()).unwrap()
        });
        let mut metric = MetricConfig::default();
        metric.family = family.to_owned();
        metric.labels = labels.collect();
        metric
    }

    fn values(family: &str, labels: &[(&str, &str)]) -> Vec<f64> {
        let metric = metric(family, labels);
        let selected = select_samples(PAGE, &[&metric]).unwrap();
        selected[0].iter().map(|sample| sample.value).collect()
    }

    #[test]
    fn values_of_a_family_are_chosen_by_their_labels() {
        let cpu = "node_cpu_seconds_total";
        assert_eq!(values(cpu, &[]), [1000.5, 20.25, 3.0]);
        assert_eq!(values(cpu, &[("mode", "!idle")]), [20.25, 3.0]);
        assert_eq!(values(cpu, &[("mode", "user"), ("cpu", "0")]), [20.25]);
        assert_eq!(values(cpu, &[("mode", "nice")]), [0.0; 0]);
        assert_eq!(values(cpu, &[("mode", "/user|sys.*/")]), [20.25, 3.0]);
        assert_eq!(values(cpu, &[("mode", "!/user|sys/")]), [1000.5, 3.0]);
        assert_eq!(values(cpu, &[("host", "!/.+/"), ("cpu", "1")]), [3.0]);
        assert_eq!(values("node_memory_MemAvailable_bytes", &[]), [2.5e9]);
        assert_eq!(values("odd", &[("path", "C:\\DIR\"\n}")]), [7.0]);
        assert_eq!(values("nothing", &[]), [0.0; 0]);
        assert_eq!(values("broken", &[]), [0.0; 0]);
    }

    #[test]
    fn a_series_is_known_by_its_family_and_labels() {
        let metrics = [metric("odd", &[]), metric("node_cpu_seconds_total", &[])];
        let metrics: Vec<_> = metrics.iter().collect();
        let selected = select_samples(PAGE, &metrics).unwrap();
        assert_eq!(selected[0][0].series, r#"odd{path="C:\\DIR\"\n}",}"#);
        assert_eq!(selected[0][0].label("path"), "C:\\DIR\"\n}");
        assert_eq!(selected[1][2].label("cpu"), "1");
        assert_eq!(selected[1][2].label("host"), "");
    }

    #[test]
    fn a_page_has_only_so_many_lines() {
        let metric = metric("a", &[]);
        let page = "a 1\n".repeat(MOST_LINES);
        let selected = select_samples(&page, &[&metric]).unwrap();
        assert_eq!(selected[0].len(), MOST_LINES);
        let error = select_samples(&format!("{page}a 1\n"), &[&metric]).unwrap_err();
        assert_eq!(error, "its page has more than 100000 lines");
    }

    #[test]
    fn no_page_is_too_strange() {
        let metric = metric("a", &[("b", "!c")]);
        let seeds = [PAGE, "a{b=\"c\"} 1\n", "a{b=\"\\\"", "a 1\n"];
        loadtest_tests::fuzz::fuzz_texts(seeds, |text| {
            let _ = select_samples(text, &[&metric]);
        });
    }
}
