//! What edits come to, and when they are refused.

use super::*;
use crate::source::create::add_scenario;
use crate::source::diff::Diff;
use crate::source::{AnswerField, AnswerType, NewScenario};
use std::path::Path;

const VISIT: &str = r#"use loadtest::prelude::*;

/// A visit.
/// Twice a day.
#[scenario(tags = ["shop"], bearer = "{{login.response.token}}")]
fn visit() {
    // all begin here
    /// Comes in.
    #[step(post = "/login", json = { "user": "ada" }, once)]
    fn login() -> Login; // first

    #[step(get = "/products", weight = 0.8)]
    fn browse();

    // rarely

    #[step(get = "/products/{{ login.response.first }}", json = { "id": {{login.response.id}} })]
    fn look(browse: &Response) -> Product;

    #[step]
    fn buy(look: &Product) -> Request {
        Request::post(format!("/orders/{}", look.id))
    }

    #[check]
    fn is_sold(buy: &Response) -> bool {
        buy.status() == 201
    }
}
"#;

#[test]
fn several_edits_make_a_small_diff() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/shop/tests/load.rs");
    let text = std::fs::read_to_string(file).unwrap();
    let step = |step: &str, option: &str, was: Option<OptionValue>, to| {
        Edit::Option(option_edit(Some(step), option, was, Some(to)))
    };
    let tags = |tags: &[&str]| OptionValue::Texts(tags.iter().map(|&tag| tag.to_owned()).collect());
    let edits = [
        Edit::Option(option_edit(
            None,
            "tags",
            Some(tags(&["catalog"])),
            Some(tags(&["catalog", "nightly"])),
        )),
        step(
            "browse",
            "request",
            Some(request("get", "/products")),
            request("get", "/products?page=1"),
        ),
        step(
            "browse",
            "header",
            None,
            pair("x-visit", "{{login.headers.date}}"),
        ),
        step(
            "buy",
            "weight",
            Some(source_value("0.5")),
            source_value("0.25"),
        ),
        step("product", "expect", None, source_value("200")),
        move_step("product", Some("packed")),
        Edit::AddStep {
            after: Some("buy".to_owned()),
            step: new_step("receipt", "/orders/{{buy.response.id}}/receipt"),
        },
        step("receipt", "expect", None, source_value("200")),
    ];
    let edited = apply_edits(&text, "browse_catalog", &edits).unwrap();
    let patch = Diff::new(&text, &edited.splices).to_patch("tests/load.rs");
    insta::assert_snapshot!(patch);

    let windows = text.replace('\n', "\r\n");
    let changed = apply_edits(&windows, "browse_catalog", &edits).unwrap();
    assert_eq!(changed.text, edited.text.replace('\n', "\r\n"));
}

#[test]
fn no_edit_is_no_change() {
    assert_eq!(edited(VISIT, &[]), VISIT);
    assert_eq!(edited(VISIT, &[move_step("browse", Some("look"))]), VISIT);
}

#[test]
fn a_value_that_changed_meanwhile_is_a_conflict() {
    let edit = option_edit(
        Some("browse"),
        "weight",
        Some(source_value("0.7")),
        Some(source_value("0.5")),
    );
    let on_disk = Some(source_value("0.8"));
    assert_eq!(
        refusal(VISIT, Edit::Option(edit)),
        EditRefusal::Conflict { on_disk }
    );
    let added = option_edit(Some("browse"), "weight", None, Some(source_value("0.5")));
    let on_disk = Some(source_value("0.8"));
    assert_eq!(
        refusal(VISIT, Edit::Option(added)),
        EditRefusal::Conflict { on_disk }
    );
    let gone = option_edit(Some("browse"), "think", Some(source_value("1s")), None);
    assert_eq!(
        refusal(VISIT, Edit::Option(gone)),
        EditRefusal::Conflict { on_disk: None }
    );
    let missing = option_edit(Some("leave"), "think", None, Some(source_value("1s")));
    assert_eq!(
        refusal(VISIT, Edit::Option(missing)),
        EditRefusal::Missing("leave".to_owned())
    );
}

#[test]
fn spaces_are_no_conflict() {
    let text = VISIT.replace("weight = 0.8", "weight   =  4 /5");
    let edit = option_edit(
        Some("browse"),
        "weight",
        Some(source_value("4/5")),
        Some(source_value("0.5")),
    );
    let changed = edited(&text, &[Edit::Option(edit)]);
    assert!(changed.contains("weight   =  0.5)]"), "{changed}");
}

