//! Values of answers that are sent as they were recorded, since nothing says for certain where they are from.

use super::kind::{ValueKind, kind};
use super::request::{ValueForm, places};
use crate::recording::Recording;
use std::collections::{HashMap, HashSet};

/// The fewest digits of a number that is hardly equal by chance.
const FEWEST_DIGITS: usize = 3;

/// A value that an earlier answer had, and that a request has as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftValue {
    /// The number of the request.
    pub exchange: usize,
    /// The place in the request, for people: `product_id` in the body.
    pub place: String,
    /// The value, as it was recorded.
    pub value: String,
    /// The number of the first answer that had it.
    pub from: usize,
}

/// Returns the values of earlier answers that requests have as they were recorded. What a request had before any
/// answer is the user's.
pub fn find_left_values(recording: &Recording) -> Vec<LeftValue> {
    let mut answers: Vec<(usize, String)> = Vec::new();
    let mut first_in_answer: HashMap<String, usize> = HashMap::new();
    let mut users: HashSet<String> = HashSet::new();
    let mut left = Vec::new();
    for (number, exchange) in recording.exchanges.iter().enumerate() {
        let mut seen = HashSet::new();
        for place in places(exchange) {
            let is_wanted = match kind(&place.value) {
                ValueKind::Number(digits) => digits >= FEWEST_DIGITS && place.label.is_identifier(),
                other => other >= ValueKind::Rare,
            };
            if !is_wanted || place.form == ValueForm::Within || users.contains(&place.value) {
                continue;
            }
            let known = first_in_answer.get(&place.value).copied();
            let found = known.or_else(|| {
                let mut with_value = answers.iter();
                let found = with_value.find(|(_, text)| text.contains(&place.value));
                found.map(|(from, _)| *from)
            });
            let Some(from) = found else {
                users.insert(place.value);
                continue;
            };
            first_in_answer.insert(place.value.clone(), from);
            if seen.insert(place.value.clone()) {
                left.push(LeftValue {
                    exchange: number,
                    place: place.name.to_string(),
                    value: place.value,
                    from,
                });
            }
        }
        let answer = exchange.answer.as_ref().filter(|answer| !answer.is_example);
        answers.extend(
            answer.map(|answer| (number, String::from_utf8_lossy(&answer.body).into_owned())),
        );
    }
    left
}
