//! Variables that get values, and functions of the script that are called.

use super::expressions::member;
use super::interpreter::{Flow, Interpreter};
use super::syntax::{children_of, inner_of, span_of};
use super::value::Js;
use std::rc::Rc;
use tree_sitter::Node;

impl<'t> Interpreter<'_, 't> {
    /// Gives a value to a variable, or the parts of a value to several.
    pub(super) fn bind(&mut self, pattern: Node<'t>, value: Js<'t>, is_new: bool) {
        let pattern = inner_of(pattern);
        match pattern.kind() {
            "identifier" | "shorthand_property_identifier_pattern" => {
                let name = self.text(pattern);
                if is_new {
                    self.declare(name, value);
                } else {
                    self.assign(name, value);
                }
            }
            "object_pattern" => {
                for child in children_of(pattern) {
                    let (key, target) = match child.kind() {
                        "pair_pattern" => (
                            child.child_by_field_name("key"),
                            child.child_by_field_name("value"),
                        ),
                        "object_assignment_pattern" => {
                            let left = child.child_by_field_name("left");
                            (left, left)
                        }
                        _ => (Some(child), Some(child)),
                    };
                    let (Some(key), Some(target)) = (key, target) else {
                        continue;
                    };
                    let part = match self.key_name(key) {
                        Some(name) if child.kind() != "rest_pattern" => {
                            member(&value, &name, child)
                        }
                        _ => Js::Unknown(span_of(child)),
                    };
                    self.bind(target, part, is_new);
                }
            }
            "array_pattern" => {
                for (at, child) in children_of(pattern).into_iter().enumerate() {
                    let part = self.item(&value, &Js::Number(at as f64), child);
                    self.bind(child, part, is_new);
                }
            }
            "assignment_pattern" => {
                let (left, right) = (
                    pattern.child_by_field_name("left"),
                    pattern.child_by_field_name("right"),
                );
                let value = match (value, right) {
                    (Js::Undefined, Some(right)) => self.eval(right),
                    (value, _) => value,
                };
                if let Some(left) = left {
                    self.bind(left, value, is_new);
                }
            }
            "member_expression" | "subscript_expression" => self.set_member(pattern, value),
            "rest_pattern" => {
                if let Some(inner) = children_of(pattern).first() {
                    self.bind(*inner, Js::Unknown(span_of(pattern)), is_new);
                }
            }
            _ => {}
        }
    }

    /// Sets a field of the object in a variable, or of an object within it.
    fn set_member(&mut self, target: Node<'t>, value: Js<'t>) {
        let mut keys = Vec::new();
        let mut node = target;
        while let Some(object) = node.child_by_field_name("object") {
            let key = if let Some(property) = node.child_by_field_name("property") {
                Some(self.text(property).to_owned())
            } else {
                let index = node.child_by_field_name("index");
                let index = index.map(|index| self.eval(index));
                index.and_then(|index| Some(self.text_of_value(&index).as_literal()?.to_owned()))
            };
            keys.push(key);
            node = inner_of(object);
        }
        if node.kind() != "identifier" {
            return;
        }
        let name = self.text(node);
        let root = self.find(name).cloned();
        let keys: Option<Vec<String>> = keys.into_iter().rev().collect();
        let changed = match (root, keys) {
            (Some(root), Some(keys)) => set_field(&root, &keys, value),
            _ => None,
        };
        self.assign(
            name,
            changed.unwrap_or_else(|| Js::Unknown(span_of(target))),
        );
    }

    /// Runs a function of the script.
    pub(super) fn call_function(
        &mut self,
        function: Node<'t>,
        scope: usize,
        arguments: &[Js<'t>],
    ) -> Js<'t> {
        let (parameters, body) = Self::function_parts(function);
        let Some(body) = body.filter(|_| self.may_go_on()) else {
            return Js::Unknown(span_of(function));
        };
        self.followed.insert(function.id());
        let before = self.open_scope(scope);
        self.depth += 4;
        for (at, parameter) in parameters.into_iter().enumerate() {
            let value = arguments.get(at).cloned().unwrap_or(Js::Undefined);
            self.bind(parameter, value, true);
        }
        let after = self.after;
        let value = if body.kind() == "statement_block" {
            match self.run_block(body) {
                Flow::Return(value) => value,
                Flow::Next => Js::Undefined,
            }
        } else {
            self.eval(body)
        };
        self.after = after;
        self.depth -= 4;
        self.close_scope(before);
        value
    }
}

/// Returns an object with a field set, also within objects of it.
fn set_field<'t>(object: &Js<'t>, keys: &[String], value: Js<'t>) -> Option<Js<'t>> {
    let Some((key, rest)) = keys.split_first() else {
        return Some(value);
    };
    let Js::Object(fields) = object else {
        return None;
    };
    let inner = object.get(key).cloned().unwrap_or(Js::Undefined);
    let inner = set_field(&inner, rest, value)?;
    let mut fields = Rc::clone(fields);
    let changed = Rc::make_mut(&mut fields);
    match changed.iter_mut().find(|(known, _)| known == key) {
        Some((_, known)) => *known = inner,
        None => changed.push((key.clone(), inner)),
    }
    Some(Js::Object(fields))
}
