//! The requests of one step: the first, those after a failure (`retry`), and those that ask until the
//! answer is the one that the step waits for (`wait_until`).

use super::iteration::IterationObserver;
use super::worker_state::WorkerState;
use crate::chain::{Chain, RawResponse, RequestBuf};
use crate::transport::{Call, Exchange, Failure, Received, Transport};
use http::StatusCode;
use loadtest_model::definition::{Retry, StepDef, Trigger, Until};
use loadtest_model::metrics::StepTally;
use loadtest_model::metrics::{Cause, RootCause};
use loadtest_model::metrics::{ErrorKind, Traffic};
use loadtest_model::schedule::Window;
use std::cell::Cell;
use std::time::Duration;
use tokio::time::Instant;

/// What sends the requests of a step, and what is told of them.
pub(super) struct RequestLoop<'a, T, O> {
    pub(super) step: usize,
    pub(super) def: &'a StepDef,
    pub(super) window: Window,
    pub(super) state: &'a WorkerState,
    pub(super) request: &'a RequestBuf,
    pub(super) transport: &'a mut T,
    pub(super) chain: &'a mut dyn Chain,
    pub(super) observer: &'a mut O,
}

/// What the requests of a step came to: one sample.
pub(super) struct AttemptSummary {
    /// The status of the answer that the chain holds now, or why it holds none.
    pub(super) result: Result<StatusCode, Failure>,
    /// When the first request was ready to be sent.
    pub(super) begun: Option<Instant>,
    /// The service times of all requests: from the first send to the last byte, less the pauses.
    pub(super) service: Duration,
    /// The pauses between them.
    pub(super) paused: Duration,
    /// Whether the end of the run came before the answer that the step waits for.
    pub(super) is_cut_off: bool,
    requests: u32,
    /// How many of the last requests failed, one after another.
    failures: u32,
}

impl<T: Transport, O: IterationObserver> RequestLoop<'_, T, O> {
    /// Sends until there is an answer to go on with, or none to hope for.
    pub(super) async fn send_until_settled(mut self) -> AttemptSummary {
        // Only those that wait for an answer look at the clock.
        let until = self.def.until.as_ref();
        let deadline = until.map(|until| Instant::now() + until.within);
        let mut attempt = AttemptSummary {
            result: Ok(StatusCode::OK),
            begun: None,
            service: Duration::ZERO,
            paused: Duration::ZERO,
            is_cut_off: false,
            requests: 0,
            failures: 0,
        };
        loop {
            let cut = UnfinishedRequestGuard {
                unfinished: Cell::default(),
                state: self.state,
                window: self.window,
                step: self.step,
            };
            let call = Call {
                request: self.request,
                expect: &self.def.expect,
                reads: self.observer.extend_reads(self.def.reads),
                timeout: self.request.timeout.unwrap_or(self.def.timeout),
                redirects: self.def.redirects,
                unfinished: &cut.unfinished,
            };
            // An exchange is large, and is not kept across a wait.
            let pause = {
                let exchange = self.transport.send(call).await;
                self.tally_exchange(exchange, deadline, &mut attempt)
            };
            drop(cut);
            let Some(pause) = pause else { break };
            let pausing = Instant::now();
            if self.def.last {
                // The load is over then, and its end does not cut the pause short.
                tokio::time::sleep(pause).await;
            } else {
                self.state.pause_unless_stopping(pause).await;
            }
            attempt.paused += pausing.elapsed();
            if !self.def.last && !self.state.is_running() {
                attempt.is_cut_off = attempt.result.is_ok();
                break;
            }
        }
        if attempt.result.is_err() {
            let (root, step) = (RootCause::Failed, self.step);
            self.chain.skip(step, Cause { root, step });
        }
        attempt
    }

    /// Counts what is counted of an exchange whatever the chain makes of it, and hands over the answer.
    /// The pause before the next request, where there is one.
    fn tally_exchange(
        &mut self,
        exchange: Exchange,
        deadline: Option<Instant>,
        attempt: &mut AttemptSummary,
    ) -> Option<Duration> {
        self.observer
            .on_exchange(self.step, self.request, &exchange);
        let is_repeated = attempt.requests > 0;
        self.state.with_tally(self.window, |tally| {
            count_exchange(&mut tally.steps[self.step], &exchange, is_repeated);
        });
        attempt.requests += 1;
        attempt.begun.get_or_insert(exchange.begun);
        attempt.service += exchange.service_time;
        let left = deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        });
        match exchange.result {
            Ok(received) => {
                attempt.failures = 0;
                attempt.result = Ok(received.status);
                self.deliver_response(received, left, attempt.requests)
                    .unwrap_or_else(|failure| {
                        attempt.result = Err(failure);
                        None
                    })
            }
            Err(failure) => {
                let pause = self.def.retry.as_ref().and_then(|retry| {
                    retry_pause(&failure, attempt.failures, retry).filter(|pause| *pause <= left)
                });
                attempt.failures += 1;
                attempt.result = Err(failure);
                pause
            }
        }
    }

    /// Hands an answer to the chain. The pause before the next request, where it is not the one that the
    /// step waits for; `left` is the time until the step gives up.
    fn deliver_response(
        &mut self,
        received: Received,
        left: Duration,
        requests: u32,
    ) -> Result<Option<Duration>, Failure> {
        let Self {
            step, state, chain, ..
        } = self;
        let status = received.status;
        let failed = |kind, message| {
            Err(Failure {
                status: Some(status),
                ..Failure::new(kind, message)
            })
        };
        let raw = RawResponse {
            status,
            headers: received.headers,
            body: received.body,
            redirected_to: None,
        };
        match state.run_user_code(*step, || chain.finish(*step, raw)) {
            Ok(Ok(())) => {}
            Ok(Err(reason)) => return failed(ErrorKind::BodyDecode, reason),
            Err(message) => return failed(ErrorKind::StepPanic, format!("panicked: {message}")),
        }
        let Some(Until { every, within, .. }) = self.def.until else {
            return Ok(None);
        };
        match state.run_user_code(*step, || chain.arrived(*step)) {
            Ok(true) => Ok(None),
            Ok(false) if every <= left => Ok(Some(every)),
            Ok(false) => {
                let plural = if requests == 1 { "" } else { "s" };
                let words =
                    format!("`until` did not hold within {within:?}: {requests} request{plural}");
                failed(ErrorKind::StepAssert, words)
            }
            Err(message) => failed(ErrorKind::StepPanic, format!("`until` panicked: {message}")),
        }
    }
}

