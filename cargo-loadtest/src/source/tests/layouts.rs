//! The layout of options: that which is there stays.

use super::*;
use crate::source::{Field, FieldValue};

/// A scenario with this attribute of its step.
fn with_attribute(attribute: &str) -> String {
    format!("#[scenario]\nfn visit() {{\n    {attribute}\n    fn one();\n}}\n")
}

/// The attribute of the step after an edit; the rest stays, also with the line ends of Windows.
#[track_caller]
fn after(attribute: &str, edit: OptionEdit) -> String {
    let text = with_attribute(attribute);
    let changed = edited(&text, &[Edit::Option(edit.clone())]);
    let windows = edited(&text.replace('\n', "\r\n"), &[Edit::Option(edit)]);
    assert_eq!(windows, changed.replace('\n', "\r\n"));
    let rest = changed
        .strip_prefix("#[scenario]\nfn visit() {\n    ")
        .unwrap();
    rest.strip_suffix("\n    fn one();\n}\n")
        .unwrap()
        .to_owned()
}

fn add() -> OptionEdit {
    option_edit(Some("one"), "think", None, Some(source_value("1s")))
}

fn remove(option: &str, was: OptionValue) -> OptionEdit {
    option_edit(Some("one"), option, Some(was), None)
}

#[test]
fn a_new_option_follows_the_layout() {
    for (attribute, expected) in [
        ("#[step]", "#[step(think = 1s)]"),
        ("#[loadtest::step]", "#[loadtest::step(think = 1s)]"),
        ("#[step()]", "#[step(think = 1s)]"),
        (
            "#[step( get = \"/\" )]",
            "#[step( get = \"/\", think = 1s )]",
        ),
        ("#[step(get = \"/\",)]", "#[step(get = \"/\", think = 1s,)]"),
        (
            "#[step(get = \"/\" /* a */)]",
            "#[step(get = \"/\", /* a */ think = 1s)]",
        ),
        (
            "#[step(get = \"/\", /* a */)]",
            "#[step(get = \"/\", /* a */ think = 1s,)]",
        ),
        ("#[step(once)] // why", "#[step(once, think = 1s)] // why"),
        (
            "#[step(\n        get = \"/\",\n        once,\n    )]",
            "#[step(\n        get = \"/\",\n        once,\n        think = 1s,\n    )]",
        ),
        (
            "#[step(\n        get = \"/\",\n        once // why\n    )]",
            "#[step(\n        get = \"/\",\n        once, // why\n        think = 1s\n    )]",
        ),
        (
            "#[step(\n        get = \"/\", once, // why\n        // last\n    )]",
            "#[step(\n        get = \"/\", once, // why\n        // last\n        think = 1s,\n    )]",
        ),
        (
            "#[step(get = \"/\",\n           once)]",
            "#[step(get = \"/\",\n           once,\n           think = 1s)]",
        ),
        (
            "#[step(check = |r| r.a < 1 && f::<A, B>(r))]",
            "#[step(check = |r| r.a < 1 && f::<A, B>(r), think = 1s)]",
        ),
    ] {
        assert_eq!(after(attribute, add()), expected, "{attribute}");
    }
}

#[test]
fn a_wide_line_becomes_one_option_per_line() {
    let url = format!("/{}", "a".repeat(52));
    let attribute = format!("#[step(get = \"{url}\", weight = 0.5)]");
    assert_eq!(
        after(&attribute, add()),
        format!("#[step(get = \"{url}\", weight = 0.5, think = 1s)]"),
        "100 columns fit"
    );
    let expect = option_edit(Some("one"), "expect", None, Some(source_value("200 | 201")));
    assert_eq!(
        after(&attribute, expect.clone()),
        format!(
            "#[step(\n        get = \"{url}\",\n        weight = 0.5,\n        expect = 200 | 201,\n    )]"
        )
    );
    let attribute = format!("#[step(get = \"{url}\" /* a */, weight = 0.5)]");
    assert!(
        !after(&attribute, expect).contains('\n'),
        "there is a comment within"
    );

    let fields = OptionValue::Fields(
        (0..6)
            .map(|number| Field {
                name: format!("field {number}"),
                value: FieldValue::Text("value".to_owned()),
            })
            .collect(),
    );
    let form = option_edit(Some("one"), "form", None, Some(fields));
    let changed = after("#[step(post = \"/\")]", form);
    assert!(
        changed.starts_with("#[step(\n        post = \"/\",\n        form = {\n            \"field 0\": \"value\",\n"),
        "{changed}"
    );
    assert!(changed.ends_with("\n        },\n    )]"), "{changed}");
}

