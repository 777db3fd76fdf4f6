//! Where a run would send, and whether it may: by what is written, nothing is looked up.

use loadtest::redact;
use loadtest::targets::{Known, Permissions};
use loadtest_model::definition::ScenarioDef;
use serde::Serialize;

/// The destination of a run of a scenario.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Destination {
    /// The URL that paths are joined to, where it is known before the run.
    pub(super) base: Option<String>,
    /// The source of the base URL.
    pub(super) from: AddressOrigin,
    /// True if the setup of the scenario starts a target, which a given base URL replaces.
    pub(super) starts_target: bool,
    /// The hosts that are known, of the base and of steps with an absolute URL, and what clients of the scenario's own
    /// reach.
    pub(super) hosts: Vec<Host>,
}

/// The source of a base URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AddressOrigin {
    /// `--base-url`.
    CommandLine,
    /// `LOADTEST_BASE_URL`.
    Environment,
    /// The target that a `#[setup]` of the scenario starts.
    Setup,
    /// `base = ".."`.
    Declared,
    /// Nothing, and no step needs one.
    NotNeeded,
    /// Nothing, so that a run is refused.
    Missing,
}

/// A host, and whether it may be tested.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) permission: Permission,
    /// The owner of a listed target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) owner: Option<String>,
}

/// The permission to test a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Permission {
    /// Loopback.
    Permitted,
    /// `loadtest.toml` lists it.
    Listed,
    Refused,
    /// A name that is not listed: the hosts file decides when it runs.
    ByAddress,
    /// An earlier answer names the host.
    WhenSent,
}

impl Destination {
    /// The destination of `scenario`, given `--base-url` and `LOADTEST_BASE_URL`.
    pub(super) fn from_definition(
        scenario: &ScenarioDef,
        flag: Option<&str>,
        environment: Option<&str>,
        permissions: &Permissions,
    ) -> Self {
        let urls = || scenario.steps.iter().filter_map(|step| step.url.as_deref());
        let (base, from) = if let Some(flag) = flag {
            (Some(flag), AddressOrigin::CommandLine)
        } else if let Some(variable) = environment {
            (Some(variable), AddressOrigin::Environment)
        } else if scenario.starts_target {
            (None, AddressOrigin::Setup)
        } else if let Some(base) = &scenario.base {
            (Some(&**base), AddressOrigin::Declared)
        } else if scenario.needs_base() {
            (None, AddressOrigin::Missing)
        } else {
            (None, AddressOrigin::NotNeeded)
        };
        let mut hosts: Vec<Host> = Vec::new();
        for url in base.into_iter().chain(urls()) {
            let Some(name) = host_of(url) else {
                continue;
            };
            let (permission, owner) = find_permission(url, name, permissions);
            let found = Host {
                name: name.to_owned(),
                permission,
                owner,
            };
            if !hosts.contains(&found) {
                hosts.push(found);
            }
        }
        for url in scenario.reaches.iter() {
            let (permission, owner) = find_permission(url, url, permissions);
            hosts.push(Host {
                name: url.to_string(),
                permission,
                owner,
            });
        }
        Self {
            base: base.map(|base| redact::redact_url_template(base).into_owned()),
            from,
            starts_target: scenario.starts_target,
            hosts,
        }
    }
}

/// The host of an absolute URL, as it is written.
fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let place = authority.rsplit_once('@').map_or(authority, |(_, to)| to);
    if place.contains('{') {
        return Some(place);
    }
    Some(match place.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or(address),
        None => place.rsplit_once(':').map_or(place, |(name, _)| name),
    })
}

fn find_permission(
    url: &str,
    host: &str,
    permissions: &Permissions,
) -> (Permission, Option<String>) {
    if host.contains('{') {
        return (Permission::WhenSent, None);
    }
    // What comes after the host, placeholders among it, has no part in it.
    let after = url.find("://").map_or(0, |at| at + 3);
    let end = url[after..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| after + at);
    match permissions.known(&url[..end]) {
        Some(Known::Loopback) => (Permission::Permitted, None),
        Some(Known::Listed(owner)) => (Permission::Listed, Some(owner.to_owned())),
        Some(Known::ByAddress) => (Permission::ByAddress, None),
        _ => (Permission::Refused, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;

    #[test]
    fn the_last_that_gives_a_base_wins() {
        let mut scenario = sample::definition("visit", &[]);
        let seen = |scenario: &ScenarioDef, flag, environment| {
            let destination =
                Destination::from_definition(scenario, flag, environment, &Permissions::default());
            (destination.base, destination.from)
        };
        assert_eq!(seen(&scenario, None, None), (None, AddressOrigin::Missing));
        scenario.base = Some("http://declared".into());
        let declared = Some("http://declared".to_owned());
        assert_eq!(
            seen(&scenario, None, None),
            (declared, AddressOrigin::Declared)
        );
        scenario.starts_target = true;
        assert_eq!(seen(&scenario, None, None), (None, AddressOrigin::Setup));
        let given = Some("http://given".to_owned());
        assert_eq!(
            seen(&scenario, None, Some("http://given")),
            (given.clone(), AddressOrigin::Environment)
        );
        assert_eq!(
            seen(&scenario, Some("http://given"), Some("http://other")),
            (given, AddressOrigin::CommandLine)
        );
    }

    #[test]
    fn every_host_that_is_known_is_judged_by_the_guard() {
        let mut scenario = sample::definition("visit", &[]);
        let steps = scenario.steps.to_mut();
        steps[0].url = Some("http://10.0.0.1:80/x?y=http://no".into());
        steps[1].url = Some("https://{{login.response.host}}/x".into());
        let base = "http://[::1]:8080/api?token=pw";
        let destination =
            Destination::from_definition(&scenario, Some(base), None, &Permissions::default());
        let hosts: Vec<_> = destination
            .hosts
            .iter()
            .map(|host| (host.name.as_str(), host.permission))
            .collect();
        assert_eq!(
            hosts,
            [
                ("::1", Permission::Permitted),
                ("10.0.0.1", Permission::Refused),
                ("{{login.response.host}}", Permission::WhenSent),
            ]
        );
        assert!(!destination.base.unwrap().contains("pw"));
        scenario.base = Some("http://shop.test".into());
        let steps = scenario.steps.to_mut();
        steps.truncate(1);
        let hosts =
            Destination::from_definition(&scenario, None, None, &Permissions::default()).hosts;
        assert_eq!(hosts[0].permission, Permission::ByAddress);
        scenario.base = None;
        assert_eq!(
            Destination::from_definition(&scenario, None, None, &Permissions::default()).from,
            AddressOrigin::NotNeeded
        );
    }
}
