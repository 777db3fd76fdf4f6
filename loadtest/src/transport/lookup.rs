//! Looks names up: before the run, and with `dns = ttl` again for new connections.
//!
//! A name that no list has is looked up in the hosts file only: a question to a name server leaves the machine.
//!
//! It is the system that is asked, which alone knows of its files, search domains and other services. How
//! long an answer may be kept it does not tell, but its own cache knows. So an answer serves new
//! connections for a moment only, and then the system is asked again.

use super::{ErrorKind, Failure, error_mapping};
use std::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The time for which an answer of the system serves new connections.
const ANSWER_LIFETIME: Duration = Duration::from_secs(1);
/// A lookup that failed for now after at least so long has waited for an answer in vain.
const TIMEOUT_HINT_AFTER: Duration = Duration::from_secs(1);

/// The file with the names that this machine knows without a name server.
const HOSTS_FILE: &str = if cfg!(windows) {
    r"C:\Windows\System32\drivers\etc\hosts"
} else {
    "/etc/hosts"
};

/// Whom to ask for the addresses of a name.
pub(crate) struct Resolver {
    look: Arc<LookupFn>,
    /// The same for names that no list has; sends nothing.
    look_locally: Arc<LookupFn>,
    kept: Duration,
}

type LookupFn = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

impl Resolver {
    /// Asks `look` for every name; its answers serve new connections for as long as `kept`. It may block.
    #[cfg(test)]
    pub(crate) fn new(
        kept: Duration,
        look: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static,
    ) -> Self {
        let look: Arc<LookupFn> = Arc::new(look);
        let look_locally = Arc::clone(&look);
        Self {
            look,
            look_locally,
            kept,
        }
    }

    /// Asks the system, and its hosts file for names that no list has.
    pub(crate) fn system() -> Self {
        Self {
            look: Arc::new(|name| {
                let found = (name, 0).to_socket_addrs()?;
                Ok(found.map(|address| address.ip()).collect())
            }),
            look_locally: Arc::new(|name| {
                let hosts = std::fs::read_to_string(HOSTS_FILE)?;
                Ok(find_in_hosts(&hosts, name))
            }),
            kept: ANSWER_LIFETIME,
        }
    }

    /// The addresses of `name`, each once; blocks until there is an answer. A name that no list has is looked up
    /// without sending anything.
    pub(super) fn look(&self, name: &str, is_listed: bool) -> io::Result<Vec<IpAddr>> {
        let look = if is_listed {
            &self.look
        } else {
            &self.look_locally
        };
        let mut addresses = Vec::new();
        for address in look(name)? {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if addresses.is_empty() {
            return Err(io::Error::other("the name has no address"));
        }
        Ok(addresses)
    }
}

/// Returns the addresses of `name` in the text of a hosts file (hosts(5)).
fn find_in_hosts(hosts: &str, name: &str) -> Vec<IpAddr> {
    let address = |line: &str| {
        let line = line.split('#').next()?;
        let mut words = line.split_whitespace();
        let address = words.next()?.parse().ok()?;
        words
            .any(|word| word.trim_end_matches('.').eq_ignore_ascii_case(name))
            .then_some(address)
    };
    hosts.lines().filter_map(address).collect()
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver")
            .field("kept", &self.kept)
            .finish_non_exhaustive()
    }
}

/// The addresses of a name, shared by all users of a run.
#[derive(Debug)]
pub(super) struct NameLookup {
    name: String,
    is_listed: bool,
    known: watch::Sender<LookupState>,
}

/// The addresses, or why there are none.
pub(super) type LookupResult = Result<Arc<[IpAddr]>, Failure>;

#[derive(Debug)]
struct LookupState {
    found: LookupResult,
    since: Instant,
    /// True while another lookup runs.
    is_asking: bool,
}

impl NameLookup {
    /// A name of which these addresses are known from now on.
    pub(super) fn new(name: String, is_listed: bool, addresses: Arc<[IpAddr]>) -> Self {
        let known = watch::Sender::new(LookupState {
            found: Ok(addresses),
            since: Instant::now(),
            is_asking: false,
        });
        Self {
            name,
            is_listed,
            known,
        }
    }

    /// The last answer, or a new one where that has served long enough: one lookup for all who wait.
    pub(super) async fn addresses(self: &Arc<Self>, resolver: &Arc<Resolver>) -> LookupResult {
        let mut known = self.known.subscribe();
        let has_to_ask = self.known.send_if_modified(|known| {
            let has_to_ask = !known.is_asking && known.since.elapsed() >= resolver.kept;
            known.is_asking |= has_to_ask;
            has_to_ask
        });
        if has_to_ask {
            self.start_lookup(resolver);
        }
        match known.wait_for(|known| !known.is_asking).await {
            Ok(known) => known.found.clone(),
            Err(_) => unreachable!("the sender is here"),
        }
    }

    /// Asks on a thread of its own, since the system blocks the one that asks, and no deadline ends that.
    fn start_lookup(self: &Arc<Self>, resolver: &Arc<Resolver>) {
        let (lookup, resolver) = (Arc::clone(self), Arc::clone(resolver));
        let asking = spawn_lookup(move || {
            let begin = Instant::now();
            let found = resolver.look(&lookup.name, lookup.is_listed);
            lookup.store_result(found, begin.elapsed());
        });
        if let Err(error) = asking {
            self.store_result(Err(error), Duration::ZERO);
        }
    }

