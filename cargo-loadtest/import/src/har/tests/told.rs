//! What is not done as an archive says, and where that is told: a `«` stands before it.

use super::*;

#[test]
fn what_is_left_out_of_a_request_is_told_where_it_is() {
    let entries = |entries: &str| format!(r#"{{"log": {{"entries": [{entries}]}}}}"#);
    let kept = r#"{"request": {"url": "http://h/"}}"#;
    for (other, words) in [
        (
            r#"{"request": {"url": «"http://[::1"}}"#,
            "this URL cannot be read",
        ),
        (
            r#"{"request": {"url": "http://h/b", "method": «"A B"}}"#,
            "this is not a method",
        ),
        (r#"{"request": «7}"#, "an entry has a request"),
    ] {
        let recording = told_at(&entries(&format!("{kept}, {other}")), words);
        assert_eq!(recording.exchanges.len(), 1);
    }
}

fn told_at(text: &str, words: &str) -> Recording {
    let at = text.find('«').unwrap();
    let input = Input::new("visit.har", text.replace('«', ""));
    let recording = read_har(&input, &HarOptions::default()).unwrap();
    let mut notes = recording.notes.iter();
    let is_told = notes.any(|note| note.span.start == at && note.words.contains(words));
    assert!(is_told, "{text}\n{words}\n{:?}", recording.notes);
    recording
}
