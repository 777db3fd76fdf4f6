//! The connection to NATS, and the stream that keeps what agents measured.

use super::messages::ALL_PARCELS;
use super::refusal::{describe_denial, explain_refusal};
use crate::access::read_secret;
use crate::config::{ClusterConfig, is_loopback_host};
use async_nats::jetstream::stream::{Config as StreamConfig, StorageType, Stream};
use async_nats::{Client, ConnectOptions, ServerAddr};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::files;
use loadtest_model::display::format_span;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The oldest server whose consumers do not stall.
const OLDEST_SERVER: [u32; 3] = [2, 10, 27];
/// The name of the stream.
const STREAM: &str = "loadtest";
/// Messages of a run are kept for so long; nothing deletes them earlier.
const MAX_AGE: Duration = Duration::from_secs(15 * 60);
/// The most bytes that the stream keeps.
const MAX_BYTES: i64 = 1 << 30;
/// The time to wait for a server, and for each of its answers.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// The server, and how to be let in.
#[derive(Debug, Clone)]
pub(crate) struct ClusterAddress {
    pub(super) url: String,
    pub(super) server: ServerAddr,
    /// The certificates of its authority, beside those of the system.
    authority: Option<PathBuf>,
    /// A `.creds` file, or one with the secret key of a user.
    credentials: Option<PathBuf>,
    /// The variable of `user:password`.
    login: Option<String>,
    /// A certificate of our own and its key.
    pub(super) identity: Option<PathBuf>,
}

impl ClusterAddress {
    /// Takes the URL of the command line, else that of the configuration.
    ///
    /// # Errors
    /// When there is none, or one that is not safe to use.
    pub(crate) fn new(given: Option<&str>, config: &ClusterConfig) -> Result<Self, Error> {
        let url = given.or(config.url.as_deref()).unwrap_or_default();
        if url.trim().is_empty() {
            return Err(Error::usage("no cluster is given").with_help(
                "give `--cluster tls://nats.example.com:4222`, or `url` in `[cluster]` of `loadtest.toml`",
            ));
        }
        let server: ServerAddr = url.parse().map_err(|error| {
            Error::usage(format!(
                "`{url}` is not an address of a NATS server: {error}"
            ))
            .with_help("write for example `nats://127.0.0.1:4222` or `tls://nats.example.com:4222`")
        })?;
        if server.scheme() != "tls" && !is_loopback_host(server.host()) {
            return Err(Error::usage(format!(
                "`{url}` is not encrypted: without TLS, only servers on this machine are used"
            ))
            .with_help("write `tls://` instead of the scheme; `[cluster] ca` names the file of a private authority"));
        }
        if server.has_user_pass() {
            return Err(Error::usage(
                "the URL of the cluster holds a password, which process lists show",
            )
            .with_help(
                "name a variable that holds `user:password` with `[cluster] basic_env`, or set \
                 LOADTEST_CLUSTER_BASIC_ENV to its name",
            ));
        }
        if config.credentials.is_some() && config.basic_env.is_some() {
            return Err(Error::usage(
                "`[cluster]` has `credentials` or `basic_env`, not both",
            ));
        }
        Ok(Self {
            url: url.to_owned(),
            server,
            authority: config.ca.clone(),
            credentials: config.credentials.clone(),
            login: config.basic_env.clone(),
            identity: config.identity.clone(),
        })
    }

