//! The licence of a run, shared by all its clients: those of setups, users and teardowns, and of all
//! scenarios of a mix. It counts the caps together, and ends for all when it is withdrawn.

use super::allowance::Allowance;
use super::listed::ListedTarget;
use super::permissions::Permissions;
use super::{Host, Origin};
use loadtest_model::shard::Shard;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The licence of a run to send.
#[derive(Debug, Default)]
pub(crate) struct Licence {
    allowances: Mutex<Vec<Arc<Allowance>>>,
    /// The reason why nothing more may be sent.
    withdrawn: OnceLock<String>,
    /// The part of the caps that this process has.
    shard: OnceLock<Shard>,
}

/// The caps of the targets of one client.
pub(crate) type Caps = Vec<(Origin, Arc<Allowance>)>;

impl Licence {
    /// The caps of what `permissions` list, counted together with those of all who have them from here.
    pub(crate) fn caps(&self, permissions: &Permissions) -> Caps {
        let capped = permissions
            .targets
            .iter()
            .filter(|target| target.max_rate.is_some() || target.max_in_flight.is_some());
        capped
            .filter_map(|target| {
                let host = Host::parse(&target.host).ok()?;
                let origin = Origin {
                    scheme: target.scheme,
                    host,
                    port: target.port,
                };
                Some((origin, self.allowance(target)))
            })
            .collect()
    }

    fn allowance(&self, target: &ListedTarget) -> Arc<Allowance> {
        let mut all = self
            .allowances
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|allowance| allowance.is_for(target));
        if let Some(known) = known {
            return Arc::clone(known);
        }
        let shard = self.shard.get().copied().unwrap_or_default();
        let allowance = Arc::new(Allowance::new(target.clone(), shard));
        all.push(Arc::clone(&allowance));
        allowance
    }

    /// Gives only this part of the caps, since other processes have the others.
    pub(crate) fn limit_to(&self, shard: Shard) {
        // It is that of the run, whoever says so first.
        let _ = self.shard.set(shard);
    }

    /// Ends the permission to send, and gives a reason; the first one counts.
    pub(crate) fn withdraw(&self, reason: String) {
        // Another reason is there already.
        let _ = self.withdrawn.set(reason);
    }

    /// Returns the reason why nothing more may be sent, if there is one.
    pub(crate) fn withdrawn(&self) -> Option<&str> {
        self.withdrawn.get().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_is_one_for_all_who_have_it_of_the_same_licence() {
        let text = "[[targets]]\nhost = \"shop.test\"\nowner = \"ada\"\nmax_in_flight = 2\n";
        let permissions = Permissions {
            targets: ListedTarget::read(text).unwrap(),
            ..Permissions::default()
        };
        let licence = Licence::default();
        let (setup, load) = (licence.caps(&permissions), licence.caps(&permissions));
        let _held = [
            setup[0].1.admit_request().unwrap(),
            load[0].1.admit_request().unwrap(),
        ];
        assert!(setup[0].1.admit_request().is_err() && load[0].1.admit_request().is_err());
        let other = Licence::default().caps(&permissions);
        assert!(other[0].1.admit_request().is_ok());
    }
}
