//! From words to lines: which font, what is wide, where a line ends, in which order letters stand.
//!
//! A character that no font has is written as its escape, in a form of its own: nothing is left out.

use super::fonts::{Face, Fonts};
use crate::export::page::split_prose;
use unicode_bidi::{Level, ParagraphBidiInfo};

/// A colour: red, green and blue in a byte each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Colour(pub(super) u32);

pub(super) const INK: Colour = Colour(0x1b_1f24);
pub(super) const MUTED: Colour = Colour(0x5d_646d);
pub(super) const GRID: Colour = Colour(0xe3_e5e8);
pub(super) const CODE: Colour = Colour(0xf1_f2f3);
pub(super) const ALARM: Colour = Colour(0xc0_362c);
pub(super) const GOOD: Colour = Colour(0x2c_7a4b);
pub(super) const FAIR: Colour = Colour(0x94_650a);
pub(super) const PAPER: Colour = Colour(0xff_ffff);
/// The colour of the replacement for a character that no font has.
const ESCAPE: Colour = Colour(0x7a_68b3);

impl Colour {
    /// This colour over paper, where so much of it shows.
    pub(super) fn tint(self, opacity: f64) -> Self {
        let channel = |shift: u32| {
            let own = f64::from(self.0 >> shift & 0xff);
            ((own * opacity + 255.0 * (1.0 - opacity)).round() as u32) << shift
        };
        Self(channel(16) | channel(8) | channel(0))
    }
}

/// The look of words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Style {
    pub(super) size: f64,
    pub(super) bold: bool,
    pub(super) colour: Colour,
    /// On the ground of code.
    pub(super) code: bool,
}

impl Style {
    pub(super) const fn new(size: f64) -> Self {
        Self {
            size,
            bold: false,
            colour: INK,
            code: false,
        }
    }

    pub(super) const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub(super) const fn colour(self, colour: Colour) -> Self {
        Self { colour, ..self }
    }
}

/// Words of one look.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    pub(super) text: String,
    pub(super) style: Style,
}

/// Words of one look and font, at their place in a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TextRun {
    pub(super) x: f64,
    pub(super) width: f64,
    pub(super) text: String,
    pub(super) face: Face,
    pub(super) style: Style,
    /// It stands for a character that no font has.
    pub(super) escaped: bool,
}

/// A line, its letters in the order in which they are seen.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Line {
    pub(super) runs: Vec<TextRun>,
    pub(super) width: f64,
}

/// A paragraph of one look.
pub(super) fn plain_spans(text: impl Into<String>, style: Style) -> Vec<Span> {
    vec![Span {
        text: text.into(),
        style,
    }]
}

/// A sentence in which what stands between two backticks is code.
pub(super) fn prose_spans(text: &str, style: Style) -> Vec<Span> {
    let spans = split_prose(text).into_iter();
    let spans = spans.map(|(code, text)| Span {
        text,
        style: Style { code, ..style },
    });
    spans.collect()
}

/// A letter that will be drawn.
#[derive(Debug, Clone, Copy)]
struct Glyph {
    sign: char,
    face: Face,
    width: f64,
    style: Style,
    escaped: bool,
    /// A line may end after it.
    ends: Option<LineEnd>,
}

/// The quality of a line break after a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Must,
    Space,
    /// Within a word that has no room in a line.
    Joint,
}

/// Returns true for characters that only change how others are shown, so that a text could say what
/// it does not.
fn is_unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