#[test]
fn a_header_is_found_by_its_value_where_its_number_changed() {
    let text = VISIT.replace("weight = 0.8", "header(\"b\", \"1\"), header(\"c\", \"2\")");
    let set = |was: OptionValue, to: OptionValue| {
        Edit::Option(option_edit(Some("browse"), "header", Some(was), Some(to)))
    };
    let changed = edited(&text, &[set(pair("c", "2"), pair("c", "3"))]);
    assert!(changed.contains("header(\"b\", \"1\"), header(\"c\", \"3\")"));
    let on_disk = Some(pair("b", "1"));
    let reason = refusal(&text, set(pair("c", "9"), pair("c", "3")));
    assert_eq!(reason, EditRefusal::Conflict { on_disk });
}

#[test]
fn fields_are_added_to_types_of_answers() {
    let add = |text: &str, name: &str, field_type: &str| {
        let edit = Edit::AddField {
            answer: "A".to_owned(),
            field: AnswerField {
                name: name.to_owned(),
                field_type: field_type.to_owned(),
            },
        };
        apply_edits(text, "visit", &[edit]).map(|edited| edited.text)
    };
    for (before, after) in [
        ("struct A {}", "struct A {\n    b: u64,\n}"),
        ("struct A { c: D<E, F> }", "struct A { c: D<E, F>, b: u64 }"),
        ("struct A { c: D, }", "struct A { c: D, b: u64, }"),
        (
            "pub struct A {\n    // c\n    #[serde(rename = \"x\")]\n    pub c: D // d\n}",
            "pub struct A {\n    // c\n    #[serde(rename = \"x\")]\n    pub c: D, // d\n    b: u64,\n}",
        ),
        (
            "struct A {\n  c: D,\n  // e\n}",
            "struct A {\n  c: D,\n  b: u64,\n  // e\n}",
        ),
    ] {
        let text = |answer: &str| format!("#[response]\n{answer}\n\n#[response]\nenum E {{ B }}\n");
        assert_eq!(
            add(&text(before), "b", "u64").unwrap(),
            text(after),
            "{before}"
        );
        let windows = |answer: &str| text(answer).replace('\n', "\r\n");
        assert_eq!(add(&windows(before), "b", "u64").unwrap(), windows(after));
    }
    let text = "#[response] struct A { b: B } #[response] struct T(u8);";
    assert_eq!(
        add(text, "type", "Option<Vec<u8>>").unwrap(),
        "#[response] struct A { b: B, r#type: Option<Vec<u8>> } #[response] struct T(u8);"
    );
    for (name, field_type) in [
        ("b", "u64"),
        ("c", "u64 // no"),
        ("c", "[u8; { f() }]"),
        ("c d", "B"),
        ("self", "B"),
    ] {
        let refused = add(text, name, field_type).unwrap_err();
        assert!(
            matches!(refused[0].reason, EditRefusal::Refused(_)),
            "{name}"
        );
    }
    let answers = AnswerType::read_all(text).unwrap();
    let fields: Vec<_> = answers
        .into_iter()
        .map(|answer| answer.fields.map(|fields| fields.len()))
        .collect();
    assert_eq!(fields, [Some(1), None]);
}

#[test]
fn a_new_scenario_stands_before_the_end_of_the_file() {
    let new = |name: &str| NewScenario {
        name: name.to_owned(),
        description: "Comes.\nGoes.".to_owned(),
        options: vec![(
            "tags".to_owned(),
            OptionValue::Texts(vec!["new".to_owned()]),
        )],
        steps: vec![new_step("come", "/"), new_step("go", "/out")],
    };
    let written = "/// Comes.\n/// Goes.\n#[scenario(tags = [\"new\"])]\nfn arrive() {\n    #[step(get = \"/\")]\n    fn come();\n\n    \
                   #[step(get = \"/out\")]\n    fn go();\n}\n";
    for (before, expected) in [
        (String::new(), written.to_owned()),
        (VISIT.to_owned(), format!("{VISIT}\n{written}")),
        (
            format!("{VISIT}\n// the end\nloadtest::main!();\n"),
            format!("{VISIT}\n{written}\n// the end\nloadtest::main!();\n"),
        ),
    ] {
        let edited = add_scenario(&before, &new("arrive")).unwrap();
        assert_eq!(edited.text, expected);
        let windows = before.replace('\n', "\r\n");
        let edited = add_scenario(&windows, &new("arrive")).unwrap();
        if !before.is_empty() {
            assert_eq!(edited.text, expected.replace('\n', "\r\n"));
        }
    }
    for name in ["visit", "main", "a b", "fn"] {
        let refused = add_scenario(VISIT, &new(name)).unwrap_err();
        assert!(matches!(refused, EditRefusal::Refused(_)), "{name}");
    }
}

