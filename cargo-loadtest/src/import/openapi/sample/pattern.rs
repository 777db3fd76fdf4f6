//! A text that a regular expression matches, where that is simple: classes, counts, alternatives, anchors.

/// How deep groups may be within each other.
const DEEPEST: usize = 20;
/// How many of what may come without end are tried.
const MOST_MORE: usize = 64;
/// How often anything is repeated at most.
const MOST_TIMES: usize = 4_096;

/// The shortest text of such a length that matches; none where the expression is more than simple.
pub(super) fn matching(expression: &str, least: usize, most: usize) -> Option<String> {
    let letters: Vec<char> = expression.chars().collect();
    let mut reader = Reader {
        letters: &letters,
        at: 0,
        depth: 0,
    };
    let parts = reader.alternatives()?;
    if reader.at < letters.len() {
        return None;
    }
    (0..=MOST_MORE).find_map(|more| {
        let mut text = String::new();
        write(&parts, more, most.min(MOST_TIMES), &mut text)?;
        // What comes before and after it is free without anchors, so that it may be too short.
        let length = text.chars().count();
        (least..=most).contains(&length).then_some(text)
    })
}

/// Something, and how often it comes.
struct Part {
    what: What,
    least: usize,
    most: Option<usize>,
}

enum What {
    Letter(char),
    Group(Vec<Part>),
}

/// Writes the parts, those that may come again so many times `more`; none where it is too long.
fn write(parts: &[Part], more: usize, longest: usize, text: &mut String) -> Option<()> {
    for part in parts {
        let wanted = part.least.checked_add(more)?;
        let times = part.most.map_or(wanted, |most| most.min(wanted));
        for _ in 0..times {
            match &part.what {
                What::Letter(letter) => text.push(*letter),
                What::Group(parts) => write(parts, 0, longest, text)?,
            }
            if text.len() > longest * 4 {
                return None;
            }
        }
    }
    Some(())
}

struct Reader<'a> {
    letters: &'a [char],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += 1;
        Some(letter)
    }

    fn takes(&mut self, letter: char) -> bool {
        let is_next = self.peek() == Some(letter);
        self.at += usize::from(is_next);
        is_next
    }

    /// The first of them.
    fn alternatives(&mut self) -> Option<Vec<Part>> {
        let first = self.sequence()?;
        while self.takes('|') {
            self.sequence()?;
        }
        Some(first)
    }

    fn sequence(&mut self) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        while let Some(letter) = self.peek() {
            if matches!(letter, '|' | ')') {
                break;
            }
            self.at += 1;
            let what = match letter {
                '^' | '$' => continue,
                '.' => What::Letter('a'),
                '[' => What::Letter(self.class()?),
                '(' => What::Group(self.group()?),
                '\\' => match self.next()? {
                    'A' | 'z' | 'Z' => continue,
                    escaped => What::Letter(one_of(&self.escaped(escaped)?)?),
                },
                '*' | '+' | '?' => return None,
                letter => What::Letter(letter),
            };
            let (least, most) = self.count()?;
            parts.push(Part { what, least, most });
        }
        Some(parts)
    }

    fn group(&mut self) -> Option<Vec<Part>> {
        if self.takes('?') {
            match self.next()? {
                ':' => {}
                // With a name; anything else looks around.
                'P' | '<' => {
                    self.takes('<');
                    if matches!(self.peek()?, '=' | '!') {
                        return None;
                    }
                    while self.next()? != '>' {}
                }
                _ => return None,
            }
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let parts = self.alternatives()?;
        self.depth -= 1;
        self.takes(')').then_some(parts)
    }

    /// How often what stands before comes.
    fn count(&mut self) -> Option<(usize, Option<usize>)> {
        let count = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                let rest = &self.letters[self.at + 1..];
                let end = rest.iter().position(|letter| *letter == '}')?;
                let inside: String = rest[..end].iter().collect();
                self.at += end + 1;
                match inside.split_once(',') {
                    None => {
                        let times = inside.trim().parse().ok()?;
                        (times, Some(times))
                    }
                    Some((least, "")) => (least.trim().parse().ok()?, None),
                    Some((least, most)) => {
                        let least = least.trim();
                        let least = if least.is_empty() {
                            0
                        } else {
                            least.parse().ok()?
                        };
                        (least, Some(most.trim().parse().ok()?))
                    }
                }
            }
            _ => return Some((1, Some(1))),
        };
        self.at += 1;
        // As few as may be, or all of them: the same texts match.
        if matches!(self.peek(), Some('?' | '+')) {
            self.at += 1;
        }
        (count.0 <= MOST_TIMES && count.1.is_none_or(|most| most >= count.0)).then_some(count)
    }

    fn class(&mut self) -> Option<char> {
        let is_negated = self.takes('^');
        let mut ranges = Vec::new();
        let mut is_first = true;
        loop {
            let letter = self.next()?;
            let from = match letter {
                ']' if !is_first => break,
                '[' if matches!(self.peek(), Some(':' | '=' | '.')) => return None,
                '\\' => {
                    let escaped = self.next()?;
                    match self.escaped(escaped)?.as_slice() {
                        [(one, other)] if one == other => *one,
                        several => {
                            ranges.extend_from_slice(several);
                            is_first = false;
                            continue;
                        }
                    }
                }
                letter => letter,
            };
            is_first = false;
            let is_range = self.peek() == Some('-')
                && self
                    .letters
                    .get(self.at + 1)
                    .is_some_and(|next| *next != ']');
            if !is_range {
                ranges.push((from, from));
                continue;
            }
            self.at += 1;
            let to = match self.next()? {
                '\\' => {
                    let escaped = self.next()?;
                    self.escaped(escaped)?.first()?.0
                }
                letter => letter,
            };
            (from <= to).then(|| ranges.push((from, to)))?;
        }
        if !is_negated {
            return one_of(&ranges);
        }
        let is_free = |letter: &char| {
            let mut ranges = ranges.iter();
            !ranges.any(|(from, to)| (from..=to).contains(&letter))
        };
        "a1A-_ .x".chars().find(is_free)
    }

    /// What an escape stands for.
    fn escaped(&mut self, letter: char) -> Option<Vec<(char, char)>> {
        let ranges = match letter {
            'd' => vec![('1', '9'), ('0', '0')],
            'w' => vec![('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')],
            's' => vec![(' ', ' ')],
            'D' | 'W' if letter == 'D' => vec![('a', 'a')],
            'W' => vec![('-', '-')],
            'S' => vec![('a', 'a')],
            'n' => vec![('\n', '\n')],
            't' => vec![('\t', '\t')],
            'r' => vec![('\r', '\r')],
            'x' => vec![self.coded(2)?],
            'u' => vec![self.coded(4)?],
            letter if !letter.is_ascii_alphanumeric() => vec![(letter, letter)],
            _ => return None,
        };
        Some(ranges)
    }

    fn coded(&mut self, digits: usize) -> Option<(char, char)> {
        let code: String = self
            .letters
            .get(self.at..self.at + digits)?
            .iter()
            .collect();
        self.at += digits;
        let letter = char::from_u32(u32::from_str_radix(&code, 16).ok()?)?;
        Some((letter, letter))
    }
}

