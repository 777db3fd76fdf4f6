//! `[cluster]`: the machines that make a load together.

use super::key::{ConfigTable, Given};
use super::notify::read_variable;
use crate::cli::{AgentLoss, values};
use loadtest_console::units;
use std::path::PathBuf;
use std::time::Duration;

/// The server of a cluster, and how a run uses it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ClusterConfig {
    /// `url` of the NATS server.
    pub(crate) url: Option<String>,
    /// `agents` that make a load.
    pub(crate) agents: Option<usize>,
    /// `wait`: for so long for them.
    pub(crate) wait: Option<Duration>,
    /// `on_agent_loss`.
    pub(crate) on_agent_loss: Option<AgentLoss>,
    /// `min_share`: the share of a load that is enough where an agent is lost.
    pub(crate) min_share: Option<f64>,
    /// `orphan_after`: the time without a server after which an agent stops.
    pub(crate) orphan_after: Option<Duration>,
    /// `ca`: certificates of an authority in PEM.
    pub(crate) ca: Option<PathBuf>,
    /// `credentials`: a `.creds` file, or one with a secret key.
    pub(crate) credentials: Option<PathBuf>,
    /// `basic_env`: the variable of `user:password`.
    pub(crate) basic_env: Option<String>,
    /// `identity`: a certificate of our own and its key in PEM.
    pub(crate) identity: Option<PathBuf>,
}

impl ConfigTable for ClusterConfig {
    const SECTION: &'static str = "cluster";

    fn set_key(&mut self, name: &str, given: &Given<'_>) -> Result<(), String> {
        match name {
            "url" => self.url = Some(given.name()?),
            "agents" => self.agents = Some(values::agents(given.text())?),
            "wait" => self.wait = Some(units::duration(given.text())?),
            "on_agent_loss" => {
                self.on_agent_loss = Some(match given.text() {
                    "fail" => AgentLoss::Fail,
                    "continue" => AgentLoss::Continue,
                    _ => return Err("is neither `fail` nor `continue`".to_owned()),
                });
            }
            "min_share" => self.min_share = Some(units::share(given.text())?),
            "orphan_after" => match units::duration(given.text())? {
                short if short < Duration::from_secs(1) => {
                    return Err("is too short; write `1s` or longer".to_owned());
                }
                time => self.orphan_after = Some(time),
            },
            "ca" => self.ca = Some(given.path(&given.name()?)),
            "credentials" => self.credentials = Some(given.path(&given.name()?)),
            "basic_env" => {
                self.basic_env = Some(read_variable(given.text(), "basic_env = \"NATS_LOGIN\"")?);
            }
            "identity" => self.identity = Some(given.path(&given.name()?)),
            _ => return Err("is not a key of this table".to_owned()),
        }
        Ok(())
    }
}
