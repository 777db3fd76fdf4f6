//! A request as the options of a step, where they can say it.

use super::super::document::{self, Node, Value};
use super::super::recording::{Body, Exchange, Header, Part};
use super::super::source::Input;
use super::attribute::Choice;
use super::json::{self, Json};
use super::scope::{Scope, is_token};
use super::secrets::Vault;
use super::template::{Piece, Template};
use crate::import::secrecy::{has_secret, is_secret, leads_to_secret, looks_secret};

/// What can be declared.
pub(super) const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
pub(super) const URL_ENCODED: &str = "application/x-www-form-urlencoded";

/// What is known of the step that is written.
pub(super) struct Writing<'a, 'b> {
    pub(super) scope: &'a Scope<'b>,
    pub(super) vault: &'a mut Vault,
    /// The name of the step.
    pub(super) name: &'a str,
    /// The URL, as it stands in the source.
    pub(super) url: &'a str,
}

/// The options of a declared step; nothing where it cannot be declared.
pub(super) fn options(exchange: &Exchange, writing: &mut Writing<'_, '_>) -> Option<Vec<Choice>> {
    METHODS.contains(&exchange.method.as_str()).then_some(())?;
    let url = writing.url_template();
    is_url(&url).then_some(())?;
    let mut options = vec![Choice::Plain(format!(
        "{} = {}",
        exchange.method.to_ascii_lowercase(),
        writing.scope.literal(&url)?
    ))];
    let mut is_authorized = false;
    if exchange.credentials.is_some() {
        is_authorized = true;
        let (user, password) = writing.credentials(exchange)?;
        let has_colon = |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains(':'));
        (!user.0.iter().any(has_colon)).then_some(())?;
        options.push(Choice::Own(format!(
            "basic = ({}, {})",
            writing.scope.literal(&user)?,
            writing.scope.literal(&password)?
        )));
    }
    let body = body(exchange, writing)?;
    for header in exchange.headers.iter().filter(|header| is_sent(header)) {
        if body.implies(header) {
            continue;
        }
        if header.name.eq_ignore_ascii_case("authorization") {
            // There is one of these at most.
            (!std::mem::replace(&mut is_authorized, true)).then_some(())?;
        }
        options.push(declared_header(header, writing)?);
    }
    options.extend(body.option);
    Some(options)
}

/// Whether a header can be sent at all; the length is counted anew.
pub(super) fn is_sent(header: &Header) -> bool {
    let fits = |byte: &u8| *byte == b'\t' || *byte >= b' ' && *byte != 0x7f;
    is_token(&header.name)
        && !header.name.eq_ignore_ascii_case("content-length")
        && header.value.iter().all(fits)
}

fn declared_header(header: &Header, writing: &mut Writing<'_, '_>) -> Option<Choice> {
    let name = header.name.to_ascii_lowercase();
    let value = writing.header(header)?;
    let is_ascii = |piece: &Piece| match piece {
        Piece::Text(text) => text.is_ascii(),
        _ => true,
    };
    value.0.iter().all(is_ascii).then_some(())?;
    if let Some(token) = bearer(&name, &value) {
        return Some(Choice::Plain(format!(
            "bearer = {}",
            writing.scope.literal(&token)?
        )));
    }
    let values = vec![super::literal::text(&name), writing.scope.literal(&value)?];
    Some(Choice::Call("header".to_owned(), values))
}

/// What follows `Bearer ` in an `authorization`.
pub(super) fn bearer(name: &str, value: &Template) -> Option<Template> {
    let (Piece::Text(first), rest) = value.0.split_first()? else {
        return None;
    };
    let first = first
        .strip_prefix("Bearer ")
        .filter(|_| name == "authorization")?;
    let mut token = Template::default();
    token.push(first);
    token.extend(Template(rest.to_vec()));
    Some(token)
}

impl Writing<'_, '_> {
    /// The URL, its secrets apart.
    pub(super) fn url_template(&mut self) -> Template {
        let Some((path, query)) = self.url.split_once('?') else {
            return self.path(self.url);
        };
        let mut template = self.path(path);
        let mut sign = "?";
        for pair in query.split('&') {
            template.push(sign);
            sign = "&";
            match pair.split_once('=') {
                Some((key, value)) if is_secret(key) && !value.is_empty() => {
                    let decoded = form_urlencoded_value(value);
                    let what = format!("`{key}` in the URL of `{}`", self.name);
                    template.push(key);
                    template.push("=");
                    template.extend(self.vault.secret(&decoded, key, &what));
                }
                Some((key, value)) if has_secret(&form_urlencoded_value(value)) => {
                    let what = format!("`{key}` in the URL of `{}`", self.name);
                    let value = form_urlencoded_value(value);
                    template.push(key);
                    template.push("=");
                    template.extend(self.vault.secret(&value, key, &what));
                }
                _ => template.extend(self.vault.plain(pair)),
            }
        }
        template
    }

