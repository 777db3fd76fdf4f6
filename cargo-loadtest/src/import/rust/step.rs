//! One request as a step: declared where that can say it, else a function.

use super::super::marked::{Client, Exchange};
use super::attribute::{self, Choice};
use super::built::{self, Uses};
use super::declared::{self, Writing, is_sent};
use super::scope::{Scope, url_of};
use super::secrets::Vault;
use super::{comment, declared::METHODS};
use crate::import::naming;
use std::fmt::Write as _;
use std::time::Duration;

pub(super) const INDENT: &str = "    ";
/// The most redirects that a step may follow.
const MOST_REDIRECTS: u32 = 50;
/// The longest time that is written.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// Writes a step, and what is to be said about it; adds what it uses of the rest of the file.
pub(super) fn write(
    source: &mut String,
    number: usize,
    base: &str,
    scope: &Scope<'_>,
    vault: &mut Vault,
    uses: &mut Uses,
) {
    let exchange = &scope.recording.exchanges[number];
    let client = &scope.recording.client;
    let name = scope.step(number);
    describe(source, exchange);
    for header in &exchange.omitted {
        let words = format!(
            "Recorded without the header {}, which is sent here.",
            comment::quoted(header)
        );
        comment::write(source, "    //", &words);
    }
    for header in exchange.headers.iter().filter(|header| !is_sent(header)) {
        if !header.name.eq_ignore_ascii_case("content-length") {
            let header = comment::quoted(&header.name);
            let words = format!("The header {header} is left out: it cannot be sent.");
            comment::write(source, "    //", &words);
        }
    }
    let begins_with_value = vault
        .plain(&exchange.target)
        .0
        .first()
        .is_some_and(|piece| !matches!(piece, super::template::Piece::Text(_)));
    let url = url_of(exchange, base, begins_with_value);
    let answer = scope.answer(number).map(super::types::Read::ty);
    let known = vault.count();
    let mut writing = Writing {
        scope,
        vault,
        name,
        url: &url,
    };
    if let Some(mut options) = declared::options(exchange, &mut writing) {
        options.extend(settings(exchange, client));
        attribute::write(source, INDENT, "step", &options);
        let head = format!("{INDENT}fn {name}()");
        let returned = answer.map_or_else(String::new, |ty| format!("-> {ty}"));
        let blank = match returned.len() {
            0 => String::new(),
            // The formatter lets the end of a head without a body stand out by two.
            length if head.len() + length <= super::WIDTH => " ".to_owned(),
            _ => format!("\n{INDENT}"),
        };
        let _ = writeln!(source, "{head}{blank}{returned};");
    } else {
        attribute::write(source, INDENT, "step", &settings(exchange, client));
        writing.vault.forget(known);
        built::write(source, exchange, answer.as_deref(), &mut writing, uses);
    }
}

/// What the input says about a request, and its name where that says more than the function's.
fn describe(source: &mut String, exchange: &Exchange) {
    let title = exchange.name.as_deref().map(str::trim).unwrap_or_default();
    let is_request = title.contains('/');
    let is_told = is_request
        || naming::titled(title, "").is_some_and(|name| {
            name.len() * 10
                >= title
                    .chars()
                    .filter(|letter| letter.is_alphanumeric())
                    .count()
                    * 9
        });
    if !is_told {
        comment::write(source, "    ///", &comment::title(title));
    }
    if let Some(description) = &exchange.description {
        let mut words = String::new();
        if comment::describe(&mut words, "    ///", description) {
            if !is_told && !title.is_empty() {
                source.push_str("    ///\n");
            }
            source.push_str(&words);
        }
    }
}

/// What a step says besides its request.
fn settings(exchange: &Exchange, client: &Client) -> Vec<Choice> {
    let mut options = Vec::new();
    if exchange.redirects != client.redirects {
        let redirects = exchange.redirects.min(MOST_REDIRECTS);
        options.push(Choice::Plain(format!("redirects = {redirects}")));
    }
    if let Some(timeout) = exchange.timeout {
        let timeout = time(timeout.max(Duration::from_millis(1)));
        options.push(Choice::Own(format!("timeout = {timeout}")));
    }
    let mut statuses: Vec<u16> = expected(exchange);
    statuses.sort_unstable();
    statuses.dedup();
    match statuses.as_slice() {
        [] => {}
        [status] => options.push(Choice::Plain(format!("expect = {status}"))),
        statuses => {
            let statuses: Vec<_> = statuses.iter().map(u16::to_string).collect();
            options.push(Choice::Own(format!("expect = {}", statuses.join(" | "))));
        }
    }
    if let Some(think) = exchange.think.filter(|think| think.as_millis() > 0) {
        options.push(Choice::Own(format!("think = {}", time(think))));
    }
    options
}

/// The statuses of success, as far as they are statuses: those that are told, or the one that was recorded.
fn expected(exchange: &Exchange) -> Vec<u16> {
    let is_status = |status: &u16| (100..600).contains(status);
    if !exchange.expect.is_empty() {
        return exchange.expect.iter().copied().filter(is_status).collect();
    }
    let answer = exchange.answer.iter().filter(|answer| !answer.is_example);
    let statuses = answer.map(|answer| answer.status).filter(is_status);
    statuses
        .filter(|status| exchange.redirects == 0 || !(300..400).contains(status))
        .collect()
}

/// As the language has it: `1.5s`, `200ms`.
pub(super) fn time(time: Duration) -> String {
    let millis = time.min(LONGEST).as_millis();
    if millis < 1000 {
        return format!("{millis}ms");
    }
    let fraction = format!("{:03}", millis % 1000);
    match fraction.trim_end_matches('0') {
        "" => format!("{}s", millis / 1000),
        fraction => format!("{}.{fraction}s", millis / 1000),
    }
}

/// Whether a request has a function of its own for its method.
pub(super) fn is_usual(method: &str) -> bool {
    METHODS.contains(&method)
}
