//! The requests of one step: the first, the repeats after a failure (`retry`), and the polling until a
//! response satisfies the step (`until`).

use super::control::RunPhase;
use super::iteration::{IterationObserver, OpenSockets, StepContext};
use super::samples::SampledTraffic;
use super::trace::JourneyTrace;
use super::worker_state::WorkerState;
use crate::chain::{Chain, RawResponse, RequestBuf};
use crate::transport::events::{EventLog, RawEvent};
use crate::transport::{
    AnswerDetails, Call, Exchange, Failure, StreamCall, Transport, UnfinishedCall,
};
use http::StatusCode;
use loadtest_model::definition::{Retry, StepDef, StreamDef, Trigger, Until};
use loadtest_model::metrics::{Cause, RootCause};
use loadtest_model::metrics::{ErrorKind, Traffic};
use loadtest_model::metrics::{StepTally, StreamSample};
use std::cell::Cell;
use std::time::Duration;
use tokio::time::Instant;

/// Sends the requests of a step.
pub(super) struct RequestLoop<'a, T, O> {
    pub(super) context: &'a StepContext<'a>,
    pub(super) request: &'a RequestBuf,
    pub(super) transport: &'a mut T,
    /// Takes the WebSocket that the step opens.
    pub(super) sockets: &'a mut OpenSockets,
    pub(super) chain: &'a mut dyn Chain,
    pub(super) observer: &'a mut O,
}

/// The result of all requests of a step: one sample.
pub(super) struct AttemptSummary {
    /// The status of the answer that the chain holds now, or why it holds none.
    pub(super) result: Result<StatusCode, Failure>,
    /// The time at which the first request was ready to be sent.
    pub(super) begun: Option<Instant>,
    /// The service times of all requests: from the first send to the last byte, less the pauses.
    pub(super) service: Duration,
    /// The pauses between them.
    pub(super) paused: Duration,
    pub(super) traffic: SampledTraffic,
    /// True once a request was written to a connection.
    pub(super) has_sent: bool,
    /// Bytes read, heads included.
    pub(super) received_bytes: u64,
    /// What was measured of the stream of events, where the step reads one.
    pub(super) stream: Option<Box<StreamSample>>,
    pub(super) end: AttemptEnd,
    requests: u32,
    /// The number of consecutive failures so far.
    failures: u32,
}

/// How the requests of a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttemptEnd {
    Settled,
    /// By the end of the run, before the response that the step waits for.
    CutOff,
    /// By a status after which a `once` step or a setup runs again, and then this one.
    Refused,
}

impl AttemptSummary {
    /// Adds what came `before`, another answer to the same step.
    pub(super) fn continue_from(&mut self, before: &Self) {
        self.begun = before.begun.or(self.begun);
        self.service += before.service;
        self.paused += before.paused;
        self.traffic.add(before.traffic);
        self.has_sent |= before.has_sent;
        self.received_bytes += before.received_bytes;
        if let Some(first) = self.stream.as_mut().and_then(|it| it.first_event.as_mut()) {
            *first += before.service;
        }
    }
}

