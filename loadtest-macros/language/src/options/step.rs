//! The options of `#[step(..)]`.

use super::body::BodyOption;
use super::client::parse_new;
use super::documented::{SCENARIO_TABLE, STEP_TABLE, option_names};
use super::fields::{Field, FieldsOf, fields};
use super::graphql::{GRAPHQL_OPTIONS, GraphqlOptions};
use super::header::HeaderOption;
use super::rendezvous::{RendezvousOption, parse_rendezvous};
use super::repeat::{self, RepeatOptions};
use super::scenario::{parse_tags, require_not_empty};
use super::stream::{STREAM_OPTIONS, StreamOptions};
use super::think::{ThinkOption, parse_think};
use super::threshold::{ThresholdOption, begins_threshold, is_compared, parse_threshold_option};
use super::value::{
    parse_error, parse_grade_weight, parse_positive_duration, parse_redirects, parse_share,
};
use super::websocket::{OPEN_OPTION, SOCKET_OPTIONS, WebSocketOptions, opening_url};
use super::weight::{WeightOption, parse_weight};
use super::{
    misplaced_option, note_given, parse_assigned, parse_each, parse_option_name, unknown_option,
};
use crate::suggest::MacroErrors;
use crate::template::{Template, TemplatePart};
use loadtest_model::threshold::Scope;
use proc_macro2::{Ident, Span, TokenStream};
use std::time::Duration;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser as _};
use syn::{LitInt, LitStr, Token};

/// The options that name method and URL of a request.
pub const METHODS: [&str; 7] = ["get", "post", "put", "delete", "patch", "head", "options"];

#[derive(Default)]
pub(crate) struct StepOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) tags: Vec<LitStr>,
    pub(crate) weight: WeightOption,
    /// The name of the choice that the step is part of.
    pub(crate) one_of: Option<Ident>,
    /// Inclusive ranges; empty for the default.
    pub(crate) expect: Vec<(u16, u16)>,
    pub(crate) think: Option<ThinkOption>,
    pub(crate) rendezvous: Option<RendezvousOption>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) call: Option<MethodAndUrl>,
    /// True if an option did not parse, which may have been that one.
    pub(crate) is_broken: bool,
    pub(crate) headers: Vec<HeaderOption>,
    pub(crate) query: Vec<Field>,
    pub(crate) body: Option<BodyOption>,
    pub(crate) thresholds: Vec<ThresholdOption>,
    pub(crate) apdex: Option<Duration>,
    pub(crate) budget: Option<f64>,
    pub(crate) grade_weight: Option<f64>,
    pub(crate) repeat: RepeatOptions,
    pub(crate) stream: StreamOptions,
    pub(crate) websocket: WebSocketOptions,
    pub(crate) graphql: GraphqlOptions,
    pub(crate) redirects: Option<u32>,
    /// The place of `connections = new`.
    pub(crate) new_connections: Option<Span>,
    /// The name of the cookie jar.
    pub(crate) jar: Option<Ident>,
    pub(crate) stop_on_failure: bool,
    /// Raw, so that an editor completes in half-written closures.
    pub(crate) checks: Vec<TokenStream>,
    /// Every option that was given, limits aside.
    pub(crate) keys: Vec<Ident>,
}

/// `get = "/path"`, or `ws = "/path"`.
pub(crate) struct MethodAndUrl {
    pub(crate) method: Ident,
    pub(crate) literal: LitStr,
    /// `None` when it is broken.
    pub(crate) url: Option<Template>,
}

impl MethodAndUrl {
    /// Returns true for `ws = ".."`.
    pub(crate) fn opens_websocket(&self) -> bool {
        self.method == OPEN_OPTION
    }

    /// The method that is sent.
    pub(crate) fn sent_method(&self) -> String {
        if self.opens_websocket() {
            return "GET".to_owned();
        }
        self.method.to_string().to_uppercase()
    }

    /// The URL as it is shown, of a WebSocket the one that it is opened by.
    pub(crate) fn shown_url(&self) -> String {
        let url = self.literal.value();
        if self.opens_websocket() {
            return opening_url(&url);
        }
        url
    }
}

impl StepOptions {
    pub(crate) fn parse(tokens: TokenStream, errors: &mut MacroErrors) -> Self {
        let mut options = Self::default();
        let before = errors.len();
        parse_each(tokens, errors, |input| options.parse_option(input));
        options.is_broken = errors.len() > before;
        repeat::check_repeat_options(&options, errors);
        options.check_good(errors);
        options.add_graphql_request(errors);
        options
    }

    /// The option `name`, if it is given; also where its value is broken.
    pub(crate) fn find_key(&self, name: &str) -> Option<&Ident> {
        self.keys.iter().find(|key| *key == name)
    }

