//! Where the service is: servers of version 3 with their variables, host and schemes of version 2.

use super::places::{Document, shortened};
use crate::import::document::Node;
use crate::import::source::Mistake;
use std::fmt::Write as _;
use url::Url;

/// Where a service is that a document does not tell.
const NOWHERE: &str = "http://127.0.0.1:8080";

/// A place of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Server {
    /// `http://host:port`.
    pub(super) origin: String,
    /// What each path begins with; without a slash at its end.
    pub(super) prefix: String,
}

/// Where the operations of a document are, if not where they say themselves.
pub(super) struct Servers {
    usual: Server,
    /// Whether the user says where.
    is_given: bool,
}

impl Servers {
    /// Finds the place of the service; `base` is what the user says.
    ///
    /// # Errors
    /// `base` is no URL of a service.
    pub(super) fn new(document: &Document<'_>, base: Option<&str>) -> Result<Self, Mistake> {
        let root = document.root;
        let base = match base {
            None => None,
            Some(text) => {
                let refused = |words: String| {
                    let said = ["servers", "host"].iter().find_map(|name| root.name(name));
                    Mistake::new(said.unwrap_or_else(|| document.start()), words).help(
                        "write `http://host:port`, with the path that all operations begin with",
                    )
                };
                let server = of_url(text).ok_or_else(|| {
                    refused(format!("`--base-url {text}` is no URL of a service"))
                })?;
                if let Some(rest) = left_out(text) {
                    return Err(refused(format!("`--base-url` has {rest}, and takes none")));
                }
                Some(server)
            }
        };
        let is_given = base.is_some();
        let is_version_two = root.get("swagger").is_some();
        let usual = if root.get("servers").is_some() || !is_version_two {
            listed(document, root, is_given)
        } else {
            Some(of_version_two(document, is_given))
        };
        let usual = usual.unwrap_or_else(|| {
            let words = format!(
                "the document does not say where the service is: `{NOWHERE}` is taken; `--base-url` names another one"
            );
            if !is_given {
                document.note(&document.start(), words);
            }
            nowhere("")
        });
        Ok(Self {
            usual: given(base, usual),
            is_given,
        })
    }

    /// Where all is that does not say otherwise.
    pub(super) fn usual(&self) -> &Server {
        &self.usual
    }

    /// Where an operation is.
    pub(super) fn of(
        &self,
        document: &Document<'_>,
        operation: &Node<'_>,
        item: &Node<'_>,
    ) -> Server {
        let own = [operation, item]
            .into_iter()
            .filter(|node| node.get("servers").is_some())
            .find_map(|node| listed(document, node, true));
        match own {
            Some(own) if self.is_given || own.origin == NOWHERE => Server {
                origin: self.usual.origin.clone(),
                ..own
            },
            Some(own) => own,
            None => self.by_scheme(document, operation),
        }
    }

    /// The usual place, by the scheme that an operation of version 2 has of its own.
    fn by_scheme(&self, document: &Document<'_>, operation: &Node<'_>) -> Server {
        let mut server = self.usual.clone();
        let said = operation.get("schemes").filter(|_| !self.is_given);
        if let Some(scheme) = said.and_then(|schemes| scheme(document, schemes))
            && let Some((_, host)) = server.origin.split_once("://")
            && server.origin != NOWHERE
        {
            server.origin = format!("{scheme}://{host}");
        }
        server
    }
}

fn nowhere(prefix: &str) -> Server {
    Server {
        origin: NOWHERE.to_owned(),
        prefix: prefix.trim_end_matches('/').to_owned(),
    }
}

/// What the user gives goes before; a path only where there is one.
fn given(base: Option<Server>, usual: Server) -> Server {
    match base {
        None => usual,
        Some(base) if base.prefix.is_empty() => Server {
            prefix: usual.prefix,
            ..base
        },
        Some(base) => base,
    }
}

