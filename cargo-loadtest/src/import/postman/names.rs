//! Names for variables that are given at run time.

use loadtest::redact;

/// What a name ends with that says where or how long, and is no secret.
const HARMLESS: [&str; 9] = [
    "url", "uri", "host", "endpoint", "expiry", "expires", "name", "type", "path",
];
/// Names that hold a secret, besides those that are known everywhere.
const SECRET: [&str; 8] = [
    "jwt",
    "pwd",
    "pass",
    "bearer",
    "accesskey",
    "privatekey",
    "clientkey",
    "auth",
];
/// Variables that are there in every environment, and mean something else.
const TAKEN: [&str; 22] = [
    "CI", "COLUMNS", "EDITOR", "HOME", "HOST", "HOSTNAME", "LANG", "LINES", "LOGNAME", "MAIL",
    "NAME", "OS", "PATH", "PWD", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER",
    "USERNAME",
];

/// Whether the value of a variable is not for the source.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    let is_harmless = value.starts_with("http://")
        || value.starts_with("https://")
        || HARMLESS.iter().any(|end| plain.ends_with(end));
    if is_harmless {
        return redact::text(value) != value;
    }
    SECRET.contains(&plain.as_str()) || redact::is_secret(name)
}

/// `apiKey` as variables of the environment are called: `API_KEY`.
pub(super) fn upper(name: &str) -> String {
    let mut upper = String::new();
    let mut was_lower = false;
    for letter in name.chars().take(60) {
        if letter.is_ascii_alphanumeric() {
            if letter.is_ascii_uppercase() && was_lower {
                upper.push('_');
            }
            was_lower = !letter.is_ascii_uppercase();
            upper.push(letter.to_ascii_uppercase());
        } else {
            if !upper.is_empty() && !upper.ends_with('_') {
                upper.push('_');
            }
            was_lower = false;
        }
    }
    let upper = upper.trim_end_matches('_');
    let is_ours =
        upper.starts_with("CARGO") || upper.starts_with("LOADTEST") || upper.starts_with("RUST");
    match upper.bytes().next() {
        None => "VARIABLE".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("VARIABLE_{upper}"),
        _ if is_ours || TAKEN.contains(&upper) => format!("API_{upper}"),
        _ => upper.to_owned(),
    }
}

/// A name, with a number where it is used already.
pub(super) fn unique(wanted: &str, between: &str, is_used: impl Fn(&str) -> bool) -> String {
    let mut name = wanted.to_owned();
    let mut number = 1;
    while is_used(&name) {
        number += 1;
        name = format!("{wanted}{between}{number}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_named_as_in_an_environment() {
        for (name, named) in [
            ("apiKey", "API_KEY"),
            ("api-key 2", "API_KEY_2"),
            ("accessTokenURL", "ACCESS_TOKEN_URL"),
            ("user", "API_USER"),
            ("path", "API_PATH"),
            ("2fa", "VARIABLE_2FA"),
            ("é", "VARIABLE"),
            ("cargo_home", "API_CARGO_HOME"),
        ] {
            assert_eq!(upper(name), named);
        }
    }

    #[test]
    fn secrets_are_known_by_name() {
        for (name, value, is) in [
            ("apiKey", "abc", true),
            ("access_token", "abc", true),
            ("jwt", "abc", true),
            ("tokenUrl", "/oauth/token", false),
            ("token", "https://auth.example/", false),
            ("baseUrl", "https://ada:canary@h/", true),
            ("userId", "17", false),
        ] {
            assert_eq!(is_secret(name, value), is, "{name}");
        }
    }
}
