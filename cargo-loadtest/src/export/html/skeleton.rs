//! A page without its looks: what it says, as text that a review can read.

use std::fmt::Write as _;

/// A part of a page.
pub(super) enum Piece<'a> {
    Tag {
        name: &'a str,
        ends: bool,
        values: Vec<(&'a str, &'a str)>,
    },
    Text(&'a str),
}

/// The parts of a page, in their order. Panics at what a browser would have to guess about.
pub(super) fn pieces(html: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = html;
    while let Some((text, after)) = rest.split_once('<') {
        pieces.push(Piece::Text(text));
        let name_end = after.find([' ', '>', '/']).filter(|end| *end > 0);
        let (ends, after) = match name_end {
            Some(_) => (false, after),
            None => (true, after.strip_prefix('/').expect("a tag")),
        };
        let (name, mut inside) = after.split_at(after.find([' ', '>', '/']).expect("an end"));
        let mut values = Vec::new();
        loop {
            inside = inside.trim_start();
            if let Some(after) = inside.strip_prefix('>').or(inside.strip_prefix("/>")) {
                rest = after;
                break;
            }
            let name_end = inside.find(['=', '>', ' ']).expect("an end of the name");
            let (name, after) = inside.split_at(name_end);
            let Some(quoted) = after.strip_prefix("=\"") else {
                values.push((name, ""));
                inside = after;
                continue;
            };
            let (value, after) = quoted.split_once('"').expect("an end of the value");
            assert!(!value.contains('<'), "{name}={value}");
            values.push((name, value));
            inside = after;
        }
        pieces.push(Piece::Tag { name, ends, values });
        // What is within these is no text.
        if !ends && (name == "style" || name == "script") {
            let end = rest.find("</").expect("an end");
            rest = &rest[end..];
        }
    }
    pieces
}

/// Headings, paragraphs, lists and tables, a line each; a drawing is what it says of itself.
fn skeleton(html: &str) -> String {
    let mut out = String::new();
    let mut drawing = false;
    for piece in pieces(html) {
        match piece {
            Piece::Text(text) if !drawing => out.push_str(&text.replace('\n', " ")),
            Piece::Tag {
                name: "svg",
                ends,
                values,
            } => {
                drawing = !ends;
                let label = values.iter().find(|(name, _)| *name == "aria-label");
                if let Some((_, label)) = label {
                    let _ = write!(out, "\n[{label}]\n");
                }
            }
            Piece::Tag {
                name, ends: false, ..
            } => out.push_str(match name {
                "h1" => "\n\n# ",
                "h2" => "\n\n## ",
                "h3" => "\n\n### ",
                "tr" => "\n| ",
                "li" => "\n- ",
                "dd" => ": ",
                "div" | "p" | "dt" | "caption" | "figcaption" | "title" | "br" | "pre"
                | "footer" => "\n",
                _ => "",
            }),
            Piece::Tag {
                name: "th" | "td", ..
            } => out.push_str(" | "),
            Piece::Text(_) | Piece::Tag { .. } => {}
        }
    }
    let escapes = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&amp;", "&"),
    ];
    for (escaped, plain) in escapes {
        out = out.replace(escaped, plain);
    }
    let lines = out.lines().map(|line| {
        line.split(' ')
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    });
    let mut text = String::new();
    for line in lines.filter(|line| !line.is_empty()) {
        if line.starts_with('#') {
            text.push('\n');
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

mod tests {
    use super::*;
    use crate::export::html::render;
    use crate::export::sample;

    #[test]
    fn what_the_pages_say() {
        for (name, report) in [
            ("failed", sample::failed()),
            ("compared", sample::compared()),
            ("search", sample::search("too much")),
        ] {
            insta::assert_snapshot!(name, skeleton(&render(&report)));
        }
    }

    #[test]
    fn a_page_is_read_as_a_browser_reads_it() {
        let html = "<p class=\"a\">x<br><svg aria-label=\"&lt;y\"><text>z</text></svg></p><tr><th>1</th><td>2</td></tr>";
        assert_eq!(skeleton(html), "x\n[<y]\n| 1 | 2 |\n");
    }
}
