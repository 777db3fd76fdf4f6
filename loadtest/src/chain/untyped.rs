//! Fields of typed responses that are themselves untyped JSON.
//!
//! In `{{login.response.any.id}}` the macro cannot know that `any` is a [`Value`]; it writes the access
//! to a field `id`. On a `Value` that access goes to a struct with a [`Name`] for each field that the
//! scenario's templates name, and the name is then looked up in the JSON.

use serde_json::Value;
use std::ops::Deref;

/// The owner of a field, and the names of all fields; opened by autoref specialisation: the method of
/// [`OpenValue`] is found before that of [`OpenPlain`].
#[derive(Debug)]
pub struct Owner<'a, 'n, T: ?Sized, N>(pub &'a T, pub &'n N);

/// The key of a field.
#[derive(Debug, Clone, Copy)]
pub struct Name(pub &'static str);

/// JSON that has a field of every name.
#[derive(Debug)]
pub struct Untyped<'a, 'n, N> {
    value: &'a Value,
    names: &'n N,
}

impl<N> Clone for Untyped<'_, '_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for Untyped<'_, '_, N> {}

impl<N> Deref for Untyped<'_, '_, N> {
    type Target = N;

    fn deref(&self) -> &N {
        self.names
    }
}

/// Untyped JSON.
pub trait OpenValue<'a, 'n, N> {
    /// The value, with the fields of `N`.
    fn open(&self) -> Untyped<'a, 'n, N>;
}

impl<'a, 'n, N> OpenValue<'a, 'n, N> for Owner<'a, 'n, Value, N> {
    fn open(&self) -> Untyped<'a, 'n, N> {
        Untyped {
            value: self.0,
            names: self.1,
        }
    }
}

/// Everything else.
pub trait OpenPlain<'a> {
    /// The type itself.
    type Inside: ?Sized;

    /// The value itself.
    fn open(&self) -> &'a Self::Inside;
}

impl<'a, T: ?Sized, N> OpenPlain<'a> for &Owner<'a, '_, T, N> {
    type Inside = T;

    fn open(&self) -> &'a T {
        self.0
    }
}

/// A value that has fields.
pub trait Take<'f, F> {
    /// A reference to the value of the field.
    type Taken;

    /// The value of `field`, where there is one.
    fn take(self, field: &'f F) -> Option<Self::Taken>;
}

impl<'f, T: ?Sized, F: 'f> Take<'f, F> for &'f T {
    type Taken = &'f F;

    fn take(self, field: &'f F) -> Option<&'f F> {
        Some(field)
    }
}

impl<'a, 'f, N> Take<'f, Name> for Untyped<'a, '_, N> {
    type Taken = &'a Value;

    fn take(self, field: &'f Name) -> Option<&'a Value> {
        self.value.get(field.0)
    }
}
