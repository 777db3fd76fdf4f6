//! The HTTP server: from bytes to a route and back.

use super::answer::{Answer, AnswerBody};
use super::command::end_commands;
use super::dashboard::Dashboard;
use super::guard::{RequestRefusal, add_headers};
use super::listen::{Acceptor, Listener};
use super::request::Fields;
use super::route::Route;
use super::{pages, stream};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::interrupt::Interrupts;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The largest form.
const BODY_LIMIT: usize = 1 << 20;
/// The largest form with a document to import.
const IMPORT_LIMIT: usize = 256 << 20;
/// The longest query of an address.
const QUERY_LIMIT: usize = 16 << 10;
const HEAD_LIMIT: Duration = Duration::from_secs(10);
/// The interval between two looks for Ctrl-C.
const POLL: Duration = Duration::from_millis(100);
/// The time that answers under way get at the end.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// Serves until Ctrl-C. A run under way is stopped then, and a second Ctrl-C aborts it.
///
/// # Errors
/// When there is no event loop.
pub(super) fn serve(
    dashboard: &Arc<Dashboard>,
    listeners: Vec<Listener>,
    interrupts: &Interrupts,
) -> Result<(), Error> {
    let failed = |error| Error::failure(format!("cannot start the server: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let (close, closing) = watch::channel(false);
    runtime.block_on(async {
        for listener in listeners {
            let acceptor = listener.into_acceptor().map_err(failed)?;
            tokio::spawn(accept(Arc::clone(dashboard), acceptor, closing.clone()));
        }
        wait_for_end(dashboard, interrupts).await;
        let _ = close.send(true);
        drop(closing);
        let _ = tokio::time::timeout(LAST_ANSWERS, close.closed()).await;
        Ok::<(), Error>(())
    })?;
    end_commands();
    // A page that is being made holds nothing that must be put in order.
    runtime.shutdown_background();
    Ok(())
}

/// Waits for Ctrl-C, and then for the end of the run under way.
async fn wait_for_end(dashboard: &Dashboard, interrupts: &Interrupts) {
    let mut seen = 0;
    loop {
        tokio::time::sleep(POLL).await;
        let count = interrupts.count();
        if count > seen {
            let current = dashboard.runs.current();
            if current.is_some() && seen == 0 {
                console::print_status("Stopping", "the current run (Ctrl-C again to abort)");
                dashboard.runs.close();
            } else if let Some(current) = current {
                dashboard.runs.stop(current.number, "abort");
            }
            seen = count;
        }
        if seen > 0 && dashboard.runs.current().is_none() {
            return;
        }
    }
}

async fn accept(dashboard: Arc<Dashboard>, acceptor: Acceptor, closing: watch::Receiver<bool>) {
    loop {
        let Ok(socket) = acceptor.accept().await else {
            // Without free descriptors, the next try is for later.
            tokio::time::sleep(POLL).await;
            continue;
        };
        let (dashboard, mut closing) = (Arc::clone(&dashboard), closing.clone());
        tokio::spawn(async move {
            let streams = closing.clone();
            let service = service_fn(move |request| {
                let (dashboard, closing) = (Arc::clone(&dashboard), streams.clone());
                async move { Ok::<_, Infallible>(respond(dashboard, request, closing).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_LIMIT)
                .serve_connection(TokioIo::new(socket), service);
            let mut connection = std::pin::pin!(connection);
            tokio::select! {
                _ = connection.as_mut() => {}
                () = wait_for_close(&mut closing) => {
                    connection.as_mut().graceful_shutdown();
                    let _ = connection.await;
                }
            }
        });
    }
}

/// Waits until the server ends.
pub(super) async fn wait_for_close(closing: &mut watch::Receiver<bool>) {
    // A sender that is gone has ended, too.
    let _ = closing.wait_for(|is_closing| *is_closing).await;
}

async fn respond(
    dashboard: Arc<Dashboard>,
    request: Request<Incoming>,
    closing: watch::Receiver<bool>,
) -> Response<AnswerBody> {
    let is_head = *request.method() == http::Method::HEAD;
    let answer = answer(dashboard, request, closing).await;
    let is_lasting = answer.is_lasting();
    let mut response = answer.into_response();
    add_headers(response.headers_mut(), is_lasting);
    if is_head {
        *response.body_mut() = AnswerBody::default();
    }
    response
}

async fn answer(
    dashboard: Arc<Dashboard>,
    request: Request<Incoming>,
    closing: watch::Receiver<bool>,
) -> Answer {
    let (head, body) = request.into_parts();
    let route = Route::find(&head.method, head.uri.path());
    let checked = dashboard
        .guard()
        .check(&head.method, &head.headers, route.as_ref());
    let dashboard = match checked {
        Ok(None) => dashboard,
        Ok(Some(user)) => Arc::new(dashboard.for_visitor(user)),
        Err(refusal) => return refuse(&dashboard, refusal),
    };
    if let Some(reason) = dashboard.stranger() {
        return Answer::Text(StatusCode::FORBIDDEN, format!("{reason}\n"));
    }
    let Some(route) = route else {
        return pages::not_found(&dashboard, "there is no such page");
    };
    let limit = if route == Route::ReadImport {
        IMPORT_LIMIT
    } else {
        BODY_LIMIT
    };
    if head
        .uri
        .query()
        .is_some_and(|query| query.len() > QUERY_LIMIT)
    {
        let text = format!("The address is longer than {QUERY_LIMIT} bytes: select or enter less.");
        return pages::refuse_size(&dashboard, StatusCode::URI_TOO_LONG, &text);
    }
    let Ok(body) = Limited::new(body, limit).collect().await else {
        let text = format!("The form is larger than {} MiB, or broke off.", limit >> 20);
        return pages::refuse_size(&dashboard, StatusCode::PAYLOAD_TOO_LARGE, &text);
    };
    let query = Fields::parse(head.uri.query().unwrap_or_default().as_bytes());
    let form = Fields::parse(&body.to_bytes());
    if route == Route::Stream {
        return Answer::Stream(stream::begin(dashboard, query, closing));
    }
    let page = move || pages::answer(&dashboard, &route, &query, &form);
    let made = tokio::task::spawn_blocking(page).await;
    made.unwrap_or_else(|_| {
        let text =
            "a panic ended this page, which is a bug of the tool; its message is in the terminal";
        Answer::Text(StatusCode::INTERNAL_SERVER_ERROR, text.to_owned())
    })
}

fn refuse(dashboard: &Dashboard, refusal: RequestRefusal) -> Answer {
    if dashboard.guard().note_refusal(Instant::now()) {
        console::print_warning(
            "something tries to reach this dashboard: many requests were refused within a minute",
        );
    }
    let status = refusal.status();
    match refusal {
        RequestRefusal::Host => Answer::Text(status, String::new()),
        RequestRefusal::Secret => Answer::Page(status, pages::locked()),
        RequestRefusal::Origin => Answer::Text(
            status,
            "only pages of this dashboard may do that\n".to_owned(),
        ),
        RequestRefusal::Type => Answer::Text(
            status,
            "the body is not a form of this dashboard\n".to_owned(),
        ),
        RequestRefusal::Proxy => Answer::Text(
            status,
            "this dashboard only answers its proxy, which names the user\n".to_owned(),
        ),
        RequestRefusal::ReadOnly => {
            Answer::Text(status, "this dashboard is read-only\n".to_owned())
        }
    }
}
