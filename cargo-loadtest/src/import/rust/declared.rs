//! A request as the options of a step, where they can express it.

use super::json::{Json, Leaf, is_json_type};
use super::literal::quote_text;
use super::scope::{Scope, is_header_name};
use crate::import::recording::{Body, Exchange, Flat, Header, Part, Piece, Text};
use crate::import::secrets::is_usual_form;
use crate::import::text::{URL_ENCODED, encode_url, form_decode};

/// The methods that have an option.
pub(super) const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/// Returns the options of a declarative step, or nothing where it has to be a function.
pub(super) fn declare_request(
    exchange: &Exchange,
    url: &Text,
    scope: &Scope<'_>,
) -> Option<Vec<String>> {
    (METHODS.contains(&exchange.method.as_str()) && is_url(url)).then_some(())?;
    let method = exchange.method.to_ascii_lowercase();
    let mut options = vec![format!("{method} = {}", scope.template(url)?)];
    let mut is_authorized = false;
    if let Some(credentials) = &exchange.credentials {
        is_authorized = true;
        (!credentials.user.shown(|_| String::new()).contains(':')).then_some(())?;
        let user = scope.template(&credentials.user)?;
        let password = scope.template(&credentials.password)?;
        options.push(format!("basic = ({user}, {password})"));
    }
    let body = declare_body(exchange, scope)?;
    for header in exchange.headers.iter().filter(|header| is_sendable(header)) {
        if body.implies(header) || scope.is_shared(header) {
            continue;
        }
        if header.name.eq_ignore_ascii_case("authorization") {
            // A request has one of these at most.
            (!std::mem::replace(&mut is_authorized, true)).then_some(())?;
        }
        options.push(declare_header(header, scope)?);
    }
    options.extend(body.option);
    Some(options)
}

/// Returns true where a header can be sent; the length is computed anew.
pub(super) fn is_sendable(header: &Header) -> bool {
    let is_fit = |byte: u8| byte == b'\t' || byte >= b' ' && byte != 0x7f;
    is_header_name(&header.name)
        && !header.name.eq_ignore_ascii_case("content-length")
        && header.value.pieces().iter().all(|piece| match piece {
            Piece::Literal(text) => text.bytes().all(is_fit),
            Piece::Bytes(bytes) => bytes.iter().copied().all(is_fit),
            _ => true,
        })
}

/// Returns a header as an option.
pub(super) fn declare_header(header: &Header, scope: &Scope<'_>) -> Option<String> {
    let name = header.name.to_ascii_lowercase();
    let is_ascii = |piece: &Piece| !matches!(piece, Piece::Literal(text) if !text.is_ascii());
    header.value.pieces().iter().all(is_ascii).then_some(())?;
    if let Some(token) = bearer_of(&name, &header.value) {
        return Some(format!("bearer = {}", scope.template(&token)?));
    }
    Some(format!(
        "header({}, {})",
        quote_text(&name),
        scope.template(&header.value)?
    ))
}

/// Returns the token after `Bearer ` of an `authorization`.
pub(super) fn bearer_of(name: &str, value: &Text) -> Option<Text> {
    (name == "authorization")
        .then(|| value.strip_prefix("Bearer "))
        .flatten()
}

/// Returns the URL of an exchange: a target, or a whole URL where it has another origin.
pub(super) fn url_of(exchange: &Exchange, base: &str) -> Text {
    let target = exchange.target.map_literals(encode_url);
    let begins_with_value = !target.is_empty() && target.start().is_empty();
    let is_whole = |scheme: &&str| target.start().starts_with(*scheme);
    if begins_with_value || ["http://", "https://"].iter().any(is_whole) {
        return target;
    }
    let mut url = Text::default();
    if exchange.origin != base {
        url.push_str(&encode_url(&exchange.origin));
    }
    if !target.start().starts_with('/') {
        url.push_str("/");
    }
    url.append(target);
    url
}

/// Returns true for a URL that a step may declare.
fn is_url(url: &Text) -> bool {
    let is_fit = |letter: char| letter.is_ascii_graphic() && !"\"#<>\\^`{|}".contains(letter);
    let are_fit = url.pieces().iter().all(|piece| match piece {
        Piece::Literal(text) => text.chars().all(is_fit),
        Piece::Bytes(_) => false,
        _ => true,
    });
    let begins_well = match (url.start(), url.pieces()) {
        (_, []) => false,
        ("", _) => true,
        (start, pieces) => match start.split_once("://") {
            Some((_, host)) => !host.is_empty() && (pieces.len() == 1 || host.contains(['/', '?'])),
            None => start.starts_with('/'),
        },
    };
    are_fit && begins_well
}

