//! One request as a step: declared where that can say it, else a function.

use super::super::recording::{BOUNDARY, Body, Exchange, Header, Part};
use super::attribute;
use super::json::Json;
use super::literal::{bytes, text};
use super::secrets::Vault;
use loadtest::redact::is_secret;
use std::fmt::Write as _;

const INDENT: &str = "    ";
/// What can be declared.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const URL_ENCODED: &str = "application/x-www-form-urlencoded";

/// Writes a step; whether it uses the parts of a form.
pub(super) fn write(
    source: &mut String,
    exchange: &Exchange,
    name: &str,
    url: &str,
    vault: &mut Vault,
) -> bool {
    for header in &exchange.omitted {
        let _ = writeln!(
            source,
            "{INDENT}// Recorded without the header `{header}`, which is sent here."
        );
    }
    match declared(exchange, name, url, vault) {
        Some(mut options) => {
            options.extend(limits(exchange));
            attribute(source, INDENT, "step", &options);
            let _ = writeln!(source, "{INDENT}fn {name}();");
            false
        }
        None => built(source, exchange, name, url, vault),
    }
}

fn limits(exchange: &Exchange) -> Vec<String> {
    let mut options = Vec::new();
    if exchange.redirects > 0 {
        options.push(format!("redirects = {}", exchange.redirects));
    }
    if let Some(timeout) = exchange.timeout {
        options.push(format!("timeout = {}ms", timeout.as_millis().max(1)));
    }
    options
}

/// The options of a declared step; none where it cannot be declared.
fn declared(exchange: &Exchange, name: &str, url: &str, vault: &mut Vault) -> Option<Vec<String>> {
    METHODS.contains(&exchange.method.as_str()).then_some(())?;
    let values = exchange
        .headers
        .iter()
        .map(|header| std::str::from_utf8(&header.value));
    let values: Vec<&str> = values.collect::<Result<_, _>>().ok()?;
    let is_template = |text: &str| text.contains("{{");
    if is_template(url) || values.iter().any(|value| is_template(value)) {
        return None;
    }
    let body = body(exchange, name, vault)?;
    let url = url_template(url, name, vault);
    let mut options = vec![format!(
        "{} = {}",
        exchange.method.to_ascii_lowercase(),
        text(&url)
    )];
    if let Some(credentials) = &exchange.credentials {
        let user = std::str::from_utf8(&credentials.user)
            .ok()
            .filter(|user| !is_template(user))?;
        let password = std::str::from_utf8(&credentials.password).ok()?;
        let password = vault.secret(password, "password", &format!("the password of `{name}`"));
        options.push(format!(
            "basic = ({}, {})",
            text(&vault.plain(user)),
            text(&password)
        ));
    }
    for (header, value) in exchange.headers.iter().zip(values) {
        if body.implies(header) {
            continue;
        }
        options.push(declared_header(header, value, name, vault));
    }
    options.extend(body.option);
    Some(options)
}

fn declared_header(header: &Header, value: &str, step: &str, vault: &mut Vault) -> String {
    let name = header.name.to_ascii_lowercase();
    let bearer = value
        .strip_prefix("Bearer ")
        .filter(|_| name == "authorization");
    if let Some(token) = bearer {
        let token = vault.secret(token, "api token", &format!("the bearer token of `{step}`"));
        return format!("bearer = {}", text(&token));
    }
    let value = if is_secret(&name) {
        vault.secret(value, &name, &format!("the header `{name}` of `{step}`"))
    } else {
        vault.plain(value)
    };
    format!("header({}, {})", text(&name), text(&value))
}

/// A URL whose secrets are placeholders.
fn url_template(url: &str, step: &str, vault: &mut Vault) -> String {
    let Some((path, query)) = url.split_once('?') else {
        return vault.plain(url);
    };
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((key, value)) if is_secret(key) && !value.is_empty() => {
            let decoded = form_urlencoded_value(value);
            let what = format!("`{key}` in the URL of `{step}`");
            format!("{key}={}", vault.secret(&decoded, key, &what))
        }
        _ => vault.plain(pair),
    });
    let query: Vec<_> = pairs.collect();
    format!("{}?{}", vault.plain(path), query.join("&"))
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
    option: Option<String>,
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

