//! How else a value may be written: escapes are read away, as often as they were put on.
//!
//! All escapes are read at once - percent, JSON and Rust, HTML -, in the text as well as in the value that
//! is looked for. So what has several of them on top of each other is found too.

/// The most layers of escapes that are undone.
pub(super) const MAX_LAYERS: usize = 4;

/// Bytes, and where each of them came from in the text.
pub(super) struct UnescapedText {
    pub(super) bytes: Vec<u8>,
    /// For each byte where it begins in the text; and where the text ends.
    pub(super) from: Vec<usize>,
}

/// `bytes` without a layer of escapes; `from` says where they came from, if not from themselves. `None` if
/// there is none.
pub(super) fn unescape_layer(bytes: &[u8], from: Option<&[usize]>) -> Option<UnescapedText> {
    let first = bytes.iter().position(|byte| b"%\\&".contains(byte))?;
    let place = |at: usize| from.map_or(at, |from| from[at]);
    let mut reading = UnescapedText {
        bytes: Vec::with_capacity(bytes.len()),
        from: Vec::with_capacity(bytes.len() + 1),
    };
    let mut changed = false;
    let mut at = 0;
    while at < bytes.len() {
        let escape = (at >= first).then(|| parse_escape(&bytes[at..])).flatten();
        let Some((length, character)) = escape else {
            reading.bytes.push(bytes[at]);
            reading.from.push(place(at));
            at += 1;
            continue;
        };
        changed = true;
        let mut buffer = [0; 4];
        let written: &[u8] = match character {
            EscapedText::Byte(byte) => {
                buffer[0] = byte;
                &buffer[..1]
            }
            EscapedText::Character(character) => character.encode_utf8(&mut buffer).as_bytes(),
        };
        reading.bytes.extend_from_slice(written);
        reading.from.extend(written.iter().map(|_| place(at)));
        at += length;
    }
    reading.from.push(place(bytes.len()));
    changed.then_some(reading)
}

enum EscapedText {
    Byte(u8),
    Character(char),
}

/// Parses the escape at the start of `rest`: its length and its value.
fn parse_escape(rest: &[u8]) -> Option<(usize, EscapedText)> {
    match *rest.first()? {
        b'%' => Some((3, EscapedText::Byte(parse_hex(rest.get(1..3)?)? as u8))),
        b'\\' => parse_backslash(rest),
        b'&' => parse_entity(rest),
        _ => None,
    }
}

fn parse_backslash(rest: &[u8]) -> Option<(usize, EscapedText)> {
    let byte = match *rest.get(1)? {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'f' => 12,
        b'0' => 0,
        b'x' => {
            let byte = parse_hex(rest.get(2..4)?)? as u8;
            return Some((4, EscapedText::Byte(byte)));
        }
        b'u' => return parse_unicode(rest),
        byte if byte.is_ascii_punctuation() => byte,
        _ => return None,
    };
    Some((2, EscapedText::Byte(byte)))
}

/// `\u00fc`, two of them for what lies further up, and `\u{fc}`.
fn parse_unicode(rest: &[u8]) -> Option<(usize, EscapedText)> {
    if rest.get(2) == Some(&b'{') {
        let digits = rest[3..].iter().take(7).position(|byte| *byte == b'}')?;
        let number = parse_hex(&rest[3..3 + digits])?;
        return Some((4 + digits, EscapedText::Character(char::from_u32(number)?)));
    }
    let high = parse_hex(rest.get(2..6)?)?;
    if let Some(character) = char::from_u32(high) {
        return Some((6, EscapedText::Character(character)));
    }
    if rest.get(6..8)? != b"\\u" {
        return None;
    }
    let low = parse_hex(rest.get(8..12)?)?;
    let number = 0x1_0000 + ((high & 0x3ff) << 10) + (low & 0x3ff);
    Some((12, EscapedText::Character(char::from_u32(number)?)))
}

fn parse_entity(rest: &[u8]) -> Option<(usize, EscapedText)> {
    let length = rest.iter().take(10).position(|byte| *byte == b';')?;
    let name = std::str::from_utf8(&rest[1..length]).ok()?;
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(digits) => parse_hex(digits.as_bytes())?,
                None => number.parse().ok()?,
            };
            char::from_u32(number)?
        }
    };
    Some((length + 1, EscapedText::Character(character)))
}

fn parse_hex(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 7 {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        Some(number * 16 + char::from(*digit).to_digit(16)?)
    })
}

/// Maps equivalent bytes to one: a form writes blanks as `+`, and the two alphabets of Base64 differ in two
/// characters.
pub(super) fn fold_byte(byte: u8) -> u8 {
    match byte {
        b'+' | b'-' => b' ',
        b'_' => b'/',
        byte => byte,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let reading = unescape_layer(text.as_bytes(), None).expect("escapes");
        assert_eq!(reading.from.len(), reading.bytes.len() + 1);
        String::from_utf8(reading.bytes).unwrap()
    }

    #[test]
    fn escapes_are_read() {
        for (written, meant) in [
            ("a%2fb%2Fc", "a/b/c"),
            ("%C3%BC", "ü"),
            (r#"a\"b\\c\/d\n"#, "a\"b\\c/d\n"),
            (r"\u00fc\u00FC\ud83d\ude00", "üü😀"),
            (r"\u{fc}\xc3\xbc", "üü"),
            ("&lt;&amp;&quot;&#39;&#x27;&#xfc;", "<&\"''ü"),
        ] {
            assert_eq!(read(written), meant);
        }
    }

    #[test]
    fn what_is_no_escape_stays() {
        for text in [
            "",
            "100% &co \\",
            "%zz%4",
            "\\u12",
            "\\ud83d x",
            "&#xd800; &;",
        ] {
            assert!(unescape_layer(text.as_bytes(), None).is_none(), "{text}");
        }
    }

    #[test]
    fn every_byte_knows_where_it_came_from() {
        let reading = unescape_layer(b"a%20b\\\\c", None).unwrap();
        assert_eq!(reading.bytes, b"a b\\c");
        assert_eq!(reading.from, [0, 1, 4, 5, 7, 8]);
    }
}
