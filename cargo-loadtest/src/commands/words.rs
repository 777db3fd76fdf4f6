//! What a scenario declares, in words that `list` and `plan` share.

use crate::console::clean;
use crate::units;
use loadtest_model::definition::{
    Client, Cookies, Dns, HttpVersion, Rendezvous, ScenarioDef, StepDef, Think, ThinkLaw, Threshold,
};
use loadtest_model::display;
use loadtest_model::plan::Plan;

/// A note on per-user state for those who replay an iteration.
pub(super) const KEEPS_STATE: &str =
    "kept per user: an iteration can be replayed only with those before it";

/// A scenario in a line: its identity, the name where it has one of its own, and its tags. Names are
/// written as Rust writes them, so that a quote or a control character in one is seen for what it is.
pub(super) fn format_title(scenario: &ScenarioDef) -> String {
    let mut words = scenario.identity();
    if scenario.name != scenario.function {
        words = format!("{words} {:?}", scenario.name);
    }
    if !scenario.tags.is_empty() {
        words = format!("{words} [{}]", scenario.tags.join(", "));
    }
    clean(&words)
}

/// Conditions, one after another.
pub(super) fn join_thresholds(thresholds: &[Threshold]) -> String {
    let shown: Vec<_> = thresholds
        .iter()
        .map(display::format_declared_threshold)
        .collect();
    shown.join(", ")
}

/// Describes the settings of a client that differ from the default.
pub(super) fn describe_client(client: &Client) -> Option<String> {
    let mut words = Vec::new();
    match client.http {
        HttpVersion::Negotiated => {}
        HttpVersion::Http1 => words.push("HTTP/1.1 only".to_owned()),
        HttpVersion::Http2 => words.push("HTTP/2 only".to_owned()),
    }
    match client.cookies {
        Cookies::Iteration => {}
        Cookies::User => words.push("cookies kept per user".to_owned()),
        Cookies::Off => words.push("no cookies".to_owned()),
    }
    if client.dns == Dns::Ttl {
        words.push("hosts looked up again for new connections".to_owned());
    }
    if client.insecure {
        words.push("INSECURE: certificates are not checked".to_owned());
    }
    if let Some(ca) = &client.ca {
        words.push(format!("trusts `{ca}` too"));
    }
    if let Some(identity) = &client.identity {
        words.push(format!("shows the certificate `{identity}`"));
    }
    (!words.is_empty()).then(|| words.join("; "))
}

/// Describes the settings of a step that differ from one request per iteration.
pub(super) fn list_marks(step: &StepDef) -> Vec<String> {
    let mut marks = Vec::new();
    if !step.tags.is_empty() {
        marks.push(format!("[{}]", step.tags.join(", ")));
    }
    if let Some(group) = &step.group {
        marks.push(format!("in the group `{group}`"));
    }
    if let Some(choice) = &step.one_of {
        marks.push(format!("one of `{choice}`"));
    }
    if step.once {
        marks.push("once per user".to_owned());
    }
    if step.last {
        marks.push("last of each user".to_owned());
    }
    if let Some(Rendezvous { users, within }) = step.rendezvous {
        marks.push(format!(
            "waits until {users} users have come, at most {}",
            display::format_span(within)
        ));
    }
    if step.stop_on_failure {
        marks.push("ends the journey if it fails".to_owned());
    }
    if step.sends_itself {
        marks.push("async".to_owned());
    }
    marks.extend(step.retry.as_ref().map(display::format_retry));
    marks.extend(step.until.as_ref().map(display::format_until));
    if step.redirects > 0 {
        marks.push(format!(
            "follows {}",
            display::format_counted(u64::from(step.redirects), "redirect")
        ));
    }
    marks
}

/// The remark on a scenario that starts later in a mix, and runs outside of one.
pub(super) fn describe_unused_start(scenario: &ScenarioDef, plan: &Plan) -> Option<String> {
    let is_unused = !scenario.start.is_zero() && plan.start.is_zero();
    is_unused.then(|| {
        format!(
            "`{}` starts at once: `start = {}` is its place in a mix (`--mix`)",
            scenario.name,
            units::show(scenario.start)
        )
    })
}

/// A pause: `500 ms`, `500 ms to 2 s`, or `2 s on average (normal, deviation 500 ms)`.
pub(super) fn format_think(think: &Think) -> String {
    let span = display::format_span;
    match *think {
        Think::Uniform { min, max } if min == max => span(min),
        Think::Uniform { min, max } => format!("{} to {}", span(min), span(max)),
        Think::Random {
            law: law @ ThinkLaw::Exponential,
            mean,
            ..
        } => format!("{} on average ({})", span(mean), law.name()),
        Think::Random {
            law,
            mean,
            deviation,
        } => format!(
            "{} on average ({}, deviation {})",
            span(mean),
            law.name(),
            span(deviation)
        ),
    }
}