    fn parse_option(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        let key = parse_option_name(input)?;
        let name = key.to_string();
        let known = option_names(STEP_TABLE);
        let is_known = known.contains(&name.as_str());
        let is_set = is_known && input.peek(Token![=]);
        if !is_set && begins_threshold(&name, input)
            || !is_known && begins_step_threshold(&name, input)
        {
            self.thresholds
                .push(parse_threshold_option(&key, Scope::Step, input)?);
            return Ok(());
        }
        if !is_known {
            if name == "thresholds" {
                let message = "a limit of a step is an option of its own: `#[step(p95 < 300ms)]`";
                return Err(syn::Error::new(key.span(), message));
            }
            let misplaced = misplaced_option(&key, SCENARIO_TABLE, "scenario");
            return Err(misplaced.unwrap_or_else(|| unknown_option(&key, &known)));
        }
        match name.as_str() {
            "header" | "check" | "reply" => self.keys.push(key.clone()),
            _ => note_given(&key, &mut self.keys)?,
        }
        match name.as_str() {
            "name" => self.name = Some(require_not_empty(parse_assigned(input)?)?),
            name if METHODS.contains(&name) || name == OPEN_OPTION => {
                self.parse_method_and_url(key, input)?;
            }
            "header" | "bearer" | "basic" => self.add_header(HeaderOption::parse(&name, input)?)?,
            "query" => {
                input.parse::<Token![=]>()?;
                self.query = fields(input, FieldsOf::Query)?;
            }
            "json" | "form" | "body" | "multipart" => self.parse_body_option(&key, &name, input)?,
            "redirects" => self.redirects = Some(parse_redirects(input)?),
            "connections" => {
                input.parse::<Token![=]>()?;
                if !parse_new(input) {
                    let wanted = "a step has `connections = new`: each of its requests opens a connection of its own; how many \
                                  connections the users share is an option of the scenario";
                    return Err(input.error(wanted));
                }
                self.new_connections = Some(key.span());
            }
            "jar" => self.jar = Some(parse_jar(input)?),
            "good" => self.parse_good(&key, input)?,
            name if GRAPHQL_OPTIONS.contains(&name) => self.graphql.parse_option(&key, input)?,
            name if SOCKET_OPTIONS.contains(&name) => self.websocket.parse_option(&key, input)?,
            name if STREAM_OPTIONS.contains(&name) => self.stream.parse_option(&key, input)?,
            _ => self.parse_setting(&key, input)?,
        }
        Ok(())
    }

    /// Parses an option that a scenario may give to all of its steps, or one like it.
    pub(super) fn parse_setting(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        let name = key.to_string();
        match name.as_str() {
            "check" => {
                self.checks.push(parse_closure(key, input)?);
                return Ok(());
            }
            "stop_on_failure" => {
                self.stop_on_failure = true;
                return refuse_value(key, input);
            }
            "rendezvous" => {
                self.rendezvous = Some(parse_rendezvous(input)?);
                return Ok(());
            }
            "once" | "refresh" | "last" | "retry" | "until" => {
                return self.repeat.parse_option(key, input);
            }
            _ => {}
        }
        input.parse::<Token![=]>()?;
        match name.as_str() {
            "tags" => self.tags = parse_tags(input)?,
            "weight" => self.weight = parse_weight(input)?,
            "one_of" => {
                let wanted = "`one_of` takes the name of a choice, which the other steps of it give as well: \
                              `one_of = view`";
                let choice = input.call(Ident::parse_any);
                self.one_of = Some(choice.map_err(|error| parse_error(&error, wanted))?);
            }
            "expect" => self.expect = parse_expect(input)?,
            "think" => self.think = Some(parse_think(input)?),
            "timeout" => self.timeout = Some(parse_positive_duration(input)?),
            "apdex" => self.apdex = Some(parse_positive_duration(input)?),
            "budget" => self.budget = Some(parse_share(input)?),
            "grade_weight" => self.grade_weight = Some(parse_grade_weight(input)?),
            "every" => self.repeat.every = Some(parse_positive_duration(input)?),
            _ => self.repeat.within = Some(parse_positive_duration(input)?),
        }
        Ok(())
    }

