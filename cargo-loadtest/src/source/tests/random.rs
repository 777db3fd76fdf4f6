//! Random layouts and random edits.

use super::*;
use crate::source::tokens::{find_comments, lex_text};
use proptest::prelude::*;

/// The tokens of two scenarios, any space between them.
const TOKENS: &str = r#"
    # [ scenario ( tags = [ "a" , "b" ] , thresholds ( p95 < 1s , errors < 1 % ) ) ] fn visit ( ) {
    # [ step ( get = "/a" , header ( "x-a" , "b//c" ) , weight = 0.5 , once , ) ] fn one ( ) ;
    # [ step ( check = | a | f :: < A , B > ( a ) , post = "/b" , json = { "a" : { { one . response . id } } } ) ] fn two ( one : & T ) -> Vec < u8 > ;
    # [ step ] async fn three ( http : & mut Http ) -> Result < ( ) , Error > { x ( "}" ) }
    # [ group ( name = "g" ) ] fn four ( ) { # [ step ( get = "/c" , think = 1s .. 2s ) ] fn five ( ) ; }
    const N : u8 = 1 ;
    # [ step ( get = "/d" ) ] fn six ( ) ;
    }
    # [ scenario ] fn other ( ) { # [ step ( get = "/" ) ] fn it ( ) ; }
"#;

/// What may stand between two tokens.
fn gap() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => Just(""),
        12 => Just(" "),
        4 => Just("\n"),
        2 => Just("\n\n    "),
        1 => Just(" // a, ) ] }\n"),
        1 => Just(" /* b \n , */ "),
        1 => Just("\n// c\n    "),
        1 => Just(" /* \" */"),
        1 => Just("\n    /* d */ // e\n"),
    ]
}

fn layout(gaps: &[&str], is_windows: bool) -> String {
    let words = TOKENS.split_whitespace().zip(gaps.iter().cycle());
    let mut text = String::new();
    for (word, gap) in words {
        let is_apart =
            text.ends_with(['(', '[', '{', ',', ';']) || word.starts_with(|c| ")]},;".contains(c));
        let needs_space = gap.is_empty() && !is_apart;
        text.push_str(if needs_space { " " } else { gap });
        text.push_str(word);
    }
    if is_windows {
        text.replace('\n', "\r\n")
    } else {
        text
    }
}

fn sorted_comments(text: &str) -> Vec<String> {
    let tokens = lex_text(text).unwrap();
    let comments = find_comments(text, &tokens).into_iter();
    let mut comments: Vec<String> = comments.map(|place| text[place].to_owned()).collect();
    comments.sort();
    comments
}

fn edits_of(source: &SourceText) -> Vec<Edit> {
    let holder = &source.scenarios[0];
    let parts = holder.parts.iter().enumerate();
    let steps = parts.filter(|(_, part)| part.role == Role::Step);
    let edits = steps.flat_map(|(number, _)| files::edits_of(source, holder, number));
    let mut edits: Vec<Edit> = edits.map(|(edit, _)| edit).collect();
    let tags = |tags: &[&str]| OptionValue::Texts(tags.iter().map(|&tag| tag.to_owned()).collect());
    let was = Some(tags(&["a", "b"]));
    edits.push(Edit::Option(option_edit(None, "tags", was.clone(), None)));
    edits.push(Edit::Option(option_edit(
        None,
        "tags",
        was,
        Some(tags(&["c"])),
    )));
    let base = OptionValue::Text("http://localhost".to_owned());
    edits.push(Edit::Option(option_edit(None, "base", None, Some(base))));
    for (step, to) in [("six", "seven"), ("one", "eight")] {
        let (step, to) = (step.to_owned(), to.to_owned());
        edits.push(Edit::RenameStep { step, to });
    }
    let was = String::new();
    let to = "A visit.\nTwice.".to_owned();
    edits.push(Edit::Describe {
        step: None,
        was,
        to,
    });
    edits
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_edit_of_any_layout_loses_a_comment(
        gaps in prop::collection::vec(gap(), 211),
        choices in prop::collection::vec(any::<prop::sample::Index>(), 6),
        is_windows in any::<bool>(),
    ) {
        let text = layout(&gaps, is_windows);
        let source = SourceText::read(&text).unwrap();
        prop_assert_eq!(source.scenarios.len(), 2);
        let edits = edits_of(&source);
        for choice in choices {
            let mut edit = choice.get(&edits).clone();
            if let Edit::Option(edit) = &mut edit {
                edit.with_comments = false;
            }
            match apply_edits(&text, "visit", std::slice::from_ref(&edit)) {
                Ok(edited) => {
                    let added = matches!(edit, Edit::DuplicateStep { .. });
                    let after = sorted_comments(&edited.text);
                    let before = sorted_comments(&text);
                    prop_assert!(after == before || added && after.len() >= before.len());
                }
                Err(refused) => prop_assert!(
                    !matches!(refused[0].reason, EditRefusal::Unproven | EditRefusal::Unreadable(_)),
                    "{:?}\n{}",
                    edit,
                    text
                ),
            }
        }
    }
}
