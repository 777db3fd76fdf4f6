//! Spans of sampled journeys as OTLP: a journey, its steps, their requests. No URL, header or body is told.

use super::otlp::attributes;
use crate::telemetry::spans::{SpanBatch, StepFacts};
use crate::telemetry::wire::otlp::{AnyValue, InstrumentationScope, KeyValue, Resource};
use crate::telemetry::wire::otlp_trace::{
    ExportTraceServiceRequest, ResourceSpans, ScopeSpans, Span, SpanEvent, Status,
};
use loadtest_model::metrics::ErrorKind;
use loadtest_model::protocol::{TracedJourney, TracedOutcome, TracedRequest, TracedStep};
use loadtest_model::trace::{SpanId, TraceId};

const INTERNAL: i32 = 1;
const CLIENT: i32 = 3;
const ERROR: i32 = 2;
/// The sampled flag of W3C Trace Context.
const SAMPLED: u32 = 1;
/// A step that a run does not have is told so.
const UNKNOWN: &str = "?";

/// Returns the message of a batch.
pub(crate) fn encode_spans(batch: &SpanBatch) -> ExportTraceServiceRequest {
    let resource = [
        ("service.name", "loadtest"),
        ("service.version", env!("CARGO_PKG_VERSION")),
        ("service.instance.id", &*batch.facts.run),
        ("loadtest.scenario", &batch.facts.scenario),
    ];
    let mut spans = Vec::new();
    for journey in &batch.journeys {
        SpanEncoder { batch, journey }.add_all(&mut spans);
    }
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: attributes(resource),
            }),
            scope_spans: vec![ScopeSpans {
                scope: Some(InstrumentationScope {
                    name: "loadtest".to_owned(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                }),
                spans,
            }],
        }],
    }
}

struct SpanEncoder<'a> {
    batch: &'a SpanBatch,
    journey: &'a TracedJourney,
}

