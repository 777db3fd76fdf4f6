//! Expressions, laid out as rustfmt has them: calls and chains of calls, which is all that is written here.

use super::WIDTH;
use unicode_width::UnicodeWidthStr as _;

/// How wide the arguments of a call, a list or a chain of several links may be on one line.
const NARROW: usize = 60;
const STEP: usize = 4;

/// An expression.
#[derive(Debug, Clone)]
pub(super) enum Code {
    /// What stays in one piece.
    Atom(String),
    /// `head(arguments)end`; `head[..]` and `head!(..)` likewise.
    Call {
        head: String,
        brackets: (char, char),
        arguments: Vec<Code>,
        /// `?`, or nothing.
        end: &'static str,
        is_macro: bool,
    },
    /// `head.link.link()`; each link has its dot.
    Chain { head: Box<Code>, links: Vec<Code> },
}

impl Code {
    pub(super) fn atom(text: impl Into<String>) -> Self {
        Self::Atom(text.into())
    }

    /// `head(arguments)`.
    pub(super) fn call(head: impl Into<String>, arguments: Vec<Self>) -> Self {
        Self::Call {
            head: head.into(),
            brackets: ('(', ')'),
            arguments,
            end: "",
            is_macro: false,
        }
    }

    /// `head(arguments)?`.
    pub(super) fn tried(head: impl Into<String>, arguments: Vec<Self>) -> Self {
        Self::Call {
            head: head.into(),
            brackets: ('(', ')'),
            arguments,
            end: "?",
            is_macro: false,
        }
    }

    /// `[items]`.
    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::Call {
            head: String::new(),
            brackets: ('[', ']'),
            arguments: items,
            end: "",
            is_macro: false,
        }
    }

    /// `format!("..")`, whose values are within the text.
    pub(super) fn format(literal: String) -> Self {
        Self::Call {
            head: "format!".to_owned(),
            brackets: ('(', ')'),
            arguments: vec![Self::Atom(literal)],
            end: "",
            is_macro: true,
        }
    }

    /// `json!(code)`, which is text of JSON.
    pub(super) fn json(code: Self) -> Self {
        Self::Call {
            head: "json!".to_owned(),
            brackets: ('(', ')'),
            arguments: vec![code],
            end: "",
            is_macro: true,
        }
    }

    /// `head.link.link`, the head alone where there is no link.
    pub(super) fn chain(head: Self, links: Vec<Self>) -> Self {
        match (links.is_empty(), head) {
            (true, head) => head,
            (false, Self::Chain { head, links: first }) => Self::Chain {
                head,
                links: first.into_iter().chain(links).collect(),
            },
            (false, head) => Self::Chain {
                head: Box::new(head),
                links,
            },
        }
    }

    /// All of it on one line.
    pub(super) fn line(&self) -> String {
        match self {
            Self::Atom(text) => text.clone(),
            Self::Call {
                head,
                brackets: (open, close),
                arguments,
                end,
                ..
            } => {
                let inside: Vec<_> = arguments.iter().map(Self::line).collect();
                format!("{head}{open}{}{close}{end}", inside.join(", "))
            }
            Self::Chain { head, links } => {
                let links: String = links.iter().map(Self::line).collect();
                head.line() + &links
            }
        }
    }

    /// Whether rustfmt has it on one line, if there is room for so much.
    fn is_simple(&self) -> bool {
        match self {
            Self::Atom(_) => true,
            Self::Call { arguments, .. } => {
                let inside: Vec<_> = arguments.iter().map(Self::line).collect();
                let is_narrow = match arguments.as_slice() {
                    [] => true,
                    [only] if !only.overflows() => true,
                    _ => inside.join(", ").width() <= NARROW,
                };
                is_narrow && arguments.iter().all(Self::is_simple)
            }
            Self::Chain { head, links } => {
                (links.len() == 1 || self.line().width() + tried(links) <= NARROW)
                    && head.is_simple()
                    && links.iter().all(Self::is_simple)
            }
        }
    }

    /// On as many lines as rustfmt has it: behind `used` columns, before `after` more, in a block that is indented
    /// by `indent`.
    pub(super) fn lay(&self, indent: usize, used: usize, after: usize) -> String {
        let line = self.line();
        if self.is_simple() && used + line.width() + after <= WIDTH {
            return line;
        }
        match self {
            Self::Atom(_) => line,
            Self::Call { .. } => self.opened(indent),
            Self::Chain { head, links } => chain(head, links, indent, used, after),
        }
    }

    /// A call, its arguments on lines of their own.
    fn opened(&self, indent: usize) -> String {
        let Self::Call {
            head,
            brackets: (open, close),
            arguments,
            end,
            is_macro,
        } = self
        else {
            return self.line();
        };
        let margin = " ".repeat(indent);
        if let [only] = arguments.as_slice()
            && only.overflows()
        {
            return format!("{head}{open}{}{close}{end}", only.opened(indent));
        }
        let comma = if *is_macro { "" } else { "," };
        let inside = indent + STEP;
        let lines: Vec<_> = arguments
            .iter()
            .enumerate()
            .map(|(at, argument)| {
                let is_last = at + 1 == arguments.len();
                let comma = if is_last { comma } else { "," };
                let code = argument.lay(inside, inside, comma.len());
                format!("{margin}    {code}{comma}\n")
            })
            .collect();
        format!("{head}{open}\n{}{margin}{close}{end}", lines.concat())
    }

    /// Whether it may begin behind the bracket of a call that has no other argument.
    fn overflows(&self) -> bool {
        matches!(self, Self::Call { .. })
    }
}

