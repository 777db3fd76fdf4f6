//! One run: its report, or what is known of it while it goes on.

use super::removal::render_removal;
use super::text::render_time;
use crate::baselines::Baselines;
use crate::export::Format;
use crate::export::html::render_report;
use crate::policy::Action;
use crate::store::{MeasuredRun, RunFolder};
use crate::ui::answer::Answer;
use crate::ui::dashboard::Dashboard;
use crate::ui::frame::{Content, Section};
use crate::ui::live;
use crate::ui::request::Fields;
use crate::ui::route::Route;
use jiff::Timestamp;
use loadtest_console::error::Error;
use loadtest_model::card::{Card, Report, Setting, Verdict};
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::time::Duration;

/// Renders the page of the run called `run`; `query` may name the scenario to watch.
///
/// # Errors
/// When there is none, or its record cannot be read.
pub(super) fn render(dashboard: &Dashboard, run: &str, query: &Fields) -> Result<Content, Error> {
    let folder = dashboard.store.find(run)?;
    if folder.is_under_way() {
        return Ok(render_live(dashboard, &folder, query.get("scenario")));
    }
    let report = grade(&folder)?;
    let started = report.cards.first().map(|card| &card.setting.started_at);
    let body = html! {
        p.sub {
            "Run " code { (folder.identifier()) }
            @if let Some(started) = started { " · " (render_time(started)) }
            @for card in &report.cards { " · " a href=(Route::Scenario(card.identity.clone()).path()) { (card.identity) } }
        }
        (render_actions(dashboard, &folder, &report)?)
        (render_report(&report))
    };
    Ok(Content {
        title: format!("Run {}", folder.identifier()),
        section: Section::Runs,
        stream: String::new(),
        body,
    })
}

fn grade(folder: &RunFolder) -> Result<Report, Error> {
    let record = folder.read()?;
    let comparison = folder.read_comparison(&record)?;
    let result = MeasuredRun {
        record: &record,
        comparison: comparison.as_ref(),
    };
    Ok(result.grade())
}

fn render_live(dashboard: &Dashboard, folder: &RunFolder, scenario: Option<&str>) -> Content {
    let run = folder.identifier();
    let parts = live::render_run(dashboard, &run, scenario).unwrap_or_default();
    let mut stream = url::form_urlencoded::Serializer::new(String::new());
    stream.append_pair("run", &run);
    if let Some(scenario) = scenario {
        stream.append_pair("scenario", scenario);
    }
    Content {
        title: format!("Run {run}"),
        section: Section::Runs,
        stream: stream.finish(),
        body: html! {
            h1 { "Run " (run) }
            p.line {
                button.small type="button" data-pause data-key="p" hidden { "Pause the view" }
                noscript { a href="" { "Look again" } }
            }
            @for (_, part) in parts { (part) }
        },
    }
}

fn render_actions(
    dashboard: &Dashboard,
    folder: &RunFolder,
    report: &Report,
) -> Result<Markup, Error> {
    let run = folder.identifier();
    let baselines = Baselines::from_config(&dashboard.config()?).names()?;
    let refusal = dashboard.refusal(Action::Baseline);
    let others = dashboard.store.runs()?;
    let before = others
        .iter()
        .rev()
        .map(RunFolder::identifier)
        .find(|other| *other < run);
    let against = before.iter().chain(&baselines);
    let is_mix = ran_at_once(&report.cards);
    let load = collect_load(report, is_mix);
    let is_sound = |card: &Card| matches!(card.verdict, Verdict::Passed | Verdict::Failed);
    let can_be_baseline = report.cards.iter().any(is_sound);
    let seed = report.cards.first().map(|card| card.setting.seed);
    Ok(html! {
        nav.actions aria-label="Actions for this run" {
            details {
                summary.button data-key="e" { "Export" }
                ul.menu { @for format in Format::ALL { li { a href=(Route::Report(run.clone(), format).path()) download { (format.word()) } } } }
            }
            @if before.is_some() || !baselines.is_empty() {
                form.line method="get" action=(Route::Compare.path()) {
                    input type="hidden" name="new" value=(run);
                    label { "Compare with " select name="base" { @for name in against { option value=(name) { (name) } } } }
                    button.small data-key="c" { "Compare" }
                }
            }
            @if let (None, Some(load)) = (&refusal, &load) {
                @if can_be_baseline {
                form.line method="post" action=(Route::SaveBaseline.path()) {
                    input type="hidden" name="run" value=(run);
                    label { "Save as baseline " input name="name" value="main" required autocomplete="off" data-key="b"; }
                    button.small { "Save" }
                }
                }
                form.line method="post" action=(Route::StartRun.path()) {
                    @for card in &report.cards { input type="hidden" name="scenario" value=(card.identity); }
                    @for (name, value) in load { input type="hidden" name=(name) value=(value); }
                    @if let Some(seed) = seed { input type="hidden" name="seed" value=(seed); }
                    @if is_mix { input type="hidden" name="how" value="mix"; }
                    button.small data-key="r" {
                        "Run again "
                        @if load.is_empty() { "as declared, with this seed" } @else { "with this load and seed" }
                    }
                }
            }
            @if dashboard.refusal(Action::Run).is_none() { (render_removal(&run)) }
        }
    })
}