/// The first of a list of servers that can be used.
fn listed(document: &Document<'_>, node: &Node<'_>, is_given: bool) -> Option<Server> {
    let servers = node.get("servers")?;
    if !servers.is_list() {
        let words = format!("servers are a list, and this is {}", servers.kind());
        document.note(&servers.beginning(), words);
    }
    for server in servers.items() {
        let Some(url) = server.get("url").and_then(Node::text) else {
            document.note(
                &server.beginning(),
                "a server has a `url`, and this has none",
            );
            continue;
        };
        let place = server
            .get("url")
            .map_or(server.beginning(), |url| url.span.clone());
        let tell = |url: &str| {
            if let Some(rest) = left_out(url).filter(|_| !is_given) {
                let words = format!("the URL of the server has {rest}: that is left out");
                document.note(&place, words);
            }
        };
        let url = with_defaults(url, server.get("variables"));
        if let Some(server) = of_url(&url) {
            tell(&url);
            return Some(server);
        }
        if let Some(rest) = url.strip_prefix("//")
            && let Some(server) = of_url(&format!("https://{rest}"))
        {
            tell(&format!("https://{rest}"));
            return Some(server);
        }
        if !url.contains("://") && !url.contains(['{', ' ']) {
            let url = url.trim_start_matches(['.', '/']);
            let whole = of_url(&format!("{NOWHERE}/{url}"));
            if let Some(whole) = whole {
                tell(&format!("{NOWHERE}/{url}"));
                if !is_given {
                    let words = format!(
                        "the server is where the document is, which is not known: `{NOWHERE}` is taken; `--base-url` names another one"
                    );
                    document.note(&place, words);
                }
                return Some(nowhere(&whole.prefix));
            }
        }
        let words = format!("`{}` is no URL of a service", shortened(&url));
        document.note(&place, words);
    }
    None
}

/// A URL with the values that its variables have where nobody says otherwise.
fn with_defaults(url: &str, variables: Option<&Node<'_>>) -> String {
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
        match value {
            Some(value) => text.push_str(&value),
            None => {
                let _ = write!(text, "{{{name}}}");
            }
        }
        rest = after;
    }
    text + rest
}

fn of_version_two(document: &Document<'_>, is_given: bool) -> Server {
    let root = document.root;
    let prefix = root.text_of("basePath").unwrap_or_default();
    let schemes = root.get("schemes").filter(|_| !is_given);
    let scheme = schemes.and_then(|schemes| scheme(document, schemes));
    let prefix = format!("/{}", prefix.trim_start_matches('/'));
    let Some(host) = root.get("host") else {
        let words = format!(
            "the document does not say its `host`: `{NOWHERE}` is taken; `--base-url` names another one"
        );
        if !is_given {
            document.note(&document.start(), words);
        }
        return of_url(&format!("{NOWHERE}{prefix}")).unwrap_or_else(|| nowhere(""));
    };
    let text = host.text().unwrap_or_default();
    let is_local = ["127.", "localhost", "[::1]"]
        .iter()
        .any(|local| text.starts_with(local));
    let scheme = scheme.unwrap_or(if is_local { "http" } else { "https" });
    of_url(&format!("{scheme}://{text}{prefix}")).unwrap_or_else(|| {
        let words = format!("this is no host: `{NOWHERE}` is taken");
        document.note(&host.span, words);
        nowhere(&prefix)
    })
}

/// The scheme of HTTP among those of version 2, of which others are told.
fn scheme(document: &Document<'_>, schemes: &Node<'_>) -> Option<&'static str> {
    let names: Vec<_> = schemes.items().iter().filter_map(Node::text).collect();
    let scheme = ["https", "http"]
        .into_iter()
        .find(|scheme| names.contains(scheme));
    if scheme.is_none() && !names.is_empty() {
        let words = format!(
            "`{}` is not HTTP, which is sent all the same",
            shortened(&names.join("`, `"))
        );
        document.note(&schemes.beginning(), words);
    }
    scheme
}

/// What a URL has that is no part of a place.
fn left_out(text: &str) -> Option<&'static str> {
    let url = Url::parse(text.trim()).ok()?;
    let has_user = !url.username().is_empty() || url.password().is_some();
    match (has_user, url.query().is_some_and(|query| !query.is_empty())) {
        (true, true) => Some("credentials and a query"),
        (true, false) => Some("credentials"),
        (false, true) => Some("a query"),
        (false, false) => None,
    }
}

/// A URL of HTTP with a host, in its parts.
fn of_url(text: &str) -> Option<Server> {
    if text.contains(['{', '}']) {
        return None;
    }
    let url = Url::parse(text.trim()).ok()?;
    let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
    is_http.then(|| Server {
        origin: url.origin().ascii_serialization(),
        prefix: url.path().trim_end_matches('/').to_owned(),
    })
}
