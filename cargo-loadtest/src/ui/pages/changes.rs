//! What the forms of pages do: each is a command of this program, or a word to the run under way.

use super::load::{EnteredLoad, check_load, collect_flags};
use super::{edit, journey, scenario, scenarios};
use crate::ui::answer::Answer;
use crate::ui::dashboard::{Dashboard, Flags, Journey};
use crate::ui::editor::find_scenario;
use crate::ui::request::Fields;
use crate::ui::route::Route;
use loadtest_console::error::Error;
use std::sync::Arc;

/// Does what a form asks for, and leads to the page that shows the result.
///
/// # Errors
/// When the form lacks something, or a program cannot be started.
pub(super) fn change(
    dashboard: &Arc<Dashboard>,
    route: &Route,
    form: &Fields,
) -> Result<Answer, Error> {
    let next = match route {
        Route::StopRun => stop(dashboard, form, "stop"),
        Route::AbortRun => stop(dashboard, form, "abort"),
        Route::Unqueue => {
            let is_out = dashboard
                .runs
                .unqueue(form.parsed("number").unwrap_or_default());
            let text = if is_out {
                "the run is no longer queued"
            } else {
                "the run has started already"
            };
            dashboard.leave_notice(&Route::Scenarios.path(), is_out, text)
        }
        Route::StartTry => start_try(dashboard, form)?,
        Route::SaveBaseline => {
            let (name, run) = (required(form, "name")?, required(form, "run")?);
            do_command(
                dashboard,
                &["baseline", "save", name, run],
                &Route::Baselines,
            )?
        }
        Route::RemoveBaseline => {
            let name = required(form, "name")?;
            do_command(dashboard, &["baseline", "remove", name], &Route::Baselines)?
        }
        Route::Duplicate => duplicate(dashboard, form)?,
        Route::UndoEdit => {
            let version = form.get("version");
            edit::undo(dashboard, required(form, "scenario")?, version)?
        }
        Route::CheckSource => edit::check(dashboard, required(form, "scenario")?)?,
        _ => {
            dashboard.refresh_listing();
            Route::Scenarios.path()
        }
    };
    Ok(Answer::SeeOther(next))
}

fn required<'a>(form: &'a Fields, name: &'a str) -> Result<&'a str, Error> {
    let missing = || Error::usage(format!("the field `{name}` is empty"));
    let value = form.get(name).ok_or_else(missing)?;
    if value.starts_with('-') {
        return Err(Error::usage(format!("the field `{name}` starts with `-`")));
    }
    Ok(value)
}

/// Runs a command; returns the address of the page that shows what it says.
fn do_command(dashboard: &Dashboard, words: &[&str], next: &Route) -> Result<String, Error> {
    // `baseline save` takes its flags behind both words.
    let mut arguments: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    arguments.extend(dashboard.arguments(&[], Flags::Cargo));
    let output = dashboard.run_words(&arguments)?;
    let text = if output.is_ok {
        output.stderr.trim().to_owned()
    } else {
        output.explanation()
    };
    Ok(dashboard.leave_notice(&next.path(), output.is_ok, text))
}

