//! The client of an async step. It sends over the transport of the user, and logs what it sends and what the step
//! measures itself.

use super::iteration::StepContext;
use super::request_log::{
    BoundedWait, EndedOperation, OpenOperation, OwnWaits, PauseGuard, RequestLog,
};
use super::request_loop::is_withdrawn;
use super::step_calls::OpenCalls;
use super::trace::JourneyTrace;
use crate::chain::{
    BegunCall, CallRefusal, EventSource, HttpError, Local, Operation, OperationEnd, RawResponse,
    RequestBuf, StepSender, Tick, WaitError,
};
use crate::redact;
use crate::targets::RequestPass;
use crate::transport::grpc::CallLog;
use crate::transport::{
    Call, Exchange, Failure, OperationTarget, Sockets, Transport, UnfinishedExchange,
};
use http::Uri;
use loadtest_model::definition::{Expect, Reads, StreamDef};
use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// No status is a failure: the step looks at it.
static ANY_STATUS: Expect = Expect::ANY;

/// The ticks of a beat where a journey is only tried.
const SHOWN_TICKS: u64 = 3;

/// The client of an async step.
pub(super) struct StepClient<T> {
    pub(super) transport: T,
    pub(super) timeout: Duration,
    pub(super) redirects: u32,
    /// Each request opens a connection of its own.
    pub(super) new_connections: bool,
    /// The trace of the journey, and the number of requests of the step so far.
    pub(super) trace: Option<JourneyTrace>,
    pub(super) requests: Cell<u32>,
    pub(super) request_log: RequestLog,
    pub(super) calls: OpenCalls,
}

impl<T: Transport> StepClient<T> {
    pub(super) fn new(transport: T, context: &StepContext<'_>, request_log: RequestLog) -> Self {
        Self {
            transport,
            timeout: context.def.timeout,
            redirects: context.def.redirects,
            new_connections: context.def.new_connections,
            trace: context.trace.cloned(),
            requests: Cell::default(),
            request_log,
            calls: OpenCalls::default(),
        }
    }

    /// Returns what ends the step early: the end of the run, and its waits for anything but its operations.
    pub(super) fn limits(&self) -> (Rc<Cell<bool>>, OwnWaits) {
        (self.request_log.cut_off(), self.request_log.waits())
    }

    /// Counts a request that ended, and returns its answer; never where the load is over, since the step is dropped
    /// then.
    pub(super) async fn finish_exchange(
        &self,
        open: OpenOperation<'_>,
        request: &RequestBuf,
        mut exchange: Exchange,
    ) -> Result<RawResponse, HttpError> {
        if let Some(trace) = self.trace.as_ref().and_then(JourneyTrace::kept) {
            let sent = exchange.take_requests();
            trace.add_requests(self.request_log.step, sent, Some(&open.row_name()));
        }
        if is_withdrawn(&self.transport, &exchange) {
            open.unfinished().put(UnfinishedExchange {
                traffic: exchange.traffic,
                phases: exchange.phases,
            });
            return self.request_log.cut_off_step().await;
        }
        open.close_request(request, exchange, self.transport.base_url())
    }

    /// The transport, and what was sent over it.
    pub(super) fn into_parts(self) -> (T, RequestLog) {
        // Calls of which the step has kept the answers.
        for call in self.calls.take_rest() {
            drop(self.request_log.resume(&call));
        }
        (self.transport, self.request_log)
    }
}

