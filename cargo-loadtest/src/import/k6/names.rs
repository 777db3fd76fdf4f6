//! The names of a script: where each is declared, and every place that gives it a value.

use crate::import::syntax::{children_of, is_function, nodes_below, text_of};
use std::collections::HashMap;
use tree_sitter::Node;

/// A place that gives a value to a name, or to a part of what it stands for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Binding<'t> {
    pub(super) kind: BindingKind,
    /// The declaration, or the assignment.
    pub(super) node: Node<'t>,
    /// The pattern or member on the left.
    pub(super) target: Node<'t>,
    pub(super) value: Option<Node<'t>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BindingKind {
    /// A declaration or an assignment.
    Value,
    /// Each item of a list in turn.
    Item,
    /// A parameter of a function.
    Parameter,
    /// A function or a class.
    Definition,
    /// `name += value`
    Sum,
    /// A change that only code knows.
    Change,
    /// `name.field = value`
    Field,
    /// `list.push(value)`
    Push,
    /// `form.append(name, value)`
    Append,
}

impl<'t> Binding<'t> {
    fn new(kind: BindingKind, node: Node<'t>, target: Node<'t>, value: Option<Node<'t>>) -> Self {
        Self {
            kind,
            node,
            target,
            value,
        }
    }
}

impl BindingKind {
    /// Returns true where only a part of the value changes.
    pub(super) fn is_part(self) -> bool {
        matches!(self, Self::Field | Self::Push | Self::Append)
    }
}

/// All names of a script.
#[derive(Debug)]
pub(super) struct Names<'s, 't> {
    source: &'s str,
    program: usize,
    /// All nodes, in their order.
    pub(super) nodes: Vec<Node<'t>>,
    parents: HashMap<usize, Node<'t>>,
    /// By the node that is the scope, and the name. The fields of a class are in the scope of its node.
    bindings: HashMap<usize, HashMap<&'s str, Vec<Binding<'t>>>>,
}

impl<'s, 't> Names<'s, 't> {
    pub(super) fn new(root: Node<'t>, source: &'s str) -> Self {
        let nodes = nodes_below(root);
        let parents = nodes.iter().flat_map(|node| {
            let children = children_of(*node).into_iter();
            children.map(|child| (child.id(), *node))
        });
        let mut names = Self {
            source,
            program: root.id(),
            parents: parents.collect(),
            nodes: nodes.clone(),
            bindings: HashMap::new(),
        };
        for node in &nodes {
            names.add_declaration(*node);
        }
        for node in nodes {
            names.add_change(node);
        }
        names
    }