/// Returns true if the scenarios ran as a mix: those that run in turn do not overlap.
fn ran_at_once(cards: &[Card]) -> bool {
    let start = |card: &Card| card.setting.started_at.parse::<Timestamp>().ok();
    let [first, second, ..] = cards else {
        return false;
    };
    let elapsed = Duration::from_micros(first.setting.elapsed_us);
    match (start(first), start(second)) {
        (Some(first), Some(second)) => second < first + elapsed,
        _ => false,
    }
}

/// The fields of a load, by the names of their flags.
type LoadFields = BTreeMap<String, String>;

/// Returns the fields of a form that repeats the load of a run: none where each scenario ran as declared, nothing where
/// nothing ran or each scenario had a load of its own. That of a mix is the total of its scenarios.
fn collect_load(report: &Report, is_mix: bool) -> Option<LoadFields> {
    let mut loads = report.cards.iter().map(|card| read_load(&card.setting));
    let first = loads.next()?;
    loads.try_fold(first, |total, load| {
        if is_mix {
            add_loads(&total, &load)
        } else {
            (total == load).then_some(total)
        }
    })
}

/// Reads the fields of a load from the flags that repeat it.
fn read_load(setting: &Setting) -> LoadFields {
    let words = setting
        .flags
        .iter()
        .flat_map(|flags| flags.split_whitespace());
    let words: Vec<&str> = words.collect();
    let fields = words.chunks_exact(2).filter_map(|pair| {
        let name = pair[0].strip_prefix("--")?;
        // It is quoted for a shell.
        let value = match name {
            "base-url" => setting.base_url.as_deref()?,
            _ => pair[1],
        };
        Some((name.to_owned(), value.to_owned()))
    });
    fields.collect()
}

/// Adds the rates, users and iterations of two scenarios of a mix; all else has to be equal.
fn add_loads(one: &LoadFields, other: &LoadFields) -> Option<LoadFields> {
    if !one.keys().eq(other.keys()) {
        return None;
    }
    let pairs = one.iter().zip(other.values());
    let fields = pairs.map(|((name, one), other)| {
        let total = match name.as_str() {
            "rate" => {
                let of = |rate: &str| rate.strip_suffix("/s")?.parse::<f64>().ok();
                // Shares of a rate come to it within the precision of numbers.
                let total = (of(one)? + of(other)?) * 1e9;
                format!("{}/s", total.round() / 1e9)
            }
            "users" | "iterations" if one.parse::<u64>().is_ok() => {
                let of = |count: &str| count.parse::<u64>().ok();
                (of(one)? + of(other)?).to_string()
            }
            _ if one == other => one.clone(),
            _ => return None,
        };
        Some((name.clone(), total))
    });
    fields.collect()
}

/// Answers a report as a file.
///
/// # Errors
/// When there is no such run, or the format cannot be written.
pub(super) fn export(dashboard: &Dashboard, run: &str, format: Format) -> Result<Answer, Error> {
    let folder = dashboard.store.find(run)?;
    let bytes = format.render(&grade(&folder)?, &[]);
    let name = format!("{}-{}", folder.identifier(), format.file_name());
    Ok(Answer::Download(name, "application/octet-stream", bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_of_a_mix_is_the_total_of_its_scenarios() {
        let load = |fields: &[(&str, &str)]| -> LoadFields {
            let fields = fields.iter();
            fields
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let third = load(&[("rate", "33.333333333333336/s"), ("duration", "2s")]);
        let rest = load(&[("rate", "66.66666666666667/s"), ("duration", "2s")]);
        let total = load(&[("rate", "100/s"), ("duration", "2s")]);
        assert_eq!(add_loads(&third, &rest), Some(total));
        let users = load(&[("users", "3"), ("iterations", "5/user")]);
        let total = load(&[("users", "6"), ("iterations", "5/user")]);
        assert_eq!(add_loads(&users, &users), Some(total));
        for other in [
            load(&[("rate", "1/s"), ("duration", "3s")]),
            load(&[("rate", "1/s")]),
            load(&[("rate", "soon"), ("duration", "2s")]),
        ] {
            assert_eq!(add_loads(&third, &other), None);
        }
    }
}
