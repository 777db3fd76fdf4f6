//! What the virtual users of a run share: the base URL, the pinned addresses, the TLS configuration.
//!
//! Names are looked up here, before the run, and each address is put to the guard. A name that turns up during
//! the run is never looked up, but refused; one that was announced is looked up again during the run
//! where the scenario says `dns = ttl`, and each address is put to the guard again.

use super::error_mapping::{describe_local_shortage, local_error_kind};
#[cfg(feature = "http3")]
use super::failure::ConnectError;
#[cfg(feature = "http3")]
use super::http3::Http3;
use super::lookup::{NameLookup, Resolver, spawn_lookup};
#[cfg(feature = "http3")]
use super::meter::Meter;
use super::tls::TlsConfig;
use super::{ErrorKind, Failure};
use crate::redact;
use crate::targets::{Allowance, Licence, NotPermitted, Permissions, PermissionsError};
use crate::targets::{Host, Origin, Scheme};
use http::{HeaderValue, Uri};
use loadtest_model::definition::{Client, Cookies, Dns, HttpVersion};
use loadtest_model::display;
use loadtest_model::record::{Permit, PermittedBy};
use loadtest_model::redacted::Redacted;
use std::borrow::Cow;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
#[cfg(feature = "http3")]
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The timeout of [`Network::reachable`].
const REACH_TIMEOUT: Duration = Duration::from_secs(5);

/// The network of a run, shared by all virtual users.
#[derive(Debug)]
pub(crate) struct Network {
    base: Option<BaseUrl>,
    permissions: Permissions,
    /// The caps that are counted with all clients of the run.
    caps: Vec<(Origin, Arc<Allowance>)>,
    licence: Arc<Licence>,
    resolver: Arc<Resolver>,
    pinned: Vec<PinnedHost>,
    origins: Vec<Origin>,
    proofs: Vec<(Origin, String)>,
    dns: Dns,
    /// An `https` URL is known already.
    wants_tls: bool,
    pub(super) tls: TlsConfig,
    pub(super) http: HttpVersion,
    /// The connections to an origin that users share, where they do.
    pub(super) connections: Option<u32>,
    /// Each iteration of a user opens connections of its own.
    pub(super) new_connections: bool,
    pub(super) cookies: Cookies,
    pub(super) run_id: HeaderValue,
}

#[derive(Debug)]
pub(super) struct BaseUrl {
    url: String,
    pub(super) origin: Origin,
    /// The path of the base URL without a final slash; empty for none.
    pub(super) prefix: String,
}

#[derive(Debug)]
struct PinnedHost {
    name: String,
    addresses: Arc<[IpAddr]>,
    /// For new connections, where the addresses do not stay the same.
    lookup: Arc<NameLookup>,
}

/// The addresses of an origin, in the order to try them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Addresses {
    pub(super) all: Box<[SocketAddr]>,
    /// Users are spread over the first so many; the others are of another family and a fallback.
    pub(super) spread: usize,
}

/// The reason why a run cannot use a URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum NetworkError {
    /// The URL cannot be read; a mistake of its author.
    #[error("`{url}` is not a usable URL: {reason}; write for example `http://127.0.0.1:8080`")]
    BadUrl {
        /// The URL.
        url: Redacted,
        /// The mistake.
        reason: Cow<'static, str>,
    },
    /// The URL is not of a target that speaks HTTP/3; a mistake of its author.
    #[error("{}", display::describe_url_without_tls(url))]
    NeedsTls {
        /// The URL.
        url: Redacted,
    },
    /// The host may not be tested.
    #[error(transparent)]
    NotPermitted(#[from] NotPermitted),
    /// The file that lists what may be tested cannot be used; a mistake of its author.
    #[error(transparent)]
    Permissions(#[from] PermissionsError),
    /// The name of the host has no address.
    #[error("the host `{host}` cannot be resolved: {source}")]
    Unresolved {
        /// The host.
        host: String,
        /// The error of the resolver.
        source: io::Error,
    },
    /// A file that the scenario names cannot be used; a mistake of its author.
    #[error("`{option}` names {}: {reason}", path.display())]
    BadFile {
        /// The option of the scenario.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The mistake, and the expected content.
        reason: String,
    },
    /// No server answers at the base URL.
    #[error("nothing answers at {url} ({address}): {source}; {}", unreachable_note(source, *offline))]
    Unreachable {
        /// The base URL.
        url: String,
        /// The last address tried.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
        /// It was looked for on a loopback of this process's own.
        offline: bool,
    },
}

fn unreachable_note(source: &io::Error, offline: bool) -> &'static str {
    if let Some(kind) = local_error_kind(source) {
        describe_local_shortage(kind)
    } else if offline {
        "with `--offline` (LOADTEST_OFFLINE) a load test has a loopback of its own, on which only what the \
         scenario starts is found: let a `#[setup]` start the target and return it"
    } else {
        "is the target running?"
    }
}

