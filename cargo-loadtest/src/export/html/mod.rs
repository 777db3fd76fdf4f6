//! Renders a page as HTML: complete without scripts and without a network.

mod policy;

/// Writes a `class` attribute; nothing without classes.
fn class_attribute(classes: &[impl AsRef<str>]) -> String {
    if classes.is_empty() {
        String::new()
    } else {
        let classes: Vec<&str> = classes.iter().map(AsRef::as_ref).collect();
        format!(" class=\"{}\"", classes.join(" "))
    }
}

#[cfg(test)]
mod skeleton;
#[cfg(test)]
mod style;
#[cfg(test)]
mod tests;

use crate::export::chart::Chart;
use crate::export::markup::{escape, escape_prose, escape_text};
use crate::export::page::{
    Block, Column, ColumnKind, Form, Page, Section, Sentence, Sheet, Table, TableCell, TableRow,
    Tile, Tone,
};
use loadtest_model::card::Report;
use std::fmt::Write as _;

const STYLE: &str = include_str!("../report.css");
const SCRIPT: &str = include_str!("../report.js");

/// Renders a report as an HTML page.
pub(crate) fn render(report: &Report) -> String {
    let page = Page::new(report);
    let mut sections = page.sheets.iter().flat_map(|sheet| &sheet.sections);
    let is_chart = |block: &Block| matches!(block, Block::Charts(_));
    let has_charts = sections.any(|section| section.blocks.iter().any(is_chart));
    let script = has_charts.then_some(SCRIPT);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n<title>{}</title>\n\
         <style>\n{STYLE}\n</style>\n</head>\n<body>\n<main>\n",
        policy::content_policy(script),
        escape_text(&page.title)
    );
    if !page.is_alone && !page.is_search {
        write_summary(&mut html, &page);
    }
    for (at, sheet) in page.sheets.iter().enumerate() {
        let level = if at == 0 && (page.is_alone || page.is_search) {
            1
        } else {
            2
        };
        write_sheet(&mut html, sheet, level);
    }
    let _ = writeln!(
        html,
        "<footer class=\"end\">{}</footer>\n</main>",
        escape_text(&page.footer())
    );
    if let Some(script) = script {
        let _ = writeln!(html, "<script>{script}</script>");
    }
    html + "</body>\n</html>\n"
}

fn write_summary(html: &mut String, page: &Page) {
    let about = escape_text(&page.about);
    let _ = writeln!(
        html,
        "<header class=\"summary\">\n<h1>Load test report</h1>\n<p class=\"sub\">{about}</p>"
    );
    if page.sheets.is_empty() {
        html.push_str("<p>No scenario ran.</p>\n");
    } else {
        write_table(html, &page.scenarios);
    }
    html.push_str("</header>\n");
}

fn write_sheet(html: &mut String, sheet: &Sheet, level: u8) {
    let anchor = escape(&sheet.anchor);
    let tone = sheet.tone.class();
    let class = if level == 1 { "" } else { " class=\"h1\"" };
    let _ = writeln!(
        html,
        "<article id=\"{anchor}\" aria-labelledby=\"{anchor}-name\">\n<header class=\"top\">\n<div>\n<p><span class=\"verdict t-{tone}\">{}</span></p>\n\
         <h{level}{class} id=\"{anchor}-name\">{}</h{level}>",
        escape_text(&sheet.verdict),
        escape_text(&sheet.name)
    );
    if !sheet.about.is_empty() {
        let _ = writeln!(html, "<p class=\"sub\">{}</p>", escape_prose(&sheet.about));
    }
    if !sheet.description.is_empty() {
        let _ = writeln!(
            html,
            "<p class=\"about\">{}</p>",
            escape_text(&sheet.description)
        );
    }
    if !sheet.tags.is_empty() {
        let mut tags = String::new();
        for tag in &sheet.tags {
            let _ = write!(tags, "<li>{}</li>", escape_text(tag));
        }
        let _ = writeln!(html, "<ul class=\"tags\" aria-label=\"Tags\">{tags}</ul>");
    }
    html.push_str("</div>\n");
    if let Some(badge) = &sheet.badge {
        let size = if badge.label.chars().count() > 4 {
            " wide"
        } else {
            ""
        };
        let _ = write!(
            html,
            "<div class=\"grade t-{}\"><span class=\"letter{size}\" aria-label=\"{} {label}\">{label}</span>",
            badge.tone.class(),
            badge.title,
            label = escape_text(&badge.label)
        );
        for note in &badge.notes {
            let _ = write!(html, "<span class=\"score\">{}</span>", escape_text(note));
        }
        html.push_str("</div>\n");
    }
    let _ = writeln!(
        html,
        "</header>\n<section class=\"why t-{tone}\" aria-label=\"Why\">"
    );
    write_sentences(html, &sheet.remarks);
    html.push_str("</section>\n");
    if !sheet.tiles.is_empty() {
        write_tiles(html, &sheet.tiles, &sheet.tiles_note);
    }
    let heading = level + 1;
    let mut sections = sheet.sections.iter().peekable();
    while let Some(section) = sections.next() {
        if !section.is_half {
            write_section(html, section, heading);
            continue;
        }
        html.push_str("<div class=\"pair\">\n");
        write_section(html, section, heading);
        while let Some(neighbour) = sections.next_if(|next| next.is_half) {
            write_section(html, neighbour, heading);
        }
        html.push_str("</div>\n");
    }
    html.push_str("</article>\n");
}

