//! The fields of options: their names, and the changes that a sent form asks for.

use crate::source::{
    Edit, Field, FieldValue, OfferedOption, OptionEdit, OptionSource, OptionValue, ParameterList,
    PartSource, Role, ScenarioSource, is_repeated, offered_options,
};
use crate::ui::request::Fields;

/// An option in a form: `prefix` begins the names of its fields.
#[derive(Debug)]
pub(in crate::ui) struct OptionField<'a> {
    pub(in crate::ui) prefix: String,
    /// The step; none for the scenario itself.
    pub(in crate::ui) step: Option<&'a str>,
    pub(in crate::ui) option: &'a OptionSource,
}

/// Returns the options that could be added beside those that are there, and those that `edits` add.
pub(in crate::ui) fn addable_options(
    step: Option<&PartSource>,
    present: &[OptionSource],
    edits: &[Edit],
) -> Vec<OfferedOption> {
    let name = step.map(|step| &*step.name);
    let mut offered = offered_options(step, present);
    offered.retain(|option| is_repeated(option.key) || count_added(name, option.key, edits) == 0);
    offered
}

/// Returns the change that adds an option.
pub(in crate::ui) fn add_option_edit(
    step: Option<&str>,
    option: OfferedOption,
    present: &[OptionSource],
    edits: &[Edit],
) -> Edit {
    let key = option.key;
    let same = present.iter().filter(|option| option.key == key).count();
    let same = same + count_added(step, key, edits);
    Edit::Option(OptionEdit {
        step: step.map(str::to_owned),
        option: key.to_owned(),
        number: same + 1,
        was: None,
        to: Some(option.value),
        with_comments: false,
    })
}

fn count_added(of: Option<&str>, key: &str, edits: &[Edit]) -> usize {
    let is_same = |edit: &&Edit| {
        matches!(edit, Edit::Option(OptionEdit { step, option, was: None, .. })
            if step.as_deref() == of && option == key)
    };
    edits.iter().filter(is_same).count()
}

/// Numbers the options of a scenario and its steps: the same file gives the same names of fields.
pub(in crate::ui) fn number_options(scenario: &ScenarioSource) -> Vec<OptionField<'_>> {
    let own = scenario.options.iter().map(|option| (None, option));
    let steps = scenario.parts.iter().filter(|part| is_editable(part));
    let of_steps = steps.flat_map(|part| {
        part.options
            .iter()
            .map(|option| (Some(&*part.name), option))
    });
    own.chain(of_steps)
        .enumerate()
        .map(|(number, (step, option))| OptionField {
            prefix: format!("o{number}"),
            step,
            option,
        })
        .collect()
}

fn is_editable(part: &PartSource) -> bool {
    part.role == Role::Step
}

/// Collects the changes that a form asks for. What the fields say as they were is none.
pub(in crate::ui) fn collect_edits(form: &Fields) -> Vec<Edit> {
    let mut edits = Vec::new();
    // A value may have been inserted twice.
    for text in form.all("field") {
        match serde_json::from_str(text) {
            Ok(edit @ Edit::AddField { .. }) if !edits.contains(&edit) => edits.push(edit),
            _ => {}
        }
    }
    for number in 0.. {
        let prefix = format!("o{number}");
        let Some(text) = form.raw(&format!("{prefix}.was")) else {
            break;
        };
        let Ok(was) = serde_json::from_str::<OptionEdit>(text) else {
            continue;
        };
        let begin = was.was.clone().or_else(|| was.to.clone());
        let is_removed = form.raw(&format!("{prefix}.gone")).is_some();
        let to = begin
            .filter(|_| !is_removed)
            .and_then(|value| read_fields(form, &prefix, &value));
        if to != was.was {
            let with_comments = form.raw(&format!("{prefix}.with_comments")).is_some();
            edits.push(Edit::Option(OptionEdit {
                to,
                with_comments,
                ..was
            }));
        }
    }
    for number in 0.. {
        let prefix = format!("p{number}");
        let Some(step) = form.raw(&format!("{prefix}.step")) else {
            break;
        };
        let step = (!step.is_empty()).then(|| step.to_owned());
        let values = |name: &str| {
            let was = form
                .raw(&format!("{prefix}.{name}.was"))?
                .replace("\r\n", "\n");
            let to = form.raw(&format!("{prefix}.{name}"))?.replace("\r\n", "\n");
            (was.trim() != to.trim()).then(|| (was, to.trim_end().to_owned()))
        };
        if let Some((was, to)) = values("doc") {
            edits.push(Edit::Describe {
                step: step.clone(),
                was,
                to,
            });
        }
        if let (Some((was, to)), Some(step)) = (values("returns"), step) {
            let some = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
            edits.push(Edit::Returns {
                step,
                was: some(was),
                to: some(to),
            });
        }
    }
    edits
}

