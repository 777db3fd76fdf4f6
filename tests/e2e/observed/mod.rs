//! The target's own side, read while a load goes on.

mod access;
#[cfg(unix)]
mod killed;
mod limits;
mod made;
mod pages;
#[cfg(target_os = "linux")]
mod process;
mod prometheus;

use libtest_mimic::Trial;
use loadtest_model::record::{ObservedSeries, ScenarioRecord};
use loadtest_tests::{Reply, Server};

pub(crate) fn trials() -> Vec<Trial> {
    let trials = [
        access::trials(),
        #[cfg(unix)]
        killed::trials(),
        limits::trials(),
        made::trials(),
        pages::trials(),
        prometheus::trials(),
        #[cfg(target_os = "linux")]
        process::trials(),
    ];
    trials.into_iter().flatten().collect()
}

const LOAD: &str = "single --rate 20/s --duration 3s";

/// A page that always says the same.
fn page(text: &'static str) -> Server {
    Server::recording(move |_| Reply::text(text))
}

/// `[[observe]]` of one metric of a page; `more` is in the metric.
fn source(name: &str, url: &str, family: &str, more: &str) -> String {
    format!(
        "[[observe]]\nname = \"{name}\"\nscrape = \"{url}\"\nmetrics = [{{ family = \"{family}\"{more} }}]\n"
    )
}

/// A page was asked once a second and not more often, beside the question before the run, however late it was asked.
#[track_caller]
fn assert_once_a_second(page: &Server) {
    let asked = page.recorded();
    let within = &asked[1..];
    let (first, last) = (&within[0], &within[within.len() - 1]);
    let seconds = (last.arrived - first.arrived).as_secs();
    let most = usize::try_from(seconds).expect("a short run") + 2;
    assert!(within.len() <= most, "{} in {seconds} s", within.len());
}

/// A figure of the target's side.
#[track_caller]
fn series<'a>(record: &'a ScenarioRecord, name: &str) -> &'a ObservedSeries {
    let found = record.observed.iter().find(|series| series.name == name);
    found.unwrap_or_else(|| panic!("no `{name}`: {:?}", record.observed))
}

/// The values of all points of a figure.
#[track_caller]
fn values(record: &ScenarioRecord, name: &str) -> Vec<f64> {
    let points = series(record, name).points.iter();
    points.map(|point| point.last).collect()
}

/// A figure has values, and always this one.
#[track_caller]
fn assert_always(record: &ScenarioRecord, name: &str, value: f64) {
    let found = values(record, name);
    assert!(!found.is_empty(), "no value of `{name}`");
    assert_eq!(found, vec![value; found.len()], "{name}");
}
