//! The values of options: read from their tokens, and printed to the same tokens.

use super::attribute::{GOOD, OptionForm, OptionText};
use super::grammar::{self, Rest, Rule};
use super::kinds::{ItemKind, Owner, form_key, kind_of};
use super::mistakes::explain_option;
use super::print::print_option;
use super::tokens::{find_comments, lex_text, spell_value};
use loadtest_model::threshold::{Scope, parse_threshold};
use serde::{Deserialize, Serialize};

/// The value of an option, as a form shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OptionValue {
    /// Without a value: `once`.
    Flag,
    /// Text in the grammar of the option, such as `500ms..2s` or `p95 < 300ms`.
    Source(String),
    /// A string without its quotes.
    Text(String),
    /// Name and value of a header; user and password.
    Pair(String, String),
    /// `tags = ["shop", "critical"]`
    Texts(Vec<String>),
    /// `thresholds(p95 < 300ms, errors < 1%)`
    Conditions(Vec<String>),
    /// `get = "/products"`, under the key `request`.
    Request { method: String, url: String },
    /// `query`, `form` and `multipart`.
    Fields(Vec<Field>),
    /// `body = file("data/blob.bin")`
    File(String),
    /// `rate(50/s, for = 8s)`, `retry(2, on = 503)`
    Call(ParameterList),
    /// `[rate(0/s -> 50/s, for = 10s), ..]`
    Stages(Vec<ParameterList>),
}

/// A field of a form or of a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) value: FieldValue,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FieldValue {
    Text(String),
    /// A number, `true`, or `{{login.response.id}}`.
    Source(String),
    File(String),
}

/// A word with parameters, all as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ParameterList {
    pub(crate) word: String,
    pub(crate) first: String,
    pub(crate) named: Vec<(String, String)>,
}

impl OptionValue {
    /// The value without spaces around source text, and without the line ends that browsers send.
    pub(super) fn normalised(self) -> Self {
        match self {
            Self::Source(text) => Self::Source(text.replace("\r\n", "\n").trim().to_owned()),
            other => other,
        }
    }
}

const CLOSURE: &str = "it is a closure, which is edited in Rust";
const UNUSUAL: &str = "it is written in a way that this form would change";
const UNKNOWN: &str = "this form does not know it";
const COMMENT: &str = "there is a comment within it";

/// Reads the value of an option; else the reason why no form can edit it.
pub(super) fn read_value(
    owner: Owner,
    text: &str,
    option: &OptionText,
) -> Result<OptionValue, &'static str> {
    let key = form_key(owner, &option.key);
    let kind = kind_of(owner, key).ok_or(UNKNOWN)?;
    let is_closure = (option.value_tokens().first()).is_some_and(|token| token.is_punct('|'));
    if is_closure || matches!(kind, ItemKind::Closure) {
        return Err(CLOSURE);
    }
    let source = &text[option.range.clone()];
    let value = parse_value(kind, text, option).ok_or(UNUSUAL)?;
    let tokens = lex_text(source).map_err(|_| UNUSUAL)?;
    if !find_comments(source, &tokens).is_empty() {
        return Err(COMMENT);
    }
    let printed = print_option(key, &value);
    let again = lex_text(&printed).map_err(|_| UNUSUAL)?;
    if spell_value(source, &tokens) == spell_value(&printed, &again) {
        Ok(value)
    } else {
        Err(UNUSUAL)
    }
}

/// Prints an option whose value came from a form.
///
/// # Errors
/// A value that is none of this option.
pub(super) fn check_and_print(
    owner: Owner,
    key: &str,
    value: &OptionValue,
) -> Result<String, String> {
    let printed = print_option(key, value);
    let refuse = || {
        explain_option(owner, key, &printed)
            .unwrap_or_else(|| format!("a form cannot write `{printed}`: edit it in Rust"))
    };
    let tokens = lex_text(&printed).map_err(|_| refuse())?;
    let option = OptionText::read(&printed, &tokens, None).ok_or_else(refuse)?;
    let is_same = form_key(owner, &option.key) == key && option.range == (0..printed.len());
    match read_value(owner, &printed, &option) {
        Ok(read) if is_same && read == *value => Ok(printed),
        _ => Err(refuse()),
    }
}