    fn store_result(&self, found: io::Result<Vec<IpAddr>>, took: Duration) {
        let found = found
            .map_err(|error| lookup_failure(&self.name, &error, took))
            .map(Into::into);
        self.known.send_modify(|known| {
            *known = LookupState {
                found,
                since: Instant::now(),
                is_asking: false,
            };
        });
    }
}

/// Calls `ask` on a thread of its own.
///
/// # Errors
/// There is no thread for it: a fault of this machine.
pub(super) fn spawn_lookup(ask: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = thread::Builder::new().name("loadtest-lookup".to_owned());
    thread
        .spawn(ask)
        .map(drop)
        .map_err(|error| no_thread(&error))
}

fn no_thread(error: &io::Error) -> io::Error {
    let message = format!(
        "no thread is left to ask for it ({error}); raise `ulimit -u` or the limit of the container"
    );
    io::Error::new(io::ErrorKind::OutOfMemory, message)
}

/// Describes why the system has no address, as far as it tells.
fn lookup_failure(name: &str, error: &io::Error, took: Duration) -> Failure {
    let text = error.to_string();
    let says = |words: &[&str]| words.iter().any(|words| text.contains(words));
    let kind = if let Some(kind) = error_mapping::local_error_kind(error) {
        kind
    } else if error.kind() == io::ErrorKind::TimedOut {
        ErrorKind::DnsTimeout
    } else if error.kind() == io::ErrorKind::NotFound || says(&UNKNOWN_NAME_ERRORS) {
        ErrorKind::DnsNxdomain
    } else if says(&TEMPORARY_ERRORS) && took >= TIMEOUT_HINT_AFTER {
        ErrorKind::DnsTimeout
    } else {
        ErrorKind::DnsUnreachable
    };
    Failure::new(
        kind,
        format!("the host `{name}` cannot be resolved: {text}"),
    )
}

/// Messages of glibc, musl, macOS and Windows for a name that does not exist or has no address.
const UNKNOWN_NAME_ERRORS: [&str; 7] = [
    "Name or service not known",
    "No address associated with hostname",
    "Name does not resolve",
    "Name has no usable address",
    "nodename nor servname provided",
    "No such host is known",
    "the name has no address",
];
/// Their messages if no name server answered.
const TEMPORARY_ERRORS: [&str; 3] = [
    "Temporary failure in name resolution",
    "Try again",
    "temporary error during hostname resolution",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(error: &io::Error, took: Duration) -> ErrorKind {
        lookup_failure("shop.test", error, took).kind
    }

    #[test]
    fn a_lookup_without_a_thread_is_a_fault_of_this_machine() {
        let error = no_thread(&io::Error::other("busy"));
        assert_eq!(kind(&error, Duration::ZERO), ErrorKind::LocalMemory);
        assert!(error.to_string().contains("(busy); raise `ulimit -u`"));
    }

    #[test]
    fn the_reasons_of_a_failed_lookup_are_told_apart_as_far_as_the_system_tells() {
        let says = |text: &str, took| {
            let text = format!("failed to lookup address information: {text}");
            kind(&io::Error::other(text), took)
        };
        for words in UNKNOWN_NAME_ERRORS {
            assert_eq!(
                says(words, TIMEOUT_HINT_AFTER),
                ErrorKind::DnsNxdomain,
                "{words}"
            );
        }
        for words in TEMPORARY_ERRORS {
            assert_eq!(
                says(words, TIMEOUT_HINT_AFTER),
                ErrorKind::DnsTimeout,
                "{words}"
            );
            let at_once = says(words, Duration::ZERO);
            assert_eq!(at_once, ErrorKind::DnsUnreachable, "{words}");
        }
        let failed = says(
            "Non-recoverable failure in name resolution",
            TIMEOUT_HINT_AFTER,
        );
        assert_eq!(failed, ErrorKind::DnsUnreachable);
        let timed_out = kind(&io::ErrorKind::TimedOut.into(), Duration::ZERO);
        assert_eq!(timed_out, ErrorKind::DnsTimeout);
    }

    #[test]
    fn the_hosts_file_is_read_as_the_system_reads_it() {
        let hosts = "127.0.0.1 localhost shop.test\n# 10.0.0.1 shop.test\n\n::1\tSHOP.TEST. # shop\n\
                     10.0.0.2 other shop.test.example\nnothing shop.test\n";
        let found = |name| find_in_hosts(hosts, name);
        let loopback: [IpAddr; 2] = ["127.0.0.1", "::1"].map(|text| text.parse().unwrap());
        assert_eq!(found("shop.test"), loopback);
        assert!(found("shop").is_empty());
    }

    #[test]
    fn a_name_that_no_list_has_is_not_asked_of_the_system() {
        let resolver = Resolver {
            look: Arc::new(|_| Ok(vec![[10, 0, 0, 1].into()])),
            look_locally: Arc::new(|_| Ok(Vec::new())),
            kept: Duration::ZERO,
        };
        assert!(resolver.look("shop.test", true).is_ok());
        assert!(resolver.look("shop.test", false).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn what_this_machine_lacks_is_not_blamed_on_the_name_servers() {
        let error = nix::errno::Errno::EMFILE.into();
        assert_eq!(kind(&error, Duration::ZERO), ErrorKind::LocalFds);
    }

    #[test]
    fn a_name_of_nobody_is_told_by_this_very_system() {
        // Where there is no name server the system cannot know that.
        let error = Resolver::system()
            .look("no-such-host.invalid", true)
            .unwrap_err();
        let kind = kind(&error, Duration::ZERO);
        assert!(kind.name().starts_with("dns."), "{kind}");
    }
}
