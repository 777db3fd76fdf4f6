//! Names of rows that differ only in ids, as one name.

/// Stands for an id in a name.
const ID: &str = "{..}";
/// The digits of a hexadecimal number from which it is an id, where one of them is no letter: shorter ones may be words.
const LONG_HEX: usize = 8;

/// Returns the name with `{..}` instead of each id: a number, a UUID or a long hexadecimal number. `None` if it has none.
pub fn fold_ids(name: &str) -> Option<String> {
    let mut folded = String::new();
    let mut rest = name;
    let mut is_within_word = false;
    while let Some(letter) = rest.chars().next() {
        let id = id_length(rest, is_within_word);
        if id == 0 {
            folded.push(letter);
            is_within_word = letter.is_ascii_alphanumeric();
            rest = &rest[letter.len_utf8()..];
        } else {
            folded.push_str(ID);
            is_within_word = true;
            rest = &rest[id..];
        }
    }
    folded.contains(ID).then_some(folded)
}

/// The length of the id at the start of a text; 0 without one.
fn id_length(text: &str, is_within_word: bool) -> usize {
    let count = |is: fn(&u8) -> bool| text.bytes().take_while(is).count();
    if !is_within_word {
        let word = count(u8::is_ascii_alphanumeric);
        let has_digit = text.bytes().take(word).any(|byte| byte.is_ascii_digit());
        let is_hex = count(u8::is_ascii_hexdigit) == word;
        if is_uuid(text) {
            return UUID;
        }
        if is_hex && has_digit && word >= LONG_HEX {
            return word;
        }
    }
    count(u8::is_ascii_digit)
}

/// The length of a UUID.
const UUID: usize = 36;

/// Returns true if a text begins with a UUID.
fn is_uuid(text: &str) -> bool {
    let mut bytes = text.bytes();
    let is_one = (0..UUID).all(|at| match (at, bytes.next()) {
        (8 | 13 | 18 | 23, byte) => byte == Some(b'-'),
        (_, byte) => byte.is_some_and(|byte| byte.is_ascii_hexdigit()),
    });
    is_one
        && !bytes
            .next()
            .is_some_and(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_uuids_and_long_hexadecimal_numbers_are_ids() {
        for (name, folded) in [
            ("/users/17", "/users/{..}"),
            ("/users/17/orders/203", "/users/{..}/orders/{..}"),
            ("user_17 of 9", "user_{..} of {..}"),
            ("user17", "user{..}"),
            ("größe 5", "größe {..}"),
            (
                "/carts/6f1c0a52-1de2-4c0b-9a3e-aaaaaaaaaaaa/lines",
                "/carts/{..}/lines",
            ),
            ("/blobs/deadbeef01", "/blobs/{..}"),
            ("/a/{..}", "/a/{..}"),
        ] {
            assert_eq!(fold_ids(name).as_deref(), Some(folded), "{name}");
        }
        for name in ["", "receipt", "GET /orders/{}", "/deadbeef/facade", "é"] {
            assert_eq!(fold_ids(name), None, "{name}");
        }
        // One digit too few, and one too many.
        assert_eq!(fold_ids("deadbe1").as_deref(), Some("deadbe{..}"));
        assert_eq!(
            fold_ids("6f1c0a52-1de2-4c0b-9a3e-aaaaaaaaaaaab").as_deref(),
            Some("{..}-{..}de{..}-{..}c{..}b-{..}a{..}e-aaaaaaaaaaaab")
        );
    }
}