fn write_tiles(html: &mut String, tiles: &[Tile], note: &str) {
    html.push_str("<section aria-label=\"Key figures\">\n<dl class=\"tiles\">\n");
    for tile in tiles {
        let class = if tile.is_alarming {
            " class=\"bad\""
        } else {
            ""
        };
        let (title, figure) = (escape_text(tile.title), escape_text(&tile.figure));
        let _ = write!(html, "<div{class}><dt>{title}</dt><dd>{figure}</dd>");
        if !tile.note.is_empty() {
            let _ = write!(html, "<dd class=\"note\">{}</dd>", escape_text(&tile.note));
        }
        html.push_str("</div>\n");
    }
    let _ = writeln!(
        html,
        "</dl>\n<p class=\"sub\">{}</p>\n</section>",
        escape_text(note)
    );
}

fn write_section(html: &mut String, section: &Section, level: u8) {
    if section.title.is_empty() {
        html.push_str("<section class=\"notes\">\n");
    } else {
        let title = escape_text(&section.title);
        let _ = writeln!(html, "<section>\n<h{level}>{title}</h{level}>");
    }
    write_blocks(html, &section.blocks);
    html.push_str("</section>\n");
}

fn write_blocks(html: &mut String, blocks: &[Block]) {
    for block in blocks {
        match block {
            Block::Table(table) => write_table(html, table),
            Block::Sentences(sentences) => write_sentences(html, sentences),
            Block::Facts(facts) => {
                html.push_str("<dl class=\"facts\">\n");
                for (label, value) in facts {
                    let (label, value) = (escape_text(label), escape_text(value));
                    let _ = writeln!(html, "<div><dt>{label}</dt><dd>{value}</dd></div>");
                }
                html.push_str("</dl>\n");
            }
            Block::Charts(charts) => {
                html.push_str("<div class=\"charts\">\n");
                for chart in charts {
                    write_figure(html, chart);
                }
                html.push_str("</div>\n");
            }
            Block::Strip(chart, _) => {
                let svg = chart.scene.svg(&chart.label);
                let _ = writeln!(html, "<div class=\"shares\">{svg}</div>");
            }
        }
    }
}

fn write_sentences(html: &mut String, sentences: &[Sentence]) {
    for sentence in sentences {
        let mut classes = vec![];
        if sentence.is_small {
            classes.push("sub".to_owned());
        }
        if sentence.tone != Tone::Plain {
            classes.push(format!("s-{}", sentence.tone.class()));
        }
        let class = class_attribute(&classes);
        let _ = write!(html, "<p{class}>");
        if let Some(mark) = sentence.tone.mark().filter(|_| sentence.is_marked) {
            let _ = write!(html, "<span class=\"mark\">{mark}</span> ");
        }
        if !sentence.lead.is_empty() {
            let _ = write!(html, "<strong>{}</strong> ", sentence.lead);
        }
        html.push_str(&escape_prose(&sentence.words));
        if let Some(help) = &sentence.help {
            let _ = write!(
                html,
                "<br><span class=\"sub\">→ {}</span>",
                escape_prose(help)
            );
        }
        html.push_str("</p>\n");
    }
}

/// Writes a drawing with its legend, and the figures for the script that reads them off.
fn write_figure(html: &mut String, chart: &Chart) {
    html.push_str("<figure");
    if let Some(readout) = &chart.readout {
        let _ = write!(
            html,
            " data-from=\"{}\" data-to=\"{}\" data-at=\"{}\"",
            round(readout.from),
            round(readout.to),
            escape(&readout.at.join("|"))
        );
    }
    let title = escape_text(&chart.title);
    let _ = writeln!(
        html,
        ">\n<figcaption>{title}</figcaption>\n<ul class=\"legend\">"
    );
    for figures in chart.readout.iter().flat_map(|readout| &readout.series) {
        let dashed = if figures.dashed { " dashed" } else { "" };
        let _ = write!(
            html,
            "<li class=\"k-{}{dashed}\" data-words=\"{}\">{}</li>",
            figures.paint.role(),
            escape(&figures.words.join("|")),
            escape_text(&figures.name)
        );
    }
    let svg = chart.scene.svg(&chart.label);
    let _ = writeln!(html, "</ul>\n<div class=\"plot\">{svg}</div>\n</figure>");
}

