//! Takes secrets out of recordings: a source is kept in a repository, and has variables in their place.

mod forms;
mod pass;

pub(crate) use forms::{is_usual_form, quote_bare};
pub use pass::hide_secrets;
