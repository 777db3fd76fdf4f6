//! Targets that a scenario starts itself, and stops at its end.

/// A server under test that belongs to the run.
#[derive(Debug)]
pub struct Target {
    url: String,
}

impl Target {
    /// A target that somebody else started and stops.
    pub fn external(url: String) -> Self {
        Self { url }
    }

    /// The base URL of the target.
    pub fn url(&self) -> &str {
        &self.url
    }
}
