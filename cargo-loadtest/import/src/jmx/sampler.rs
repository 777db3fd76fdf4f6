//! HTTP requests of a plan.

use super::element::Element;
use super::variables::VariableScope;
use crate::recording::{Body, Credentials, Exchange, Header, Part, Text};
use crate::text::{form_encode, is_token};
use std::time::Duration;

/// Redirects that JMeter follows at most.
const REDIRECTS: u32 = 20;
/// What elements around a sampler say about it.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings<'e> {
    /// Defaults, the nearest ones last.
    pub(super) defaults: Vec<&'e Element>,
    /// Headers, each with its name and its value.
    pub(super) headers: Vec<(String, String)>,
    pub(super) credentials: Vec<&'e Element>,
}

/// Adds the headers of a manager; they replace those of the same name.
pub(super) fn add_headers(headers: &mut Vec<(String, String)>, manager: &Element) {
    for header in manager.list("HeaderManager.headers") {
        let name = header.text_of("Header.name").trim().to_owned();
        headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
        headers.push((name, header.text_of("Header.value").to_owned()));
    }
}

/// Reads a sampler.
pub(super) fn read_sampler(
    element: &Element,
    settings: &Settings<'_>,
    scope: &mut VariableScope<'_>,
) -> Result<Exchange, String> {
    let sources = || std::iter::once(element).chain(settings.defaults.iter().rev().copied());
    // All are read, so that no default is said to be left out where a request has a value of its own.
    let raw = |name: &str| {
        let texts: Vec<&str> = sources()
            .map(|source| source.text_of(name).trim())
            .collect();
        let mut given = texts.into_iter().filter(|text| !text.is_empty());
        given.next().unwrap_or_default().to_owned()
    };
    let method = scope.resolve(&raw("HTTPSampler.method"));
    let method = match method.as_literal() {
        Some("") => "GET".to_owned(),
        Some(method) if is_token(method) => method.to_ascii_uppercase(),
        _ => return Err("its method is not known".to_owned()),
    };
    let mut exchange = Exchange {
        span: element.span.clone(),
        method,
        name: Some(element.title().to_owned())
            .filter(|name| !["", "HTTP Request"].contains(&name.as_str())),
        description: Some(element.text_of("TestPlan.comments").to_owned()),
        ..Exchange::default()
    };
    let path = scope.resolve(&raw("HTTPSampler.path"));
    let [scheme, domain, port] =
        ["protocol", "domain", "port"].map(|part| raw(&format!("HTTPSampler.{part}")));
    let is_url = |scheme: &str| path.start().starts_with(scheme);
    let url = if is_url("http://") || is_url("https://") {
        path
    } else {
        let scheme = scope.resolve(&scheme);
        let scheme = match scheme.as_literal() {
            Some(scheme) if scheme.eq_ignore_ascii_case("https") => "https",
            Some("" | "http") | None => "http",
            Some(scheme) if scheme.eq_ignore_ascii_case("http") => "http",
            Some(_) => return Err("this is not HTTP".to_owned()),
        };
        let (domain, port) = (scope.resolve(&domain), scope.resolve(&port));
        let mut url = Text::default();
        if !domain.is_empty() {
            url.append(domain.between(&format!("{scheme}://"), ""));
            let colon = if port.is_empty() { "" } else { ":" };
            url.append(port.between(colon, ""));
        }
        if !path.start().starts_with('/') && (path.is_empty() || !path.start().is_empty()) {
            url.push_str("/");
        }
        url.append(path);
        url
    };
    set_request(&mut exchange, element, settings, scope, &url)?;
    let millis = scope.resolve(&raw("HTTPSampler.response_timeout"));
    let millis = millis.as_literal().unwrap_or("unknown").trim();
    if !["", "0"].contains(&millis) {
        exchange.timeout = millis.parse().ok().map(Duration::from_millis);
        if exchange.timeout.is_none() {
            let words = "its timeout is not known: write a `timeout`";
            scope.migration.note(&element.span, words);
        }
    }
    let follows = ["follow_redirects", "auto_redirects"]
        .map(|name| element.is_set(&format!("HTTPSampler.{name}")));
    if follows.contains(&true) {
        exchange.redirects = REDIRECTS;
    }
    if raw("HTTPSampler.image_parser") == "true" {
        let words = "the pictures and scripts of pages are not loaded, here and elsewhere";
        scope.migration.note_once(&element.span, words);
    }
    Ok(exchange)
}

