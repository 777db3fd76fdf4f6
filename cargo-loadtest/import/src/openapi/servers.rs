//! Finds the address of the service.

use super::document::ApiDocument;
use super::swagger;
use crate::base::SOMEWHERE;
use crate::document::Node;
use crate::source::Mistake;
use std::fmt::Write as _;
use url::Url;

/// Address of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerAddress {
    /// `http://host:port`.
    pub(super) origin: String,
    /// Beginning of each path, without a slash at its end.
    pub(super) prefix: String,
}

/// Addresses of a document.
pub(super) struct Servers {
    /// Address that the document names.
    documented: ServerAddress,
    /// Address of operations without one of their own.
    pub(super) usual: ServerAddress,
}

impl Servers {
    /// Finds the address of the service. `base` is the URL that the user gave.
    pub(super) fn new(document: &ApiDocument<'_>, base: Option<&str>) -> Result<Self, Mistake> {
        let is_given = base.is_some();
        let documented = find_listed(document, document.root, is_given).unwrap_or_else(|| {
            let words = format!(
                "the document names no server: `{SOMEWHERE}` is used; `--base-url` sets another one"
            );
            if !is_given {
                document.warn(&document.start(), words);
            }
            ServerAddress {
                origin: SOMEWHERE.to_owned(),
                prefix: String::new(),
            }
        });
        let mut usual = documented.clone();
        if let Some(base) = base {
            let given = parse_base(document, base)?;
            usual.origin = given.origin;
            if !given.prefix.is_empty() {
                usual.prefix = given.prefix;
            }
        }
        Ok(Self { documented, usual })
    }

    /// Returns the address of an operation.
    pub(super) fn find<'a>(
        &self,
        document: &ApiDocument<'a>,
        operation: &'a Node<'a>,
        path_item: &'a Node<'a>,
    ) -> ServerAddress {
        let own = [operation, path_item]
            .into_iter()
            .filter(|node| node.get("servers").is_some())
            .find_map(|node| find_listed(document, node, true));
        match own {
            // Another host stays another one.
            Some(own) if own.origin == self.documented.origin || own.origin == SOMEWHERE => {
                ServerAddress {
                    origin: self.usual.origin.clone(),
                    prefix: if own.prefix == self.documented.prefix {
                        self.usual.prefix.clone()
                    } else {
                        own.prefix
                    },
                }
            }
            Some(own) => own,
            None => self.usual.clone(),
        }
    }
}

fn parse_base(document: &ApiDocument<'_>, text: &str) -> Result<ServerAddress, Mistake> {
    let mut named = ["host", "servers"]
        .iter()
        .filter_map(|name| document.root.name(name));
    let span = named.next().unwrap_or_else(|| document.start());
    parse_address(text).ok_or_else(|| {
        let words = "`--base-url` is not a URL of a service, or has credentials or a query";
        Mistake::new(span, words)
            .help("write `http://host:port`, with the common path of all operations")
    })
}

/// Returns the first usable server of a list.
fn find_listed<'a>(
    document: &ApiDocument<'a>,
    node: &'a Node<'a>,
    is_quiet: bool,
) -> Option<ServerAddress> {
    let mut listed = Vec::new();
    for server in document.items(node, "servers") {
        match server.get("url").and_then(|url| Some((url, url.text()?))) {
            Some((place, url)) => {
                let url = fill_variables(url, server.get("variables"));
                listed.push((place.span.clone(), url));
            }
            None => document.warn(
                &server.beginning(),
                "a server has a `url`, and this has none",
            ),
        }
    }
    for (place, url) in listed.into_iter().chain(swagger::find_server(node)) {
        let is_relative =
            !url.contains("://") && !url.starts_with("//") && !url.contains(['{', ' ']);
        let whole = match url.strip_prefix("//") {
            Some(rest) => format!("https://{rest}"),
            None if is_relative => {
                format!("{SOMEWHERE}/{}", url.trim_start_matches(['.', '/']))
            }
            None => url.clone(),
        };
        let Some(address) = parse_address(&whole) else {
            let words = "this is not a URL of a service, or has credentials or a query";
            document.warn(&place, words);
            continue;
        };
        if is_relative && !is_quiet {
            let words = format!(
                "the server is relative to the document, whose URL is not known: `{SOMEWHERE}` is used; `--base-url` sets another one"
            );
            document.warn(&place, words);
        }
        return Some(address);
    }
    None
}

/// Replaces the variables of a URL by their defaults.
fn fill_variables(url: &str, variables: Option<&Node<'_>>) -> String {
    let mut text = String::new();
    let mut rest = url;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        let variable = variables.and_then(|variables| variables.get(name));
        let value = variable.and_then(|variable| {
            let first = variable.get("enum").and_then(|list| list.items().first());
            variable.get("default").or(first)?.scalar()
        });
        text.push_str(before);
        let _ = match value {
            Some(value) => write!(text, "{value}"),
            None => write!(text, "{{{name}}}"),
        };
        rest = after;
    }
    text + rest
}

/// Parses a URL of HTTP with a host, without credentials and without a query.
fn parse_address(text: &str) -> Option<ServerAddress> {
    if text.contains(['{', '}']) {
        return None;
    }
    let url = Url::parse(text.trim()).ok()?;
    let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
    let has_more = !url.username().is_empty() || url.password().is_some() || url.query().is_some();
    (is_http && !has_more).then(|| ServerAddress {
        origin: url.origin().ascii_serialization(),
        prefix: url.path().trim_end_matches('/').to_owned(),
    })
}
