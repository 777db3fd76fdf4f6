//! Archives in the shape of those that programs write.

use super::*;
use std::fmt::Write as _;

/// All that is known of an archive, for a snapshot.
fn shown(text: &str) -> String {
    let input = Input::new("visit.har", text.to_owned());
    let recording = read_har(&input, &HarOptions::default()).unwrap();
    let mut shown = format!("{:?}\nbase {:?}\n", recording.description, recording.base);
    for exchange in &recording.exchanges {
        let think = exchange
            .think
            .map_or(String::new(), |think| format!(", think {think:?}"));
        let _ = writeln!(
            shown,
            "{} {}{} -> {:?}{think}",
            exchange.method,
            exchange.origin,
            show_text(&exchange.target),
            exchange.expect
        );
        for header in &exchange.headers {
            let _ = writeln!(shown, "  {}: {}", header.name, show_text(&header.value));
        }
        if let Some(credentials) = &exchange.credentials {
            let _ = writeln!(shown, "  {:?}", show_text(&credentials.user));
        }
        match &exchange.body {
            Body::None => {}
            Body::Text(text) => {
                let _ = writeln!(shown, "  {}", show_text(text));
            }
            Body::Multipart(parts) => {
                for part in parts {
                    let file = part.file_name.as_ref().map(show_text);
                    let _ = writeln!(
                        shown,
                        "  {} = {:?} {file:?} {:?}",
                        show_text(&part.name),
                        show_text(&part.content),
                        part.content_type
                    );
                }
            }
        }
        let answer = exchange
            .answer
            .as_ref()
            .map(|answer| answer.body.as_slice());
        if let Some(body) = answer.filter(|body| !body.is_empty()) {
            let _ = writeln!(shown, "  < {}", String::from_utf8_lossy(body));
        }
    }
    for note in &recording.notes {
        let _ = writeln!(shown, "note {}: {}", &text[note.span.clone()], note.words);
    }
    for dropped in &recording.dropped {
        let _ = writeln!(shown, "dropped {} ({})", dropped.what, dropped.why);
    }
    shown
}

#[test]
fn an_archive_of_chrome_is_what_its_user_did() {
    insta::assert_snapshot!(shown(include_str!(
        "../../../../../tests/fixtures/import/har/chrome.har"
    )));
}

#[test]
fn an_archive_of_firefox_is_what_its_user_did() {
    insta::assert_snapshot!(shown(include_str!(
        "../../../../../tests/fixtures/import/har/firefox.har"
    )));
}

#[test]
fn an_archive_of_a_proxy_is_what_passed_it() {
    insta::assert_snapshot!(shown(include_str!(
        "../../../../../tests/fixtures/import/har/charles.har"
    )));
}

#[test]
fn requests_that_were_never_sent_are_kept_without_a_status() {
    insta::assert_snapshot!(shown(include_str!(
        "../../../../../tests/fixtures/import/har/insomnia.har"
    )));
}