    /// Connects.
    ///
    /// # Errors
    /// When the server does not answer, refuses us, or is too old.
    pub(super) async fn connect(&self, name: &str) -> Result<Client, Error> {
        let denied = Mutex::new(BTreeSet::new());
        let url = self.url.clone();
        let mut options = ConnectOptions::new()
            .name(name)
            .event_callback(move |event| {
                // A server repeats itself for each message that it does not let through.
                let mut denied = denied.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(denial) = describe_denial(&url, &event)
                    && denied.insert(denial.subject)
                {
                    console::print_warning(denial.message);
                }
                std::future::ready(())
            })
            .connection_timeout(ANSWER_LIMIT)
            .request_timeout(Some(ANSWER_LIMIT))
            .ping_interval(Duration::from_secs(2))
            .reconnect_delay_callback(|tries| {
                Duration::from_millis(u64::try_from(tries.min(20)).unwrap_or(20) * 50)
            });
        if self.server.scheme() == "tls" {
            options = options.require_tls(true);
        }
        if let Some(file) = &self.authority {
            options = options.add_root_certificates(file.clone());
        }
        if let Some(file) = &self.credentials {
            options = identify(options, file)?;
        }
        if let Some(variable) = &self.login {
            let (user, password) = read_login(variable)?;
            options = options.user_and_password(user, password);
        }
        if let Some(file) = &self.identity {
            check_identity(file)?;
            // The certificates of the file are taken here, and its key there.
            options = options.add_client_certificate(file.clone(), file.clone());
        }
        let client = options.connect(self.server.clone()).await;
        let client = client.map_err(|error| explain_refusal(self, &error))?;
        let version = client.server_info().version;
        if !is_current(&version) {
            let [major, minor, patch] = OLDEST_SERVER;
            return Err(Error::usage(format!(
                "the NATS server at `{}` is {version}, whose consumers stall",
                self.url
            ))
            .with_help(format!("use {major}.{minor}.{patch} or newer")));
        }
        Ok(client)
    }
}

/// Presents the user of a `.creds` file, or of a secret key alone.
fn identify(options: ConnectOptions, file: &Path) -> Result<ConnectOptions, Error> {
    let text = files::read(file).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|_| std::io::Error::from(ErrorKind::InvalidData))
    });
    let identified = text.and_then(|text| match text.trim() {
        seed if seed.starts_with("SU") => Ok(options.nkey(seed.to_owned())),
        _ => options.credentials(&text),
    });
    identified.map_err(Error::io("read the credentials", file))
}

/// Reads user and password.
fn read_login(variable: &str) -> Result<(String, String), Error> {
    let wrong = |mistake: &str| {
        Error::usage(format!(
            "`basic_env` in `[cluster]` names the variable `{variable}`, which {mistake}"
        ))
    };
    let login = read_secret(variable).map_err(|mistake| wrong(&mistake))?;
    let (user, password) = login
        .split_once(':')
        .ok_or_else(|| wrong("holds no `user:password`"))?;
    Ok((user.to_owned(), password.to_owned()))
}

/// Checks that a file has what the client looks for in it: it would name neither the file nor the part.
fn check_identity(file: &Path) -> Result<(), Error> {
    let bytes = files::read(file).map_err(Error::io("read the certificate", file))?;
    let text = String::from_utf8_lossy(&bytes);
    for part in ["CERTIFICATE-----", "PRIVATE KEY-----"] {
        if !text.contains(part) {
            let what = part.trim_end_matches('-').to_lowercase();
            return Err(
                Error::usage(format!("`{}` holds no {what}", file.display())).with_help(
                    "`identity` in `[cluster]` is one PEM file with a certificate and its key: \
                     `cat agent.crt agent.key >agent.pem`",
                ),
            );
        }
    }
    Ok(())
}

/// Warns of a server by which no run can be made.
pub(super) fn warn_of_missing_streams(client: &Client) {
    if !client.server_info().jetstream {
        console::print_warning(
            "the NATS server keeps no streams, so no run can be made: start it with JetStream, `nats-server -js -sd FOLDER`",
        );
    }
}

/// Returns the stream, which is made where it is not there yet.
///
/// # Errors
/// When the server keeps no streams.
pub(super) async fn open_stream(client: &Client) -> Result<Stream, Error> {
    let config = StreamConfig {
        name: STREAM.to_owned(),
        subjects: vec![ALL_PARCELS.to_owned()],
        storage: StorageType::File,
        max_age: MAX_AGE,
        max_bytes: MAX_BYTES,
        ..StreamConfig::default()
    };
    make_stream(client, config).await
}