/// Reads a value of the kind of `like` from its fields; none where all are empty.
fn read_fields(form: &Fields, prefix: &str, like: &OptionValue) -> Option<OptionValue> {
    let field = |name: &str| {
        let text = form.raw(&format!("{prefix}.{name}")).unwrap_or_default();
        text.replace("\r\n", "\n")
    };
    let lines = |name: &str| -> Vec<String> {
        let text = field(name);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    };
    let some = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    Some(match like {
        OptionValue::Flag => {
            form.raw(&format!("{prefix}.a"))?;
            OptionValue::Flag
        }
        OptionValue::Source(_) => OptionValue::Source(some(field("a"))?),
        OptionValue::Text(_) => OptionValue::Text(field("a")),
        OptionValue::File(_) => OptionValue::File(some(field("a"))?),
        OptionValue::Pair(..) => OptionValue::Pair(some(field("a"))?, field("b")),
        OptionValue::Texts(_) => {
            OptionValue::Texts(Some(lines("a")).filter(|all| !all.is_empty())?)
        }
        OptionValue::Conditions(_) => {
            OptionValue::Conditions(Some(lines("a")).filter(|all| !all.is_empty())?)
        }
        OptionValue::Request { .. } => OptionValue::Request {
            method: field("a"),
            url: field("b").trim().to_owned(),
        },
        OptionValue::Fields(_) => {
            let mut all = Vec::new();
            for number in 0.. {
                let Some(name) = form.raw(&format!("{prefix}.n{number}")) else {
                    break;
                };
                if name.trim().is_empty() {
                    continue;
                }
                let value = field(&format!("v{number}"));
                let value = match &*field(&format!("k{number}")) {
                    "source" => FieldValue::Source(value.trim().to_owned()),
                    "file" => FieldValue::File(value),
                    _ => FieldValue::Text(value),
                };
                all.push(Field {
                    name: name.to_owned(),
                    value,
                });
            }
            OptionValue::Fields(Some(all).filter(|all| !all.is_empty())?)
        }
        OptionValue::Call(_) => OptionValue::Call(read_parameters(form, prefix)?),
        OptionValue::Stages(stages) => {
            let all = 0..=stages.len();
            let all: Vec<_> = all
                .filter_map(|number| read_parameters(form, &format!("{prefix}.s{number}")))
                .collect();
            OptionValue::Stages(Some(all).filter(|all| !all.is_empty())?)
        }
    })
}

