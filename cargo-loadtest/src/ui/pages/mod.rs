//! The pages, a file each, and what their forms do.

mod baselines;
mod changes;
mod compare;
pub(super) mod edit;
mod events;
mod journey;
mod load;
mod new;
mod removal;
mod rows;
mod run;
mod runs;
mod scenario;
pub(super) mod scenarios;
mod settings;
pub(super) mod start;
mod text;

use super::answer::Answer;
use super::dashboard::Dashboard;
use super::frame::{Content, Section, render_bare, render_page};
use super::notices;
use super::request::Fields;
use super::route::Route;
use http::StatusCode;
use load::EnteredLoad;
use loadtest_console::error::Error;
use loadtest_model::exit_code::ExitCode;
use maud::{Markup, html};
use std::sync::Arc;

/// Answers a request that the guard let in.
pub(super) fn answer(
    dashboard: &Arc<Dashboard>,
    route: &Route,
    query: &Fields,
    form: &Fields,
) -> Answer {
    if let Some(refusal) = route.action().and_then(|action| dashboard.refusal(action)) {
        return refuse(dashboard, &refusal);
    }
    // The text of an import is neither a name nor an argument.
    let form_checked = if *route == Route::ReadImport {
        Ok(())
    } else {
        form.check()
    };
    if let Err(error) = query.check().and(form_checked) {
        return explain(dashboard, &error);
    }
    let answered = match route {
        Route::Open(code) => Ok(open(dashboard, code)),
        Route::Code => Ok(Answer::Text(StatusCode::OK, dashboard.open_address())),
        Route::Asset(asset) => Ok(Answer::Asset(asset.content_type(), asset.text())),
        Route::Scenarios => scenarios::render(dashboard, query, &EnteredLoad::default())
            .map(|page| show(dashboard, query, &page)),
        Route::Scenario(identity) => {
            scenario::render(dashboard, identity, query, &EnteredLoad::default())
                .map(|page| show(dashboard, query, &page))
        }
        Route::Try(identity) => Ok(show(
            dashboard,
            query,
            &journey::render(dashboard, identity, query),
        )),
        Route::Edit(identity) => {
            edit::render(dashboard, identity).map(|page| show(dashboard, query, &page))
        }
        Route::New => Ok(show(dashboard, query, &new::render(dashboard))),
        Route::ReadImport => {
            new::read(dashboard, form).or_else(|error| Ok(new::refuse(dashboard, &error)))
        }
        Route::SaveImport => {
            new::save(dashboard, form).or_else(|error| Ok(new::refuse(dashboard, &error)))
        }
        Route::PreviewScenario => {
            new::preview(dashboard, form).or_else(|error| Ok(new::refuse(dashboard, &error)))
        }
        Route::AddScenario => {
            new::add(dashboard, form).or_else(|error| Ok(new::refuse(dashboard, &error)))
        }
        Route::PreviewEdit => edit::preview(dashboard, form),
        Route::SaveEdit => edit::save(dashboard, form),
        Route::Runs => runs::render(dashboard, query).map(|page| show(dashboard, query, &page)),
        Route::Run(run) => {
            run::render(dashboard, run, query).map(|page| show(dashboard, query, &page))
        }
        Route::Report(run, format) => run::export(dashboard, run, *format),
        Route::Compare => {
            compare::render(dashboard, query).map(|page| show(dashboard, query, &page))
        }
        Route::Baselines => baselines::render(dashboard).map(|page| show(dashboard, query, &page)),
        Route::Events => events::render(dashboard).map(|page| show(dashboard, query, &page)),
        Route::Settings => settings::render(dashboard).map(|page| show(dashboard, query, &page)),
        Route::Started => Ok(start::answer(dashboard, query)),
        // The server answers it.
        Route::Stream => Ok(not_found(dashboard, "there is no such page")),
        Route::StartRun => changes::start_run(dashboard, form),
        Route::RemoveRuns => removal::remove(dashboard, form),
        Route::StopRun
        | Route::AbortRun
        | Route::Unqueue
        | Route::StartTry
        | Route::SaveBaseline
        | Route::RemoveBaseline
        | Route::CheckSource
        | Route::Duplicate
        | Route::UndoEdit
        | Route::Refresh => changes::change(dashboard, route, form),
    };
    answered.unwrap_or_else(|error| explain(dashboard, &error))
}

/// Answers a page, with the notice that `query` names.
fn show(dashboard: &Dashboard, query: &Fields, content: &Content) -> Answer {
    let name = query.get(notices::FIELD);
    let notice = name.and_then(|name| dashboard.notices.take(name));
    Answer::page(render_page(dashboard, content, notice.as_ref()))
}

/// Exchanges the code of an address for the cookie.
fn open(dashboard: &Dashboard, code: &str) -> Answer {
    let cookie = dashboard
        .guard()
        .use_code(code, tokio::time::Instant::now());
    cookie.map_or_else(
        || Answer::Page(StatusCode::UNAUTHORIZED, locked()),
        Answer::SignedIn,
    )
}

/// Renders the page for those without the cookie: it holds no data.
pub(super) fn locked() -> Markup {
    let body = html! {
        h1 { "loadtest" }
        p { "Open the address in the terminal. It works once, within five minutes." }
        p { "For another one, run " code { "cargo loadtest ui" } " again in the workspace." }
    };
    render_bare("loadtest", &body)
}

/// Renders the page of an address that leads nowhere.
pub(super) fn not_found(dashboard: &Dashboard, text: &str) -> Answer {
    let body = html! { h1 { "Not found" } p { (text) } };
    Answer::Page(
        StatusCode::NOT_FOUND,
        render_page(dashboard, &plain(Section::None, "Not found", body), None),
    )
}

/// Renders why the caller may not do something.
fn refuse(dashboard: &Dashboard, refusal: &str) -> Answer {
    let body = html! { h1 { "Not permitted" } p.notice.t-bad { (refusal) } };
    Answer::Page(
        StatusCode::FORBIDDEN,
        render_page(
            dashboard,
            &plain(Section::None, "Not permitted", body),
            None,
        ),
    )
}

/// Renders why a request is too large.
pub(super) fn refuse_size(dashboard: &Dashboard, status: StatusCode, text: &str) -> Answer {
    let body = html! { h1 { "Too large" } p.notice.t-bad { (text) } };
    Answer::Page(
        status,
        render_page(dashboard, &plain(Section::None, "Too large", body), None),
    )
}

/// Renders an error with its remedy.
fn explain(dashboard: &Dashboard, error: &Error) -> Answer {
    let status = match error.exit_code() {
        ExitCode::Usage => StatusCode::BAD_REQUEST,
        ExitCode::NothingFound => StatusCode::NOT_FOUND,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let body = html! {
        h1 { "This cannot be shown" }
        p.notice.t-bad { (error.to_string()) @if let Some(help) = error.help() { br; "→ " (help) } }
    };
    Answer::Page(
        status,
        render_page(dashboard, &plain(Section::None, "Error", body), None),
    )
}

/// A page that does not change by itself.
fn plain(section: Section, title: impl Into<String>, body: Markup) -> Content {
    Content {
        title: title.into(),
        section,
        stream: String::new(),
        body,
    }
}