/// A letter of a class: one that is easily read, if there is any.
fn one_of(ranges: &[(char, char)]) -> Option<char> {
    let has = |letter: char| {
        ranges
            .iter()
            .any(|(from, to)| (*from..=*to).contains(&letter))
    };
    ['a', 'A', '1']
        .into_iter()
        .find(|letter| has(*letter))
        .or_else(|| ranges.first().map(|(from, _)| *from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_patterns_are_matched() {
        for (pattern, least, most, text) in [
            ("^[a-z]+$", 0, 99, "a"),
            ("^[a-z]+$", 5, 99, "aaaaa"),
            (r"^\d{3}-\d{2,4}$", 0, 99, "111-11"),
            (r"^(?:cus|sub)_[A-Za-z0-9]{4,}$", 10, 10, "cus_aaaaaa"),
            (r"^#[0-9a-fA-F]{6}$", 0, 99, "#aaaaaa"),
            (r"[^@\s]+@[^@]+\.com", 0, 99, "a@a.com"),
            (r"^v\d+(\.\d+)*$", 0, 99, "v1"),
            (r"^(?P<year>\d{4})?$", 0, 99, ""),
            (r"^[\w.-]{2}\x41$", 0, 99, "aaA"),
            (r"^[]a]b$", 0, 99, "ab"),
        ] {
            let found = matching(pattern, least, most);
            assert_eq!(found.as_deref(), Some(text), "{pattern}");
        }
    }

    #[test]
    fn what_is_not_simple_is_told_apart() {
        for pattern in [
            "(?=a)b",
            "(?<!a)b",
            r"\p{L}",
            r"(a)\1",
            "a{9999999}",
            "[",
            "(",
            "a)",
            "+",
            "[b-a]",
            "(a{4000}){4000}",
        ] {
            assert_eq!(matching(pattern, 0, 99), None, "{pattern}");
        }
        assert_eq!(matching("^a{5}$", 0, 4), None, "too long");
        assert_eq!(matching(&"(".repeat(10_000), 0, 9), None);
    }
}