    /// A path, secret segments apart: those that look like it, and those after a word that says so.
    fn path(&mut self, path: &str) -> Template {
        let mut template = Template::default();
        let mut before = "";
        for segment in path.split_inclusive('/') {
            let (name, slash) = match segment.strip_suffix('/') {
                Some(name) => (name, "/"),
                None => (segment, ""),
            };
            let is_random = name.len() >= 8
                && name.bytes().any(|byte| byte.is_ascii_digit())
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
            if looks_secret(name) || is_random && leads_to_secret(before) {
                let what = format!("a part of the path of `{}`", self.name);
                template.extend(self.vault.secret(name, "path token", &what));
            } else {
                template.extend(self.vault.plain(name));
            }
            template.push(slash);
            before = name;
        }
        template
    }

    /// User and password; nothing where they are no text.
    pub(super) fn credentials(&mut self, exchange: &Exchange) -> Option<(Template, Template)> {
        let credentials = exchange.credentials.as_ref()?;
        let user = std::str::from_utf8(&credentials.user).ok()?;
        let password = std::str::from_utf8(&credentials.password).ok()?;
        let what = format!("the password of `{}`", self.name);
        let password = self.vault.secret(password, "password", &what);
        Some((self.vault.plain(user), password))
    }

    /// The value of a header, secrets apart; nothing where it is no text.
    pub(super) fn header(&mut self, header: &Header) -> Option<Template> {
        let name = header.name.to_ascii_lowercase();
        let value = std::str::from_utf8(&header.value).ok()?;
        let step = self.name;
        if let Some(token) = value
            .strip_prefix("Bearer ")
            .filter(|_| name == "authorization")
        {
            let what = format!("the bearer token of `{step}`");
            let mut template = Template::default();
            template.push("Bearer ");
            template.extend(self.vault.secret(token, "api token", &what));
            return Some(template);
        }
        Some(if is_secret(&name) || has_secret(value) {
            let what = format!("the header `{name}` of `{step}`");
            self.vault.secret(value, &name, &what)
        } else {
            self.vault.plain(value)
        })
    }

    /// The value of a field of a form.
    pub(super) fn field(&mut self, name: &str, value: &str) -> Template {
        if is_secret(name) || has_secret(value) {
            let what = format!("`{name}` in the body of `{}`", self.name);
            self.vault.secret(value, name, &what)
        } else {
            self.vault.plain(value)
        }
    }

    /// A text of JSON, the secret ones of its strings apart; nothing where it has secrets elsewhere.
    pub(super) fn json(&mut self, text: &str) -> Option<Template> {
        let input = Input::new(String::new(), text.to_owned());
        let root = document::read(&input).ok()?;
        let known = self.vault.count();
        let mut places = Vec::new();
        secret_strings(&root, "", &mut places);
        let mut template = Template::default();
        let mut end = 0;
        for (key, node) in places {
            // The quotes stay.
            let inner = node.span.start + 1..node.span.end - 1;
            template.extend(self.vault.plain(&text[end..inner.start]));
            template.extend(self.field(key, node.text().unwrap_or_default()));
            end = inner.end;
        }
        template.extend(self.vault.plain(&text[end..]));
        let is_safe = |piece: &Piece| match piece {
            Piece::Text(text) => !has_secret(text),
            _ => true,
        };
        if !template.0.iter().all(is_safe) {
            self.vault.forget(known);
            return None;
        }
        Some(template)
    }

    /// A text, or what of it is not secret.
    pub(super) fn text(&mut self, text: &str) -> Template {
        let what = format!("the body of `{}`, which has a secret in it", self.name);
        self.vault.text(text, &format!("{} body", self.name), &what)
    }
}

/// The strings whose keys say that they are secret, in their order.
fn secret_strings<'n>(node: &'n Node<'_>, key: &'n str, places: &mut Vec<(&'n str, &'n Node<'n>)>) {
    match &node.value {
        Value::Text(text) if (is_secret(key) || has_secret(text)) && !text.is_empty() => {
            places.push((key, node));
        }
        Value::List(items) => {
            for item in items {
                secret_strings(item, key, places);
            }
        }
        Value::Object(fields) => {
            for field in fields {
                let key = if is_secret(key) { key } else { &field.name };
                secret_strings(&field.node, key, places);
            }
        }
        _ => {}
    }
}