#[test]
fn a_removed_option_leaves_the_layout() {
    let once = || remove("once", OptionValue::Flag);
    let get = || remove("request", request("get", "/"));
    for (attribute, edit, expected) in [
        ("#[step(once)]", once(), "#[step]"),
        ("#[step(once,)]", once(), "#[step]"),
        ("#[step(get = \"/\", once)]", once(), "#[step(get = \"/\")]"),
        (
            "#[step(get = \"/\", once,)]",
            once(),
            "#[step(get = \"/\",)]",
        ),
        ("#[step(get = \"/\", once)]", get(), "#[step(once)]"),
        (
            "#[step(get = \"/\" /* a */, once)]",
            once(),
            "#[step(get = \"/\" /* a */)]",
        ),
        (
            "#[step(\n        get = \"/\",\n        once,\n    )]",
            once(),
            "#[step(\n        get = \"/\",\n    )]",
        ),
        (
            "#[step(\n        get = \"/\",\n        once\n    )]",
            once(),
            "#[step(\n        get = \"/\"\n    )]",
        ),
        (
            "#[step(\n        get = \"/\", // why\n        once,\n    )]",
            once(),
            "#[step(\n        get = \"/\", // why\n    )]",
        ),
        (
            "#[step(get = \"/\",\n           once)]",
            get(),
            "#[step(once)]",
        ),
    ] {
        assert_eq!(after(attribute, edit), expected, "{attribute}");
    }
}

#[test]
fn the_comments_of_an_option_go_with_it_when_that_is_confirmed() {
    for (attribute, comments, expected) in [
        (
            "#[step(\n        get = \"/\",\n        once, // why\n    )]",
            &["// why"][..],
            "#[step(\n        get = \"/\",\n    )]",
        ),
        (
            "#[step(\n        // first\n        get = \"/\",\n        // why\n        /* so */\n        once,\n    )]",
            &["// why", "/* so */"],
            "#[step(\n        // first\n        get = \"/\",\n    )]",
        ),
        (
            "#[step(\n        // all\n\n        // why\n        once,\n        get = \"/\",\n    )]",
            &["// why"],
            "#[step(\n        // all\n\n        get = \"/\",\n    )]",
        ),
        (
            "#[step(get = \"/\", /* why */ once)]",
            &["/* why */"],
            "#[step(get = \"/\")]",
        ),
        (
            "#[step(/* a */ once /* b */, /* c */ get = \"/\")]",
            &["/* a */", "/* b */"],
            "#[step( /* c */ get = \"/\")]",
        ),
        (
            "#[step(get = \"/\" /* get */, once, /* why */)]",
            &["/* why */"],
            "#[step(get = \"/\" /* get */,)]",
        ),
        ("#[step(/* why */ once)]", &["/* why */"], "#[step]"),
        (
            "#[step(once, // why\n        get = \"/\")]",
            &["// why"],
            "#[step(get = \"/\")]",
        ),
    ] {
        let text = with_attribute(attribute);
        let mut edit = remove("once", OptionValue::Flag);
        let reason = refusal(&text, Edit::Option(edit.clone()));
        let comments = comments.iter().map(|&comment| comment.to_owned());
        assert_eq!(
            reason,
            EditRefusal::Comments(comments.collect()),
            "{attribute}"
        );
        edit.with_comments = true;
        let changed = edited(&text, &[Edit::Option(edit)]);
        assert_eq!(changed, with_attribute(expected), "{attribute}");
    }
}

