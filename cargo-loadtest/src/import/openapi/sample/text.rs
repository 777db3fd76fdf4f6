//! Texts of a format, a pattern, a length.

use super::pattern;
use super::shape::Shape;
use crate::import::document::Node;
use crate::import::openapi::places::{Document, shortened};

/// The longest text that is made, whatever is asked for.
const LONGEST: usize = 4_096;

/// A text that fits.
pub(super) fn text(document: &Document<'_>, shape: &Shape<'_>, name: &str) -> String {
    let format = shape.text_of("format").unwrap_or_default();
    if let Some(known) = of_format(format) {
        return known.to_owned();
    }
    if shape.text_of("contentEncoding") == Some("base64") {
        return "bG9hZHRlc3Q=".to_owned();
    }
    let length = |key: &str| {
        let length = shape.get(key).and_then(Node::number)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is within these bounds"
        )]
        Some(length.clamp(0.0, LONGEST as f64) as usize)
    };
    let (least, most) = (length("minLength").unwrap_or(0), length("maxLength"));
    if let Some(node) = shape.get("pattern")
        && let Some(expression) = node.text()
    {
        if let Some(text) = pattern::matching(expression, least, most.unwrap_or(LONGEST)) {
            return text;
        }
        let words = format!(
            "no text is known that matches `{}`: an example would help",
            shortened(expression)
        );
        document.note(&node.span, words);
    }
    let mut text = of_name(name).to_owned();
    while text.len() < least {
        text.push_str("example");
        let is_enough = text.len() >= least;
        text.truncate(if is_enough { least } else { text.len() });
    }
    if let Some(most) = most {
        text.truncate(most);
    }
    text
}

fn of_format(format: &str) -> Option<&'static str> {
    let text = match format {
        "uuid" | "guid" => "9b2f6c1e-4d3a-4f5b-8c7d-0e1f2a3b4c5d",
        "date" | "full-date" => "2026-01-31",
        "date-time" | "datetime" => "2026-01-31T12:00:00Z",
        "time" => "12:00:00Z",
        "duration" => "PT1H",
        "email" | "idn-email" => "ada@example.com",
        "hostname" | "idn-hostname" => "example.com",
        "uri" | "url" | "iri" => "https://example.com/",
        "uri-reference" | "iri-reference" | "json-pointer" => "/example",
        "ipv4" | "ip" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "byte" => "bG9hZHRlc3Q=",
        "binary" => "loadtest",
        "int32" | "int64" | "integer" => "1",
        "decimal" | "double" | "float" => "1.5",
        "phone" => "+15550100",
        _ => return None,
    };
    Some(text)
}

/// What a text of this name might be.
fn of_name(name: &str) -> &'static str {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    match plain.as_str() {
        "email" | "emailaddress" | "mail" => "ada@example.com",
        "url" | "uri" | "href" | "website" | "homepage" => "https://example.com/",
        "firstname" | "givenname" => "Ada",
        "lastname" | "surname" | "familyname" => "Lovelace",
        "username" | "login" | "user" => "ada",
        "phone" | "phonenumber" | "telephone" => "+15550100",
        "currency" => "EUR",
        "country" | "countrycode" => "DE",
        "language" | "locale" | "lang" => "en",
        _ => "example",
    }
}
