//! The options of `#[feed(..)]`.

use super::documented::{FEED_TABLE, option_names};
use super::value::parse_whole;
use super::{note_given, parse_each, parse_option_name, unknown_option};
use crate::suggest::MacroErrors;
use proc_macro2::TokenStream;
use syn::Token;

const ROWS: &str = "`rows` takes a whole number from 2 to 100: `#[feed(rows = 3)]`";

pub(crate) struct FeedOptions {
    /// The rows of each iteration.
    pub(crate) rows: usize,
}

impl FeedOptions {
    pub(crate) fn parse(tokens: TokenStream, errors: &mut MacroErrors) -> Self {
        let mut options = Self { rows: 1 };
        let mut given = Vec::new();
        parse_each(tokens, errors, |input| {
            let key = parse_option_name(input)?;
            let known = option_names(FEED_TABLE);
            if !known.contains(&key.to_string().as_str()) {
                return Err(unknown_option(&key, &known));
            }
            note_given(&key, &mut given)?;
            input.parse::<Token![=]>()?;
            options.rows = parse_whole(input, 2.0..=100.0, ROWS)? as usize;
            Ok(())
        });
        options
    }
}
