//! New tests: from a copied curl command, a HAR, an OpenAPI document or a Postman collection, or an empty scenario.

use super::super::answer::Answer;
use super::super::command::{CommandOutput, run_command_with_input};
use super::super::dashboard::{Dashboard, ImportDraft};
use super::super::frame::{Content, Section};
use super::super::request::Fields;
use super::super::route::Route;
use super::edit::{METHODS, render_diff};
use super::text::render_output;
use crate::error::Error;
use crate::policy::Action;
use crate::source::{
    Diff, EditedSource, NewScenario, NewStep, OptionValue, add_module, add_scenario, create_source,
    read_source, replace_source,
};
use crate::ui::guard::random_secret;
use crate::workspace::LoadTest;
use maud::{Markup, html};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The formats that `import` reads, with what is said of them.
const FORMATS: [(&str, &str); 4] = [
    ("curl", "curl commands"),
    ("har", "a HAR file"),
    ("openapi", "an OpenAPI document"),
    ("postman", "a Postman collection"),
];
/// The line that an imported module does not have.
const MAIN: &str = "loadtest::main!();";

/// Renders the page: the forms, and the import that was read last.
pub(super) fn render(dashboard: &Dashboard) -> Content {
    let refusal = dashboard.refusal(Action::Edit);
    let tests = dashboard.workspace.load_tests(&[]).unwrap_or_default();
    let draft = dashboard.import_draft();
    let body = html! {
        h1 { "New test" }
        @if let Some(refusal) = &refusal { p.notice { "Nothing can be written here: " (refusal) } }
        @else if tests.is_empty() {
            p { "There is no load test in this workspace yet. " code { "cargo loadtest init" } " adds one with an example." }
        } @else {
            form method="post" action=(Route::ReadImport.path()) {
                fieldset {
                    legend { "From requests" }
                    label.wide { "A copied curl command, a HAR, an OpenAPI document or a Postman collection"
                        textarea name="text" rows="8" spellcheck="false" required data-drop placeholder="curl 'http://localhost:3000/products' -H 'accept: application/json'" {}
                    }
                    p.line { input type="file" aria-label="Read a file" data-file hidden; button data-key="Ctrl Enter" { "Read" } }
                    p.sub { "Nothing is sent and nothing is run. Credentials become secrets, and values of earlier answers are linked." }
                }
            }
            @if let Some(draft) = &draft { (render_draft(dashboard, draft, &tests)) }
            form method="post" action=(Route::AddScenario.path()) {
                fieldset {
                    legend { "An empty scenario" }
                    div.fields { div.field {
                        label { "Function" input name="name" placeholder="visit" required autocomplete="off" spellcheck="false"; }
                        label { "Base URL" input name="base" placeholder="http://localhost:3000" autocomplete="off" spellcheck="false"; }
                        label { "Method" select name="method" { @for method in METHODS { option value=(method) { (method.to_uppercase()) } } } }
                        label { "URL of its step" input name="url" placeholder="/products" required autocomplete="off" spellcheck="false"; }
                        label { "Rate" input name="rate" placeholder="10/s" autocomplete="off"; }
                        label { "Ramp-up" input name="ramp_up" placeholder="5s" autocomplete="off"; }
                        label { "Duration" input name="duration" placeholder="1m" autocomplete="off"; }
                        (render_places(dashboard, &tests))
                        button { "Add it" }
                    } }
                }
            }
        }
    };
    super::plain(Section::Scenarios, "New test", body)
}

fn render_places(dashboard: &Dashboard, tests: &[LoadTest]) -> Markup {
    html! {
        label { "In" select name="file" { @for test in tests { @let path = dashboard.shown_path(&test.path).to_string(); option value=(path) { (path) } } } }
    }
}

fn render_draft(dashboard: &Dashboard, draft: &ImportDraft, tests: &[LoadTest]) -> Markup {
    // A name that is taken has no preview: another one can be given.
    let preview = tests
        .first()
        .and_then(|test| place_module(&test.path, &draft.name).ok());
    html! {
        section {
            h2 { "Read: " (draft.format) }
            @if !draft.messages.is_empty() { (render_output("Remarks", &draft.messages)) }
            @match &draft.source {
                None => {}
                Some(source) => {
                    form method="post" action=(Route::SaveImport.path()) {
                        input type="hidden" name="draft" value=(draft.number);
                        div.fields { div.field {
                            label { "Module" input name="name" value=(draft.name) required autocomplete="off" spellcheck="false"; }
                            (render_places(dashboard, tests))
                            button.primary data-key="Ctrl s" { "Save as Rust" }
                        } }
                    }
                    @if let Some((path, text, edited)) = &preview {
                        h3 { code { (dashboard.shown_path(path)) } }
                        (render_output("Source of the module", &module_source(source)))
                        h3 { code { (dashboard.shown_path(&tests[0].path)) } }
                        (render_diff(&Diff::new(text, &edited.splices)))
                    }
                }
            }
        }
    }
}

