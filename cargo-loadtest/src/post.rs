//! One request to another system, a delivery by POST or a question by GET, and what its answer means.

use crate::config::is_loopback;
use loadtest::redact;
use loadtest_console::console;
use std::hash::{BuildHasher as _, RandomState};
use std::io::Read as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use ureq::http::header::{CONTENT_TYPE, RETRY_AFTER};
use ureq::http::{Response, StatusCode};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body};
use url::Url;

/// The most attempts of a delivery.
pub(crate) const ATTEMPTS: u32 = 5;
/// The longest time of an attempt.
pub(crate) const ATTEMPT: Duration = Duration::from_secs(10);
/// The pause after the first failure; each further one is twice as long.
pub(crate) const PAUSE: Duration = Duration::from_millis(500);
/// The bytes of an answer that are read, for the reason of a refusal.
const READ: u64 = 1_024;
/// The characters of these that are shown.
const SHOWN: usize = 100;
/// The longest head of an answer.
const HEAD: usize = 16 * 1_024;

/// A message and its receiver.
#[derive(Clone)]
pub(crate) struct PostRequest {
    pub(crate) url: Url,
    pub(crate) content_type: &'static str,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// The reason why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Undelivered {
    /// Another attempt would end in the same way.
    Refused(String),
    /// Another one may not.
    Failed {
        why: String,
        /// The pause that the receiver asks for.
        after: Option<Duration>,
    },
}

/// Sends a request once; the agent bounds the time. Returns the answer of a receiver that has it.
///
/// # Errors
/// The reason why it was not delivered.
pub(crate) fn send_request(
    agent: &Agent,
    request: &PostRequest,
) -> Result<Response<Body>, Undelivered> {
    let mut call = agent
        .post(request.url.as_str())
        .header(CONTENT_TYPE, request.content_type);
    for (name, value) in &request.headers {
        call = call.header(name, value);
    }
    match call.send(&request.body) {
        Ok(response) => judge_answer(response),
        Err(error) => Err(judge_error(&error)),
    }
}

/// Asks for a page once; the agent bounds the time.
///
/// # Errors
/// The reason why there is no answer that can be used.
pub(crate) fn fetch_page(
    agent: &Agent,
    url: &Url,
    headers: &[(String, String)],
) -> Result<Response<Body>, String> {
    let mut call = agent.get(url.as_str());
    for (name, value) in headers {
        call = call.header(name, value);
    }
    let judged = match call.call() {
        Ok(response) => judge_answer(response),
        Err(error) => Err(judge_error(&error)),
    };
    judged.map_err(|failed| match failed {
        Undelivered::Refused(why) | Undelivered::Failed { why, .. } => why,
    })
}

/// Prepares connections for requests to `url`, each of which may take as long as `limit`. They go through the proxy that
/// `ALL_PROXY`, `HTTPS_PROXY` or `HTTP_PROXY` names, unless `NO_PROXY` or this machine has the host.
pub(crate) fn build_agent(url: &Url, limit: Duration) -> Agent {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_response_header_size(HEAD)
        .timeout_global(Some(limit))
        .user_agent(concat!("loadtest/", env!("CARGO_PKG_VERSION")));
    if is_loopback(url) {
        // A proxy on another machine would be given what is meant for this one, with its tokens.
        config = config.proxy(None);
    }
    if url.scheme() == "https" {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::clone(read_authorities())))
            .unversioned_rustls_crypto_provider(provider);
        config = config.tls_config(tls.build());
    }
    config.build().new_agent()
}

/// Whom the system trusts; read once.
fn read_authorities() -> &'static Arc<Vec<Certificate<'static>>> {
    static AUTHORITIES: OnceLock<Arc<Vec<Certificate<'static>>>> = OnceLock::new();
    AUTHORITIES.get_or_init(|| {
        // What cannot be read is missing, and the handshake says so.
        let found = rustls_native_certs::load_native_certs().certs;
        let certificates = found
            .iter()
            .map(|certificate| Certificate::from_der(certificate).to_owned());
        Arc::new(certificates.collect())
    })
}

fn judge_answer(response: Response<Body>) -> Result<Response<Body>, Undelivered> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let words = status.to_string();
    if status.is_redirection() {
        return Err(Undelivered::Refused(format!(
            "{words}: redirects are not followed"
        )));
    }
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        let after = response.headers().get(RETRY_AFTER);
        let after = after.and_then(|value| value.to_str().ok());
        return Err(Undelivered::Failed {
            why: words,
            after: after.and_then(|value| Some(Duration::from_secs(value.trim().parse().ok()?))),
        });
    }
    let said = read_reason(response);
    Err(Undelivered::Refused(if said.is_empty() {
        words
    } else {
        format!("{words}: {said}")
    }))
}

/// The first line of an answer, as it may be shown.
fn read_reason(mut response: Response<Body>) -> String {
    let mut bytes = Vec::new();
    // What came before the connection broke says as much.
    let _ = response
        .body_mut()
        .as_reader()
        .take(READ)
        .read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = console::clean(&redact::redact(line.unwrap_or_default()));
    // A page for people says nothing in its first line.
    if line.starts_with('<') {
        return String::new();
    }
    line.chars().take(SHOWN).collect()
}

/// Explains why there was no answer. No word of it comes from the URL, which may be a secret.
fn judge_error(error: &ureq::Error) -> Undelivered {
    let certificate = match error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<rustls::Error>()),
        _ => None,
    };
    if let Some(error) = certificate {
        return Undelivered::Refused(match error {
            rustls::Error::InvalidCertificate(_) => {
                format!("its certificate is not trusted here: {error}")
            }
            error => format!("TLS failed: {error}"),
        });
    }
    let why = match error {
        ureq::Error::Timeout(_) => "no answer in time".to_owned(),
        ureq::Error::HostNotFound => "its name is unknown".to_owned(),
        ureq::Error::Io(error) => match error.kind() {
            std::io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
            // The standard library has no kind for it.
            _ if error.to_string().contains("lookup address") => "its name is unknown".to_owned(),
            kind => kind.to_string(),
        },
        ureq::Error::ConnectProxyFailed(_) => "the proxy does not connect".to_owned(),
        ureq::Error::ConnectionFailed => "no connection".to_owned(),
        ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) => {
            "its answer is not HTTP".to_owned()
        }
        _ => "it could not be sent".to_owned(),
    };
    Undelivered::Failed { why, after: None }
}

/// Returns the pause after a failed attempt, the first of which is 1. `random`, from 0 to 1, keeps many runs from
/// asking a receiver at the same moment.
pub(crate) fn pause_after(attempt: u32, asked: Option<Duration>, random: f64) -> Duration {
    let longest = PAUSE * 2_u32.pow(attempt.min(ATTEMPTS) - 1);
    let pause = longest.mul_f64(0.5 + random / 2.0);
    // A receiver that names a time knows better, and is never asked before it.
    asked.map_or(pause, |asked| asked.max(pause))
}

/// Returns a random number from 0 to 1.
pub(crate) fn random_share() -> f64 {
    RandomState::new().hash_one("pause") as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_nobody_knows_is_told_as_such() {
        let unknown = std::io::Error::other(
            "failed to lookup address information: Name or service not known",
        );
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        for (error, told) in [
            (unknown, "its name is unknown"),
            (refused, "connection refused"),
        ] {
            let expected = Undelivered::Failed {
                why: told.to_owned(),
                after: None,
            };
            assert_eq!(judge_error(&ureq::Error::Io(error)), expected);
        }
    }
}
