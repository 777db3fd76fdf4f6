//! The waits of tool, load test and agent: a section of `docs/faults.md`, with the limits that the code has.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const RUN: &str = "loadtest/src";
const MODEL: &str = "loadtest/model/src";
const TOOL: &str = "cargo-loadtest/src";

/// Room, file, constant, what is waited for, what happens then.
type Wait = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// In the order of a run. Deadlines that a scenario, a file or an option sets have the value that they have without.
#[rustfmt::skip]
const WAITS: &[Wait] = &[
    (RUN, "chain/renewed_setup.rs", "FETCH_LIMIT", "a setup that is fetched again during the load", "it counts as failed, and the old value is used while it is valid"),
    (TOOL, "session/mod.rs", "LIST_LIMIT", "a load test that lists its scenarios", "the command fails"),
    (RUN, "harness/permission.rs", "FETCH_TIMEOUT", "the file of a target that permits the test", "the run does not begin, or ends"),
    (RUN, "targets/own/serve.rs", "START_TIMEOUT", "a target within the load test, to listen", "the setup fails"),
    (RUN, "targets/own/serve.rs", "CONNECT_TIMEOUT", "one attempt to connect to it", "it is tried again"),
    (RUN, "targets/own/ready.rs", "PROBE_TIMEOUT", "one check that a started target is ready", "it is checked again, until the limit of the setup"),
    (RUN, "transport/network.rs", "REACH_TIMEOUT", "a connection to the target before the run; over HTTP/3 each of its first answer, the rest of the handshake and permission to send", "the run does not begin"),
    (RUN, "transport/connection.rs", "QUIC_PATIENCE", "each of these parts of an HTTP/3 connection in the load", "`connect.timeout`"),
    (MODEL, "definition/stream.rs", "TIMEOUT", "a step that reads a stream, without `timeout`", "`timeout.total`"),
    (MODEL, "definition/stream.rs", "IDLE", "the next event of a stream, without `idle`", "`timeout.event`"),
    (MODEL, "definition/repeat.rs", "WITHIN", "the condition of `until`, without `within`", "the step fails"),
    (MODEL, "definition/rendezvous.rs", "WITHIN", "the users of a rendezvous, without `within`", "the waiting users continue"),
    (RUN, "transport/stream.rs", "END_OF_BODY", "the end of a body after the end mark of its stream", "the connection is not used again"),
    (RUN, "transport/websocket/connection.rs", "CLOSING_TIME", "the close frame of a target", "the connection is closed without it"),
    (RUN, "harness/capacity.rs", "OBSERVED_PATIENCE", "the last figures of the target's side after a trial", "the search continues without them"),
    (TOOL, "observe/source.rs", "PATIENCE", "an answer of a source of figures", "a gap in its figures"),
    (TOOL, "post.rs", "ATTEMPT", "one attempt of a message to another service", "it is tried again, five times in all"),
    (MODEL, "plan/mod.rs", "GRACEFUL_STOP", "journeys in progress at the end of the load, without `graceful_stop`", "they are cancelled"),
    (RUN, "engine/collector.rs", "STUCK_TIMEOUT", "a worker that has not reported after that", "the run ends without it"),
    (RUN, "engine/collector.rs", "ABORTED_STUCK_TIMEOUT", "the same after an abort", "the run ends without it"),
    (RUN, "harness/control_pipe.rs", "STOP_GRACE", "setups and teardowns after Ctrl-C", "they are given up"),
    (RUN, "targets/own/serve.rs", "STOP_TIMEOUT", "the end of a target within the load test", "its thread is left"),
    (RUN, "targets/own/process.rs", "DRAIN_TIMEOUT", "the last output of a started target that has ended", "the rest is not read"),
    (TOOL, "session/mod.rs", "ABORT_LIMIT", "a load test that is aborted", "it is killed"),
    (TOOL, "session/group.rs", "LAST_OUTPUT", "its last output", "the rest is not read"),
    (TOOL, "telemetry/hub.rs", "WAIT", "sinks at the end of a run", "the rest is counted as lost"),
    (TOOL, "telemetry/sink/prometheus.rs", "LINGER", "a last scrape", "the run ends without it"),
    (TOOL, "telemetry/sink/prometheus.rs", "PATIENCE", "a client that scrapes", "its connection is closed"),
    (TOOL, "notify/outbox.rs", "ALL", "all attempts of a notification", "no further attempt starts"),
    (TOOL, "notify/mod.rs", "WAIT", "pending notifications at the end of a run", "they are given up"),
    (TOOL, "ui/server.rs", "HEAD_LIMIT", "the head of a request to the dashboard", "its connection is closed"),
    (TOOL, "ui/server.rs", "LAST_ANSWERS", "answers of the dashboard at its end", "their connections are closed"),
    (TOOL, "ui/mod.rs", "ASK_LIMIT", "an answer of a dashboard that may be running already", "it counts as ended"),
    (TOOL, "cluster/connection.rs", "ANSWER_LIMIT", "a NATS server, and each of its answers", "the command fails, or asks again"),
    (TOOL, "cluster/bundles.rs", "PIECE_LIMIT", "one piece of a bundle", "it is asked for again, three times in all"),
    (TOOL, "cluster/bundles.rs", "DOWNLOAD_LIMIT", "a bundle, by an agent", "the agent says so, and the run does not begin"),
    (TOOL, "cluster/bundles.rs", "TAKE_LIMIT", "agents that get their bundle", "the run does not begin"),
    (TOOL, "cluster/engage.rs", "REPLACEMENT_LIMIT", "replacements for busy agents", "the run does not begin"),
    (TOOL, "cluster/conduct.rs", "PREPARATION_LIMIT", "agents that prepare", "the run does not begin"),
    (TOOL, "cluster/course.rs", "SILENCE", "a message of an agent", "it counts as lost"),
    (TOOL, "cluster/conduct.rs", "SILENCE_AFTER_OUTAGE", "the same after an outage of the controller's own connection", "it counts as lost"),
    (TOOL, "cluster/work.rs", "SILENCE", "a message of the controller, by an agent", "the agent stops its load"),
    (TOOL, "cluster/controller.rs", "ORPHAN_LIMIT", "a NATS server that went away during a run, without `orphan_after`", "the agents stop their load"),
    (TOOL, "cluster/work.rs", "ABORT_LIMIT", "a load test of an agent that is aborted", "it is killed"),
    (TOOL, "cluster/forward.rs", "ACK_LIMIT", "the server to take a part of a journal", "it is sent again"),
    (TOOL, "cluster/work.rs", "DELIVERY_LIMIT", "the last parts of the journals, by an agent", "it gives up, and keeps them"),
    (TOOL, "cluster/parcels.rs", "WAIT", "parts of journals, by the controller", "it asks again"),
    (TOOL, "cluster/parcels.rs", "CONSUMER_LIMIT", "each answer of the server about them", "it asks again"),
    (TOOL, "cluster/conduct.rs", "OVERDUE", "agents whose load is over", "the run ends with what is known"),
    (TOOL, "cluster/conduct.rs", "DRAIN_LIMIT", "the rest of the journals in the end", "the record is made without it"),
];