impl<T: Transport, O: IterationObserver> RequestLoop<'_, T, O> {
    /// Sends until there is an answer to go on with, or none to hope for.
    pub(super) async fn send_until_settled(&mut self) -> AttemptSummary {
        // Only those that wait for an answer look at the clock.
        let until = self.context.def.until.as_ref();
        let deadline = until.map(|until| Instant::now() + until.within);
        let mut attempt = AttemptSummary {
            result: Ok(StatusCode::OK),
            begun: None,
            service: Duration::ZERO,
            paused: Duration::ZERO,
            traffic: SampledTraffic::default(),
            has_sent: false,
            received_bytes: 0,
            stream: None,
            end: AttemptEnd::Settled,
            requests: 0,
            failures: 0,
        };
        let requests = Cell::new(0);
        loop {
            let cut = UnfinishedRequestGuard {
                unfinished: UnfinishedCall::default(),
                context: self.context,
            };
            let StepContext {
                step, def, state, ..
            } = *self.context;
            let chain = &*self.chain;
            let ends_by_condition = def
                .stream
                .as_ref()
                .is_some_and(StreamDef::ends_by_condition);
            let each = |event: &RawEvent| {
                if !ends_by_condition {
                    return Ok(false);
                }
                let ended = state.run_user_code(step, || chain.ends_stream(step, event));
                ended.map_err(|message| {
                    Failure::new(ErrorKind::StepPanic, format!("`end` panicked: {message}"))
                })
            };
            let call = Call {
                request: self.request,
                expect: &def.expect,
                reads: self.observer.extend_reads(def.reads),
                timeout: self.request.timeout.unwrap_or(def.timeout),
                redirects: def.redirects,
                new_connection: def.new_connections,
                unfinished: &cut.unfinished,
                trace: (self.context.trace).map(|trace| trace.call(step, &requests)),
                stream: def.stream.as_ref().map(|stream| StreamCall {
                    def: stream,
                    keeps_data: def.reads.body,
                    is_graphql: def.graphql.is_some(),
                    lasts: stream_limit(stream, state),
                    each: &each,
                    opened: None,
                }),
                websocket: def.websocket.as_ref(),
                is_graphql: def.graphql.is_some(),
            };
            // An exchange is large, and is not kept across a wait.
            let pause = {
                let exchange = if def.stream.is_some() {
                    // In a box, so that the requests of all others stay small.
                    let Some(exchange) = Box::pin(send_stream(self.transport, call, state)).await
                    else {
                        attempt.end = AttemptEnd::CutOff;
                        break;
                    };
                    exchange
                } else {
                    self.transport.send(call).await
                };
                if is_withdrawn(self.transport, &exchange) {
                    self.context.state.advance_phase(RunPhase::Stopping);
                    attempt.end = AttemptEnd::CutOff;
                }
                self.tally_exchange(exchange, deadline, &mut attempt)
            };
            drop(cut);
            let Some(pause) = pause.filter(|_| attempt.end == AttemptEnd::Settled) else {
                break;
            };
            let pausing = Instant::now();
            // The end of the load does not cut it short, or a target would be blamed for what it had no time to do. The
            // end of the grace does, and what it cuts off is cancelled.
            tokio::time::sleep(pause).await;
            attempt.paused += pausing.elapsed();
        }
        if attempt.result.is_err() {
            let (root, step) = (RootCause::Failed, self.context.step);
            self.chain.skip(step, Cause { root, step });
        }
        attempt
    }

    /// Counts what is counted of an exchange whatever the chain makes of it, and hands over the answer.
    /// The pause before the next request, where there is one.
    #[expect(
        clippy::inline_always,
        reason = "each request passes here, and an exchange costs more to copy than to count"
    )]
    #[inline(always)]
    fn tally_exchange(
        &mut self,
        mut exchange: Exchange,
        deadline: Option<Instant>,
        attempt: &mut AttemptSummary,
    ) -> Option<Duration> {
        self.observer
            .on_exchange(self.context.step, self.request, &exchange);
        if let Some(trace) = self.context.trace.and_then(JourneyTrace::kept) {
            let sent = exchange.take_requests();
            trace.add_requests(self.context.step, sent, None);
        }
        let is_repeated = attempt.requests > 0;
        self.context.state.with_tally(self.context.window, |tally| {
            count_exchange(&mut tally.steps[self.context.step], &exchange, is_repeated);
        });
        let before = attempt.service;
        attempt.requests += 1;
        attempt.begun.get_or_insert(exchange.begun);
        attempt.service += exchange.service_time;
        attempt.has_sent |= exchange.traffic.requests > 0;
        attempt.received_bytes += exchange.traffic.received_bytes;
        if self.context.sampled.is_some() {
            let traffic = SampledTraffic::new(exchange.traffic, &exchange.phases);
            attempt.traffic.add(traffic);
        }
        let left = deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        });
        let (events, failed_events) = match &exchange.result {
            Ok(_) => (exchange.events, None),
            Err(_) => (None, exchange.events),
        };
        let pause = match exchange.result {
            Ok(received) => {
                attempt.failures = 0;
                attempt.result = Ok(received.status);
                if let Some(socket) = &exchange.socket {
                    if O::SHOWS_MESSAGES {
                        socket.begin_transcript();
                    }
                    self.sockets.add(self.context.step, socket);
                }
                let details = self.context.def.reads.headers.then(|| {
                    AnswerDetails::new(
                        self.request,
                        self.transport.base_url(),
                        exchange.redirected_to,
                        received.version,
                        exchange.service_time,
                    )
                });
                let raw = RawResponse {
                    status: received.status,
                    headers: received.headers,
                    body: received.body,
                    events,
                    socket: exchange.socket,
                    details,
                };
                self.deliver_response(raw, left, attempt.requests)
                    .unwrap_or_else(|failure| {
                        attempt.result = Err(failure);
                        None
                    })
            }
            Err(failure) => {
                if attempt.end == AttemptEnd::Settled && self.is_refused(&failure) {
                    attempt.end = AttemptEnd::Refused;
                }
                let pause = self.context.def.retry.as_ref().and_then(|retry| {
                    // Who is told to come back after the end of the load does not.
                    let longest = left.min(self.context.state.plan.graceful_stop);
                    let pause = retry_pause(&failure, attempt.failures, retry)?;
                    match failure.retry_after() {
                        Some(after) => Some(pause.max(after)).filter(|pause| *pause <= longest),
                        None => Some(pause).filter(|pause| *pause <= left),
                    }
                });
                attempt.failures += 1;
                attempt.result = Err(failure);
                pause
            }
        };
        if self.context.def.stream.is_some() {
            self.measure_stream(failed_events.as_deref(), before, attempt);
        }
        pause
    }

    /// Returns whether a `once` step or a setup that this step uses runs again after such a failure.
    fn is_refused(&self, failure: &Failure) -> bool {
        let Some(status) = answered_status(failure) else {
            return false;
        };
        let (definition, step) = (self.context.state.definition, self.context.step);
        let is_source = |def: &StepDef| def.refreshes_on(status);
        let setups = self.chain.used_setups(step);
        setups.iter().any(|setup| setup.refreshes_on(status))
            || definition.steps.iter().any(is_source)
                && !definition.sources(step, is_source).is_empty()
    }

    /// Measures the stream that the last request got, of which what came is left if it `failed`; `before` it, other
    /// requests took so long.
    fn measure_stream(
        &self,
        failed: Option<&EventLog>,
        before: Duration,
        attempt: &mut AttemptSummary,
    ) {
        let StepContext { step, state, .. } = *self.context;
        match state.run_user_code(step, || self.chain.measure_stream(step, failed)) {
            Ok(mut stream) => {
                stream.first_event = stream.first_event.map(|time| before + time);
                attempt.stream = Some(Box::new(stream));
            }
            Err(message) => {
                let words = format!("`first` or `units` panicked: {message}");
                attempt.result = Err(Failure::new(ErrorKind::StepPanic, words));
            }
        }
    }

    /// Hands an answer to the chain. The pause before the next request, where it is not the one that the
    /// step waits for; `left` is the time until the step gives up.
    #[inline]
    fn deliver_response(
        &mut self,
        raw: RawResponse,
        left: Duration,
        requests: u32,
    ) -> Result<Option<Duration>, Failure> {
        let Self { context, chain, .. } = self;
        let StepContext { step, state, .. } = **context;
        let status = raw.status;
        let failed = |kind, message| {
            Err(Failure {
                status: Some(status),
                ..Failure::new(kind, message)
            })
        };
        match state.run_user_code(step, || chain.finish(step, raw)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return failed(error.kind, error.reason),
            Err(message) => return failed(ErrorKind::StepPanic, format!("panicked: {message}")),
        }
        let Some(Until { every, within, .. }) = self.context.def.until else {
            return Ok(None);
        };
        match state.run_user_code(step, || chain.arrived(step)) {
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

/// Sends a request whose answer is a stream of events; `None` where it is to end since the load is over.
async fn send_stream(
    transport: &mut impl Transport,
    call: Call<'_>,
    state: &WorkerState,
) -> Option<Exchange> {
    let begun = Instant::now();
    tokio::select! {
        biased;
        exchange = transport.send(call) => Some(exchange),
        () = state.wait_for_stream_end(begun), if !state.is_tried => None,
    }
}

/// Returns how long a stream is read at most, with success. Where a journey is only tried, no load ends it.
fn stream_limit(stream: &StreamDef, state: &WorkerState) -> Option<Duration> {
    let grace = state.is_tried.then_some(state.plan.graceful_stop);
    grace.into_iter().chain(stream.lasts).min()
}

/// Returns whether a request was not sent, or not to its end, since nothing may be sent any more. Then the load
/// is over: it fails neither its step nor its journey, which are cancelled.
pub(super) fn is_withdrawn(transport: &impl Transport, exchange: &Exchange) -> bool {
    let is_blocked = |failure: &Failure| failure.kind == ErrorKind::GuardBlocked;
    exchange.result.as_ref().is_err_and(is_blocked) && transport.is_withdrawn()
}

/// Counts what was sent of a request that the end of the run cuts off.
struct UnfinishedRequestGuard<'a> {
    unfinished: UnfinishedCall,
    context: &'a StepContext<'a>,
}

impl Drop for UnfinishedRequestGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(unfinished) = self.unfinished.take()
            && unfinished.traffic != Traffic::default()
        {
            self.context.state.with_tally(self.context.window, |tally| {
                let step = &mut tally.steps[self.context.step];
                step.count(unfinished.traffic);
                step.phases.record(&unfinished.phases.of_opening());
            });
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

/// Returns the status that a request failed for.
fn answered_status(failure: &Failure) -> Option<u16> {
    let is_for_status = matches!(failure.kind, ErrorKind::Status | ErrorKind::GraphqlErrors);
    let status = failure.status.filter(|_| is_for_status);
    status.map(|status| status.as_u16())
}

fn matches_trigger(trigger: Trigger, failure: &Failure) -> bool {
    let name = failure.kind.name();
    let family = name.split_once('.').map_or(name, |(family, _)| family);
    match trigger {
        Trigger::Status(range) => {
            answered_status(failure).is_some_and(|status| (range.from..=range.to).contains(&status))
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
    // The transport repeats by itself what the target cannot have begun.
    let first = u32::from(!is_repeated);
    tally.retries += u64::from(exchange.traffic.repeated(first));
    tally.resent += u64::from(exchange.traffic.repeated(1));
    let status = match &exchange.result {
        Ok(received) => Some(received.status),
        Err(failure) => failure.status,
    };
    if let Some(status) = status {
        *tally.statuses.entry(status.as_u16()).or_default() += 1;
    }
    tally.phases.record(&exchange.phases);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::Phases;

    #[test]
    fn what_the_client_sent_again_is_apart_from_what_the_step_repeated() {
        let mut tally = StepTally::default();
        for (requests, is_repeated) in [(2, false), (1, true), (3, true), (1, false)] {
            let traffic = Traffic {
                requests,
                ..Traffic::default()
            };
            let exchange = Exchange {
                result: Err(Failure::new(ErrorKind::ClosedFresh, "")),
                begun: Instant::now(),
                service_time: Duration::ZERO,
                phases: Phases::default(),
                traffic,
                redirected_to: None,
                events: None,
                socket: None,
                hops: None,
                requests: None,
            };
            count_exchange(&mut tally, &exchange, is_repeated);
        }
        assert_eq!((tally.requests, tally.retries, tally.resent), (7, 5, 3));
    }
}
