//! Variables with their values, as a collection, a folder or an exported environment lists them.

use super::super::document::{self, Node};
use super::super::source::{Input, Mistake};
use std::collections::HashMap;

/// The variables of one place, by name.
pub(super) type Layer = HashMap<String, Variable>;

/// A variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    /// Its value; empty where it has none.
    pub(super) value: String,
    /// Whether it is marked as secret.
    pub(super) is_secret: bool,
}

/// An environment, or the variables that hold everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    pub(super) variables: Layer,
    /// Whether they hold everywhere, and so have the last word.
    pub(super) is_global: bool,
}

/// Reads an environment that was exported.
pub(crate) fn read_environment(input: &Input) -> Result<Environment, Mistake> {
    let root = document::read(input)?;
    let root = root.get("environment").unwrap_or(&root);
    let Some(values) = root.get("values") else {
        let start = root.span.start..root.span.start + 1;
        let mistake = Mistake::new(start, "this is no environment: it has no `values`");
        let help = if root.get("item").is_some() || root.get("requests").is_some() {
            "it is a collection; the environment of `--environment` is exported apart from it"
        } else {
            "export the environment in Postman: Environments, its menu, Export"
        };
        return Err(mistake.help(help));
    };
    if !values.is_list() {
        let words = format!(
            "`values` is {}, and should be a list of variables",
            values.kind()
        );
        return Err(Mistake::new(values.span.clone(), words));
    }
    Ok(Environment {
        variables: layer(values),
        is_global: root.text_of("_postman_variable_scope") == Some("globals"),
    })
}

/// Variables from a list, as of version 2.0 and 2.1.
pub(super) fn layer(list: &Node<'_>) -> Layer {
    let mut layer = Layer::new();
    for variable in list.items() {
        let is_off = variable.get("enabled").and_then(Node::boolean) == Some(false)
            || variable.get("disabled").and_then(Node::boolean) == Some(true);
        let name = variable.text_of("key").or_else(|| variable.text_of("id"));
        let Some(name) = name
            .map(str::trim)
            .filter(|name| !name.is_empty() && !is_off)
        else {
            continue;
        };
        let is_secret = variable.text_of("type") == Some("secret");
        let value = variable.get("value").map(value).unwrap_or_default();
        layer.insert(name.to_owned(), Variable { value, is_secret });
    }
    layer
}

/// A value as text.
pub(super) fn value(node: &Node<'_>) -> String {
    match node.scalar() {
        Some(text) => text.into_owned(),
        None if node.is_object() || node.is_list() => node.json(),
        None => String::new(),
    }
}
