//! A journey for people, and for their shells: what is to be pasted begins at the margin and holds nothing
//! that is not part of it.

use crate::commands::words;
use crate::export::terminal::text::{BAD, BOLD, DIM, FAIR, GOOD, PLAIN, clean};
use anstyle::Style;
use loadtest_model::definition::{HttpVersion, Load, ScenarioDef};
use loadtest_model::display;
use loadtest_model::metrics::Phases;
use loadtest_model::protocol::{
    DebugAnswer, DebugCall, DebugEnd, DebugEvent, DebugExchange, DebugHop, DebugMessages,
    DebugOperation, DebugOutcome, DebugStart, DebugStep, DebugStream, ShownBody, SocketFrame,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// The column of facts.
const FACTS: usize = 10;

/// Formats a journey, event by event.
pub(super) struct Transcript {
    load: Option<Load>,
    colour: bool,
    definition: Option<ScenarioDef>,
    /// The step that is being told.
    step: Option<usize>,
    /// The number of steps by outcome.
    ends: BTreeMap<&'static str, u64>,
    out: String,
}

impl Transcript {
    /// Creates a transcript of an iteration of `load`.
    pub(super) fn new(load: Option<Load>, colour: bool) -> Self {
        Self {
            load,
            colour,
            definition: None,
            step: None,
            ends: BTreeMap::new(),
            out: String::new(),
        }
    }

    /// The lines for an event.
    pub(super) fn tell(&mut self, event: &DebugEvent) -> String {
        match event {
            DebugEvent::Start(start) => self.start(start),
            DebugEvent::Exchange(exchange) => self.exchange(exchange),
            DebugEvent::Operation(operation) => self.operation(operation),
            DebugEvent::Messages(messages) => self.messages(messages),
            DebugEvent::Call(call) => self.call(call),
            DebugEvent::Step(step) => self.step(step),
            DebugEvent::Think { time, .. } => {
                let words = format!("would think for {} now", display::format_duration(*time));
                self.line(DIM, &words);
            }
            DebugEvent::End(end) => self.end(end),
            // The tool says why, as for all other errors.
            DebugEvent::Failed(_) => {}
        }
        std::mem::take(&mut self.out)
    }

    fn start(&mut self, start: &DebugStart) {
        let definition = &start.definition;
        let title = format!("{}, iteration {}", definition.identity(), start.number);
        self.line(BOLD, &title);
        if let Some(load) = &self.load {
            let load = display::format_load(load);
            self.fact("load", PLAIN, &load);
        }
        self.fact("seed", PLAIN, &start.seed.to_string());
        let target = match (&start.base_url, start.own_target) {
            (Some(url), true) => {
                format!("{url}, started by the scenario; it ends with the journey")
            }
            (Some(url), false) => url.to_string(),
            (None, _) => "the target of each step".to_owned(),
        };
        self.fact("target", PLAIN, &target);
        if let Some(client) = words::describe_client(&definition.client) {
            self.fact("client", PLAIN, &client);
        }
        if definition.steps.iter().any(|step| step.think.is_some()) {
            self.fact("think", PLAIN, "times are shown, but not waited for");
        }
        if definition.keeps_state {
            self.fact(
                "state",
                FAIR,
                "kept per user, and empty here: values of earlier iterations are missing",
            );
        }
        self.definition = Some(start.definition.clone());
    }

    fn exchange(&mut self, exchange: &DebugExchange) {
        self.open(exchange.step);
        if let Some(row) = &exchange.row {
            self.line(DIM, &format!("row {}", display::quote_name(row)));
        }
        let last = exchange.hops.len().saturating_sub(1);
        for (i, hop) in exchange.hops.iter().enumerate() {
            self.request(hop);
            let took = (i == last).then(|| {
                // Of a request for which there was no connection nothing else says it.
                let is_quic = match hop.version.as_deref() {
                    Some(version) => version == "HTTP/3",
                    None => self.is_quic(exchange.step),
                };
                format_timing(exchange.service_time, &exchange.phases, is_quic)
            });
            if let Some(answer) = &hop.answer {
                self.answer(answer, took.as_deref().unwrap_or_default());
            } else {
                let problem = exchange.problem.as_ref().filter(|_| i == last);
                let why = problem
                    .map(|problem| format!(": {} ({})", problem.message, problem.kind.name()));
                let took = took.unwrap_or_default();
                let words = format!("no answer{took}{}", why.unwrap_or_default());
                self.marked('<', BAD, &words);
            }
            if let Some(stream) = exchange.stream.as_ref().filter(|_| i == last) {
                self.events(stream);
            }
            self.out.push('\n');
            for (name, what) in &hop.curl.variables {
                let line = format!("# export {name}: {what}");
                self.line(DIM, &line);
            }
            self.out.push_str(&hop.curl.command);
            self.out.push_str("\n\n");
        }
    }

    fn operation(&mut self, operation: &DebugOperation) {
        self.open(operation.step);
        let took = display::format_duration(operation.time);
        let row = display::quote_name(&operation.row);
        match &operation.problem {
            None => self.marked('<', PLAIN, &format!("{row}  {took}")),
            Some(problem) => {
                let words = format!(
                    "{row}  {took}: {} ({})",
                    problem.message,
                    problem.kind.name()
                );
                self.marked('<', BAD, &words);
            }
        }
    }

    /// A line for each message: its direction, its time, and its text.
    fn messages(&mut self, all: &DebugMessages) {
        self.open(all.step);
        for message in &all.messages {
            let mark = if message.is_sent { '→' } else { '←' };
            let at = display::format_duration(message.at);
            let control = match message.frame {
                SocketFrame::Message => None,
                SocketFrame::Ping => Some("ping".to_owned()),
                SocketFrame::Pong => Some("pong".to_owned()),
                SocketFrame::Close => {
                    let code = message.text.as_deref().unwrap_or_default();
                    Some(format!("close {code}"))
                }
            };
            if let Some(control) = control {
                self.marked(mark, DIM, &format!("{at}  ({control})"));
                continue;
            }
            let Some(text) = &message.text else {
                let bytes = display::format_counted(message.bytes as u64, "byte");
                self.marked(mark, DIM, &format!("{at}  ({bytes}, not text)"));
                continue;
            };
            let mut lines = text.lines();
            let first = lines.next().unwrap_or_default();
            self.marked(mark, PLAIN, &format!("{at}  {first}"));
            lines.for_each(|line| self.marked(mark, PLAIN, line));
        }
        if all.left_out > 0 {
            let left_out = display::format_counted(all.left_out as u64, "further message");
            self.marked('←', DIM, &format!("... ({left_out})"));
        }
    }

    /// A gRPC call: its messages by their lengths.
    fn call(&mut self, call: &DebugCall) {
        self.open(call.step);
        let row = format!("row {}", display::quote_name(&call.row));
        self.line(DIM, &row);
        self.marked('>', BOLD, &format!("{}  gRPC", call.url));
        self.headers('>', &call.metadata);
        self.marked('>', PLAIN, "");
        for bytes in &call.sent {
            let bytes = display::format_counted(u64::from(*bytes), "byte");
            self.marked('>', PLAIN, &format!("a message of {bytes}"));
        }
        self.further_messages('>', call.messages.sent, call.sent.len());
        let took = format_timing(call.time, &call.phases, false);
        match (&call.status, &call.problem) {
            (Some(status), None) => self.marked('<', BOLD, &format!("{status}{took}")),
            (Some(status), Some(_)) => self.marked('<', BAD, &format!("{status}{took}")),
            (None, None) => self.marked('<', PLAIN, &format!("left before its end{took}")),
            (None, Some(problem)) => {
                let why = format!("{} ({})", problem.message, problem.kind.name());
                self.marked('<', BAD, &format!("no status{took}: {why}"));
            }
        }
        self.headers('<', call.answer.as_deref().unwrap_or_default());
        if !call.received.is_empty() {
            self.marked('<', PLAIN, "");
        }
        for message in &call.received {
            let at = display::format_duration(message.at);
            let bytes = display::format_counted(u64::from(message.bytes), "byte");
            self.marked('<', PLAIN, &format!("{at}  a message of {bytes}"));
        }
        self.further_messages('<', call.messages.received, call.received.len());
        if !call.trailers.is_empty() {
            self.marked('<', PLAIN, "");
        }
        self.headers('<', &call.trailers);
        self.out.push('\n');
    }

    /// Says how many of all messages were not shown.
    fn further_messages(&mut self, mark: char, all: u64, shown: usize) {
        let left_out = all.saturating_sub(shown as u64);
        if left_out > 0 {
            let left_out = display::format_counted(left_out, "further message");
            self.marked(mark, DIM, &format!("... ({left_out})"));
        }
    }

    fn request(&mut self, hop: &DebugHop) {
        let line = format!("{} {}", hop.method, hop.url);
        let version = hop.version.as_deref();
        self.marked(
            '>',
            BOLD,
            &format!("{line}  {}", version.unwrap_or("not sent")),
        );
        self.headers('>', &hop.headers);
        self.body('>', hop.body.as_ref());
    }

    fn answer(&mut self, answer: &DebugAnswer, took: &str) {
        self.marked('<', BOLD, &format!("{}{took}", answer.status));
        self.headers('<', &answer.headers);
        self.body('<', answer.body.as_ref());
    }

    fn headers(&mut self, mark: char, headers: &[(String, String)]) {
        for (name, value) in headers {
            self.marked(mark, PLAIN, &format!("{name}: {value}"));
        }
    }

    fn body(&mut self, mark: char, body: Option<&ShownBody>) {
        let Some(body) = body else { return };
        self.marked(mark, PLAIN, "");
        let bytes = display::format_counted(body.bytes as u64, "byte");
        let Some(text) = &body.text else {
            let more = if body.is_cut { " and more" } else { "" };
            self.marked(mark, DIM, &format!("({bytes}{more}, not text)"));
            return;
        };
        for line in text.lines() {
            self.marked(mark, PLAIN, line);
        }
        if body.is_cut {
            self.marked(mark, DIM, &format!("... ({bytes} are shown)"));
        }
    }

    /// A line for each event: its time, its name, and its data.
    fn events(&mut self, stream: &DebugStream) {
        self.marked('<', PLAIN, "");
        for event in &stream.events {
            let mut words = display::format_duration(event.at);
            if event.is_together {
                words.push_str(" (together with the previous one)");
            }
            if let Some(name) = &event.name {
                let _ = write!(words, " {name}:");
            }
            let data = event.data.as_deref().unwrap_or_default();
            let mut lines = data.lines();
            let _ = write!(words, "  {}", lines.next().unwrap_or_default());
            self.marked('<', PLAIN, words.trim_end());
            lines.for_each(|line| self.marked('<', PLAIN, line));
        }
        if stream.left_out > 0 {
            let left_out = display::format_counted(stream.left_out as u64, "further event");
            self.marked('<', DIM, &format!("... ({left_out})"));
        }
    }

    fn step(&mut self, step: &DebugStep) {
        self.open(step.step);
        let (end, style, words) = match &step.outcome {
            DebugOutcome::Ok => ("ok", GOOD, "ok".to_owned()),
            DebugOutcome::Failed(problem) => {
                let words = format!("failed: {} ({})", problem.message, problem.kind.name());
                ("failed", BAD, words)
            }
            DebugOutcome::NotDrawn => ("not drawn", DIM, "not drawn, by its weight".to_owned()),
            DebugOutcome::LeftOut(reason) => ("left out", DIM, format!("left out: {reason}")),
            DebugOutcome::Kept => ("kept", DIM, "kept: it has run once".to_owned()),
            DebugOutcome::Skipped {
                reason,
                root,
                root_step,
            } => {
                let style = if root.counts() { BAD } else { DIM };
                let at = self.name(*root_step);
                let words = format!("skipped: {reason} (root cause: {root}, step {at})");
                ("skipped", style, words)
            }
        };
        *self.ends.entry(end).or_default() += 1;
        self.line(style, &words);
    }

    fn end(&mut self, end: &DebugEnd) {
        if let Some(problem) = &end.problem {
            self.out.push('\n');
            self.line(BAD, &format!("no step ran: {problem}"));
        }
        if let Some(death) = &end.target_death {
            self.out.push('\n');
            for line in death.lines() {
                self.line(BAD, line);
            }
        }
        let (verdict, style) = if end.is_ok {
            ("ok", GOOD)
        } else {
            ("failed", BAD)
        };
        let ends: Vec<_> = self
            .ends
            .iter()
            .map(|(end, count)| format!("{count} {end}"))
            .collect();
        let steps = if ends.is_empty() {
            String::new()
        } else {
            format!(": {}", ends.join(", "))
        };
        self.out.push('\n');
        self.line(style.bold(), &format!("journey {verdict}{steps}"));
    }

    /// Begins a step, unless it has begun.
    fn open(&mut self, step: usize) {
        if self.step.replace(step) != Some(step) {
            self.out.push('\n');
            let name = self.name(step);
            self.line(BOLD, &name);
        }
    }

    /// Returns whether the requests of a step are to go over QUIC.
    fn is_quic(&self, step: usize) -> bool {
        let definition = self.definition.as_ref();
        definition.is_some_and(|definition| {
            let websocket = definition
                .steps
                .get(step)
                .and_then(|step| step.websocket.as_ref());
            definition.client.http == HttpVersion::Http3 && websocket.is_none()
        })
    }

    /// Number and name of a step.
    fn name(&self, step: usize) -> String {
        let definition = self.definition.as_ref();
        let def = definition.and_then(|definition| definition.steps.get(step));
        let name = def.map_or_else(String::new, |def| format!(" {}", def.name));
        format!("{}{name}", step + 1)
    }

    fn fact(&mut self, name: &str, style: Style, text: &str) {
        let lead = self.painted(DIM, &format!("  {name:<FACTS$}"));
        let text = self.painted(style, text);
        let _ = writeln!(self.out, "{lead}{text}");
    }

    fn marked(&mut self, mark: char, style: Style, text: &str) {
        let mark = self.painted(DIM, &mark.to_string());
        let space = if text.is_empty() { "" } else { " " };
        let text = self.painted(style, text);
        let _ = writeln!(self.out, "{mark}{space}{text}");
    }

    fn line(&mut self, style: Style, text: &str) {
        let text = self.painted(style, text);
        let _ = writeln!(self.out, "{text}");
    }

    fn painted(&self, style: Style, text: &str) -> String {
        let text = clean(text);
        if self.colour && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text
        }
    }
}

