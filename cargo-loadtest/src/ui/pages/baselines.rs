//! The baselines and their runs.

use super::text::render_time;
use crate::baselines::{BaselineRun, Baselines};
use crate::policy::Action;
use crate::ui::dashboard::Dashboard;
use crate::ui::frame::Content;
use crate::ui::frame::Section;
use crate::ui::route::Route;
use loadtest_console::error::Error;
use loadtest_model::display;
use maud::html;

/// Renders the page.
///
/// # Errors
/// When the baselines cannot be read.
pub(super) fn render(dashboard: &Dashboard) -> Result<Content, Error> {
    let baselines = Baselines::from_config(&dashboard.config()?);
    let names = baselines.names()?;
    let refusal = dashboard.refusal(Action::Baseline);
    let all: Vec<_> = names
        .iter()
        .map(|name| Ok((name, baselines.open(name)?.contents()?)))
        .collect::<Result<_, Error>>()?;
    let body = html! {
        h1 { "Baselines" }
        @if names.is_empty() {
            p { "There is no baseline yet. The report of a run has a button that saves it as one, and so does " code { "cargo loadtest baseline save main" } "." }
        }
        @for (name, contents) in &all {
            section {
                h2 { (name) }
                @for runs in &contents.scenarios {
                    @let newest = runs.last();
                    dl.facts {
                        div {
                            dt { (runs.first().map(BaselineRun::identity).unwrap_or_default()) }
                            dd {
                                (display::format_counted(runs.len() as u64, "run"))
                                @if let Some(run) = newest { ", the newest of " (render_time(run.started_at())) }
                            }
                        }
                    }
                }
                @if !contents.outdated.is_empty() {
                    p.sub { (display::format_counted(contents.outdated.len() as u64, "run")) " of an older version, load or target no longer count" }
                }
                @if refusal.is_none() {
                    form.line method="post" action=(Route::RemoveBaseline.path()) data-confirm={ "Remove the baseline " (name) "?" } {
                        input type="hidden" name="name" value=(name);
                        button.small.danger { "Remove" }
                    }
                }
            }
        }
    };
    Ok(super::plain(Section::Baselines, "Baselines", body))
}
