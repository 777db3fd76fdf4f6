//! What `echo` and `printf` print, as far as that is known without running them.

use crate::import::shell::Word;

/// `$(printf '..')`, whose output needs no shell to be known, and how long it is: how control characters are
/// written that a terminal is not to see.
pub(super) fn constant(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    const BEGIN: &[u8] = b"$(printf '";
    let inside = text.strip_prefix(BEGIN)?;
    let end = inside.iter().position(|byte| *byte == b'\'')?;
    (inside.get(end + 1) == Some(&b')')).then_some(())?;
    let mut text = formatted(&inside[..end])?;
    while text.ends_with(b"\n") {
        text.pop();
    }
    Some((text, BEGIN.len() + end + 2))
}

/// What `echo ..` and `printf FORMAT` print; nothing where only running them would tell.
pub(super) fn printed(words: &[Word]) -> Option<Vec<u8>> {
    let texts: Vec<&[u8]> = words.iter().map(|word| &word.text[..]).collect();
    match texts.as_slice() {
        [b"printf", b"%s", value] => Some(value.to_vec()),
        [b"printf", b"%s\\n", value] => Some([value, &b"\n"[..]].concat()),
        [b"printf", format] => formatted(format),
        [b"echo", b"-n", rest @ ..] => Some(rest.join(&b' ')),
        [b"echo", first, ..] if first.starts_with(b"-") => None,
        [b"echo", rest @ ..] => Some([&rest.join(&b' ')[..], b"\n"].concat()),
        _ => None,
    }
}

/// The output of a format without values.
fn formatted(format: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut at = 0;
    while let Some(&byte) = format.get(at) {
        at += 1;
        match (byte, format.get(at)) {
            (b'%', Some(b'%')) => text.push(b'%'),
            (b'\\', Some(digit @ b'0'..=b'7')) => {
                let mut number = u32::from(digit - b'0');
                let mut count = 1;
                while count < 3
                    && let Some(digit @ b'0'..=b'7') = format.get(at + 1)
                {
                    number = number * 8 + u32::from(digit - b'0');
                    count += 1;
                    at += 1;
                }
                text.push((number & 0xff) as u8);
            }
            (b'\\', Some(letter)) => text.push(match letter {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'\\' => b'\\',
                _ => return None,
            }),
            (b'%', _) | (b'\\', None) => return None,
            (byte, _) => {
                text.push(byte);
                continue;
            }
        }
        at += 1;
    }
    Some(text)
}
