//! Names of variables.

use crate::import::secrets::{self, find_secrets as found, has_secret};

/// Ends of names that are not secret.
const HARMLESS: [&str; 9] = [
    "url", "uri", "host", "endpoint", "expiry", "expires", "name", "type", "path",
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
        return has_secret(value) || !found(value).is_empty();
    }
    secrets::is_secret(name) || secrets::is_secret_value(name, value)
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
            assert_eq!(secrets::variable(name, "VARIABLE"), named);
        }
    }

    #[test]
    fn secrets_are_known_by_name() {
        for (name, value, is) in [
            ("apiKey", "abc", true),
            ("access_token", "abc", true),
            ("jwt", "abc", true),
            ("pw", "", true),
            ("clientKey", "abc", true),
            ("key", "7Qx2bV9mTz4K", true),
            ("key", "name", false),
            ("tokenUrl", "/oauth/token", false),
            ("token", "https://auth.example/", false),
            ("baseUrl", "https://ada:canary@h/", true),
            ("userId", "17", false),
        ] {
            assert_eq!(is_secret(name, value), is, "{name}");
        }
    }
}
