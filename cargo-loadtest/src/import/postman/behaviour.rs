//! Settings of a request or its folders: `protocolProfileBehavior`, a proxy, a certificate.

use super::super::document::Node;
use super::super::recording::Exchange;
use super::Reader;
use super::collection::{Collection, Entry};

/// Most redirects that can be followed.
const MOST_REDIRECTS: u32 = 50;
/// Settings that are not honoured: the default, and the behaviour here.
const OTHERS: [(&str, &str, &str); 10] = [
    (
        "followOriginalHttpMethod",
        "false",
        "a redirect is followed with the method that browsers take",
    ),
    (
        "followAuthorizationHeader",
        "false",
        "`authorization` is not sent to another host",
    ),
    (
        "disableUrlEncoding",
        "false",
        "what no URL can have is percent-encoded",
    ),
    (
        "disableCookies",
        "false",
        "each user keeps cookies for all requests",
    ),
    (
        "protocolVersion",
        "auto",
        "`http = 1` or `http = 2` of the scenario says that for all requests",
    ),
    (
        "disabledSystemHeaders",
        "{}",
        "the headers are sent that always are",
    ),
    ("insecureHTTPParser", "false", "answers have to be valid"),
    ("tlsDisabledProtocols", "[]", "TLS is 1.2 or 1.3"),
    ("tlsCipherSelection", "[]", "the usual ciphers are offered"),
    (
        "tlsPreferServerCiphers",
        "false",
        "the usual ciphers are offered",
    ),
];

/// The settings of a request and of its folders.
pub(super) struct Behaviour<'b, 'n, 'a> {
    pub(super) entry: &'b Entry<'n, 'a>,
    pub(super) collection: &'b Collection<'n, 'a>,
}

impl<'n, 'a> Behaviour<'_, 'n, 'a> {
    fn get(&self, name: &str) -> Option<&'n Node<'a>> {
        let way = self.collection.folders_around(self.entry.folder);
        let inherited = way.into_iter().map(|folder| folder.node);
        let mut nodes = std::iter::once(self.entry.item).chain(inherited);
        nodes.find_map(|node| node.at(&["protocolProfileBehavior", name]))
    }

    pub(super) fn is(&self, name: &str, value: bool) -> bool {
        self.get(name).and_then(Node::boolean) == Some(value)
    }

    /// Applies the settings, and notes those that are not honoured.
    pub(super) fn apply(&self, exchange: &mut Exchange, reader: &mut Reader<'_>) {
        if self.is("followRedirects", false) {
            exchange.redirects = 0;
        } else if let Some(node) = self.get("maxRedirects")
            && let Some(most) = node.number()
        {
            let all = (0..=MOST_REDIRECTS).rev();
            exchange.redirects = all
                .filter(|count| f64::from(*count) <= most)
                .max()
                .unwrap_or(0);
            if most > f64::from(MOST_REDIRECTS) {
                let words = format!("not more than {MOST_REDIRECTS} redirects can be followed");
                reader.note_at_once(&node.span, words);
            }
        }
        if let Some(node) = self.get("strictSSL")
            && node.boolean() == Some(false)
        {
            reader.is_insecure = true;
            let words = "certificates go unchecked for all requests, since they do for this one";
            reader.note_once(&node.span, words);
        }
        for (name, usual, instead) in OTHERS {
            let Some(node) = self.get(name) else {
                continue;
            };
            let said = node.text().map_or_else(|| node.json(), str::to_owned);
            if said != usual && said != "null" {
                let words = format!("`{name}` is not honoured: {instead}");
                reader.note_at_once(&node.beginning(), words);
            }
        }
        let request = self.entry.request;
        for (name, instead) in [
            ("proxy", "requests go straight to the host"),
            (
                "certificate",
                "`identity = \"..\"` of the scenario names one",
            ),
        ] {
            let is_off =
                |node: &Node<'_>| node.get("disabled").and_then(Node::boolean) == Some(true);
            let node = request.get(name).filter(|node| !node.fields().is_empty());
            if let (Some(node), Some(span)) = (node, request.name(name))
                && !is_off(node)
            {
                reader.note_at_once(&span, format!("the {name} is left out: {instead}"));
            }
        }
    }
}
