//! An empty scenario: one step, and a load if it is given.

use super::{Entered, find_load_test, render_places, show};
use crate::source::{
    Diff, NewScenario, NewStep, OptionValue, ParameterList, RefusedField, add_checked_scenario,
    read_source, replace_source,
};
use crate::ui::answer::Answer;
use crate::ui::dashboard::Dashboard;
use crate::ui::editor::text_version;
use crate::ui::frame::{Content, Section, render_page};
use crate::ui::pages::edit::{check_written, render_diff, render_stale};
use crate::ui::request::Fields;
use crate::ui::route::Route;
use crate::workspace::LoadTest;
use http::StatusCode;
use loadtest_console::error::Error;
use loadtest_language::METHODS;
use maud::{Markup, html};
use std::sync::Arc;

/// The length of a load that is given without one.
const DURATION: &str = "1m";

/// Renders the form, with what was entered and why it is refused.
pub(super) fn render_form(
    dashboard: &Dashboard,
    tests: &[LoadTest],
    entered: &Entered<'_>,
) -> Markup {
    let form = entered.form;
    let errors = |key: &str| {
        let own = entered.refused.iter().filter(move |one| one.key == key);
        own.map(|one| one.message.as_str()).collect::<Vec<_>>()
    };
    let field = |name: &str, label: &str, example: &str, key: &str| {
        let is_refused = !errors(key).is_empty();
        let error = is_refused.then(|| format!("new-{key}-error"));
        html! {
            label { (label)
                input name=(name) value=(form.raw(name).unwrap_or_default()) placeholder=(example) autocomplete="off" spellcheck="false"
                    required[matches!(name, "name" | "url")] aria-invalid=[is_refused.then_some("true")] aria-describedby=[error];
            }
        }
    };
    html! {
        form method="post" action=(Route::PreviewScenario.path()) {
            fieldset {
                legend { "An empty scenario" }
                div.fields { div.field.(if entered.refused.is_empty() { "plain" } else { "has-error" }) {
                    (field("name", "Function", "visit", "name"))
                    (field("base", "Base URL", "http://localhost:3000", "base"))
                    label { "Method" select name="method" { @for method in METHODS { option value=(method) selected[form.get("method") == Some(method)] { (method.to_uppercase()) } } } }
                    (field("url", "URL of its step", "/products", "request"))
                    (field("rate", "Rate", "10/s", "load"))
                    (field("ramp_up", "Ramp-up", "5s", "load"))
                    (field("duration", "Duration", DURATION, "load"))
                    (render_places(dashboard, tests, form.get("file")))
                    button { "Show the changes" }
                    @for key in ["name", "base", "request", "load"] {
                        @let errors = errors(key);
                        @if !errors.is_empty() { div id={ "new-" (key) "-error" } { @for error in errors { p.s-bad { (error) } } } }
                    }
                } }
            }
        }
    }
}

/// Reads the fields of the form.
fn collect_scenario(form: &Fields) -> NewScenario {
    let mut options = Vec::new();
    if let Some(base) = form.get("base") {
        options.push(("base".to_owned(), OptionValue::Text(base.to_owned())));
    }
    let (rate, ramp_up, duration) = (form.get("rate"), form.get("ramp_up"), form.get("duration"));
    if rate.or(ramp_up).or(duration).is_some() {
        let named = [("ramp_up", ramp_up), ("for", duration.or(Some(DURATION)))];
        let named = named
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        let load = ParameterList {
            word: "rate".to_owned(),
            first: rate.unwrap_or_default().to_owned(),
            named: named.collect(),
        };
        options.push(("load".to_owned(), OptionValue::Call(load)));
    }
    let request = OptionValue::Request {
        method: form.get("method").unwrap_or("get").to_owned(),
        url: form.get("url").unwrap_or_default().to_owned(),
    };
    NewScenario {
        name: form.get("name").unwrap_or_default().to_owned(),
        description: String::new(),
        options,
        steps: vec![NewStep {
            name: "request".to_owned(),
            options: vec![("request".to_owned(), request)],
            returns: None,
        }],
    }
}

/// Answers the difference that the new scenario would make, or the form again with what is in its way.
///
/// # Errors
/// When there is no such load test, or it cannot be read.
pub(in crate::ui::pages) fn preview(dashboard: &Dashboard, form: &Fields) -> Result<Answer, Error> {
    let load_test = find_load_test(dashboard, form)?;
    let text = read_source(&load_test.path)?;
    let new = collect_scenario(form);
    let checked = match check_base(&new) {
        Some(refused) => Err(vec![refused]),
        None => add_checked_scenario(&text, &new),
    };
    let edited = match checked {
        Ok(edited) => edited,
        Err(refused) => {
            let entered = Entered {
                unread: None,
                form,
                refused: &refused,
            };
            return Ok(show(dashboard, &entered));
        }
    };
    let diff = Diff::new(&text, &edited.splices);
    let page = render_changes(dashboard, &load_test, &new, (&text, &diff), false)?;
    Ok(Answer::page(page))
}