/// How many columns rustfmt counts twice: the `?` at the end of a chain.
fn tried(links: &[Code]) -> usize {
    match links.last() {
        Some(Code::Call { end, .. }) => end.len(),
        Some(Code::Atom(field)) => usize::from(field.ends_with('?')),
        _ => 0,
    }
}

/// A chain on several lines: one for each link, but for that behind a short head, and for a last link that begins
/// behind all others.
fn chain(head: &Code, links: &[Code], indent: usize, used: usize, after: usize) -> String {
    let count = links.len();
    let first = head.lay(indent, used, 0);
    let (mut text, links) = match links {
        [link, rest @ ..] if first.width() <= STEP => (first + &link.line(), rest),
        links => (first, links),
    };
    let inside = indent + STEP;
    if let [before @ .., last] = links
        && !text.contains('\n')
        && before.iter().all(Code::is_simple)
    {
        let before: String = before.iter().map(Code::line).collect();
        let line = format!("{text}{before}");
        let mut room = WIDTH.saturating_sub(used);
        if count > 1 {
            room = room.min(NARROW);
        }
        room = room.saturating_sub(tried(links));
        let behind = last.lay(indent, used + line.width(), after);
        let below = last.lay(inside, inside, after);
        let (lines, begin) = (behind.lines().count(), behind.lines().next());
        let fits = line.width() + begin.unwrap_or_default().width() <= room;
        if fits && (lines >= 5 || below.lines().count() >= lines) {
            return line + &behind;
        }
    }
    // Behind a head on several lines the links are not indented.
    let inside = if text.contains('\n') { indent } else { inside };
    let margin = " ".repeat(inside);
    for (at, link) in links.iter().enumerate() {
        let after = if at + 1 == links.len() { after } else { 0 };
        text.push('\n');
        text.push_str(&margin);
        text.push_str(&link.lay(inside, inside, after));
    }
    text
}

/// `let name = code;`, indented.
pub(super) fn variable(name: &str, code: &Code, indent: usize) -> String {
    let margin = " ".repeat(indent);
    let begin = format!("{margin}let {name} =");
    let behind = code.lay(indent, begin.width() + 1, 1);
    if behind.contains('\n') || begin.width() + 1 + behind.width() + 1 > WIDTH {
        let inside = indent + STEP;
        let below = code.lay(inside, inside, 1);
        let opens = behind
            .lines()
            .next()
            .unwrap_or_default()
            .ends_with(['(', '[']);
        let is_one_line = !below.contains('\n') && inside + below.width() < WIDTH;
        let is_shorter = behind.matches('\n').count() > below.matches('\n').count() + 1;
        let below_opens = below
            .lines()
            .next()
            .unwrap_or_default()
            .ends_with(['(', '[']);
        if is_one_line || is_shorter || opens && !below_opens {
            return format!("{begin}\n{margin}    {below};\n");
        }
    }
    format!("{begin} {behind};\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Code {
        Code::atom(format!("\"{text}\""))
    }

    #[test]
    fn what_fits_stays_on_one_line() {
        let chain = Code::chain(
            Code::call("Part::text", vec![text("1")]),
            vec![
                Code::call(".mime_str", vec![text("text/csv")]),
                Code::call(".expect", vec![text("a type")]),
            ],
        );
        assert_eq!(
            variable("part", &chain, 4),
            "    let part = Part::text(\"1\").mime_str(\"text/csv\").expect(\"a type\");\n"
        );
    }

    #[test]
    fn what_does_not_fit_is_on_lines_of_its_own() {
        let call = Code::tried(
            "between",
            vec![
                Code::atom("page"),
                text("<input type='hidden' name='csrf' value='"),
                text("' /> of the form"),
            ],
        );
        insta::assert_snapshot!(variable("token", &call, 8), @r#"
        let token = between(
            page,
            "<input type='hidden' name='csrf' value='",
            "' /> of the form",
        )?;
        "#);
    }
}
