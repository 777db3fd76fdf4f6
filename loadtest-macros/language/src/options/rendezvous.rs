//! `rendezvous = 50`, `rendezvous(50, within = 10s)`.

use super::value::{parse_positive_duration, parse_whole};
use super::{parse_option_name, unknown_option};
use std::ops::RangeInclusive;
use std::time::Duration;
use syn::parse::ParseStream;
use syn::{Token, parenthesized, token};

/// The users that wait for each other, and the longest wait, if it is given.
#[derive(Clone, Copy)]
pub(crate) struct RendezvousOption {
    pub(crate) users: u32,
    pub(crate) within: Option<Duration>,
}

const USERS: RangeInclusive<f64> = 2.0..=1e6;
const WANTED: &str = "`rendezvous` takes the number of users that wait for each other, 2 to 1000000: \
                      `rendezvous = 50` or `rendezvous(50, within = 10s)`";

/// Parses what follows the name of the option.
pub(super) fn parse_rendezvous(input: ParseStream<'_>) -> syn::Result<RendezvousOption> {
    if input.parse::<Option<Token![=]>>()?.is_some() {
        let users = parse_whole(input, USERS, WANTED)? as u32;
        return Ok(RendezvousOption {
            users,
            within: None,
        });
    }
    if !input.peek(token::Paren) {
        return Err(input.error(WANTED));
    }
    let content;
    parenthesized!(content in input);
    let mut option = RendezvousOption {
        users: parse_whole(&content, USERS, WANTED)? as u32,
        within: None,
    };
    if content.parse::<Option<Token![,]>>()?.is_some() && !content.is_empty() {
        let key = parse_option_name(&content)?;
        if key != "within" {
            return Err(unknown_option(&key, &["within"]));
        }
        content.parse::<Token![=]>()?;
        option.within = Some(parse_positive_duration(&content)?);
        content.parse::<Option<Token![,]>>()?;
    }
    if content.is_empty() {
        Ok(option)
    } else {
        Err(content.error(WANTED))
    }
}
