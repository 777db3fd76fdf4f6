//! The options of `#[step(..)]`.

use super::body::BodyOption;
use super::fields::{Field, FieldsOf, fields};
use super::header::{HEADER_KEYS, HeaderOption};
use super::repeat::{self, RepeatOptions};
use super::scenario::require_not_empty;
use super::threshold::{ThresholdOption, begins_threshold, is_compared, parse_threshold_option};
use super::value::{
    parse_duration, parse_grade_weight, parse_positive_duration, parse_redirects, parse_share,
};
use super::weight::{WeightOption, parse_weight};
use super::wording::{names_request, not_a_status, refuse_broken_range};
use super::{
    GivenOptions, parse_assigned, parse_each, parse_option_name, skip_rest, unknown_option,
};
use crate::spelling::source_text;
use crate::suggest::MacroErrors;
use crate::template::{Template, TemplatePart};
use loadtest_model::threshold::{Scope, metric_words};
use proc_macro2::{Ident, TokenStream};
use std::fmt::Write as _;
use std::time::Duration;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{LitInt, LitStr, Token};

const STEP_KEYS: [&str; 27] = [
    "name",
    "weight",
    "one_of",
    "expect",
    "think",
    "timeout",
    "get",
    "post",
    "put",
    "delete",
    "patch",
    "head",
    "options",
    "header",
    "bearer",
    "basic",
    "query",
    "json",
    "form",
    "body",
    "multipart",
    "apdex",
    "budget",
    "grade_weight",
    "check",
    "redirects",
    "stop_on_failure",
];

pub(crate) const METHODS: [&str; 7] = ["get", "post", "put", "delete", "patch", "head", "options"];

#[derive(Default)]
pub(crate) struct StepOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) weight: WeightOption,
    /// The name of the choice that the step is part of.
    pub(crate) one_of: Option<Ident>,
    /// Inclusive ranges; empty for the default.
    pub(crate) expect: Vec<(u16, u16)>,
    pub(crate) think: Option<(Duration, Duration)>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) call: Option<MethodAndUrl>,
    /// Also where what follows is broken.
    pub(crate) names_method: bool,
    pub(crate) headers: Vec<HeaderOption>,
    pub(crate) query: Vec<Field>,
    pub(crate) body: Option<BodyOption>,
    pub(crate) thresholds: Vec<ThresholdOption>,
    pub(crate) apdex: Option<Duration>,
    pub(crate) budget: Option<f64>,
    pub(crate) grade_weight: Option<f64>,
    pub(crate) repeat: RepeatOptions,
    pub(crate) redirects: Option<u32>,
    pub(crate) stop_on_failure: bool,
    /// Raw, so that an editor completes in half-written closures.
    pub(crate) checks: Vec<TokenStream>,
    /// Every option that was given, metrics aside.
    pub(crate) keys: Vec<Ident>,
    /// The options of a declarative request, which a step with a body cannot have.
    pub(crate) request_keys: Vec<Ident>,
}

/// `get = "/path"`.
pub(crate) struct MethodAndUrl {
    pub(crate) method: Ident,
    pub(crate) literal: LitStr,
    /// `None` when it is broken.
    pub(crate) url: Option<Template>,
}

impl StepOptions {
    pub(crate) fn parse(tokens: TokenStream, errors: &mut MacroErrors) -> Self {
        let mut options = Self::default();
        let mut given = GivenOptions::default();
        parse_each(tokens, errors, |input| {
            options.parse_option(&mut given, input)
        });
        repeat::check_repeat_options(&options, errors);
        options
    }

    /// All closures, which look at the response.
    pub(crate) fn closures(&self) -> impl Iterator<Item = &TokenStream> {
        let until = self.repeat.until.iter().map(|(_, condition)| condition);
        self.checks.iter().chain(until)
    }

