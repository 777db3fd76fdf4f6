//! Parts of URLs that answers give: of `location`, of `link`, of texts in JSON.

use super::super::super::recording::Origin;
use super::super::kind::{ValueKind, kind};
use super::super::label::Label;
use super::super::{LISTS, has_word};
use super::Taker;

/// How the origin of a part is made of the texts before and after it.
type Part<'a> = &'a dyn Fn(&str, &str) -> Origin;

impl Taker<'_> {
    /// The values in a URL, each by what is before it.
    pub(super) fn url(&mut self, url: &str, told: &str, origin: Part<'_>) {
        let begin = path_of(url);
        let end = url.find('#').unwrap_or(url.len()).max(begin);
        let query = url[begin..end].find('?').map_or(end, |at| begin + at);
        let mut label = Label::default();
        for segment in url[begin..query].split('/') {
            if !label.around.is_empty() || kind(segment) > ValueKind::Word {
                label.key = vec!["id".to_owned()];
                self.part(url, segment, &label, told, origin);
            }
            if kind(segment) <= ValueKind::Word {
                label = Label::segment(segment);
            }
        }
        for pair in url[query..end].trim_start_matches('?').split('&') {
            if let Some((key, value)) = pair.split_once('=') {
                let label = Label::field(key, [].into_iter(), "");
                self.part(url, value, &label, told, origin);
            }
        }
    }

    /// A part of a URL: what is before it has to be there for the first time.
    fn part(&mut self, url: &str, part: &str, label: &Label, told: &str, origin: Part<'_>) {
        let value = part;
        let is_number = matches!(kind(value), ValueKind::Number(_));
        if !(is_number || kind(value) >= ValueKind::Rare) || !self.offers.wanted.has(value) {
            return;
        }
        let is_bound =
            |letter: Option<char>| letter.is_none_or(|letter| "/?&=;# ".contains(letter));
        let at = url.match_indices(part).map(|(at, _)| at).find(|at| {
            is_bound(url[..*at].chars().next_back())
                && is_bound(url[at + part.len()..].chars().next())
        });
        let Some(at) = at else { return };
        let Some(before) = leading(url, at) else {
            return;
        };
        let after = url[at + part.len()..].chars().next();
        let origin = origin(before, &after.map_or_else(String::new, String::from));
        self.put(value, origin, label.clone(), false, told.to_owned());
    }

    /// What the links of a header lead to (<https://www.rfc-editor.org/rfc/rfc8288>).
    pub(super) fn links(&mut self, value: &str) {
        let exchange = self.number;
        for link in value.split('<').skip(1) {
            let Some((target, parameters)) = link.split_once('>') else {
                continue;
            };
            let mut parameters = parameters.split([';', ',']);
            let rel = parameters.find_map(|parameter| parameter.trim().strip_prefix("rel="));
            let rel = rel.map(|rel| rel.trim_matches('"').split(' ').next().unwrap_or_default());
            let Some(rel) =
                rel.filter(|rel| !rel.is_empty() && !has_word(&LISTS.browser_links, rel))
            else {
                continue;
            };
            let origin = || Origin::Link {
                exchange,
                rel: rel.to_owned(),
            };
            let told = || format!("the link `{rel}`");
            self.link(target, origin, told);
        }
    }
}

/// Whether a URL says its host.
pub(super) fn is_absolute(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

/// Where the path of a URL begins, which differs neither in host nor in port from one target to the next.
fn path_of(url: &str) -> usize {
    let Some(scheme) = url.find("://").filter(|_| is_absolute(url)) else {
        return 0;
    };
    let host = scheme + 3;
    url[host..]
        .find('/')
        .map_or(url.len(), |slash| host + slash)
}

/// The shortest text that leads to a part of a URL and nowhere else, without a value in it; neither host nor port.
fn leading(url: &str, at: usize) -> Option<&str> {
    let path = path_of(url);
    let mut starts = url.get(path..at)?.rmatch_indices(['/', '?', '&', ';']);
    let before = starts.find_map(|(start, _)| {
        let before = &url[path + start..at];
        let is_named = before.bytes().any(|byte| byte.is_ascii_alphabetic());
        (is_named && url.find(before) == Some(path + start)).then_some(before)
    })?;
    let mut words = before.split(['/', '?', '&', '=', ';']);
    words
        .all(|word| kind(word) < ValueKind::Rare)
        .then_some(before)
}
