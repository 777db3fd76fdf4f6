//! A dashboard for several people, behind a proxy that knows them.
//!
//! Nobody signs in here: the proxy does that, gives the name in a header, and proves itself by a secret that both have.

use super::{is_same_secret, single};
use http::{HeaderMap, HeaderName};
use loadtest_console::error::Error;
use url::Url;

/// The variable with the secret that the proxy sends.
pub(in crate::ui) const SECRET_VARIABLE: &str = "LOADTEST_PROXY_SECRET";
/// The header in which it sends it.
const SECRET_HEADER: HeaderName = HeaderName::from_static("x-loadtest-proxy-secret");
/// A secret can be guessed where it has fewer characters.
const SHORTEST_SECRET: usize = 32;

/// The proxy in front of a shared dashboard.
#[derive(Debug)]
pub(in crate::ui) struct Proxy {
    /// The origin of its pages: `https://loadtest.example`.
    origin: String,
    /// The header with the name of the user.
    user_header: HeaderName,
    secret: String,
}

impl Proxy {
    /// A proxy that serves `public_url`, and gives names in `user_header`.
    ///
    /// # Errors
    /// When the URL has more than an origin, the header is none, or the secret is missing or short.
    pub(in crate::ui) fn new(
        public_url: &str,
        user_header: &str,
        secret: Option<String>,
    ) -> Result<Self, Error> {
        let wrong = |reason: String| Error::usage(format!("`--public-url {public_url}`: {reason}"));
        let url = Url::parse(public_url).map_err(|error| wrong(error.to_string()))?;
        let is_web = matches!(url.scheme(), "http" | "https");
        let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        if !(is_web && is_bare && is_anonymous) {
            let reason = "it may have only a scheme and a host";
            return Err(
                wrong(reason.to_owned()).with_help("such as `https://loadtest.example.com`")
            );
        }
        let user_header = HeaderName::try_from(user_header).map_err(|_| {
            Error::usage(format!("`--user-header`: `{user_header}` is not a header"))
        })?;
        let secret = secret.filter(|secret| secret.len() >= SHORTEST_SECRET).ok_or_else(|| {
            Error::usage(format!(
                "a shared dashboard needs the secret of its proxy in `{SECRET_VARIABLE}`, of {SHORTEST_SECRET} characters or more"
            ))
            .with_help(format!("the proxy sends it as `{SECRET_HEADER}`; `openssl rand -hex 32` makes one"))
        })?;
        Ok(Self {
            origin: url.origin().ascii_serialization(),
            user_header,
            secret,
        })
    }

    pub(in crate::ui) fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the name of the user that the proxy gives; none where the request did not come from it.
    pub(super) fn user(&self, headers: &HeaderMap) -> Option<String> {
        let secret = single(headers, &SECRET_HEADER)?;
        if !is_same_secret(secret, &self.secret) {
            return None;
        }
        let user = single(headers, &self.user_header)?.trim();
        (!user.is_empty()).then(|| user.to_owned())
    }
}
