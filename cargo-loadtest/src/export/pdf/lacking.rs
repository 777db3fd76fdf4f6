//! The characters that no font of the document has, and which font would show them.

use super::SUB;
use super::flow::Flow;
use super::text::{plain_spans, prose_spans};
use std::collections::BTreeMap;

/// Scripts and a free font of each: from, to, what it is, the usual name of the file.
const SCRIPTS: [(u32, u32, &str, &str); 21] = [
    (0x0700, 0x074f, "Syriac", "NotoSansSyriac-Regular.ttf"),
    (0x0780, 0x07bf, "Thaana", "NotoSansThaana-Regular.ttf"),
    (
        0x0900,
        0x097f,
        "Devanagari",
        "NotoSansDevanagari-Regular.ttf",
    ),
    (0x0980, 0x09ff, "Bengali", "NotoSansBengali-Regular.ttf"),
    (0x0a00, 0x0a7f, "Gurmukhi", "NotoSansGurmukhi-Regular.ttf"),
    (0x0a80, 0x0aff, "Gujarati", "NotoSansGujarati-Regular.ttf"),
    (0x0b80, 0x0bff, "Tamil", "NotoSansTamil-Regular.ttf"),
    (0x0c00, 0x0c7f, "Telugu", "NotoSansTelugu-Regular.ttf"),
    (0x0c80, 0x0cff, "Kannada", "NotoSansKannada-Regular.ttf"),
    (0x0d00, 0x0d7f, "Malayalam", "NotoSansMalayalam-Regular.ttf"),
    (0x0e00, 0x0e7f, "Thai", "NotoSansThai-Regular.ttf"),
    (0x1000, 0x109f, "Myanmar", "NotoSansMyanmar-Regular.ttf"),
    (0x1200, 0x139f, "Ethiopic", "NotoSansEthiopic-Regular.ttf"),
    (0x1780, 0x17ff, "Khmer", "NotoSansKhmer-Regular.ttf"),
    (0x1100, 0x11ff, "Korean", "NotoSansCJK-Regular.ttc"),
    (
        0x2e80,
        0x9fff,
        "Chinese, Japanese",
        "NotoSansCJK-Regular.ttc",
    ),
    (0xac00, 0xd7ff, "Korean", "NotoSansCJK-Regular.ttc"),
    (
        0xf900,
        0xffef,
        "Chinese, Japanese",
        "NotoSansCJK-Regular.ttc",
    ),
    (0x1d400, 0x1d7ff, "mathematics", "NotoSansMath-Regular.ttf"),
    (0x1f000, 0x1faff, "emoji", "NotoEmoji-Regular.ttf"),
    (
        0x20000,
        0x3ffff,
        "Chinese, Japanese",
        "NotoSansCJK-Regular.ttc",
    ),
];

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
    SCRIPTS
        .into_iter()
        .find(|(from, to, _, _)| (*from..=*to).contains(&code))
        .map_or(
            ("other", Some("a font that has them")),
            |(_, _, script, file)| (script, Some(file)),
        )
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
