//! What a route answers.

use bytes::Bytes;
use http::{Response, StatusCode, header};
use http_body::{Body, Frame};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use loadtest_console::console;
use maud::Markup;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

pub(super) type AnswerBody = BoxBody<Bytes, Infallible>;

/// An answer, without the headers that all have.
#[derive(Debug)]
pub(super) enum Answer {
    Page(StatusCode, Markup),
    /// Leads to another page after a change.
    SeeOther(String),
    /// The same, with the cookie.
    SignedIn(String),
    Text(StatusCode, String),
    /// A style sheet or a script: it never changes.
    Asset(&'static str, &'static str),
    /// A file for the user: name, type and bytes.
    Download(String, &'static str, Vec<u8>),
    /// Server-sent events.
    Stream(mpsc::Receiver<Bytes>),
}

impl Answer {
    pub(super) fn page(markup: Markup) -> Self {
        Self::Page(StatusCode::OK, markup)
    }

    /// Returns true if a browser may keep the answer.
    pub(super) fn is_lasting(&self) -> bool {
        matches!(self, Self::Asset(..))
    }

    pub(super) fn into_response(self) -> Response<AnswerBody> {
        let (status, kind, body) = match self {
            Self::Page(status, markup) => (
                status,
                "text/html; charset=utf-8",
                full(clean_html(&markup)),
            ),
            Self::SeeOther(path) => return redirect(&path, None),
            Self::SignedIn(cookie) => return redirect("/", Some(&cookie)),
            Self::Text(status, text) => (status, "text/plain; charset=utf-8", full(text)),
            Self::Asset(kind, text) => (StatusCode::OK, kind, full(text)),
            Self::Download(name, kind, bytes) => {
                let mut response = respond(StatusCode::OK, kind, full(bytes));
                let value = format!("attachment; filename=\"{name}\"");
                if let Ok(value) = value.parse() {
                    response
                        .headers_mut()
                        .insert(header::CONTENT_DISPOSITION, value);
                }
                return response;
            }
            Self::Stream(events) => {
                let body = EventBody(events).boxed();
                let mut response = respond(StatusCode::OK, "text/event-stream", body);
                // A proxy that collects an answer would hold it back for ever.
                let at_once = header::HeaderValue::from_static("no");
                response.headers_mut().insert("x-accel-buffering", at_once);
                return response;
            }
        };
        respond(status, kind, body)
    }
}

/// Replaces what could turn a line around or be unseen: no page of ours holds such characters.
pub(super) fn clean_html(markup: &Markup) -> String {
    console::clean_lines(&markup.0)
}

fn respond(status: StatusCode, kind: &'static str, body: AnswerBody) -> Response<AnswerBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = header::HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn redirect(path: &str, cookie: Option<&str>) -> Response<AnswerBody> {
    let mut response = respond(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", full(""));
    let headers = [(header::LOCATION, Some(path)), (header::SET_COOKIE, cookie)];
    for (name, value) in headers {
        if let Some(value) = value.and_then(|value| value.parse().ok()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn full(bytes: impl Into<Bytes>) -> AnswerBody {
    Full::new(bytes.into()).boxed()
}

/// A body that is sent as it comes.
#[derive(Debug)]
struct EventBody(mpsc::Receiver<Bytes>);

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.0.poll_recv(context);
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
