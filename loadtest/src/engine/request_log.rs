//! The log of the requests and other operations of an async step, so that the step is one sample and each of their names
//! a row.

use super::control::RunPhase;
use super::iteration::{SampledJourney, SampledRequest, StepContext};
use super::request_tally::{FinishedOperation, FinishedStream, WindowTraffic};
use super::samples::SampledTraffic;
use super::step_failure::FailedOperation;
use super::step_stream::Arrivals;
use super::worker_state::WorkerState;
use crate::chain::{HttpError, RawResponse, RequestBuf, RequestTarget};
use crate::redact;
use crate::transport::grpc::ShownCall;
use crate::transport::{
    AnswerDetails, Exchange, Failure, Received, UnfinishedCall, UnfinishedExchange, graphql,
};
use loadtest_model::metrics::{ErrorKind, Phases, Traffic};
use loadtest_model::metrics::{MessageCounts, OTHERS, StreamSample, fold_ids};
use loadtest_model::schedule::Window;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The most ended operations that are held back until a step is over: of the last one, the end of the step may say more.
const MAX_HELD_OPERATIONS: usize = 1;
/// The same of a step with streams, of which each fails later if the step cannot read one of its events.
const MAX_HELD_WITH_STREAMS: usize = 256;
/// The most distinct request names in one run of a step.
const MAX_ROWS: usize = 1_000;
/// The most after these, each of names that differ only in ids. All further names have one row.
const MAX_FOLDED_ROWS: usize = 8;

/// The requests and other operations of an async step. They are tallied when this is dropped, so that a step which the
/// end of the run cuts off counts too.
pub(super) struct RequestLog {
    log: RefCell<RequestEntries>,
    state: Rc<WorkerState>,
    window: Window,
    pub(super) step: usize,
    /// The journey, if it leaves raw samples.
    sampled: Option<SampledJourney>,
    /// Set where a request is refused since the load is over: the step is dropped then.
    cut_off: Rc<Cell<bool>>,
}

/// The log entries of an async step.
#[derive(Default)]
pub(super) struct RequestEntries {
    /// The time at which the first operation was ready to begin.
    pub(super) first: Option<Instant>,
    /// The time at which the last operation ended.
    last: Option<Instant>,
    /// The overdue tick from which operations count that begin before one of them has ended.
    due: Option<Instant>,
    /// All operations.
    pub(super) count: u32,
    /// True if a stream ended for the step since the load is over.
    pub(super) was_told_of_end: bool,
    /// Operations under way.
    open: u32,
    /// Pauses under way.
    pauses: u32,
    /// Waits with a deadline of their own under way, which are neither.
    bounded: u32,
    /// The last change of one of these two numbers.
    changed: Option<Instant>,
    waits: OwnWaits,
    /// Pauses between the first and the last operation, while none was under way.
    paused: Duration,
    /// Such pauses since the last operation.
    pausing: Duration,
    /// All such pauses.
    pub(super) rested: Duration,
    /// What was sent and received, in the order of [`Window::ALL`].
    pub(super) traffic: [WindowTraffic; 3],
    /// Bytes that were received in the measured part.
    pub(super) measured_bytes: u64,
    /// The parts of the times of its operations, where one has such parts.
    phases: Option<Box<Phases>>,
    pub(super) rows: Vec<String>,
    pub(super) finished: Vec<FinishedOperation>,
    /// The operations that are counted already, and so no more among these.
    pub(super) counted: usize,
    /// What was measured of answers that were read as streams of events.
    pub(super) streams: Vec<FinishedStream>,
    /// Ticks that were overdue when the load ended.
    pub(super) unsent_ticks: u64,
    /// True once the step has waited for a tick.
    has_beat: bool,
    /// Checks that passed and that failed.
    pub(super) checks: (u64, u64),
    /// The first check that failed, in words.
    pub(super) problem: Option<String>,
    /// The failure of the operation that ended last.
    pub(super) failure: Option<Failure>,
    /// The last failure of a gRPC call for each code that its client sees.
    pub(super) failed_calls: Vec<(u16, Failure)>,
    /// The number of operations that are kept to be shown: the last ones.
    keeps: usize,
    pub(super) shown: VecDeque<ShownOperation>,
}