impl Network {
    /// Reads the base URL, resolves its host once and puts every address to the guard.
    ///
    /// `run_id` is what each request carries in its `loadtest-run` header.
    ///
    /// # Errors
    /// The URL cannot be read, its host cannot be resolved, or may not be tested.
    #[cfg(test)]
    pub(crate) async fn prepare(
        base_url: Option<&str>,
        run_id: &str,
    ) -> Result<Self, NetworkError> {
        Self::permitting(Permissions::default(), base_url, run_id).await
    }

    /// The same, where `permissions` list what may be tested besides loopback.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub(crate) async fn permitting(
        permissions: Permissions,
        base_url: Option<&str>,
        run_id: &str,
    ) -> Result<Self, NetworkError> {
        Self::resolving(Resolver::system(), permissions, base_url, run_id).await
    }

    /// The same, where `resolver` is asked for addresses.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub(crate) async fn resolving(
        resolver: Resolver,
        permissions: Permissions,
        base_url: Option<&str>,
        run_id: &str,
    ) -> Result<Self, NetworkError> {
        let mut network = Self {
            base: None,
            caps: Licence::default().caps(&permissions),
            licence: Arc::default(),
            permissions,
            resolver: Arc::new(resolver),
            pinned: Vec::new(),
            origins: Vec::new(),
            proofs: Vec::new(),
            dns: Dns::default(),
            wants_tls: false,
            tls: TlsConfig::default(),
            http: HttpVersion::default(),
            connections: None,
            new_connections: false,
            cookies: Cookies::default(),
            run_id: header_safe_run_id(run_id),
        };
        if let Some(url) = base_url {
            let base = BaseUrl::parse(url)?;
            network.pin_host(&base.origin).await?;
            network.base = Some(base);
        }
        Ok(network)
    }

    /// Makes the users talk HTTP as `client` says; its files are relative to `root`.
    ///
    /// # Errors
    /// [`NetworkError::BadFile`]: a file cannot be read, or holds something else.
    pub(crate) fn configure(&mut self, client: &Client, root: &Path) -> Result<(), NetworkError> {
        self.tls = TlsConfig::read(client, root)?;
        self.http = client.http;
        self.connections = client.connections;
        self.new_connections = client.new_connections;
        self.cookies = client.cookies;
        self.dns = client.dns;
        Ok(())
    }

    /// Checks an absolute URL that is known before the run as [`prepare`](Self::prepare) checks the
    /// base, and pins its addresses.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub(crate) async fn admit(&mut self, url: &str) -> Result<(), NetworkError> {
        let (_, origin) = parse_base_url(url).map_err(|reason| bad_url(url, reason))?;
        self.pin_host(&origin).await
    }

    /// Checks what a client of the scenario's own connects to as [`prepare`](Self::prepare) checks the base, and pins
    /// its addresses.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub(crate) async fn admit_socket(&mut self, url: &str) -> Result<(), NetworkError> {
        let origin = Origin::of_socket(url).map_err(|reason| bad_url(url, reason))?;
        self.pin_host(&origin).await
    }

    /// Sends under the licence that others of the run send under.
    pub(crate) fn share_licence(&mut self, licence: &Arc<Licence>) {
        self.caps = licence.caps(&self.permissions);
        self.licence = Arc::clone(licence);
    }

    /// The caps for requests to `origin`.
    pub(super) fn allowance(&self, origin: &Origin) -> Option<Arc<Allowance>> {
        let found = self.caps.iter().find(|(capped, _)| capped == origin);
        found.map(|(_, allowance)| Arc::clone(allowance))
    }

    /// Ends the permission to send, and gives a reason; the first one counts.
    pub(crate) fn halt(&self, reason: String) {
        self.licence.withdraw(reason);
    }

    /// Returns the reason why nothing more may be sent, if there is one.
    pub(crate) fn halted(&self) -> Option<&str> {
        self.licence.withdrawn()
    }

    /// Returns the permissions to send.
    pub(crate) fn permissions(&self) -> &Permissions {
        &self.permissions
    }

    /// Keeps what targets said of themselves.
    pub(crate) fn record_proofs(&mut self, said: Vec<(Origin, String)>) {
        self.proofs = said;
    }

    /// Returns the permits of each origin that is known before the run.
    pub(crate) fn permits(&self) -> Vec<Permit> {
        let permit = |origin: &Origin| {
            let addresses = self.addresses(origin).ok()?.all;
            let addresses: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
            let entry = self.permissions.entry(origin);
            let is_here = addresses.iter().all(IpAddr::is_loopback);
            let said = self.proofs.iter().find(|(proven, _)| proven == origin);
            Some(Permit {
                origin: origin.to_string(),
                by: match entry.filter(|_| !is_here) {
                    None => PermittedBy::Loopback,
                    Some(entry) => PermittedBy::Listed {
                        owner: entry.owner.clone(),
                        line: entry.line,
                        proof: said.map(|(_, text)| text.clone()),
                    },
                },
                addresses,
            })
        };
        self.origins.iter().filter_map(permit).collect()
    }

    /// The origins that are known before the run, the base first.
    pub(crate) fn origins(&self) -> &[Origin] {
        &self.origins
    }

    /// Opens and closes one connection to the base, of the protocol that its users speak, and to each TCP address of clients
    /// of the scenario's own, to see that they accept connections.
    ///
    /// # Errors
    /// [`NetworkError::Unreachable`].
    pub(crate) async fn reachable(&self) -> Result<(), NetworkError> {
        if self.wants_tls {
            // Not within the first request. A failure shows at the first handshake.
            let _ = self.tls.client_config();
        }
        if let Some(base) = &self.base {
            if self.http == HttpVersion::Http3 {
                let probe = async |address| self.probe_quic(&base.origin.host, address).await;
                self.reach(&base.origin, &base.url, probe).await?;
            } else {
                self.reach(&base.origin, &base.url, probe_tcp).await?;
            }
        }
        for origin in &self.origins {
            if matches!(origin.scheme, Scheme::Tcp | Scheme::Tls) {
                self.reach(origin, &origin.to_string(), probe_tcp).await?;
            }
        }
        Ok(())
    }

    /// Sees that `probe` has an answer at one of the addresses of `origin`.
    async fn reach(
        &self,
        origin: &Origin,
        url: &str,
        probe: impl AsyncFn(SocketAddr) -> io::Result<()>,
    ) -> Result<(), NetworkError> {
        let mut failed = None;
        for &address in &self.addresses(origin)?.all {
            let Err(source) = probe(address).await else {
                return Ok(());
            };
            failed.get_or_insert(NetworkError::Unreachable {
                url: url.to_owned(),
                address,
                source,
                offline: self.permissions.offline,
            });
        }
        failed.map_or(Ok(()), Err)
    }

    /// Begins a QUIC handshake, to see whether it is answered. A failure of TLS shows at the first handshake of a user.
    #[cfg(feature = "http3")]
    async fn probe_quic(&self, host: &Host, address: SocketAddr) -> io::Result<()> {
        let meter = Rc::new(Meter::new(0));
        match Http3::open(&self.tls, host, address, meter, REACH_TIMEOUT).await {
            Err(ConnectError::Unanswered(error)) => Err(error),
            Err(ConnectError::Failed(_)) | Ok(_) => Ok(()),
        }
    }

    #[cfg(not(feature = "http3"))]
    #[expect(clippy::unused_async, reason = "it is awaited with the feature")]
    async fn probe_quic(&self, _: &Host, _: SocketAddr) -> io::Result<()> {
        Ok(())
    }

    /// The base URL, without a final slash.
    pub(crate) fn base_url(&self) -> Option<&str> {
        self.base.as_ref().map(|base| base.url.as_str())
    }

    /// Returns the number of base addresses that the users are spread over.
    pub(crate) fn base_addresses(&self) -> usize {
        let base = self.base.as_ref();
        let addresses = base.and_then(|base| self.addresses(&base.origin).ok());
        addresses.map_or(0, |addresses| addresses.spread)
    }

    pub(super) fn base(&self) -> Option<&BaseUrl> {
        self.base.as_ref()
    }

    /// Resolves the host of `origin` and keeps its addresses, if all are permitted.
    async fn pin_host(&mut self, origin: &Origin) -> Result<(), NetworkError> {
        self.wants_tls |= origin.scheme.is_tls();
        if !self.origins.contains(origin) {
            self.origins.push(origin.clone());
        }
        let name = match &origin.host {
            Host::Name(name) if !origin.host.is_localhost() => name,
            _ => return self.addresses(origin).map(drop).map_err(Into::into),
        };
        if let Some(pinned) = self.pinned_host(name) {
            self.permissions
                .permit_all(origin, pinned.addresses.iter().copied())?;
            return Ok(());
        }
        let unresolved = |source| {
            // There is no name server on a loopback of one's own.
            if self.permissions.offline {
                return self.permissions.refuse_offline(origin).into();
            }
            if !self.permissions.lists_host(name) {
                return self.permissions.refuse_unlisted(origin).into();
            }
            NetworkError::Unresolved {
                host: name.clone(),
                source,
            }
        };
        let is_listed = self.permissions.lists_host(name);
        let (resolver, asked) = (Arc::clone(&self.resolver), name.clone());
        let (sender, found) = oneshot::channel();
        spawn_lookup(move || _ = sender.send(resolver.look(&asked, is_listed)))
            .map_err(unresolved)?;
        let addresses = found
            .await
            .unwrap_or_else(|died| Err(io::Error::other(died)))
            .map_err(unresolved)?;
        self.permissions
            .permit_all(origin, addresses.iter().copied())?;
        self.pinned
            .push(PinnedHost::new(name.clone(), is_listed, addresses));
        Ok(())
    }

    /// Returns the permitted addresses of `origin`, without a lookup.
    pub(super) fn addresses(&self, origin: &Origin) -> Result<Addresses, NotPermitted> {
        Ok(match &origin.host {
            Host::Address(address) => {
                self.permissions.permit(origin, *address)?;
                Addresses::at(origin.port, &[*address])
            }
            host if host.is_localhost() => Addresses::at(
                origin.port,
                &[Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            ),
            Host::Name(name) => match self.pinned_host(name) {
                Some(pinned) => {
                    let addresses = &pinned.addresses;
                    self.permissions
                        .permit_all(origin, addresses.iter().copied())?;
                    Addresses::at(origin.port, addresses)
                }
                None => return Err(self.permissions.refuse_unknown(origin)),
            },
        })
    }

    /// The addresses for a new connection to `origin`; `None` where they are those of before the run.
    pub(super) async fn addresses_now(
        &self,
        origin: &Origin,
    ) -> Option<Result<Addresses, Failure>> {
        let pinned = match &origin.host {
            Host::Name(name) if self.dns == Dns::Ttl => self.pinned_host(name)?,
            _ => return None,
        };
        let found = pinned.lookup.addresses(&self.resolver).await;
        Some(found.and_then(|addresses| {
            self.permissions
                .permit_again(origin, &pinned.addresses, &addresses)
                .map_err(|refusal| Failure::new(ErrorKind::GuardBlocked, refusal.to_string()))?;
            Ok(Addresses::at(origin.port, &addresses))
        }))
    }

    fn pinned_host(&self, name: &str) -> Option<&PinnedHost> {
        self.pinned.iter().find(|pinned| pinned.name == name)
    }
}