/// Starts a run, or shows again what was entered with what is wrong.
///
/// # Errors
/// When it cannot be started.
pub(super) fn start_run(dashboard: &Arc<Dashboard>, form: &Fields) -> Result<Answer, Error> {
    let chosen: Vec<&str> = match form.get("only") {
        Some(only) => vec![only],
        None => form.all("scenario").collect(),
    };
    // What begins with a dash is no name, but would be a flag.
    let names: Vec<&str> = chosen
        .into_iter()
        .filter(|name| !name.starts_with('-'))
        .collect();
    if names.is_empty() {
        let page = Route::Scenarios.path();
        let page = dashboard.leave_notice(&page, false, "select a scenario to run");
        return Ok(Answer::SeeOther(page));
    }
    let refused = check_load(dashboard, form, &names);
    if !refused.is_empty() {
        let entered = EnteredLoad {
            form: form.clone(),
            refused,
        };
        let none = Fields::default();
        let page = match form.get("page") {
            Some(_) => scenario::render(dashboard, names[0], &none, &entered)?,
            None => scenarios::render(dashboard, &none, &entered)?,
        };
        return Ok(super::show(dashboard, &none, &page));
    }
    let flags = collect_flags(form);
    let mut words = vec!["run", "--watched", "--exact"];
    words.extend(flags.iter().map(String::as_str));
    if form.get("how") == Some("mix") && form.get("only").is_none() {
        words.push("--mix");
    }
    words.extend(&names);
    let title = names.join(", ");
    let number = dashboard.runs.start(
        dashboard.arguments(&words, Flags::Project),
        title.clone(),
        dashboard.visitor(),
    );
    let page = format!("{}?number={number}", Route::Started.path());
    let page = dashboard.leave_notice(&page, true, format!("Queued {title}"));
    Ok(Answer::SeeOther(page))
}

/// Stops or aborts the run that a form names; returns the page to go to.
fn stop(dashboard: &Dashboard, form: &Fields, word: &str) -> String {
    let is_stopped = dashboard
        .runs
        .stop(form.parsed("number").unwrap_or_default(), word);
    let text = match (is_stopped, word) {
        (false, _) => "that run has ended already",
        (true, "stop") => "the run was asked to stop; requests in flight end",
        (true, _) => "the run is aborted",
    };
    dashboard.leave_notice(&current_page(dashboard), is_stopped, text)
}

/// Copies a scenario; returns the page to go to.
fn duplicate(dashboard: &Arc<Dashboard>, form: &Fields) -> Result<String, Error> {
    let identity = required(form, "scenario")?;
    let name = required(form, "name")?;
    let output = dashboard.run(&["duplicate", identity, name], Flags::Project)?;
    if !output.is_ok {
        let page = Route::Scenario(identity.to_owned()).path();
        return Ok(dashboard.leave_notice(&page, false, output.explanation()));
    }
    let module = identity.rsplit_once("::").map_or("", |(module, _)| module);
    let copy = format!("{module}::{name}");
    let path = find_scenario(dashboard, identity)?.path;
    let done = output.stdout.trim().to_owned();
    Ok(edit::check_written(dashboard, &copy, &path, done))
}

fn current_page(dashboard: &Dashboard) -> String {
    match dashboard.runs.current() {
        Some(current) => match current.run {
            Some(run) => Route::Run(run).path(),
            None => format!("{}?number={}", Route::Started.path(), current.number),
        },
        None => Route::Runs.path(),
    }
}

fn start_try(dashboard: &Arc<Dashboard>, form: &Fields) -> Result<String, Error> {
    let identity = required(form, "scenario")?.to_owned();
    let options = ["iteration", "seed", "base-url"].map(|name| (name, form.get(name)));
    let entered = options
        .iter()
        .filter_map(|(name, value)| Some((*name, (*value)?)));
    // The page shows again what was entered.
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    let query = query.extend_pairs(entered.clone()).finish();
    let page = format!("{}?{query}", Route::Try(identity.clone()).path());
    if dashboard.run_under_way().is_some() {
        let text = "a load is running, and a journey would disturb it; try again when it is over";
        return Ok(dashboard.leave_notice(&page, false, text));
    }
    let flags: Vec<String> = entered
        .map(|(name, value)| format!("--{name}={value}"))
        .collect();
    dashboard.set_journey(&identity, Journey::Running);
    let (shared, scenario) = (Arc::clone(dashboard), identity.clone());
    let try_it = move || {
        let ended = journey::run(&shared, &scenario, &flags);
        shared.set_journey(&scenario, ended);
    };
    let thread = std::thread::Builder::new().name("try".to_owned());
    if let Err(error) = thread.spawn(try_it) {
        dashboard.set_journey(&identity, Journey::Failed(error.to_string()));
    }
    Ok(page)
}
