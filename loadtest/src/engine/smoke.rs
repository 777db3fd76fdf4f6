//! Runs one iteration and the last steps, with every step forced and no think time. Used by `cargo
//! test`.

use super::iteration::IterationObserver;
use super::outcome::StepOutcome;
use super::single::{IterationPosition, run_single_iteration};
use crate::chain::{RequestBuf, Scenario, Shared};
use crate::redact;
use crate::transport::{Exchange, MAX_SAMPLE, Transport, sample_of_body};
use http::{HeaderMap, HeaderName, HeaderValue};
use loadtest_model::definition::{Reads, ScenarioDef};
use loadtest_model::metrics::ErrorKind;
use loadtest_model::plan::Plan;
use std::fmt::Write as _;
use std::time::Duration;

/// The most exchanges of one step that are shown.
const MAX_SHOWN_EXCHANGES: usize = 50;

/// Runs iteration 0 once, and returns why it tested nothing, if no step ran since they left themselves out.
///
/// # Errors
/// What went wrong, step by step with request and response.
pub(crate) async fn run_smoke_test<T: Transport>(
    scenario: &'static Scenario,
    shared: &Shared,
    plan: &Plan,
    transport: T,
) -> Result<Option<String>, String> {
    let mut transcript = Transcript {
        definition: &scenario.definition,
        last: String::new(),
        problems: String::new(),
        has_run: false,
        left_out: None,
    };
    let place = IterationPosition::default();
    let ran = run_single_iteration(
        scenario,
        shared,
        plan,
        transport,
        place,
        None,
        &mut transcript,
    )
    .await;
    if let Err(message) = ran {
        let _ = writeln!(transcript.problems, "{message}");
    }
    if transcript.problems.is_empty() {
        Ok(transcript.left_out.filter(|_| !transcript.has_run))
    } else {
        Err(transcript.problems)
    }
}

/// Writes down what happens, to show it where something fails.
struct Transcript {
    definition: &'static ScenarioDef,
    /// The last request and its response; all of them where a step sends for itself.
    last: String,
    problems: String,
    /// A step ran.
    has_run: bool,
    /// Why the first step did not that left itself out.
    left_out: Option<String>,
}

impl IterationObserver for Transcript {
    const FORCES_ALL_STEPS: bool = true;
    const KEPT_EXCHANGES: usize = MAX_SHOWN_EXCHANGES;

    fn extend_reads(&self, reads: Reads) -> Reads {
        Reads {
            headers: true,
            ..reads
        }
    }

    fn on_exchange(&mut self, step: usize, request: &RequestBuf, exchange: &Exchange) {
        if !self.definition.steps[step].sends_itself {
            self.last.clear();
        }
        self.last.push_str(&render_exchange(request, exchange));
        if self.definition.steps[step].sends_itself
            && let Err(failure) = &exchange.result
            && failure.kind == ErrorKind::GuardBlocked
        {
            // Whatever the step makes of it.
            let (name, message) = (
                &self.definition.steps[step].name,
                redact::redact_message(&failure.message),
            );
            let _ = writeln!(self.problems, "step `{name}` could not send: {message}");
        }
    }

    fn on_think(&mut self, _: usize, _: Duration) -> bool {
        false
    }

    fn on_step_end(&mut self, step: usize, outcome: &StepOutcome) {
        let definition = &self.definition.steps[step];
        let name = &definition.name;
        // a place that terminals and editors open
        let place = format_args!("{}:{}", self.definition.file, definition.line);
        let last = std::mem::take(&mut self.last);
        match outcome {
            StepOutcome::Ok => self.has_run = true,
            StepOutcome::LeftOut(skip) => {
                let why = || format!("step `{name}` left itself out: {}", skip.example);
                self.left_out.get_or_insert_with(why);
            }
            StepOutcome::NotDrawn | StepOutcome::AlreadyRun => {}
            // what follows from a skip on purpose is on purpose
            StepOutcome::Skipped(skip) if !skip.cause.root.counts() => {}
            StepOutcome::Failed(failure) => {
                let message = redact::redact_message(&failure.message);
                let _ = writeln!(
                    self.problems,
                    "step `{name}` failed ({}): {message}\n  at {place}\n{last}",
                    failure.kind
                );
            }
            StepOutcome::Skipped(skip) => {
                let why = skip.describe();
                let _ = writeln!(
                    self.problems,
                    "step `{name}` was skipped: {why}\n  at {place}"
                );
            }
        }
    }
}

