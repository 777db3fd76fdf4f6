//! One iteration, shown: every request and response, and the outcome of each step, without secrets.

mod body;
mod curl;
mod observer;
mod secret_names;
mod shell;

pub(crate) use curl::CurlTls;
pub(crate) use observer::DebugObserver;

/// Bytes as a word of a POSIX shell; without a NUL, which no argument can hold.
pub fn quote_for_shell(bytes: &[u8]) -> String {
    shell::shell_word(&[shell::ShellPiece::Plain(bytes.to_vec())])
}
