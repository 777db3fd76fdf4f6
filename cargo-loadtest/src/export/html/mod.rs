//! Renders a page as HTML: complete without scripts and without a network.
//!
//! The functions for sheets, sections, tables and charts are those of every page of the tool; [`BASE_STYLE`]
//! and [`CHART_SCRIPT`] belong to them.

pub(crate) mod block;
mod policy;
pub(crate) mod sheet;
#[cfg(test)]
mod skeleton;
#[cfg(test)]
mod style;
pub(crate) mod table;
#[cfg(test)]
mod tests;

use crate::export::markup::Text;
use crate::export::page::{Block, Page};
use loadtest_model::card::Report;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sheet::render_sheet;
use table::render_table;

/// The style of everything that the functions here render.
pub(crate) const BASE_STYLE: &str = include_str!("base.css");
/// The style of an exported page around it.
const REPORT_STYLE: &str = include_str!("report.css");
/// Reads figures off charts, and copies commands.
pub(crate) const CHART_SCRIPT: &str = include_str!("chart.js");
/// The name of the tool in small, as a drawing.
const LOGO: &str = r#"<svg class="logo" viewBox="0 0 16 16" role="img" aria-label="loadtest"><rect x="1" y="9" width="4" height="6" rx="1"/><rect x="6" y="5" width="4" height="10" rx="1"/><rect x="11" y="1" width="4" height="14" rx="1"/></svg>"#;

/// Renders a report as an HTML page.
pub(crate) fn render(report: &Report) -> String {
    let page = Page::new(report);
    let mut sections = page.sheets.iter().flat_map(|sheet| &sheet.sections);
    let is_chart = |block: &Block| matches!(block, Block::Charts(_));
    let has_charts = sections.any(|section| section.blocks.iter().any(is_chart));
    let script = has_charts.then_some(CHART_SCRIPT);
    let html = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(PreEscaped(policy::content_policy(script)));
                title { (Text(&page.title)) }
                style { (PreEscaped(BASE_STYLE)) (PreEscaped(REPORT_STYLE)) }
            }
            body {
                div.masthead {
                    span.brand { (render_logo()) "loadtest" }
                    span.sub { (Text(&page.started_at)) " · run " span data-copy=(Text(&page.run_id)) { (Text(&page.run_id)) } }
                }
                main {
                    (render_sheets(&page))
                    footer.end { (Text(page.footer())) }
                }
                @if let Some(script) = script { script { (PreEscaped(script)) } }
            }
        }
    };
    html.into_string() + "\n"
}

/// Renders a report as a part of another page.
#[cfg(feature = "ui")]
pub(crate) fn render_report(report: &Report) -> Markup {
    render_sheets(&Page::new(report))
}

fn render_sheets(page: &Page) -> Markup {
    let is_headed = !page.is_alone && !page.is_search;
    html! {
        @if is_headed { (render_summary(page)) }
        @for (at, sheet) in page.sheets.iter().enumerate() {
            (render_sheet(sheet, if at == 0 && !is_headed { 1 } else { 2 }))
        }
    }
}

/// Renders the mark of the tool: three bars that rise.
pub(crate) fn render_logo() -> Markup {
    PreEscaped(LOGO.to_owned())
}

fn render_summary(page: &Page) -> Markup {
    html! {
        header.summary.paper {
            h1 { "Load test report" }
            p.sub { (Text(&page.about)) }
            @if page.sheets.is_empty() {
                p { "No scenario ran." }
            } @else {
                (render_table(&page.scenarios))
            }
        }
    }
}

/// Joins the classes that apply; `None` leaves the attribute out.
fn join_classes<'a>(classes: impl IntoIterator<Item = (bool, &'a str)>) -> Option<String> {
    let classes = classes.into_iter().filter(|(applies, _)| *applies);
    let classes: Vec<&str> = classes.map(|(_, class)| class).collect();
    (!classes.is_empty()).then(|| classes.join(" "))
}
