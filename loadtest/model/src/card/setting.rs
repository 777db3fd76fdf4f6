//! The settings of a run.

use crate::definition::{HttpVersion, Load, Shape};
use crate::display;
use crate::record::PermittedBy;
use crate::record::ScenarioRecord;
use serde::Serialize;
use std::time::Duration;

/// The settings of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Setting {
    /// The hash of the scenario's source.
    pub fingerprint: String,
    /// The version that the scenario declares.
    pub version: Option<String>,
    /// The load in words.
    pub load: String,
    /// No load was given, so that the default applied.
    pub default_load: bool,
    /// Iterations arrive at a rate, whatever the target does.
    pub open_model: bool,
    /// The most virtual users that the load could use.
    pub max_users: u32,
    /// The seed.
    pub seed: u64,
    /// The base URL the paths were joined to.
    pub base_url: Option<String>,
    /// True if the scenario started the target itself.
    pub own_target: bool,
    /// The permission of each target, in words; targets on this machine need none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub permits: Vec<String>,
    /// The evidence that only loopback could be reached, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offline: Option<String>,
    /// The version of HTTP that users speak, and the connections that they have, in words.
    pub client: String,
    /// The certificate of the target was not checked, as the scenario asked for.
    pub insecure: bool,
    /// SHA-256 of the executable that ran it.
    pub executable_hash: String,
    /// Worker threads.
    pub workers: u32,
    /// The time it began, RFC 3339 in UTC.
    pub started_at: String,
    /// From the start of the load to the end of the last iteration, warm-up included.
    pub elapsed_us: u64,
    /// The length of the measured part.
    pub steady_us: u64,
    /// The flags of the command line that make of the scenario what was run, for a shell: the load and the
    /// base URL, where they are not those that it declares.
    #[serde(skip)]
    pub flags: Vec<String>,
}

impl Setting {
    pub(super) fn from_record(record: &ScenarioRecord) -> Self {
        Self {
            fingerprint: record.start.definition.fingerprint.to_string(),
            version: record
                .start
                .definition
                .version
                .as_deref()
                .map(str::to_owned),
            load: display::format_planned_load(&record.start.plan),
            default_load: record.start.plan.default_load,
            open_model: record.start.plan.load.is_open(),
            max_users: record.start.plan.max_users,
            seed: record.start.plan.seed,
            base_url: record.start.base_url.clone(),
            own_target: record.start.own_target,
            permits: record
                .start
                .permits
                .iter()
                .filter(|permit| permit.by != PermittedBy::Loopback)
                .map(ToString::to_string)
                .collect(),
            offline: record.start.offline.as_ref().map(ToString::to_string),
            client: describe_client(record),
            insecure: record.start.definition.client.insecure,
            executable_hash: record.start.executable_hash.clone(),
            workers: record.start.workers,
            started_at: record.start.started_at.clone(),
            elapsed_us: record.end.elapsed_us,
            steady_us: record.end.steady_us,
            flags: reproduce_flags(record),
        }
    }
}

/// `HTTP/2, 8 connections that all users share`.
fn describe_client(record: &ScenarioRecord) -> String {
    let client = &record.start.definition.client;
    let base = record.start.base_url.as_deref();
    let version = match client.http {
        HttpVersion::Http1 => "HTTP/1.1",
        HttpVersion::Http2 => "HTTP/2",
        HttpVersion::Http3 => "HTTP/3",
        HttpVersion::Negotiated => match base {
            Some(base) if base.starts_with("http:") => "HTTP/1.1",
            _ => "HTTP/1.1, or 2 where the target chooses it",
        },
    };
    let connections = match client.connections {
        Some(count) => {
            let connections = display::format_counted(count.into(), "connection");
            format!("{connections} that all users share")
        }
        None if client.new_connections => "new connections for each journey".to_owned(),
        None => "a connection for each user".to_owned(),
    };
    format!("{version}, {connections}")
}

