//! Parses the HTTP options of a scenario.

use super::value::{literal_text, parse_redirects};
use super::{parse_assigned, require_not_empty};
use crate::suggest::{did_you_mean, list_names};
use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Lit, LitBool, LitStr, Token};

/// The options that are read here.
pub(super) const CLIENT_KEYS: [&str; 7] = [
    "http",
    "cookies",
    "dns",
    "insecure",
    "ca",
    "identity",
    "redirects",
];

const COOKIES: [(&str, &str); 3] = [("user", "User"), ("iteration", "Iteration"), ("off", "Off")];

#[derive(Default)]
pub(crate) struct ClientOptions {
    /// The variant of `HttpVersion`.
    pub(crate) http: Option<&'static str>,
    /// The variant of `Cookies`.
    pub(crate) cookies: Option<&'static str>,
    /// Hosts are looked up again during the run.
    pub(crate) dns_ttl: bool,
    pub(crate) insecure: bool,
    pub(crate) ca: Option<LitStr>,
    pub(crate) identity: Option<LitStr>,
    /// For the steps that say nothing themselves.
    pub(crate) redirects: Option<u32>,
}

impl ClientOptions {
    /// Reads what follows the name of an option.
    pub(super) fn parse_option(&mut self, name: &str, input: ParseStream<'_>) -> syn::Result<()> {
        match name {
            "http" => self.http = Some(parse_http_version(input)?),
            "cookies" => self.cookies = Some(parse_cookies(input)?),
            "dns" => {
                parse_dns(input)?;
                self.dns_ttl = true;
            }
            "insecure" => {
                input.parse::<Token![=]>()?;
                let value: LitBool = input
                    .parse()
                    .map_err(|error| syn::Error::new(error.span(), INSECURE))?;
                self.insecure = value.value;
            }
            "ca" => self.ca = Some(file(input, name)?),
            "identity" => self.identity = Some(file(input, name)?),
            _ => self.redirects = Some(parse_redirects(input)?),
        }
        Ok(())
    }
}

const INSECURE: &str =
    "expected `true` or `false`: with `insecure = true` no certificate is checked";

fn parse_http_version(input: ParseStream<'_>) -> syn::Result<&'static str> {
    const WANTED: &str =
        "the version of HTTP is `http = 1` or `http = 2`; without it the target chooses";
    input.parse::<Token![=]>()?;
    let version: Lit = input
        .parse()
        .map_err(|error| syn::Error::new(error.span(), WANTED))?;
    match literal_text(&version).as_str() {
        "1" | "1.1" => Ok("Http1"),
        "2" | "2.0" => Ok("Http2"),
        "3" => Err(syn::Error::new(
            version.span(),
            "HTTP/3 is not spoken: write `http = 1` or `http = 2`, or leave it out",
        )),
        _ => Err(syn::Error::new(version.span(), WANTED)),
    }
}

fn parse_cookies(input: ParseStream<'_>) -> syn::Result<&'static str> {
    let known = || COOKIES.map(|(word, _)| word);
    input.parse::<Token![=]>()?;
    if let Ok(text) = input.fork().parse::<LitStr>() {
        let word = text.value();
        let hint = if known().contains(&word.as_str()) {
            format!("without quotes: `cookies = {word}`")
        } else {
            format!("as one of {}", list_names(known()))
        };
        return Err(syn::Error::new(
            text.span(),
            format!("how long cookies are kept is written {hint}"),
        ));
    }
    let word = input.call(Ident::parse_any).map_err(|error| {
        syn::Error::new(
            error.span(),
            format!("cookies are kept for one of {}", list_names(known())),
        )
    })?;
    let name = word.to_string();
    COOKIES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, variant)| *variant)
        .ok_or_else(|| {
            let hint = did_you_mean(&name, known());
            syn::Error::new(
                word.span(),
                format!("cookies are kept for one of {}{hint}", list_names(known())),
            )
        })
}

fn parse_dns(input: ParseStream<'_>) -> syn::Result<()> {
    const WANTED: &str = "expected `dns = ttl`: hosts are looked up again for new connections; without it, each \
         once before the run";
    input.parse::<Token![=]>()?;
    if let Ok(text) = input.fork().parse::<LitStr>()
        && text.value() == "ttl"
    {
        return Err(syn::Error::new(
            text.span(),
            "how hosts are looked up is written without quotes: `dns = ttl`",
        ));
    }
    let word = input
        .call(Ident::parse_any)
        .map_err(|error| syn::Error::new(error.span(), WANTED))?;
    if word != "ttl" {
        return Err(syn::Error::new(word.span(), WANTED));
    }
    Ok(())
}

fn file(input: ParseStream<'_>, option: &str) -> syn::Result<LitStr> {
    require_not_empty(parse_assigned(input).map_err(|error| {
        syn::Error::new(
            error.span(),
            format!(
                "expected a PEM file, relative to the package: `{option} = \"certs/{option}.pem\"`"
            ),
        )
    })?)
}
