//! `[traces]`: whether requests carry a trace, and which journeys are sampled.

use super::key::{ConfigTable, Given};
use loadtest_console::units;
use loadtest_model::trace::{Tracing, check_link};
use url::Url;

/// The share of journeys that are sampled unless the file says otherwise.
const SAMPLE: f64 = 0.01;
/// The most journeys that are sampled in a second unless the file says otherwise.
const AT_MOST: f64 = 10.0;

/// The traces of requests.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TracesConfig {
    /// `propagate`: whether requests carry a trace.
    pub(crate) propagate: bool,
    /// `sample`: the share of journeys that are sampled.
    pub(crate) sample: Option<f64>,
    /// `at_most`: so many of them per second.
    pub(crate) at_most: Option<f64>,
    /// `link`: the address of a trace.
    pub(crate) link: Option<String>,
}

impl TracesConfig {
    /// Returns the tracing of a load. A share of the command line asks for it, and is bounded only by what the file says.
    pub(crate) fn tracing(&self, trace: Option<f64>) -> Option<Tracing> {
        (self.propagate || trace.is_some()).then(|| Tracing {
            sample: trace.or(self.sample).unwrap_or(SAMPLE),
            at_most_per_second: self.at_most.or(trace.is_none().then_some(AT_MOST)),
            link: self.link.clone(),
        })
    }
}

impl ConfigTable for TracesConfig {
    const SECTION: &'static str = "traces";

    fn set_key(&mut self, name: &str, given: &Given<'_>) -> Result<(), String> {
        match name {
            "propagate" => self.propagate = given.flag()?,
            "sample" => self.sample = Some(units::share(given.text())?),
            "at_most" => {
                self.at_most = Some(match units::rate(given.text())? {
                    rate if rate < 1.0 / 3600.0 => {
                        return Err("is too few; write `sample = \"0%\"` to sample none".to_owned());
                    }
                    rate => rate,
                });
            }
            "link" => self.link = Some(parse_link(&given.name()?)?),
            _ => return Err("is not a key of this table".to_owned()),
        }
        Ok(())
    }
}

fn parse_link(link: &str) -> Result<String, String> {
    check_link(link)?;
    let url = Url::parse(link).map_err(|error| format!("is not a URL ({error})"))?;
    let has_user = !url.username().is_empty() || url.password().is_some();
    let mut pairs = url.query_pairs();
    if has_user || pairs.any(|(name, _)| loadtest::redact::is_secret_name(&name)) {
        return Err(
            "holds a user name, a password or a token, which reports would show; leave it out"
                .to_owned(),
        );
    }
    Ok(link.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_command_line_asks_for_traces_and_has_the_bound_of_the_file() {
        let mut config = TracesConfig::default();
        let tracing = |config: &TracesConfig, trace| {
            let tracing = config.tracing(trace)?;
            Some((tracing.sample, tracing.at_most_per_second))
        };
        assert_eq!(tracing(&config, None), None);
        assert_eq!(tracing(&config, Some(1.0)), Some((1.0, None)));
        config.propagate = true;
        assert_eq!(tracing(&config, None), Some((0.01, Some(10.0))));
        (config.sample, config.at_most) = (Some(0.2), Some(5.0));
        assert_eq!(tracing(&config, None), Some((0.2, Some(5.0))));
        assert_eq!(tracing(&config, Some(0.5)), Some((0.5, Some(5.0))));
    }
}