fn render_exchange(request: &RequestBuf, exchange: &Exchange) -> String {
    let mut text = String::new();
    let target = request.target.to_string();
    let _ = writeln!(text, "  > {} {}", request.method, redact::redact(&target));
    push_headers(
        &mut text,
        '>',
        request.headers.iter().map(|(name, value)| (name, value)),
    );
    push_body(&mut text, '>', &request.body);
    if let Some(url) = &exchange.redirected_to {
        let _ = writeln!(
            text,
            "  > redirected to {}",
            redact::redact(&url.to_string())
        );
    }
    match &exchange.result {
        Ok(received) => {
            let _ = writeln!(
                text,
                "  < {} ({:.1?})",
                received.status, exchange.service_time
            );
            push_response_headers(&mut text, &received.headers);
            push_body(&mut text, '<', &received.body);
        }
        Err(failure) => match failure.status {
            Some(status) => {
                let _ = writeln!(text, "  < {status} ({:.1?})", exchange.service_time);
                if let Some(headers) = &failure.headers {
                    push_response_headers(&mut text, headers);
                }
                push_body(
                    &mut text,
                    '<',
                    failure.sample.as_deref().unwrap_or_default().as_bytes(),
                );
            }
            None => {
                let _ = writeln!(text, "  < no response ({:.1?})", exchange.service_time);
            }
        },
    }
    text
}

fn push_response_headers(text: &mut String, map: &HeaderMap) {
    push_headers(text, '<', map.iter());
}

fn push_headers<'a>(
    text: &mut String,
    mark: char,
    all: impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)>,
) {
    for (name, value) in all {
        let value = redact::redact_header(name.as_str(), value);
        let _ = writeln!(text, "  {mark} {name}: {value}");
    }
}

/// Adds the start of a body. Every exchange is written down, and most are never shown: the rest of a large one is not
/// looked at.
fn push_body(text: &mut String, mark: char, bytes: &[u8]) {
    let Some(start) = sample_of_body(bytes) else {
        return;
    };
    for line in start.lines() {
        let _ = writeln!(text, "  {mark} {line}");
    }
    if bytes.len() > MAX_SAMPLE {
        let _ = writeln!(text, "  {mark} ... ({} bytes in all)", bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::Failure;
    use loadtest_model::metrics::{Phases, Traffic};

    #[test]
    fn where_a_redirect_led_is_shown_without_secrets() {
        let mut request = RequestBuf::default();
        request.url("/start").unwrap();
        let mut exchange = Exchange {
            result: Err(Failure::new(ErrorKind::TimeoutHead, "no answer")),
            begun: tokio::time::Instant::now(),
            service_time: Duration::ZERO,
            phases: Phases::default(),
            traffic: Traffic::default(),
            redirected_to: None,
            events: None,
            socket: None,
            hops: None,
            requests: None,
        };
        let direct = "  > GET /start\n  < no response (0.0ns)\n";
        assert_eq!(render_exchange(&request, &exchange), direct);
        let url = "http://127.0.0.1/end?token=hunter2".parse().unwrap();
        exchange.redirected_to = Some(Box::new(url));
        let moved = "  > GET /start\n  > redirected to http://127.0.0.1/end?token=[redacted]\n  < no response (0.0ns)\n";
        assert_eq!(render_exchange(&request, &exchange), moved);
    }

    #[test]
    fn of_a_large_body_the_start_is_shown_and_its_length() {
        let shown = |length: usize| {
            let mut text = String::new();
            push_body(&mut text, '<', "word ".repeat(length / 5).as_bytes());
            text
        };
        assert_eq!(shown(10), "  < word word \n");
        let (short, long) = (shown(2_000), shown(10_000_000));
        assert!(
            short.ends_with("\n  < ... (2000 bytes in all)\n"),
            "{short}"
        );
        assert_eq!(long.lines().next(), short.lines().next());
        assert_eq!(short.lines().next().map(str::len), Some(4 + MAX_SAMPLE));
    }
}
