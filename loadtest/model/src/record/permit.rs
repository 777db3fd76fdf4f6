//! The permission a run had: by target, or by a network without other hosts.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// A target that a run was permitted to test, as its record keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Permit {
    /// Scheme, host and port.
    pub origin: String,
    /// The addresses that it stood for before the load.
    pub addresses: Vec<IpAddr>,
    /// The source of the permission.
    #[serde(flatten)]
    pub by: PermittedBy,
}

/// The source of a permission to test a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum PermittedBy {
    /// It is on this machine.
    Loopback,
    /// An entry of `loadtest.toml`.
    Listed {
        /// The person or team in charge of the target.
        owner: String,
        /// The line of the entry.
        line: usize,
        /// The target's own statement, if it had to make one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<String>,
    },
}

impl fmt::Display for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.origin)?;
        match &self.by {
            PermittedBy::Loopback => f.write_str(" on this machine"),
            PermittedBy::Listed { owner, line, proof } => {
                write!(f, " by line {line} of loadtest.toml, owner {owner}")?;
                if proof.is_some() {
                    f.write_str(", who says so there")?;
                }
                Ok(())
            }
        }
    }
}

/// The evidence that this process reaches nothing but loopback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offline {
    /// The network namespace, as the system names it: `net:[4026532561]`.
    pub namespace: String,
    /// All its network interfaces.
    pub interfaces: Vec<String>,
}

impl fmt::Display for Offline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.interfaces.join(", ");
        write!(f, "only {all} in its network {}", self.namespace)
    }
}
