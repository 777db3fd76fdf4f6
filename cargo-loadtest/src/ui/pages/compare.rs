//! Two runs, or a baseline and a run, beside each other.

use super::text::{
    format_share, format_time, is_under_way, render_grade, render_run_link, render_time,
    render_verdict,
};
use crate::archive::{Archive, Entry};
use crate::baselines::Baselines;
use crate::commands::compare::compare_by_name;
use crate::export::html::sheet::render_section;
use crate::ui::dashboard::Dashboard;
use crate::ui::frame::{Content, Section};
use crate::ui::request::Fields;
use crate::ui::route::Route;
use loadtest_console::error::Error;
use maud::{Markup, html};

/// The runs to choose from.
const CHOICES: usize = 100;

/// Renders the page; `query` holds `base` and `new`, or two of `run`.
///
/// # Errors
/// When one of them is not there, or cannot be read.
pub(super) fn render(dashboard: &Dashboard, query: &Fields) -> Result<Content, Error> {
    let baselines = Baselines::from_config(&dashboard.config()?);
    let mut chosen: Vec<&str> = query.all("run").collect();
    // Names of runs are in the order of time.
    chosen.sort_unstable();
    if chosen.len() > 2 {
        return Err(Error::usage(
            "select two runs: more cannot be compared at once",
        ));
    }
    let names = baselines.names()?;
    let archive = dashboard.archive()?;
    let runs = list_choices(&archive);
    let offered = offer_pair(&runs);
    let base = query.get("base").or(chosen.first().copied());
    let new = query.get("new").or(chosen.get(1).copied());
    let compared = match (base, new) {
        (Some(base), Some(new)) => {
            let open_store = || Ok(dashboard.store.clone());
            Some(compare_by_name(base, new, &baselines, &open_store)?)
        }
        _ => None,
    };
    let body = html! {
        h1 { "Compare" }
        form.filter method="get" action=(Route::Compare.path()) {
            label { "Base"
                select name="base" {
                    @for name in &names { option value=(name) selected[base == Some(name)] { "baseline " (name) } }
                    @for run in &runs { option value=(run.name) selected[base.or(offered.0) == Some(run.name)] { (run.label) } }
                }
            }
            label { "Run"
                select name="new" { @for run in &runs { option value=(run.name) selected[new.or(offered.1) == Some(run.name)] { (run.label) } } }
            }
            button { "Compare" }
        }
        @match &compared {
            Some(compared) => {
                (render_figures(&archive, [base, new]))
                @for (identity, section) in compared.build_sections() {
                    section.paper {
                        h2 { (identity) }
                        (render_section(&section, 3, None))
                    }
                }
            }
            None if runs.is_empty() => { p { "Nothing has run yet." } }
            None => { p { "Select a baseline or an earlier run, and the run to compare with it." } }
        }
    };
    Ok(Content {
        title: "Compare".to_owned(),
        section: Section::Compare,
        stream: String::new(),
        body,
    })
}

/// Renders the figures of the runs beside each other, which are there too where no comparison is sound.
fn render_figures(archive: &Archive, names: [Option<&str>; 2]) -> Markup {
    let of_run = |name: Option<&str>| {
        let entries = archive.entries.iter();
        let own = entries.filter(|entry| Some(&*entry.run) == name);
        own.collect::<Vec<_>>()
    };
    let entries: Vec<&Entry> = names.into_iter().flat_map(of_run).collect();
    html! {
        div.scroll role="region" aria-label="Runs" tabindex="0" {
            table.list {
                thead { tr { @for title in ["Run", "When", "Scenario", "Verdict", "Grade", "p95", "Errors"] { th scope="col" { (title) } } } }
                tbody { @for entry in entries {
                    @let figures = entry.figures();
                    tr {
                        th scope="row" { (render_run_link(&entry.run)) }
                        td { (render_time(&entry.started_at)) }
                        td { a href=(Route::Scenario(entry.scenario.clone()).path()) { (entry.scenario) } }
                        td { (render_verdict(entry)) }
                        td { (render_grade(entry)) }
                        td.n { (format_time(figures.and_then(|figures| figures.p95))) }
                        td.n { (format_share(figures.and_then(|figures| figures.error_rate))) }
                    }
                } }
            }
        }
    }
}

/// A run to choose, as people know it.
struct RunChoice<'a> {
    name: &'a str,
    scenarios: Vec<&'a str>,
    /// `2026-10-02 09:30 UTC · visit · B · <name>`.
    label: String,
}

/// Returns the runs to choose from, the newest first.
fn list_choices(archive: &Archive) -> Vec<RunChoice<'_>> {
    let ended: Vec<&Entry> = archive
        .entries
        .iter()
        .filter(|entry| !is_under_way(entry))
        .collect();
    let runs = ended.chunk_by(|one, other| one.run == other.run);
    let choices = runs.take(CHOICES).map(|entries| {
        let first = entries[0];
        let scenarios: Vec<&str> = entries.iter().map(|entry| &*entry.scenario).collect();
        let short = scenarios
            .iter()
            .map(|scenario| scenario.rsplit("::").next().unwrap_or(scenario));
        let when: String = first.started_at.chars().take(16).collect();
        let result = match first.figures().and_then(|figures| figures.grade) {
            Some(grade) if entries.len() == 1 => grade.to_string(),
            _ => first.verdict().to_owned(),
        };
        let names = short.collect::<Vec<_>>().join(", ");
        let when = when.replace('T', " ");
        RunChoice {
            name: &first.run,
            label: format!("{when} UTC · {names} · {result} · {}", first.run),
            scenarios,
        }
    });
    choices.collect()
}

/// Returns the newest run and that before it with the same scenarios, the earlier one first.
fn offer_pair<'a>(runs: &[RunChoice<'a>]) -> (Option<&'a str>, Option<&'a str>) {
    let Some(new) = runs.first() else {
        return (None, None);
    };
    let mut earlier = runs[1..].iter();
    let base = earlier.find(|run| run.scenarios == new.scenarios);
    (base.map(|run| run.name), Some(new.name))
}
