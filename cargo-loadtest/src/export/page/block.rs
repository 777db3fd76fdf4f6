//! The pieces of a section that renderers know: tables, sentences, facts and charts.

use crate::export::chart::Chart;
use crate::export::scene::Paint;
use loadtest_model::display;
use std::time::Duration;

/// A piece of a section that renderers know.
#[derive(Debug)]
pub(crate) enum Block {
    Table(Table),
    Sentences(Vec<Sentence>),
    Facts(Vec<Fact>),
    /// Drawings, for formats that can draw.
    Charts(Vec<Chart>),
    /// A drawing over the whole width, and what replaces it where nothing can be drawn.
    Strip(Box<Chart>, Table),
}

/// A value with its label.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) label: String,
    pub(crate) value: String,
    /// The text that a reader may want to copy.
    pub(crate) copy: Option<String>,
}

/// A sentence; text between backticks is code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sentence {
    pub(crate) tone: Tone,
    /// Begins with the sign of its tone.
    pub(crate) is_marked: bool,
    /// Small print.
    pub(crate) is_small: bool,
    /// Words in bold before the sentence.
    pub(crate) lead: &'static str,
    pub(crate) words: String,
    /// The remedy.
    pub(crate) help: Option<String>,
}

/// The meaning of a colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Good,
    Fair,
    Bad,
    Muted,
}

#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Explains the table; a document shows it above.
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<TableRow>,
    /// A list of findings that a format may cut.
    pub(crate) is_list: bool,
    /// Many rows of small figures.
    pub(crate) is_dense: bool,
}

#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) title: String,
    pub(crate) kind: ColumnKind,
    /// The column with the highest rank leaves a table that is too wide; 0 never does.
    pub(crate) leaves: u8,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ColumnKind {
    /// Aligned at the right, never broken.
    Figure,
    /// Aligned at the left, never broken.
    Word,
    /// Broken into lines; its share of the width that is left.
    Text(f64),
}

#[derive(Debug, Default)]
pub(crate) struct TableRow {
    pub(crate) cells: Vec<TableCell>,
    /// Is a part of the row above it.
    pub(crate) is_inner: bool,
    /// Belongs to a row above that sums up several.
    pub(crate) is_member: bool,
    /// Stands out, with this word beside its name.
    pub(crate) flag: Option<&'static str>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct TableCell {
    pub(crate) text: String,
    pub(crate) form: Form,
    pub(crate) tone: Tone,
    /// Smaller, below the text.
    pub(crate) notes: Vec<(Form, String)>,
    /// A square of this colour before the text.
    pub(crate) key: Option<Paint>,
    /// A bar of this share before the text, where bars are letters.
    pub(crate) bar: Option<f64>,
    /// Anchor of the sheet that it leads to.
    pub(crate) link: Option<String>,
    /// The address of a page elsewhere that it leads to.
    pub(crate) address: Option<String>,
    /// The time that the text says.
    pub(crate) time: Option<Duration>,
}

/// The origin of a text, which decides how a format defuses it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// Our own figures and words.
    #[default]
    Figure,
    /// A name from outside.
    Name,
    /// A sentence; text between backticks is code.
    Prose,
    Code,
    /// Lines that a server sent.
    Sample,
    /// On a ground of its tone.
    Chip,
}

impl Fact {
    pub(crate) fn new(label: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            value: value.into(),
            copy: None,
        }
    }

    /// Offers a text to copy.
    pub(super) fn copy(self, text: impl Into<String>) -> Self {
        Self {
            copy: Some(text.into()),
            ..self
        }
    }
}

impl Sentence {
    pub(crate) fn plain(words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            ..Self::default()
        }
    }

    pub(crate) fn small(words: impl Into<String>) -> Self {
        Self {
            is_small: true,
            ..Self::plain(words)
        }
    }

    pub(crate) fn marked(tone: Tone, words: impl Into<String>) -> Self {
        Self {
            tone,
            is_marked: true,
            ..Self::plain(words)
        }
    }

    pub(super) fn led(lead: &'static str, words: impl Into<String>) -> Self {
        Self {
            lead,
            ..Self::plain(words)
        }
    }
}

impl Tone {
    pub(super) const fn alarm(is_bad: bool) -> Self {
        if is_bad { Self::Bad } else { Self::Plain }
    }

