//! Sheets and their sections.

use super::block::{render_blocks, render_sentences};
use super::join_classes;
use crate::export::markup::{Prose, Text};
use crate::export::page::{Badge, Place, Section, Sheet, Tile};
use maud::{Markup, html};

/// Renders a scenario, a search, or a scenario that did not run, with a heading of this level.
pub(crate) fn render_sheet(sheet: &Sheet, level: u8) -> Markup {
    let name = format!("{}-name", sheet.anchor);
    let tone = sheet.tone.class();
    html! {
        article.paper.sheet id=(Text(&sheet.anchor)) aria-labelledby=(Text(&name)) {
            header.top {
                div {
                    p { span.{"verdict t-" (tone)} { (Text(&sheet.verdict)) } }
                    (render_heading(level, (level > 1).then_some("h1"), Some(&name), &sheet.name))
                    @if !sheet.about.is_empty() { p.sub { (Prose(&sheet.about)) } }
                    @if !sheet.description.is_empty() { p.about { (Text(&sheet.description)) } }
                    @if !sheet.tags.is_empty() {
                        ul.tags aria-label="Tags" { @for tag in &sheet.tags { li { (Text(tag)) } } }
                    }
                }
                @if let Some(badge) = &sheet.badge { (render_badge(badge)) }
            }
            (render_contents(sheet))
            section.{"why t-" (tone)} aria-label="Why" { (render_sentences(&sheet.remarks)) }
            @if !sheet.tiles.is_empty() { (render_tiles(&sheet.tiles, &sheet.tiles_note)) }
            (render_sections(&sheet.sections, level + 1, &sheet.anchor))
        }
    }
}

/// Renders links to the sections; a style sheet shows them where there is room.
fn render_contents(sheet: &Sheet) -> Markup {
    let titled = sheet.sections.iter().enumerate();
    let titled = titled.filter(|(_, section)| !section.title.is_empty());
    html! {
        @if sheet.sections.len() > 1 {
            nav.contents aria-label={"Sections of " (Text(&sheet.name))} {
                ul {
                    @for (at, section) in titled {
                        li { a href={"#" (Text(section_anchor(&sheet.anchor, at)))} { (Text(&section.title)) } }
                    }
                }
            }
        }
    }
}

fn section_anchor(sheet: &str, at: usize) -> String {
    format!("{sheet}-{}", at + 1)
}

/// Renders a heading of a level from 1 to 4.
pub(crate) fn render_heading(
    level: u8,
    class: Option<&str>,
    id: Option<&str>,
    words: &str,
) -> Markup {
    let (id, words) = (id.map(Text), Text(words));
    html! {
        @match level {
            1 => h1 class=[class] id=[id] { (words) },
            2 => h2 class=[class] id=[id] { (words) },
            3 => h3 class=[class] id=[id] { (words) },
            _ => h4 class=[class] id=[id] { (words) },
        }
    }
}

fn render_badge(badge: &Badge) -> Markup {
    let is_wide = badge.label.chars().count() > 4;
    html! {
        div.{"grade t-" (badge.tone.class())} {
            span class={"letter" @if is_wide { " wide" }} aria-label={(badge.title) " " (Text(&badge.label))} {
                (Text(&badge.label))
            }
            @for note in &badge.notes { span.score { (Text(note)) } }
        }
    }
}

/// Renders figures in large type, and what explains them.
pub(crate) fn render_tiles(tiles: &[Tile], note: &str) -> Markup {
    html! {
        section aria-label="Key figures" {
            dl.tiles {
                @for tile in tiles {
                    div class=[join_classes([(tile.is_alarming, "bad")])] {
                        dt { (Text(tile.title)) }
                        dd { (Text(&tile.figure)) }
                        @if !tile.note.is_empty() { dd.note { (Text(&tile.note)) } }
                    }
                }
            }
            p.sub { (Text(note)) }
        }
    }
}

/// Renders sections with headings of this level: half ones beside one another, and accounts folded. Their anchors
/// begin with that of the sheet.
pub(crate) fn render_sections(sections: &[Section], level: u8, sheet: &str) -> Markup {
    let numbered: Vec<_> = sections.iter().zip(0..).collect();
    let render = |(section, at): &(&Section, usize)| {
        let anchor = section_anchor(sheet, *at);
        match section.place {
            Place::Account => render_account(section, level, &anchor),
            _ => render_section(section, level, Some(&anchor)),
        }
    };
    html! {
        @for row in numbered.chunk_by(|(one, _), (next, _)| one.place == next.place) {
            @match row[0].0.place {
                Place::Whole => @for section in row { (render(section)) },
                Place::Half => div.pair { @for section in row { (render(section)) } },
                Place::Account => div.folded { @for section in row { (render(section)) } },
            }
        }
    }
}

/// Renders a section, to which links lead by its anchor; one without a title is closing notes.
pub(crate) fn render_section(section: &Section, level: u8, anchor: Option<&str>) -> Markup {
    let is_notes = section.title.is_empty();
    html! {
        section class=[is_notes.then_some("notes")] id=[anchor.map(Text)] {
            @if !is_notes { (render_heading(level, None, None, &section.title)) }
            (render_blocks(&section.blocks))
        }
    }
}

/// Renders an account of the run, which is open where something in it is wrong.
fn render_account(section: &Section, level: u8, anchor: &str) -> Markup {
    html! {
        details id=(Text(anchor)) open[!section.is_folded] {
            summary { (render_heading(level, None, None, &section.title)) }
            (render_blocks(&section.blocks))
        }
    }
}
