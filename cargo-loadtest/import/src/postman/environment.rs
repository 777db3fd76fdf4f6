//! Variables with their values, as a collection, a folder or an exported environment lists them.

use crate::document::{self, Node};
use crate::source::{Input, Mistake, Span};
use std::collections::HashMap;

/// The variables of one place, by name.
pub(super) type VariableLayer = HashMap<String, ListedVariable>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedVariable {
    /// Empty where it has no value.
    pub(super) value: String,
    /// True where it is marked as secret.
    pub(super) is_secret: bool,
    /// Place of its name, if that is in the collection.
    pub(super) span: Option<Span>,
}

/// An exported environment, or exported globals.
#[derive(Debug, Clone)]
pub struct PostmanEnvironment {
    pub(super) variables: VariableLayer,
    /// Globals come after all others.
    pub(super) is_global: bool,
}

/// Reads an environment that was exported.
///
/// # Errors
/// The first thing that is no such input, and where it stands.
pub fn read_environment(input: &Input) -> Result<PostmanEnvironment, Mistake> {
    let root = document::read(input)?;
    let root = root.get("environment").unwrap_or(&root);
    let Some(values) = root.get("values") else {
        let telling = document::told_by(root);
        let mistake = Mistake::new(telling, "this is not an environment: it has no `values`");
        let help = "export the environment in Postman: Environments, its menu, Export";
        return Err(mistake.help(help));
    };
    if !values.is_list() {
        let kind = values.kind();
        let words = format!("`values` is {kind}, and should be a list of variables");
        return Err(Mistake::new(values.beginning(), words));
    }
    let mut variables = read_layer(values);
    for variable in variables.values_mut() {
        variable.span = None;
    }
    Ok(PostmanEnvironment {
        variables,
        is_global: root.text_of("_postman_variable_scope") == Some("globals"),
    })
}

/// Reads the variables of a list, of version 2.0 and 2.1.
pub(super) fn read_layer(list: &Node<'_>) -> VariableLayer {
    let enabled = list
        .items()
        .iter()
        .filter(|variable| !is_disabled(variable));
    let variables = enabled.filter_map(|variable| {
        let name = variable.text_of("key").or_else(|| variable.text_of("id"))?;
        let known = ListedVariable {
            value: variable.get("value").map(value_text).unwrap_or_default(),
            is_secret: variable.text_of("type") == Some("secret"),
            span: Some(name_place(variable)),
        };
        Some((name.trim().to_owned(), known))
    });
    variables.collect()
}

/// Returns true for a variable, header, field, script or body that is switched off.
pub(super) fn is_disabled(node: &Node<'_>) -> bool {
    node.get("enabled").and_then(Node::boolean) == Some(false)
        || node.get("disabled").and_then(Node::boolean) == Some(true)
}

/// Returns the place of a name.
pub(super) fn name_place(node: &Node<'_>) -> Span {
    let named = node.get("key").or_else(|| node.get("id"));
    named
        .filter(|name| name.text().is_some_and(|text| !text.is_empty()))
        .map_or_else(|| node.beginning(), |name| name.span.clone())
}

/// Returns a value as text.
pub(super) fn value_text(node: &Node<'_>) -> String {
    match node.scalar() {
        Some(text) => text.into_owned(),
        None if node.is_object() || node.is_list() => node.json(),
        None => String::new(),
    }
}
