//! Options whose value is a password or holds one: what is shown of a command has them without it.

use super::options;

/// Options whose value is shown nowhere.
const SECRET: [&str; 14] = [
    "user",
    "proxy-user",
    "pass",
    "proxy-pass",
    "tlspassword",
    "tlsuser",
    "proxy-tlspassword",
    "proxy-tlsuser",
    "oauth2-bearer",
    "cert",
    "proxy-cert",
    "key",
    "proxy-key",
    "cookie",
];
/// What names of options have that curl does not know, but somebody gave a password to.
const TELLING: [&str; 7] = ["pass", "pw", "user", "token", "secret", "auth", "key"];
/// What may stand around an option or between it and its value.
const AROUND: [char; 7] = ['\'', '"', '\\', '^', '`', '$', '('];

/// Whether a text has an option of a secret value, or the value of one that stands before it.
pub(in crate::import) fn are_in(text: &str) -> bool {
    option(text).is_some()
}

/// A text without the values of such options; `before` is what stands before it.
pub(in crate::import) fn without(text: &str, before: &str) -> String {
    let before = before.trim_end_matches(|letter: char| {
        letter.is_whitespace() || AROUND.contains(&letter) || letter == '='
    });
    let last = before.rsplit(char::is_whitespace).next().unwrap_or("");
    let is_value = option(last).is_some_and(|end| end == last.len());
    if is_value && text.chars().any(char::is_alphanumeric) && !text.starts_with(['$', '%']) {
        return "[REDACTED]".to_owned();
    }
    match option(text) {
        Some(end) if text[end..].chars().any(char::is_alphanumeric) => {
            let gap = if text[end..].starts_with('=') {
                '='
            } else {
                ' '
            };
            format!("{}{gap}[REDACTED]", &text[..end])
        }
        _ => text.to_owned(),
    }
}

/// Where the name of the first such option ends.
fn option(text: &str) -> Option<usize> {
    let mut at = 0;
    for word in text.split(char::is_whitespace) {
        let start = at;
        at += word.len() + 1;
        let bare = word.trim_start_matches(AROUND);
        let start = start + word.len() - bare.len();
        let length = match bare.strip_prefix("--") {
            Some(long) => named(long).map(|length| 2 + length),
            None => bare
                .strip_prefix('-')
                .and_then(lettered)
                .map(|length| 1 + length),
        };
        if let Some(length) = length {
            return Some(start + length);
        }
    }
    None
}

/// The length of a name, if it is that of such an option.
fn named(long: &str) -> Option<usize> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let length = long.find(|letter| !is_name(letter)).unwrap_or(long.len());
    let name = &long[..length];
    let is_secret = if let Some((known, _)) = options::find_name(name) {
        SECRET.contains(&known.name)
    } else {
        let name = name.to_ascii_lowercase();
        TELLING.iter().any(|part| name.contains(part))
    };
    is_secret.then_some(length)
}

/// The length of the letters up to that of such an option; its value may follow in the same word.
fn lettered(letters: &str) -> Option<usize> {
    for (at, letter) in letters.char_indices() {
        let known = options::find_letter(letter)?;
        if known.takes_value {
            return SECRET
                .contains(&known.name)
                .then_some(at + letter.len_utf8());
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