    pub(super) fn parent(&self, node: Node<'t>) -> Option<Node<'t>> {
        self.parents.get(&node.id()).copied()
    }

    /// Returns the nodes around one, from inside out.
    pub(super) fn around(&self, node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
        std::iter::successors(self.parent(node), |node| self.parent(*node))
    }

    /// Returns the function around a node, or the script.
    pub(super) fn function_around(&self, node: Node<'t>) -> usize {
        let mut around = self.around(node);
        let is_end = |node: &Node<'t>| is_function(*node) || node.kind() == "program";
        around.find(is_end).map_or(0, |node| node.id())
    }

    /// Returns the places that give a value to a name of a scope, in their order.
    pub(super) fn bindings(&self, scope: usize, name: &str) -> Option<&[Binding<'t>]> {
        Some(self.bindings.get(&scope)?.get(name)?)
    }

    /// Adds a binding of all names of a pattern.
    fn add(&mut self, scope: usize, pattern: Node<'t>, binding: Binding<'t>) {
        let names = self.bindings.entry(scope).or_default();
        for name in pattern_names(pattern) {
            let name = text_of(name, self.source);
            names.entry(name).or_default().push(binding);
        }
    }

    fn add_declaration(&mut self, node: Node<'t>) {
        if is_function(node) {
            for (pattern, _) in parameters_of(node) {
                let binding = Binding::new(BindingKind::Parameter, node, pattern, None);
                self.add(node.id(), pattern, binding);
            }
        }
        let field = |name: &str| node.child_by_field_name(name);
        let scope_around = |is_scope: &dyn Fn(Node<'t>) -> bool| {
            let found = self.around(node).find(|node| is_scope(*node));
            found.map_or(0, |node| node.id())
        };
        let (kind, scope, target, value) = match node.kind() {
            "variable_declarator" => {
                let scope = match self.parent(node).map(|parent| parent.kind()) {
                    Some("variable_declaration") => self.function_around(node),
                    _ => scope_around(&is_block),
                };
                (BindingKind::Value, scope, field("name"), field("value"))
            }
            "for_in_statement" => (BindingKind::Item, node.id(), field("left"), field("right")),
            "function_declaration"
            | "generator_function_declaration"
            | "class_declaration"
            | "abstract_class_declaration" => {
                let scope = scope_around(&is_block);
                (BindingKind::Definition, scope, field("name"), Some(node))
            }
            "public_field_definition" => {
                let scope = scope_around(&is_class);
                (BindingKind::Value, scope, field("name"), field("value"))
            }
            "catch_clause" => (BindingKind::Change, node.id(), field("parameter"), None),
            _ => return,
        };
        if let Some(target) = target {
            self.add(scope, target, Binding::new(kind, node, target, value));
        }
    }

    fn add_change(&mut self, node: Node<'t>) {
        let field = |name: &str| node.child_by_field_name(name);
        let (kind, target, value) = match node.kind() {
            "assignment_expression" => (BindingKind::Value, field("left"), field("right")),
            "augmented_assignment_expression" => {
                let sign = field("operator").map(|sign| text_of(sign, self.source));
                let kind = match sign {
                    Some("+=") => BindingKind::Sum,
                    _ => BindingKind::Change,
                };
                (kind, field("left"), field("right"))
            }
            "update_expression" => (BindingKind::Change, field("argument"), None),
            "call_expression" => {
                let Some(function) = field("function") else {
                    return;
                };
                let method = function.child_by_field_name("property");
                let kind = match method.map(|method| text_of(method, self.source)) {
                    Some("push") => BindingKind::Push,
                    Some("append") => BindingKind::Append,
                    _ => return,
                };
                let object = function.child_by_field_name("object");
                (kind, object, field("arguments"))
            }
            _ => return,
        };
        let Some(target) = target else { return };
        let object = |node: &Node<'t>| node.child_by_field_name("object");
        let root = std::iter::successors(Some(target), object).last();
        let root = root.unwrap_or(target);
        let is_member = root != target && !kind.is_part();
        if root.kind() == "this" {
            let class = self.around(node).find(|node| is_class(*node));
            let name = target.child_by_field_name("property");
            let is_direct = is_member && object(&target) == Some(root);
            if let (Some(class), Some(name), true) = (class, name, is_direct) {
                let binding = Binding::new(kind, node, target, value);
                self.add(class.id(), name, binding);
            }
            return;
        }
        let kind = if is_member { BindingKind::Field } else { kind };
        for name in pattern_names(root) {
            let text = text_of(name, self.source);
            let is_home = |scope: &Node<'t>| self.bindings(scope.id(), text).is_some();
            let home = self.around(node).find(is_home);
            let scope = home.map_or(self.program, |scope| scope.id());
            self.add(scope, name, Binding::new(kind, node, target, value));
        }
    }
}

/// Returns the parameters of a function, each with its default.
pub(super) fn parameters_of(function: Node<'_>) -> Vec<(Node<'_>, Option<Node<'_>>)> {
    let parameters = match function.child_by_field_name("parameters") {
        Some(list) => children_of(list),
        None => Vec::from_iter(function.child_by_field_name("parameter")),
    };
    let parameters = parameters.into_iter().map(|parameter| {
        let pattern = parameter.child_by_field_name("pattern");
        let default = pattern.and(parameter.child_by_field_name("value"));
        (pattern.unwrap_or(parameter), default)
    });
    parameters.collect()
}

/// Returns the names that a pattern declares.
fn pattern_names(pattern: Node<'_>) -> Vec<Node<'_>> {
    let field = |name: &str| pattern.child_by_field_name(name);
    match pattern.kind() {
        "identifier"
        | "shorthand_property_identifier_pattern"
        | "type_identifier"
        | "property_identifier"
        | "private_property_identifier" => vec![pattern],
        "assignment_pattern" | "object_assignment_pattern" => {
            field("left").map(pattern_names).unwrap_or_default()
        }
        "pair_pattern" => field("value").map(pattern_names).unwrap_or_default(),
        "object_pattern" | "array_pattern" | "rest_pattern" => children_of(pattern)
            .into_iter()
            .flat_map(pattern_names)
            .collect(),
        _ => Vec::new(),
    }
}

pub(super) fn is_class(node: Node<'_>) -> bool {
    ["class_declaration", "class", "abstract_class_declaration"].contains(&node.kind())
}

/// Returns true for what a `const` is declared in.
fn is_block(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "program" | "statement_block" | "for_statement" | "switch_body" | "catch_clause"
    )
}
