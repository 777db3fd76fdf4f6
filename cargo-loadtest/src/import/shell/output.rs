//! What a text takes of an answer: `$(curl .. | jq -r .token)`.

use super::programs::is_called;
use super::{Command, Stdin, begins_name, is_in_name};
use crate::import::marked::Key;

/// A value of the answer to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::import) struct Output {
    /// What stands for it in the commands that follow.
    pub(in crate::import) marker: String,
    /// The way to it in the JSON of the answer.
    pub(in crate::import) path: Vec<Key>,
}

/// The way to the value that these commands print, where they are one request and a filter that says it.
pub(super) fn path(commands: &[Command]) -> Option<Vec<Key>> {
    let [_, command] = commands else {
        return None;
    };
    matches!(command.stdin, Stdin::Program(_)).then(|| filtered(command))?
}

/// The way to the value that a filter prints of what it reads.
pub(super) fn filtered(filter: &Command) -> Option<Vec<Key>> {
    let [program, arguments @ ..] = filter.words.as_slice() else {
        return None;
    };
    if !is_called(&program.text, "jq") {
        return None;
    }
    let mut is_raw = false;
    let mut filter = None;
    for argument in arguments {
        let argument = std::str::from_utf8(&argument.text).ok()?;
        match argument.strip_prefix('-') {
            Some("-raw-output" | "-join-output") => is_raw = true,
            Some("-exit-status" | "-compact-output" | "-monochrome-output") => {}
            Some(letters)
                if !letters.is_empty() && letters.bytes().all(|one| b"rjecM".contains(&one)) =>
            {
                is_raw |= letters.contains(['r', 'j']);
            }
            None if filter.is_none() => filter = Some(argument),
            _ => return None,
        }
    }
    // Else a string comes with its quotes.
    is_raw.then(|| keys(filter?)).flatten()
}

/// The way that a filter of jq says: `.data.items[0]["id"] // empty`.
fn keys(filter: &str) -> Option<Vec<Key>> {
    let filter = filter.trim();
    let filter = filter.strip_suffix("// empty").unwrap_or(filter).trim_end();
    let mut rest = filter.strip_prefix('.')?;
    let mut keys = Vec::new();
    loop {
        let length = rest.bytes().take_while(|byte| is_in_name(*byte)).count();
        let (name, after) = rest.split_at(length);
        if !name.is_empty() {
            begins_name(name.as_bytes()[0]).then_some(())?;
            keys.push(Key::Field(name.to_owned()));
        }
        rest = after;
        let mut has_brackets = false;
        while let Some(inside) = rest.strip_prefix('[') {
            let (inside, after) = inside.split_once(']')?;
            let quoted = inside
                .strip_prefix('"')
                .and_then(|inside| inside.strip_suffix('"'));
            keys.push(match quoted {
                Some(name) if !name.contains(['"', '\\']) => Key::Field(name.to_owned()),
                Some(_) => return None,
                None => Key::Item(inside.parse().ok()?),
            });
            has_brackets = true;
            rest = after.strip_prefix('?').unwrap_or(after);
        }
        rest = rest.strip_prefix('?').unwrap_or(rest);
        if rest.is_empty() {
            return (!keys.is_empty()).then_some(keys);
        }
        // Two points in a row are something else.
        (!name.is_empty() || has_brackets).then_some(())?;
        rest = rest.strip_prefix('.')?;
        (!rest.is_empty()).then_some(())?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_says_the_way_to_a_value() {
        let field = |name: &str| Key::Field(name.to_owned());
        for (filter, way) in [
            (".token", vec![field("token")]),
            (" .data.id // empty", vec![field("data"), field("id")]),
            (".[0].id", vec![Key::Item(0), field("id")]),
            (
                ".data.items[12][\"odd name\"]",
                vec![
                    field("data"),
                    field("items"),
                    Key::Item(12),
                    field("odd name"),
                ],
            ),
            (".[\"a\"].b?", vec![field("a"), field("b")]),
        ] {
            assert_eq!(keys(filter), Some(way), "{filter}");
        }
        for filter in [
            "",
            ".",
            "..",
            "token",
            ".a | .b",
            ".a[]",
            ".a[-1]",
            ".a[1:2]",
            ".a..b",
            ".a.",
            ".a-b",
            ".1",
            ".a // \"x\"",
            "keys",
            ".[\"a\\\"b\"]",
            ".[",
            ".a[99999999999999999999]",
        ] {
            assert_eq!(keys(filter), None, "{filter}");
        }
    }
}
