//! One run: its report, or what is known of it while it goes on.

use super::super::answer::Answer;
use super::super::dashboard::Dashboard;
use super::super::frame::{Content, Section};
use super::super::live;
use super::super::request::Fields;
use super::super::route::Route;
use super::removal::render_removal;
use crate::baselines::Baselines;
use crate::error::Error;
use crate::export::Format;
use crate::export::html::render_report;
use crate::policy::Action;
use crate::store::{Measured, RunFolder};
use loadtest_model::card::{Card, Report, Verdict};
use maud::{Markup, html};

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
    let body = html! {
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
    let result = Measured {
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
    let load = collect_load(report);
    let is_sound = |card: &Card| matches!(card.verdict, Verdict::Passed | Verdict::Failed);
    let can_be_baseline = report.cards.iter().any(is_sound);
    let seed = report.cards.first().map(|card| card.setting.seed);
    Ok(html! {
        nav.actions aria-label="What to do with this run" {
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
                    button.small data-key="r" { "Run again with this load and seed" }
                }
            }
            @if dashboard.refusal(Action::Run).is_none() { (render_removal(&run)) }
        }
    })
}

/// Returns the fields of a form that repeats the load of a run; nothing where nothing ran, or each scenario had its own.
fn collect_load(report: &Report) -> Option<Vec<(String, String)>> {
    let setting = &report.cards.first()?.setting;
    let mut others = report.cards.iter().map(|card| &card.setting);
    if !others.all(|other| other.flags == setting.flags) {
        return None;
    }
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
    Some(fields.collect())
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