#[test]
fn all_refused_edits_are_reported() {
    let edit = |weight: &str| {
        let was = Some(source_value("0.1"));
        Edit::Option(option_edit(
            Some("browse"),
            "weight",
            was,
            Some(source_value(weight)),
        ))
    };
    let refused = apply_edits(VISIT, "visit", &[edit("0.2"), edit("0.3")]).unwrap_err();
    assert_eq!(
        refused.iter().map(|edit| edit.edit).collect::<Vec<_>>(),
        [0, 1]
    );
}

#[test]
fn no_value_can_carry_other_code() {
    for value in [
        "0.5, once",
        "0.5 /* no */",
        "0.5)] fn x() {} #[step(weight = 0.5",
        "{ std::process::exit(1) }",
        "f()",
        "0.5 // ",
        "W",
        "",
    ] {
        let edit = option_edit(
            Some("browse"),
            "weight",
            Some(source_value("0.8")),
            Some(source_value(value)),
        );
        let reason = refusal(VISIT, Edit::Option(edit));
        assert!(
            matches!(reason, EditRefusal::Refused(_)),
            "{value}: {reason:?}"
        );
    }
    for value in [
        "(f())",
        "{ \"a\": (1) }",
        "{{f()}}",
        "[x]",
        "1, once",
        "{ a: 1 }",
    ] {
        let was = Some(source_value("{ \"user\": \"ada\" }"));
        let edit = option_edit(Some("login"), "json", was, Some(source_value(value)));
        let reason = refusal(VISIT, Edit::Option(edit));
        assert!(
            matches!(reason, EditRefusal::Refused(_)),
            "{value}: {reason:?}"
        );
    }
    for returns in ["[u8; { f() }]", "T; fn x()", "T // ", ""] {
        let edit = Edit::Returns {
            step: "browse".to_owned(),
            was: None,
            to: Some(returns.to_owned()),
        };
        let reason = refusal(VISIT, edit);
        assert!(
            matches!(reason, EditRefusal::Refused(_)),
            "{returns}: {reason:?}"
        );
    }
}

#[test]
fn a_moved_step_takes_its_comments_along() {
    let text = VISIT.replace(
        "    #[step(get = \"/products\", w",
        "    // apart\n\n    // above\n    /* right\n above */\n    #[step(get = \"/products\", w",
    );
    let text = text.replace("fn browse();", "fn browse(); /* behind */ // it");
    let changed = edited(&text, &[move_step("browse", Some("login"))]);
    let begin = "fn visit() {\n    // above\n    /* right\n above */\n    #[step(get = \"/products\", weight = 0.8)]\n    \
                 fn browse(); /* behind */ // it\n\n    // all begin here\n    /// Comes in.\n";
    assert!(changed.contains(begin), "{changed}");
    assert!(
        changed.contains("// first\n\n    // apart\n\n    // rarely\n"),
        "{changed}"
    );
    let back = edited(&changed, &[move_step("browse", Some("look"))]);
    assert!(
        back.contains("// apart\n\n    // rarely\n\n    // above\n"),
        "{back}"
    );
}

#[test]
fn a_step_stays_behind_those_that_it_needs() {
    for (step, before, need) in [
        ("look", Some("browse"), "browse"),
        ("look", Some("login"), "browse"),
        ("buy", Some("look"), "look"),
        ("login", None, "login"),
        ("buy", None, "buy"),
    ] {
        let EditRefusal::Refused(reason) = refusal(VISIT, move_step(step, before)) else {
            panic!("{step}");
        };
        assert!(reason.contains(&format!("needs `{need}`")), "{reason}");
    }
    assert_eq!(part_of(VISIT, "buy").needs, ["look"]);
    assert_eq!(part_of(VISIT, "look").needs, ["browse", "login"]);
}

#[test]
fn a_step_passes_its_neighbours_unless_a_value_forbids_that() {
    let way = |name: &str| {
        let part = part_of(VISIT, name);
        [part.up, part.down].map(|way| {
            way.map(|way| match way.refusal {
                Some(reason) => reason,
                None => format!("before {:?}", way.before),
            })
        })
    };
    let needs = |one: &str, other: &str| {
        Some(format!(
            "`{one}` needs `{other}`, which must stay before it"
        ))
    };
    let before = |name: &str| Some(format!("before {:?}", Some(name)));
    assert_eq!(way("login"), [None, before("look")]);
    assert_eq!(way("browse"), [before("login"), needs("look", "browse")]);
    assert_eq!(way("look"), [needs("look", "browse"), needs("buy", "look")]);
    assert_eq!(way("buy"), [needs("buy", "look"), None]);
    // Each way is one that the edit takes.
    let moved = edited(VISIT, &[move_step("login", Some("look"))]);
    assert!(moved.find("fn browse") < moved.find("fn login"), "{moved}");
}