/// Renders the section.
///
/// # Panics
/// A file or a constant is gone.
pub fn render_waits() -> String {
    let mut section = "\n## Waits\n\n\
        The longest waits of tool, load test and agent, in addition to the `timeout` of steps. If an option sets a limit, the table shows its default.\n\n\
        | what | at most | then |\n|---|---|---|\n"
        .to_owned();
    for (room, file, name, what, then) in WAITS {
        let limits = durations(&workspace().join(room).join(file));
        let limit = limits.into_iter().find(|(known, _)| known == name);
        let (_, ms) = limit.unwrap_or_else(|| panic!("{room}/{file} has no `{name}`"));
        let limit = if ms % 1_000 == 0 {
            format!("{} s", ms / 1_000)
        } else {
            format!("{ms} ms")
        };
        let _ = writeln!(section, "| {what} | {limit} | {then} |");
    }
    section
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Reads the constants of a file that are durations, in milliseconds; those of its tests are none.
fn durations(file: &Path) -> Vec<(String, u64)> {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let text = text.split("\nmod tests {").next().unwrap_or_default();
    let constants = text.lines().filter_map(|line| {
        let (_, constant) = line.split_once("const ")?;
        let (name, value) = constant.split_once(": Duration = Duration::from_")?;
        let (unit, value) = value.strip_suffix(");")?.split_once('(')?;
        let factors = value
            .split(" * ")
            .map(|factor| factor.replace('_', "").parse::<u64>());
        let value: u64 = factors.map(|factor| factor.expect("a number")).product();
        match unit {
            "secs" => Some((name.to_owned(), value * 1_000)),
            "millis" => Some((name.to_owned(), value)),
            _ => None,
        }
    });
    constants.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a constant with one of these endings limits is in the list.
    const ENDINGS: [&str; 6] = ["TIMEOUT", "LIMIT", "PATIENCE", "SILENCE", "GRACE", "WAIT"];
    /// The longest that may be declared; nothing waits so long by itself.
    const NO_WAITS: [&str; 1] = ["MAX_TIMEOUT"];

    #[test]
    fn the_list_of_waits_has_the_limits_of_the_code() {
        let page = fs::read_to_string(workspace().join("docs/faults.md")).unwrap();
        let section = render_waits();
        assert!(
            page.contains(&section),
            "docs/faults.md lacks this section:\n{section}"
        );
    }

    #[test]
    fn every_limit_of_a_wait_is_in_the_list() {
        let mut missing = Vec::new();
        for room in [RUN, MODEL, TOOL] {
            let mut folders = vec![workspace().join(room)];
            while let Some(folder) = folders.pop() {
                for entry in fs::read_dir(folder).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_dir() && !path.ends_with("tests") {
                        folders.push(path);
                    } else if path.extension().is_some_and(|end| end == "rs") {
                        let file = path.strip_prefix(workspace().join(room)).unwrap();
                        let limits = durations(&path).into_iter().map(|(name, _)| name);
                        missing.extend(
                            limits
                                .filter(|name| ENDINGS.iter().any(|end| name.ends_with(end)))
                                .filter(|name| !NO_WAITS.contains(&&**name))
                                .filter(|name| {
                                    !WAITS.iter().any(|(known, of, wait, ..)| {
                                        (*known, Path::new(of), *wait) == (room, file, &**name)
                                    })
                                })
                                .map(|name| format!("{room}/{}: {name}", file.display())),
                        );
                    }
                }
            }
        }
        assert_eq!(missing, [""; 0]);
    }
}
