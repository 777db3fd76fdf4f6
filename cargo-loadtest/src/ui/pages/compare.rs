//! Two runs, or a baseline and a run, beside each other.

use super::super::dashboard::Dashboard;
use super::super::frame::{Content, Section};
use super::super::request::Fields;
use super::super::route::Route;
use crate::baselines::Baselines;
use crate::commands::compare::compare_by_name;
use crate::error::Error;
use crate::export::html::sheet::render_section;
use crate::store::RunFolder;
use maud::html;

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
            "choose two runs: more cannot be compared at once",
        ));
    }
    let base = query.get("base").or(chosen.first().copied());
    let new = query.get("new").or(chosen.get(1).copied());
    let runs: Vec<String> = match dashboard.store.runs() {
        Ok(runs) => runs
            .iter()
            .rev()
            .take(CHOICES)
            .map(RunFolder::identifier)
            .collect(),
        Err(_) => Vec::new(),
    };
    let names = baselines.names()?;
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
                    @for name in names.iter().chain(&runs) { option value=(name) selected[base == Some(name)] { (name) } }
                }
            }
            label { "Run"
                select name="new" { @for name in &runs { option value=(name) selected[new == Some(name)] { (name) } } }
            }
            button { "Compare" }
        }
        @match &compared {
            Some(compared) => {
                @for (identity, section) in compared.build_sections() {
                    section.paper {
                        h2 { (identity) }
                        (render_section(&section, 3, None))
                    }
                }
            }
            None if runs.is_empty() => { p { "Nothing has run yet." } }
            None => { p { "Choose a baseline or an earlier run, and the run to compare with it." } }
        }
    };
    Ok(Content {
        title: "Compare".to_owned(),
        section: Section::Compare,
        stream: String::new(),
        body,
    })
}