/// Opens and closes a TCP connection.
async fn probe_tcp(address: SocketAddr) -> io::Result<()> {
    let connected = timeout(REACH_TIMEOUT, TcpStream::connect(address)).await;
    connected.map_err(|_| io::ErrorKind::TimedOut)?.map(drop)
}

impl PinnedHost {
    fn new(name: String, is_listed: bool, addresses: Vec<IpAddr>) -> Self {
        let addresses: Arc<[IpAddr]> = addresses.into();
        let lookup = NameLookup::new(name.clone(), is_listed, Arc::clone(&addresses)).into();
        Self {
            name,
            addresses,
            lookup,
        }
    }
}

impl Addresses {
    /// The one that the user with a number tries first.
    pub(super) fn of(&self, user: u64) -> usize {
        (user % self.spread as u64) as usize
    }

    fn at(port: u16, addresses: &[IpAddr]) -> Self {
        let first_family = addresses.first().is_some_and(IpAddr::is_ipv4);
        let (mut all, fallback): (Vec<_>, Vec<_>) = addresses
            .iter()
            .map(|ip| SocketAddr::new(*ip, port))
            .partition(|address| address.is_ipv4() == first_family);
        let spread = all.len();
        all.extend(fallback);
        let all = all.into();
        Self { all, spread }
    }
}

