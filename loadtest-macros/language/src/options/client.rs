//! Parses the HTTP options of a scenario.

use super::value::{parse_error, parse_redirects, parse_whole};
use super::{parse_assigned, require_not_empty};
use proc_macro2::{Ident, Span, TokenTree};
use syn::parse::ParseStream;
use syn::{LitBool, LitStr, Token};

/// The words for a variant of `HttpVersion`.
const HTTP: [(&str, &str); 4] = [
    ("1", "Http1"),
    ("1.1", "Http1"),
    ("2", "Http2"),
    ("3", "Http3"),
];
const COOKIES: [(&str, &str); 3] = [("user", "User"), ("iteration", "Iteration"), ("off", "Off")];
const DNS: [(&str, &str); 1] = [("ttl", "Ttl")];

#[derive(Default)]
pub(crate) struct ClientOptions {
    /// The variant of `HttpVersion`, and its place.
    pub(crate) http: Option<(&'static str, Span)>,
    /// The shared connections, and the place of the option.
    pub(crate) connections: Option<(u32, Span)>,
    /// Each iteration opens connections of its own.
    pub(crate) new_connections: bool,
    /// The variant of `Cookies`.
    pub(crate) cookies: Option<&'static str>,
    /// The variant of `Dns`.
    pub(crate) dns: Option<&'static str>,
    pub(crate) insecure: bool,
    pub(crate) ca: Option<LitStr>,
    pub(crate) identity: Option<LitStr>,
    /// For the steps that say nothing themselves.
    pub(crate) redirects: Option<u32>,
}

impl ClientOptions {
    /// Reads what follows the name of an option.
    pub(super) fn parse_option(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        let name = &*key.to_string();
        match name {
            "http" => {
                let wanted = "the version of HTTP is `http = 1`, `http = 2` or `http = 3`; without it the target chooses";
                self.http = Some(parse_spanned_word(input, &HTTP, wanted)?);
            }
            "connections" => {
                let wanted = "expected how many HTTP/2 connections the users share, 1 to 10000: `connections = 8`; or \
                              `connections = new`: each journey opens its own";
                input.parse::<Token![=]>()?;
                if parse_new(input) {
                    self.new_connections = true;
                    return Ok(());
                }
                let count = parse_whole(input, 1.0..=10_000.0, wanted)?;
                self.connections = Some((count as u32, key.span()));
            }
            "cookies" => {
                let wanted =
                    "cookies are kept for one of `user`, `iteration`, `off`: `cookies = user`";
                self.cookies = Some(parse_word(input, &COOKIES, wanted)?);
            }
            "dns" => {
                let wanted = "expected `dns = ttl`: hosts are looked up again for new connections; without it, \
                              each once before the run";
                self.dns = Some(parse_word(input, &DNS, wanted)?);
            }
            "insecure" => {
                let wanted =
                    "expected `true` or `false`: with `insecure = true` no certificate is checked";
                let value: LitBool =
                    parse_assigned(input).map_err(|error| parse_error(&error, wanted))?;
                self.insecure = value.value;
            }
            "ca" => self.ca = Some(file(input, name)?),
            "identity" => self.identity = Some(file(input, name)?),
            _ => self.redirects = Some(parse_redirects(input)?),
        }
        Ok(())
    }
}

/// Takes the word `new`, if that comes next.
pub(super) fn parse_new(input: ParseStream<'_>) -> bool {
    let is_new = input
        .fork()
        .parse::<Ident>()
        .is_ok_and(|word| word == "new");
    is_new && input.parse::<Ident>().is_ok()
}

/// Parses one of `words`, and returns what it stands for.
fn parse_word(
    input: ParseStream<'_>,
    words: &[(&str, &'static str)],
    wanted: &str,
) -> syn::Result<&'static str> {
    Ok(parse_spanned_word(input, words, wanted)?.0)
}

/// The same, with its place.
fn parse_spanned_word(
    input: ParseStream<'_>,
    words: &[(&str, &'static str)],
    wanted: &str,
) -> syn::Result<(&'static str, Span)> {
    input.parse::<Token![=]>()?;
    let word: TokenTree = input.parse().map_err(|error| parse_error(&error, wanted))?;
    let text = word.to_string();
    let found = words.iter().find(|(known, _)| *known == text);
    found.map_or_else(
        || Err(syn::Error::new(word.span(), wanted)),
        |(_, variant)| Ok((*variant, word.span())),
    )
}

/// Parses the path of a PEM file.
fn file(input: ParseStream<'_>, option: &str) -> syn::Result<LitStr> {
    require_not_empty(parse_assigned(input).map_err(|error| {
        let wanted = format!(
            "expected a PEM file, relative to the package: `{option} = \"certs/{option}.pem\"`"
        );
        parse_error(&error, &wanted)
    })?)
}
