//! The gRPC calls of an async step that are under way.

use super::request_log::{EndedOperation, HeldOperation};
use super::step_client::StepClient;
use super::trace::JourneyTrace;
use super::worker_state::WorkerState;
use crate::chain::{BegunCall, CallRefusal, Local};
use crate::redact;
use crate::transport::grpc::{CallLog, CallTarget};
use crate::transport::{ErrorKind, Failure, SentRequest, Transport, UnfinishedExchange};
use http::{Method, StatusCode, Uri};
use loadtest_model::metrics::{MessageCounts, StreamSample, Traffic};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::time::Instant;

thread_local! {
    /// The number of the next call: an answer that outlives its step is none of another one.
    static NEXT_CALL: Cell<u64> = const { Cell::new(0) };
}

/// The calls of a step that are under way.
#[derive(Default)]
pub(super) struct OpenCalls(RefCell<Vec<OpenCall>>);

/// A call under way.
struct OpenCall {
    number: u64,
    operation: HeldOperation,
    target: CallTarget,
    /// Its number among the requests of the step, where these are traced.
    request: Option<u32>,
    /// Ready when it is to end since the load is over; made when it is waited for.
    over: Option<Local<'static, ()>>,
}

impl OpenCalls {
    fn take(&self, number: u64) -> Option<OpenCall> {
        let mut calls = self.0.borrow_mut();
        let at = calls.iter().position(|call| call.number == number)?;
        Some(calls.swap_remove(at))
    }

    /// Ready when a call that is read as a stream is to end, since the load is over.
    pub(super) fn poll_stream_end(
        &self,
        number: u64,
        state: &Rc<WorkerState>,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let mut calls = self.0.borrow_mut();
        let Some(call) = calls.iter_mut().find(|call| call.number == number) else {
            return Poll::Pending;
        };
        let begun = call.operation.start();
        let over = call.over.get_or_insert_with(|| {
            let state = Rc::clone(state);
            Box::pin(async move { state.wait_for_stream_end(begun).await })
        });
        over.as_mut().poll(context)
    }

    /// Takes those that nobody has ended.
    pub(super) fn take_rest(&self) -> impl Iterator<Item = HeldOperation> {
        self.0.take().into_iter().map(|call| call.operation)
    }
}

impl<T: Transport> StepClient<T> {
    /// Begins a call to `uri`.
    pub(super) fn open_call(&self, uri: &Uri) -> Result<BegunCall, CallRefusal> {
        let name = uri.path().trim_start_matches('/');
        let open = self.request_log.open_row(redact::redact_row_name(name));
        let admitted = self.admit_call(uri);
        let (target, pass) = match admitted {
            Ok(admitted) => admitted,
            Err(_) if self.transport.is_withdrawn() => {
                self.request_log.begin_cut_off();
                return Err(CallRefusal::CutOff);
            }
            Err(failure) => {
                open.close(EndedOperation {
                    messages: Some(MessageCounts::default()),
                    ..EndedOperation::failed(failure.clone())
                });
                return Err(CallRefusal::Failed(failure));
            }
        };
        let trace = self.trace.as_ref();
        let traced = trace.map(|trace| trace.call(self.request_log.step, &self.requests));
        let request = traced.map(|traced| traced.next_number());
        let number = NEXT_CALL.replace(NEXT_CALL.get() + 1);
        self.calls.0.borrow_mut().push(OpenCall {
            number,
            operation: open.hold(),
            target: target.clone(),
            request,
            over: None,
        });
        Ok(BegunCall {
            number,
            target,
            timeout: self.timeout,
            parent: traced
                .zip(request)
                .map(|(traced, number)| traced.parent(number)),
            is_watched: self.request_log.is_shown(),
            pass,
        })
    }

    fn admit_call(
        &self,
        uri: &Uri,
    ) -> Result<(CallTarget, Option<crate::targets::RequestPass>), Failure> {
        let none = || Failure::new(ErrorKind::StepError, "there is no network here");
        let sockets = self.transport.sockets().ok_or_else(none)?;
        let target = sockets.grpc().target(uri)?;
        let pass = target.admit()?;
        Ok((target, pass))
    }

    /// Counts a call that has ended, or was given up.
    pub(super) fn close_call(&self, number: u64, log: &mut CallLog) {
        let Some(call) = self.calls.take(number) else {
            return;
        };
        self.trace_call(&call, log);
        let open = self.request_log.resume(&call.operation);
        let mut traffic = Traffic {
            requests: log.requests,
            connections: log.connections,
            ..Traffic::default()
        };
        if let Some(sockets) = self.transport.used_sockets() {
            traffic += sockets.take_traffic();
        }
        // A step may leave a stream when it has seen enough, and the end of the run any call.
        let is_left = log.head_at.is_some() && !self.request_log.is_cut_off();
        if log.end.is_none() && !is_left {
            open.unfinished().put(UnfinishedExchange {
                traffic,
                phases: log.phases,
            });
            return;
        }
        log.finish(Ok(None));
        let Some((result, ended_at)) = log.end.take() else {
            return;
        };
        let messages = log.messages();
        let is_stream = call.target.note_stream(messages.received > 1);
        let stream = is_stream.then(|| StreamSample::of_events(log.arrivals.iter().copied()));
        let failure = result.as_ref().err().cloned();
        let shown = log.take_shown();
        open.close_call(
            EndedOperation {
                time: ended_at.saturating_duration_since(log.begun),
                ended_at,
                status: result.ok().flatten(),
                failure,
                traffic,
                phases: log.phases,
                stream,
                messages: Some(messages),
            },
            call.target.url(),
            shown,
        );
    }

    /// Adds the span of a call, if those of the journey are kept.
    fn trace_call(&self, call: &OpenCall, log: &CallLog) {
        let kept = self.trace.as_ref().and_then(JourneyTrace::kept);
        let (Some(trace), Some(number)) = (kept, call.request) else {
            return;
        };
        let (result, ended) = match &log.end {
            Some((result, ended)) => (result.as_ref().err(), *ended),
            None => (None, Instant::now()),
        };
        let origin = call.target.origin();
        let sent = SentRequest {
            number,
            method: Method::POST,
            host: origin.host.to_string(),
            port: origin.port,
            is_redirect: false,
            begun: log.begun,
            ended,
            connected_at: log.connected_at,
            connect: log.phases.connect,
            tls: log.phases.tls,
            first_byte_at: log.head_at,
            status: match result {
                Some(failure) => failure.status,
                None => log.head_at.map(|_| StatusCode::OK),
            },
            error: result.map(|failure| failure.kind),
        };
        let row = self.request_log.name_of(&call.operation);
        trace.add_requests(self.request_log.step, vec![sent], Some(&row));
    }
}
