//! The attributes of `loadtest`; use them through that crate.