    /// The sign of the tone, so that colour is not all that tells sentences apart.
    pub(crate) const fn mark(self) -> Option<char> {
        match self {
            Self::Good => Some('✓'),
            Self::Bad => Some('✗'),
            Self::Fair => Some('!'),
            Self::Plain | Self::Muted => None,
        }
    }

    /// Name of the tone in a style sheet.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Fair => "fair",
            Self::Bad => "bad",
            Self::Muted => "muted",
        }
    }
}

impl TableRow {
    /// Returns how far its name is to the right of others.
    pub(crate) fn level(&self) -> usize {
        usize::from(self.is_inner) + usize::from(self.is_member)
    }
}

impl Table {
    pub(super) fn new(caption: &str, columns: Vec<Column>) -> Self {
        Self {
            caption: caption.to_owned(),
            columns,
            ..Self::default()
        }
    }

    /// A list of findings, of which a format may show the first ones.
    pub(super) fn list(caption: &str, columns: Vec<Column>) -> Self {
        Self {
            is_list: true,
            ..Self::new(caption, columns)
        }
    }

    pub(super) fn push(&mut self, cells: Vec<TableCell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(TableRow {
            cells,
            ..TableRow::default()
        });
    }
}

impl Column {
    pub(crate) fn new(title: &str, kind: ColumnKind) -> Self {
        Self {
            title: title.to_owned(),
            kind,
            leaves: 0,
        }
    }

    pub(super) fn figure(title: &str) -> Self {
        Self::new(title, ColumnKind::Figure)
    }

    pub(super) fn word(title: &str) -> Self {
        Self::new(title, ColumnKind::Word)
    }

    pub(super) fn text(title: &str, share: f64) -> Self {
        Self::new(title, ColumnKind::Text(share))
    }

    pub(super) fn leaves(mut self, rank: u8) -> Self {
        self.leaves = rank;
        self
    }
}

impl TableCell {
    pub(super) fn new(form: Form, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            form,
            ..Self::default()
        }
    }

    pub(super) fn figure(text: impl Into<String>) -> Self {
        Self::new(Form::Figure, text)
    }

    pub(super) fn name(text: impl Into<String>) -> Self {
        Self::new(Form::Name, text)
    }

    pub(super) fn prose(text: impl Into<String>) -> Self {
        Self::new(Form::Prose, text)
    }

    pub(super) fn code(text: impl Into<String>) -> Self {
        Self::new(Form::Code, text)
    }

    pub(super) fn chip(text: impl Into<String>, tone: Tone) -> Self {
        Self::new(Form::Chip, text).tone(tone)
    }

    pub(super) fn count(number: u64) -> Self {
        Self::figure(display::format_count(number))
    }

    /// A figure, or a dash.
    pub(super) fn optional<T>(figure: Option<T>, words: impl Fn(T) -> String) -> Self {
        Self::figure(figure.map_or_else(|| display::NO_VALUE.to_owned(), words))
    }

    pub(super) fn time(time: Option<Duration>) -> Self {
        Self {
            time,
            ..Self::optional(time, display::format_duration)
        }
    }

    /// A count, and that of journeys which began in the ramp.
    pub(super) fn count_and_ramp(count: u64, in_ramp: u64) -> Self {
        let cell = Self::count(count);
        match in_ramp {
            0 => cell,
            _ => cell.note(
                Form::Figure,
                format!("+ {} started in the ramp", display::format_count(in_ramp)),
            ),
        }
    }

    pub(super) fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    pub(super) fn note(mut self, form: Form, text: impl Into<String>) -> Self {
        self.notes.push((form, text.into()));
        self
    }
}

/// Splits a sentence into parts, each with true where it is code: text between two backticks.
pub(crate) fn split_prose(text: &str) -> Vec<(bool, String)> {
    let parts: Vec<&str> = text.split('`').collect();
    let is_code = |at: usize| at % 2 == 1 && at + 1 < parts.len();
    let parts = parts.iter().enumerate().map(|(at, part)| {
        // A backtick without a second one is a backtick.
        let alone = if at % 2 == 1 && !is_code(at) { "`" } else { "" };
        (is_code(at), format!("{alone}{part}"))
    });
    parts.filter(|(_, part)| !part.is_empty()).collect()
}
