//! One request: method, URL, headers, credentials and body.

use super::behaviour::{apply_settings, find_setting};
use super::collection::{PostmanCollection, RequestItem};
use super::environment::{is_disabled, name_place, value_text};
use super::{ItemReader, auth, body, dynamic, url};
use crate::document::Node;
use crate::recording::{Answer, Body, Exchange, Header, Piece, Text};
use crate::text::is_token;

/// Methods whose body Postman sends only with `disableBodyPruning`.
const WITHOUT_BODY: [&str; 6] = ["GET", "HEAD", "COPY", "PURGE", "UNLOCK", "VIEW"];
/// Redirects that Postman follows.
pub(super) const REDIRECTS: u32 = 10;
/// Reads a request; notes one that cannot be sent, and returns nothing.
pub(super) fn read_request(
    entry: &RequestItem<'_, '_>,
    collection: &PostmanCollection<'_, '_>,
    item: &mut ItemReader<'_, '_>,
) -> Option<Exchange> {
    let request = entry.request;
    let method = request.get("method").map(value_text).unwrap_or_default();
    let method = match method.trim() {
        "" => "GET".to_owned(),
        method => item.fixed_name(method).to_ascii_uppercase(),
    };
    let is_url = |node: &&Node<'_>| {
        node.is_object() || node.text().is_some_and(|text| !text.trim().is_empty())
    };
    let node = if request.is_object() {
        request.get("url")
    } else {
        Some(request)
    };
    let node = node.filter(is_url);
    let (url, at) = match node {
        _ if !is_token(&method) => {
            let why = "this is not a method of HTTP".to_owned();
            (Err(why), request.get("method").map(Node::beginning))
        }
        None => {
            let why = "there is no URL".to_owned();
            (Err(why), request.name("url").or(request.name("method")))
        }
        Some(node) => {
            let at = url::url_place(node);
            (url::read_url(node, &mut item.at(at.clone())), Some(at))
        }
    };
    let at = at.unwrap_or_else(|| entry.span.clone());
    let url = match url {
        Ok(url) => url,
        Err(why) => {
            let name = entry.name.as_deref().unwrap_or("without a name");
            item.reader
                .leave_out(&at, &format!("{method} {name}"), &why);
            return None;
        }
    };
    if let Some(names) = &url.unknown {
        item.reader.note_unknown_host(&at, &url.origin, names);
    }
    let mut exchange = Exchange {
        span: entry.span.clone(),
        method,
        origin: url.origin,
        target: url.target,
        credentials: url.credentials,
        name: entry.name.clone(),
        description: read_description(request).or_else(|| read_description(entry.item)),
        pattern: url.pattern,
        redirects: REDIRECTS,
        ..Exchange::default()
    };
    read_headers(request, &mut exchange, item);
    let folders = collection.folders_around(entry.folder).into_iter();
    let folders: Vec<&Node<'_>> = folders.map(|folder| folder.node).collect();
    let items = [&[entry.item], &folders[..]].concat();
    if let Some(node) = request.get("body") {
        let keeps_body = find_setting(&items, "disableBodyPruning").and_then(Node::boolean);
        if keeps_body == Some(true) || !WITHOUT_BODY.contains(&exchange.method.as_str()) {
            add_body(node, &mut exchange, item);
        } else if body::has_content(node) {
            let words = format!(
                "a `{}` is sent without a body, as in Postman, unless `disableBodyPruning` is set",
                exchange.method
            );
            let span = request.name("body").unwrap_or_default();
            item.reader.note(&span, words);
        }
    }
    apply_settings(&items, &mut exchange, item.reader);
    // `null` is as nothing: the folder says.
    let auth = std::iter::once(request).chain(folders).find_map(|node| {
        let auth = node.get("auth");
        auth.filter(|auth| auth.text_of("type").is_some_and(|kind| kind != "inherit"))
    });
    if let Some(auth) = auth {
        auth::apply_auth(auth, &mut exchange, item);
    }
    Some(exchange)
}

fn add_body(node: &Node<'_>, exchange: &mut Exchange, item: &mut ItemReader<'_, '_>) {
    let is_type = |header: &Header| header.name.eq_ignore_ascii_case("content-type");
    let known = exchange.headers.iter().find(|header| is_type(header));
    let known = known.map(|header| header.value.start().to_owned());
    let (body, implied) = body::read_body(node, known.as_deref(), item);
    let is_form = matches!(body, Body::Multipart(_));
    if is_form {
        exchange.headers.retain(|header| !is_type(header));
    }
    if let Some(implied) = implied.filter(|_| is_form || known.is_none()) {
        exchange.headers.push(Header::new("Content-Type", implied));
    }
    exchange.body = body;
}

