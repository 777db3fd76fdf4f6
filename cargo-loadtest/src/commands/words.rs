//! What a scenario declares, in words that `list` and `plan` share.

use loadtest_console::console::clean;
use loadtest_console::units;
use loadtest_model::definition::{
    Client, Cookies, Dns, EndMark, GoodCondition, GraphqlDef, HttpVersion, Rendezvous, Renewal,
    ScenarioDef, StepDef, StreamDef, StreamFormat, Think, ThinkLaw, Threshold, WebSocketDef,
};
use loadtest_model::display;
use loadtest_model::plan::Plan;
use std::fmt::Write as _;

/// A note on per-user state for those who replay an iteration.
pub(super) const KEEPS_STATE: &str =
    "kept per user: an iteration can be replayed only with the iterations before it";

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
        HttpVersion::Http3 => words.push("HTTP/3 only".to_owned()),
    }
    if let Some(count) = client.connections {
        let shared = display::format_counted(count.into(), "shared connection");
        words.push(format!("over {shared}"));
    }
    if client.new_connections {
        words.push("new connections for each journey".to_owned());
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
        words.push(format!("also trusts `{ca}`"));
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
        marks.push(describe_once(step.renewal.as_ref()));
    }
    if step.last {
        marks.push("after the last journey of each user".to_owned());
    }
    if let Some(Rendezvous { users, within }) = step.rendezvous {
        marks.push(format!(
            "waits until {users} users have arrived, at most {}",
            display::format_span(within)
        ));
    }
    if step.stop_on_failure {
        marks.push("ends the journey if it fails".to_owned());
    }
    if step.sends_itself {
        marks.push("async".to_owned());
    }
    if let Some(stream) = &step.stream {
        marks.push(describe_stream(stream));
    }
    if let Some(websocket) = &step.websocket {
        marks.push(describe_websocket(websocket));
    }
    if let Some(graphql) = &step.graphql {
        marks.push(describe_graphql(graphql));
    }
    if !step.good.is_empty() {
        marks.push(format!("good: {}", join_conditions(&step.good)));
    }
    marks.extend(step.retry.as_ref().map(display::format_retry));
    marks.extend(step.until.as_ref().map(display::format_until));
    if step.redirects > 0 {
        marks.push(format!(
            "follows {}",
            display::format_counted(u64::from(step.redirects), "redirect")
        ));
    }
    if step.new_connections {
        marks.push("a new connection for each request".to_owned());
    }
    marks
}

/// Describes a step that runs once: `once per user, again after 50 min and after the status 401`.
fn describe_once(renewal: Option<&Renewal>) -> String {
    let mut words = "once per user".to_owned();
    if let Some(Renewal { after, on }) = renewal {
        let after = after.map(|after| format!("after {}", display::format_span(after)));
        let on = (!on.0.is_empty()).then(|| format!("after the status {on}"));
        let all: Vec<_> = after.into_iter().chain(on).collect();
        let _ = write!(words, ", again {}", all.join(" and "));
    }
    words
}

/// Describes how a step opens a WebSocket: ``a WebSocket with the protocol `chat.v2`, compressed``.
fn describe_websocket(websocket: &WebSocketDef) -> String {
    let mut words = "a WebSocket".to_owned();
    if let Some(protocol) = &websocket.protocol {
        words = format!("{words} with the protocol `{protocol}`");
    }
    if websocket.compress {
        words.push_str(", compressed");
    }
    if let Some(heartbeat) = &websocket.heartbeat {
        let every = display::format_span(heartbeat.every);
        let _ = write!(words, ", with a heartbeat every {every}");
    }
    if !websocket.replies.is_empty() {
        let replies = display::format_counted(websocket.replies.len() as u64, "text");
        let _ = write!(words, ", with a reply to {replies}");
    }
    words
}

/// Describes how a step asks a GraphQL server: ``GraphQL `query Cart`, accepting errors together with data``.
fn describe_graphql(graphql: &GraphqlDef) -> String {
    let mut words = "GraphQL".to_owned();
    if let Some(operation) = &graphql.operation {
        let _ = write!(words, " {}", display::quote_name(operation));
    }
    if graphql.partial {
        words.push_str(", accepting errors together with data");
    }
    words
}

/// Describes how a step reads a stream of events: ``a stream of events until `[DONE]`, units by `tokens` ``.
fn describe_stream(stream: &StreamDef) -> String {
    let format = match stream.format {
        StreamFormat::Detected => "events",
        StreamFormat::Events => "server-sent events",
        StreamFormat::Lines => "values on lines",
    };
    let mut words = format!("a stream of {format}");
    match &stream.end {
        Some(EndMark::Data(mark)) => {
            let _ = write!(words, " until {}", display::quote_name(mark));
        }
        Some(EndMark::Condition(condition)) => {
            let _ = write!(words, " until {}", display::quote_name(condition));
        }
        None => {}
    }
    if let Some(events) = stream.events {
        let events = display::format_counted(u64::from(events), "event");
        let _ = write!(words, ", at most {events}");
    }
    if let Some(lasts) = stream.lasts {
        let _ = write!(words, ", for {} at most", display::format_span(lasts));
    }
    if let Some(first) = &stream.first {
        let _ = write!(words, ", the first by {}", display::quote_name(first));
    }
    if let Some(units) = &stream.units {
        let _ = write!(words, ", units by {}", display::quote_name(units));
    }
    let _ = write!(
        words,
        ", {} for {} at most, graded by its {} event",
        if stream.idle_counts_bytes {
            "without a byte"
        } else {
            "silent"
        },
        display::format_span(stream.idle),
        if stream.graded_by_response {
            "last"
        } else {
            "first"
        }
    );
    words
}

/// What holds for a good execution: `first_event < 800 ms, per_unit < 50 ms`.
fn join_conditions(conditions: &[GoodCondition]) -> String {
    let shown = conditions.iter().map(|condition| {
        let part = GoodCondition::part_name(condition.part);
        format!("{part} < {}", display::format_span(condition.at_most))
    });
    shown.collect::<Vec<_>>().join(", ")
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
