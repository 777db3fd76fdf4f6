//! One load of many machines: a controller divides it, agents run their parts, and NATS carries what they say.
//!
//! An agent starts the load test as its child, as a run on one machine does, and passes on the bytes of its journal.
//! The controller keeps these journals, adds their seconds up for the live view, and merges their records at the end.

mod agent;
mod bundles;
mod clock;
mod conclude;
mod conduct;
mod connection;
mod controller;
mod course;
mod discovery;
mod engage;
mod forward;
mod messages;
mod mirror;
mod parcels;
mod programs;
mod refusal;
mod scenario_course;
mod seconds;
mod signature;
#[cfg(test)]
mod simulation;
mod work;

pub(crate) use agent::{AgentSetting, serve};
pub(crate) use bundles::SentBundle;
pub(crate) use connection::ClusterAddress;
pub(crate) use controller::{Cluster, ClusterRun};
pub(crate) use discovery::{ListedAgent, list_agents};
use loadtest_console::error::Error;
pub(crate) use programs::{Acceptance, Programs};
pub(crate) use signature::{BundleKey, create_key};
use std::future::Future;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

fn make_runtime() -> Result<Runtime, Error> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Error::failure(format!("no runtime for the cluster: {error}")))
}

fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Error> {
    Ok(LocalSet::new().block_on(&make_runtime()?, work))
}