/// Formats the time of a request and of its phases.
fn format_timing(service_time: Duration, phases: &Phases, is_quic: bool) -> String {
    let connect = if is_quic { "QUIC handshake" } else { "connect" };
    let parts = [
        (connect, phases.connect),
        ("TLS", phases.tls),
        ("waited for a stream", phases.stream_wait),
        ("upload", phases.upload),
        ("first byte", phases.first_byte),
        ("body", phases.body),
    ];
    let parts: Vec<_> = parts
        .into_iter()
        // A body that comes with its head takes no time of its own.
        .filter_map(|(name, time)| Some((name, time.filter(|time| !time.is_zero())?)))
        .map(|(name, time)| format!("{name} {}", display::format_duration(time)))
        .collect();
    let whole = display::format_duration(service_time);
    if parts.is_empty() {
        format!("  {whole}")
    } else {
        format!("  {whole} ({})", parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest_model::definition::{StepDef, Think};
    use loadtest_model::metrics::ErrorKind;
    use loadtest_model::metrics::MessageCounts;
    use loadtest_model::metrics::RootCause;
    use loadtest_model::protocol::{
        CurlCommand, DebugProblem, ShownEvent, ShownMessage, ShownSocketMessage,
    };
    use loadtest_model::redacted::Redacted;

    #[test]
    fn phases_have_the_names_of_their_protocol() {
        let phases = Phases {
            connect: Some(Duration::from_millis(1)),
            stream_wait: Some(Duration::from_millis(3)),
            upload: Some(Duration::from_millis(4)),
            ..Phases::default()
        };
        let time = Duration::from_millis(5);
        assert_eq!(
            format_timing(time, &phases, false),
            "  5.00 ms (connect 1.00 ms, waited for a stream 3.00 ms, upload 4.00 ms)"
        );
        let phases = Phases {
            stream_wait: None,
            upload: None,
            ..phases
        };
        let quic = format_timing(time, &phases, true);
        assert_eq!(quic, "  5.00 ms (QUIC handshake 1.00 ms)");
    }

    #[test]
    fn a_quic_handshake_that_failed_is_called_so() {
        let mut exchange = login();
        exchange.hops[0].version = None;
        exchange.hops[0].answer = None;
        exchange.phases = Phases {
            connect: Some(Duration::from_millis(1)),
            ..Phases::default()
        };
        let mut transcript = Transcript::new(None, false);
        let mut show = |http| {
            let mut definition = definition();
            definition.client.http = http;
            transcript.definition = Some(definition);
            transcript.exchange(&exchange);
            std::mem::take(&mut transcript.out)
        };
        let quic = show(HttpVersion::Http3);
        assert!(quic.contains("(QUIC handshake 1.00 ms)"), "{quic}");
        let tcp = show(HttpVersion::Http2);
        assert!(tcp.contains("(connect 1.00 ms)"), "{tcp}");
    }

    fn definition() -> ScenarioDef {
        let mut definition = sample::definition("visit", &[]);
        let mut login = StepDef::new("login");
        login.think = Some(Think::Uniform {
            min: Duration::from_secs(1),
            max: Duration::from_secs(2),
        });
        definition.steps = vec![login, StepDef::new("photo"), StepDef::new("buy")].into();
        definition.keeps_state = true;
        definition
    }

    fn headers(all: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        all.iter().map(owned).collect()
    }

    fn body(text: Option<&str>, bytes: usize, is_cut: bool) -> ShownBody {
        let text = text.map(Redacted::assume);
        ShownBody {
            text,
            bytes,
            is_cut,
        }
    }

    fn login() -> DebugExchange {
        DebugExchange {
            step: 0,
            row: None,
            hops: vec![DebugHop {
                method: "POST".to_owned(),
                url: "http://127.0.0.1:80/login".into(),
                version: Some("HTTP/1.1".to_owned()),
                headers: headers(&[("host", "127.0.0.1:80"), ("x-odd", "a\u{1b}[31mb")]),
                body: Some(body(
                    Some("{\n  \"password\": \"[redacted]\"\n}"),
                    24,
                    false,
                )),
                curl: CurlCommand {
                    variables: headers(&[("PASSWORD", "password in the body")]),
                    command: "curl 'http://127.0.0.1:80/login' \\\n  --data-raw '{}'".to_owned(),
                },
                answer: Some(DebugAnswer {
                    status: "200 OK".to_owned(),
                    headers: headers(&[("content-type", "image/png")]),
                    body: Some(body(None, 65_536, true)),
                }),
            }],
            service_time: Duration::from_micros(2_500),
            phases: Phases {
                connect: Some(Duration::from_micros(120)),
                first_byte: Some(Duration::from_millis(2)),
                ..Phases::default()
            },
            stream: None,
            problem: None,
        }
    }

    fn photo() -> DebugExchange {
        let mut exchange = login();
        (exchange.step, exchange.row) = (1, Some("photo of {}".to_owned()));
        exchange.phases = Phases::default();
        exchange.problem = Some(problem());
        let mut moved = exchange.hops[0].clone();
        moved.answer = Some(DebugAnswer {
            status: "302 Found".to_owned(),
            headers: headers(&[("location", "/there")]),
            body: None,
        });
        let lost = &mut exchange.hops[0];
        lost.version = None;
        lost.answer = None;
        exchange.hops.insert(0, moved);
        exchange
    }

    fn problem() -> DebugProblem {
        DebugProblem {
            kind: ErrorKind::ConnectRefused,
            message: "connection refused".into(),
        }
    }

    fn transcript(colour: bool) -> String {
        let mut transcript = Transcript::new(Some(Load::users(4, Duration::from_secs(5))), colour);
        let step = |step, outcome| DebugEvent::Step(DebugStep { step, outcome });
        let events = [
            DebugEvent::Start(Box::new(DebugStart {
                definition: definition(),
                number: "3.12".parse().unwrap(),
                seed: 7,
                base_url: Some("http://127.0.0.1:80".into()),
                own_target: true,
            })),
            DebugEvent::Exchange(Box::new(login())),
            step(0, DebugOutcome::Ok),
            DebugEvent::Think {
                step: 0,
                time: Duration::from_millis(1_200),
            },
            DebugEvent::Exchange(Box::new(photo())),
            step(1, DebugOutcome::Failed(problem())),
            step(
                2,
                DebugOutcome::Skipped {
                    reason: "needs `photo`, but `photo` has no response: failed".into(),
                    root: RootCause::Failed,
                    root_step: 1,
                },
            ),
            DebugEvent::End(DebugEnd {
                is_ok: false,
                problem: None,
                target_death: Some("the target ended by itself:\n  out of tea".into()),
            }),
        ];
        events.iter().map(|event| transcript.tell(event)).collect()
    }

    #[test]
    fn a_stream_is_told_event_by_event() {
        let event = |ms, is_together, name: Option<&str>, data: Option<&str>| ShownEvent {
            at: Duration::from_millis(ms),
            is_together,
            name: name.map(Redacted::assume),
            data: data.map(Redacted::assume),
        };
        let mut exchange = login();
        exchange.hops[0].answer = Some(DebugAnswer {
            status: "200 OK".to_owned(),
            headers: headers(&[("content-type", "text/event-stream")]),
            body: None,
        });
        exchange.stream = Some(DebugStream {
            events: vec![
                event(2, false, None, Some("{}")),
                event(
                    203,
                    false,
                    Some("delta"),
                    Some("{\"text\":\"a\u{1b}[31m\"}"),
                ),
                event(203, true, None, Some("two\nlines")),
                event(214, false, None, None),
            ],
            left_out: 17,
        });
        let mut transcript = Transcript::new(None, false);
        insta::assert_snapshot!(transcript.tell(&DebugEvent::Exchange(Box::new(exchange))));
    }

    #[test]
    fn messages_are_told_with_their_direction_and_time() {
        let message = |ms, is_sent, text: Option<&str>| ShownSocketMessage {
            at: Duration::from_millis(ms),
            is_sent,
            frame: SocketFrame::Message,
            text: text.map(Redacted::assume),
            bytes: 12,
        };
        let control = |ms, is_sent, frame, text| ShownSocketMessage {
            frame,
            ..message(ms, is_sent, text)
        };
        let messages = DebugMessages {
            step: 0,
            messages: vec![
                message(3, true, Some("{\"join\":7}")),
                message(4, false, Some("two\nlines \u{1b}[31m")),
                message(5, false, None),
                control(6, false, SocketFrame::Ping, None),
                control(6, true, SocketFrame::Pong, None),
                control(7, true, SocketFrame::Close, Some("1000 (normal closure)")),
            ],
            left_out: 2,
        };
        let mut transcript = Transcript::new(None, false);
        insta::assert_snapshot!(transcript.tell(&DebugEvent::Messages(messages)));
    }

    #[test]
    fn a_call_is_told_by_the_lengths_of_its_messages() {
        let message = |ms, bytes| ShownMessage {
            at: Duration::from_millis(ms),
            bytes,
        };
        let mut call = DebugCall {
            step: 0,
            row: "shop.Cart/Watch".to_owned(),
            url: "http://127.0.0.1:80/shop.Cart/Watch".into(),
            metadata: headers(&[("te", "trailers"), ("key-bin", "[redacted]")]),
            sent: vec![4],
            answer: Some(headers(&[("content-type", "application/grpc")])),
            received: vec![message(21, 1), message(42, 1_200)],
            messages: MessageCounts {
                sent: 1,
                received: 5,
            },
            trailers: headers(&[("grpc-status", "5")]),
            status: Some("NOT_FOUND: no such cart".into()),
            time: Duration::from_millis(43),
            phases: Phases {
                first_byte: Some(Duration::from_millis(2)),
                ..Phases::default()
            },
            problem: Some(DebugProblem {
                kind: ErrorKind::GrpcStatus,
                message: "NOT_FOUND: no such cart".into(),
            }),
        };
        let mut transcript = Transcript::new(None, false);
        let mut told = transcript.tell(&DebugEvent::Call(Box::new(call.clone())));
        (call.status, call.answer) = (None, None);
        (call.received, call.trailers) = (Vec::new(), Vec::new());
        call.messages.received = 0;
        call.problem = Some(DebugProblem {
            kind: ErrorKind::TimeoutHead,
            message: "no head of the answer within 43ms".into(),
        });
        told.push_str(&transcript.tell(&DebugEvent::Call(Box::new(call))));
        insta::assert_snapshot!(told);
    }

    #[test]
    fn a_journey_is_told_step_by_step() {
        insta::assert_snapshot!(transcript(false));
    }

    #[test]
    fn colours_change_no_word_and_no_command() {
        let coloured = transcript(true);
        assert_ne!(coloured, transcript(false));
        assert_eq!(
            anstream::adapter::strip_str(&coloured).to_string(),
            transcript(false)
        );
        assert!(coloured.contains("\ncurl 'http://127.0.0.1:80/login' \\\n  --data-raw '{}'\n"));
    }

    #[test]
    fn a_journey_without_a_step_says_why() {
        let mut transcript = Transcript::new(None, false);
        let end = DebugEvent::End(DebugEnd {
            is_ok: false,
            problem: Some("a state panicked".into()),
            target_death: None,
        });
        assert_eq!(
            transcript.tell(&end),
            "\nno step ran: a state panicked\n\njourney failed\n"
        );
    }
}
