//! The client of setups and teardowns, which is not measured.

use super::permission::permit_known_hosts;
use super::print_error;
use super::run_identity::RunIdentity;
use crate::chain::{
    BegunCall, CallRefusal, EventSource, Http, HttpError, Local, Operation, OperationEnd,
    RawResponse, RequestBuf, Scenario, SetupSender, StepSender, Tick, WaitError,
};
use crate::redact;
use crate::transport::grpc::CallLog;
use crate::transport::{
    AnswerDetails, Call, Failure, HttpTransport, OperationTarget, Sockets, Transport,
    UnfinishedCall, sample_of_body,
};
use http::Uri;
use loadtest_model::definition::{DEFAULT_TIMEOUT, Expect, Reads, StreamDef};
use loadtest_model::metrics::ErrorKind;
use loadtest_model::redacted::Redacted;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

/// Sends for the setups and the teardowns of a scenario, on the thread that calls them.
#[derive(Debug)]
pub(super) struct SetupClient {
    scenario: &'static Scenario,
    sender: RunIdentity,
    runtime: Runtime,
    refusal: Arc<Mutex<Option<Redacted>>>,
}

/// A client of one setup or teardown.
struct SetupWire {
    transport: HttpTransport,
    redirects: u32,
    sender: RunIdentity,
    refusal: Arc<Mutex<Option<Redacted>>>,
}

impl SetupClient {
    pub(super) fn new(scenario: &'static Scenario, sender: &RunIdentity) -> io::Result<Self> {
        Ok(Self {
            scenario,
            sender: sender.clone(),
            runtime: Builder::new_current_thread().enable_all().build()?,
            refusal: Arc::default(),
        })
    }
}

impl SetupSender for SetupClient {
    fn client(&self, base: Option<&str>, redirects: u32) -> Result<Http, String> {
        let base = base.or(self.scenario.definition.base.as_deref());
        let network = self
            .runtime
            .block_on(permit_known_hosts(self.scenario, base, &self.sender))
            .map_err(|error| error.to_string())?;
        Ok(Http::new(Rc::new(SetupWire {
            transport: HttpTransport::new(Arc::new(network), 0),
            redirects,
            sender: self.sender.clone(),
            refusal: Arc::clone(&self.refusal),
        })))
    }

    fn wait(&self, errand: Local<'_, ()>) {
        LocalSet::new().block_on(&self.runtime, errand);
    }

    fn take_refusal(&self) -> Option<Redacted> {
        self.refusal
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    fn warn(&self, message: &str) {
        print_error(&format!("warning: {message}"));
    }
}

impl StepSender for SetupWire {
    fn send<'a>(
        &'a self,
        request: &'a RequestBuf,
        _: Option<&'a str>,
    ) -> Local<'a, Result<RawResponse, HttpError>> {
        Box::pin(async move {
            let (expect, unfinished) = (Expect::ANY, UnfinishedCall::default());
            let call = Call {
                request,
                expect: &expect,
                reads: Reads {
                    body: true,
                    headers: true,
                },
                timeout: request.timeout.unwrap_or(DEFAULT_TIMEOUT),
                redirects: self.redirects,
                new_connection: false,
                unfinished: &unfinished,
                trace: None,
                stream: None,
                websocket: None,
                is_graphql: false,
            };
            let exchange = self.transport.send(call).await;
            if let Err(failure) = &exchange.result {
                self.tell_refusal(failure);
            }
            if let Ok(received) = &exchange.result
                && received.status.as_u16() >= 400
            {
                let mut refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
                *refusal = sample_of_body(&received.body);
            }
            exchange
                .result
                .map(|received| RawResponse {
                    status: received.status,
                    headers: received.headers,
                    body: received.body,
                    events: None,
                    socket: None,
                    details: Some(AnswerDetails::new(
                        request,
                        self.transport.base_url(),
                        exchange.redirected_to,
                        received.version,
                        exchange.service_time,
                    )),
                })
                .map_err(|failure| HttpError::new(failure.kind.name(), failure.message))
        })
    }

    fn open_stream(
        &self,
        _: RequestBuf,
        _: Option<String>,
        _: StreamDef,
    ) -> Result<Box<dyn EventSource + '_>, HttpError> {
        let words = "a stream of events is read by steps; a setup or teardown sends and waits for the whole answer";
        Err(HttpError::new(ErrorKind::StepError.name(), words))
    }

    fn pause(&self, time: Duration) -> Local<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn bound<'a>(
        &'a self,
        wait: Local<'a, Result<(), Failure>>,
    ) -> Local<'a, Result<(), WaitError>> {
        Box::pin(async move { wait.await.map_err(WaitError::Failed) })
    }

    fn tick(&self, _: Tick) -> Local<'_, bool> {
        // A setup has no user who could begin a beat.
        Box::pin(std::future::ready(false))
    }

    fn end_listening(&self) -> Local<'_, ()> {
        Box::pin(std::future::pending())
    }

    fn count_check(&self, name: &str, holds: bool) {
        if !holds {
            let name = redact::redact(name);
            print_error(&format!(
                "warning: check `{name}` failed in a setup or teardown"
            ));
        }
    }

    fn begin_operation<'a>(
        &'a self,
        _: &'a str,
        target: OperationTarget<'a>,
    ) -> Local<'a, Result<Box<dyn Operation + 'a>, Failure>> {
        Box::pin(async move {
            let admitted = self
                .sockets()
                .map(|sockets| sockets.admit_operation(target));
            if let Some(Err(refusal)) = admitted {
                self.tell_refusal(&refusal);
                return Err(refusal);
            }
            Ok(Box::new(UnmeasuredOperation(self)) as Box<dyn Operation>)
        })
    }

    fn begin_call(&self, uri: &Uri) -> Result<BegunCall, CallRefusal> {
        let admitted = (self.sockets())
            .ok_or_else(|| Failure::new(ErrorKind::StepError, "there is no network here"))
            .and_then(|sockets| sockets.grpc().target(uri))
            .and_then(|target| Ok((target.admit()?, target)));
        let (pass, target) = admitted.map_err(|refusal| {
            self.tell_refusal(&refusal);
            CallRefusal::Failed(refusal)
        })?;
        Ok(BegunCall {
            number: 0,
            target,
            timeout: DEFAULT_TIMEOUT,
            parent: None,
            is_watched: false,
            pass,
        })
    }

    fn poll_stream_end(&self, _: u64, _: bool, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    fn end_call(&self, _: u64, _: &mut CallLog) {}

    fn sockets(&self) -> Option<&Sockets> {
        self.transport.sockets()
    }

    fn drive(&self, connection: Local<'static, Option<String>>) {
        if let Some(sockets) = self.sockets() {
            sockets.drive(connection);
        }
    }
}

impl SetupWire {
    /// Tells that the guard refused something, whatever the scenario makes of it.
    fn tell_refusal(&self, failure: &Failure) {
        if failure.kind == ErrorKind::GuardBlocked {
            self.sender.mark_refused();
            let message = redact::redact_message(&failure.message);
            print_error(&format!("warning: {message}"));
        }
    }
}

/// An operation of a setup or a teardown.
struct UnmeasuredOperation<'a>(&'a SetupWire);

impl Operation for UnmeasuredOperation<'_> {
    fn timeout(&self) -> Duration {
        DEFAULT_TIMEOUT
    }

    fn finish(self: Box<Self>, end: OperationEnd) -> Option<String> {
        if let Some(failure) = &end.failure {
            self.0.tell_refusal(failure);
        }
        None
    }
}
