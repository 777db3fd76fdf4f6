//! One journey of a scenario: every request and answer.

use super::text::render_output;
use crate::policy::Action;
use crate::ui::dashboard::{Dashboard, Flags, Journey};
use crate::ui::frame::{Content, Section};
use crate::ui::request::Fields;
use crate::ui::route::Route;
use loadtest_model::display;
use loadtest_model::protocol::{
    DebugAnswer, DebugCall, DebugEvent, DebugExchange, DebugHop, DebugMessages, DebugOperation,
    DebugOutcome, DebugStart, DebugStep, ShownBody,
};
use maud::{Markup, html};
use std::fmt::Write as _;

/// Runs the journey to its end.
pub(super) fn run(dashboard: &Dashboard, identity: &str, flags: &[String]) -> Journey {
    let mut words = vec!["debug", "--exact", "--format", "json"];
    words.extend(flags.iter().map(String::as_str));
    words.push(identity);
    match dashboard.run(&words, Flags::Project) {
        Err(error) => Journey::Failed(error.to_string()),
        Ok(output) => {
            let lines = output.stdout.lines();
            let events: Vec<DebugEvent> = lines
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect();
            if events.is_empty() {
                Journey::Failed(output.explanation())
            } else {
                Journey::Ended(events)
            }
        }
    }
}

/// Renders the page: the form, and the journey that was tried last.
pub(super) fn render(dashboard: &Dashboard, identity: &str, query: &Fields) -> Content {
    let journey = dashboard.journey(identity);
    let refusal = dashboard.refusal(Action::Debug);
    let is_running = matches!(journey, Some(Journey::Running));
    let field = |name: &'static str, title: &'static str, example: &'static str| {
        html! { label { (title) input name=(name) value=[query.get(name)] placeholder=(example) autocomplete="off"; } }
    };
    let body = html! {
        h1 { "One journey" }
        p { a href=(Route::Scenario(identity.to_owned()).path()) { (identity) } " · " a href=(Route::Edit(identity.to_owned()).path()) { "Edit" } }
        @match &refusal {
            Some(refusal) => { p.sub { "A journey is not possible: " (refusal) } }
            None => {
                form.filter method="post" action=(Route::StartTry.path()) {
                    input type="hidden" name="scenario" value=(identity);
                    (field("iteration", "Iteration", "0"))
                    (field("seed", "Seed", "random"))
                    (field("base-url", "Base URL", "as declared"))
                    button data-key="Ctrl Enter" disabled[is_running] { "Try it once" }
                }
            }
        }
        @match &journey {
            None => { p.sub { "Runs one journey without think times. Every request and answer is shown here, without secrets." } }
            Some(Journey::Running) => { p role="status" { "Building the load test and running the journey." } noscript { p { a href="" { "Look again" } } } }
            Some(Journey::Failed(reason)) => { div.notice.t-bad { (render_output("Reason", reason)) } }
            Some(Journey::Ended(events)) => { (render_events(events)) }
        }
    };
    Content {
        title: "One journey".to_owned(),
        section: Section::Scenarios,
        stream: if is_running {
            format!(
                "try={}",
                percent_encoding::utf8_percent_encode(identity, percent_encoding::NON_ALPHANUMERIC)
            )
        } else {
            String::new()
        },
        body,
    }
}

fn render_events(events: &[DebugEvent]) -> Markup {
    let names: Vec<String> = events
        .iter()
        .find_map(|event| match event {
            DebugEvent::Start(start) => Some(
                start
                    .definition
                    .steps
                    .iter()
                    .map(|step| step.name.to_string())
                    .collect(),
            ),
            _ => None,
        })
        .unwrap_or_default();
    let name = |step: usize| names.get(step).map_or("", String::as_str);
    html! {
        form.filter role="search" {
            label for="search" { "Search" }
            input #search type="search" data-filter=".exchange" placeholder="in requests and answers";
            span.sub data-filtered role="status" {}
        }
        @for event in events {
            @match event {
                DebugEvent::Start(start) => (render_start(start)),
                DebugEvent::Exchange(exchange) => (render_exchange(name(exchange.step), exchange)),
                DebugEvent::Operation(operation) => (render_operation(name(operation.step), operation)),
                DebugEvent::Messages(messages) => (render_messages(name(messages.step), messages)),
                DebugEvent::Call(call) => (render_call(call)),
                DebugEvent::Step(step) => (render_step(name(step.step), step)),
                DebugEvent::Think { step, time } => { p.sub { (name(*step)) ": think time " (display::format_duration(*time)) ", not waited" } }
                DebugEvent::End(end) => {
                    p.notice.(if end.is_ok { "t-good" } else { "t-bad" }) {
                        @if end.is_ok { "The journey is ok." } @else { "The journey failed." }
                        @for problem in end.problem.iter().chain(&end.target_death) { br; (problem) }
                    }
                }
                DebugEvent::Failed(failure) => { p.notice.t-bad { (failure.message) @if let Some(help) = &failure.help { br; "→ " (help) } } }
            }
        }
    }
}

fn render_start(start: &DebugStart) -> Markup {
    html! {
        p.sub {
            "iteration " (start.number) ", seed " (start.seed)
            @if let Some(base) = &start.base_url { ", " (base) }
            @if start.own_target { ", started by the scenario" }
        }
    }
}