/// An operation of a step that is shown to its author, with its row.
pub(super) enum ShownOperation {
    Request(usize, Box<(RequestBuf, Exchange)>),
    Call(usize, Box<EndedCall>),
    Own {
        row: usize,
        time: Duration,
        failure: Option<Failure>,
    },
}

/// A gRPC call that is shown.
pub(crate) struct EndedCall {
    pub(crate) url: String,
    pub(crate) time: Duration,
    pub(crate) phases: Phases,
    /// That of success; none of one that the step has left.
    pub(crate) code: Option<u16>,
    pub(crate) failure: Option<Failure>,
    pub(crate) messages: MessageCounts,
    pub(crate) shown: ShownCall,
}

/// The wait of a step for anything but its operations and its pauses, which have deadlines of their own.
#[derive(Clone, Default)]
pub(super) struct OwnWaits {
    /// The start of the wait under way.
    since: Rc<Cell<Option<Instant>>>,
}

impl OwnWaits {
    /// Begins with the step.
    pub(super) fn begin(&self) {
        self.since.set(Some(Instant::now()));
    }

    /// Returns when one wait has lasted for `limit`.
    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` has room for its arguments twice"
    )]
    pub(super) fn exceed(&self, limit: Duration) -> impl Future<Output = ()> {
        async move {
            loop {
                let now = Instant::now();
                let due = self.since.get().map(|since| since + limit);
                if due.is_some_and(|due| due <= now) {
                    return;
                }
                tokio::time::sleep_until(due.unwrap_or(now + limit)).await;
            }
        }
    }
}

/// What became of an operation.
pub(super) struct EndedOperation {
    pub(super) time: Duration,
    pub(super) ended_at: Instant,
    /// That of success, if it has one.
    pub(super) status: Option<u16>,
    pub(super) failure: Option<Failure>,
    pub(super) traffic: Traffic,
    pub(super) phases: Phases,
    /// What was measured of a stream of messages.
    pub(super) stream: Option<StreamSample>,
    /// The messages of a call.
    pub(super) messages: Option<MessageCounts>,
}

impl EndedOperation {
    /// One that failed before it began.
    pub(super) fn failed(failure: Failure) -> Self {
        Self {
            time: Duration::ZERO,
            ended_at: Instant::now(),
            status: None,
            failure: Some(failure),
            traffic: Traffic::default(),
            phases: Phases::default(),
            stream: None,
            messages: None,
        }
    }
}

/// A request on its way, or another operation. One that the step drops is counted as well.
pub(super) struct OpenOperation<'a> {
    request_log: &'a RequestLog,
    row: usize,
    start: Instant,
    /// From the instant at which it was due to its start.
    delay: Duration,
    /// What a request that is dropped has sent; other operations have none.
    unfinished: UnfinishedCall,
    /// What came of its answer, if that is read as a stream of events.
    arrivals: Option<Rc<Arrivals>>,
    is_closed: bool,
}

/// An operation under way that is not tied to its log. It has to be [resumed](RequestLog::resume).
pub(super) struct HeldOperation {
    row: usize,
    start: Instant,
    delay: Duration,
}

impl HeldOperation {
    /// The time at which it began.
    pub(super) fn start(&self) -> Instant {
        self.start
    }
}

/// A wait that is no operation, and has a deadline of its own.
pub(super) struct BoundedWait<'a>(&'a RequestLog);

/// A pause; one that the step drops is none of its latency either.
pub(super) struct PauseGuard<'a>(&'a RequestLog);

impl RequestLog {
    /// Makes the log of a step, which keeps its last `keeps` exchanges.
    pub(super) fn new(context: &StepContext<'_>, keeps: usize) -> Self {
        let StepContext {
            step,
            window,
            state,
            sampled,
            ..
        } = *context;
        Self {
            log: RefCell::new(RequestEntries {
                keeps,
                ..RequestEntries::default()
            }),
            state: Rc::clone(state),
            window,
            step,
            sampled,
            cut_off: Rc::default(),
        }
    }

    /// Says whether the step is to be dropped, for whoever polls it.
    pub(super) fn cut_off(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.cut_off)
    }

    pub(super) fn entries(&mut self) -> &mut RequestEntries {
        self.log.get_mut()
    }

    /// Returns the waits of the step for anything but its requests and pauses.
    pub(super) fn waits(&self) -> OwnWaits {
        self.log.borrow().waits.clone()
    }

    /// The worker of the step.
    pub(super) fn state(&self) -> &Rc<WorkerState> {
        &self.state
    }

    /// Ends the load, and has the step dropped: nothing may be sent any more.
    pub(super) async fn cut_off_step<R>(&self) -> R {
        self.begin_cut_off();
        std::future::pending().await
    }

    /// Ends the load, and has the step dropped as soon as it waits.
    pub(super) fn begin_cut_off(&self) {
        self.state.advance_phase(RunPhase::Stopping);
        self.cut_off.set(true);
    }

    /// Returns whether the end of the run drops the step.
    pub(super) fn is_cut_off(&self) -> bool {
        self.state.is_aborting() || self.cut_off.get()
    }

    /// Returns whether operations are shown.
    pub(super) fn is_shown(&self) -> bool {
        self.log.borrow().keeps > 0
    }

    /// The name of the row of an operation.
    pub(super) fn name_of(&self, operation: &HeldOperation) -> String {
        self.log.borrow().rows[operation.row].clone()
    }

    /// Returns an operation that was held.
    pub(super) fn resume(&self, held: &HeldOperation) -> OpenOperation<'_> {
        OpenOperation {
            request_log: self,
            row: held.row,
            start: held.start,
            delay: held.delay,
            unfinished: UnfinishedCall::default(),
            arrivals: None,
            is_closed: false,
        }
    }

    /// Fails a stream that ended as the operation with this number, of which the step cannot read an event.
    pub(super) fn fail_finished(&self, number: usize, failure: &Failure) {
        let log = &mut *self.log.borrow_mut();
        let at = number.checked_sub(log.counted);
        let Some(ended) = at.and_then(|at| log.finished.get_mut(at)) else {
            return;
        };
        ended.result = Err(failure.into());
        let mut streams = log.streams.iter_mut().rev();
        if let Some(stream) = streams.find(|stream| stream.row == ended.row) {
            stream.is_ok = false;
        }
    }

    /// What begins before it has ended counts from `due` on, an overdue tick, else from its own begin.
    pub(super) fn begin_from(&self, due: Option<Instant>) {
        self.log.borrow_mut().due = due;
    }

    /// The time at which the first operation of the step was ready to begin.
    pub(super) fn begun(&self) -> Instant {
        self.log.borrow().first.unwrap_or_else(Instant::now)
    }

    /// Notes that the step was told by the end of a stream that the load is over; a journey that is only tried has none.
    pub(super) fn note_end_told(&self) {
        self.log.borrow_mut().was_told_of_end = !self.state.is_tried;
    }

    /// Notes that the step waits for ticks of a beat, which end with the load.
    pub(super) fn note_beat(&self) {
        self.log.borrow_mut().has_beat = true;
    }

    /// Returns whether the step has waited for ticks of a beat.
    pub(super) fn has_beat(&self) -> bool {
        self.log.borrow().has_beat
    }

    /// Counts ticks of a beat that were overdue when the load ended.
    pub(super) fn count_unsent_ticks(&self, count: u64) {
        self.log.borrow_mut().unsent_ticks += count;
    }

    pub(super) fn count_check(&self, name: &str, holds: bool) {
        let log = &mut *self.log.borrow_mut();
        if holds {
            log.checks.0 += 1;
        } else {
            log.checks.1 += 1;
            log.problem
                .get_or_insert_with(|| format!("check `{name}` failed"));
        }
    }

    pub(super) fn open_request(
        &self,
        request: &RequestBuf,
        name: Option<&str>,
    ) -> OpenOperation<'_> {
        self.open_row(name.map_or_else(|| row_name(request), redact::redact_row_name))
    }

    /// Begins an operation that counts in the row `name`.
    pub(super) fn open_row(&self, name: String) -> OpenOperation<'_> {
        let start = Instant::now();
        let mut log = self.log.borrow_mut();
        let row = log.row_index(name);
        log.begin_operation(start);
        let due = log.due.unwrap_or(start);
        OpenOperation {
            request_log: self,
            row,
            start,
            delay: start.saturating_duration_since(due),
            unfinished: UnfinishedCall::default(),
            arrivals: None,
            is_closed: false,
        }
    }

    /// Begins a request whose answer is read as a stream of events.
    pub(super) fn open_stream(
        &self,
        request: &RequestBuf,
        name: Option<&str>,
        arrivals: &Rc<Arrivals>,
    ) -> OpenOperation<'_> {
        let mut open = self.open_request(request, name);
        open.arrivals = Some(Rc::clone(arrivals));
        open
    }
}

impl Drop for RequestLog {
    fn drop(&mut self) {
        let log = self.log.get_mut();
        log.tally(&self.state, (self.step, self.window));
    }
}

impl RequestEntries {
    /// The number of the row with this name, or of the one for what has no row of its own.
    fn row_index(&mut self, name: String) -> usize {
        let find = |rows: &[String], name: &str| rows.iter().position(|row| row == name);
        find(&self.rows, &name).unwrap_or_else(|| {
            let rows = self.rows.len();
            let folded = (rows >= MAX_ROWS).then(|| fold_ids(&name)).flatten();
            let name = match folded {
                _ if rows < MAX_ROWS => name,
                Some(folded) if rows < MAX_ROWS + MAX_FOLDED_ROWS => folded,
                Some(folded) if find(&self.rows, &folded).is_some() => folded,
                _ => OTHERS.to_owned(),
            };
            find(&self.rows, &name).unwrap_or_else(|| {
                self.rows.push(name);
                rows
            })
        })
    }

    fn finish_stream(&mut self, row: usize, window: Window, is_ok: bool, sample: StreamSample) {
        self.streams.push(FinishedStream {
            row,
            window,
            is_ok,
            sample,
            measured_units: 0,
        });
    }

    fn begin_operation(&mut self, now: Instant) {
        self.update_pauses(now);
        let pausing = std::mem::take(&mut self.pausing);
        if self.first.is_some() {
            self.paused += pausing;
        }
        self.first.get_or_insert(now);
        self.failure = None;
        self.count += 1;
        self.open += 1;
        self.waits.since.set(None);
    }

    fn end_operation(&mut self, now: Instant) {
        // One that ended before it was counted may have ended before another began.
        let now = self.changed.map_or(now, |changed| changed.max(now));
        self.update_pauses(now);
        self.last = Some(now);
        self.open -= 1;
        self.due = None;
        self.resume_wait(now);
    }

    /// Begins a wait of the step, if nothing is under way that ends by itself.
    fn resume_wait(&mut self, now: Instant) {
        if self.open == 0 && self.pauses == 0 && self.bounded == 0 {
            self.waits.since.set(Some(now));
        }
    }

    /// Something begins or ends: what passed since the last time was a pause, if no operation was under
    /// way.
    fn update_pauses(&mut self, now: Instant) {
        let since = self.changed.replace(now);
        if let (0, 1.., Some(since)) = (self.open, self.pauses, since) {
            self.pausing += now - since;
            self.rested += now - since;
            // A pause is part of no latency.
            self.due = self.due.map(|due| due + (now - since));
        }
    }

    /// From the first operation to the end of the last one, less the pauses between them; `None` where
    /// the step had none.
    pub(super) fn service(&self) -> Option<Duration> {
        let (first, last) = (self.first?, self.last?);
        Some((last - first).saturating_sub(self.paused))
    }

    /// Returns the parts of the times of its operations.
    pub(super) fn phases(&self) -> Phases {
        self.phases.as_deref().copied().unwrap_or_default()
    }

    fn add_phases(&mut self, more: Phases) {
        if more == Phases::default() {
            return;
        }
        let sum = self.phases.get_or_insert_default();
        for (sum, more) in [
            (&mut sum.connect, more.connect),
            (&mut sum.tls, more.tls),
            (&mut sum.stream_wait, more.stream_wait),
            (&mut sum.upload, more.upload),
            (&mut sum.first_byte, more.first_byte),
            (&mut sum.body, more.body),
        ] {
            if let Some(more) = more {
                *sum.get_or_insert_default() += more;
            }
        }
    }

    fn show(&mut self, operation: ShownOperation) {
        if self.shown.len() == self.keeps {
            self.shown.pop_front();
        }
        self.shown.push_back(operation);
    }

    /// Counts what passed over connections of the step's own besides its operations.
    ///
    /// Of the time that it took, this `share` lies in the measured part.
    pub(super) fn add_traffic(&mut self, window: Window, traffic: Traffic, share: f64) {
        self.traffic[window as usize].sum += traffic;
        self.measured_bytes += (traffic.received_bytes as f64 * share).round() as u64;
    }

    /// The time at which the last operation ended.
    pub(super) fn ended_at(&self) -> Option<Instant> {
        self.last
    }

    /// Returns whether a request was written to a connection.
    pub(super) fn has_sent(&self) -> bool {
        self.traffic.iter().any(|traffic| traffic.sum.requests > 0)
    }

    /// Returns what was measured in `window` of the stream that is all that the step sent for.
    pub(super) fn only_stream(&self, window: Window) -> Option<&StreamSample> {
        let mut streams = self.streams.iter().filter(|_| self.count == 1);
        let found = streams.find(|stream| stream.window == window);
        found.map(|stream| &stream.sample)
    }

    /// Returns what was sent and received, for a raw sample.
    pub(super) fn sampled_traffic(&self) -> SampledTraffic {
        let mut sum = Traffic::default();
        for traffic in &self.traffic {
            sum += traffic.sum;
        }
        SampledTraffic::new(sum, &self.phases())
    }
}

impl OpenOperation<'_> {
    /// The window that the operation counts in.
    fn window(&self) -> Window {
        let RequestLog {
            state,
            step,
            window,
            ..
        } = self.request_log;
        if state.definition.steps[*step].runs_once_per_user() {
            return *window;
        }
        state.sample_window(*window, self.start - self.delay)
    }

    /// Keeps what was measured of its answer, each event for the window in which it came.
    fn finish_stream(&self, log: &mut RequestEntries, mut sample: StreamSample, is_ok: bool) {
        let state = &self.request_log.state;
        let measured_units = state.measured_units(&sample, self.start);
        let mut window = self.window();
        let mut at = self.start;
        let mut is_begun = false;
        while window != Window::Steady
            && let Some(end) = state.window_end(at)
        {
            let rest = sample.split_off(end.saturating_duration_since(self.start));
            let rest = rest.unwrap_or_default();
            let begun = std::mem::replace(&mut sample, rest);
            if begun != StreamSample::default() {
                log.finish_stream(self.row, window, is_ok, begun);
                is_begun = true;
            }
            at = end;
            window = state.sample_window(window, at);
        }
        if sample != StreamSample::default() {
            log.finish_stream(self.row, window, is_ok, sample);
        } else if !is_begun {
            // One without events counts where it began.
            log.finish_stream(self.row, self.window(), is_ok, sample);
        }
        // With the last part: that is the one which fails later, if one does.
        if let Some(last) = log.streams.last_mut() {
            last.measured_units = measured_units;
        }
    }

    /// Keeps the raw sample of a request that ended.
    fn keep_sample(
        &self,
        time: Duration,
        (status, error): (Option<u16>, Option<ErrorKind>),
        traffic: SampledTraffic,
    ) {
        let log = self.request_log;
        let (Some(journey), Some(samples)) = (log.sampled, &log.state.samples) else {
            return;
        };
        let request = SampledRequest {
            name: &log.log.borrow().rows[self.row],
            begun: self.start,
            time,
            status,
            error,
            traffic,
        };
        journey.keep_request(samples, (log.step, self.window()), request);
    }

    /// The cell that takes what was sent if the request is dropped.
    pub(super) fn unfinished(&self) -> &UnfinishedCall {
        &self.unfinished
    }

    /// The name of its row.
    pub(super) fn row_name(&self) -> String {
        self.request_log.log.borrow().rows[self.row].clone()
    }

    /// Lets go of the operation, which goes on.
    pub(super) fn hold(mut self) -> HeldOperation {
        self.is_closed = true;
        HeldOperation {
            row: self.row,
            start: self.start,
            delay: self.delay,
        }
    }

    /// Counts a gRPC call to `url`, which has ended.
    pub(super) fn close_call(
        mut self,
        ended: EndedOperation,
        url: String,
        shown: Option<Box<ShownCall>>,
    ) {
        if !self.count(&ended) {
            return;
        }
        let call = EndedCall {
            url,
            time: ended.time,
            phases: ended.phases,
            code: ended.status,
            failure: ended.failure,
            messages: ended.messages.unwrap_or_default(),
            shown: shown.map(|shown| *shown).unwrap_or_default(),
        };
        let log = &mut *self.request_log.log.borrow_mut();
        log.show(ShownOperation::Call(self.row, Box::new(call)));
    }

    /// Counts the operation, which has ended.
    pub(super) fn close(mut self, ended: EndedOperation) {
        let shown = self.count(&ended);
        if shown {
            let log = &mut *self.request_log.log.borrow_mut();
            log.show(ShownOperation::Own {
                row: self.row,
                time: ended.time,
                failure: ended.failure,
            });
        }
    }

    /// Counts the operation, and returns whether it is to be shown.
    fn count(&mut self, ended: &EndedOperation) -> bool {
        self.is_closed = true;
        let failure = ended.failure.as_ref();
        let outcome = match failure {
            None => (ended.status, None),
            Some(failure) => (failure.status_number(), Some(failure.kind)),
        };
        let traffic = SampledTraffic::new(ended.traffic, &ended.phases);
        self.keep_sample(ended.time, outcome, traffic);
        let log = &mut *self.request_log.log.borrow_mut();
        log.end_operation(ended.ended_at);
        let timed_out = failure.is_some_and(|failure| failure.kind.is_timeout());
        let arrivals = self.arrivals.as_ref();
        let arrivals = arrivals.filter(|arrivals| timed_out || arrivals.opened().is_some());
        let stream = arrivals.map(|arrivals| arrivals.sample());
        let stream = stream.or_else(|| ended.stream.clone());
        let window = self.window();
        let state = &self.request_log.state;
        let share = state.measured_share(self.start, ended.ended_at);
        log.add_traffic(window, ended.traffic, share);
        log.traffic[window as usize].retries += ended.traffic.repeated(1);
        log.add_phases(ended.phases);
        if let Some(stream) = stream {
            self.finish_stream(log, stream, failure.is_none());
        }
        let most_held = if log.streams.is_empty() {
            MAX_HELD_OPERATIONS
        } else {
            MAX_HELD_WITH_STREAMS
        };
        if log.finished.len() >= most_held {
            let RequestLog {
                state,
                step,
                window,
                ..
            } = self.request_log;
            log.tally_finished(state, (*step, *window));
        }
        if let Some(arrivals) = &self.arrivals {
            arrivals
                .finished
                .set(Some(log.counted + log.finished.len()));
        }
        if log.finished.capacity() == 0 {
            // Each of many users holds one.
            log.finished.reserve_exact(MAX_HELD_OPERATIONS);
        }
        log.finished.push(FinishedOperation {
            row: self.row,
            window,
            time: self.delay + ended.time,
            result: failure.map_or(Ok(ended.status), |failure| Err(failure.into())),
            messages: ended.messages,
            is_measured: state.is_measured_at(ended.ended_at),
        });
        log.failure.clone_from(&ended.failure);
        if let (Some(_), Some(failure)) = (ended.messages, failure) {
            log.keep_failed_call(failure);
        }
        log.keeps > 0
    }

    pub(super) fn close_request(
        mut self,
        request: &RequestBuf,
        exchange: Exchange,
        base: Option<&Arc<str>>,
    ) -> Result<RawResponse, HttpError> {
        let failure = match &exchange.result {
            Ok(received) if request.is_graphql => graphql_failure(received),
            result => result.as_ref().err().cloned(),
        };
        let ended = EndedOperation {
            time: exchange.service_time,
            ended_at: Instant::now(),
            status: (exchange.result.as_ref().ok()).map(|answer| answer.status.as_u16()),
            failure,
            traffic: exchange.traffic,
            phases: exchange.phases,
            stream: None,
            messages: None,
        };
        let is_shown = self.count(&ended);
        let answer = match &exchange.result {
            Ok(received) => Ok(RawResponse {
                status: received.status,
                headers: received.headers.clone(),
                body: received.body.clone(),
                events: None,
                socket: None,
                details: Some(AnswerDetails::new(
                    request,
                    base,
                    exchange.redirected_to.clone(),
                    received.version,
                    exchange.service_time,
                )),
            }),
            Err(failure) => Err(HttpError::new(failure.kind.name(), failure.message.clone())),
        };
        if is_shown {
            let request = RequestBuf {
                method: request.method.clone(),
                target: request.target.clone(),
                headers: request.headers.clone(),
                body: request.body.clone(),
                timeout: request.timeout,
                ..RequestBuf::default()
            };
            let log = &mut *self.request_log.log.borrow_mut();
            log.show(ShownOperation::Request(
                self.row,
                Box::new((request, exchange)),
            ));
        }
        answer
    }
}

/// The failure of an answer of GraphQL that has errors.
fn graphql_failure(received: &Received) -> Option<Failure> {
    let errors = graphql::describe_errors_in(&received.body)?;
    Some(Failure {
        status: Some(received.status),
        ..Failure::new(ErrorKind::GraphqlErrors, errors)
    })
}

impl Drop for OpenOperation<'_> {
    fn drop(&mut self) {
        if self.is_closed {
            return;
        }
        let now = Instant::now();
        let unfinished = self.unfinished.take().unwrap_or_default();
        let UnfinishedExchange { traffic, phases } = *unfinished;
        // A step may leave a stream when it has seen enough.
        let opened = self
            .arrivals
            .as_ref()
            .and_then(|arrivals| arrivals.opened());
        let is_over = !self.request_log.state.is_aborting() && !self.request_log.cut_off.get();
        let is_failure = is_over && opened.is_none();
        if is_failure {
            let sampled = SampledTraffic::new(traffic, &phases);
            self.keep_sample(
                now - self.start,
                (None, Some(ErrorKind::StepError)),
                sampled,
            );
        }
        let log = &mut *self.request_log.log.borrow_mut();
        log.end_operation(now);
        let window = self.window();
        let state = &self.request_log.state;
        let share = state.measured_share(self.start, now);
        log.add_traffic(window, traffic, share);
        log.add_phases(if is_over { phases } else { phases.of_opening() });
        if let (true, Some(status)) = (is_over, opened) {
            let arrivals = self.arrivals.as_ref();
            let failure = arrivals.and_then(|arrivals| arrivals.take_failure());
            let stream = arrivals.map(|arrivals| arrivals.sample_of_taken());
            if let Some(stream) = stream {
                self.finish_stream(log, stream, failure.is_none());
            }
            log.finished.push(FinishedOperation {
                row: self.row,
                window,
                time: self.delay + (now - self.start),
                result: match &failure {
                    None => Ok(Some(status.as_u16())),
                    Some(failure) => Err(failure.into()),
                },
                messages: None,
                is_measured: state.is_measured_at(now),
            });
        }
        // What the end of the run cuts off has not failed.
        if is_failure {
            log.finished.push(FinishedOperation {
                row: self.row,
                window,
                time: self.delay + (now - self.start),
                result: Err(FailedOperation {
                    kind: ErrorKind::StepError,
                    status: None,
                    message: "the step dropped it before it was answered".to_owned(),
                }),
                messages: None,
                is_measured: state.is_measured_at(now),
            });
        }
    }
}

impl<'a> BoundedWait<'a> {
    pub(super) fn begin(request_log: &'a RequestLog) -> Self {
        let mut log = request_log.log.borrow_mut();
        log.bounded += 1;
        log.waits.since.set(None);
        Self(request_log)
    }
}

impl Drop for BoundedWait<'_> {
    fn drop(&mut self) {
        let mut log = self.0.log.borrow_mut();
        log.bounded -= 1;
        log.resume_wait(Instant::now());
    }
}

impl<'a> PauseGuard<'a> {
    pub(super) fn begin_pause(request_log: &'a RequestLog) -> Self {
        let mut log = request_log.log.borrow_mut();
        log.update_pauses(Instant::now());
        log.pauses += 1;
        log.waits.since.set(None);
        Self(request_log)
    }
}

impl Drop for PauseGuard<'_> {
    fn drop(&mut self) {
        let now = Instant::now();
        let mut log = self.0.log.borrow_mut();
        log.update_pauses(now);
        log.pauses -= 1;
        log.resume_wait(now);
    }
}

/// Returns method and path, with `{}` for segments that look like ids. The query is left out: it may hold
/// secrets.
fn row_name(request: &RequestBuf) -> String {
    let (origin, path) = match &request.target {
        RequestTarget::Path(path) => (String::new(), path.path()),
        RequestTarget::Absolute(url) => {
            let host = url.host().unwrap_or_default();
            let port = url.port().map(|port| format!(":{port}"));
            (format!("{host}{}", port.unwrap_or_default()), url.path())
        }
    };
    let path: Vec<&str> = path
        .split('/')
        .map(|segment| {
            if looks_like_id(segment) {
                "{}"
            } else {
                segment
            }
        })
        .collect();
    redact::redact_row_name(&format!("{} {origin}{}", request.method, path.join("/")))
}

/// Returns whether a segment holds a digit and is not a version such as `v1`.
fn looks_like_id(segment: &str) -> bool {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_version = segment
        .strip_prefix('v')
        .is_some_and(|number| number.len() <= 2 && is_digits(number));
    !is_version && segment.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(url: &str) -> String {
        let mut request = RequestBuf::default();
        request.url(url).unwrap();
        row_name(&request)
    }

    #[test]
    fn a_step_that_never_ends_tells_a_bounded_number_of_names_apart() {
        let mut log = RequestEntries::default();
        for i in 0..2_000 {
            let row = log.row_index(format!("GET /{i}"));
            assert_eq!(row, i.min(MAX_ROWS));
        }
        assert_eq!(log.rows.len(), MAX_ROWS + 1);
        assert_eq!(log.rows[MAX_ROWS], "GET /{..}");
        assert_eq!(log.row_index("GET /17".to_owned()), 17);
        let last = MAX_ROWS + MAX_FOLDED_ROWS;
        for i in 1..20 {
            let row = log.row_index(format!("GET /{}{i}", "x".repeat(i)));
            assert_eq!(row, (MAX_ROWS + i).min(last));
        }
        assert_eq!(log.rows[last], OTHERS);
        assert_eq!(log.row_index("status".to_owned()), last);
        assert_eq!(log.row_index("GET /2000".to_owned()), MAX_ROWS);
    }

    #[test]
    fn ids_and_queries_are_no_part_of_a_name() {
        for (url, name) in [
            ("/orders/17", "GET /orders/{}"),
            ("/v1/orders/a7f3/lines?token=x", "GET /v1/orders/{}/lines"),
            ("/", "GET /"),
            ("/value1/v/v123", "GET /{}/v/{}"),
            ("http://127.0.0.1:81/a/1?b", "GET 127.0.0.1:81/a/{}"),
            ("http://user:pass@127.0.0.1/a", "GET 127.0.0.1/a"),
        ] {
            assert_eq!(named(url), name);
        }
        assert_eq!(named(&format!("/{}", "a".repeat(200))).chars().count(), 101);
    }
}