    fn parse_option(
        &mut self,
        given: &mut GivenOptions,
        input: ParseStream<'_>,
    ) -> syn::Result<()> {
        // `#[step("/path")]` was to be a request
        self.names_method |= input.peek(LitStr);
        let key = parse_option_name(input)?;
        let name = key.to_string();
        if begins_threshold(&name, input) {
            self.thresholds
                .push(parse_threshold_option(&key, Scope::Step, input)?);
            return Ok(());
        }
        if !matches!(name.as_str(), "header" | "check") && step_keys().any(|known| known == name) {
            given.refuse_repeated(&key)?;
        }
        if STEP_KEYS.contains(&name.as_str()) {
            self.keys.push(key.clone());
        }
        match name.as_str() {
            "name" => self.name = Some(require_not_empty(parse_assigned(input)?)?),
            name if METHODS.contains(&name) => self.parse_method_and_url(key, input)?,
            name if HEADER_KEYS.contains(&name) => {
                self.request_keys.push(key);
                self.add_header(HeaderOption::parse(name, input)?)?;
            }
            "query" => {
                self.request_keys.push(key);
                input.parse::<Token![=]>()?;
                self.query = fields(input, FieldsOf::Query)?;
            }
            "json" | "form" | "body" | "multipart" => {
                self.request_keys.push(key.clone());
                self.parse_body_option(&key, &name, input)?;
            }
            "check" => {
                let check = parse_closure(input, "a check is a closure: `check = |r| ...`", CHECK)?;
                self.checks.push(check);
            }
            name if repeat::REPEAT_KEYS.contains(&name) => self.repeat.parse_option(key, input)?,
            "redirects" => self.redirects = Some(parse_redirects(input)?),
            "stop_on_failure" => {
                refuse_value(&key, input)?;
                self.stop_on_failure = true;
            }
            "weight" | "one_of" | "expect" | "think" | "timeout" | "apdex" | "budget"
            | "grade_weight" => {
                input.parse::<Token![=]>()?;
                self.parse_setting(&key, &name, input)?;
            }
            _ => {
                if is_compared(input) || input.peek(Token![.]) || begins_threshold(&name, input) {
                    self.thresholds
                        .push(parse_threshold_option(&key, Scope::Step, input)?);
                    return Ok(());
                }
                self.names_method |=
                    METHODS.contains(&name.to_lowercase().as_str()) || names_request(&name);
                skip_rest(input);
                let keys = step_keys().map(str::to_owned);
                let known: Vec<String> = keys.chain(metric_words(Scope::Step)).collect();
                return Err(unknown_option(&key, known.iter().map(String::as_str)));
            }
        }
        Ok(())
    }

    /// Parses an option that a scenario gives to all of its steps.
    pub(super) fn parse_default(&mut self, key: Ident, input: ParseStream<'_>) -> syn::Result<()> {
        match key.to_string().as_str() {
            "check" => {
                let check = parse_closure(input, "a check is a closure: `check = |r| ...`", CHECK)?;
                self.checks.push(check);
                Ok(())
            }
            "retry" => self.repeat.parse_option(key, input),
            "stop_on_failure" => {
                self.stop_on_failure = true;
                refuse_value(&key, input)
            }
            name => {
                input.parse::<Token![=]>()?;
                self.parse_setting(&key, name, input)
            }
        }
    }

    fn parse_setting(
        &mut self,
        key: &Ident,
        name: &str,
        input: ParseStream<'_>,
    ) -> syn::Result<()> {
        match name {
            "weight" => self.weight = parse_weight(input)?,
            "one_of" => self.one_of = Some(parse_choice(input)?),
            "expect" => self.expect = parse_expect(input)?,
            "think" => {
                let first = input.cursor().token_stream().into_iter().next();
                let min = parse_duration(input)?;
                refuse_broken_range(input, &source_text(first))?;
                let max = match input.parse::<Option<Token![..]>>()? {
                    Some(_) => parse_duration(input)?,
                    None => min,
                };
                if max < min {
                    return Err(syn::Error::new(
                        key.span(),
                        "the think time's upper bound is below its lower bound",
                    ));
                }
                self.think = Some((min, max));
            }
            "timeout" => self.timeout = Some(parse_positive_duration(input)?),
            "apdex" => self.apdex = Some(parse_positive_duration(input)?),
            "budget" => self.budget = Some(parse_share(input)?),
            "grade_weight" => self.grade_weight = Some(parse_grade_weight(input)?),
            _ => unreachable!("`{name}` is listed as a setting"),
        }
        Ok(())
    }

