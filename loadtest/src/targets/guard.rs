//! A refusal of the permission guard: the target, the reason and the remedy.

use std::fmt::{self, Write as _};
use std::net::IpAddr;
use std::ops::Deref;
use std::path::PathBuf;

/// A target that may not be tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotPermitted(Box<Refusal>);

/// The refused target and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The host, as the URL names it.
    pub(crate) host: String,
    /// Scheme, host and port.
    pub(crate) origin: String,
    /// Its address; `None` if the name was not looked up.
    pub(crate) address: Option<IpAddr>,
    /// Why.
    pub(crate) why: RefusalCause,
    /// The `loadtest.toml` that lists what may be tested, where there is one.
    pub(crate) file: Option<PathBuf>,
}

/// The reason why a target may not be tested.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum RefusalCause {
    /// The address is never tested.
    Never(&'static str),
    /// Nothing but loopback can be reached.
    Offline,
    /// It is not among the targets.
    NotListed {
        /// Another listed entry of the same host.
        instead: Option<String>,
    },
    /// Its entry pins other addresses.
    NotPinned {
        /// The line of the entry.
        line: usize,
    },
    /// The name turned up during the run.
    Unknown,
    /// The name stood for addresses of another kind before the run.
    Rebound,
    /// Its entry allows less.
    Cap {
        /// The wanted and the allowed amount: `400/s, and line 3 of .. allows 200/s`.
        words: String,
    },
    /// The target itself has to say so, and does not.
    NoProof {
        /// The statement of the target, or why there is none.
        words: String,
    },
}

impl From<Refusal> for NotPermitted {
    fn from(refusal: Refusal) -> Self {
        Self(Box::new(refusal))
    }
}

impl Deref for NotPermitted {
    type Target = Refusal;

    fn deref(&self) -> &Refusal {
        &self.0
    }
}

impl fmt::Display for NotPermitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { host, origin, .. } = &**self;
        match self.address {
            Some(address) if address.to_string() != host.trim_matches(['[', ']']) => {
                write!(f, "`{origin}` ({address}) is not a permitted target")?;
            }
            _ => write!(f, "`{origin}` is not a permitted target")?,
        }
        let file = self.file.as_ref().map(|file| file.display().to_string());
        let file = file.as_deref().unwrap_or("loadtest.toml");
        match &self.why {
            RefusalCause::Never(what) => write!(f, ": it is {what}, which no entry permits")?,
            RefusalCause::Offline => f.write_str(
                " with `--offline` (LOADTEST_OFFLINE), which only permits loopback and targets that the scenario \
                 starts",
            )?,
            RefusalCause::NotListed { instead: Some(instead) } => write!(
                f,
                ": `{file}` lists {instead}; scheme, host and port must be the same"
            )?,
            RefusalCause::NotListed { instead: None } => {
                write!(
                    f,
                    "; load may go to this machine, to targets that the scenario starts, and to hosts listed in `{file}`. \
                     Add `[[targets]]` with `host = \"{}\"`{} and `owner = \"..\"`",
                    host.trim_matches(['[', ']']),
                    entry_keys(origin)
                )?;
                if self.address.is_none() {
                    f.write_str("; a name that is not listed is looked up in the hosts file only")?;
                }
            }
            RefusalCause::NotPinned { line } => write!(
                f,
                ": line {line} of `{file}` pins other addresses for it"
            )?,
            RefusalCause::Unknown => {
                f.write_str(": it was not known before the run")?;
                if !origin.starts_with("http") {
                    f.write_str("; name it in `reaches` of the scenario")?;
                }
            }
            RefusalCause::Rebound => f.write_str(
                ": before the run the name had public addresses and now a private one, or the reverse; pin them with `addresses`",
            )?,
            RefusalCause::Cap { words } => write!(f, " with this load: {words}")?,
            RefusalCause::NoProof { words } => write!(f, ": {words}")?,
        }
        f.write_str("; nothing was sent")
    }
}

/// Returns the keys that an entry for `origin` needs besides its host.
fn entry_keys(origin: &str) -> String {
    let (scheme, place) = origin.split_once("://").unwrap_or(("https", origin));
    let mut keys = match scheme {
        "https" => String::new(),
        scheme => format!(", `scheme = \"{scheme}\"`"),
    };
    let port = place.rsplit_once(':').map(|(_, port)| port);
    if let Some(port) = port.filter(|port| port.bytes().all(|byte| byte.is_ascii_digit())) {
        // A text takes everything.
        let _ = write!(keys, ", `port = {port}`");
    }
    keys
}

impl std::error::Error for NotPermitted {}