/// Returns a stream, which is made where it is not there yet.
///
/// # Errors
/// When the server keeps no streams.
pub(super) async fn make_stream(client: &Client, config: StreamConfig) -> Result<Stream, Error> {
    let context = async_nats::jetstream::new(client.clone());
    let stream = tokio::time::timeout(ANSWER_LIMIT, context.get_or_create_stream(config)).await;
    let reason = match stream {
        Ok(Ok(stream)) => return Ok(stream),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer in {}", format_span(ANSWER_LIMIT)),
    };
    let keeps_streams = client.server_info().jetstream;
    let (whose, help) = if keeps_streams {
        (
            " of this user",
            "let the user of the controller publish to `$JS.API.>` and subscribe to `_INBOX.>`; its account needs JetStream",
        )
    } else {
        ("", "start it with JetStream: `nats-server -js -sd FOLDER`")
    };
    let message = format!("the NATS server keeps no stream{whose}: {reason}");
    Err(Error::failure(message).with_help(help))
}

fn is_current(version: &str) -> bool {
    let core = version.split('-').next().unwrap_or_default();
    let numbers: Vec<u32> = core
        .split('.')
        .map_while(|number| number.parse().ok())
        .collect();
    numbers >= OLDEST_SERVER.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Result<ClusterAddress, Error> {
        ClusterAddress::new(Some(url), &ClusterConfig::default())
    }

    #[test]
    fn only_servers_of_this_machine_are_used_without_encryption() {
        for url in [
            "nats://127.0.0.1:4222",
            "localhost",
            "nats://[::1]:4222",
            "tls://nats.example.com",
        ] {
            assert!(address(url).is_ok(), "{url}");
        }
        for url in ["", " "] {
            assert!(
                address(url)
                    .unwrap_err()
                    .to_string()
                    .contains("no cluster is given"),
                "{url:?}"
            );
        }
        for url in ["nats://10.0.0.1:4222", "nats.example.com"] {
            assert!(
                address(url)
                    .unwrap_err()
                    .to_string()
                    .contains("is not encrypted"),
                "{url}"
            );
        }
        let wrong = address("nats://u:secret@127.0.0.1")
            .unwrap_err()
            .to_string();
        assert!(
            wrong.contains("holds a password") && !wrong.contains("secret"),
            "{wrong}"
        );
    }

    #[test]
    fn a_login_is_in_a_variable_and_is_the_only_one() {
        let config = ClusterConfig {
            credentials: Some("agent.creds".into()),
            basic_env: Some("NATS_LOGIN".to_owned()),
            ..ClusterConfig::default()
        };
        let both = ClusterAddress::new(Some("nats://127.0.0.1"), &config);
        let wrong = both.unwrap_err().to_string();
        assert!(wrong.contains("not both"), "{wrong}");
        let missing = read_login("LOADTEST_NO_SUCH_VARIABLE").unwrap_err();
        let wrong = missing.to_string();
        assert!(
            wrong.contains("`LOADTEST_NO_SUCH_VARIABLE`, which holds no value"),
            "{wrong}"
        );
    }

    #[test]
    fn an_identity_is_a_certificate_and_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("agent.pem");
        let certificate = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n";
        let key = "-----BEGIN EC PRIVATE KEY-----\n-----END EC PRIVATE KEY-----\n";
        for (text, lacks) in [
            (certificate, Some("holds no private key")),
            (key, Some("holds no certificate")),
            (&[certificate, key].concat(), None),
        ] {
            std::fs::write(&file, text).unwrap();
            let wrong = check_identity(&file).err().map(|error| error.to_string());
            assert_eq!(wrong.is_some(), lacks.is_some(), "{wrong:?}");
            assert!(
                wrong
                    .unwrap_or_default()
                    .contains(lacks.unwrap_or_default())
            );
        }
        assert!(check_identity(&folder.path().join("none")).is_err());
    }

    #[test]
    fn the_version_of_a_server_is_compared_number_by_number() {
        for old in ["2.9.10", "2.10.26", "1.99.99", "nonsense"] {
            assert!(!is_current(old), "{old}");
        }
        for current in ["2.10.27", "2.11.0-preview.2", "2.15.1", "3.0.0"] {
            assert!(is_current(current), "{current}");
        }
    }
}
