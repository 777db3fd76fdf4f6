//! Style sheet and script, in the program itself. Their addresses hold their digest, so that they can be kept.

use ring::digest::{SHA256, digest};
use std::fmt::Write as _;

const STYLE: &str = concat!(
    include_str!("../export/html/base.css"),
    include_str!("static/ui.css")
);
const SCRIPT: &str = concat!(
    include_str!("../export/html/chart.js"),
    include_str!("static/ui.js"),
    include_str!("static/keys.js"),
    include_str!("static/focus.js")
);

/// A file that pages load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asset {
    Style,
    Script,
}

impl Asset {
    const ALL: [Self; 2] = [Self::Style, Self::Script];

    /// Finds the file of a name; one of another version of the tool is not there.
    pub(super) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|asset| asset.name() == name)
    }

    /// Returns the name with the digest: `ui-1f3a9c02.css`.
    pub(super) fn name(self) -> String {
        let hash = digest(&SHA256, self.text().as_bytes());
        let hash = hash
            .as_ref()
            .iter()
            .take(4)
            .fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            });
        match self {
            Self::Style => format!("ui-{hash}.css"),
            Self::Script => format!("ui-{hash}.js"),
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Style => STYLE,
            Self::Script => SCRIPT,
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Style => "text/css; charset=utf-8",
            Self::Script => "text/javascript; charset=utf-8",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_and_style_are_small() {
        assert!(SCRIPT.len() <= 30_000, "{} bytes", SCRIPT.len());
        assert!(STYLE.len() <= 32_000, "{} bytes", STYLE.len());
    }
}
