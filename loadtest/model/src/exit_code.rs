//! The exit codes of the tool: one type for commands, records, reports and webhooks.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How `cargo loadtest` ends. The numbers are stable: a pipeline may rely on them (`docs/exit-codes.md`).
///
/// The order is that of severity: of several scenarios, the greatest wins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub enum ExitCode {
    /// 0: passed.
    #[default]
    Passed,
    /// 99: a limit does not hold, or something regressed.
    GateFailed,
    /// 102: the generator measured itself.
    Invalid,
    /// 3: nothing was selected or measured.
    NothingFound,
    /// 105: stopped before the end.
    Interrupted,
    /// 100: the setup failed, or the target cannot be reached.
    SetupFailed,
    /// 103: the target is not one that may be tested.
    NotPermitted,
    /// 2: a mistake in the command line, the configuration or a scenario.
    Usage,
    /// 101: the build failed; as cargo ends.
    BuildFailed,
    /// 1: anything else.
    Internal,
}

impl ExitCode {
    /// All of them, the least severe first.
    pub const ALL: [Self; 10] = [
        Self::Passed,
        Self::GateFailed,
        Self::Invalid,
        Self::NothingFound,
        Self::Interrupted,
        Self::SetupFailed,
        Self::NotPermitted,
        Self::Usage,
        Self::BuildFailed,
        Self::Internal,
    ];

    /// The number that the process ends with.
    pub const fn number(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Internal => 1,
            Self::Usage => 2,
            Self::NothingFound => 3,
            Self::GateFailed => 99,
            Self::SetupFailed => 100,
            Self::BuildFailed => 101,
            Self::Invalid => 102,
            Self::NotPermitted => 103,
            Self::Interrupted => 105,
        }
    }

    /// Returns the most severe of several; [`Passed`](Self::Passed) without any.
    pub fn worst_of(codes: impl IntoIterator<Item = Self>) -> Self {
        codes.into_iter().max().unwrap_or_default()
    }
}

impl From<ExitCode> for u8 {
    fn from(code: ExitCode) -> Self {
        code.number()
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}

impl TryFrom<u8> for ExitCode {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|code| code.number() == number)
            .ok_or_else(|| format!("{number} is not an exit code of `cargo loadtest`"))
    }
}

impl fmt::Display for ExitCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_several_codes_is_the_most_severe() {
        let worst = |codes: &[u8]| {
            let codes = codes.iter().map(|code| ExitCode::try_from(*code).unwrap());
            ExitCode::worst_of(codes).number()
        };
        assert_eq!(worst(&[0, 99, 0]), 99);
        assert_eq!(worst(&[99, 102]), 102);
        assert_eq!(worst(&[102, 3]), 3);
        assert_eq!(worst(&[3, 105, 99]), 105);
        assert_eq!(worst(&[105, 103]), 103);
        assert_eq!(worst(&[103, 2, 100]), 2);
        assert_eq!(worst(&[2, 101]), 101);
        assert_eq!(worst(&[101, 1]), 1);
        assert_eq!(worst(&[]), 0);
    }

    #[test]
    fn the_documentation_lists_each_code() {
        let text = include_str!("../../../docs/exit-codes.md");
        let rows: Vec<u8> = text
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok())
            .collect();
        let mut numbers = ExitCode::ALL.map(ExitCode::number);
        numbers.sort_unstable();
        assert_eq!(rows, numbers);
        assert_eq!(
            ExitCode::try_from(104).unwrap_err(),
            "104 is not an exit code of `cargo loadtest`"
        );
        assert_eq!(serde_json::from_str::<ExitCode>("104").ok(), None);
    }
}