    fn parse_method_and_url(&mut self, method: Ident, input: ParseStream<'_>) -> syn::Result<()> {
        input.parse::<Token![=]>()?;
        let literal: LitStr = input.parse().map_err(|error| {
            let wanted = format!(
                "a URL is a string: `{method} = \"/path\"`, with values of earlier steps as \
                 `{{{{step.response.field}}}}`; any other is built in a body"
            );
            parse_error(&error, &wanted)
        })?;
        if let Some(call) = &self.call {
            return Err(syn::Error::new(
                method.span(),
                format!("this step already has a method: `{}`", call.method),
            ));
        }
        let schemes = if method == OPEN_OPTION {
            ["ws", "wss"]
        } else {
            ["http", "https"]
        };
        let parsed =
            Template::parse(&literal).and_then(|url| check_url(&url, schemes).map(|()| url));
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
            return Err(syn::Error::new(
                header.span,
                "this step has an `authorization` already: `bearer` and `basic` are each one",
            ));
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

fn parse_jar(input: ParseStream<'_>) -> syn::Result<Ident> {
    input.parse::<Token![=]>()?;
    let jar = input.call(Ident::parse_any);
    jar.map_err(|error| {
        parse_error(
            &error,
            "`jar` takes the name of a cookie jar: `jar = admin`",
        )
    })
}

/// Returns true for what begins as a threshold does, even if there is no metric of that name.
pub(super) fn begins_step_threshold(name: &str, input: ParseStream<'_>) -> bool {
    begins_threshold(name, input) || is_compared(input) || input.peek(Token![.])
}

/// Refuses a value of an option that has none.
pub(super) fn refuse_value(key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
    if input.is_empty() || input.peek(Ident::peek_any) {
        return Ok(());
    }
    Err(syn::Error::new(
        key.span(),
        format!("`{key}` takes no value: `#[step({key})]`"),
    ))
}

/// Parses an option whose value is a closure. Refuses closures without exactly one parameter, because rustc would
/// blame generated code.
pub(super) fn parse_closure(key: &Ident, input: ParseStream<'_>) -> syn::Result<TokenStream> {
    input.parse::<Token![=]>()?;
    let closure: TokenStream = input.parse()?;
    let wanted =
        || format!("`{key}` takes the response of its step and nothing else: `{key} = |r| ...`");
    match syn::parse2::<syn::ExprClosure>(closure.clone()) {
        _ if closure.is_empty() => Err(input.error(wanted())),
        Ok(parsed) if parsed.inputs.len() != 1 => Err(syn::Error::new_spanned(closure, wanted())),
        Err(_) if is_condition(&closure) => {
            let wanted = format!("`{key}` takes a closure: `{key} = |r| ..`, of the response `r`");
            Err(syn::Error::new_spanned(closure, wanted))
        }
        // half written ones are rustc's to report
        _ => Ok(closure),
    }
}

/// Returns true for an expression that may be the body of a closure, but cannot be one.
fn is_condition(tokens: &TokenStream) -> bool {
    use syn::Expr;
    matches!(
        syn::parse2(tokens.clone()),
        Ok(Expr::Lit(_) | Expr::Binary(_) | Expr::Unary(_) | Expr::Field(_) | Expr::Index(_))
    )
}

/// Parses statuses, joined by `|`.
pub(super) fn parse_expect(input: ParseStream<'_>) -> syn::Result<Vec<(u16, u16)>> {
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
            return input.parse::<LitInt>();
        }
        let error = input.error(wanted);
        match input.parse::<LitStr>() {
            Ok(text) if parse_expect.parse_str(&text.value()).is_ok() => {
                let message = format!("a status has no quotes: write `{}`", text.value());
                Err(syn::Error::new(text.span(), message))
            }
            _ => Err(error),
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
    if first.suffix().eq_ignore_ascii_case("xx") {
        return match first.base10_digits().parse::<u16>() {
            Ok(class @ 1..=5) => Ok((class * 100, class * 100 + 99)),
            _ => Err(syn::Error::new(first.span(), wanted)),
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

/// Checks the URL of a request; one that is absolute has one of `schemes`.
fn check_url(url: &Template, schemes: [&str; 2]) -> syn::Result<()> {
    let error = |message: &str| Err(syn::Error::new(url.span, message));
    let start = match url.parts.first() {
        // a placeholder at the start may hold all of the URL
        Some(TemplatePart::Value(_)) => "/",
        Some(TemplatePart::Text(start)) => start,
        None => "",
    };
    let host = schemes
        .iter()
        .find_map(|scheme| start.strip_prefix(scheme)?.strip_prefix("://"));
    let has_value = url.parts.len() > 1;
    if host.is_some_and(|host| has_value && !host.contains(['/', '?'])) {
        return error(
            "a placeholder cannot be in the host of a URL: put the whole URL into a placeholder \
             at the start, or write a path and give the scenario a `base`",
        );
    }
    let is_absolute = host.is_some_and(|host| !host.is_empty() && !host.starts_with(['/', '?']));
    if !start.starts_with('/') && !is_absolute {
        let [plain, secure] = schemes;
        return error(&format!(
            "a URL is a path that starts with `/`, or starts with `{plain}://host` or `{secure}://host`",
        ));
    }
    for part in &url.parts {
        if let TemplatePart::Text(text) = part
            && let Some(bad) = text.chars().find(|&c| !is_url_char(c))
        {
            let hint = if bad == '{' {
                "a value of an earlier step is written `{{step.response.id}}`"
            } else {
                "write it as `%` and its bytes, such as `%20` for a space"
            };
            return error(&format!("a URL cannot contain {bad:?}; {hint}"));
        }
    }
    Ok(())
}

pub(super) fn is_url_char(c: char) -> bool {
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
