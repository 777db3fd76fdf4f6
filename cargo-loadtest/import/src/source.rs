//! The text that an importer reads, and the places in it that messages show.

use super::secrets::{HiddenValues, find_evident_secrets, find_secrets};
use super::text::floor_boundary;
use loadtest_console::console::clean;
use std::ops::Range;
use std::sync::OnceLock;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Bytes of the input, from and to.
pub type Span = Range<usize>;

/// Most columns of the marked place.
const WIDTH: usize = 70;
/// Most columns before the marked place.
const BEFORE: usize = 30;
/// Most bytes of a line that are read before and after the marked place.
const NEAR: usize = 4096;

/// A text to import, and its name.
#[derive(Debug, Clone)]
pub struct Input {
    /// The name that messages show: a path, `<stdin>`.
    pub name: String,
    pub(crate) text: String,
    /// Values in it that are shown nowhere.
    known: Vec<String>,
    /// True for a description, whose random values are examples.
    is_described: bool,
    /// Places of the line ends, once they are needed.
    ends: OnceLock<Vec<usize>>,
}

/// The reason why an input cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The place in the input.
    pub span: Span,
    /// The mistake.
    pub words: String,
    /// The text to write instead.
    pub help: Option<String>,
}

/// A warning: a part of the input that is not imported as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The place in the input.
    pub span: Span,
    /// The part, and what is done instead.
    pub words: String,
}

