//! School grades.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A school grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Letter {
    F,
    #[serde(rename = "D-")]
    DMinus,
    D,
    #[serde(rename = "D+")]
    DPlus,
    #[serde(rename = "C-")]
    CMinus,
    C,
    #[serde(rename = "C+")]
    CPlus,
    #[serde(rename = "B-")]
    BMinus,
    B,
    #[serde(rename = "B+")]
    BPlus,
    #[serde(rename = "A-")]
    AMinus,
    A,
    #[serde(rename = "A+")]
    APlus,
}

/// The lowest score of each letter.
const BANDS: [(Letter, f64); 13] = [
    (Letter::APlus, 0.98),
    (Letter::A, 0.96),
    (Letter::AMinus, 0.94),
    (Letter::BPlus, 0.91),
    (Letter::B, 0.88),
    (Letter::BMinus, 0.85),
    (Letter::CPlus, 0.80),
    (Letter::C, 0.75),
    (Letter::CMinus, 0.70),
    (Letter::DPlus, 19.0 / 30.0),
    (Letter::D, 17.0 / 30.0),
    (Letter::DMinus, 0.50),
    (Letter::F, 0.0),
];

impl FromStr for Letter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = text.trim().to_uppercase().replace('−', "-");
        let letters = BANDS.iter().map(|(letter, _)| *letter);
        letters
            .clone()
            .find(|letter| letter.name() == wanted)
            .ok_or_else(|| {
                let all: Vec<_> = letters.map(Self::name).collect();
                format!("is not a grade; available: {}", all.join(", "))
            })
    }
}

impl Letter {
    /// The letter of a score between 0 and 1.
    pub fn from_score(score: f64) -> Self {
        // A weighted mean of equal scores may come out a rounding error below them.
        BANDS
            .iter()
            .find(|(_, least)| score >= least - 1e-12)
            .map_or(Self::F, |(letter, _)| *letter)
    }

    /// The letter as printed: `A+`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::APlus => "A+",
            Self::A => "A",
            Self::AMinus => "A-",
            Self::BPlus => "B+",
            Self::B => "B",
            Self::BMinus => "B-",
            Self::CPlus => "C+",
            Self::C => "C",
            Self::CMinus => "C-",
            Self::DPlus => "D+",
            Self::D => "D",
            Self::DMinus => "D-",
            Self::F => "F",
        }
    }

    /// The word of the Apdex specification for the band.
    pub const fn word(self) -> &'static str {
        match self {
            Self::APlus | Self::A | Self::AMinus => "excellent",
            Self::BPlus | Self::B | Self::BMinus => "good",
            Self::CPlus | Self::C | Self::CMinus => "fair",
            Self::DPlus | Self::D | Self::DMinus => "poor",
            Self::F => "unacceptable",
        }
    }
}

impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
