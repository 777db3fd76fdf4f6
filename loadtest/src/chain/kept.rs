//! The values of `#[setup]` and `#[state]` functions.
//!
//! What keeps a value can move between threads whatever its type: only the call that fills it asks
//! for that. So a wrong type is one mistake, at the type that the user wrote.

#![expect(clippy::missing_errors_doc, reason = "only generated code calls this")]

use super::setup_values::JsonForm;
use super::{SetupContext, SetupError};
use crate::panic_message::take_panic_message;
use crate::targets::Target;
use std::any::{Any, type_name};
use std::fmt::Display;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A value of a setup, or a row of a feed.
#[diagnostic::on_unimplemented(
    message = "the values of setups and the rows of feeds are shared by the threads of all virtual users, and `{Self}` cannot be",
    label = "not `Send` and `Sync`",
    note = "use `Arc` instead of `Rc`, and a `Mutex` or an atomic instead of `Cell` and `RefCell`"
)]
pub trait Shareable: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> Shareable for T {}

/// What a state may be.
#[diagnostic::on_unimplemented(
    message = "a state moves between threads with its virtual user, and `{Self}` cannot",
    label = "not `Send`",
    note = "use `Arc` instead of `Rc`"
)]
pub trait Movable: Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + 'static> Movable for T {}

/// The value of a `#[setup]` function.
#[derive(Debug)]
pub struct SetupValue<T> {
    value: Arc<dyn Any + Send + Sync>,
    ty: PhantomData<fn() -> T>,
}

impl<T: 'static> SetupValue<T> {
    pub(super) fn new(value: T) -> Self
    where
        T: Shareable,
    {
        Self {
            value: Arc::new(value),
            ty: PhantomData,
        }
    }

    /// The value.
    pub fn get(&self) -> &T {
        self.value.downcast_ref().unwrap_or_else(other_type)
    }

    /// Takes the value, for one user.
    #[must_use]
    pub fn hold(&self) -> Self {
        Self {
            value: Arc::clone(&self.value),
            ty: PhantomData,
        }
    }
}

/// The value of a `#[state]` function.
#[derive(Debug)]
pub struct StateValue<T> {
    value: Box<dyn Any + Send>,
    ty: PhantomData<fn() -> T>,
}

impl<T: 'static> StateValue<T> {
    /// The value.
    pub fn get(&self) -> &T {
        self.value.downcast_ref().unwrap_or_else(other_type)
    }

    /// The value, to change it.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.downcast_mut().unwrap_or_else(other_type)
    }
}

pub(super) fn other_type<R>() -> R {
    unreachable!("a value is kept with its type")
}

/// Keeps the value of a `#[state]` function.
pub fn state<T: Movable>(value: T) -> StateValue<T> {
    StateValue {
        value: Box::new(value),
        ty: PhantomData,
    }
}

/// Runs the setup `name`, unless its value is given; a panic is a failure of the setup.
pub fn run_setup<T: Shareable, E: Display>(
    name: &'static str,
    context: &SetupContext,
    form: &JsonForm<T>,
    setup: impl FnOnce() -> Result<T, E>,
) -> Result<SetupValue<T>, SetupError> {
    refuse_alias::<T>(name)?;
    let run = || call_setup(name, setup);
    context.values.obtain(name, form, run).map(SetupValue::new)
}

/// Calls the function of the setup `name`.
pub(super) fn call_setup<T, E: Display>(
    name: &'static str,
    setup: impl FnOnce() -> Result<T, E>,
) -> Result<T, SetupError> {
    let reason = match catch_unwind(AssertUnwindSafe(setup)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => format!("panicked: {}", take_panic_message(panic)),
    };
    Err(SetupError::Setup {
        setup: name,
        reason,
    })
}

/// Refuses a value in whose type a `Target` hides, which would get no request, or a `Result`, whose
/// `Err` would go unnoticed: the macro goes by how the return type is spelled, and sees no alias.
pub(super) fn refuse_alias<T>(name: &'static str) -> Result<(), SetupError> {
    let made = type_name::<T>();
    if made.starts_with(RESULT) || made.contains(type_name::<Target>()) {
        let reason = "the return type of a setup is spelled out, no alias: write `-> Target` or \
             `-> Result<Target, E>`, and `-> T` or `-> Result<T, E>` for another value";
        return Err(SetupError::Setup {
            setup: name,
            reason: reason.to_owned(),
        });
    }
    Ok(())
}

/// The start of the name of a `Result` type.
const RESULT: &str = "core::result::Result<";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::setup_values::{OpaqueSetup as _, SetupType};
    use std::convert::Infallible;

    /// Runs a setup whose function returned `value`, and returns its error.
    fn error<T: Shareable>(value: T) -> Option<String> {
        let form = (&SetupType::<T>::new()).json_form();
        let context = SetupContext::default();
        let ran = run_setup::<T, Infallible>("shop", &context, &form, || Ok(value));
        ran.err().map(|error| error.to_string())
    }

    #[test]
    fn a_return_type_that_hides_a_target_or_a_result_is_refused() {
        type Answer = std::io::Result<u8>;
        let target = || Target::external("http://127.0.0.1:1");
        let refusals = [
            error::<Answer>(Ok(1)),
            error(target()),
            error(Some(target())),
            error((target(), 1)),
        ];
        for refusal in refusals {
            let refusal = refusal.unwrap();
            assert!(refusal.starts_with("setup `shop` failed: the return type of a setup is spelled out, no alias: write `-> Target` or"), "{refusal}");
        }
        assert_eq!(error(vec![Some(1)]), None);
    }
}
