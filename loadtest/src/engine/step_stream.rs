//! A stream of events that an async step reads as it comes.

use super::request_log::RequestLog;
use super::step_client::StepClient;
use crate::chain::{EventSource, HttpError, Local, RequestBuf};
use crate::transport::events::{EventLog, RawEvent, TooMuch};
use crate::transport::{Call, Failure, StreamCall, Transport, silence, too_much};
use http::StatusCode;
use loadtest_model::definition::{Expect, Reads, StreamDef};
use loadtest_model::metrics::StreamSample;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::time::Instant;

/// The events of a stream that are there and were not asked for yet, and the times of all.
#[derive(Default)]
pub(super) struct Arrivals {
    events: RefCell<VecDeque<RawEvent>>,
    log: RefCell<EventLog>,
    /// How many the step has taken.
    taken: Cell<usize>,
    /// The status, once the answer is known to be a stream.
    opened: Cell<Option<StatusCode>>,
    /// Why the step could not read an event.
    failure: RefCell<Option<Failure>>,
    /// The number of its operation among those that ended, once it has.
    pub(super) finished: Cell<Option<usize>>,
}

impl Arrivals {
    fn add(&self, event: &RawEvent) -> Result<(), TooMuch> {
        self.log.borrow_mut().add(event.clone(), false)?;
        self.events.borrow_mut().push_back(event.clone());
        Ok(())
    }

    /// The status, once the answer is known to be a stream.
    pub(super) fn opened(&self) -> Option<StatusCode> {
        self.opened.get()
    }

    /// Takes the failure of the step to read an event.
    pub(super) fn take_failure(&self) -> Option<Failure> {
        self.failure.take()
    }

    /// Returns whether no event has come.
    fn has_none(&self) -> bool {
        self.log.borrow().events.is_empty()
    }

    /// Takes the next event.
    fn take(&self) -> Option<RawEvent> {
        let event = self.events.borrow_mut().pop_front()?;
        self.taken.set(self.taken.get() + 1);
        Some(event)
    }

    /// What is measured of all of the stream: every event counts, and is a unit.
    pub(super) fn sample(&self) -> StreamSample {
        StreamSample::of_events(self.log.borrow().times())
    }

    /// The same of what the step has taken of it.
    pub(super) fn sample_of_taken(&self) -> StreamSample {
        StreamSample::of_events(self.log.borrow().times().take(self.taken.get()))
    }
}

/// A stream under way. Its request ends when this is dropped.
struct StepStream<'a> {
    arrivals: Rc<Arrivals>,
    /// Nothing once it has ended.
    exchange: Option<Local<'a, Result<(), HttpError>>>,
    /// Ready when it is to end, since the load is over.
    over: Local<'a, ()>,
    request_log: &'a RequestLog,
}

impl StepStream<'_> {
    /// Reads on, and returns whether the stream is over.
    fn poll_exchange(&mut self, context: &mut Context<'_>) -> Poll<Result<(), HttpError>> {
        let Some(exchange) = &mut self.exchange else {
            return Poll::Ready(Ok(()));
        };
        let polled = exchange.as_mut().poll(context);
        if polled.is_ready() {
            self.exchange = None;
        }
        polled
    }
}

impl EventSource for StepStream<'_> {
    fn poll_opened(&mut self, context: &mut Context<'_>) -> Poll<Result<(), HttpError>> {
        match self.poll_exchange(context) {
            Poll::Pending if self.arrivals.opened().is_none() => Poll::Pending,
            Poll::Pending => Poll::Ready(Ok(())),
            // What came before a failure is handed over first.
            Poll::Ready(Err(error)) if !self.arrivals.events.borrow().is_empty() => {
                self.exchange = Some(Box::pin(std::future::ready(Err(error))));
                Poll::Ready(Ok(()))
            }
            Poll::Ready(ended) => Poll::Ready(ended),
        }
    }

    fn poll_event(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<RawEvent>, HttpError>> {
        let is_open = self.exchange.is_some() && self.arrivals.opened().is_some();
        if is_open && self.over.as_mut().poll(context).is_ready() {
            if self.arrivals.has_none() {
                // Without any it is no success, and no failure where the load is over.
                if !self.request_log.state().is_tried {
                    self.request_log.begin_cut_off();
                    return Poll::Pending;
                }
                let failure = silence(self.request_log.state().plan.graceful_stop);
                let error = HttpError::new(failure.kind.name(), failure.message.clone());
                self.fail(failure);
                return Poll::Ready(Err(error));
            }
            // What the step has taken counts.
            self.exchange = None;
            self.arrivals.events.borrow_mut().clear();
            self.request_log.note_end_told();
            return Poll::Ready(Ok(None));
        }
        if let Some(event) = self.arrivals.take() {
            return Poll::Ready(Ok(Some(event)));
        }
        let polled = self.poll_exchange(context);
        match (self.arrivals.take(), polled) {
            (Some(event), Poll::Ready(Err(error))) => {
                self.exchange = Some(Box::pin(std::future::ready(Err(error))));
                Poll::Ready(Ok(Some(event)))
            }
            (Some(event), _) => Poll::Ready(Ok(Some(event))),
            (None, Poll::Pending) => Poll::Pending,
            (None, Poll::Ready(ended)) => Poll::Ready(ended.map(|()| None)),
        }
    }

    fn fail(&mut self, failure: Failure) {
        match self.arrivals.finished.get() {
            // All of it came before the step looked at the event.
            Some(number) => self.request_log.fail_finished(number, &failure),
            None => {
                self.arrivals.failure.replace(Some(failure));
            }
        }
        self.exchange = None;
        self.arrivals.events.borrow_mut().clear();
    }
}

impl<T: Transport> StepClient<T> {
    /// Begins a request whose answer is read as it comes.
    pub(super) fn begin_stream(
        &self,
        request: RequestBuf,
        name: Option<String>,
        def: StreamDef,
    ) -> Box<dyn EventSource + '_> {
        let arrivals: Rc<Arrivals> = Rc::default();
        let exchange = self.exchange_stream(request, name, def, Rc::clone(&arrivals));
        let state = self.request_log.state();
        let begun = Instant::now();
        Box::new(StepStream {
            arrivals,
            exchange: Some(Box::pin(exchange)),
            over: Box::pin(state.wait_for_stream_end(begun)),
            request_log: &self.request_log,
        })
    }

    async fn exchange_stream(
        &self,
        request: RequestBuf,
        name: Option<String>,
        def: StreamDef,
        arrivals: Rc<Arrivals>,
    ) -> Result<(), HttpError> {
        let open = self
            .request_log
            .open_stream(&request, name.as_deref(), &arrivals);
        let each = |event: &RawEvent| {
            let added = arrivals.add(event);
            added.map(|()| false).map_err(|TooMuch| too_much())
        };
        let call = Call {
            request: &request,
            expect: &Expect::SUCCESS,
            reads: Reads {
                body: false,
                headers: true,
            },
            timeout: request.timeout.unwrap_or(self.timeout),
            redirects: self.redirects,
            new_connection: self.new_connections,
            unfinished: open.unfinished(),
            trace: (self.trace.as_ref())
                .map(|trace| trace.call(self.request_log.step, &self.requests)),
            stream: Some(StreamCall {
                def: &def,
                keeps_data: false,
                is_graphql: request.is_graphql,
                lasts: None,
                each: &each,
                opened: Some(&arrivals.opened),
            }),
            websocket: None,
            is_graphql: request.is_graphql,
        };
        let exchange = self.transport.send(call).await;
        let answer = self.finish_exchange(open, &request, exchange).await;
        answer.map(drop)
    }
}