/// The body as an option; none where it cannot be one.
fn body(exchange: &Exchange, step: &str, vault: &mut Vault) -> Option<Declared> {
    let bytes = match &exchange.body {
        Body::None => return Some(Declared::default()),
        Body::Multipart(parts) => return fields_of(parts, step, vault),
        Body::Bytes(bytes) => bytes,
    };
    let body = std::str::from_utf8(bytes).ok()?;
    let content_type = exchange
        .headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("content-type"))?;
    let content_type = std::str::from_utf8(&content_type.value).ok()?;
    if content_type.starts_with("application/json")
        && let Some(json) = Json::object(body)
    {
        json.is_literal().then_some(())?;
        return Some(Declared {
            option: Some(format!("json = {}", json.write("", step, 0, vault))),
            content_type: Some("application/json"),
        });
    }
    if content_type == URL_ENCODED
        && let Some(option) = form(body, step, vault)
    {
        return Some(Declared {
            option: Some(option),
            content_type: Some(URL_ENCODED),
        });
    }
    if body.contains("{{") || body.is_empty() {
        return None;
    }
    let template = text_template(body, step, vault);
    Some(Declared {
        option: Some(format!("body = {}", text(&template))),
        content_type: None,
    })
}

/// `form = {..}`, where that comes to the same bytes.
fn form(body: &str, step: &str, vault: &mut Vault) -> Option<String> {
    let pairs: Vec<(String, String)> = url::form_urlencoded::parse(body.as_bytes())
        .into_owned()
        .collect();
    let mut again = url::form_urlencoded::Serializer::new(String::new());
    let again = again.extend_pairs(&pairs).finish();
    let is_template = pairs
        .iter()
        .any(|(name, value)| name.contains("{{") || value.contains("{{"));
    if again != body || is_template || pairs.is_empty() {
        return None;
    }
    Some(format!("form = {}", fields(pairs, step, vault)))
}

fn fields_of(parts: &[Part], step: &str, vault: &mut Vault) -> Option<Declared> {
    let mut pairs = Vec::new();
    for part in parts {
        let is_plain =
            part.file_name.is_none() && part.content_type.is_none() && part.headers.is_empty();
        let name = std::str::from_utf8(&part.name).ok()?;
        let content = std::str::from_utf8(&part.content).ok()?;
        if !is_plain || name.contains("{{") || content.contains("{{") {
            return None;
        }
        pairs.push((name.to_owned(), content.to_owned()));
    }
    Some(Declared {
        option: Some(format!("multipart = {}", fields(pairs, step, vault))),
        content_type: Some("multipart/form-data"),
    })
}

fn fields(pairs: Vec<(String, String)>, step: &str, vault: &mut Vault) -> String {
    let pairs = pairs
        .into_iter()
        .map(|(name, value)| (name, Json::Text(value)));
    Json::Object(pairs.collect()).write("", step, 0, vault)
}

/// Writes a step that builds its request; whether it uses the parts of a form.
fn built(
    source: &mut String,
    exchange: &Exchange,
    name: &str,
    url: &str,
    vault: &mut Vault,
) -> bool {
    let limits = limits(exchange);
    if limits.is_empty() {
        let _ = writeln!(source, "{INDENT}#[step]");
    } else {
        attribute(source, INDENT, "step", &limits);
    }
    let method = exchange.method.as_str();
    let url = expression(&url_template(url, name, vault));
    let begin = if METHODS.contains(&method) {
        format!("Request::{}({url})", method.to_ascii_lowercase())
    } else {
        format!(
            "Request::new({}.parse().expect(\"a method\"), {url})",
            text(method)
        )
    };
    let mut lines = Vec::new();
    if let Some(credentials) = &exchange.credentials {
        let what = format!("the password of `{name}`");
        let password = vault.name(&credentials.password, "password", &what);
        let user = vault.plain(&String::from_utf8_lossy(&credentials.user));
        lines.push(format!(
            ".basic_auth({}, Some(secret({})))",
            expression(&user),
            text(&password)
        ));
    }
    let is_form = matches!(exchange.body, Body::Multipart(_));
    for header in &exchange.headers {
        lines.extend(built_header(header, is_form, name, vault));
    }
    match &exchange.body {
        Body::None => {}
        Body::Bytes(body) => lines.push(match std::str::from_utf8(body) {
            Ok(body) => format!(".body({})", expression(&text_template(body, name, vault))),
            Err(_) => format!(".body({}.as_slice())", bytes(body)),
        }),
        Body::Multipart(parts) => {
            lines.push(format!(".multipart({})", form_of(parts, name, vault)));
        }
    }
    let _ = writeln!(
        source,
        "{INDENT}fn {name}() -> Request {{\n{INDENT}    {begin}"
    );
    for line in &lines {
        let _ = writeln!(source, "{INDENT}        {line}");
    }
    let _ = writeln!(source, "{INDENT}}}");
    is_form
}

