//! Options whose value is a password or holds one: excerpts of a command show them without it.

use super::options;

/// Parts of names that curl does not know, but whose value is a password.
const SECRET_PARTS: [&str; 7] = ["pass", "pw", "user", "token", "secret", "auth", "key"];
/// Letters around an option, or between it and its value.
const AROUND: [char; 7] = ['\'', '"', '\\', '^', '`', '$', '('];

/// Returns true where a text has an option with a secret value.
pub(in crate::import) fn has_credentials(text: &str) -> bool {
    find_option(text).is_some()
}

/// Returns a text without the values of such options; `before` is the text before it.
pub(in crate::import) fn remove_credentials(text: &str, before: &str) -> String {
    let before = before.trim_end_matches(|letter: char| {
        letter.is_whitespace() || AROUND.contains(&letter) || letter == '='
    });
    let last = before.rsplit(char::is_whitespace).next().unwrap_or("");
    let is_value = find_option(last).is_some_and(|end| end == last.len());
    if is_value && text.chars().any(char::is_alphanumeric) && !text.starts_with(['$', '%']) {
        return "[REDACTED]".to_owned();
    }
    match find_option(text) {
        Some(end) if text[end..].chars().any(char::is_alphanumeric) => {
            let has_sign = text[end..].starts_with('=');
            let gap = if has_sign { '=' } else { ' ' };
            format!("{}{gap}[REDACTED]", &text[..end])
        }
        _ => text.to_owned(),
    }
}

/// Returns the end of the name of the first such option.
fn find_option(text: &str) -> Option<usize> {
    let mut at = 0;
    for word in text.split(char::is_whitespace) {
        let start = at;
        at += word.len() + 1;
        let bare = word.trim_start_matches(AROUND);
        let start = start + word.len() - bare.len();
        let dashes = bare.len() - bare.trim_start_matches('-').len();
        let length = match dashes {
            0 => None,
            1 => letters_length(&bare[1..]),
            _ => name_length(&bare[2..]),
        };
        if let Some(length) = length {
            return Some(start + dashes.min(2) + length);
        }
    }
    None
}

/// Returns the length of a name, if it is that of such an option.
fn name_length(long: &str) -> Option<usize> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let length = long.find(|letter| !is_name(letter)).unwrap_or(long.len());
    let name = &long[..length];
    let lower = name.to_ascii_lowercase();
    let is_secret = match options::find_name(name) {
        Some((known, _)) => known.is_secret,
        None => SECRET_PARTS.iter().any(|part| lower.contains(part)),
    };
    is_secret.then_some(length)
}

/// Returns the length of the letters up to that of such an option; its value may follow in the same word.
fn letters_length(letters: &str) -> Option<usize> {
    for (at, letter) in letters.char_indices() {
        let known = options::find_letter(letter)?;
        if known.takes_value {
            return known.is_secret.then_some(at + letter.len_utf8());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::super::source::Input;

    #[test]
    fn no_excerpt_shows_the_value_of_such_an_option() {
        for line in [
            "curl --cert me.pem:hunter2 -K x http://h/",
            "curl -E me.pem:hunter2 -K x http://h/",
            "curl --key=k:hunter2 -K x http://h/",
            "curl -u ada:hunter2 -K x http://h/",
            "curl -uada:hunter2 -K x http://h/",
            "curl -sSuhunter2: -K x http://h/",
            "curl \\\n  -u \\\n  'ada:hunter2' -K x",
            "curl --user=ada:hunter2 -K x",
            "curl --pass hunter2 -K x",
            "curl --proxy-pass 'hunter2' -K x",
            "curl --tlspass hunter2 -K x",
            "curl --proxy-u ada:hunter2 -K x",
            "curl -Uada:hunter2 -K x",
            "curl ^\"-u^\" ^\"ada:hunter2^\" -K x",
            "curl --password hunter2 -K x",
            "curl -K x http://h/ -u ada:hunter2",
        ] {
            let input = Input::new("copied", line);
            let at = line.find("-K").unwrap();
            let mut spans = vec![at..at + 2, 0..4, 0..line.len()];
            // Every option with its value, and every word alone.
            let words: Vec<_> = line
                .split_whitespace()
                .map(|word| word.as_ptr() as usize - line.as_ptr() as usize)
                .map(|at| {
                    at..at
                        + line[at..]
                            .find(char::is_whitespace)
                            .unwrap_or(line.len() - at)
                })
                .collect();
            spans.extend(words.iter().cloned());
            spans.extend(words.windows(2).map(|pair| pair[0].start..pair[1].end));
            for span in spans {
                let shown = input.excerpt(&span);
                assert!(!shown.contains("hunter2"), "{line}\n{shown}");
            }
            assert!(input.excerpt(&(at..at + 2)).contains("-K"), "{line}");
        }
        let line = "curl -u 'a\nhunter2' -K x";
        let shown = Input::new("copied", line).excerpt(&(20..22));
        assert!(
            !shown.contains("hunter2") && shown.contains("… -K …"),
            "{shown}"
        );
        let line = "curl -s -A user -X POST --user-agent x -K x http://h/";
        assert!(Input::new("copied", line).excerpt(&(0..4)).contains(line));
        let line = "curl --cert me.pem:hunter2 http://h/";
        let shown = Input::new("copied", line).excerpt(&(5..26));
        assert!(shown.contains("| … --cert [REDACTED] …\n"), "{shown}");
    }
}