#[test]
fn a_value_is_replaced_in_its_place() {
    let set = |option: &str, was: OptionValue, to: OptionValue| {
        option_edit(Some("one"), option, Some(was), Some(to))
    };
    for (attribute, edit, expected) in [
        (
            "#[step( weight=0.5 , once )]",
            set("weight", source_value("0.5"), source_value("25%")),
            "#[step( weight=25% , once )]",
        ),
        (
            "#[step(get = \"/\", once)]",
            set("request", request("get", "/"), request("get", "/\u{fc}\"")),
            "#[step(get = \"/\u{fc}\\\"\", once)]",
        ),
        (
            "#[step(get=\"/\", once)]",
            set("request", request("get", "/"), request("put", "/")),
            "#[step(put = \"/\", once)]",
        ),
        (
            "#[step(header (\"a\", \"b\"), header(\"c\", \"d\"))]",
            OptionEdit {
                number: 2,
                ..set("header", pair("c", "d"), pair("c", "e"))
            },
            "#[step(header (\"a\", \"b\"), header(\"c\", \"e\"))]",
        ),
        (
            "#[step(p95 < 1s, max<2s)]",
            OptionEdit {
                number: 2,
                ..set("limit", source_value("max < 2s"), source_value("max < 3s"))
            },
            "#[step(p95 < 1s, max < 3s)]",
        ),
        (
            "#[step(\n        post = \"/\",\n        json = {\n            \"a\": 1,\n        },\n    )]",
            set(
                "json",
                source_value("{\n    \"a\": 1,\n}"),
                source_value(" {\r\n    \"a\": {{vu.id}},\r\n    \"b\": [true, -1.5]\r\n}\r\n"),
            ),
            "#[step(\n        post = \"/\",\n        json = {\n            \"a\": {{vu.id}},\n            \"b\": [true, -1.5]\n        },\n    )]",
        ),
    ] {
        assert_eq!(after(attribute, edit), expected, "{attribute}");
    }
}

const ODD: &str = r#"#[scenario(tags = ["a"] /* , */, // tags
    load = rate(5/s, for = 8s))] fn visit() { /* opens */
    #[step(get = r"/raw", /* , */ check = |a: &Response<Map<A, B>>| a.n < 5 && a.m > f::<A, B>(a, a))] fn one(); #[step] fn two() -> Request { a(", }") } /* ends
    here */
    // above
    /* also above */
    #[step(
        once // last ,
        , weight = W, )] /* between */ // more
    fn three();
    /* before */ #[step(body = "a
b")]
    fn four();

    #[step (post="/x")]fn five();}
#[scenario]
fn other() { #[step(get = "/")] fn it(); }
"#;

#[test]
fn odd_layouts_keep_their_comments_and_all_else() {
    for text in [ODD.to_owned(), ODD.replace('\n', "\r\n")] {
        let source = SourceText::read(&text).unwrap();
        let holder = &source.scenarios[0];
        assert_eq!(holder.parts.len(), 5);
        let (mut made, mut refused) = (0, 0);
        for (number, part) in holder.parts.iter().enumerate() {
            assert_eq!(part.role, Role::Step);
            for (edit, has_to_be_made) in files::edits_of(&source, holder, number) {
                match apply_edit(&source, "visit", &edit) {
                    Ok(_) => made += 1,
                    Err(EditRefusal::Refused(_)) if !has_to_be_made => refused += 1,
                    Err(reason) => panic!("{edit:?} {reason:?}"),
                }
            }
        }
        assert!(made > 30, "{made}");
        assert!(refused > 10, "{refused}");
    }
}

#[test]
fn a_step_is_added_to_any_body() {
    let add = |after: Option<&str>| Edit::AddStep {
        after: after.map(str::to_owned),
        step: new_step("new", "/n"),
    };
    for (body, expected) in [
        ("{}", "{\n    #[step(get = \"/n\")]\n    fn new();\n}"),
        (
            "{ /* a */ }",
            "{\n    #[step(get = \"/n\")]\n    fn new();\n /* a */ }",
        ),
        (
            "{\n    // todo\n}",
            "{\n    // todo\n    #[step(get = \"/n\")]\n    fn new();\n}",
        ),
        (
            "{\n  #[step]\n  fn a();\n  #[step]\n  fn b();\n}",
            "{\n  #[step]\n  fn a();\n  #[step]\n  fn b();\n\n  #[step(get = \"/n\")]\n  fn new();\n}",
        ),
        (
            "{ #[step] fn a(); }",
            "{ #[step] fn a();\n\n#[step(get = \"/n\")]\nfn new(); }",
        ),
    ] {
        let text = format!("#[scenario]\nfn visit() {body}\n");
        let changed = edited(&text, &[add(None)]);
        assert_eq!(
            changed,
            format!("#[scenario]\nfn visit() {expected}\n"),
            "{body}"
        );
    }
    let text = "#[scenario]\nfn visit() {\n    #[step]\n    fn a();\n    #[step]\n    fn b();\n}\n";
    assert_eq!(
        edited(text, &[add(Some("a"))]),
        "#[scenario]\nfn visit() {\n    #[step]\n    fn a();\n\n    #[step(get = \"/n\")]\n    fn new();\n\n    #[step]\n    fn b();\n}\n"
    );
}