impl SpanEncoder<'_> {
    fn add_all(&self, spans: &mut Vec<Span>) {
        let (trace, facts) = (self.journey.trace_id, &self.batch.facts);
        if let Some(root) = self.journey.root {
            let mut attributes = attributes([
                ("loadtest.run", &*facts.run),
                ("loadtest.scenario", &facts.scenario),
            ]);
            attributes.extend([
                integer("loadtest.iteration", self.journey.iteration),
                integer("loadtest.seed", facts.seed),
                integer("loadtest.start_delay_us", root.delay_us),
            ]);
            let failed = match root.outcome {
                TracedOutcome::Ok => None,
                TracedOutcome::Failed => Some("a step failed"),
                TracedOutcome::Cancelled => Some("cut off by the end of the run"),
            };
            let name = facts.scenario.rsplit("::").next().unwrap_or_default();
            spans.push(Span {
                attributes,
                status: failed.map(|message| Status {
                    message: message.to_owned(),
                    code: ERROR,
                }),
                ..self.span(
                    name,
                    INTERNAL,
                    trace.journey(),
                    None,
                    (root.begin_us, root.end_us),
                )
            });
        }
        for step in &self.journey.steps {
            self.add_step(step, spans);
        }
    }

    fn add_step(&self, step: &TracedStep, spans: &mut Vec<Span>) {
        let trace = self.journey.trace_id;
        let facts = self.batch.facts.steps.get(step.step);
        let name = facts.map_or(UNKNOWN, |facts| &facts.name);
        let mut own = attributes([("loadtest.step", name)]);
        own.extend(error_type(step.error, None));
        let parent = Some(trace.journey());
        let times = (step.begin_us, step.end_us);
        spans.push(Span {
            attributes: own,
            status: error_status(step.error),
            ..self.span(name, INTERNAL, trace.step(step.step), parent, times)
        });
        for request in &step.requests {
            spans.push(self.request(step.step, facts, request));
        }
    }

    fn request(&self, step: usize, facts: Option<&StepFacts>, request: &TracedRequest) -> Span {
        let trace = self.journey.trace_id;
        // Where a redirect leads, no template says.
        let template = match (&request.row, facts) {
            (Some(row), _) => row.split_once(' ').map_or("", |(_, path)| path),
            (None, Some(facts)) if !request.is_redirect => &facts.template,
            _ => "",
        };
        let name = format!("{} {template}", request.method);
        let mut own = attributes(
            [
                ("http.request.method", &*request.method),
                ("url.template", template),
                ("server.address", &request.host),
            ]
            .into_iter()
            .filter(|(_, text)| !text.is_empty()),
        );
        own.push(integer("server.port", request.port.into()));
        own.extend(
            (request.status).map(|status| integer("http.response.status_code", status.into())),
        );
        // A status of 400 and more is an error to a client, whatever the step expects.
        let refused = request.status.filter(|status| *status >= 400);
        own.extend(error_type(request.error, refused));
        if request.number > 1 && request.row.is_none() {
            own.push(integer(
                "http.request.resend_count",
                u64::from(request.number) - 1,
            ));
        }
        let duration = |name, at_us: Option<u64>, time_us: Option<u64>| {
            at_us.zip(time_us).map(|(at_us, time_us)| SpanEvent {
                time_unix_nano: self.nanoseconds(at_us),
                name: String::from(name),
                attributes: vec![integer("loadtest.duration_us", time_us)],
            })
        };
        let connected = (request.connected_at_us)
            .map(|at_us| at_us.saturating_sub(request.tls_us.unwrap_or_default()));
        let events = [
            duration("connect", connected, request.connect_us),
            duration("tls", request.connected_at_us, request.tls_us),
            request.first_byte_at_us.map(|at_us| SpanEvent {
                time_unix_nano: self.nanoseconds(at_us),
                name: "first_byte".to_owned(),
                attributes: Vec::new(),
            }),
        ];
        let times = (request.begin_us, request.end_us);
        let id = trace.request(step, request.number);
        Span {
            attributes: own,
            events: events.into_iter().flatten().collect(),
            status: error_status(request.error).or(refused.map(|_| Status {
                message: String::new(),
                code: ERROR,
            })),
            ..self.span(name.trim_end(), CLIENT, id, Some(trace.step(step)), times)
        }
    }

    fn span(
        &self,
        name: &str,
        kind: i32,
        id: SpanId,
        parent: Option<SpanId>,
        (begin_us, end_us): (u64, u64),
    ) -> Span {
        Span {
            trace_id: TraceId::to_bytes(self.journey.trace_id).to_vec(),
            span_id: id.to_bytes().to_vec(),
            parent_span_id: parent.map_or_else(Vec::new, |id| id.to_bytes().to_vec()),
            name: name.to_owned(),
            kind,
            start_time_unix_nano: self.nanoseconds(begin_us),
            end_time_unix_nano: self.nanoseconds(end_us),
            attributes: Vec::new(),
            events: Vec::new(),
            status: None,
            flags: SAMPLED,
        }
    }

    fn nanoseconds(&self, offset_us: u64) -> u64 {
        let time = self.batch.start_us.saturating_add(offset_us);
        time.saturating_mul(1_000)
    }
}

fn integer(key: &str, number: u64) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            string_value: None,
            int_value: Some(i64::try_from(number).unwrap_or(i64::MAX)),
        }),
    }
}

/// The kind of a failure, or the status that is one.
fn error_type(error: Option<ErrorKind>, status: Option<u16>) -> Vec<KeyValue> {
    let kind = match (error, status) {
        (Some(kind), _) => kind.name().to_owned(),
        (None, Some(status)) => status.to_string(),
        (None, None) => return Vec::new(),
    };
    attributes([("error.type", &*kind)])
}

fn error_status(error: Option<ErrorKind>) -> Option<Status> {
    error.map(|kind| Status {
        message: kind.name().to_owned(),
        code: ERROR,
    })
}
