//! What a document asks of whoever asks: the credentials of its security schemes.

use super::judge::{Fault, Judge, cookie, pairs, refused};
use super::locate::{Operation, resolved};
use crate::Request;
use serde_json::{Map, Value};

impl Judge {
    /// Whether one of the ways to be let in is taken.
    pub(super) fn of_security(
        &self,
        operation: &Operation,
        request: &Request,
    ) -> Result<(), Fault> {
        let asked = [&operation.node["security"], &self.root["security"]];
        let Some(asked) = asked.into_iter().find(|asked| asked.is_array()) else {
            return Ok(());
        };
        let ways = asked.as_array().into_iter().flatten();
        let ways: Vec<_> = ways.filter_map(Value::as_object).collect();
        let is_let_in = |way: &Map<String, Value>| {
            let mut names = way.keys();
            names.all(|name| self.has_credentials(name, request).unwrap_or(false))
        };
        let can_be_judged = ways.iter().any(|way| {
            let mut names = way.keys();
            names.all(|name| self.has_credentials(name, request).is_some())
        });
        let names: Vec<_> = ways.iter().flat_map(|way| way.keys()).collect();
        refused(
            can_be_judged && !ways.iter().any(|way| is_let_in(way)),
            &format!("nobody is let in without one of {names:?}"),
        )
    }

    pub(super) fn schemes(&self) -> Option<&Map<String, Value>> {
        let schemes = &self.root["components"]["securitySchemes"];
        let schemes = schemes.as_object();
        schemes.or_else(|| self.root["securityDefinitions"].as_object())
    }

    /// Whether a request has the credentials of a scheme; none where those are of another layer.
    fn has_credentials(&self, name: &str, request: &Request) -> Option<bool> {
        let scheme = resolved(&self.root, self.schemes()?.get(name)?);
        let text = |key: &str| scheme[key].as_str().unwrap_or_default();
        let begins = |word: &str| {
            let value = request.header("authorization").unwrap_or_default();
            let rest = value
                .split_once(' ')
                .filter(|(kind, _)| kind.eq_ignore_ascii_case(word));
            rest.is_some_and(|(_, rest)| !rest.trim().is_empty())
        };
        let key = text("name");
        Some(
            match (
                text("type"),
                text("scheme").to_ascii_lowercase().as_str(),
                text("in"),
            ) {
                ("oauth2" | "openIdConnect", ..) | ("http", "bearer", _) => begins("bearer"),
                ("basic", ..) | ("http", "basic", _) => begins("basic"),
                ("apiKey", _, "header") => request
                    .header(&key.to_ascii_lowercase())
                    .is_some_and(|value| !value.is_empty()),
                ("apiKey", _, "query") => {
                    let mut pairs = pairs(request).into_iter();
                    pairs.any(|(name, value)| name == key && !value.is_empty())
                }
                ("apiKey", _, "cookie") => cookie(request, key).is_some(),
                _ => return None,
            },
        )
    }
}