impl Mistake {
    pub(crate) fn new(span: Span, words: impl Into<String>) -> Self {
        Self {
            span,
            words: words.into(),
            help: None,
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl Note {
    pub(crate) fn new(span: Span, words: impl Into<String>) -> Self {
        Self {
            span,
            words: words.into(),
        }
    }
}

impl Input {
    /// An input called `name` in messages.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            known: Vec::new(),
            is_described: false,
            ends: OnceLock::new(),
        }
    }

    /// Shows these values nowhere.
    pub fn hide(&mut self, values: impl IntoIterator<Item = String>) {
        self.known.extend(values);
    }

    /// Notes that it is a description of a service, whose random values are examples.
    pub fn set_described(&mut self) {
        self.is_described = true;
    }

    /// Redacts the secrets of a text about it.
    pub fn redact(&self, text: &str) -> String {
        let find = if self.is_described {
            find_evident_secrets
        } else {
            find_secrets
        };
        HiddenValues::new(&self.known).redact(text, find)
    }

    /// Returns the line and the column of a place, counted from one, the column in characters.
    pub fn place(&self, at: usize) -> (usize, usize) {
        let at = floor_boundary(&self.text, at);
        let ends = self.ends.get_or_init(|| {
            let ends = self.text.bytes().enumerate();
            ends.filter(|(_, byte)| *byte == b'\n')
                .map(|(at, _)| at)
                .collect()
        });
        let line = ends.partition_point(|end| *end < at);
        let start = line.checked_sub(1).map_or(0, |before| ends[before] + 1);
        (line + 1, self.text[start..at].chars().count() + 1)
    }

    /// Returns the place, marked as rustc does, and the name before it. Nothing else of the line is shown, since only
    /// the reader of the input knows the secrets in it.
    pub fn excerpt(&self, span: &Span) -> String {
        let from = floor_boundary(&self.text, span.start);
        let (line, column) = self.place(from);
        // A line can be as long as the input: what is looked at is around the place.
        let before = &self.text[floor_boundary(&self.text, from.saturating_sub(NEAR))..from];
        let before = before.rsplit('\n').next().unwrap_or_default();
        let is_shown = is_name(before) && before.width() <= BEFORE;
        let before = if is_shown {
            clean(before)
        } else {
            "… ".to_owned()
        };
        let until = floor_boundary(&self.text, span.end.min(from + NEAR).max(from));
        let mut marked = self.text[from..until].lines().next().unwrap_or_default();
        if marked.starts_with(['{', '[']) {
            marked = &marked[..1];
        }
        let mut marked = clean(&self.redact(marked));
        if marked.width() > WIDTH {
            marked = format!("{}…", truncate_end(&marked, WIDTH));
        }
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        format!(
            "{margin}--> {}:{line}:{column}\n{margin} |\n{number} | {before}{marked}\n{margin} | {}{}",
            clean(&self.name),
            " ".repeat(before.width()),
            "^".repeat(marked.width().max(1)),
        )
    }
}

/// Returns true where the text before a value on its line is its name alone, or nothing.
fn is_name(before: &str) -> bool {
    let before = before.trim();
    let name = before.strip_suffix(':').unwrap_or_default();
    let name = name.trim().trim_start_matches("- ").trim_matches('"');
    let is_letter = |letter: char| letter.is_alphanumeric() || "_-.$/{}~".contains(letter);
    matches!(before, "" | "-") || !name.is_empty() && name.chars().all(is_letter)
}

/// Returns the beginning, up to a width.
fn truncate_end(text: &str, width: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, letter)| {
        used += letter.width().unwrap_or(0);
        used > width
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(text: &str, marked: &str) -> String {
        let input = Input::new("copied.sh", text.to_owned());
        let at = text.find(marked).unwrap();
        input.excerpt(&(at..at + marked.len()))
    }

    #[test]
    fn a_place_is_shown_as_a_compiler_shows_it() {
        assert_eq!(
            excerpt("curl \\\n  -K cfg http://h/", "-K"),
            " --> copied.sh:2:3\n  |\n2 |   -K\n  |   ^^"
        );
        // Nothing to mark is marked all the same.
        let input = Input::new("x", "a\n".to_owned());
        assert!(input.excerpt(&(9..12)).ends_with("2 | \n  | ^"));
    }

    #[test]
    fn examples_of_a_description_are_shown() {
        let text = "{\"default\": \"dGsf82KxQ0zLm4Vt9Rb1\", \"note\": \"ghp_4fK2mZ9sQ1xV7bN3cW8tR5yU6iO0pA1dF2gH\"}";
        let mut input = Input::new("api.json", text);
        let shown = |input: &Input| {
            let begin = |part| text.find(part).unwrap();
            [begin("dGsf"), begin("ghp_")].map(|at| input.excerpt(&(at..at + 20)))
        };
        assert!(
            shown(&input)
                .iter()
                .all(|shown| !shown.contains("dGsf82") && !shown.contains("4fK2"))
        );
        input.set_described();
        let [example, key] = shown(&input);
        assert!(example.contains("dGsf82KxQ0zLm4Vt9Rb1"), "{example}");
        assert!(!key.contains("4fK2"), "{key}");
    }

    #[test]
    fn the_place_alone_is_shown() {
        let text = "{\"a\":[{\"key\":\"k\",\"value\":\"S3CR3T\"}],\n  \"url\": \"http://h/\", \"pw\": S3CR3T}";
        let input = Input::new("made.json", text);
        let shown = |marked: &str, length: usize| {
            let at = text.find(marked).unwrap();
            input.excerpt(&(at..at + length))
        };
        assert!(shown("[{", 33).contains("\n1 | … [\n"));
        assert!(shown("\"http", 11).contains("\n2 |   \"url\": \"http://h/\"\n"));
        for (marked, length) in [("[{", 33), ("\"value", 7), ("\"http", 11), ("S3CR3T}", 1)] {
            let shown = shown(marked, length);
            assert!(!shown.contains("S3CR3T"), "{shown}");
        }
        let text = format!("curl {} --nope {}", "é".repeat(500), "x".repeat(500));
        let shown = excerpt(&text, "--nope");
        assert!(shown.contains("| … --nope\n"), "{shown}");
        let shown = excerpt(&text, &text[1006..]);
        assert!(
            shown.lines().all(|line| line.chars().count() < 120),
            "{shown}"
        );
        let shown = excerpt(
            "curl -H 'Authorization: Bearer abcdef123'",
            "-H 'Authorization: Bearer abcdef123'",
        );
        assert!(
            shown.contains("-H 'Authorization") && !shown.contains("abcdef123"),
            "{shown}"
        );
    }
}