impl BaseUrl {
    fn parse(url: &str) -> Result<Self, NetworkError> {
        if url.contains('?') {
            return Err(bad_url(url, "a base URL has no query (`?`)".into()));
        }
        if url.contains('#') {
            return Err(bad_url(url, "a base URL has no fragment (`#`)".into()));
        }
        let (uri, origin) = parse_base_url(url).map_err(|reason| bad_url(url, reason))?;
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            origin,
            prefix: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

/// Reads an absolute URL; the reasons are ours, as those of the parser name no remedy.
fn parse_base_url(url: &str) -> Result<(Uri, Origin), Cow<'static, str>> {
    if url.is_empty() {
        return Err("it is empty".into());
    }
    if url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("it contains a space or a control character".into());
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err("it has no scheme (`http://` or `https://`)".into());
    };
    if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
        return Err(format!("the scheme `{scheme}` is neither http nor https").into());
    }
    if rest.is_empty() || rest.starts_with(['/', '?', '#', ':']) {
        return Err("it has no host".into());
    }
    let uri: Uri = url.parse().map_err(|error| format!("{error}"))?;
    let origin = Origin::from_uri(&uri)?;
    Ok((uri, origin))
}

fn bad_url(url: &str, reason: Cow<'static, str>) -> NetworkError {
    NetworkError::BadUrl {
        url: redact::redact(url),
        reason,
    }
}