fn reproduce_flags(record: &ScenarioRecord) -> Vec<String> {
    let default = Load::DEFAULT;
    let declared = record.start.definition.load.as_ref().unwrap_or(&default);
    let ran = &record.start.plan.load;
    let mut flags = Vec::new();
    if ran.shape != declared.shape {
        match &ran.shape {
            Shape::Rate {
                per_second,
                ramp_up,
                duration,
            } => {
                flags.push(format!("--rate {per_second}/s"));
                flags.extend(format_course(*ramp_up, *duration));
            }
            Shape::Users {
                users,
                ramp_up,
                duration,
            } => {
                flags.push(format!("--users {users}"));
                flags.extend(format_course(*ramp_up, *duration));
            }
            Shape::Iterations {
                count,
                users,
                per_user: true,
            } => {
                let each = count / u64::from((*users).max(1));
                flags.push(format!("--iterations {each}/user --users {users}"));
            }
            Shape::Iterations { count, users, .. } => {
                flags.push(format!("--iterations {count} --users {users}"));
            }
            // The command line makes no stages.
            Shape::RateStages { .. } | Shape::UserStages { .. } => {}
        }
    }
    let base = record
        .start
        .base_url
        .as_deref()
        .filter(|_| !record.start.own_target);
    if let Some(base) = base.filter(|base| record.start.definition.base.as_deref() != Some(*base)) {
        flags.push(format!("--base-url {}", quote_word(base)));
    }
    flags
}

fn format_course(ramp_up: Duration, duration: Duration) -> [String; 2] {
    [
        format!("--ramp-up {}", format_flag(ramp_up)),
        format!("--duration {}", format_flag(duration)),
    ]
}

/// `8s`, `1500ms`.
fn format_flag(time: Duration) -> String {
    if time.subsec_nanos() == 0 {
        format!("{}s", time.as_secs())
    } else {
        format!("{}ms", time.as_secs_f64() * 1e3)
    }
}

/// A word of a POSIX shell.
fn quote_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._~:/%@".contains(letter);
    if text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::sample;

    #[test]
    fn the_client_is_described_by_its_version_and_its_connections() {
        let mut record = sample::record(&["login"]);
        let mut described = |base: Option<&str>, http, connections| {
            record.start.base_url = base.map(str::to_owned);
            let client = &mut record.start.definition.client;
            (client.http, client.connections) = (http, connections);
            Setting::from_record(&record).client
        };
        let plain = Some("http://127.0.0.1");
        let own = "HTTP/1.1, a connection for each user";
        assert_eq!(described(plain, HttpVersion::Negotiated, None), own);
        assert_eq!(
            described(Some("https://h"), HttpVersion::Negotiated, None),
            "HTTP/1.1, or 2 where the target chooses it, a connection for each user"
        );
        assert_eq!(described(Some("https://h"), HttpVersion::Http1, None), own);
        assert_eq!(
            described(plain, HttpVersion::Http2, Some(8)),
            "HTTP/2, 8 connections that all users share"
        );
        assert_eq!(
            described(plain, HttpVersion::Http2, Some(1)),
            "HTTP/2, 1 connection that all users share"
        );
        assert_eq!(
            described(None, HttpVersion::Http3, None),
            "HTTP/3, a connection for each user"
        );
    }

    #[test]
    fn the_flags_make_of_the_scenario_what_was_run() {
        let mut record = sample::record(&["login"]);
        record.start.base_url = None;
        assert!(reproduce_flags(&record).is_empty());
        record.start.plan.load = Load::new(Shape::Rate {
            per_second: 12.5,
            ramp_up: Duration::from_millis(1_500),
            duration: Duration::from_secs(90),
        });
        assert_eq!(
            reproduce_flags(&record),
            ["--rate 12.5/s", "--ramp-up 1500ms", "--duration 90s"]
        );
        record.start.plan.load = Load::iterations_per_user(3, 3);
        assert_eq!(reproduce_flags(&record), ["--iterations 3/user --users 3"]);
        record.start.plan.load = Load::iterations(9, 3);
        record.start.base_url = Some("http://127.0.0.1:8080/it's?a&b".to_owned());
        assert_eq!(
            reproduce_flags(&record),
            [
                "--iterations 9 --users 3",
                r"--base-url 'http://127.0.0.1:8080/it'\''s?a&b'"
            ]
        );
        record.start.own_target = true;
        assert_eq!(reproduce_flags(&record).len(), 1);
    }
}