/// Rounds to a thousandth: the script counts points with it.
fn round(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

fn write_table(html: &mut String, table: &Table) {
    let has_text = table.columns[1..]
        .iter()
        .any(|column| matches!(column.kind, ColumnKind::Text(_)));
    let has_keys = table
        .rows
        .iter()
        .any(|row| row.cells.iter().any(|cell| cell.key.is_some()));
    let mut classes = Vec::new();
    for (is, class) in [
        (has_text, "stack"),
        (has_keys, "steps"),
        (table.is_dense, "dense"),
    ] {
        if is {
            classes.push(class);
        }
    }
    let class = class_attribute(&classes);
    let caption = escape_text(&table.caption);
    let _ = writeln!(
        html,
        "<div class=\"scroll\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\">\n<table{class}>\n\
         <caption class=\"quiet\">{caption}</caption>"
    );
    let is_titled = table.columns.iter().any(|column| !column.title.is_empty());
    if is_titled {
        write_head(html, &table.columns);
    }
    html.push_str("<tbody>\n");
    for row in &table.rows {
        write_row(html, &table.columns, row);
    }
    html.push_str("</tbody>\n</table>\n</div>\n");
}

fn write_head(html: &mut String, columns: &[Column]) {
    html.push_str("<thead>\n");
    html.push_str("<tr>");
    for column in columns {
        let class = class_of(column.kind);
        let _ = write!(
            html,
            "<th scope=\"col\"{class}>{}</th>",
            escape_text(&column.title)
        );
    }
    html.push_str("</tr>\n</thead>\n");
}

const fn class_of(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Figure => " class=\"n\"",
        ColumnKind::Word => " class=\"w\"",
        ColumnKind::Text(_) => "",
    }
}

fn write_row(html: &mut String, columns: &[Column], row: &TableRow) {
    let classes = [
        (row.is_inner, "inner"),
        (row.is_member, "member"),
        (!row.is_inner && row.flag.is_some(), "slow"),
    ];
    let classes = classes
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, class)| *class);
    let class = match classes.collect::<Vec<_>>().join(" ") {
        classes if classes.is_empty() => classes,
        classes => format!(" class=\"{classes}\""),
    };
    let _ = write!(html, "<tr{class}>");
    for (at, (cell, column)) in row.cells.iter().zip(columns).enumerate() {
        let name = if at == 0 { "th" } else { "td" };
        let scope = if at == 0 { " scope=\"row\"" } else { "" };
        let label = if at > 0 && !column.title.is_empty() {
            format!(" data-label=\"{}\"", escape(&column.title))
        } else {
            String::new()
        };
        let class = match (column.kind, cell.form) {
            (_, Form::Chip) | (ColumnKind::Text(_), _) => String::new(),
            (ColumnKind::Figure, _) => format!(" class=\"n s-{}\"", cell.tone.class()),
            (ColumnKind::Word, _) => format!(" class=\"w s-{}\"", cell.tone.class()),
        };
        let class = class.replace(" s-plain", "");
        let _ = write!(html, "<{name}{scope}{class}{label}>");
        write_cell(html, cell, row.flag.filter(|_| at == 0));
        let _ = write!(html, "</{name}>");
    }
    html.push_str("</tr>\n");
}

fn write_cell(html: &mut String, cell: &TableCell, flag: Option<&str>) {
    if let Some(paint) = cell.key {
        let _ = write!(
            html,
            "<span class=\"key k-{}\" aria-hidden=\"true\"></span>",
            paint.role()
        );
    }
    let shown = render_text(cell.form, &cell.text, cell.tone);
    let _ = match (&cell.link, flag) {
        (Some(anchor), _) => write!(html, "<a href=\"#{}\">{shown}</a>", escape(anchor)),
        (None, Some(flag)) => {
            write!(
                html,
                "<span class=\"name\">{shown}</span> <span class=\"flag\">{flag}</span>"
            )
        }
        (None, None) => write!(html, "{shown}"),
    };
    for (form, note) in &cell.notes {
        let note = render_text(*form, note, Tone::Muted);
        let _ = match form {
            Form::Sample => write!(html, "{note}"),
            _ => write!(html, "<br><span class=\"sub\">{note}</span>"),
        };
    }
}

fn render_text(form: Form, words: &str, tone: Tone) -> String {
    match form {
        Form::Figure | Form::Name => escape_text(words),
        Form::Prose => escape_prose(words),
        Form::Code => format!("<code>{}</code>", escape_text(words)),
        Form::Sample => format!("<pre>{}</pre>", escape_text(words)),
        Form::Chip => format!(
            "<span class=\"chip t-{}\">{}</span>",
            tone.class(),
            escape_text(words)
        ),
    }
}
