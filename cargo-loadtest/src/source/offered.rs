//! The options that a form offers: those of the documentation that it can write, each with a value to begin with.

use super::attribute::{LIMIT, OptionText};
use super::forms::{OptionSource, PartSource};
use super::kinds::Owner;
use super::tokens::lex_text;
use super::value::{OptionValue, read_value};
use loadtest_language::{
    DocumentedOption, METHODS, OPEN_OPTION, documented_scenario_options, documented_step_options,
};

/// An option that could be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfferedOption {
    pub(crate) key: &'static str,
    /// Where the option has a place: `every step`.
    pub(crate) place: &'static str,
    /// The value to begin with.
    pub(crate) value: OptionValue,
}

/// What to begin with where the sample of the documentation would need more: another step, a file, a secret.
const FIRST_VALUES: [(&str, &str); 13] = [
    ("basic", "basic = (\"user\", \"{{secret.PASSWORD}}\")"),
    ("bearer", "bearer = \"{{secret.TOKEN}}\""),
    ("body", "body = \"text\""),
    ("connections", "connections = new"),
    ("form", "form = { \"name\": \"value\" }"),
    ("graphql", "graphql = \"query { name }\""),
    ("header", "header(\"x-name\", \"value\")"),
    ("json", "json = { \"key\": \"value\" }"),
    ("load", "load = rate(10/s, for = 30s)"),
    ("multipart", "multipart = { \"name\": \"value\" }"),
    ("query", "query = { \"name\": \"value\" }"),
    ("thresholds", "thresholds(errors < 1%)"),
    ("variables", "variables = { \"id\": 1 }"),
];
/// Options that mean nothing without another one.
const NEEDS: [(&str, &str); 5] = [
    ("every", "until"),
    ("within", "until"),
    ("refresh", "once"),
    ("variables", "graphql"),
    ("partial", "graphql"),
];
/// Options that there may be several of.
const REPEATED: [&str; 3] = ["header", LIMIT, "reply"];
const LIMIT_SAMPLE: DocumentedOption = DocumentedOption {
    place: "every step",
    name: LIMIT,
    sample: "p95 < 300ms",
};

/// Returns whether there may be several of an option.
pub(crate) fn is_repeated(key: &str) -> bool {
    REPEATED.contains(&key)
}

/// Returns the options that could be added to a step, or to the scenario, beside those that are there.
pub(crate) fn offered_options(
    step: Option<&PartSource>,
    present: &[OptionSource],
) -> Vec<OfferedOption> {
    let (owner, documented) = match step {
        Some(_) => (Owner::Step, documented_step_options()),
        None => (Owner::Scenario, documented_scenario_options()),
    };
    let is_there = |key: &str| present.iter().any(|option| option.key == key);
    let limit = step.map(|_| LIMIT_SAMPLE);
    documented
        .into_iter()
        .chain(limit)
        .filter(|one| {
            let needed = NEEDS.iter().find(|(key, _)| *key == one.name);
            (is_repeated(one.name) || !is_there(one.name))
                && needed.is_none_or(|(_, other)| is_there(other))
                && step.is_none_or(|step| fits(step, one))
        })
        .filter_map(|one| {
            Some(OfferedOption {
                key: one.name,
                place: one.place,
                value: first_value(owner, &one)?,
            })
        })
        .collect()
}

/// Returns whether a step is of the kind that an option is for.
fn fits(step: &PartSource, option: &DocumentedOption) -> bool {
    if METHODS.contains(&option.name) || option.name == OPEN_OPTION {
        return false;
    }
    let returns = step.returns.as_deref().unwrap_or_default();
    match option.place {
        place if place.contains("without a body") => !step.has_body,
        place if place.contains("async") => !step.is_async,
        place => ["Events", "Socket"]
            .iter()
            .all(|answer| !place.contains(answer) || returns.contains(answer)),
    }
}

/// Returns the value that an option begins with; none where no form can write it.
fn first_value(owner: Owner, option: &DocumentedOption) -> Option<OptionValue> {
    let own = FIRST_VALUES.iter().find(|(key, _)| *key == option.name);
    let sample = own.map_or(option.sample, |(_, sample)| sample);
    let sample = sample.replace("\\|", "|");
    let tokens = lex_text(&sample).ok()?;
    let text = OptionText::read(&sample, &tokens, None)?;
    read_value(owner, &sample, &text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written in Rust, or about the whole package.
    const CLOSED: [&str; 5] = ["check", "until", "first", "units", "crate"];

    #[test]
    fn a_form_can_write_every_documented_option() {
        for (owner, documented) in [
            (Owner::Step, documented_step_options()),
            (Owner::Scenario, documented_scenario_options()),
        ] {
            assert!(documented.len() > 25, "{documented:?}");
            for option in documented {
                let is_request = METHODS.contains(&option.name) || option.name == OPEN_OPTION;
                if is_request && owner == Owner::Step {
                    continue;
                }
                let is_closed = CLOSED.contains(&option.name);
                assert_eq!(
                    first_value(owner, &option).is_none(),
                    is_closed,
                    "{option:?}"
                );
            }
        }
    }
}
