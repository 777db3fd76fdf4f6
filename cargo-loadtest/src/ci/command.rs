//! What the log of a build server takes for a command, and how text is kept from being one.
//!
//! GitHub's runner reads commands from every line of both streams: `::name key=value::text` where a line begins
//! so, and the older `##[name]text` anywhere in it.

use loadtest_console::console;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;

/// The most characters that a command shows.
const LONGEST: usize = 2_000;

/// The word by which commands are taken again.
static TOKEN: OnceLock<String> = OnceLock::new();

/// From here on the runner takes no line for a command: what compilers, targets and scenarios print is theirs.
pub(super) fn stop() {
    let token = TOKEN.get_or_init(random_token);
    console::print_command(format_args!("::stop-commands::{token}"));
}

/// From here on it does again.
pub(super) fn resume() {
    if let Some(token) = TOKEN.get() {
        console::print_command(format_args!("::{token}::"));
    }
}

/// A word that nobody can know beforehand.
pub(super) fn random_token() -> String {
    let part = || RandomState::new().hash_one("token");
    format!("loadtest-{:016x}{:016x}", part(), part())
}

/// A command as a line.
pub(super) fn command_line(name: &str, properties: &[(&str, String)], text: &str) -> String {
    let mut line = format!("::{name}");
    let set = properties.iter().filter(|(_, value)| !value.is_empty());
    for (i, (key, value)) in set.enumerate() {
        let separator = if i == 0 { ' ' } else { ',' };
        let _ = write!(line, "{separator}{key}={}", escape_property(value));
    }
    format!("{line}::{}", escape_data(text))
}

fn escape_data(text: &str) -> String {
    let mut kept: String = text.chars().take(LONGEST).collect();
    if kept.len() < text.len() {
        kept.push_str(" …");
    }
    kept.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}
