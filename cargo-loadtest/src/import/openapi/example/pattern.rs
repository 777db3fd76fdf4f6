//! Makes texts for simple regular expressions: characters and classes with counts, one after another.

use std::iter::{Peekable, repeat_n};
use std::str::Chars;

/// Most repetitions of a character.
const MOST_TIMES: usize = 4_096;

/// Makes the shortest text of such a length that matches. Returns nothing for a more complex expression.
pub(super) fn match_pattern(pattern: &str, least: usize, most: usize) -> Option<String> {
    let pattern = pattern.strip_prefix('^').unwrap_or(pattern);
    let pattern = match pattern.strip_suffix('$') {
        Some(rest) if !rest.ends_with('\\') => rest,
        _ => pattern,
    };
    let mut letters = pattern.chars().peekable();
    let mut parts = Vec::new();
    while let Some(letter) = letters.next() {
        let letter = match letter {
            '[' => read_class(&mut letters)?,
            '\\' => choose_letter(&[read_escape(letters.next()?)?])?,
            '.' => 'a',
            '(' | ')' | '|' | '*' | '+' | '?' | '{' | '^' | '$' => return None,
            letter => letter,
        };
        let (least, most) = read_count(&mut letters)?;
        parts.push((letter, least, most));
    }
    let shortest: usize = parts.iter().map(|(_, least, _)| least).sum();
    let mut missing = least.saturating_sub(shortest);
    let mut text = String::new();
    for (letter, least, most) in parts {
        let more = missing.min(most - least);
        missing -= more;
        text.extend(repeat_n(letter, least + more));
    }
    (missing == 0 && text.chars().count() <= most).then_some(text)
}

/// Reads a class up to its closing bracket, and returns one of its characters.
fn read_class(letters: &mut Peekable<Chars<'_>>) -> Option<char> {
    let mut ranges = Vec::new();
    loop {
        let first = match letters.next()? {
            ']' if !ranges.is_empty() => return choose_letter(&ranges),
            '^' | '[' | ']' if ranges.is_empty() => return None,
            '\\' => {
                ranges.push(read_escape(letters.next()?)?);
                continue;
            }
            letter => letter,
        };
        let mut ahead = letters.clone();
        let is_range = ahead.next() == Some('-') && ahead.next() != Some(']');
        let last = if is_range {
            letters.next();
            letters
                .next()
                .filter(|last| *last != '\\' && first <= *last)?
        } else {
            first
        };
        ranges.push((first, last));
    }
}

/// Returns the range of characters that an escape stands for.
fn read_escape(letter: char) -> Option<(char, char)> {
    match letter {
        'd' => Some(('0', '9')),
        'w' => Some(('a', 'z')),
        's' => Some((' ', ' ')),
        letter if letter.is_ascii_alphanumeric() => None,
        letter => Some((letter, letter)),
    }
}

/// Returns an easily read character of these ranges.
fn choose_letter(ranges: &[(char, char)]) -> Option<char> {
    let has = |letter: &char| {
        let mut ranges = ranges.iter();
        ranges.any(|(first, last)| (first..=last).contains(&letter))
    };
    let usual = ['a', 'A', '1'].into_iter().find(has);
    usual.or_else(|| ranges.first().map(|(first, _)| *first))
}

/// Reads how often a character is repeated.
fn read_count(letters: &mut Peekable<Chars<'_>>) -> Option<(usize, usize)> {
    let count = match letters.peek() {
        Some('*') => (0, MOST_TIMES),
        Some('+') => (1, MOST_TIMES),
        Some('?') => (0, 1),
        Some('{') => {
            let inside: String = letters
                .by_ref()
                .skip(1)
                .take_while(|letter| *letter != '}')
                .collect();
            let (least, most) = inside.split_once(',').unwrap_or((&inside, &inside));
            let least = least.trim().parse().ok()?;
            let most = match most.trim() {
                "" => MOST_TIMES,
                most => most.parse().ok()?,
            };
            return (least <= most && most <= MOST_TIMES).then_some((least, most));
        }
        _ => return Some((1, 1)),
    };
    letters.next();
    Some(count)
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
            (r"^#[0-9a-fA-F]{6}$", 0, 99, "#aaaaaa"),
            (r"^[\w.-]{2}\.x?$", 0, 99, "aa."),
            ("/?[a-zA-Z0-9_-]+", 0, 99, "a"),
            ("^[A-Z]{4,}$", 6, 6, "AAAAAA"),
        ] {
            let found = match_pattern(pattern, least, most);
            assert_eq!(found.as_deref(), Some(text), "{pattern}");
        }
    }

    #[test]
    fn other_patterns_are_not_matched() {
        for pattern in [
            "(?=a)b",
            r"\p{L}",
            r"(a)\1",
            "a{9999999}",
            "[",
            "[]",
            "[^a]",
            "(",
            "a)",
            "a|b",
            "+",
            "[b-a]",
            "a+?",
            "a{",
        ] {
            assert_eq!(match_pattern(pattern, 0, 99), None, "{pattern}");
        }
        assert_eq!(match_pattern("^a{5}$", 0, 4), None, "too long");
    }
}