/// Returns the path of a new module of a load test, the text of that, and its text with the module.
fn place_module(load_test: &Path, name: &str) -> Result<(PathBuf, String, EditedSource), Error> {
    let folder = load_test.file_stem().unwrap_or_default();
    let file = format!("{name}.rs");
    let path = load_test.with_file_name(folder).join(&file);
    let text = read_source(load_test)?;
    let shown = format!("{}/{file}", folder.to_string_lossy());
    let edited =
        add_module(&text, name, &shown).map_err(|refusal| Error::usage(refusal.to_string()))?;
    Ok((path, text, edited))
}

/// Returns imported source as a module: the load test that it goes into has a `main` already.
fn module_source(source: &str) -> String {
    let lines = source.lines().filter(|line| line.trim() != MAIN);
    let text: Vec<_> = lines.collect();
    format!("{}\n", text.join("\n").trim_end())
}

/// Leads back to the page with what was refused.
pub(super) fn refuse(dashboard: &Dashboard, error: &Error) -> Answer {
    let help = error.help().map(|help| format!("\n→ {help}"));
    let text = format!("{error}{}", help.unwrap_or_default());
    Answer::SeeOther(dashboard.leave_notice(&Route::New.path(), false, text))
}

/// Reads what was pasted or dropped, and shows what would be written.
///
/// # Errors
/// When this program cannot be started again.
pub(super) fn read(dashboard: &Dashboard, form: &Fields) -> Result<Answer, Error> {
    let text = form.raw("text").unwrap_or_default();
    let Some(format) = detect_format(text) else {
        return Err(Error::usage(
            "this is no curl command, HAR, OpenAPI document or Postman collection",
        ));
    };
    let words = ["import", format, "-"].map(str::to_owned);
    let output: CommandOutput = run_command_with_input(&dashboard.folder, &words, text.as_bytes())?;
    let source = output.is_ok.then_some(output.stdout);
    let shown = FORMATS
        .iter()
        .find(|(known, _)| *known == format)
        .map_or(format, |(_, words)| words);
    dashboard.set_import_draft(Some(ImportDraft {
        number: random_secret(),
        format: shown.to_owned(),
        name: source
            .as_deref()
            .and_then(find_function)
            .unwrap_or_else(|| "imported".to_owned()),
        source,
        messages: output.stderr,
    }));
    Ok(Answer::SeeOther(Route::New.path()))
}

/// Guesses the format of a text by what only that format has.
fn detect_format(text: &str) -> Option<&'static str> {
    let begin = text.trim_start();
    if begin.starts_with("curl") {
        return Some("curl");
    }
    if begin.starts_with('{') {
        let keys: serde_json::Map<String, serde_json::Value> = serde_json::from_str(begin).ok()?;
        let formats = [
            ("log", "har"),
            ("openapi", "openapi"),
            ("swagger", "openapi"),
            ("item", "postman"),
            ("collection", "postman"),
        ];
        return formats
            .iter()
            .find(|(key, _)| keys.contains_key(*key))
            .map(|(_, format)| *format);
    }
    let is_key = |line: &str| line.starts_with("openapi:") || line.starts_with("swagger:");
    begin.lines().any(is_key).then_some("openapi")
}

/// Returns the name of the first scenario of a source.
fn find_function(source: &str) -> Option<String> {
    let file = crate::source::FileSource::read(source).ok()?;
    file.scenarios
        .first()
        .map(|scenario| scenario.function.clone())
}

/// Writes the import as a module of a load test.
///
/// # Errors
/// When there is no import, its name is taken, or a file cannot be written.
pub(super) fn save(dashboard: &Arc<Dashboard>, form: &Fields) -> Result<Answer, Error> {
    dashboard.check_permission(Action::Edit)?;
    let draft = dashboard.import_draft();
    let draft = draft.filter(|draft| form.get("draft") == Some(&draft.number));
    let source = draft.as_ref().and_then(|draft| draft.source.as_deref());
    let source = source.ok_or_else(|| {
        Error::usage("other requests were read since this page was shown: read these again")
    })?;
    let name = form.get("name").unwrap_or_default();
    let load_test = find_load_test(dashboard, form)?;
    let (path, text, edited) = place_module(&load_test.path, name)?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(Error::io("create the folder", folder))?;
    }
    create_source(&path, &module_source(source))?;
    replace_source(&load_test.path, &text, &edited.text)?;
    dashboard.set_import_draft(None);
    let done = format!(
        "saved {} as a module of {}",
        dashboard.shown_path(&path),
        dashboard.shown_path(&load_test.path)
    );
    dashboard.refresh_listing();
    let function = find_function(source).unwrap_or_default();
    let identity = format!(
        "{}::{}::{name}::{function}",
        load_test.package, load_test.name
    );
    let page = Route::Edit(identity).path();
    Ok(Answer::SeeOther(dashboard.leave_notice(&page, true, done)))
}

