//! Targets that a scenario starts itself, and stops at its end.

/// A server under test that belongs to the run.
#[derive(Debug)]
pub struct Target {
    url: String,
}

impl Target {
    /// The base URL of the target.
    pub fn url(&self) -> &str {
        &self.url
    }
}
