//! The figures of one scenario, as they come.

use super::process::ProcessFigure;
use loadtest_model::record::{ObservedSeries, RunStart};
use loadtest_model::redacted::Redacted;
use std::time::SystemTime;
use url::{Host, Url};

/// What is observed of one scenario.
#[derive(Debug)]
pub(super) struct ObservedScenario {
    /// The start of its load.
    begin: SystemTime,
    /// The port of its target, if that is a process of this machine and not the load test itself.
    pub(super) port: Option<u16>,
    pub(super) series: Vec<ObservedSeries>,
    pub(super) has_ended: bool,
}

impl ObservedScenario {
    pub(super) fn new(start: &RunStart, now: SystemTime) -> Self {
        let port = start.base_url.as_deref().and_then(local_port);
        Self {
            begin: now + start.plan.start,
            port: port.filter(|_| !start.target_in_process),
            series: Vec::new(),
            has_ended: false,
        }
    }

    /// Adds what was read of a source at a time; before the load nothing counts.
    pub(super) fn add(&mut self, source: &str, figures: &[ProcessFigure], time: SystemTime) {
        let elapsed = time.duration_since(self.begin).ok();
        let Some(second) = elapsed.and_then(|elapsed| u32::try_from(elapsed.as_secs()).ok()) else {
            return;
        };
        for figure in figures {
            let known = self.series.iter().position(|one| one.name == figure.name);
            let place = known.unwrap_or_else(|| {
                self.series.push(ObservedSeries {
                    name: figure.name.to_owned(),
                    unit: figure.unit.to_owned(),
                    source: Redacted::assume(source),
                    width: 1,
                    points: Vec::new(),
                });
                self.series.len() - 1
            });
            self.series[place].add(second, figure.value);
        }
    }
}

/// Returns the port of a URL of this machine.
fn local_port(base_url: &str) -> Option<u16> {
    let url = Url::parse(base_url).ok()?;
    let is_local = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    is_local.then(|| url.port_or_known_default())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_targets_of_this_machine_have_a_process() {
        for (url, port) in [
            ("http://127.0.0.1:3000", Some(3000)),
            ("https://localhost/api", Some(443)),
            ("http://[::1]:81", Some(81)),
            ("http://10.0.0.1:3000", None),
            ("nonsense", None),
        ] {
            assert_eq!(local_port(url), port, "{url}");
        }
    }
}