/// Counts what was sent of a request that the end of the run cuts off.
struct UnfinishedRequestGuard<'a> {
    unfinished: Cell<Traffic>,
    state: &'a WorkerState,
    window: Window,
    step: usize,
}

impl Drop for UnfinishedRequestGuard<'_> {
    fn drop(&mut self) {
        let traffic = self.unfinished.take();
        if traffic != Traffic::default() {
            self.state
                .with_tally(self.window, |tally| tally.steps[self.step].count(traffic));
        }
    }
}

/// The pause before the step sends again, if it does after this failure, the `count`-th in a row from
/// zero.
fn retry_pause(failure: &Failure, count: u32, retry: &Retry) -> Option<Duration> {
    let is_meant = retry
        .on
        .iter()
        .any(|trigger| matches_trigger(*trigger, failure));
    (is_meant && count < retry.times)
        .then(|| retry.backoff.saturating_mul(2_u32.saturating_pow(count)))
}

fn matches_trigger(trigger: Trigger, failure: &Failure) -> bool {
    let name = failure.kind.name();
    let family = name.split_once('.').map_or(name, |(family, _)| family);
    match trigger {
        Trigger::Status(range) => {
            failure.kind == ErrorKind::Status
                && failure
                    .status
                    .is_some_and(|status| (range.from..=range.to).contains(&status.as_u16()))
        }
        Trigger::Timeout => failure.kind.is_timeout(),
        Trigger::Connect => matches!(family, "dns" | "connect" | "tls"),
        Trigger::Reset => {
            matches!(family, "reset" | "closed") || failure.kind == ErrorKind::BodyTruncated
        }
    }
}

/// Counts one exchange: requests, bytes, phases and the status.
fn count_exchange(tally: &mut StepTally, exchange: &Exchange, is_repeated: bool) {
    tally.count(exchange.traffic);
    // the transport repeats by itself what a resting connection that was closed has lost
    let first = u32::from(!is_repeated);
    tally.retries += u64::from(exchange.traffic.requests.saturating_sub(first));
    let status = match &exchange.result {
        Ok(received) => Some(received.status),
        Err(failure) => failure.status,
    };
    if let Some(status) = status {
        *tally.statuses.entry(status.as_u16()).or_default() += 1;
    }
    tally.phases.record(&exchange.phases);
}
