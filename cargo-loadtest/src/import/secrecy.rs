//! What of a recording is secret: by its name, or by what it looks like. More is than in a report: the source of a
//! scenario is kept in a repository, and a name in the environment costs little.

use loadtest::redact;

/// Words that make a name a secret's where it ends with them.
const WORDS: [&str; 28] = [
    "assertion",
    "auth",
    "bearer",
    "contrasena",
    "contraseña",
    "credential",
    "credentials",
    "csrf",
    "cvc",
    "cvv",
    "jwt",
    "kennwort",
    "otp",
    "pass",
    "passcode",
    "passphrase",
    "passwort",
    "phpsessid",
    "pin",
    "pw",
    "pwd",
    "session",
    "sig",
    "signature",
    "ssn",
    "totp",
    "xsrf",
    "jsessionid",
];
/// The same of names whose words go together, without what is between them.
const JOINED: [&str; 13] = [
    "accesskey",
    "accountkey",
    "cardnumber",
    "connectionstring",
    "mfacode",
    "motdepasse",
    "privatekey",
    "recoverycode",
    "samlresponse",
    "secretkey",
    "sessionid",
    "subscriptionkey",
    "verificationcode",
];
/// Words in a path before what is mailed to one person alone.
const LEADING: [&str; 7] = [
    "activat",
    "confirm",
    "invit",
    "magic",
    "reset",
    "unsubscribe",
    "verif",
];
/// How the keys of well-known services begin.
const BEGINNINGS: [&str; 14] = [
    "AKIA",
    "AIza",
    "SG.",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "pk_live_",
    "rk_live_",
    "sk_live_",
    "sk_test_",
    "xoxb-",
    "xoxp-",
];
/// A key of such a service is as long, at least.
const SHORTEST_KEY: usize = 16;
/// A token of three parts is as long, at least.
const SHORTEST_TOKEN: usize = 30;

/// Whether what has this name is secret.
pub(super) fn is_secret(name: &str) -> bool {
    if redact::is_secret(name) {
        return true;
    }
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        let begins = letter.is_uppercase() && was_lower;
        if begins || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    let joined = words.concat();
    // Identifiers of things are called so, too, but by more than this.
    if ["sid", "connectsid"].contains(&joined.as_str()) {
        return true;
    }
    words
        .last()
        .is_some_and(|word| WORDS.contains(&word.as_str()))
        || JOINED.iter().any(|secret| joined.contains(secret))
}

/// Whether a value is secret, whatever it is called.
pub(super) fn looks_secret(value: &str) -> bool {
    let value = value.trim();
    let is_key = value.len() >= SHORTEST_KEY
        && value.bytes().all(|byte| byte.is_ascii_graphic())
        && BEGINNINGS.iter().any(|begin| value.starts_with(begin));
    // A JSON Web Token: an object in Base64, and two parts more.
    let is_token = value.len() >= SHORTEST_TOKEN
        && value.starts_with("eyJ")
        && value.matches('.').count() >= 2
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.=".contains(&byte));
    is_key || is_token
}

/// Whether what follows this segment of a path, if it looks random, lets in whoever knows it: `/reset/..`.
pub(super) fn leads_to_secret(segment: &str) -> bool {
    let plain = segment.to_lowercase();
    is_secret(segment) || LEADING.iter().any(|word| plain.contains(word))
}

/// Whether a text has something secret in it.
pub(super) fn has_secret(text: &str) -> bool {
    redact::text(text) != text || looks_secret(text) || has_element(text)
}

/// Whether it has an element of XML that is called like a secret, and is not empty.
fn has_element(text: &str) -> bool {
    text.split('<').skip(1).any(|rest| {
        let Some((tag, content)) = rest.split_once('>') else {
            return false;
        };
        let name = tag.split([' ', '\t', '\r', '\n', '/']).next();
        let name = name.unwrap_or_default();
        let local = name.rsplit(':').next().unwrap_or_default();
        !content.trim().is_empty() && !local.is_empty() && is_secret(local)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_secrets() {
        for name in [
            "pass",
            "login_pw",
            "userPwd",
            "PIN",
            "sid",
            "connect.sid",
            "cardNumber",
            "x-session",
            "SAMLResponse",
            "X-Amz-Signature",
            "ocp-apim-subscription-key",
            "access_token",
            "contraseña",
            "verification_code",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "passenger",
            "compass",
            "pinned",
            "author",
            "key",
            "code",
            "sort_key",
            "design",
            "side",
            "spin",
            "signal",
            "AddressSid",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn values_tell_secrets() {
        assert!(looks_secret("sk_live_4eC39HqLyjWDarjtT1zdp7dc"));
        assert!(looks_secret(
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
        ));
        assert!(!looks_secret("sk_live_"));
        assert!(!looks_secret("eyJ and so on, a text. And. More of it."));
        assert!(has_secret(
            "<e><wsse:Password Type=\"x\">abc</wsse:Password></e>"
        ));
        assert!(!has_secret("<e><password/><b>abc</b></e>"));
        assert!(!has_secret("a < b and c > d"));
    }
}
