//! How values are written where some of their letters would mean something else, and what they mean.

use super::super::marked::Spelling;
use super::layer::Layer;

/// What a text means; nothing where nothing in it is written like this, or that is no text.
pub(super) fn meant(text: &str, spelling: Spelling) -> Option<String> {
    let meant = match spelling {
        Spelling::Percent if text.contains('%') => {
            let layer = Layer::new(text);
            layer.percent_decoded(false)?.text.into_owned()
        }
        Spelling::Html if text.contains('&') => html(text),
        Spelling::Json if text.contains('\\') => {
            serde_json::from_str(&format!("\"{text}\"")).ok()?
        }
        _ => return None,
    };
    (meant != text).then_some(meant)
}

/// As the function `unescaped` of a source does it.
fn html(text: &str) -> String {
    let mut parts = text.split('&');
    let mut meant = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(';').unwrap_or(("", part));
        if let Some(letter) = letter(name) {
            meant.push(letter);
            meant.push_str(rest);
        } else {
            meant.push('&');
            meant.push_str(part);
        }
    }
    meant
}

/// The letter that an entity of HTML stands for.
fn letter(name: &str) -> Option<char> {
    let code = match name {
        "amp" => return Some('&'),
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        name => name.strip_prefix('#')?,
    };
    let code = match code.strip_prefix(['x', 'X']) {
        Some(code) => u32::from_str_radix(code, 16).ok()?,
        None => code.parse().ok()?,
    };
    char::from_u32(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_in_another_way_is_what_it_means() {
        for (text, spelling, means) in [
            (
                "a&#x2F;b&#43;c&amp;d&quot;",
                Spelling::Html,
                Some("a/b+c&d\""),
            ),
            ("a&b;c&#xD800;&", Spelling::Html, None),
            ("a%2Fb%3D+c", Spelling::Percent, Some("a/b=+c")),
            ("100%", Spelling::Percent, None),
            ("%ff", Spelling::Percent, None),
            ("a\\/b\\u002F", Spelling::Json, Some("a/b/")),
            ("a\\x", Spelling::Json, None),
            ("a\"b\\/", Spelling::Json, None),
            ("plain", Spelling::Html, None),
        ] {
            assert_eq!(meant(text, spelling).as_deref(), means, "{text}");
        }
    }
}