/// Reads a word with its parameters; none where all of these are empty.
fn read_parameters(form: &Fields, prefix: &str) -> Option<ParameterList> {
    let field = |name: &str| {
        form.raw(&format!("{prefix}.{name}"))
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let mut named = Vec::new();
    for number in 0.. {
        let Some(name) = form.raw(&format!("{prefix}.n{number}")) else {
            break;
        };
        let value = field(&format!("v{number}"));
        if !name.trim().is_empty() && !value.is_empty() {
            named.push((name.trim().to_owned(), value));
        }
    }
    let (word, first) = (field("word"), field("a"));
    let is_empty = first.is_empty() && named.is_empty();
    (!is_empty).then_some(ParameterList { word, first, named })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{FileSource, apply_checked_edits};
    use crate::ui::pages::edit::{Draft, render_option_fields};

    const TEXT: &str = r#"
use loadtest::prelude::*;

/// Buys.
#[scenario(tags = ["critical", "shop"], load = rate(50/s, ramp_up = 2s, for = 8s), thresholds(p95 < 300ms, errors < 1%))]
fn visit() {
    #[step(post = "/login", json = { "user": "ada" }, header("x-a", "1"), header("x-b", "{{secret.B}}"), retry(2, on = 503))]
    fn login() -> Login;

    // Sometimes.
    #[step(
        get = "/products", query = { "page": 1, "q": "shoes" },
        weight = 0.8, think = 1s..2s, p95 < 100ms, once)]
    fn browse();

    #[step(put = "/x", body = file("data/blob.bin"), load = [])]
    fn put();
}
"#;

    #[test]
    fn a_form_that_is_sent_as_it_is_changes_nothing() {
        let file = FileSource::read(TEXT).unwrap();
        let fields = number_options(&file.scenarios[0]);
        assert!(fields.len() > 14, "{}", fields.len());
        for field in &fields {
            let html = render_option_fields(field, &Draft::default(), &[]).0;
            let html = html.replace(&format!("\"{}.", field.prefix), "\"o0.");
            assert_eq!(
                collect_edits(&Fields::from_html(&html)),
                [],
                "{}: {html}",
                field.option.source
            );
        }
    }

    #[test]
    fn a_changed_field_changes_its_option_and_nothing_else() {
        let file = FileSource::read(TEXT).unwrap();
        let fields = number_options(&file.scenarios[0]);
        let html: String = fields
            .iter()
            .map(|field| render_option_fields(field, &Draft::default(), &[]).0)
            .collect();
        let weight = fields
            .iter()
            .find(|field| field.option.key == "weight")
            .unwrap();
        let sent = Fields::from_html(&html).with(&format!("{}.a", weight.prefix), "0.5");
        let edits = collect_edits(&sent);
        let edited = apply_checked_edits(TEXT, "visit", &edits).unwrap();
        assert_eq!(edited.text, TEXT.replace("weight = 0.8", "weight = 0.5"));
        let page = fields
            .iter()
            .find(|field| field.option.key == "query")
            .unwrap();
        let sent = Fields::from_html(&html).with(&format!("{}.n1", page.prefix), "");
        let edited = apply_checked_edits(TEXT, "visit", &collect_edits(&sent)).unwrap();
        assert_eq!(
            edited.text,
            TEXT.replace("{ \"page\": 1, \"q\": \"shoes\" }", "{ \"page\": 1 }")
        );
        let gone = fields
            .iter()
            .find(|field| field.option.key == "once")
            .unwrap();
        let sent = Fields::from_html(&html).with(&format!("{}.gone", gone.prefix), "on");
        let edited = apply_checked_edits(TEXT, "visit", &collect_edits(&sent)).unwrap();
        assert_eq!(edited.text, TEXT.replace(", once)", ")"));
    }

    #[test]
    fn a_wrong_value_is_refused_at_its_field_in_the_words_of_the_macro_and_is_kept() {
        let file = FileSource::read(TEXT).unwrap();
        let fields = number_options(&file.scenarios[0]);
        let render = |draft: &Draft| -> Vec<String> {
            fields
                .iter()
                .map(|field| render_option_fields(field, draft, &[]).0)
                .collect()
        };
        let html = render(&Draft::default()).concat();
        for (field, wrong, words) in [
            (".load.a", "0/s", "a load of 0 sends nothing"),
            (".load.a", "", "expected a number"),
            (".load.v0", "9s", "the ramp-up is part of `for`"),
            (".load.word", "waves", "a load is `rate(200/s"),
            (".thresholds.a", "p95 300ms", "p95"),
            ("login.request.b", "/a b", "a URL cannot contain ' '"),
            (
                "login.request.b",
                "",
                "a URL is a path that starts with `/`",
            ),
            ("login.json.a", "{ \"user\": }", ""),
            ("login.header.a", "x a", "header"),
            (
                "login.header.b",
                "{{logn.response.id}}",
                "no step or value named `logn`",
            ),
            ("login.retry.v0", "999", "999"),
            ("browse.weight.a", "1.5", "a weight is the probability"),
            ("browse.weight.a", "0", "a weight is the probability"),
            ("browse.think.a", "2s..1s", "upper bound is below"),
            ("browse.think.a", "2", "2"),
            ("browse.limit.a", "p95 < 0ms", "a time must be more than 0"),
            (
                "browse.request.b",
                "products",
                "a URL is a path that starts with `/`",
            ),
        ] {
            let [step, key, name]: [&str; 3] =
                field.split('.').collect::<Vec<_>>().try_into().unwrap();
            let field = fields
                .iter()
                .find(|field| (field.step.unwrap_or_default(), &*field.option.key) == (step, key));
            let field = field.unwrap();
            let sent = Fields::from_html(&html).with(&format!("{}.{name}", field.prefix), wrong);
            let edits = collect_edits(&sent);
            let refused = apply_checked_edits(TEXT, "visit", &edits);
            let Err(refused) = refused else {
                panic!("{key} {wrong}: {refused:?}");
            };
            let messages: Vec<_> = refused.iter().map(|one| one.reason.to_string()).collect();
            assert!(
                messages.iter().any(|one| one.contains(words)),
                "{key} {wrong}: {messages:?}"
            );
            let draft = Draft {
                edits,
                refused,
                form: sent,
            };
            for (other, html) in fields.iter().zip(render(&draft)) {
                let is_it = other.prefix == field.prefix;
                assert_eq!(
                    html.contains("aria-invalid"),
                    is_it,
                    "{key} {wrong}: {html}"
                );
                if is_it {
                    let html = html.replace("&quot;", "\"").replace("&lt;", "<");
                    assert!(html.contains(wrong), "{key} {wrong}: {html}");
                }
            }
        }
    }

    #[test]
    fn values_are_inserted_where_templates_make_sense_and_json_has_room() {
        let file = FileSource::read(TEXT).unwrap();
        for field in number_options(&file.scenarios[0]) {
            let html = render_option_fields(&field, &Draft::default(), &[]).0;
            let expected = match &*field.option.key {
                "request" | "json" | "header" => 1,
                "query" => 3,
                _ => 0,
            };
            assert_eq!(html.matches("data-template").count(), expected, "{html}");
            let is_long = matches!(&*field.option.key, "json" | "tags" | "thresholds");
            assert_eq!(html.contains("<textarea"), is_long, "{html}");
        }
    }

    #[test]
    fn comments_that_would_go_are_shown_and_go_when_that_is_confirmed() {
        let text = TEXT.replace(
            "        weight = 0.8,",
            "        // Most.\n        weight = 0.8,\n        ",
        );
        let file = FileSource::read(&text).unwrap();
        let fields = number_options(&file.scenarios[0]);
        let render = |draft: &Draft| -> String {
            let fields = fields.iter();
            let html = fields.map(|field| render_option_fields(field, draft, &[]).0);
            html.collect()
        };
        let weight = fields
            .iter()
            .find(|field| field.option.key == "weight")
            .unwrap();
        let gone = format!("{}.gone", weight.prefix);
        let sent = Fields::from_html(&render(&Draft::default())).with(&gone, "on");
        let edits = collect_edits(&sent);
        let refused = apply_checked_edits(&text, "visit", &edits).unwrap_err();
        let draft = Draft {
            edits,
            refused,
            form: sent,
        };
        let html = render(&draft);
        let confirmed = format!("{}.with_comments", weight.prefix);
        assert!(html.contains("// Most."), "{html}");
        assert_eq!(html.matches(&confirmed).count(), 1, "{html}");
        let sent = Fields::from_html(&html);
        assert_eq!(sent.raw(&gone), Some("on"));
        let edits = collect_edits(&sent.with(&confirmed, "on"));
        let edited = apply_checked_edits(&text, "visit", &edits).unwrap();
        assert!(
            !edited.text.contains("// Most.") && !edited.text.contains("weight"),
            "{}",
            edited.text
        );
    }

    #[test]
    fn every_option_that_can_be_added_is_one() {
        let file = FileSource::read(TEXT).unwrap();
        let scenario = &file.scenarios[0];
        for option in addable_options(None, &scenario.options, &[]) {
            let edit = add_option_edit(None, option, &scenario.options, &[]);
            let edited = apply_checked_edits(TEXT, "visit", &[edit]);
            assert!(edited.is_ok(), "{edited:?}");
        }
        let step = scenario
            .parts
            .iter()
            .find(|part| part.name == "browse")
            .unwrap();
        let offered = addable_options(Some(step), &step.options, &[]);
        assert!(offered.len() > 20, "{offered:?}");
        let refused: Vec<_> = offered
            .into_iter()
            .filter_map(|option| {
                let key = option.key;
                let edit = add_option_edit(Some("browse"), option, &step.options, &[]);
                apply_checked_edits(TEXT, "visit", &[edit]).err()?;
                Some(key)
            })
            .collect();
        // One wants a second step of its choice, the other a step that is not drawn by chance.
        assert_eq!(refused, ["one_of", "last"]);
    }
}