    fn parse_method_and_url(&mut self, method: Ident, input: ParseStream<'_>) -> syn::Result<()> {
        self.names_method = true;
        input.parse::<Token![=]>()?;
        let literal: LitStr = input.parse().map_err(|error| {
            syn::Error::new(
                error.span(),
                format!(
                    "a URL is a string: `{method} = \"/path\"`, with values of earlier steps as \
                     `{{{{step.response.field}}}}`; any other is built in a body"
                ),
            )
        })?;
        if let Some(call) = &self.call {
            return Err(syn::Error::new(
                method.span(),
                format!("this step already has a method: `{}`", call.method),
            ));
        }
        let parsed = Template::parse(&literal).and_then(|url| {
            check_url(&url)?;
            Ok(url)
        });
        let (url, error) = match parsed {
            Ok(url) => (Some(url), Ok(())),
            Err(error) => (None, Err(error)),
        };
        self.call = Some(MethodAndUrl {
            method,
            literal,
            url,
        });
        error
    }

    fn add_header(&mut self, header: HeaderOption) -> syn::Result<()> {
        if header.is_authorization() && self.headers.iter().any(HeaderOption::is_authorization) {
            return Err(syn::Error::new(header.span, AUTHORIZED));
        }
        self.headers.push(header);
        Ok(())
    }

    /// Returns true if the step sets the header `name` (lower case) itself.
    pub(crate) fn sets_header(&self, name: &str) -> bool {
        let is_of_body =
            name == "content-type" && self.body.as_ref().is_some_and(BodyOption::is_typed);
        is_of_body || self.headers.iter().any(|header| header.name == name)
    }

    fn parse_body_option(
        &mut self,
        key: &Ident,
        name: &str,
        input: ParseStream<'_>,
    ) -> syn::Result<()> {
        input.parse::<Token![=]>()?;
        let body = BodyOption::parse(name, input)?;
        if let Some(first) = &self.body {
            return Err(syn::Error::new(
                key.span(),
                format!("this step already has a body: `{}`", first.option_name()),
            ));
        }
        self.body = Some(body);
        Ok(())
    }
}

/// Refuses a value of an option that has none.
pub(super) fn refuse_value(key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
    if input.is_empty() || input.peek(Ident::peek_any) {
        return Ok(());
    }
    skip_rest(input);
    Err(syn::Error::new(
        key.span(),
        format!("`{key}` takes no value: `#[step({key})]`"),
    ))
}

const AUTHORIZED: &str =
    "this step has an `authorization` already: `bearer` and `basic` are each one";

const CHECK: &str = "a check takes the response of its step and nothing else: `check = |r| ...`";

/// Every option but the limits.
pub(crate) fn step_keys() -> impl Iterator<Item = &'static str> {
    STEP_KEYS.into_iter().chain(repeat::REPEAT_KEYS)
}

/// Parses an option whose value is a closure. Refuses closures without exactly one parameter with
/// the message `one_parameter`, because rustc would blame generated code.
pub(super) fn parse_closure(
    input: ParseStream<'_>,
    missing: &str,
    one_parameter: &str,
) -> syn::Result<TokenStream> {
    input.parse::<Token![=]>()?;
    if input.is_empty() {
        return Err(input.error(missing));
    }
    let closure: TokenStream = input.parse()?;
    match syn::parse2::<syn::ExprClosure>(closure.clone()) {
        Ok(parsed) if parsed.inputs.len() != 1 => {
            Err(syn::Error::new_spanned(closure, one_parameter))
        }
        // half written ones are rustc's to report
        _ => Ok(closure),
    }
}

fn parse_choice(input: ParseStream<'_>) -> syn::Result<Ident> {
    if input.peek(Ident::peek_any) && !input.peek2(Token![::]) {
        return input.call(Ident::parse_any);
    }
    let quoted = input.fork().parse::<LitStr>().ok();
    let name = quoted.and_then(|text| text.parse::<Ident>().ok());
    Err(input.error(match name {
        Some(name) => format!("write the name of a choice without quotes: `one_of = {name}`"),
        None => "`one_of` takes the name of a choice, which the other steps of it give as well: \
                 `one_of = view`"
            .to_owned(),
    }))
}

fn parse_expect(input: ParseStream<'_>) -> syn::Result<Vec<(u16, u16)>> {
    let mut ranges = vec![parse_statuses(input, STATUS)?];
    while input.parse::<Option<Token![|]>>()?.is_some() {
        ranges.push(parse_statuses(input, STATUS)?);
    }
    if input.is_empty() {
        Ok(ranges)
    } else {
        Err(input.error(STATUS))
    }
}

