//! The card as one page.
