//! URLs with values in them.

use crate::recording::{Credentials, Piece, Text};
use crate::text::percent_encode;

/// A URL in parts.
#[derive(Debug, Default)]
pub(super) struct UrlParts {
    /// `http://host:port`; of a host with values no more than `http://`; empty where it is not known.
    pub(super) origin: String,
    pub(super) target: Text,
    pub(super) credentials: Option<Credentials>,
    /// The origin, where it has values.
    pub(super) variables: Option<Text>,
}

/// Splits a URL.
pub(super) fn split_url(url: &Text) -> Result<UrlParts, String> {
    let mut parts = UrlParts::default();
    let rest = match url.split_once("://") {
        Some((scheme, rest)) if !scheme.has_values() => {
            if !["http", "https"]
                .iter()
                .any(|known| scheme.start().eq_ignore_ascii_case(known))
            {
                return Err("this is not HTTP".to_owned());
            }
            let (authority, target) = split_authority(&rest);
            parts.set_authority(&scheme.start().to_ascii_lowercase(), &authority)?;
            target
        }
        _ if url.start().starts_with('/') => url.clone(),
        _ => match url.pieces() {
            // The host is in a variable.
            [Piece::Secret(_), ..] => {
                let (authority, target) = split_authority(url);
                parts.variables = Some(authority);
                target
            }
            // The whole URL, or its beginning, is a value of the run.
            [Piece::Constant(_) | Piece::Reference(_) | Piece::Run(_), ..] => {
                parts.target = encode_target(url);
                return Ok(parts);
            }
            [] => return Err("there is no URL".to_owned()),
            _ => return Err("this URL has no host".to_owned()),
        },
    };
    let rest = rest.split_once("#").map_or(rest, |(before, _)| before);
    let mut target = Text::default();
    let is_value = !rest.is_empty() && rest.start().is_empty();
    if !is_value && !rest.start().starts_with('/') {
        target.push_str("/");
    }
    target.append(rest);
    parts.target = encode_target(&target);
    Ok(parts)
}

fn encode_target(target: &Text) -> Text {
    target.map_literals(|text| percent_encode(text, "\"<>`{}\\^|"))
}

/// Splits host and port from what follows them: a slash, or a value that is a path.
pub(crate) fn split_authority(text: &Text) -> (Text, Text) {
    let (mut authority, mut target) = (Text::default(), Text::default());
    for piece in text.pieces() {
        match piece {
            piece if !target.is_empty() => target.push(piece.clone()),
            Piece::Literal(text) => {
                let end = text.find(['/', '?', '#']).unwrap_or(text.len());
                authority.push_str(&text[..end]);
                target.push_str(&text[end..]);
            }
            Piece::Reference(_) | Piece::Run(_) => target.push(piece.clone()),
            Piece::Constant(_) if is_whole_host(&authority) => target.push(piece.clone()),
            piece => authority.push(piece.clone()),
        }
    }
    (authority, target)
}

/// Returns true for a host that goes on with a path, and not with more of its name.
fn is_whole_host(authority: &Text) -> bool {
    let ends_open = |text: &str| text.ends_with(['.', '-', ':', '@']);
    match authority.pieces().last() {
        Some(Piece::Literal(text)) => !ends_open(text),
        Some(_) => true,
        None => false,
    }
}

impl UrlParts {
    fn set_authority(&mut self, scheme: &str, authority: &Text) -> Result<(), String> {
        let (credentials, host) = split_credentials(authority);
        self.credentials = credentials;
        let Some(host) = host.as_literal() else {
            self.variables = Some(host.between(&format!("{scheme}://"), ""));
            return Ok(());
        };
        self.origin = parse_origin(scheme, host)?;
        Ok(())
    }
}

/// Splits what a URL has before its host from the host.
pub(crate) fn split_credentials(authority: &Text) -> (Option<Credentials>, Text) {
    match authority.split_once("@") {
        Some((who, host)) => (Some(Credentials::of_url(who)), host),
        None => (None, authority.clone()),
    }
}

/// Returns the origin of a host, which may have a port.
pub(crate) fn parse_origin(scheme: &str, host: &str) -> Result<String, String> {
    let url = url::Url::parse(&format!("{scheme}://{}/", host.trim()))
        .map_err(|error| format!("the host of this URL is not valid ({error})"))?;
    Ok(url.origin().ascii_serialization())
}