/// Returns the description of a request, a folder or a collection.
pub(super) fn read_description(node: &Node<'_>) -> Option<String> {
    let node = node.get("description")?;
    let text = node.text().or_else(|| node.text_of("content"))?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn read_headers(request: &Node<'_>, exchange: &mut Exchange, item: &mut ItemReader<'_, '_>) {
    let Some(list) = request.get("header") else {
        return;
    };
    let item = &mut item.at(request.name("header").unwrap_or_else(|| list.beginning()));
    if let Some(text) = list.text() {
        let lines = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            add_header(name, value, exchange, item);
        }
        return;
    }
    for node in list.items().iter().filter(|node| !is_disabled(node)) {
        let item = &mut item.at(name_place(node));
        let name = node.get("key").map(value_text).unwrap_or_default();
        let value = node.get("value");
        if !name.trim().is_empty() {
            let value = value.map(value_text).unwrap_or_default();
            add_header(&name, &value, exchange, item);
        } else if value.is_some_and(|value| value.text() != Some("")) {
            let words = "a header has a name as its `key`, and this has none: it is left out";
            item.note(words);
        }
    }
}

fn add_header(name: &str, value: &str, exchange: &mut Exchange, item: &mut ItemReader<'_, '_>) {
    let name = item.fixed_name(name.trim());
    let lower = name.to_ascii_lowercase();
    let value = item.resolve(value.trim());
    let is_postmans = lower == "user-agent" && value.start().starts_with("PostmanRuntime/");
    let is_host = lower == "host"
        && value.as_literal().is_some_and(|value| {
            let host = format!("//{}", value.to_ascii_lowercase());
            exchange.origin.ends_with(&host)
        });
    let is_senders_own = matches!(
        lower.as_str(),
        "content-length" | "connection" | "transfer-encoding" | "keep-alive" | "postman-token"
    );
    if is_senders_own || is_postmans || is_host {
        return;
    }
    if !is_token(&name) || has_control(&value) {
        let words = "a header with invalid characters in its name or value is left out";
        item.note(words);
        return;
    }
    exchange.headers.push(Header { name, value });
}

/// Returns true where a value has letters that no header has.
fn has_control(value: &Text) -> bool {
    let is_control = |letter: char| letter.is_ascii_control() && letter != '\t';
    let mut pieces = value.pieces().iter();
    pieces.any(|piece| matches!(piece, Piece::Literal(text) if text.contains(is_control)))
}

/// Returns the first saved answer of success, and the statuses of success.
pub(super) fn read_answers(item: &Node<'_>, expected: &[u16]) -> (Option<Answer>, Vec<u16>) {
    let saved = item.get("response").map_or(&[][..], Node::items).iter();
    let saved = saved.filter_map(|response| Some((read_code(response)?, response)));
    let saved: Vec<(u16, &Node<'_>)> = saved.collect();
    let mut expect = expected.to_vec();
    if expect.is_empty() {
        let codes = saved.iter().map(|(code, _)| *code);
        expect = codes.filter(|code| *code < 400).collect();
    }
    expect.sort_unstable();
    expect.dedup();
    let chosen = saved.iter().find(|(code, _)| expect.contains(code));
    let answer = chosen.map(|(status, response)| read_answer(*status, response));
    (answer, expect)
}

fn read_code(response: &Node<'_>) -> Option<u16> {
    let code = response.get("code")?.scalar()?.parse().ok()?;
    (200..600).contains(&code).then_some(code)
}

fn read_answer(status: u16, response: &Node<'_>) -> Answer {
    let text = response.get("body").map(value_text).unwrap_or_default();
    let known = dynamic::replace_kinds(&text);
    let headers = response
        .get("header")
        .map(read_answer_headers)
        .unwrap_or_default();
    Answer {
        status,
        headers,
        body: known.unwrap_or(text).into_bytes(),
        is_example: true,
    }
}

fn read_answer_headers(list: &Node<'_>) -> Vec<Header> {
    let headers = list.items().iter().filter_map(|header| {
        let name = header.text_of("key")?.trim();
        let text = header.get("value").map(value_text).unwrap_or_default();
        is_token(name).then(|| Header::new(name, text.trim()))
    });
    headers.collect()
}
