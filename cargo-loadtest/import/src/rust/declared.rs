//! A request as the options of a step, where they can express it.

use super::body::BodyKind;
use super::json::Leaf;
use super::layout::{join_items, quote_text};
use super::scope::Scope;
use crate::recording::{Exchange, Flat, Header, Part, Piece, Text};
use crate::text::{encode_url, is_token};

/// The methods that have an option.
pub(super) const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/// The header with the protocols that a WebSocket offers.
const PROTOCOL: &str = "sec-websocket-protocol";

/// The indentation of an option within its attribute.
const OPTION: usize = 4;

/// Returns the options of a declarative step, or nothing where it has to be a function.
pub(super) fn declare_request(
    exchange: &Exchange,
    url: &Text,
    scope: &Scope<'_>,
) -> Option<Vec<String>> {
    if !METHODS.contains(&exchange.method.as_str()) || !is_url(url) {
        return None;
    }
    let method = match exchange.socket {
        Some(_) => "ws".to_owned(),
        None => exchange.method.to_ascii_lowercase(),
    };
    let mut options = vec![format!("{method} = {}", scope.template(url)?)];
    let mut is_authorized = false;
    if let Some(credentials) = &exchange.credentials {
        is_authorized = true;
        if credentials.user.shown(|_| String::new()).contains(':') {
            return None;
        }
        let user = scope.template(&credentials.user)?;
        let password = scope.template(&credentials.password)?;
        options.push(format!("basic = ({user}, {password})"));
    }
    let body = BodyKind::new(exchange, scope.recording);
    for header in exchange.headers.iter().filter(|header| is_sendable(header)) {
        if body.implies(header) || scope.is_shared(header) {
            continue;
        }
        if exchange.socket.is_some() && header.name.eq_ignore_ascii_case(PROTOCOL) {
            options.push(format!("protocol = {}", scope.template(&header.value)?));
            continue;
        }
        // A request has one of these at most.
        if header.name.eq_ignore_ascii_case("authorization")
            && std::mem::replace(&mut is_authorized, true)
        {
            return None;
        }
        options.push(declare_header(header, scope)?);
    }
    options.extend(declare_body(&body, exchange, scope)?);
    Some(options)
}

/// Returns true where a header can be sent; the length is computed anew.
pub(super) fn is_sendable(header: &Header) -> bool {
    let is_fit = |byte: u8| byte == b'\t' || byte >= b' ' && byte != 0x7f;
    is_token(&header.name)
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
    let is_other = |piece: &Piece| matches!(piece, Piece::Literal(text) if !text.is_ascii());
    if header.value.pieces().iter().any(is_other) {
        return None;
    }
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

/// Returns the body as an option, if there is one, or nothing where it cannot be one.
fn declare_body(
    body: &BodyKind<'_>,
    exchange: &Exchange,
    scope: &Scope<'_>,
) -> Option<Vec<String>> {
    let option = match body {
        BodyKind::None => return Some(Vec::new()),
        BodyKind::Json(json) => {
            let leaf = &mut |leaf: Leaf<'_>| declare_leaf(&leaf, &json.flat, scope);
            format!("json = {}", json.render(OPTION, leaf)?)
        }
        BodyKind::Form(flat, pairs) => {
            let pairs = pairs.iter().map(|(name, value)| {
                let name = declare_leaf(&Leaf::Key(name), flat, scope)?;
                Some(format!("{name}: {}", scope.template(&flat.restore(value))?))
            });
            let pairs: Vec<String> = pairs.collect::<Option<_>>()?;
            format!("form = {}", join_items("{", &pairs, "}", OPTION))
        }
        BodyKind::Multipart([]) => return None,
        BodyKind::Multipart(parts) => {
            let fields = parts.iter().map(|part| declare_part(part, scope));
            let fields: Vec<String> = fields.collect::<Option<_>>()?;
            format!("multipart = {}", join_items("{", &fields, "}", OPTION))
        }
        BodyKind::Text(text) => {
            exchange.content_type().filter(|_| !text.is_empty())?;
            format!("body = {}", scope.template(text)?)
        }
    };
    Some(vec![option])
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
            Some(Piece::Run(run)) if scope.is_bare(run) => {
                Some(format!("{{{{{}}}}}", scope.run_value(run)))
            }
            _ => scope.template(&flat.restore(value)),
        },
    }
}

/// Returns a part that is a name and a text.
fn declare_part(part: &Part, scope: &Scope<'_>) -> Option<String> {
    let is_plain = part.file_name.is_none() && part.content_type.is_none();
    let name = part
        .name
        .as_literal()
        .filter(|name| is_plain && !name.contains("{{"))?;
    Some(format!(
        "{}: {}",
        quote_text(name),
        scope.template(&part.content)?
    ))
}