fn measure_letters(spans: &[Span], fonts: &Fonts) -> Vec<Glyph> {
    let mut all: Vec<Glyph> = Vec::new();
    for Span { text, style } in spans {
        let text = text.replace("\r\n", "\n").replace('\t', "    ");
        // A line does not end between a figure and its unit.
        let text = text.replace(" %", "\u{a0}%").replace(" ms", "\u{a0}ms");
        for letter in text.chars() {
            if letter == '\n' {
                if let Some(last) = all.last_mut() {
                    last.ends = Some(LineEnd::Must);
                }
                continue;
            }
            let face = Some(letter).filter(|letter| !is_unseen(*letter));
            if let Some(face) = face.and_then(|letter| fonts.face_of(letter, style.bold)) {
                all.push(Glyph {
                    // So that a reader finds the words.
                    sign: if letter == '\u{a0}' { ' ' } else { letter },
                    face,
                    width: fonts.width(face, letter) * style.size,
                    style: *style,
                    escaped: false,
                    ends: end_after(letter),
                });
                continue;
            }
            let style = Style {
                colour: if style.colour == PAPER { PAPER } else { ESCAPE },
                bold: false,
                ..*style
            };
            let escape = format!("\\u{{{:X}}}", u32::from(letter));
            all.extend(escape.chars().map(|letter| Glyph {
                sign: letter,
                face: Face::REGULAR,
                width: fonts.width(Face::REGULAR, letter) * style.size,
                style,
                escaped: true,
                ends: (letter == '}').then_some(LineEnd::Joint),
            }));
        }
    }
    all
}

fn end_after(letter: char) -> Option<LineEnd> {
    match letter {
        ' ' => Some(LineEnd::Space),
        '/' | '_' | '-' | '.' | ':' | ',' | ';' | '&' | '?' | '=' | '·' => Some(LineEnd::Joint),
        // Scripts that put no spaces between words.
        '\u{2e80}'..='\u{a4cf}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => {
            Some(LineEnd::Joint)
        }
        _ => None,
    }
}

/// The lines of a paragraph in a column of this width: at most `most`, of which the last ends with `…` where
/// something is left out.
pub(super) fn break_lines(spans: &[Span], width: f64, most: usize, fonts: &Fonts) -> Vec<Line> {
    let letters = measure_letters(spans, fonts);
    let mut lines = Vec::new();
    let mut begin = 0;
    while begin < letters.len() {
        let (end, rest) = first_line(&letters[begin..], width);
        let (end, rest) = (begin + end, begin + rest);
        if lines.len() + 1 == most && rest < letters.len() {
            lines.push(shorten_line(&letters[begin..end], width, fonts));
            return lines;
        }
        lines.push(join_runs(&letters[begin..end]));
        begin = rest;
    }
    lines
}

/// Returns the end of the first line and the beginning of the next one.
fn first_line(letters: &[Glyph], width: f64) -> (usize, usize) {
    let mut x = 0.0;
    let (mut space, mut joint) = (None, None);
    for (i, letter) in letters.iter().enumerate() {
        let too_wide = x + letter.width > width + 1e-6;
        if too_wide && letter.sign != ' ' && i > 0 {
            let end = space.or(joint).unwrap_or(i);
            return (trimmed_length(&letters[..end]), end);
        }
        x += letter.width;
        match letter.ends {
            Some(LineEnd::Must) => return (trimmed_length(&letters[..=i]), i + 1),
            Some(LineEnd::Space) => space = Some(i + 1),
            Some(LineEnd::Joint) => joint = Some(i + 1),
            None => {}
        }
    }
    (trimmed_length(letters), letters.len())
}

fn trimmed_length(letters: &[Glyph]) -> usize {
    letters
        .iter()
        .rposition(|letter| letter.sign != ' ')
        .map_or(0, |last| last + 1)
}

fn shorten_line(letters: &[Glyph], width: f64, fonts: &Fonts) -> Line {
    let mut kept = letters.to_vec();
    let Some(last) = kept.last().copied() else {
        return Line::default();
    };
    let face = if last.face == Face::BOLD {
        Face::BOLD
    } else {
        Face::REGULAR
    };
    let dots = Glyph {
        sign: '…',
        face,
        width: fonts.width(face, '…') * last.style.size,
        escaped: false,
        ends: None,
        ..last
    };
    let room = width - dots.width;
    while !kept.is_empty() && kept.iter().map(|letter| letter.width).sum::<f64>() > room {
        kept.pop();
    }
    // Half an escape says nothing.
    while kept
        .last()
        .is_some_and(|last| last.escaped && last.sign != '}')
    {
        kept.pop();
    }
    kept.push(dots);
    join_runs(&kept)
}

