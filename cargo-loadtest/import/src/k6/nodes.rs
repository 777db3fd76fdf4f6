//! The nodes of a script, and the parts of its functions and classes.

use crate::syntax::{children_of, nodes_below, part_of};
use std::collections::HashMap;
use tree_sitter::Node;

/// All nodes of a script.
#[derive(Debug, Default)]
pub(super) struct ScriptNodes<'t> {
    /// In their order.
    pub(super) all: Vec<Node<'t>>,
    parents: HashMap<usize, Node<'t>>,
}

impl<'t> ScriptNodes<'t> {
    pub(super) fn new(root: Node<'t>) -> Self {
        let all = nodes_below(root);
        let parents = all.iter().flat_map(|node| {
            let children = children_of(*node).into_iter();
            children.map(|child| (child.id(), *node))
        });
        Self {
            parents: parents.collect(),
            all,
        }
    }

    pub(super) fn parent(&self, node: Node<'t>) -> Option<Node<'t>> {
        self.parents.get(&node.id()).copied()
    }

    /// Returns the nodes around one, from inside out.
    pub(super) fn around(&self, node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
        std::iter::successors(self.parent(node), |node| self.parent(*node))
    }
}

/// Returns the parameters of a function, each with its default.
pub(super) fn parameters_of(function: Node<'_>) -> Vec<(Node<'_>, Option<Node<'_>>)> {
    let parameters = match part_of(function, "parameters") {
        Some(list) => children_of(list),
        None => Vec::from_iter(part_of(function, "parameter")),
    };
    let parameters = parameters.into_iter().map(|parameter| {
        let pattern = part_of(parameter, "pattern");
        let default = pattern.and(part_of(parameter, "value"));
        (pattern.unwrap_or(parameter), default)
    });
    parameters.collect()
}

pub(super) fn is_class(node: Node<'_>) -> bool {
    ["class_declaration", "class", "abstract_class_declaration"].contains(&node.kind())
}

pub(super) fn is_loop(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "for_statement" | "for_in_statement" | "while_statement" | "do_statement"
    )
}