#[test]
fn steps_that_templates_count_keep_their_numbers() {
    let text = VISIT.replace("{{login.response.id}}", "{{step1.response.id}}");
    for edit in [
        move_step("browse", Some("login")),
        Edit::RemoveStep {
            step: "login".to_owned(),
            was: part_of(&text, "login").source,
            with_comments: true,
        },
    ] {
        assert!(matches!(refusal(&text, edit), EditRefusal::Refused(_)));
    }
    let after = Some("browse".to_owned());
    let step = new_step("pause", "/pause");
    edited(&text, &[Edit::AddStep { after, step }]);
}

#[test]
fn a_step_is_removed_when_its_comments_may_go() {
    let text = VISIT
        .replace("fn browse();", "fn browse(); // why")
        .replace("browse: &Response", "");
    let remove = |with_comments| Edit::RemoveStep {
        step: "browse".to_owned(),
        was: part_of(&text, "browse").source,
        with_comments,
    };
    assert_eq!(
        refusal(&text, remove(false)),
        EditRefusal::Comments(vec!["// why".to_owned()])
    );
    let changed = edited(&text, &[remove(true)]);
    assert!(
        changed.contains("// first\n\n    // rarely\n\n    #[step(get"),
        "{changed}"
    );
    let other = Edit::RemoveStep {
        step: "browse".to_owned(),
        was: "#[step] fn browse();".to_owned(),
        with_comments: true,
    };
    assert!(matches!(
        refusal(&text, other),
        EditRefusal::Conflict { .. }
    ));
    let needed = Edit::RemoveStep {
        step: "login".to_owned(),
        was: part_of(&text, "login").source,
        with_comments: true,
    };
    assert_eq!(
        refusal(&text, needed),
        EditRefusal::Refused("`look` needs `login`".to_owned())
    );
}

#[test]
fn a_copy_of_a_step_has_a_name_and_a_label_of_its_own() {
    let text = VISIT.replace("weight = 0.8", "name = \"look around\"");
    let copy = |name: &str| Edit::DuplicateStep {
        step: "browse".to_owned(),
        name: name.to_owned(),
    };
    let changed = edited(&text, &[copy("browse_2")]);
    assert!(
        changed.contains(
            "fn browse();\n\n    #[step(get = \"/products\", name = \"browse_2\")]\n    fn browse_2();\n\n    // rarely"
        ),
        "{changed}"
    );
    for name in ["login", "is_sold", "match", "a b", "r#match", ""] {
        let reason = refusal(&text, copy(name));
        assert!(
            matches!(reason, EditRefusal::Refused(_)),
            "{name}: {reason:?}"
        );
    }
}

#[test]
fn a_step_is_renamed_where_only_templates_name_it() {
    let rename = |step: &str, to: &str| Edit::RenameStep {
        step: step.to_owned(),
        to: to.to_owned(),
    };
    let changed = edited(VISIT, &[rename("login", "sign_in")]);
    assert_eq!(changed.matches("login").count(), 1, "the URL: {changed}");
    assert!(changed.contains("{{ sign_in.response.first }}"));
    assert!(changed.contains("{ \"id\": {{sign_in.response.id}} }"));
    assert!(changed.contains("bearer = \"{{sign_in.response.token}}\""));
    for step in ["browse", "look", "buy"] {
        let EditRefusal::Refused(reason) = refusal(VISIT, rename(step, "other")) else {
            panic!("{step}");
        };
        assert!(reason.contains("rename it in your editor"), "{reason}");
    }
}