fn built_header(header: &Header, is_form: bool, step: &str, vault: &mut Vault) -> Option<String> {
    let name = header.name.to_ascii_lowercase();
    let boundary = format!("; boundary={BOUNDARY}");
    let without = header
        .value
        .strip_suffix(boundary.as_bytes())
        .filter(|_| is_form);
    if without == Some(b"multipart/form-data") {
        return None;
    }
    let value = without.unwrap_or(&header.value);
    let value = match std::str::from_utf8(value) {
        Ok(value) if is_secret(&name) && !vault.has_variable(value) => {
            let what = format!("the header `{name}` of `{step}`");
            format!(
                "secret({})",
                text(&vault.name(value.as_bytes(), &name, &what))
            )
        }
        Ok(value) => expression(&vault.plain(value)),
        Err(_) => format!("{}.as_slice()", bytes(value)),
    };
    Some(format!(".header({}, {value})", text(&name)))
}

/// A text, or a placeholder for all of it where something in it is secret.
fn text_template(body: &str, step: &str, vault: &mut Vault) -> String {
    if loadtest::redact::text(body) == body {
        return vault.plain(body);
    }
    let what = format!("the body of `{step}`, which has a secret in it");
    vault.secret(body, &format!("{step} body"), &what)
}

/// A template as an expression: text, or text with secrets in it.
fn expression(template: &str) -> String {
    const BEGIN: &str = "{{secret.";
    if !template.contains(BEGIN) {
        return text(template);
    }
    let mut format = String::new();
    let mut values = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let Some((name, after)) = after.split_once("}}") else {
            break;
        };
        format.push_str(&before.replace('{', "{{").replace('}', "}}"));
        format.push_str("{}");
        let _ = write!(values, ", secret({}).expose()", text(name));
        rest = after;
    }
    format.push_str(&rest.replace('{', "{{").replace('}', "}}"));
    if format == "{}" {
        return format!("{}.to_owned()", &values[2..]);
    }
    format!("format!({}{values})", text(&format))
}

fn form_of(parts: &[Part], step: &str, vault: &mut Vault) -> String {
    let mut form = "Form::new()".to_owned();
    for part in parts {
        let name = String::from_utf8_lossy(&part.name);
        let content = match std::str::from_utf8(&part.content) {
            Ok(content) if is_secret(&name) => {
                let what = format!("`{name}` in the form of `{step}`");
                format!(
                    "Part::text({})",
                    expression(&vault.secret(content, &name, &what))
                )
            }
            Ok(content) => format!(
                "Part::text({})",
                expression(&text_template(content, step, vault))
            ),
            Err(_) => format!("Part::bytes({}.as_slice())", bytes(&part.content)),
        };
        let content_type = match &part.content_type {
            Some(content_type) => format!(".mime_str({}).expect(\"a type\")", text(content_type)),
            None => String::new(),
        };
        let file_name = match &part.file_name {
            Some(file_name) => format!(".file_name({})", text(&String::from_utf8_lossy(file_name))),
            None => String::new(),
        };
        let _ = write!(
            form,
            "\n{INDENT}            .part({}, {content}{file_name}{content_type})",
            text(&name)
        );
    }
    form
}
