//! What the log of a build server takes for a command, and how text is kept from being one.
//!
//! GitHub's runner reads commands from every line of both streams: `::name key=value::text` where a line begins
//! so, and the older `##[name]text` anywhere in it.

use crate::console;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;

/// The most characters that a command shows.
const LONGEST: usize = 2_000;

/// The word by which commands are taken again.
static TOKEN: OnceLock<String> = OnceLock::new();

/// From here on the runner takes no line for a command: what compilers, targets and scenarios print is theirs.
pub(super) fn stop() {
    let token = TOKEN.get_or_init(random);
    console::print_command(format_args!("::stop-commands::{token}"));
}

/// From here on it does again.
pub(super) fn resume() {
    if let Some(token) = TOKEN.get() {
        console::print_command(format_args!("::{token}::"));
    }
}

/// A word that nobody can know beforehand.
pub(super) fn random() -> String {
    let part = || RandomState::new().hash_one("token");
    format!("loadtest-{:016x}{:016x}", part(), part())
}

/// A command as a line.
pub(super) fn line(name: &str, properties: &[(&str, String)], text: &str) -> String {
    let mut line = format!("::{name}");
    let set = properties.iter().filter(|(_, value)| !value.is_empty());
    for (i, (key, value)) in set.enumerate() {
        let separator = if i == 0 { ' ' } else { ',' };
        let _ = write!(line, "{separator}{key}={}", property(value));
    }
    format!("{line}::{}", data(text))
}

fn data(text: &str) -> String {
    let mut kept: String = text.chars().take(LONGEST).collect();
    if kept.len() < text.len() {
        kept.push_str(" …");
    }
    kept.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
