//! Texts that match a pattern.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

/// Most bytes of a text.
const LONGEST: usize = 4_096;

/// Returns a text of so many characters that matches the pattern. Of alternatives it takes the first; what looks around
/// or back is not matched.
pub(super) fn match_pattern(pattern: &str, least: usize, most: usize) -> Option<String> {
    let parsed = regex_syntax::parse(pattern).ok()?;
    let mut matched = MatchedText {
        text: String::new(),
        missing: least.saturating_sub(parsed.properties().minimum_len()?),
    };
    matched.add(&parsed)?;
    let length = matched.text.chars().count();
    (least..=most).contains(&length).then_some(matched.text)
}

struct MatchedText {
    text: String,
    /// Characters that repetitions have to add to the shortest text.
    missing: usize,
}

impl MatchedText {
    fn add(&mut self, part: &Hir) -> Option<()> {
        match part.kind() {
            HirKind::Empty | HirKind::Look(Look::Start | Look::End) => {}
            HirKind::Literal(literal) => self.text.push_str(str::from_utf8(&literal.0).ok()?),
            HirKind::Class(Class::Unicode(class)) => self.text.push(choose_letter(class)?),
            HirKind::Class(Class::Bytes(_)) | HirKind::Look(_) => return None,
            HirKind::Capture(capture) => self.add(&capture.sub)?,
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.add(part))?,
            HirKind::Alternation(parts) => self.add(parts.first()?)?,
            HirKind::Repetition(repetition) => {
                for count in 0..repetition.max.unwrap_or(u32::MAX) {
                    let is_extra = count >= repetition.min;
                    let before = self.text.len();
                    if is_extra && self.missing == 0 {
                        break;
                    }
                    self.add(&repetition.sub)?;
                    let added = self.text.len() - before;
                    self.missing -= if is_extra { added.min(self.missing) } else { 0 };
                    if added == 0 {
                        break;
                    }
                }
            }
        }
        (self.text.len() <= LONGEST).then_some(())
    }
}

/// Chooses a plain letter of a class, if it has one.
fn choose_letter(class: &ClassUnicode) -> Option<char> {
    let has = |letter: &char| {
        let mut ranges = class.iter();
        ranges.any(|range| (range.start()..=range.end()).contains(letter))
    };
    let usual = ['a', 'A', '1', ' '].into_iter().find(has);
    usual.or_else(|| class.iter().next().map(ClassUnicodeRange::start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_matched() {
        for (pattern, least, most, text) in [
            ("^[a-z]+$", 0, 99, "a"),
            ("^[a-z]+$", 5, 99, "aaaaa"),
            (r"^\d{3}-\d{2,4}$", 0, 99, "111-11"),
            (r"^#[0-9a-fA-F]{6}$", 0, 99, "#aaaaaa"),
            (r"^[\w.-]{2}\.x?$", 0, 99, "aa."),
            ("/?[a-zA-Z0-9_-]+", 0, 99, "a"),
            ("^[A-Z]{4,}$", 6, 6, "AAAAAA"),
            (r"^(red|blue)\/[^a]{2}$", 0, 99, "red/AA"),
            (r"^(\d+\.){2}\d+$", 7, 99, "111.1.1"),
        ] {
            let found = match_pattern(pattern, least, most);
            assert_eq!(found.as_deref(), Some(text), "{pattern}");
        }
    }

    #[test]
    fn other_patterns_are_not_matched() {
        for pattern in [
            "(?=a)b",
            r"(a)\1",
            r"\bword",
            "(a{4000}){4000}",
            "((){9000}){4000}b{5000}",
            "[",
            "[]",
            "(",
            "a)",
            "+",
            "[b-a]",
        ] {
            assert_eq!(match_pattern(pattern, 0, 99), None, "{pattern}");
        }
        assert_eq!(match_pattern("^a{5}$", 0, 4), None, "too long");
    }
}