/// The run id as a header value; what a header cannot hold becomes a dash.
fn header_safe_run_id(run_id: &str) -> HeaderValue {
    let text: String = run_id
        .chars()
        .map(|c| if c.is_ascii_graphic() { c } else { '-' })
        .collect();
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::HttpTransport;

    fn shop() -> Network {
        let addresses = ["127.0.0.1", "::1", "127.0.0.2"];
        Network {
            base: Some(BaseUrl::parse("http://shop:81/api/").unwrap()),
            permissions: Permissions::default(),
            caps: Vec::new(),
            licence: Arc::default(),
            resolver: Arc::new(Resolver::system()),
            pinned: vec![PinnedHost::new(
                "shop".to_owned(),
                false,
                addresses.map(|text| text.parse().unwrap()).to_vec(),
            )],
            origins: Vec::new(),
            proofs: Vec::new(),
            dns: Dns::default(),
            wants_tls: false,
            tls: TlsConfig::default(),
            http: HttpVersion::default(),
            connections: None,
            new_connections: false,
            cookies: Cookies::default(),
            run_id: header_safe_run_id("run \u{e9}\n7"),
        }
    }

    #[test]
    fn users_are_spread_over_the_pinned_addresses_of_one_family() {
        let network = Arc::new(shop());
        let first = |user| HttpTransport::new(Arc::clone(&network), user).first_address();
        let expected = ["127.0.0.1:81", "127.0.0.2:81"].map(|text| text.parse().unwrap());
        assert_eq!(network.base_addresses(), 2);
        for user in 0..6 {
            assert_eq!(first(user), expected[user as usize % 2], "user {user}");
        }
    }

    #[test]
    fn another_port_of_a_pinned_name_needs_no_lookup() {
        let network = shop();
        let origin = |url: &str| Origin::from_uri(&url.parse().unwrap()).unwrap();
        let addresses = network.addresses(&origin("https://SHOP./")).unwrap();
        assert_eq!(addresses.spread, 2);
        assert_eq!(
            addresses.all.last().map(ToString::to_string).as_deref(),
            Some("[::1]:443")
        );
        assert!(network.addresses(&origin("http://shop.test")).is_err());
    }

    #[test]
    fn a_run_id_is_made_fit_for_a_header() {
        assert_eq!(shop().run_id, "run---7");
    }
}