/// The option of a body, and the type that it implies.
#[derive(Default)]
struct DeclaredBody {
    option: Option<String>,
    content_type: Option<&'static str>,
}

impl DeclaredBody {
    fn implies(&self, header: &Header) -> bool {
        let value = header.value.as_literal().unwrap_or_default();
        header.name.eq_ignore_ascii_case("content-type")
            && self.content_type.is_some_and(|implied| {
                value == implied || implied == "multipart/form-data" && value.starts_with(implied)
            })
    }
}

/// Returns the body as an option, or nothing where it cannot be one.
fn declare_body(exchange: &Exchange, scope: &Scope<'_>) -> Option<DeclaredBody> {
    let text = match &exchange.body {
        Body::None => return Some(DeclaredBody::default()),
        Body::Multipart(parts) => return declare_parts(parts, scope),
        Body::Text(text) => text,
    };
    let content_type = exchange.content_type()?;
    if is_json_type(content_type)
        && let Some((flat, json)) = Json::parse(text, scope.recording)
    {
        let json = json.render(0, &mut |leaf| declare_leaf(&leaf, &flat, scope))?;
        return Some(DeclaredBody {
            option: Some(format!("json = {json}")),
            content_type: Some("application/json"),
        });
    }
    if content_type == URL_ENCODED
        && let Some((flat, pairs)) = form_pairs(text)
        && let Some(fields) = declare_fields(pairs, &flat, scope)
    {
        return Some(DeclaredBody {
            option: Some(format!("form = {fields}")),
            content_type: Some(URL_ENCODED),
        });
    }
    (!text.is_empty()).then_some(())?;
    Some(DeclaredBody {
        option: Some(format!("body = {}", scope.template(text)?)),
        content_type: None,
    })
}

/// Returns a leaf of JSON in the notation of attributes.
fn declare_leaf(leaf: &Leaf<'_>, flat: &Flat, scope: &Scope<'_>) -> Option<String> {
    match leaf {
        Leaf::Key(key) => (!key.contains("{{") && !flat.has_values(key)).then(|| quote_text(key)),
        Leaf::Plain(value) => Some((*value).to_owned()),
        Leaf::Text(value) => match flat.value(value) {
            Some(Piece::Reference(at))
                if scope.recording.references[*at].is_bare && scope.has(*at) =>
            {
                Some(format!("{{{{{}}}}}", scope.path(*at, false)?))
            }
            _ => scope.template(&flat.restore(value)),
        },
    }
}

/// Returns the pairs of a form, where encoding them gives the same text.
pub(super) fn form_pairs(text: &Text) -> Option<(Flat, Vec<(String, String)>)> {
    let flat = text.flat();
    (!text.is_empty() && !text.is_binary() && is_usual_form(&flat)).then_some(())?;
    let pairs = flat.text.split('&').filter_map(|pair| pair.split_once('='));
    let pairs = pairs.map(|(name, value)| (form_decode(name), form_decode(value)));
    let pairs = pairs.collect();
    Some((flat, pairs))
}

fn declare_parts(parts: &[Part], scope: &Scope<'_>) -> Option<DeclaredBody> {
    let mut fields = Vec::new();
    for part in parts {
        let is_plain =
            part.file_name.is_none() && part.content_type.is_none() && part.headers.is_empty();
        is_plain.then_some(())?;
        let name = part.name.as_literal().filter(|name| !name.contains("{{"))?;
        fields.push(format!(
            "{}: {}",
            quote_text(name),
            scope.template(&part.content)?
        ));
    }
    (!fields.is_empty()).then_some(())?;
    let fields = super::layout::join_items("{", &fields, "}", 0);
    Some(DeclaredBody {
        option: Some(format!("multipart = {fields}")),
        content_type: Some("multipart/form-data"),
    })
}

fn declare_fields(pairs: Vec<(String, String)>, flat: &Flat, scope: &Scope<'_>) -> Option<String> {
    let pairs = pairs.into_iter().map(|(name, value)| {
        let is_name = !name.contains("{{") && !flat.has_values(&name);
        is_name.then_some(())?;
        let value = scope.template(&flat.restore(&value))?;
        Some(format!("{}: {value}", quote_text(&name)))
    });
    let pairs: Vec<String> = pairs.collect::<Option<_>>()?;
    Some(super::layout::join_items("{", &pairs, "}", 0))
}