impl<T: Transport> StepSender for StepClient<T> {
    fn send<'a>(
        &'a self,
        request: &'a RequestBuf,
        name: Option<&'a str>,
    ) -> Local<'a, Result<RawResponse, HttpError>> {
        Box::pin(async move {
            let open = self.request_log.open_request(request, name);
            let call = Call {
                request,
                expect: &ANY_STATUS,
                reads: Reads {
                    body: true,
                    headers: true,
                },
                timeout: request.timeout.unwrap_or(self.timeout),
                redirects: self.redirects,
                new_connection: self.new_connections,
                unfinished: open.unfinished(),
                trace: (self.trace.as_ref())
                    .map(|trace| trace.call(self.request_log.step, &self.requests)),
                stream: None,
                websocket: None,
                is_graphql: false,
            };
            let exchange = self.transport.send(call).await;
            self.finish_exchange(open, request, exchange).await
        })
    }

    fn open_stream(
        &self,
        request: RequestBuf,
        name: Option<String>,
        def: StreamDef,
    ) -> Result<Box<dyn EventSource + '_>, HttpError> {
        Ok(self.begin_stream(request, name, def))
    }

    fn pause(&self, time: Duration) -> Local<'_, ()> {
        Box::pin(async move {
            let _pause = PauseGuard::begin_pause(&self.request_log);
            // The end of the load does not cut it short: a step that polls would ask at once, and fail.
            tokio::time::sleep(time).await;
        })
    }

    fn bound<'a>(
        &'a self,
        wait: Local<'a, Result<(), Failure>>,
    ) -> Local<'a, Result<(), WaitError>> {
        Box::pin(async move {
            let _bounded = BoundedWait::begin(&self.request_log);
            match timeout(self.timeout, wait).await {
                Ok(ended) => ended.map_err(WaitError::Failed),
                Err(_) => Err(WaitError::TimedOut(self.timeout)),
            }
        })
    }

    fn tick(&self, tick: Tick) -> Local<'_, bool> {
        Box::pin(async move {
            let state = self.request_log.state();
            self.request_log.note_beat();
            if state.is_tried && tick.number >= SHOWN_TICKS {
                return false;
            }
            let left = tick.due.saturating_duration_since(Instant::now());
            let is_overdue = left.is_zero();
            if !is_overdue && state.is_running() {
                let _pause = PauseGuard::begin_pause(&self.request_log);
                state.pause_unless_stopping(left).await;
            }
            // What was waited for begins now: a timer that rings late is no fault of the target.
            self.request_log.begin_from(is_overdue.then_some(tick.due));
            let unsent = state.stopped_at().map(|end| tick.count_before(end));
            self.request_log.count_unsent_ticks(unsent.unwrap_or(0));
            state.is_running()
        })
    }

    fn end_listening(&self) -> Local<'_, ()> {
        Box::pin(async move {
            let log = &self.request_log;
            if !log.state().is_tried {
                log.state().wait_for_stream_end(log.begun()).await;
            } else if log.begun().elapsed() < log.state().plan.graceful_stop {
                // No load ends where a journey is only tried. What waits already goes on to its own deadline.
                std::future::pending::<()>().await;
            }
            // A step with a beat learns of the end by that.
            if !log.has_beat() {
                log.begin_cut_off();
            }
            std::future::pending::<()>().await;
        })
    }

    fn count_check(&self, name: &str, holds: bool) {
        self.request_log.count_check(name, holds);
    }

    fn begin_operation<'a>(
        &'a self,
        name: &'a str,
        target: OperationTarget<'a>,
    ) -> Local<'a, Result<Box<dyn Operation + 'a>, Failure>> {
        Box::pin(async move {
            let open = self.request_log.open_row(redact::redact_row_name(name));
            let sockets = self.transport.sockets();
            let admitted = sockets.map(|sockets| sockets.admit_operation(target));
            match admitted.unwrap_or_else(|| Ok(Vec::new())) {
                Ok(passes) => Ok(Box::new(StepOperation {
                    begun: Instant::now(),
                    timeout: self.timeout,
                    sockets,
                    open,
                    _passes: passes,
                }) as Box<dyn Operation>),
                Err(_) if self.transport.is_withdrawn() => self.request_log.cut_off_step().await,
                Err(failure) => {
                    open.close(EndedOperation::failed(failure.clone()));
                    Err(failure)
                }
            }
        })
    }

    fn sockets(&self) -> Option<&Sockets> {
        self.transport.sockets()
    }

    fn begin_call(&self, uri: &Uri) -> Result<BegunCall, CallRefusal> {
        self.open_call(uri)
    }

    fn poll_stream_end(
        &self,
        number: u64,
        has_messages: bool,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let state = self.request_log.state();
        if !has_messages && !state.is_tried {
            // It may be a call with one answer, which has all of its time, and is cancelled then.
            return Poll::Pending;
        }
        ready!(self.calls.poll_stream_end(number, state, context));
        self.request_log.note_end_told();
        Poll::Ready(())
    }

    fn end_call(&self, number: u64, log: &mut CallLog) {
        self.close_call(number, log);
    }

    fn drive(&self, mut connection: Local<'static, Option<String>>) {
        let (state, step) = (Rc::clone(self.request_log.state()), self.request_log.step);
        let guarded = poll_fn(move |context| {
            let polled = state.run_user_code(step, || connection.as_mut().poll(context));
            polled.unwrap_or_else(|message| Poll::Ready(Some(format!("panicked: {message}"))))
        });
        if let Some(sockets) = self.sockets() {
            sockets.drive(guarded);
        }
    }
}

/// An operation of a client of the step's own.
struct StepOperation<'a> {
    begun: Instant,
    /// That of the requests of the step.
    timeout: Duration,
    sockets: Option<&'a Sockets>,
    open: OpenOperation<'a>,
    _passes: Vec<RequestPass>,
}

impl Operation for StepOperation<'_> {
    fn timeout(&self) -> Duration {
        self.timeout
    }

    fn finish(self: Box<Self>, end: OperationEnd) -> Option<String> {
        let OperationEnd {
            mut failure,
            phases,
            mut traffic,
            at,
        } = end;
        let ended_at = at.unwrap_or_else(Instant::now);
        let time = ended_at.saturating_duration_since(self.begun);
        // It counts as a request to the target.
        traffic.requests = 1;
        let mut lost = None;
        if let Some(sockets) = self.sockets {
            traffic += sockets.take_traffic();
            // What the next one succeeds without is told by one that fails.
            if let Some(failure) = &mut failure {
                lost = sockets.take_lost();
                if let Some(lost) = &lost {
                    failure.message = format!("{}; {lost}", failure.message);
                }
            }
        }
        self.open.close(EndedOperation {
            time,
            ended_at,
            status: None,
            failure,
            traffic,
            phases,
            stream: None,
            messages: None,
        });
        lost
    }
}
