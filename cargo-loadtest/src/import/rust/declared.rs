//! A request as the options of a step, where they can say it.

use super::super::document::{self, Node, Value};
use super::super::marked::{Body, Credentials, Exchange, Header, Part};
use super::super::source::Input;
use super::attribute::Choice;
use super::comment::quoted;
use super::json::{self, Json};
use super::scope::{Scope, is_token};
use super::secrets::Vault;
use super::template::{Piece, Template};
use crate::import::secrecy::{
    found, has_secret, is_callback, is_harmless, is_secret, is_secret_number, is_secret_segment,
    is_secret_user, is_secret_value,
};

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
        let has_colon = |credentials: &Credentials| credentials.user.contains(&b':');
        (!exchange.credentials.as_ref().is_some_and(has_colon)).then_some(())?;
        let (user, password) = writing.credentials(exchange)?;
        options.push(Choice::Own(format!(
            "basic = ({}, {})",
            writing.scope.literal(&user)?,
            writing.scope.literal(&password)?
        )));
    }
    let body = body(exchange, writing)?;
    for header in exchange.headers.iter().filter(|header| is_sent(header)) {
        if body.implies(header) || writing.scope.is_shared(header) {
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

pub(super) fn declared_header(header: &Header, writing: &mut Writing<'_, '_>) -> Option<Choice> {
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
    /// Whether a value is secret, by its name, by its looks, or because the input says that its name holds a key.
    fn is_secret(&self, name: &str, value: &str) -> bool {
        !value.is_empty()
            && (self.is_key(name)
                || !self.vault.has_markers(value) && is_secret_value(name, value)
                || is_secret(name))
    }

    fn is_key(&self, name: &str) -> bool {
        let keys = &self.scope.recording.keys;
        keys.iter().any(|key| key.eq_ignore_ascii_case(name))
    }

    /// A value: a secret, or what is none of it.
    fn value(&mut self, name: &str, value: &str, what: &str) -> Template {
        let is_named = is_secret(name) || self.is_key(name);
        if is_named || !is_text(value) && self.is_secret(name, value) {
            return self.vault.secret(value, name, what);
        }
        if is_text(value) && !is_harmless(name) || self.vault.has_markers(value) {
            return self.vault.text(value, name, what);
        }
        if has_secret(value) {
            return self.vault.secret(value, name, what);
        }
        self.vault.plain(value)
    }

    /// The URL, its secrets apart.
    pub(super) fn url_template(&mut self) -> Template {
        let Some((path, query)) = self.url.split_once('?') else {
            return self.path(self.url);
        };
        let mut template = self.path(path);
        let is_called_back = is_callback(&names_of(query));
        let mut sign = "?";
        for pair in query.split('&') {
            template.push(sign);
            sign = "&";
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = form_urlencoded_value(value);
            let name = form_urlencoded_value(key);
            if self.is_whole(&name, &decoded, is_called_back) {
                let what = format!("{} in the URL of `{}`", quoted(&name), self.name);
                template.extend(self.vault.url(key));
                template.push("=");
                template.extend(self.vault.secret(&decoded, &name, &what));
            } else {
                template.extend(self.vault.url(pair));
            }
        }
        template
    }

    /// Whether a value of a query or a form is a secret, where it is encoded and has no parts to tell.
    fn is_whole(&self, name: &str, value: &str, is_called_back: bool) -> bool {
        self.is_secret(name, value)
            || is_called_back && name == "code" && !value.is_empty()
            || !self.vault.has_markers(value) && (has_secret(value) || has_parts(name, value))
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
            let decoded = form_urlencoded_value(&name.replace('+', "%2B"));
            if !self.vault.has_markers(name) && is_secret_segment(before, &decoded) {
                let what = format!("a part of the path of `{}`", self.name);
                template.extend(self.vault.secret(&decoded, "path token", &what));
            } else {
                template.extend(self.vault.url(name));
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
        let password_template = self.vault.secret(password, "password", &what);
        Some((self.user(user, password), password_template))
    }

    /// Who asks: a key, where a service takes it in the place of a user.
    pub(super) fn user(&mut self, user: &str, password: &str) -> Template {
        if self.vault.has_markers(user) || !is_secret_user(user, password) {
            return self.vault.plain(user);
        }
        let what = format!("the user of `{}`, which looks like a key", self.name);
        self.vault.secret(user, "api key", &what)
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
        let what = format!("the header `{name}` of `{step}`");
        Some(self.value(&name, value, &what))
    }

    /// The value of a field of a form.
    pub(super) fn field(&mut self, name: &str, value: &str) -> Template {
        let what = format!("{} in the body of `{}`", quoted(name), self.name);
        self.value(name, value, &what)
    }

    /// The name of a file, which may be called after a secret.
    pub(super) fn file_name(&mut self, name: &str) -> Template {
        let what = format!("a file name in the body of `{}`", self.name);
        self.vault.text(name, "file name", &what)
    }

    /// The value of a header of a part of a form.
    pub(super) fn part_header(&mut self, name: &str, value: &str) -> Template {
        let what = format!("the header `{name}` of a part in `{}`", self.name);
        self.value(name, value, &what)
    }

    /// The value of a field within a text, which is a secret as a whole or not at all.
    fn whole(&mut self, name: &str, value: &str) -> Template {
        let what = format!("{} in the body of `{}`", quoted(name), self.name);
        self.vault.secret(value, name, &what)
    }

    /// A text of JSON, the secret ones of its strings apart; nothing where it has secrets elsewhere.
    pub(super) fn json(&mut self, text: &str) -> Option<Template> {
        self.json_parts(text, false)
    }

    /// The same; where it `is_raw`, its strings stay escaped as they are.
    fn json_parts(&mut self, text: &str, is_raw: bool) -> Option<Template> {
        let input = Input::new(String::new(), text.to_owned());
        let root = document::read(&input).ok()?;
        let known = self.vault.count();
        let mut places = Vec::new();
        let is_told = |key: &str, text: &str| {
            self.is_secret(key, text)
                || !self.vault.has_markers(text) && (has_secret(text) || has_parts(key, text))
        };
        secret_values(&root, "", &is_told, &mut places);
        let mut template = Template::default();
        let mut end = 0;
        for (key, node) in places {
            // The quotes stay.
            let (inner, value) = match node.text() {
                Some(value) => {
                    let inner = node.span.start + 1..node.span.end - 1;
                    let raw = text[inner.clone()].to_owned();
                    (inner, if is_raw { raw } else { value.to_owned() })
                }
                None => (node.span.clone(), text[node.span.clone()].to_owned()),
            };
            template.extend(self.vault.plain(&text[end..inner.start]));
            template.extend(self.whole(key, &value));
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

    /// A body that is sent as it is written: a form that others would encode otherwise, a text.
    pub(super) fn body(&mut self, body: &str, content_type: Option<&str>) -> Template {
        if content_type.is_some_and(is_url_encoded) && is_form(body) {
            return self.form(body);
        }
        let is_json = body.trim_start().starts_with(['{', '[']);
        let json = is_json.then(|| self.json_parts(body, true)).flatten();
        json.unwrap_or_else(|| self.text(body))
    }

    /// A form as it is written, its secrets apart, which stay encoded as they are.
    fn form(&mut self, body: &str) -> Template {
        let is_called_back = is_callback(&names_of(body));
        let mut template = Template::default();
        for (at, pair) in body.split('&').enumerate() {
            template.push(if at == 0 { "" } else { "&" });
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = form_urlencoded_value(key);
            if !self.is_whole(&name, &form_urlencoded_value(value), is_called_back) {
                template.extend(self.text(pair));
                continue;
            }
            let what = format!("{} in the body of `{}`", quoted(&name), self.name);
            template.extend(self.text(key));
            template.push("=");
            template.extend(
                self.vault
                    .secret(value, told_name(&name, is_called_back), &what),
            );
        }
        template
    }

    /// A text, or what of it is not secret.
    fn text(&mut self, text: &str) -> Template {
        let what = format!("the body of `{}`, which has a secret in it", self.name);
        self.vault.text(text, &format!("{} body", self.name), &what)
    }
}

/// The names of a query or a form.
fn names_of(pairs: &str) -> Vec<String> {
    let keys = pairs.split('&').map(|pair| pair.split('=').next());
    keys.map(|key| form_urlencoded_value(key.unwrap_or_default()))
        .collect()
}

/// What a value is called by where it is the `code` of an authorization server.
pub(super) fn told_name(name: &str, is_called_back: bool) -> &str {
    if is_called_back && name == "code" {
        "auth_code"
    } else {
        name
    }
}

fn is_url_encoded(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(URL_ENCODED)
}

/// Whether a text has the names of a form: what else is sent as one, such as JSON, has none.
fn is_form(body: &str) -> bool {
    let is_other = |letter: char| letter.is_whitespace() || "\"'`{}<>".contains(letter);
    body.contains('=')
        && body.split('&').all(|pair| {
            !pair
                .split('=')
                .next()
                .unwrap_or_default()
                .contains(is_other)
        })
}

/// Whether a value is a text with parts of its own, not a single word.
fn is_text(value: &str) -> bool {
    value.contains("://")
        || value.starts_with('/')
        || value
            .contains(|letter: char| letter.is_whitespace() || "{}[]<>&;?\"'`,:".contains(letter))
}

/// Whether one of these parts is secret.
fn has_parts(name: &str, value: &str) -> bool {
    is_text(value) && !is_harmless(name) && !found(value).is_empty()
}

/// The values whose keys or looks say that they are secret, in their order: strings, and numbers such as a PIN.
fn secret_values<'n>(
    node: &'n Node<'_>,
    key: &'n str,
    is_told: &dyn Fn(&str, &str) -> bool,
    places: &mut Vec<(&'n str, &'n Node<'n>)>,
) {
    match &node.value {
        Value::Text(text) if !text.is_empty() && is_told(key, text) => places.push((key, node)),
        Value::Number(number) if is_secret_number(key, number) => places.push((key, node)),
        Value::List(items) => {
            for item in items {
                secret_values(item, key, is_told, places);
            }
        }
        Value::Object(fields) => {
            for field in fields {
                let key = if is_secret(key) { key } else { &field.name };
                secret_values(&field.node, key, is_told, places);
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
    let template = writing.body(body, Some(content_type));
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
