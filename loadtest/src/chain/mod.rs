//! The typed chain that `#[scenario]` compiles to, and what its generated code calls. No I/O here.
//!
//! A chain holds one typed slot per step. The engine asks it to build the request of a step, sends
//! that request itself, and hands the response back; a step whose upstream slot is empty is never
//! built.

pub(crate) mod beat;
pub(crate) mod credential;
mod current_sender;
mod decode_error;
pub(crate) mod error;
pub(crate) mod events;
pub(crate) mod feed;
pub(crate) mod file;
pub(crate) mod form;
#[doc(hidden)]
pub mod generated;
pub(crate) mod graph;
pub(crate) mod grpc;
pub(crate) mod http;
pub(crate) mod kept;
pub(crate) mod measure;
pub(crate) mod net;
pub(crate) mod outcome;
pub(crate) mod renewed_setup;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod setup_sender;
pub(crate) mod setup_values;
pub(crate) mod skip;
pub(crate) mod slot;
pub(crate) mod socket;
pub(crate) mod stale;
pub(crate) mod stamp;
pub(crate) mod unmet;
pub(crate) mod untyped;
pub(crate) mod value;
pub(crate) mod vu;
pub(crate) mod write;

pub(crate) use crate::transport::{
    AnswerDetails, KeptHeaders, NO_URL, RawResponse, RequestBuf, RequestTarget,
};
pub(crate) use beat::Tick;
pub(crate) use credential::Credential;
pub(crate) use current_sender::with_step_sender;
pub(crate) use error::Error;
pub(crate) use error::Fault;
pub(crate) use feed::shared::SharedFeed;
pub(crate) use graph::ReadError;
pub(crate) use grpc::{BegunCall, CallRefusal};
pub(crate) use http::{EventSource, Operation, OperationEnd, StepSender, WaitError};
pub(crate) use http::{Halt, Http, HttpError, Local};
pub(crate) use loadtest_model::metrics::{Cause, RootCause};
pub(crate) use loadtest_model::plan::RowLimit;
pub(crate) use measure::MeasureError;
pub(crate) use net::Net;
pub(crate) use renewed_setup::{SetupFetch, UsedSetup};
pub(crate) use request::Request;
pub(crate) use response::Response;
pub(crate) use setup_sender::SetupSender;
pub(crate) use setup_values::{NotedValues, SetupSource};
pub(crate) use slot::Slot;
pub(crate) use unmet::Unmet;
pub(crate) use vu::Vu;
pub(crate) use vu::{Figure, Purpose};

use crate::package_folder::find_package_folder;
use crate::targets::Target;
use crate::transport::events::{EventLog, RawEvent};
use loadtest_model::definition::ScenarioDef;
use loadtest_model::metrics::StreamSample;
use std::any::Any;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The state of one virtual user in one scenario; everything typed is behind it.
pub trait Chain: Send {
    /// Empties the slots for the iteration that `vu` names.
    fn begin(&mut self, vu: &mut Vu);

    /// Leaves the slot of `step` empty and says why.
    fn skip(&mut self, step: usize, cause: Cause);

    /// Writes the request of `step` into `request`.
    ///
    /// # Errors
    /// What is missing; nothing may be sent then.
    fn build(&mut self, step: usize, vu: &mut Vu, request: &mut RequestBuf) -> Result<(), Unmet>;

