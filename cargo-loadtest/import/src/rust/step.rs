//! Writes one request as a step: an attribute where that can express it, else a function.

use super::checks::{render_checks, write_metrics};
use super::comment;
use super::declared::{declare_request, is_sendable, url_of};
use super::function::{Uses, write_function};
use super::layout::{write_attribute, write_option};
use super::load::{render_think, render_time, step_options};
use super::scope::Scope;
use super::stream::{render_stream_end, socket_url, write_messages};
use super::types::Shape;
use crate::naming;
use crate::recording::{Client, Exchange};
use crate::text::quote_name;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

const INDENT: &str = "    ";
/// The most redirects that a step may follow.
const MOST_REDIRECTS: u32 = 50;

/// Writes a step and its comments, and notes which functions and imports it uses.
pub(super) fn write_step(
    source: &mut String,
    number: usize,
    base: &str,
    scope: &Scope<'_>,
    uses: &mut Uses,
) {
    let exchange = &scope.recording.exchanges[number];
    let client = &scope.recording.client;
    let name = scope.step(number);
    describe_step(source, exchange);
    for header in &exchange.omitted {
        let header = quote_name(header);
        let words = format!("Recorded without the header {header}, which is sent here.");
        comment::write_comment(source, "    //", &words);
    }
    for header in exchange
        .headers
        .iter()
        .filter(|header| !is_sendable(header))
    {
        if !header.name.eq_ignore_ascii_case("content-length") {
            let header = quote_name(&header.name);
            let words = format!("The header {header} is left out: it cannot be sent.");
            comment::write_comment(source, "    //", &words);
        }
    }
    let mut url = url_of(exchange, base);
    if exchange.socket.is_some() {
        url = socket_url(url);
    }
    let settings = step_settings(exchange, client, scope.answer(number));
    let answer = scope.answer(number).map(Shape::type_name);
    let after = scope.named_step(exchange);
    if let Some(mut options) = declare_request(exchange, &url, scope) {
        options.extend(settings);
        write_attribute(source, INDENT, "step", &options);
        let returned = answer.as_ref();
        let returned = returned.map_or_else(String::new, |ty| format!(" -> {ty}"));
        let after = after.map_or_else(String::new, |(name, ty)| format!("{name}: &{ty}"));
        let _ = writeln!(source, "{INDENT}fn {name}({after}){returned};");
    } else {
        write_attribute(source, INDENT, "step", &settings);
        write_function(source, name, exchange, &url, answer.as_deref(), scope, uses);
    }
    write_metrics(source, name, exchange, scope.answer(number));
    if let (Some(socket), Some(ty)) = (&exchange.socket, &answer) {
        write_messages(source, (name, ty), socket, scope, uses);
    }
}

/// Writes the description of a request, and its name where that says more than the function's.
fn describe_step(source: &mut String, exchange: &Exchange) {
    let title = exchange.name.as_deref().map(str::trim).unwrap_or_default();
    // The name of the step says as much.
    let is_redundant =
        title.contains('/') || title.is_ascii() && naming::function_name(title, "").is_some();
    let title = Some(title).filter(|_| !is_redundant);
    comment::write_words(source, "    ///", title, exchange.description.as_deref());
}

/// Returns the options of a step besides its request.
fn step_settings(exchange: &Exchange, client: &Client, answer: Option<&Shape>) -> Vec<String> {
    let redirects = exchange.redirects.min(MOST_REDIRECTS);
    let redirects = Some(redirects).filter(|_| exchange.redirects != client.redirects);
    let mut options = Vec::from_iter(write_option("redirects", redirects));
    let ends = (exchange.stream.as_ref()).map(|stream| render_stream_end(exchange, stream));
    let is_left = ends.iter().flatten().any(|end| end.starts_with("lasts"));
    options.extend(ends.into_iter().flatten());
    let timeout = exchange.timeout.filter(|_| !is_left);
    let timeout = timeout.map(|timeout| render_time(timeout.max(Duration::from_millis(1))));
    options.extend(write_option("timeout", timeout));
    let ranges = exchange.settings.statuses.iter();
    let ranges = ranges.map(|(from, to)| format!("{from}..{to}"));
    let statuses = expected_statuses(exchange);
    let statuses: Vec<_> = statuses.iter().map(u16::to_string).chain(ranges).collect();
    if !statuses.is_empty() {
        options.push(format!("expect = {}", statuses.join(" | ")));
    }
    options.extend(render_checks(exchange, answer));
    options.extend(step_options(&exchange.settings));
    let think = exchange.think.filter(|think| think.as_millis() > 0);
    let other = exchange.settings.think.as_ref().map(render_think);
    options.extend(write_option("think", think.map(render_time).or(other)));
    options
}

/// Returns the statuses of success: those of the input, or the recorded one.
fn expected_statuses(exchange: &Exchange) -> BTreeSet<u16> {
    let answer = exchange.answer.iter().filter(|answer| !answer.is_example);
    let recorded = answer.map(|answer| answer.status);
    let recorded = recorded.filter(|status| {
        let is_redirect = (300..400).contains(status) && exchange.redirects > 0;
        exchange.expect.is_empty() && !is_redirect
    });
    let statuses = exchange.expect.iter().copied().chain(recorded);
    statuses
        .filter(|status| (100..600).contains(status))
        .collect()
}
