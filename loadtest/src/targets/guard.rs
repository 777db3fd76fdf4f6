//! The permission guard: says of an address whether it may be contacted, before anything is sent.
//!
//! Only loopback is permitted, which includes the targets that a scenario starts itself. The guard
//! judges the addresses that are then connected to, never the spelling of a name.

use std::fmt;
use std::net::IpAddr;

/// A host that may not be tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotPermitted {
    /// The host, as the URL names it.
    pub host: String,
    /// The address it stands for; `None` where it was not even looked up.
    pub address: Option<IpAddr>,
}

/// Permits `address`, which `host` stands for, or refuses it.
///
/// # Errors
/// [`NotPermitted`], which names both.
pub fn permit(host: &str, address: IpAddr) -> Result<(), NotPermitted> {
    if address.to_canonical().is_loopback() {
        return Ok(());
    }
    Err(NotPermitted {
        host: host.to_owned(),
        address: Some(address),
    })
}

/// Permits `host` if each of its `addresses` is permitted: one foreign address among them is
/// enough to refuse it.
pub(crate) fn permit_all(
    host: &str,
    addresses: impl IntoIterator<Item = IpAddr>,
) -> Result<(), NotPermitted> {
    addresses
        .into_iter()
        .try_for_each(|address| permit(host, address))
}

/// Refuses a name that turned up only during the run: to look it up would already send something.
pub(crate) fn refuse_unknown(host: &str) -> NotPermitted {
    NotPermitted {
        host: host.to_owned(),
        address: None,
    }
}

impl fmt::Display for NotPermitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = &self.host;
        match self.address {
            Some(address) if address.to_string() != host.trim_matches(['[', ']']) => {
                write!(f, "`{host}` ({address}) may not be tested")?;
            }
            Some(_) => write!(f, "`{host}` may not be tested")?,
            None => write!(
                f,
                "`{host}` may not be tested: it was not known before the run"
            )?,
        }
        f.write_str(
            "; only loopback and targets that the scenario started itself may be tested, \
             nothing was sent",
        )
    }
}

impl std::error::Error for NotPermitted {}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(address: &str) -> bool {
        permit("host", address.parse().unwrap()).is_err()
    }

    #[test]
    fn every_loopback_address_is_permitted() {
        for address in ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"] {
            assert!(!refused(address), "{address}");
        }
    }

    #[test]
    fn private_link_local_and_unspecified_addresses_are_refused() {
        for address in [
            "0.0.0.0",
            "10.0.0.1",
            "126.255.255.255",
            "128.0.0.0",
            "169.254.169.254",
            "192.168.0.1",
            "255.255.255.255",
            "::",
            "::2",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "fd00:ec2::254",
            "fe80::1",
        ] {
            assert!(refused(address), "{address}");
        }
    }

    #[test]
    fn one_foreign_address_refuses_the_whole_name() {
        let addresses = ["127.0.0.1", "10.0.0.1"].map(|text| text.parse().unwrap());
        let refusal = permit_all("rebound.test", addresses).unwrap_err();
        assert_eq!(refusal.address, Some("10.0.0.1".parse().unwrap()));
        assert!(
            refusal.to_string().starts_with("`rebound.test` (10.0.0.1)"),
            "{refusal}"
        );
    }
}
