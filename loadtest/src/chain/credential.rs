//! The arguments of `bearer_auth` and `basic_auth`.

use crate::secrets::Secret;
use std::fmt::Display;

/// A user name, a password, a token: everything that has a text of its own, and a [`Secret`], which has none
/// elsewhere.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a user name, password or token",
    label = "neither text nor a `Secret`"
)]
pub trait Credential {
    /// The text.
    fn into_text(self) -> String;
}

#[diagnostic::do_not_recommend]
impl<T: Display> Credential for T {
    fn into_text(self) -> String {
        self.to_string()
    }
}

impl Credential for Secret {
    fn into_text(self) -> String {
        self.expose().to_owned()
    }
}

impl Credential for &Secret {
    fn into_text(self) -> String {
        self.expose().to_owned()
    }
}