fn render_step(name: &str, step: &DebugStep) -> Markup {
    let (tone, words) = match &step.outcome {
        DebugOutcome::Ok => ("good", "✓ ok".to_owned()),
        DebugOutcome::Failed(problem) => {
            ("bad", format!("✗ {}: {}", problem.kind, problem.message))
        }
        DebugOutcome::NotDrawn => ("muted", "– not drawn".to_owned()),
        DebugOutcome::LeftOut(reason) => ("muted", format!("– left out: {reason}")),
        DebugOutcome::Kept => ("muted", "– kept from an earlier journey".to_owned()),
        DebugOutcome::Skipped { reason, .. } => ("bad", format!("– skipped: {reason}")),
    };
    html! { p.step { strong { (name) } " " span class={ "s-" (tone) } { (words) } } }
}

fn render_operation(name: &str, operation: &DebugOperation) -> Markup {
    html! {
        p.exchange {
            (name) " " strong { (operation.row) } " "
            span.sub { (display::format_duration(operation.time)) }
            @if let Some(problem) = &operation.problem {
                " " span.s-bad { (problem.kind.to_string()) ": " (problem.message) }
            }
        }
    }
}

fn render_messages(name: &str, all: &DebugMessages) -> Markup {
    let lines = all
        .messages
        .iter()
        .fold(String::new(), |mut text, message| {
            let mark = if message.is_sent { '→' } else { '←' };
            let at = display::format_duration(message.at);
            let bytes = || format!("{} bytes, not text", message.bytes);
            let words = message
                .text
                .as_ref()
                .map_or_else(bytes, ToString::to_string);
            let _ = writeln!(text, "{mark} {at}  {words}");
            text
        });
    html! {
        div.exchange {
            (name) " " strong { (display::format_counted(all.messages.len() as u64, "message")) }
            @if all.left_out > 0 { " " span.sub { "and " (all.left_out) " more" } }
            (render_output("Messages", &lines))
        }
    }
}

fn render_call(call: &DebugCall) -> Markup {
    let status = call.status.as_deref().unwrap_or("no status");
    let sent: Vec<String> = call
        .sent
        .iter()
        .map(|bytes| format!("a message of {bytes} bytes"))
        .collect();
    let received: Vec<String> = (call.received.iter())
        .map(|message| {
            format!(
                "{}  a message of {} bytes",
                display::format_duration(message.at),
                message.bytes
            )
        })
        .collect();
    let metadata = format_headers(&call.metadata);
    let answer = format_headers(call.answer.as_deref().unwrap_or_default());
    html! {
        details.exchange open[call.problem.is_some()] {
            summary {
                strong { (call.row) } " " code { (status) } " "
                span.sub { (display::format_duration(call.time)) } " " code { (call.url) }
            }
            div.hop {
                section {
                    h2 { "Call" }
                    (render_output("Call", &format!("{metadata}\n{}", sent.join("\n"))))
                }
                section {
                    h2 { "Answer" }
                    (render_output("Answer", &format!("{answer}\n{}\n{}", received.join("\n"), format_headers(&call.trailers))))
                }
            }
            @if let Some(problem) = &call.problem { p.s-bad { (problem.kind.to_string()) ": " (problem.message) } }
        }
    }
}

fn render_exchange(name: &str, exchange: &DebugExchange) -> Markup {
    let status = exchange
        .hops
        .last()
        .and_then(|hop| hop.answer.as_ref())
        .map_or("no answer", |answer| &answer.status);
    html! {
        // What went wrong is looked at first.
        details.exchange open[exchange.problem.is_some()] {
            summary {
                strong { (exchange.row.as_deref().unwrap_or(name)) } " " code { (status) } " "
                span.sub { (display::format_duration(exchange.service_time)) }
                @if let Some(hop) = exchange.hops.first() { " " code { (hop.method) " " (hop.url) } }
            }
            @for hop in &exchange.hops { (render_hop(hop)) }
            @if let Some(problem) = &exchange.problem { p.s-bad { (problem.kind.to_string()) ": " (problem.message) } }
        }
    }
}

fn render_hop(hop: &DebugHop) -> Markup {
    html! {
        div.hop {
            section {
                h2 { "Request" }
                (render_output("Request", &format!("{} {}\n{}{}", hop.method, hop.url, format_headers(&hop.headers), format_body(hop.body.as_ref()))))
                details { summary { "As a curl command" } (render_output("curl command", &hop.curl.command)) }
            }
            @if let Some(answer) = &hop.answer { (render_answer(hop.version.as_deref(), answer)) }
        }
    }
}

fn render_answer(version: Option<&str>, answer: &DebugAnswer) -> Markup {
    html! {
        section {
            h2 { "Answer" }
            (render_output("Answer", &format!("{} {}\n{}{}", version.unwrap_or_default(), answer.status, format_headers(&answer.headers), format_body(answer.body.as_ref()))))
        }
    }
}

fn format_headers(headers: &[(String, String)]) -> String {
    headers
        .iter()
        .fold(String::new(), |mut text, (name, value)| {
            let _ = writeln!(text, "{name}: {value}");
            text
        })
}

fn format_body(body: Option<&ShownBody>) -> String {
    let Some(body) = body else {
        return String::new();
    };
    let text = body.text.as_ref().map_or_else(
        || format!("{} bytes, not text", body.bytes),
        ToString::to_string,
    );
    let cut = if body.is_cut {
        format!("\n… cut after {} bytes", body.bytes)
    } else {
        String::new()
    };
    format!("\n{text}{cut}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_shown_as_it_came() {
        let text = "{\n  \"z\": 1,\n  \"a\": 2.50\n}";
        let mut body = ShownBody {
            text: Some(text.into()),
            bytes: 18,
            is_cut: false,
        };
        assert_eq!(format_body(Some(&body)), format!("\n{text}"));
        body.is_cut = true;
        assert!(format_body(Some(&body)).ends_with("\n… cut after 18 bytes"));
        assert_eq!(format_body(None), "");
    }
}
