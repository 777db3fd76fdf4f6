//! Who asks: the security schemes of a document, as secrets in the requests.

use super::places::Document;
use crate::import::document::Node;
use crate::import::marked::Credentials;

/// What an operation has to send to be let in.
#[derive(Debug, Clone, Default)]
pub(super) struct Access {
    /// What stands for a bearer token.
    pub(super) bearer: Option<String>,
    pub(super) credentials: Option<Credentials>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) query: Vec<(String, String)>,
    pub(super) cookies: Vec<(String, String)>,
}

/// What an operation asks for: the first of its alternatives that can be had.
pub(super) fn access<'a>(document: &Document<'a>, operation: &'a Node<'a>) -> Access {
    let asked = operation.get("security");
    let Some(asked) = asked.or_else(|| document.root.get("security")) else {
        return Access::default();
    };
    // A single one is not written as a list by everybody.
    let one = asked.is_object().then_some(std::slice::from_ref(asked));
    let alternatives = one.unwrap_or(asked.items());
    for alternative in alternatives {
        if let Some(access) = of_all(document, alternative) {
            return access;
        }
    }
    if !alternatives.is_empty() {
        let words = "no way to be let in is known here: nothing is sent for it";
        document.note(&asked.span, words);
    }
    Access::default()
}

/// What all schemes of an alternative ask for; none where one of them cannot be had.
fn of_all<'a>(document: &Document<'a>, alternative: &'a Node<'a>) -> Option<Access> {
    let mut access = Access::default();
    for field in alternative.fields() {
        let scheme = schemes(document).and_then(|schemes| schemes.get(&field.name));
        let Some(scheme) = scheme else {
            let words = format!("there is no security scheme `{}`", field.name);
            document.note(&field.span, words);
            return None;
        };
        let scheme = document.follow(scheme)?;
        add(document, &field.name, scheme, &mut access)?;
    }
    Some(access)
}

fn schemes<'a>(document: &Document<'a>) -> Option<&'a Node<'a>> {
    let root = document.root;
    root.at(&["components", "securitySchemes"])
        .or_else(|| root.get("securityDefinitions"))
}

/// The names of what holds the keys of a service.
pub(super) fn keys(document: &Document<'_>) -> Vec<String> {
    let fields = schemes(document).map_or(&[][..], Node::fields);
    let keys = fields.iter().filter_map(|field| {
        let scheme = document.follow(&field.node)?;
        let is_key = scheme.text_of("type") == Some("apiKey");
        scheme.text_of("name").filter(|_| is_key)
    });
    keys.map(str::to_lowercase).collect()
}

fn add<'a>(
    document: &Document<'a>,
    name: &str,
    scheme: &'a Node<'a>,
    access: &mut Access,
) -> Option<()> {
    let kind = scheme.text_of("type").unwrap_or_default();
    let http = scheme.text_of("scheme").unwrap_or_default();
    let http = http.to_ascii_lowercase();
    match (kind, http.as_str()) {
        ("http", "bearer") | ("oauth2" | "openIdConnect", _) => {
            access.bearer = Some(token(document, name));
        }
        ("http", "basic") | ("basic", _) => access.credentials = Some(basic(document, name)),
        ("apiKey", _) => key(document, name, scheme, access)?,
        _ => {
            let words = format!("the security scheme `{name}` is none that can be honoured");
            document.note(&scheme.span, words);
            return None;
        }
    }
    Some(())
}

/// The secret of a token, whose name tells it from those of others.
fn token(document: &Document<'_>, name: &str) -> String {
    let what = format!("the bearer token of the service (`{name}`)");
    if is_only(document, is_bearer) {
        return document.secret("API_TOKEN", &what);
    }
    document.secret(&format!("{name}_TOKEN"), &what)
}

fn basic(document: &Document<'_>, name: &str) -> Credentials {
    let is_basic = |scheme: &Node<'_>| {
        scheme.text_of("type") == Some("basic") || scheme.text_of("scheme") == Some("basic")
    };
    let prefix = if is_only(document, is_basic) {
        "API"
    } else {
        name
    };
    let secret = |what: &str| {
        let named = format!("the {what} of the service (`{name}`)");
        document.secret(&format!("{prefix}_{what}"), &named)
    };
    Credentials {
        user: secret("user").into_bytes(),
        password: secret("password").into_bytes(),
    }
}

fn key<'a>(
    document: &Document<'a>,
    name: &str,
    scheme: &'a Node<'a>,
    access: &mut Access,
) -> Option<()> {
    if is_bearer(scheme) {
        access.bearer = Some(token(document, name));
        return Some(());
    }
    let (Some(sent), Some(place)) = (scheme.text_of("name"), scheme.text_of("in")) else {
        let words = "a key has a `name`, and `in` says where it goes";
        document.note(&scheme.span, words);
        return None;
    };
    let is_said = ["key", "token", "secret"]
        .iter()
        .any(|end| name.to_ascii_lowercase().ends_with(end));
    let variable = if is_said {
        name.to_owned()
    } else {
        format!("{name}_KEY")
    };
    let marker = document.secret(&variable, &format!("the key of the service (`{name}`)"));
    let pair = (sent.to_owned(), marker);
    match place {
        "header" if is_token(sent) => access.headers.push(pair),
        "query" => access.query.push(pair),
        "cookie" if is_token(sent) => access.cookies.push(pair),
        _ => {
            let words = "this is no place for a key: it is left out";
            document.note(&scheme.span, words);
            return None;
        }
    }
    Some(())
}

/// Whether it is sent as a bearer token, which version 2 can only tell in words.
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

/// Whether just one scheme is such.
fn is_only(document: &Document<'_>, is_such: impl Fn(&Node<'_>) -> bool) -> bool {
    let fields = schemes(document).map_or(&[][..], Node::fields);
    fields.iter().filter(|field| is_such(&field.node)).count() <= 1
}

/// Whether it can be the name of a header (RFC 9110, section 5.6.2).
pub(super) fn is_token(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_letter)
}