/// Adds a scenario of one step to a load test.
///
/// # Errors
/// When its name is taken, a value cannot be, or the file cannot be written.
pub(super) fn add(dashboard: &Arc<Dashboard>, form: &Fields) -> Result<Answer, Error> {
    dashboard.check_permission(Action::Edit)?;
    let load_test = find_load_test(dashboard, form)?;
    let text = read_source(&load_test.path)?;
    let name = form.get("name").unwrap_or_default();
    let mut options = Vec::new();
    options.extend(
        form.get("base")
            .map(|base| ("base".to_owned(), OptionValue::Text(base.to_owned()))),
    );
    if let Some(rate) = form.get("rate") {
        let named = [
            ("ramp_up", form.get("ramp_up")),
            ("for", form.get("duration").or(Some("1m"))),
        ];
        let named = named
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        options.push((
            "load".to_owned(),
            OptionValue::Call(crate::source::ParameterList {
                word: "rate".to_owned(),
                first: rate.to_owned(),
                named: named.collect(),
            }),
        ));
    }
    let request = OptionValue::Request {
        method: form.get("method").unwrap_or("get").to_owned(),
        url: form.get("url").unwrap_or_default().to_owned(),
    };
    let new = NewScenario {
        name: name.to_owned(),
        description: String::new(),
        options,
        steps: vec![NewStep {
            name: "request".to_owned(),
            options: vec![("request".to_owned(), request)],
            returns: None,
        }],
    };
    if form.get("base").is_some_and(holds_credentials) {
        return Err(Error::usage(
            "the base URL holds a user or a password, which would stand in the source",
        )
        .with_help("leave it out, and send it with `basic(..)` and a secret"));
    }
    let edited = add_scenario(&text, &new).map_err(|refusal| Error::usage(refusal.to_string()))?;
    replace_source(&load_test.path, &text, &edited.text)?;
    let done = format!(
        "added the scenario {name} to {}",
        dashboard.shown_path(&load_test.path)
    );
    dashboard.refresh_listing();
    let identity = format!("{}::{}::{name}", load_test.package, load_test.name);
    let page = Route::Edit(identity).path();
    Ok(Answer::SeeOther(dashboard.leave_notice(&page, true, done)))
}

fn holds_credentials(base: &str) -> bool {
    let url = url::Url::parse(base);
    url.is_ok_and(|url| !url.username().is_empty() || url.password().is_some())
}

/// Finds the load test that a form names; a form names none by a path of its own.
fn find_load_test(dashboard: &Dashboard, form: &Fields) -> Result<LoadTest, Error> {
    let wanted = form.get("file").unwrap_or_default();
    let tests = dashboard.workspace.load_tests(&[])?;
    let found = tests
        .into_iter()
        .find(|test| dashboard.shown_path(&test.path).to_string() == wanted);
    found.ok_or_else(|| Error::usage(format!("`{wanted}` is no load test of this workspace")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_known_by_what_only_it_has() {
        for (text, format) in [
            ("  curl 'http://localhost/'", Some("curl")),
            ("{\"log\": {\"entries\": []}}", Some("har")),
            ("{\"openapi\": \"3.1.0\"}", Some("openapi")),
            ("{\"swagger\": \"2.0\"}", Some("openapi")),
            ("# An API\nopenapi: 3.0.0\ninfo: {}\n", Some("openapi")),
            ("{\"info\": {}, \"item\": []}", Some("postman")),
            ("{\"something\": 1}", None),
            ("{", None),
            ("hello", None),
            ("", None),
        ] {
            assert_eq!(detect_format(text), format, "{text}");
        }
    }

    #[test]
    fn a_module_has_no_main_of_its_own() {
        let source = "use loadtest::prelude::*;\n\n#[scenario]\nfn a() {}\n\nloadtest::main!();\n";
        assert_eq!(
            module_source(source),
            "use loadtest::prelude::*;\n\n#[scenario]\nfn a() {}\n"
        );
    }
}
