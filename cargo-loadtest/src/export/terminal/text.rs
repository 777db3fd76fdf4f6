//! Lines of styled text whose width is known. What is shown is cleaned here, wherever it comes from.

use anstyle::{AnsiColor, Color, Style};
pub(crate) use loadtest_console::console::clean;
use std::fmt::Write as _;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = coloured(AnsiColor::Green);
pub(crate) const FAIR: Style = coloured(AnsiColor::Yellow);
pub(crate) const BAD: Style = coloured(AnsiColor::Red);
pub(crate) const ACCENT: Style = coloured(AnsiColor::Cyan);

const fn coloured(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(colour)))
}

/// A line of styled text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line(Vec<(Style, String)>);

impl Line {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds text in a style.
    pub(crate) fn add(mut self, style: Style, text: impl Into<String>) -> Self {
        self.0.push((style, clean(&text.into())));
        self
    }

    /// Adds spaces up to a column; none when the line is already there.
    pub(crate) fn to(self, column: usize) -> Self {
        let gap = column.saturating_sub(self.width());
        self.add(PLAIN, " ".repeat(gap))
    }

    /// Adds all of another line.
    pub(crate) fn join(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| width(text)).sum()
    }

    /// Appends the line to `out`, cut to `limit` columns and without spaces at its end.
    pub(crate) fn print(&self, out: &mut String, limit: usize, colour: bool) {
        let mut spans = self.0.as_slice();
        while let Some((_, text)) = spans.last() {
            if !text.trim_end().is_empty() {
                break;
            }
            spans = &spans[..spans.len() - 1];
        }
        let mut room = limit;
        for (i, (style, text)) in spans.iter().enumerate() {
            let text = if i + 1 == spans.len() {
                text.trim_end()
            } else {
                text
            };
            let text = shorten(text, room);
            room -= width(&text);
            if colour && *style != PLAIN {
                let _ = write!(out, "{style}{text}{style:#}");
            } else {
                out.push_str(&text);
            }
        }
        out.push('\n');
    }
}

/// Returns the columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Cuts a text to `limit` columns, an ellipsis in place of what is cut.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut room = limit.saturating_sub(1);
    for letter in text.chars() {
        let width = letter.width().unwrap_or(0);
        if width > room {
            break;
        }
        room -= width;
        short.push(letter);
    }
    if limit > 0 {
        short.push('…');
    }
    short
}

/// Breaks a text into lines of at most `limit` columns: at its spaces, else within a word.
pub(crate) fn wrap(text: &str, limit: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in clean(text).split(' ').filter(|word| !word.is_empty()) {
        let last = lines.last_mut().expect("there is always a line");
        if !last.is_empty() && width(last) + 1 + width(word) > limit {
            lines.push(String::new());
        } else if !last.is_empty() {
            last.push(' ');
        }
        for letter in word.chars() {
            let last = lines.last_mut().expect("there is always a line");
            if !last.is_empty() && width(last) + letter.width().unwrap_or(0) > limit {
                lines.push(letter.to_string());
            } else {
                last.push(letter);
            }
        }
    }
    lines
}

/// A bar of `share` of `columns`, to an eighth of a column; something is never nothing.
pub(crate) fn bar(share: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * columns as f64 * 8.0).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_drive_a_terminal_is_shown_instead() {
        assert_eq!(
            clean("a\x1b[31mb\u{9b}c\u{202e}d\ne"),
            "a␛[31mb\u{fffd}c\u{fffd}d e"
        );
    }

    #[test]
    fn wide_letters_count_twice() {
        assert_eq!(shorten("注文を作成する", 8), "注文を…");
        assert_eq!(width("注文"), 4);
    }

    #[test]
    fn words_wrap_and_long_ones_are_broken() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a unbreakable", 5), ["a", "unbre", "akabl", "e"]);
    }

    #[test]
    fn a_bar_is_true_to_an_eighth() {
        assert_eq!(bar(0.5, 3), "█▌");
        assert_eq!(bar(0.000_1, 10), "▏");
        assert_eq!(bar(0.0, 10), "");
        assert_eq!(bar(1.0, 2), "██");
    }
}