/// Renders the difference that a new scenario makes to a text. If `is_stale`, it was another one when Save was pressed.
fn render_changes(
    dashboard: &Dashboard,
    load_test: &LoadTest,
    new: &NewScenario,
    (text, diff): (&str, &Diff),
    is_stale: bool,
) -> Result<Markup, Error> {
    let json = serde_json::to_string(new).map_err(Error::encode("the scenario"))?;
    let shown = dashboard.shown_path(&load_test.path).to_string();
    let content = Content {
        title: "Changes".to_owned(),
        section: Section::New,
        stream: String::new(),
        body: html! {
            h1 { "Changes of " code { (shown) } }
            @if is_stale { (render_stale()) }
            (render_diff(diff))
            form.line method="post" action=(Route::AddScenario.path()) {
                input type="hidden" name="file" value=(shown);
                input type="hidden" name="scenario" value=(json);
                input type="hidden" name="version" value=(text_version(text));
                button.primary data-key="Ctrl s" { "Save" }
                a.button href=(Route::New.path()) { "Discard" }
            }
        },
    };
    Ok(render_page(dashboard, &content, None))
}

/// Writes the scenario that a preview showed. If the file changed since, shows what it would add now.
///
/// # Errors
/// When it cannot be added any more, or the file cannot be written.
pub(in crate::ui::pages) fn add(
    dashboard: &Arc<Dashboard>,
    form: &Fields,
) -> Result<Answer, Error> {
    let load_test = find_load_test(dashboard, form)?;
    let text = read_source(&load_test.path)?;
    let new: NewScenario = serde_json::from_str(form.raw("scenario").unwrap_or_default())
        .map_err(|error| Error::usage(format!("the scenario cannot be read: {error}")))?;
    if let Some(refused) = check_base(&new) {
        return Err(Error::usage(refused.message));
    }
    let edited = add_checked_scenario(&text, &new).map_err(|refused| {
        let messages: Vec<_> = refused.into_iter().map(|one| one.message).collect();
        Error::usage(messages.join("\n"))
    })?;
    if form.get("version") != Some(&text_version(&text)) {
        let diff = Diff::new(&text, &edited.splices);
        let page = render_changes(dashboard, &load_test, &new, (&text, &diff), true)?;
        return Ok(Answer::Page(StatusCode::CONFLICT, page));
    }
    replace_source(&load_test.path, &text, &edited.text)?;
    let done = format!(
        "added the scenario {} to {}",
        new.name,
        dashboard.shown_path(&load_test.path)
    );
    let identity = format!("{}::{}::{}", load_test.package, load_test.name, new.name);
    let page = check_written(dashboard, &identity, &load_test.path, done);
    Ok(Answer::SeeOther(page))
}

/// Refuses a base URL with credentials, which would stand in the source.
fn check_base(new: &NewScenario) -> Option<RefusedField> {
    let holds_credentials = |base: &str| {
        let url = url::Url::parse(base);
        url.is_ok_and(|url| !url.username().is_empty() || url.password().is_some())
    };
    let mut bases = new.options.iter().filter(|(key, _)| key == "base");
    bases.find_map(|(key, value)| {
        let OptionValue::Text(base) = value else {
            return None;
        };
        holds_credentials(base).then(|| RefusedField {
            key: key.clone(),
            message: "the base URL holds a user or a password, which would be in the source: \
                      send it with `basic(..)` and a secret"
                .to_owned(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "use loadtest::prelude::*;\n\nloadtest::main!();\n";

    fn refused(changes: &[(&str, &str)]) -> Vec<RefusedField> {
        let mut form = Fields::default();
        let fields = [("name", "visit"), ("url", "/products")];
        for (name, value) in fields.iter().chain(changes) {
            form = form.with(name, value);
        }
        let new = collect_scenario(&form);
        add_checked_scenario(TEXT, &new).err().unwrap_or_default()
    }

    #[test]
    fn a_wrong_value_is_refused_at_its_field_in_the_words_of_the_macro() {
        assert_eq!(refused(&[]), []);
        assert_eq!(
            refused(&[("base", "http://localhost:1"), ("rate", "10/s")]),
            []
        );
        for (changes, key, words) in [
            (
                &[("name", "a b")][..],
                "name",
                "is not a valid name of a function",
            ),
            (
                &[("name", "fn")],
                "name",
                "is not a valid name of a function",
            ),
            (&[("url", "/a b")], "request", "a URL cannot contain"),
            (&[("url", "")], "request", ""),
            (
                &[("url", "/{{login.response}}")],
                "request",
                "no step or value named `login`",
            ),
            (
                &[("base", "localhost")],
                "base",
                "a base is an absolute URL",
            ),
            (
                &[("base", "http://a b")],
                "base",
                "a URL cannot contain ' '",
            ),
            (&[("rate", "0/s")], "load", "a load of 0 sends nothing"),
            (&[("rate", "10")], "load", ""),
            (
                &[("rate", "10/s"), ("duration", "0s")],
                "load",
                "a load of no length",
            ),
            (
                &[("rate", "10/s"), ("ramp_up", "2m"), ("duration", "1m")],
                "load",
                "the ramp-up is part of `for`",
            ),
            (&[("ramp_up", "5s")], "load", ""),
            (&[("duration", "soon"), ("rate", "1/s")], "load", ""),
        ] {
            let refused = refused(changes);
            assert_eq!(refused.len(), 1, "{changes:?}: {refused:?}");
            assert_eq!(refused[0].key, key, "{changes:?}: {refused:?}");
            assert!(
                refused[0].message.contains(words),
                "{changes:?}: {refused:?}"
            );
            assert!(
                !refused[0].message.contains("a form cannot write"),
                "{changes:?}: {refused:?}"
            );
        }
    }

    #[test]
    fn every_wrong_field_is_told_at_once() {
        let all = refused(&[("name", "1a"), ("url", "/a b"), ("rate", "x")]);
        let keys: Vec<_> = all.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(keys, ["load", "request", "name"], "{all:?}");
    }
}
