//! The values of `#[setup]` and `#[state]` functions.
//!
//! What keeps a value can move between threads whatever its type: only the call that fills it asks
//! for that. So a wrong type is one mistake, at the type that the user wrote.

#![expect(clippy::missing_errors_doc, reason = "only generated code calls this")]

use super::SetupError;
use super::outcome::panic_message;
use std::any::Any;
use std::fmt::Display;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a setup may make.
#[diagnostic::on_unimplemented(
    message = "what a setup makes is shared by the threads of all virtual users, and `{Self}` cannot be",
    label = "not `Send` and `Sync`",
    note = "use `Arc` in place of `Rc`, and a `Mutex` or an atomic in place of `Cell` and `RefCell`"
)]
pub trait Shareable: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> Shareable for T {}

/// What a state may be.
#[diagnostic::on_unimplemented(
    message = "a state moves between threads with its virtual user, and `{Self}` cannot",
    label = "not `Send`",
    note = "use `Arc` in place of `Rc`"
)]
pub trait Movable: Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + 'static> Movable for T {}

/// The value of a `#[setup]` function.
#[derive(Debug)]
pub struct SetupValue<T> {
    value: Box<dyn Any + Send + Sync>,
    ty: PhantomData<fn() -> T>,
}

impl<T: 'static> SetupValue<T> {
    pub(super) fn new(value: T) -> Self
    where
        T: Shareable,
    {
        Self {
            value: Box::new(value),
            ty: PhantomData,
        }
    }

    /// The value.
    pub fn get(&self) -> &T {
        self.value.downcast_ref().unwrap_or_else(|| other_type())
    }

    /// The value itself.
    pub(super) fn into_inner(self) -> T {
        *self.value.downcast().unwrap_or_else(|_| other_type())
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
        self.value.downcast_ref().unwrap_or_else(|| other_type())
    }

    /// The value, to change it.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.downcast_mut().unwrap_or_else(|| other_type())
    }
}

fn other_type() -> ! {
    unreachable!("a value is kept with its type")
}

/// Keeps the value of a `#[state]` function.
pub fn state<T: Movable>(value: T) -> StateValue<T> {
    StateValue {
        value: Box::new(value),
        ty: PhantomData,
    }
}

/// Runs the setup `name`; a panic is a failure of the setup.
pub fn run_setup<T: Shareable>(
    name: &'static str,
    setup: impl FnOnce() -> T,
) -> Result<SetupValue<T>, SetupError> {
    run_fallible_setup::<T, String>(name, || Ok(setup()))
}

/// Runs the setup `name` whose function returns a `Result`.
pub fn run_fallible_setup<T: Shareable, E: Display>(
    name: &'static str,
    setup: impl FnOnce() -> Result<T, E>,
) -> Result<SetupValue<T>, SetupError> {
    let reason = match catch_unwind(AssertUnwindSafe(setup)) {
        Ok(Ok(value)) => return Ok(SetupValue::new(value)),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => format!("panicked: {}", panic_message(&*panic)),
    };
    Err(SetupError::Setup {
        setup: name,
        reason,
    })
}

/// The type that a `#[setup]` function returns, to find what hides behind an alias: the macro
/// goes by how types are spelled.
#[derive(Debug)]
pub struct Returned<T>(PhantomData<fn() -> T>);

impl<T> Returned<T> {
    /// Makes a value for the type `T`.
    #[expect(clippy::new_without_default, reason = "only generated code calls this")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

/// Nothing hides in it.
#[derive(Debug)]
pub struct Nothing;

/// Found in a `Target`, which would get no request, or a `Result`, whose `Err` would go unnoticed.
#[derive(Debug)]
pub struct Something;

/// A type that the macro must see.
pub trait Hidden {}

impl Hidden for crate::targets::Target {}

impl<T, E> Hidden for Result<T, E> {}

macro_rules! holders {
    ($([$($parameter:ident)*] $holder:ty;)*) => {$(
        impl<$($parameter),*> Hidden for $holder {}
    )*};
}
holders! {
    [] Option<crate::targets::Target>;
    [] Box<crate::targets::Target>;
    [] std::sync::Arc<crate::targets::Target>;
    [] Vec<crate::targets::Target>;
    [] (crate::targets::Target,);
    [A] (crate::targets::Target, A);
    [A B] (crate::targets::Target, A, B);
}

/// By autoref specialisation found before [`HidesNothing`].
pub trait HidesSomething {
    /// Something hides.
    fn hidden(&self) -> Something;
}

impl<T: Hidden> HidesSomething for Returned<T> {
    fn hidden(&self) -> Something {
        Something
    }
}

/// Everything else.
pub trait HidesNothing {
    /// Nothing hides.
    fn hidden(&self) -> Nothing;
}

impl<T> HidesNothing for &Returned<T> {
    fn hidden(&self) -> Nothing {
        Nothing
    }
}

/// That the return type of a setup shows what it makes.
#[diagnostic::on_unimplemented(
    message = "the return type of a setup is spelled out, no alias: write `-> Target` or `-> Result<Target, E>`, and `-> T` or `-> Result<T, E>` for another value",
    label = "a `Target` or a `Result` hides in it"
)]
pub trait SpelledOut {}

#[diagnostic::do_not_recommend]
impl SpelledOut for Nothing {}

/// Refuses what hides in the return type of a setup.
pub fn spelled_out<W: SpelledOut>(_: W) {}
