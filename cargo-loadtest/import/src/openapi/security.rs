//! Reads security schemes as secrets of the requests.

use super::document::ApiDocument;
use crate::document::Node;
use crate::recording::{Credentials, Text};
use crate::text::is_token;

/// Credentials of one operation.
#[derive(Debug, Clone, Default)]
pub(super) struct Access {
    pub(super) bearer: Option<Text>,
    pub(super) credentials: Option<Credentials>,
    pub(super) headers: Vec<(String, Text)>,
    pub(super) query: Vec<(String, Text)>,
    pub(super) cookies: Vec<(String, Text)>,
}

/// Reads the first usable alternative of the `security` of an operation.
pub(super) fn read_access<'a>(document: &ApiDocument<'a>, operation: &'a Node<'a>) -> Access {
    let own = operation.get("security").map(|_| operation);
    let alternatives = document.items(own.unwrap_or(document.root), "security");
    let mut usable = alternatives
        .iter()
        .filter_map(|one| read_alternative(document, one));
    usable.next().unwrap_or_else(|| {
        if let Some(first) = alternatives.first() {
            let words = "no credentials are known here: none are sent";
            document.warn(&first.span, words);
        }
        Access::default()
    })
}

/// Reads all schemes of an alternative.
fn read_alternative<'a>(document: &ApiDocument<'a>, alternative: &'a Node<'a>) -> Option<Access> {
    let mut access = Access::default();
    for field in alternative.fields() {
        let Some(scheme) = find_schemes(document).and_then(|schemes| schemes.get(&field.name))
        else {
            let words = format!("there is no security scheme `{}`", field.name);
            document.warn(&field.span, words);
            return None;
        };
        let scheme = document.follow(scheme)?;
        add_scheme(document, &field.name, scheme, &mut access)?;
    }
    Some(access)
}

fn find_schemes<'a>(document: &ApiDocument<'a>) -> Option<&'a Node<'a>> {
    let root = document.root;
    let schemes = root.at(&["components", "securitySchemes"]);
    schemes.or_else(|| root.get("securityDefinitions"))
}

/// Returns the names of headers, parameters and cookies that hold keys, in lower case.
pub(super) fn list_key_names(document: &ApiDocument<'_>) -> Vec<String> {
    let fields = find_schemes(document).map_or(&[][..], Node::fields);
    let schemes = fields
        .iter()
        .filter_map(|field| document.follow(&field.node));
    let keys = schemes.filter(|scheme| scheme.text_of("type") == Some("apiKey"));
    keys.filter_map(|scheme| Some(scheme.text_of("name")?.to_lowercase()))
        .collect()
}

fn add_scheme<'a>(
    document: &ApiDocument<'a>,
    name: &str,
    scheme: &'a Node<'a>,
    access: &mut Access,
) -> Option<()> {
    if is_bearer(scheme) {
        access.bearer = Some(add_token(document, name));
    } else if is_basic(scheme) {
        access.credentials = Some(add_basic(document, name));
    } else if scheme.text_of("type") == Some("apiKey") {
        add_key(document, name, scheme, access)?;
    } else {
        let words = format!("the security scheme `{name}` cannot be applied");
        document.warn(&scheme.span, words);
        return None;
    }
    Some(())
}

fn add_token(document: &ApiDocument<'_>, name: &str) -> Text {
    let what = format!("the bearer token of the service (`{name}`)");
    let prefix = if is_only(document, is_bearer) {
        "API"
    } else {
        name
    };
    document.add_secret(&format!("{prefix}_TOKEN"), &what)
}

fn add_basic(document: &ApiDocument<'_>, name: &str) -> Credentials {
    let prefix = if is_only(document, is_basic) {
        "API"
    } else {
        name
    };
    let add = |part: &str| {
        let what = format!("the {part} of the service (`{name}`)");
        document.add_secret(&format!("{prefix}_{part}"), &what)
    };
    Credentials {
        user: add("user"),
        password: add("password"),
    }
}

fn add_key<'a>(
    document: &ApiDocument<'a>,
    name: &str,
    scheme: &'a Node<'a>,
    access: &mut Access,
) -> Option<()> {
    let (Some(sent), Some(place)) = (scheme.text_of("name"), scheme.text_of("in")) else {
        let words = "a key has a `name`, and `in` says where it goes";
        document.warn(&scheme.span, words);
        return None;
    };
    let pairs = match place {
        "header" if is_token(sent) => &mut access.headers,
        "query" => &mut access.query,
        "cookie" if is_token(sent) => &mut access.cookies,
        _ => {
            let words = "a key cannot be here: it is left out";
            document.warn(&scheme.span, words);
            return None;
        }
    };
    let lower = name.to_ascii_lowercase();
    let is_named = ["key", "token", "secret"]
        .iter()
        .any(|end| lower.ends_with(end));
    let variable = if is_named {
        name.to_owned()
    } else {
        format!("{name}_KEY")
    };
    let what = format!("the key of the service (`{name}`)");
    pairs.push((sent.to_owned(), document.add_secret(&variable, &what)));
    Some(())
}

/// Returns whether a scheme is sent as a bearer token, which version 2.0 says only in its description.
fn is_bearer(scheme: &Node<'_>) -> bool {
    let text = |key| scheme.text_of(key).unwrap_or_default();
    match text("type") {
        "oauth2" | "openIdConnect" => true,
        "http" => text("scheme").eq_ignore_ascii_case("bearer"),
        "apiKey" => {
            text("name").eq_ignore_ascii_case("authorization")
                && text("in") == "header"
                && text("description").to_ascii_lowercase().contains("bearer")
        }
        _ => false,
    }
}

fn is_basic(scheme: &Node<'_>) -> bool {
    let text = |key| scheme.text_of(key).unwrap_or_default();
    text("type") == "basic"
        || text("type") == "http" && text("scheme").eq_ignore_ascii_case("basic")
}

/// Returns whether at most one scheme is such.
fn is_only(document: &ApiDocument<'_>, is_such: impl Fn(&Node<'_>) -> bool) -> bool {
    let fields = find_schemes(document).map_or(&[][..], Node::fields);
    fields.iter().filter(|field| is_such(&field.node)).count() <= 1
}
