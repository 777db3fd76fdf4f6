//! Sections of a sheet.

use super::Block;

/// A titled part of a sheet.
#[derive(Debug)]
pub(crate) struct Section {
    /// Empty for closing notes.
    pub(crate) title: String,
    /// A reader may be asked to unfold it.
    pub(crate) is_folded: bool,
    /// Part of the short card.
    pub(crate) is_essential: bool,
    pub(crate) place: Place,
    pub(crate) blocks: Vec<Block>,
}

/// The place of a section on a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Takes the whole width.
    Whole,
    /// Shares its row with a neighbour of the same kind where there is room.
    Half,
    /// Accounts for the run rather than tells of the target; can be folded.
    Account,
}

impl Section {
    pub(super) fn new(title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self {
            title: title.into(),
            is_folded: false,
            is_essential: false,
            place: Place::Whole,
            blocks,
        }
    }

    /// Makes the section a part of the short card.
    pub(super) fn essential(self) -> Self {
        Self {
            is_essential: true,
            ..self
        }
    }

    /// Lets a format fold the section.
    pub(super) fn folded(self) -> Self {
        Self {
            is_folded: true,
            ..self
        }
    }

    /// Makes the section an account of the run, which is folded unless something `is_alarming`.
    pub(super) fn account(self, is_alarming: bool) -> Self {
        Self {
            place: Place::Account,
            is_folded: !is_alarming,
            ..self
        }
    }

    /// Puts the section beside a neighbour.
    pub(super) fn half(self) -> Self {
        Self {
            place: Place::Half,
            ..self
        }
    }
}
