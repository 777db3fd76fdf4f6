//! Blocks of a section: sentences, facts and drawings.

use super::join_classes;
use super::table::render_table;
use crate::export::chart::Chart;
use crate::export::markup::{Prose, Text};
use crate::export::page::{Block, Sentence, Tone};
use maud::{Markup, PreEscaped, html};

/// Renders the blocks of a section.
pub(crate) fn render_blocks(blocks: &[Block]) -> Markup {
    html! {
        @for block in blocks {
            @match block {
                Block::Table(table) => (render_table(table)),
                Block::Sentences(sentences) => (render_sentences(sentences)),
                Block::Facts(facts) => dl.facts {
                    @for fact in facts {
                        div {
                            dt { (Text(&fact.label)) }
                            dd data-copy=[fact.copy.as_ref().map(Text)] { (Text(&fact.value)) }
                        }
                    }
                },
                Block::Charts(charts) => div.charts {
                    @for chart in charts { (render_figure(chart)) }
                },
                Block::Strip(chart, _) => div.shares { (render_drawing(chart)) },
            }
        }
    }
}

/// Renders sentences, each as a paragraph.
pub(crate) fn render_sentences(sentences: &[Sentence]) -> Markup {
    html! {
        @for sentence in sentences {
            @let tone = format!("s-{}", sentence.tone.class());
            p class=[join_classes([(sentence.is_small, "sub"), (sentence.tone != Tone::Plain, &tone)])] {
                @if let Some(mark) = sentence.tone.mark().filter(|_| sentence.is_marked) {
                    span.mark { (mark) } " "
                }
                @if !sentence.lead.is_empty() { strong { (sentence.lead) } " " }
                (Prose(&sentence.words))
                @if let Some(help) = &sentence.help { br; span.sub { "→ " (Prose(help)) } }
            }
        }
    }
}

/// Renders a drawing with its legend, and the figures for the script that reads them off.
pub(crate) fn render_figure(chart: &Chart) -> Markup {
    let readout = chart.readout.as_ref();
    html! {
        figure data-from=[readout.map(|readout| round(readout.from))]
            data-to=[readout.map(|readout| round(readout.to))]
            data-at=[readout.map(|readout| Text(readout.at.join("|")))]
        {
            figcaption { (Text(&chart.title)) }
            ul.legend {
                @for figures in readout.iter().flat_map(|readout| &readout.series) {
                    li class={"k-" (figures.paint.role()) @if figures.dashed { " dashed" }}
                        data-words=(Text(figures.words.join("|")))
                    { (Text(&figures.name)) }
                }
            }
            div.plot { (render_drawing(chart)) }
        }
    }
}

fn render_drawing(chart: &Chart) -> Markup {
    PreEscaped(chart.scene.svg(&chart.label))
}

/// Rounds to a thousandth: the script counts points with it.
fn round(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}