const STATUS: &str = "expected a status like `200`, a class like `2xx`, a range like `200..300`, or several joined by `|`";

/// Parses a status, class or range, both ends included. `wanted` is the message for anything else.
pub(super) fn parse_statuses(input: ParseStream<'_>, wanted: &str) -> syn::Result<(u16, u16)> {
    let literal = |input: ParseStream<'_>| {
        if input.peek(LitInt) {
            input.parse::<LitInt>()
        } else {
            Err(not_a_status(input, wanted))
        }
    };
    let status = |literal: &LitInt, beyond: u16| match literal.base10_parse::<u16>() {
        Ok(status) if literal.suffix().is_empty() && (100..=599 + beyond).contains(&status) => {
            Ok(status)
        }
        _ => Err(syn::Error::new(
            literal.span(),
            format!("`{literal}` is not an HTTP status (100 to 599)"),
        )),
    };
    let first = literal(input)?;
    if first.suffix() == "XX" {
        let class = first.base10_digits();
        return Err(syn::Error::new(
            first.span(),
            format!("a status class is written `{class}xx`"),
        ));
    }
    if first.suffix() == "xx" {
        return match first.base10_digits().parse::<u16>() {
            Ok(class @ 1..=5) => Ok((class * 100, class * 100 + 99)),
            _ => Err(syn::Error::new(
                first.span(),
                "status classes are `1xx` to `5xx`",
            )),
        };
    }
    let from = status(&first, 0)?;
    let to = if input.parse::<Option<Token![..=]>>()?.is_some() {
        status(&literal(input)?, 0)?
    } else if input.parse::<Option<Token![..]>>()?.is_some() {
        status(&literal(input)?, 1)? - 1
    } else {
        from
    };
    if to < from {
        return Err(syn::Error::new(
            first.span(),
            "this range of statuses is empty",
        ));
    }
    Ok((from, to))
}

fn check_url(url: &Template) -> syn::Result<()> {
    let error = |message: String| Err(syn::Error::new(url.span, message));
    match url.parts.first() {
        Some(TemplatePart::Text(start)) => {
            let host = ["http://", "https://"]
                .iter()
                .find_map(|scheme| start.strip_prefix(scheme));
            let is_bare = url.parts.len() == 1
                && host.is_some_and(|h| h.starts_with(['/', '?']) || h.is_empty());
            if (!start.starts_with('/') && host.is_none()) || is_bare {
                return error("a URL is a path that starts with `/`, or starts with `http://host` or `https://host`".to_owned());
            }
        }
        // a placeholder at the start may hold all of the URL
        Some(TemplatePart::Value(_)) => {}
        None => {
            return error("a URL is a path that starts with `/`, or starts with `http://host` or `https://host`".to_owned());
        }
    }
    if let [TemplatePart::Text(start), TemplatePart::Value(_), ..] = url.parts.as_slice()
        && let Some((_, host)) = start.split_once("://")
        && !host.contains(['/', '?'])
    {
        return error(
            "a placeholder cannot stand in the host of a URL: put the whole URL into a placeholder \
             at the start, or write a path and give the scenario a `base`"
                .to_owned(),
        );
    }
    for part in &url.parts {
        if let TemplatePart::Text(text) = part
            && let Some(bad) = text.chars().find(|&c| !is_url_char(c))
        {
            let hint = if bad == '{' {
                "; a value of an earlier step is written `{{step.response.id}}`".to_owned()
            } else {
                let mut bytes = [0; 4];
                let mut hint = "; it is written `".to_owned();
                for byte in bad.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(hint, "%{byte:02X}");
                }
                hint + "`"
            };
            return error(format!("a URL cannot contain {bad:?}{hint}"));
        }
    }
    Ok(())
}

fn is_url_char(c: char) -> bool {
    c.is_ascii_graphic() && !"\"#<>\\^`{|}".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_allowed_in_a_url_is_one_for_http() {
        for c in ('\0'..='\u{ff}').filter(|&c| is_url_char(c)) {
            for url in [format!("/{c}"), format!("/?{c}")] {
                assert!(
                    http::uri::PathAndQuery::try_from(url.as_str()).is_ok(),
                    "{url}"
                );
            }
        }
    }
}
