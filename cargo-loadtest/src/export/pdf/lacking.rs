//! The characters that no font of the document has, and which font would show them.

use super::SUB;
use super::flow::Flow;
use super::text::{plain_spans, prose_spans};
use std::collections::BTreeMap;

/// Scripts and a free font of each: first and last character, name, the usual name of the file.
const SCRIPTS: &str = include_str!("scripts.tsv");

/// More of a script are left out.
const MOST: usize = 12;

/// Names the script of a character, and a font that has it.
fn find_script(letter: char) -> (&'static str, Option<&'static str>) {
    let code = u32::from(letter);
    let invisible = letter.is_control()
        || matches!(code, 0x61c | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xfe00..=0xfe0f);
    if invisible {
        return ("not to be seen, whatever the font", None);
    }
    let mut scripts = SCRIPTS.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [from, to, script, file] = fields[..] else {
            return None;
        };
        let [from, to] = [from, to].map(|digits| u32::from_str_radix(digits, 16).ok());
        (from?..=to?)
            .contains(&code)
            .then_some((script, Some(file)))
    });
    scripts
        .next()
        .unwrap_or(("other", Some("a font that has them")))
}

/// A section at the end where something was escaped.
pub(super) fn place_lacking(flow: &mut Flow<'_>) {
    let lacking = flow.lacking();
    if lacking.is_empty() {
        return;
    }
    let mut scripts: BTreeMap<_, Vec<char>> = BTreeMap::new();
    for letter in lacking {
        scripts.entry(find_script(letter)).or_default().push(letter);
    }
    flow.heading("Characters that are not shown");
    let words = "The fonts of this document lack these characters, which stand above by their numbers. \
                 A font file that has them is added with `--pdf-font FILE`.";
    flow.paragraph(&prose_spans(words, SUB));
    flow.gap(4.0);
    for ((script, file), letters) in scripts {
        let mut words: Vec<String> = letters
            .iter()
            .take(MOST)
            .map(|letter| format!("U+{:04X}", u32::from(*letter)))
            .collect();
        if letters.len() > MOST {
            words.push(format!("and {} more", letters.len() - MOST));
        }
        let file = file.map_or(String::new(), |file| format!(": {file}"));
        flow.paragraph(&plain_spans(
            format!("{script}{file} ({})", words.join(", ")),
            SUB,
        ));
    }
}