fn parse_value(kind: ItemKind, text: &str, option: &OptionText) -> Option<OptionValue> {
    let mut rest = Rest::new(text, option.value_tokens());
    let source = || undent(text, option);
    let is_assigned = option.form == OptionForm::Assigned;
    let is_call = option.form == OptionForm::Call;
    let value = match kind {
        ItemKind::Flag | ItemKind::FlagOrCall if option.form == OptionForm::Bare => {
            OptionValue::Flag
        }
        ItemKind::Flag => (option.form == OptionForm::Bare).then_some(OptionValue::Flag)?,
        ItemKind::Source(rule) | ItemKind::SourceOrCall(rule)
            if is_assigned || option.key == GOOD =>
        {
            rule(&mut rest)?;
            OptionValue::Source(source())
        }
        ItemKind::Text if is_assigned => OptionValue::Text(rest.take_string()?),
        ItemKind::Request if is_assigned => OptionValue::Request {
            method: option.key.clone(),
            url: rest.take_string()?,
        },
        ItemKind::Pair => {
            let mut inside = if is_call { rest } else { rest.take_group('(')? };
            let first = inside.take_string()?;
            inside.take(",")?;
            let second = inside.take_string()?;
            rest = if is_call { inside } else { rest };
            inside.is_empty().then_some(())?;
            OptionValue::Pair(first, second)
        }
        ItemKind::Texts if is_assigned => {
            let inside = rest.take_group('[')?;
            OptionValue::Texts(read_list(inside, Rest::take_string)?)
        }
        ItemKind::Conditions(scope) if is_call => {
            let conditions = read_list(rest, |rest| read_condition(rest.take_until_comma(), scope));
            return Some(OptionValue::Conditions(conditions?));
        }
        ItemKind::Condition(scope) if option.form == OptionForm::Compared => {
            return read_condition(&source(), scope).map(OptionValue::Source);
        }
        ItemKind::Fields { may_hold_files } if is_assigned => {
            let inside = rest.take_group('{')?;
            OptionValue::Fields(read_list(inside, |rest| read_field(rest, may_hold_files))?)
        }
        ItemKind::Body if is_assigned => match take_file(&mut rest) {
            Some(path) => OptionValue::File(path),
            None => OptionValue::Text(rest.take_string()?),
        },
        ItemKind::Call | ItemKind::FlagOrCall | ItemKind::SourceOrCall(_) if is_call => {
            return read_parameters(&option.key, rest).map(OptionValue::Call);
        }
        ItemKind::Load if is_assigned => {
            let mut ahead = rest;
            if let Some(stages) = ahead.take_group('[') {
                rest = ahead;
                OptionValue::Stages(read_list(stages, read_stage)?)
            } else {
                OptionValue::Call(read_stage(&mut rest)?)
            }
        }
        _ => return None,
    };
    rest.is_empty().then_some(value)
}

/// Reads what stands between commas, the last of which may be missing.
fn read_list<'a, T>(
    mut rest: Rest<'a>,
    mut read: impl FnMut(&mut Rest<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    let mut items = Vec::new();
    while !rest.is_empty() {
        items.push(read(&mut rest)?);
        if !rest.is_empty() {
            rest.take(",")?;
        }
    }
    Some(items)
}

fn read_condition(condition: &str, scope: Scope) -> Option<String> {
    parse_threshold(condition, scope).ok()?;
    Some(condition.to_owned())
}

fn take_file(rest: &mut Rest<'_>) -> Option<String> {
    let mut ahead = *rest;
    ahead.take_word().filter(|word| *word == "file")?;
    let mut inside = ahead.take_group('(')?;
    let path = inside.take_string()?;
    *rest = ahead;
    inside.is_empty().then_some(path)
}

fn read_field(rest: &mut Rest<'_>, may_hold_files: bool) -> Option<Field> {
    let name = rest.take_string()?;
    rest.take(":")?;
    let mut ahead = *rest;
    let value = if let Some(path) = take_file(&mut ahead).filter(|_| may_hold_files) {
        *rest = ahead;
        FieldValue::File(path)
    } else if let Some(text) = ahead_string(rest) {
        FieldValue::Text(text)
    } else {
        let mut ahead = *rest;
        grammar::field(&mut ahead)?;
        FieldValue::Source(rest.take_until_comma().to_owned())
    };
    Some(Field { name, value })
}

fn ahead_string(rest: &mut Rest<'_>) -> Option<String> {
    let mut ahead = *rest;
    let text = ahead.take_string()?;
    *rest = ahead;
    Some(text)
}

fn read_stage(rest: &mut Rest<'_>) -> Option<ParameterList> {
    let word = rest.take_word()?;
    matches!(word, "rate" | "users" | "iterations").then_some(())?;
    read_parameters(word, rest.take_group('(')?)
}

/// Reads the parameters of a load, of `retry`, `rendezvous`, `once` and `heartbeat`.
fn read_parameters(word: &str, mut rest: Rest<'_>) -> Option<ParameterList> {
    let mut ahead = rest;
    let first = match word {
        // all of them have names
        "once" => "",
        "heartbeat" => {
            ahead.take_string()?;
            rest.take_until_comma()
        }
        _ => {
            grammar::amount(&mut ahead)?;
            rest.take_until_comma()
        }
    };
    let mut named = Vec::new();
    while !rest.is_empty() {
        if !first.is_empty() || !named.is_empty() {
            rest.take(",")?;
        }
        if rest.is_empty() {
            break;
        }
        let name = rest.take_word()?;
        rest.take("=")?;
        let rule: Rule = match name {
            "for" | "ramp_up" | "warm_up" | "pace" | "backoff" | "within" | "every" => {
                grammar::time
            }
            "max_users" | "users" => grammar::number,
            "spawn" => grammar::amount,
            "on" => grammar::triggers,
            "answer" => grammar::text,
            _ => return None,
        };
        let value = rest.take_until_comma();
        check_rule(rule, value)?;
        named.push((name.to_owned(), value.to_owned()));
    }
    Some(ParameterList {
        word: word.to_owned(),
        first: first.to_owned(),
        named,
    })
}

fn check_rule(rule: Rule, value: &str) -> Option<()> {
    let tokens = lex_text(value).ok()?;
    let mut rest = Rest::new(value, &tokens);
    rule(&mut rest)?;
    rest.is_empty().then_some(())
}

/// The value as text whose lines begin where the option does.
fn undent(text: &str, option: &OptionText) -> String {
    let line = text[..option.range.start]
        .rsplit('\n')
        .next()
        .unwrap_or_default();
    let indent = &line[..line.len() - line.trim_start().len()];
    let lines = text[option.value.clone()].lines();
    let lines: Vec<&str> = lines
        .map(|line| line.strip_prefix(indent).unwrap_or(line))
        .collect();
    lines.join("\n")
}