/// Whether a template is what a step may declare as its URL.
fn is_url(url: &Template) -> bool {
    let is_fit = |letter: char| letter.is_ascii_graphic() && !"\"#<>\\^`{|}".contains(letter);
    let are_fit = url.0.iter().all(|piece| match piece {
        Piece::Text(text) => text.chars().all(is_fit),
        _ => true,
    });
    let begins_well = match url.0.as_slice() {
        [] => false,
        [Piece::Text(start), rest @ ..] => match start.split_once("://") {
            Some((_, host)) => !host.is_empty() && (rest.is_empty() || host.contains(['/', '?'])),
            None => start.starts_with('/'),
        },
        _ => true,
    };
    are_fit && begins_well
}

fn form_urlencoded_value(value: &str) -> String {
    let pair = format!("v={value}");
    let mut pairs = url::form_urlencoded::parse(pair.as_bytes());
    pairs
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}

/// The option of a body, and the type that goes without saying with it.
#[derive(Default)]
struct Declared {
    option: Option<Choice>,
    content_type: Option<&'static str>,
}

impl Declared {
    fn implies(&self, header: &Header) -> bool {
        header.name.eq_ignore_ascii_case("content-type")
            && self.content_type.is_some_and(|known| {
                header.value.starts_with(known.as_bytes())
                    && (known == "multipart/form-data" || header.value.len() == known.len())
            })
    }
}

/// The type of a body.
pub(super) fn content_type(exchange: &Exchange) -> Option<&str> {
    let mut headers = exchange.headers.iter();
    let header = headers.find(|header| header.name.eq_ignore_ascii_case("content-type"))?;
    std::str::from_utf8(&header.value).ok()
}

/// The body as an option; nothing where it cannot be one.
fn body(exchange: &Exchange, writing: &mut Writing<'_, '_>) -> Option<Declared> {
    let bytes = match &exchange.body {
        Body::None => return Some(Declared::default()),
        Body::Multipart(parts) => return fields_of(parts, writing),
        Body::Bytes(bytes) => bytes,
    };
    let body = std::str::from_utf8(bytes).ok()?;
    let content_type = content_type(exchange)?;
    if json::is_type(content_type)
        && let Some(json) = Json::structured(body)
    {
        let json = json.write("", writing)?;
        return Some(Declared {
            option: Some(Choice::Own(format!("json = {json}"))),
            content_type: Some("application/json"),
        });
    }
    if content_type == URL_ENCODED
        && let Some(pairs) = pairs(body)
        && let Some(fields) = fields(pairs, writing)
    {
        return Some(Declared {
            option: Some(Choice::Own(format!("form = {fields}"))),
            content_type: Some(URL_ENCODED),
        });
    }
    if body.is_empty() {
        return None;
    }
    let template = writing.text(body);
    let literal = writing.scope.literal(&template)?;
    Some(Declared {
        option: Some(Choice::Plain(format!("body = {literal}"))),
        content_type: None,
    })
}

/// The fields of a form, where they come to the same bytes.
pub(super) fn pairs(body: &str) -> Option<Vec<(String, String)>> {
    let pairs: Vec<(String, String)> = url::form_urlencoded::parse(body.as_bytes())
        .into_owned()
        .collect();
    let mut again = url::form_urlencoded::Serializer::new(String::new());
    let again = again.extend_pairs(&pairs).finish();
    (again == body && !pairs.is_empty()).then_some(pairs)
}

fn fields_of(parts: &[Part], writing: &mut Writing<'_, '_>) -> Option<Declared> {
    let mut pairs = Vec::new();
    for part in parts {
        let is_plain =
            part.file_name.is_none() && part.content_type.is_none() && part.headers.is_empty();
        let name = std::str::from_utf8(&part.name).ok()?;
        let content = std::str::from_utf8(&part.content).ok()?;
        is_plain.then_some(())?;
        pairs.push((name.to_owned(), content.to_owned()));
    }
    (!pairs.is_empty()).then_some(())?;
    Some(Declared {
        option: Some(Choice::Own(format!(
            "multipart = {}",
            fields(pairs, writing)?
        ))),
        content_type: Some("multipart/form-data"),
    })
}

fn fields(pairs: Vec<(String, String)>, writing: &mut Writing<'_, '_>) -> Option<String> {
    let pairs = pairs
        .into_iter()
        .map(|(name, value)| (name, Json::Text(value)));
    Json::Object(pairs.collect()).write_fields(writing)
}
