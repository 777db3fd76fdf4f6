//! Archives in which anything stands anywhere.

use super::*;
use proptest::prelude::*;

/// Values of any kind where an archive has others.
fn anything() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "https?://[a-z0-9.:@%-]{0,12}/[ -~]{0,20}".prop_map(Value::from),
        "[a-z]{1,3}=[ -~]{0,8}; ?[a-z=;]{0,20}".prop_map(Value::from),
        "multipart/form-data; boundary=[b-]{0,2}".prop_map(Value::from),
        "(--b|\r\n|name=|form-data;|\"|--|a: b){0,12}".prop_map(Value::from),
        "20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9:.Z+]{0,12}".prop_map(Value::from),
        Just(json!([{ "type": "send", "time": 1e300, "opcode": 2, "data": "@" }, { "data": "7" }])),
        Just(json!([])),
        Just(json!({})),
    ]
}

const PLACES: [&str; 23] = [
    "_webSocketMessages",
    "startedDateTime",
    "time",
    "_resourceType",
    "_fromCache",
    "cache",
    "timings",
    "request",
    "response",
    "request.method",
    "request.url",
    "request.headers.cookie",
    "request.headers.content-type",
    "request.headers.authorization",
    "request.headers.accept",
    "request.cookies",
    "request.postData",
    "response.status",
    "response.headers.set-cookie",
    "response.content",
    "response.content.text",
    "response.content.encoding",
    "response.content.mimeType",
];

fn entry_with_anything() -> impl Strategy<Value = Value> {
    let others = prop::collection::vec((0..PLACES.len(), anything()), 0..4);
    let data = (anything(), anything(), anything());
    (0..90_000_u32, 0..4_u32, others, data).prop_map(|(at, id, others, data)| {
        let mut changed = entry(at, "GET", &format!("http://h/items/{id}"), 200);
        changed["request"]["postData"] =
            json!({ "mimeType": data.0, "text": data.1, "params": [{ "name": data.2 }] });
        for (place, value) in others {
            let place = PLACES[place];
            // Whatever was changed before may be no object any more.
            let part = place.split('.').next().unwrap();
            let is_nested = place.contains('.');
            let is_list = !place.contains(".headers.") || changed[part]["headers"].is_array();
            let is_sound = !is_nested || changed[part].is_object() && is_list;
            let content = &changed["response"]["content"];
            if is_sound && (!place.contains(".content.") || content.is_object()) {
                changed = with(changed, &[(place, value)]);
            }
        }
        changed
    })
}

proptest! {
    /// Nothing that stands in an archive makes its reader panic, and what it says has its place.
    #[test]
    fn any_archive_is_read_or_refused(entries in prop::collection::vec(entry_with_anything(), 0..12)) {
        let archive = archive(&entries);
        let length = archive.to_string().len();
        for (keeps_static, host) in [(false, None), (true, Some("h".to_owned()))] {
            let options = HarOptions { keeps_static, hosts: host.into_iter().collect(), drops_pauses: false };
            match read(&archive, &options) {
                Ok(recording) => {
                    prop_assert!(!recording.exchanges.is_empty());
                    prop_assert!(recording.exchanges.iter().all(|exchange| exchange.target.start().starts_with('/')));
                    prop_assert!(recording.notes.iter().all(|note| note.span.end <= length));
                }
                Err(mistake) => prop_assert!(mistake.span.end <= length),
            }
        }
    }
}
