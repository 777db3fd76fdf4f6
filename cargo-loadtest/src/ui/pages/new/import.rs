//! New tests from a copied curl command, a HAR, an OpenAPI document or a Postman collection.

use super::{Entered, find_load_test, render_places, show};
use crate::source::{Diff, EditedSource, add_module, create_source, read_source, replace_source};
use crate::ui::answer::Answer;
use crate::ui::command::{CommandOutput, run_command_with_input};
use crate::ui::dashboard::{Dashboard, ImportDraft};
use crate::ui::guard::random_secret;
use crate::ui::pages::edit::{check_written, render_diff};
use crate::ui::pages::text::render_output;
use crate::ui::request::Fields;
use crate::ui::route::Route;
use crate::workspace::LoadTest;
use loadtest_console::error::Error;
use maud::{Markup, html};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The formats that `import` reads, with what is said of them.
const FORMATS: [(&str, &str); 6] = [
    ("curl", "curl commands"),
    ("har", "a HAR file"),
    ("openapi", "an OpenAPI document"),
    ("postman", "a Postman collection"),
    ("k6", "a k6 script"),
    ("jmx", "a JMeter plan"),
];
/// How many modules of one name get a number.
const MOST_MODULES: u32 = 100;
/// The line that an imported module does not have.
const MAIN: &str = "loadtest::main!();";

/// Renders the form that reads requests; `mistake` is why those in it could not be read.
pub(super) fn render_form(text: &str, mistake: Option<&str>) -> Markup {
    let is_invalid = mistake.map(|_| "true");
    html! {
        form method="post" action=(Route::ReadImport.path()) {
            fieldset {
                legend { "From requests" }
                label.wide { "A copied curl command, a HAR, an OpenAPI document, a Postman collection, a k6 script or a JMeter plan"
                    textarea name="text" rows="8" spellcheck="false" required data-drop aria-invalid=[is_invalid] aria-describedby=[mistake.map(|_| "text-error")]
                        placeholder="curl 'http://localhost:3000/products' -H 'accept: application/json'" { (text) }
                }
                @if let Some(mistake) = mistake { div.s-bad #text-error { (render_output("Mistake", mistake)) } }
                p.line { input type="file" aria-label="Read a file" data-file hidden; button data-key="Ctrl Enter" { "Read" } }
                p.sub { "Nothing is sent and nothing is run. Credentials become secrets, and values of earlier answers are linked." }
            }
        }
    }
}

/// Renders the requests that were read last, with what would be written.
pub(super) fn render_draft(
    dashboard: &Dashboard,
    draft: &ImportDraft,
    tests: &[LoadTest],
) -> Markup {
    let name = tests.first().map_or_else(
        || draft.name.clone(),
        |test| free_name(&test.path, &draft.name),
    );
    let preview = tests.first().map(|test| place_module(&test.path, &name));
    html! {
        section {
            h2 { "Read: " (draft.format) }
            @if !draft.messages.is_empty() {
                (render_output("Remarks", &draft.messages))
                @if draft.messages.contains("`--") { p.sub { "Options with dashes belong to " code { "cargo loadtest import" } ", in a terminal." } }
            }
                    form method="post" action=(Route::SaveImport.path()) {
                        input type="hidden" name="draft" value=(draft.number);
                        div.fields { div.field {
                            label { "Module" input name="name" value=(name) required autocomplete="off" spellcheck="false"; }
                            (render_places(dashboard, tests, None))
                            button.primary data-key="Ctrl s" { "Save as Rust" }
                            button name="discard" value="1" formaction=(Route::ReadImport.path()) formnovalidate { "Discard" }
                        } }
                    }
                    @if let Some(Err(error)) = &preview { p.s-bad { (error) } }
                    @if let Some(Ok((path, text, edited))) = &preview {
                        h3 { code { (dashboard.shown_path(path)) } }
                        (render_output("Source of the module", &module_source(&draft.source)))
                        h3 { code { (dashboard.shown_path(&tests[0].path)) } }
                        (render_diff(&Diff::new(text, &edited.splices)))
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

/// Returns a name that no module of a load test has: the wanted one, or one with a number.
fn free_name(load_test: &Path, wanted: &str) -> String {
    let is_free =
        |name: &String| place_module(load_test, name).is_ok_and(|(path, ..)| !path.exists());
    let numbered = (2..MOST_MODULES).map(|number| format!("{wanted}_{number}"));
    let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
    names.find(is_free).unwrap_or_else(|| wanted.to_owned())
}

/// Returns imported source as a module: the load test that it goes into has a `main` already.
fn module_source(source: &str) -> String {
    let lines = source.lines().filter(|line| line.trim() != MAIN);
    let text: Vec<_> = lines.collect();
    format!("{}\n", text.join("\n").trim_end())
}

/// Reads what was pasted or dropped, and shows what would be written.
///
/// # Errors
/// When this program cannot be started again.
pub(in crate::ui::pages) fn read(dashboard: &Dashboard, form: &Fields) -> Result<Answer, Error> {
    // What is refused is not to leave the requests before it.
    dashboard.set_import_draft(None);
    if form.get("discard").is_some() {
        return Ok(Answer::SeeOther(Route::New.path()));
    }
    let text = form.raw("text").unwrap_or_default();
    let Some(format) = detect_format(text) else {
        let mistake = if text.trim().is_empty() {
            "nothing was pasted"
        } else {
            "this is not a curl command, HAR, OpenAPI document, Postman collection, k6 script or JMeter plan"
        };
        let entered = Entered {
            unread: Some(mistake),
            form,
            refused: &[],
        };
        return Ok(show(dashboard, &entered));
    };
    let words = ["import", format, "-"].map(str::to_owned);
    let output: CommandOutput = run_command_with_input(&dashboard.folder, &words, text.as_bytes())?;
    if !output.is_ok {
        let mistake = output.stderr.trim();
        let entered = Entered {
            unread: Some(mistake),
            form,
            refused: &[],
        };
        return Ok(show(dashboard, &entered));
    }
    let source = output.stdout;
    let shown = FORMATS
        .iter()
        .find(|(known, _)| *known == format)
        .map_or(format, |(_, words)| words);
    dashboard.set_import_draft(Some(ImportDraft {
        number: random_secret(),
        format: shown.to_owned(),
        name: find_function(&source).unwrap_or_else(|| "imported".to_owned()),
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
    if begin.starts_with('<') && text.contains("<jmeterTestPlan") {
        return Some("jmx");
    }
    if text.contains("k6/http") {
        return Some("k6");
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
pub(in crate::ui::pages) fn save(
    dashboard: &Arc<Dashboard>,
    form: &Fields,
) -> Result<Answer, Error> {
    let draft = dashboard.import_draft();
    let draft = draft.filter(|draft| form.get("draft") == Some(&draft.number));
    let source = draft.as_ref().map(|draft| draft.source.as_str());
    let source = source.ok_or_else(|| {
        Error::usage("other requests were read since this page was opened: read these again")
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
    let function = find_function(source).unwrap_or_default();
    let identity = format!(
        "{}::{}::{name}::{function}",
        load_test.package, load_test.name
    );
    let page = check_written(dashboard, &identity, &path, done);
    Ok(Answer::SeeOther(page))
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
            ("import http from 'k6/http';\n", Some("k6")),
            ("<?xml version=\"1.0\"?>\n<jmeterTestPlan/>", Some("jmx")),
            ("<html></html>", None),
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