    /// Runs `step`, an `async fn` that sends for itself, and keeps what it returns.
    fn run<'a>(
        &'a mut self,
        step: usize,
        vu: &'a mut Vu,
        http: &'a mut Http,
    ) -> Local<'a, Result<(), Halt>>;

    /// Reads the response of `step` into its slot.
    ///
    /// # Errors
    /// Why the body cannot be read; the caller then calls [`skip`](Chain::skip).
    fn finish(&mut self, step: usize, response: RawResponse) -> Result<(), ReadError>;

    /// Returns whether the response of `step` is the one it waits for (`until = ..`).
    fn arrived(&self, step: usize) -> bool;

    /// Returns whether the answer that `step` has read has errors beside its data, which `partial = true` accepts.
    fn is_partial(&self, _step: usize) -> bool {
        false
    }

    /// Returns what is measured of the stream that `step` has read, or of one that `failed`.
    fn measure_stream(&self, _step: usize, _failed: Option<&EventLog>) -> StreamSample {
        StreamSample::default()
    }

    /// Returns whether `event` ends the stream that `step` reads (`end = |event| ..`).
    fn ends_stream(&self, _step: usize, _event: &RawEvent) -> bool {
        false
    }

    /// Returns the setups that `step` uses and whose values are fetched again.
    fn used_setups(&self, _step: usize) -> Vec<UsedSetup> {
        Vec::new()
    }

    /// Returns whether there may be checks whose last named step is `step`.
    fn is_checked(&self, _step: usize) -> bool {
        true
    }

    /// Runs the checks whose last named step is `step`; one whose inputs are missing does not run.
    fn check(
        &mut self,
        step: usize,
        vu: &mut Vu,
        report: &mut dyn FnMut(&'static str, Result<(), String>),
    );
}

/// A scenario as the macro leaves it: its definition, its setup and the maker of its chains.
pub struct Scenario {
    /// The declaration.
    pub definition: ScenarioDef,
    /// The folder of the package that holds the scenario, for the files it names; of the machine that
    /// compiled it, so it is in no record.
    pub root: &'static str,
    /// Runs the `#[setup]` and `#[feed]` functions, in source order.
    pub prepare: fn(&SetupContext) -> Result<Prepared, SetupError>,
    /// Makes the chain of one virtual user from what `prepare` left.
    pub chain: fn(&Shared, &mut Vu) -> Box<dyn Chain>,
    /// Runs the `#[teardown]` functions.
    pub teardown: fn(&Shared, &SetupContext) -> Result<(), String>,
}

impl Scenario {
    /// Returns the folder of the package that holds the scenario, on this machine.
    pub(crate) fn folder(&self) -> PathBuf {
        find_package_folder(&self.definition.package, self.root)
    }
}

/// The values of the `#[setup]` functions, which all virtual users of a run share.
pub type Shared = Arc<dyn Any + Send + Sync>;

/// The context of a setup or a teardown.
#[derive(Debug, Clone, Default)]
pub struct SetupContext {
    /// The base URL from environment or command line; with one, a setup that returns a
    /// [`Target`] is not run. For a teardown that of the run, wherever it comes from.
    pub base_url: Option<String>,
    /// The folder that the files of feeds and steps are relative to.
    pub root: PathBuf,
    /// The seed of run and scenario.
    pub(crate) seed: u64,
    /// The most virtual users that the load may need.
    pub(crate) users: u32,
    /// True if iteration 0 gets the first row of every feed, whatever their order.
    pub(crate) first_rows: bool,
    /// The sender for `async` setups and teardowns.
    pub(crate) sender: Option<Arc<dyn SetupSender>>,
    /// Where the values of setups come from.
    pub(crate) values: SetupSource,
}

/// The values that the setups made.
pub struct Prepared {
    /// The values, for the chains.
    pub shared: Shared,
    /// The target a setup started; it is stopped when this is dropped.
    pub target: Option<Target>,
    /// The feed after whose last row the load ends, where one says so: the one with the fewest rows.
    pub rows: Option<RowLimit>,
    /// The feeds whose rows the scenarios of a mix share.
    pub shared_feeds: Vec<SharedFeed>,
}

/// A setup or a feed that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// A `#[setup]` function.
    #[error("setup `{setup}` failed: {reason}")]
    Setup {
        /// The name of the function.
        setup: &'static str,
        /// The error it returned, or the message of its panic.
        reason: String,
    },
    /// A `#[feed]` function; what it says of itself holds no value of its rows.
    #[error("feed `{feed}` failed: {reason}")]
    Feed {
        /// The name of the function.
        feed: &'static str,
        /// The error it returned, or the message of its panic.
        reason: String,
    },
    /// A file that a step sends.
    #[error("step `{step}` sends the file `{path}` of its package, which cannot be sent: {reason}")]
    File {
        /// The step.
        step: &'static str,
        /// The path in the folder of the package.
        path: &'static str,
        /// Why.
        reason: String,
    },
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scenario")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}
