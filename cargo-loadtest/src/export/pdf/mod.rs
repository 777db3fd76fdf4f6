//! The card as a document of A4 pages, to print and to hand on: the sections and the charts of the page.
//!
//! `printpdf` writes the file. Without its feature `text_layout`, since the document is laid out here: that
//! feature would add 16 crates and a second reader of fonts, and takes the widths of characters out of reach.
//! Without it nothing cuts a font down to the characters in use, so `subsetter` does, which Typst's documents
//! go through: one crate, no code that runs on anything but the font. The font is `DejaVu Sans Condensed`, of the
//! crate `dejavu` (Bitstream's licence, which allows to embed it): of the fonts that crates carry it alone has
//! Latin, Greek, Cyrillic, Hebrew, Arabic and all signs of the reports, regular and bold. The family is
//! complete and changes no more, hence neither does the crate; the two faces add 1.3 MB to the tool.
//!
//! Times and numbers of the file are those of the run, so that a record gives the same bytes every time.

mod block;
mod flow;
mod fonts;
mod sheet;
mod table;
mod text;
mod write;

use super::page::{Page, SheetKind, Tone};
use block::{Drawing, PdfItem};
use flow::{Flow, Mark, WIDTH};
pub(crate) use fonts::Font;
use fonts::Fonts;
use loadtest_model::card::Report;
use text::{ALARM, Colour, FAIR, GOOD, INK, MUTED, Style, plain_spans};
use write::About;

/// The style of sentences.
const BODY: Style = Style::new(9.0);
/// The style of small print.
const SUB: Style = Style::new(8.0).colour(MUTED);

/// Renders a report as a PDF document. A character that the bundled font lacks comes from the first of `more`
/// that has it.
pub(crate) fn render(report: &Report, more: &[Font]) -> Vec<u8> {
    let page = Page::new(report);
    let fonts = Fonts::new(more);
    let (pages, marks) = lay_out(&page, &fonts);
    let time = page.started_at.parse::<jiff::Timestamp>();
    let about = About {
        title: page.title,
        producer: format!("loadtest {}", page.tool_version),
        time: time.map_or(0, jiff::Timestamp::as_second),
        identifier: page.run_id,
    };
    write::write_file(&pages, &marks, &about, &fonts)
}

/// Returns the pages, and what their outline names.
fn lay_out(page: &Page, fonts: &Fonts) -> (Vec<Vec<PdfItem>>, Vec<Mark>) {
    let mut flow = Flow::new(fonts);
    if !page.is_alone && !page.is_search {
        place_summary(&mut flow, page);
    }
    for sheet in &page.sheets {
        if sheet.kind == SheetKind::NotRun {
            flow.gap(26.0);
        } else {
            flow.page();
        }
        sheet::place_sheet(&mut flow, sheet);
    }
    flow.finish(&page.footer())
}

fn place_summary(flow: &mut Flow<'_>, page: &Page) {
    let title = "Load test report";
    flow.mark(title, 0);
    let mut head = Drawing::label(title, Style::new(21.0).bold(), WIDTH, flow.fonts);
    head.below(Drawing::words(
        &plain_spans(&*page.about, SUB),
        WIDTH,
        2,
        flow.fonts,
    ));
    head.height += 14.0;
    if page.sheets.is_empty() {
        flow.place(head);
        flow.paragraph(&plain_spans("No scenario ran.", BODY));
    } else {
        flow.before_next(head);
        table::place_table(flow, &page.scenarios);
    }
}

const fn colour_of(tone: Tone) -> Colour {
    match tone {
        Tone::Plain => INK,
        Tone::Good => GOOD,
        Tone::Fair => FAIR,
        Tone::Bad => ALARM,
        Tone::Muted => MUTED,
    }
}

#[cfg(test)]
mod tests;