fn set_request(
    exchange: &mut Exchange,
    element: &Element,
    settings: &Settings<'_>,
    scope: &mut VariableScope<'_>,
    url: &Text,
) -> Result<(), String> {
    for (name, value) in &settings.headers {
        exchange
            .headers
            .push(Header::new(name, scope.resolve(value)));
    }
    let own = element.arguments("HTTPsampler.Arguments");
    let defaults = settings.defaults.iter();
    let given = defaults.flat_map(|element| element.arguments("HTTPsampler.Arguments"));
    let is_multipart = element.is_set("HTTPSampler.DO_MULTIPART_POST");
    let has_body = !["GET", "HEAD", "DELETE", "OPTIONS"].contains(&exchange.method.as_str());
    // Without names, the values are the body.
    let mut names = own.iter().map(|argument| argument.text_of("Argument.name"));
    let is_raw = element.is_set("HTTPSampler.postBodyRaw")
        || has_body && !own.is_empty() && names.all(str::is_empty);
    let files = element.property("HTTPsampler.Files");
    let files = files.map_or(&[][..], |files| files.list("HTTPFileArgs.files"));
    let mut url = url.clone();
    if is_raw {
        let values = own.iter();
        let values = values.map(|argument| scope.text_of(argument, "Argument.value"));
        exchange.body = Body::of_text(Text::join(values, ""));
    } else if has_body && (is_multipart || !files.is_empty()) {
        let mut parts = Vec::new();
        for argument in given.chain(own) {
            parts.push(Part {
                name: scope.text_of(argument, "Argument.name"),
                content: scope.text_of(argument, "Argument.value"),
                ..Part::default()
            });
        }
        for file in files {
            let path = file.text_of("File.path");
            let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
            let content_type = Some(file.text_of("File.mimetype").to_owned());
            parts.push(Part {
                content_type: content_type.filter(|ty| !ty.is_empty()),
                ..Part::placeholder(scope.text_of(file, "File.paramname"), scope.resolve(name))
            });
            let words = format!("the plan does not have the file `{path}`: a placeholder is sent");
            scope.migration.note(&element.span, words);
        }
        exchange.body = Body::Multipart(parts);
    } else {
        let mut pairs = Text::default();
        for argument in given.chain(own) {
            let is_encoded = argument.is_set("HTTPArgument.always_encode");
            let encode = |text: &str| match text {
                text if is_encoded => form_encode(text),
                text => text.replace(' ', "+"),
            };
            let [name, value] =
                ["Argument.name", "Argument.value"].map(|name| scope.text_of(argument, name));
            pairs.push_str(if pairs.is_empty() { "" } else { "&" });
            pairs.append(name.map_literals(encode));
            if !value.is_empty() || argument.text_of("Argument.metadata") == "=" {
                pairs.push_str("=");
                pairs.append(value.map_literals(encode));
            }
        }
        if has_body && !pairs.is_empty() {
            exchange.imply_form();
            exchange.body = Body::Text(pairs);
        } else if !pairs.is_empty() {
            url.push_query(pairs);
        }
    }
    scope.migration.set_url(exchange, &url)?;
    set_credentials(exchange, element, settings, scope, &url);
    Ok(())
}

/// Sends the credentials of the nearest entry whose URL is the beginning of this one.
fn set_credentials(
    exchange: &mut Exchange,
    element: &Element,
    settings: &Settings<'_>,
    scope: &mut VariableScope<'_>,
    url: &Text,
) {
    let shown = url.as_literal().unwrap_or_default();
    let credentials = settings.credentials.iter().rev().find(|entry| {
        let base = scope.text_of(entry, "Authorization.url");
        base.as_literal()
            .is_some_and(|base| base.is_empty() || shown.starts_with(base))
    });
    if let Some(entry) = credentials {
        match entry.text_of("Authorization.mechanism") {
            "" | "BASIC" | "BASIC_DIGEST" => {
                let [user, password] = ["Authorization.username", "Authorization.password"]
                    .map(|name| scope.text_of(entry, name));
                exchange.credentials = Some(Credentials { user, password });
            }
            mechanism => {
                let words = format!("credentials of the kind `{mechanism}` are not sent");
                scope.migration.note_once(&element.span, words);
            }
        }
    }
}
