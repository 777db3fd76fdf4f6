//! Documents that are large, and those in which anything stands anywhere.

use super::*;
use proptest::prelude::*;

#[test]
fn an_example_that_all_operations_have_is_kept_as_often_as_there_is_room() {
    let mut text = "openapi: 3.0.0\npaths:\n".to_owned();
    for number in 0..200 {
        let _ = writeln!(
            text,
            "  /p{number}: {{get: {{responses: {{'200': {{$ref: '#/components/responses/Large'}}}}}}}}"
        );
    }
    let _ = writeln!(
        text,
        "components: {{responses: {{Large: {{content: {{text/plain: {{example: {}}}}}}}}}}}",
        "x".repeat(1024 * 1024)
    );
    let recording = read(&text);
    let answers = recording
        .exchanges
        .iter()
        .filter_map(|exchange| exchange.answer.as_ref());
    let bytes: usize = answers.map(|answer| answer.body.len()).sum();
    assert!((1..=64 * 1024 * 1024).contains(&bytes), "{bytes}");
    assert!(
        recording
            .notes
            .iter()
            .any(|note| note.words.contains("64 MiB"))
    );
}

#[test]
fn a_large_document_is_read_within_bounds() {
    // Each schema has ten of the next: without bounds that would be ten thousand million values.
    let mut text = "openapi: 3.0.0\npaths:\n".to_owned();
    for number in 0..50 {
        let _ = writeln!(
            text,
            "  /p{number}: {{post: {{requestBody: {{content: {{application/json: {{schema: {{$ref: '#/components/schemas/S0'}}}}}}}}}}}}"
        );
    }
    text.push_str("components:\n  schemas:\n");
    for level in 0..10 {
        let properties: Vec<_> = (0..10)
            .map(|name| format!("a{name}: {{$ref: '#/components/schemas/S{}'}}", level + 1))
            .collect();
        let required: Vec<_> = (0..10).map(|name| format!("a{name}")).collect();
        let _ = writeln!(
            text,
            "    S{level}: {{required: [{}], properties: {{{}}}}}",
            required.join(", "),
            properties.join(", ")
        );
    }
    text.push_str("    S10: {type: integer}\n");
    let recording = read(&text);
    assert_eq!(recording.exchanges.len(), 50);
    for exchange in &recording.exchanges {
        assert!(show_body(exchange, &recording).len() < 100_000);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Lines of a document in another order, with others of their places, doubled, or gone: mostly still YAML.
    #[test]
    fn no_document_makes_the_reader_panic(
        which in 0..3usize,
        changes in proptest::collection::vec((0..400usize, 0..400usize, 0..5usize), 1..8),
    ) {
        let mut lines: Vec<String> = [SHOP, FAULTY, BARE][which].lines().map(str::to_owned).collect();
        for (one, other, how) in changes {
            let (one, other) = (one % lines.len(), other % lines.len());
            match how {
                0 => lines.swap(one, other),
                1 => { lines.remove(one); }
                2 => { let line = lines[other].clone(); lines.insert(one, line); }
                3 => {
                    let value = lines[other].split_once(": ").map_or("", |(_, value)| value).to_owned();
                    if let Some((name, _)) = lines[one].clone().split_once(": ") {
                        lines[one] = format!("{name}: {value}");
                    }
                }
                _ => lines[one] = lines[one].replace("string", "object").replace("schemas/", "paths/"),
            }
            if lines.is_empty() { lines.push("openapi: 3.0.0".to_owned()); }
        }
        let text = lines.join("\n");
        match read_openapi(&input(&text), &OpenApiOptions::default()) {
            Ok(recording) => {
                prop_assert!(!recording.exchanges.is_empty());
                for exchange in &recording.exchanges {
                    let target = show_text(&exchange.target, &recording);
                    prop_assert!(target.starts_with('/'), "{}", target);
                    prop_assert!(target.bytes().all(|byte| byte.is_ascii_graphic()), "{}", target);
                    prop_assert!(exchange.origin.starts_with("http"));
                }
                for (number, reference) in recording.references.iter().enumerate() {
                    if let Origin::Body { exchange, .. } = &reference.from {
                        let user = recording.exchanges.iter().position(|exchange| {
                            exchange.target.references().any(|used| used == number)
                        });
                        prop_assert!(user.is_none_or(|user| *exchange < user));
                    }
                }
                for note in &recording.notes {
                    prop_assert!(note.span.end <= text.len());
                }
            }
            Err(mistake) => prop_assert!(!mistake.words.is_empty()),
        }
    }
}