/// Puts the letters of a line next to one another; each run is in the order in which it is read.
fn join_runs(letters: &[Glyph]) -> Line {
    let mut line = Line::default();
    let look = |letter: &Glyph| (letter.face, letter.style, letter.escaped);
    for run in letters.chunk_by(|one, other| look(one) == look(other)) {
        let width = run.iter().map(|letter| letter.width).sum();
        let text: String = run.iter().map(|letter| letter.sign).collect();
        let bidi = ParagraphBidiInfo::new(&text, Some(Level::ltr()));
        line.runs.push(TextRun {
            x: line.width,
            width,
            text: bidi.reorder_line(0..text.len()).into_owned(),
            face: run[0].face,
            style: run[0].style,
            escaped: run[0].escaped,
        });
        line.width += width;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const STYLE: Style = Style::new(10.0);

    fn set_in(text: &str, width: f64, most: usize) -> Vec<String> {
        let fonts = Fonts::new(&[]);
        let lines = break_lines(&plain_spans(text, STYLE), width, most, &fonts);
        for line in &lines {
            let runs: f64 = line.runs.iter().map(|run| run.width).sum();
            assert!((line.width - runs).abs() < 1e-6);
            assert!(line.width <= width + 1e-6, "{line:?}");
        }
        lines
            .iter()
            .map(|line| line.runs.iter().map(|run| &*run.text).collect())
            .collect()
    }

    #[test]
    fn lines_end_at_spaces_then_at_joints_then_anywhere() {
        assert_eq!(set_in("one two three", 45.0, 9), ["one two", "three"]);
        assert_eq!(
            set_in("create_the_order", 64.0, 9),
            ["create_the_", "order"]
        );
        assert_eq!(set_in("mmmmmmmm", 30.0, 9), ["mmm", "mmm", "mm"]);
        assert_eq!(set_in("a\nb\r\nc", 99.0, 9), ["a", "b", "c"]);
        assert!(set_in("", 99.0, 9).is_empty());
        // The space that parts thousands is no end of a line.
        assert_eq!(set_in("x 10\u{202f}000", 36.0, 9), ["x", "10\u{202f}000"]);
        // Nor is that between a figure and its unit.
        assert_eq!(set_in("under 300 ms", 52.0, 9), ["under", "300 ms"]);
        assert_eq!(set_in("in 31 iterations", 60.0, 9), ["in 31", "iterations"]);
    }

    #[test]
    fn what_has_no_room_ends_with_dots() {
        let lines = set_in("create_the_order_of_all_the_things", 60.0, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines[1].ends_with('…'), "{lines:?}");
        assert_eq!(set_in("注文注文注文", 60.0, 1), ["\\u{6CE8}…"]);
    }

    #[test]
    fn a_column_narrower_than_a_letter_ends_all_the_same() {
        let fonts = Fonts::new(&[]);
        assert_eq!(
            break_lines(&plain_spans("mmm", STYLE), 1.0, 9, &fonts).len(),
            3
        );
    }

    #[test]
    fn what_no_font_has_is_escaped_in_a_form_of_its_own() {
        let fonts = Fonts::new(&[]);
        let lines = break_lines(&plain_spans("a注🚀\u{7}\u{202e}b", STYLE), 500.0, 1, &fonts);
        let runs: Vec<(&str, bool)> = lines[0]
            .runs
            .iter()
            .map(|run| (&*run.text, run.escaped))
            .collect();
        let escapes = "\\u{6CE8}\\u{1F680}\\u{7}\\u{202E}";
        assert_eq!(runs, [("a", false), (escapes, true), ("b", false)]);
    }

    #[test]
    fn right_to_left_is_seen_in_its_order() {
        assert_eq!(set_in("step שלום א 12 ok", 300.0, 1), ["step 12 א םולש ok"]);
    }

    #[test]
    fn code_stands_between_two_backticks() {
        let spans = prose_spans("`login` takes 5 ` of", STYLE);
        let parts: Vec<(&str, bool)> = spans
            .iter()
            .map(|span| (&*span.text, span.style.code))
            .collect();
        assert_eq!(
            parts,
            [("login", true), (" takes 5 ", false), ("` of", false)]
        );
    }

    #[test]
    fn a_tint_lies_between_the_colour_and_paper() {
        assert_eq!(Colour(0x00_0000).tint(0.0), PAPER);
        assert_eq!(ALARM.tint(1.0), ALARM);
        assert_eq!(Colour(0x00_80ff).tint(0.5), Colour(0x80_c0ff));
    }
}
