//! An entry as an exchange: what is sent again, and what is expected of it.

use super::super::marked::{Answer, Exchange, Header};
use super::super::source::Note;
use super::archive::Entry;
use super::{body, faults, headers};
use url::Url;

/// The words for an answer of a cache's question.
const NOT_MODIFIED: &str = "it was answered with 304, which asks for a cache: it is sent as at a first visit, and 200 is expected";

/// Reads entries one after another.
#[derive(Debug)]
pub(super) struct Reading {
    has_answers: bool,
    budget: body::Budget,
}

impl Reading {
    /// `has_answers` is false for a list of requests that were never sent.
    pub(super) fn new(has_answers: bool) -> Self {
        Self {
            has_answers,
            budget: body::Budget::default(),
        }
    }

    /// An entry with the `cookie` header that it needs.
    pub(super) fn exchange(
        &mut self,
        entry: &Entry<'_>,
        cookie: Option<String>,
        notes: &mut Vec<Note>,
    ) -> Exchange {
        let mut note = |words: String| notes.push(Note::new(entry.span.clone(), words));
        let recorded = entry.status.filter(|_| self.has_answers);
        let status = match recorded {
            Some(304) => {
                note(NOT_MODIFIED.to_owned());
                Some(200)
            }
            Some(status @ 500..) => {
                note(format!(
                    "it was answered with {status}, an error of the server, and that is expected of it"
                ));
                Some(status)
            }
            other => other,
        };
        if recorded.is_some() && entry.is_internal() {
            note(
                "the browser had the answer in its cache: it is asked for as at a first visit"
                    .to_owned(),
            );
        }
        for (span, words) in faults::faults(entry) {
            notes.push(Note::new(span, words));
        }
        let (body, content_type) = body::of_request(entry, notes);
        let kept = headers::kept(entry, content_type.as_deref());
        if let Some(name) = kept.refused {
            let words = format!("the header `{name}` has control characters, and is left out");
            notes.push(Note::new(entry.span.clone(), words));
        }
        let mut headers = kept.headers;
        headers.extend(cookie.map(|cookie| Header {
            name: "cookie".to_owned(),
            value: cookie.into_bytes(),
        }));
        let answer = status.map(|status| Answer {
            status,
            headers: entry
                .answered
                .iter()
                .filter(|(name, _)| !name.starts_with(':'))
                .map(|(name, value)| Header {
                    name: name.clone(),
                    value: value.clone().into_bytes(),
                })
                .collect(),
            body: body::of_answer(entry, &mut self.budget),
            is_example: false,
        });
        Exchange {
            span: entry.span.clone(),
            method: entry.method.clone(),
            origin: entry.url.origin().ascii_serialization(),
            target: target(&entry.url),
            headers,
            credentials: kept.credentials,
            body,
            expect: status.into_iter().collect(),
            answer,
            ..Exchange::default()
        }
    }
}

/// Path and query as they are sent.
fn target(url: &Url) -> String {
    let query = url
        .query()
        .map_or(String::new(), |query| format!("?{query}"));
    format!("{}{query}", url.path()).replace('`', "%60")
}