#[test]
fn descriptions_and_results_are_set_added_and_removed() {
    let describe = |step: Option<&str>, was: &str, to: &str| Edit::Describe {
        step: step.map(str::to_owned),
        was: was.to_owned(),
        to: to.to_owned(),
    };
    let returns = |step: &str, was: Option<&str>, to: Option<&str>| Edit::Returns {
        step: step.to_owned(),
        was: was.map(str::to_owned),
        to: to.map(str::to_owned),
    };
    let changed = edited(
        VISIT,
        &[
            describe(None, "A visit.\nTwice a day.", "One.\n\n  Two."),
            describe(Some("login"), "Comes in.", ""),
            describe(Some("browse"), "", "Looks."),
            returns("login", Some("Login"), None),
            returns("browse", None, Some("Vec<Product>")),
            returns("look", Some("Product"), Some("Value")),
        ],
    );
    for expected in [
        "/// One.\n///\n///   Two.\n#[scenario(",
        "    // all begin here\n    #[step(post",
        "    fn login(); // first\n",
        "    /// Looks.\n    #[step(get = \"/products\", weight = 0.8)]\n    fn browse() -> Vec<Product>;\n",
        "    fn look(browse: &Response) -> Value;\n",
    ] {
        assert!(changed.contains(expected), "{expected}\n{changed}");
    }
    assert!(matches!(
        refusal(VISIT, returns("buy", Some("Request"), Some("Value"))),
        EditRefusal::Refused(_)
    ));
    assert!(matches!(
        refusal(VISIT, describe(None, "A visit.", "")),
        EditRefusal::Conflict { .. }
    ));
}

#[test]
fn steps_of_groups_are_edited_in_their_group() {
    let text = "#[group(p95 < 1s)]\nfn shared() {\n    #[step(get = \"/a\")]\n    fn one();\n}\n\n#[scenario]\nfn visit() {\n    \
                #[group]\n    use shared;\n\n    #[group(name = \"two\")]\n    fn inner() {\n        #[step(get = \"/b\")]\n        fn two();\n\n        \
                #[step(get = \"/c\")]\n        fn three();\n    }\n\n    #[step(get = \"/d\")]\n    fn four();\n}\n";
    let weight = |step: &str| {
        Edit::Option(option_edit(
            Some(step),
            "weight",
            None,
            Some(source_value("0.5")),
        ))
    };
    let changed = apply_edits(text, "shared", &[weight("one")]).unwrap().text;
    assert!(changed.contains("#[step(get = \"/a\", weight = 0.5)]"));
    let limit = option_edit(Some("inner"), "limit", None, Some(source_value("p95 < 2s")));
    let after = Some("two".to_owned());
    let step = new_step("more", "/e");
    let changed = edited(
        text,
        &[
            weight("two"),
            move_step("three", Some("two")),
            Edit::Option(limit),
            Edit::AddStep { after, step },
        ],
    );
    assert!(
        changed.contains("    #[group(name = \"two\", p95 < 2s)]\n    fn inner() {\n        #[step(get = \"/c\")]\n        fn three();\n\n        #[step(get = \"/b\", weight = 0.5)]\n        fn two();\n\n        #[step(get = \"/e\")]\n        fn more();\n    }\n"),
        "{changed}"
    );
    assert_eq!(part_of(&changed, "more").group.as_deref(), Some("inner"));
    for before in [Some("four"), None] {
        let edit = move_step("two", before);
        if before.is_some() {
            assert!(matches!(refusal(text, edit), EditRefusal::Refused(_)));
        } else {
            assert!(edited(text, &[edit]).contains("fn three();\n\n        #[step(get = \"/b\")]"));
        }
    }
}

#[test]
fn shared_options_and_conditional_attributes_are_shown() {
    let text = "#[scenarios(timeout = 2s, tags = [\"a\"])]\nmod shop {\n    #[setup]\n    fn server() -> Target { start() }\n\n    \
                #[cfg_attr(all(), scenario(name = \"A visit\"))]\n    fn visit() {\n        #[step(get = \"/\")]\n        fn one();\n    }\n}\n\
                mod inner { impl X { #[loadtest::scenario] fn look() { #[loadtest::step(get = \"/\")] fn one(); } } }\n\
                make! { #[scenario] fn made() {} }\nfn outer() { #[response] struct A { b: u8 } }\n";
    let file = FileSource::read(text).unwrap();
    let paths: Vec<_> = file
        .scenarios
        .iter()
        .map(|scenario| scenario.path.as_str())
        .collect();
    assert_eq!(paths, ["shop::visit", "inner::look"]);
    let visit = &file.scenarios[0];
    assert_eq!(visit.module.as_deref(), Some("shop"));
    assert_eq!((visit.line, visit.last_line), (7, 10));
    assert!(visit.locked.is_some());
    assert_eq!(
        visit.options[0].value,
        Some(OptionValue::Text("A visit".to_owned()))
    );
    assert_eq!(file.scenarios[1].parts[0].name, "one");
    let shop = &file.modules[0];
    assert_eq!((shop.options.len(), shop.parts.len()), (2, 1));
    let weight = option_edit(Some("one"), "weight", None, Some(source_value("0.5")));
    let refused = apply_edits(text, "shop::visit", &[Edit::Option(weight)]).unwrap_err();
    assert!(matches!(refused[0].reason, EditRefusal::Refused(_)));
}
