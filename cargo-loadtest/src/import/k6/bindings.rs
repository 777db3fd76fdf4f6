//! The values of names.
//!
//! A name has a value where the text gives it a single one, or where no branch and no loop is between the last one and
//! its use.

use super::names::{Binding, BindingKind};
use super::script::{DEEPEST, Script};
use super::value::Js;
use crate::import::recording::FeedOrder;
use crate::import::syntax::{children_of, inner_of, is_function, span_of, text_of};
use std::rc::Rc;
use tree_sitter::Node;

impl<'t> Script<'_, 't> {
    /// Returns the value of a name where it is used.
    pub(super) fn name_value(&mut self, node: Node<'t>, mut frame: usize) -> Option<Js<'t>> {
        let name = self.text(node);
        let around: Vec<Node<'t>> = self.names.around(node).collect();
        for scope in around {
            if let Some(bindings) = self.names.bindings(scope.id(), name) {
                let bindings = bindings.to_vec();
                let value = self.resolve(&bindings, name, node, frame);
                return Some(match value {
                    // The name says more than the expression that it is the value of.
                    Js::Unknown(_) => Js::Unknown(span_of(node)),
                    value => value,
                });
            }
            if is_function(scope) && self.frames[frame].function == scope.id() {
                frame = self.frames[frame].parent;
            }
        }
        self.imports.get(name).cloned()
    }

    /// Returns the value that a name has at a place, of all that it gets.
    pub(super) fn resolve(
        &mut self,
        bindings: &[Binding<'t>],
        name: &str,
        place: Node<'t>,
        frame: usize,
    ) -> Js<'t> {
        if let Some(counted) = self.counted(bindings, name, frame) {
            return counted;
        }
        let start = place.start_byte();
        let home = self.names.function_around(place);
        let all = || bindings.iter().filter(|binding| !binding.kind.is_part());
        let mut whole: Vec<&Binding<'t>> = all().collect();
        // `let token;` is no value beside the one that it gets.
        if whole.len() > 1 {
            whole.retain(|binding| !is_start(binding, self.source));
        }
        let chosen = match whole.as_slice() {
            [] => all().next(),
            [one] => Some(*one),
            several => {
                let mut before = several.iter().rev();
                let last = before.find(|binding| {
                    binding.kind == BindingKind::Parameter || binding.node.end_byte() <= start
                });
                let is_certain = last.is_some_and(|last| {
                    self.is_straight(last.node, place)
                        && several.iter().all(|binding| {
                            self.names.function_around(binding.node) == home
                                || binding.kind == BindingKind::Parameter
                        })
                        && !several.iter().any(|binding| {
                            let mut around = self.names.around(binding.node);
                            around.any(|node| {
                                let body = node.child_by_field_name("body");
                                let repeats = is_loop(node) && holds(node, place);
                                repeats && !body.is_some_and(|body| holds(body, last.node))
                            })
                        })
                });
                last.copied().filter(|_| is_certain)
            }
        };
        let unknown = Js::Unknown(span_of(place));
        let Some(chosen) = chosen else { return unknown };
        let mut value = self.binding_value(chosen, bindings, name, frame);
        for part in bindings.iter().filter(|binding| binding.kind.is_part()) {
            let is_here = self.names.function_around(part.node) == home;
            let comes_before = !is_here || part.node.end_byte() <= start;
            if comes_before && part.node.start_byte() >= chosen.node.start_byte() {
                value = self
                    .with_part(&value, part, frame)
                    .unwrap_or_else(|| unknown.clone());
            }
        }
        value
    }

    /// Returns the number of `for (let number = 1; number < 10; number++)`: another one in each journey.
    fn counted(&mut self, bindings: &[Binding<'t>], name: &str, frame: usize) -> Option<Js<'t>> {
        let first = bindings.first()?;
        let head = self.names.around(first.node).nth(1)?;
        (head.kind() == "for_statement" && bindings.len() > 1).then_some(())?;
        let mut condition = head.child_by_field_name("condition")?;
        if condition.kind() == "expression_statement" {
            condition = children_of(condition).into_iter().next()?;
        }
        let sides = ["left", "operator", "right"];
        let [left, sign, right] = sides.map(|name| condition.child_by_field_name(name));
        (self.text(left?) == name).then_some(())?;
        let low = self.value(first.value?, frame).as_number()?;
        let high = self.value(right?, frame).as_number()?;
        let high = match self.text(sign?) {
            "<" => high,
            "<=" => high + 1.0,
            _ => return None,
        };
        Some(Js::Row(
            self.number_feed(low, high, FeedOrder::Sequential)?,
            None,
        ))
    }

    /// Returns the frame of the function around a node: this one, or the last one.
    fn frame_of(&self, node: Node<'t>, mut frame: usize) -> Option<usize> {
        let function = self.names.function_around(node);
        loop {
            if self.frames[frame].function == function {
                return Some(frame);
            }
            if frame == 0 {
                return self.entered.get(&function).copied();
            }
            frame = self.frames[frame].parent;
        }
    }

    fn binding_value(
        &mut self,
        binding: &Binding<'t>,
        all: &[Binding<'t>],
        name: &str,
        frame: usize,
    ) -> Js<'t> {
        let unknown = Js::Unknown(span_of(binding.node));
        if binding.kind == BindingKind::Parameter {
            let is_own = self.frames[frame].function == binding.node.id();
            let parameters = &self.frames[frame].parameters;
            let mut found = parameters
                .iter()
                .filter(|(known, _)| is_own && known == name);
            return found.next().map_or(unknown, |(_, value)| value.clone());
        }
        let Some(frame) = self.frame_of(binding.node, frame) else {
            return unknown;
        };
        let value = match (binding.kind, binding.value) {
            (BindingKind::Definition, Some(node)) if is_function(node) => {
                return Js::Function(node, frame, None);
            }
            (BindingKind::Definition, Some(node)) => return Js::Class(node, frame),
            (BindingKind::Value, None) => return Js::Undefined,
            (BindingKind::Value, Some(value)) => self.value(value, frame),
            (BindingKind::Item, Some(list)) => {
                let list_value = self.value(list, frame);
                self.any_of(&list_value, list)
            }
            (BindingKind::Sum, Some(more)) if self.depth < DEEPEST => {
                self.depth += 1;
                let before = self.resolve(all, name, binding.node, frame);
                self.depth -= 1;
                let more = self.value(more, frame);
                return self.sum(&before, &more).unwrap_or(unknown);
            }
            _ => return unknown,
        };
        let kind = binding.target.kind();
        if kind != "identifier" && !kind.ends_with("_pattern") {
            return value;
        }
        let mut bound = Vec::new();
        self.bind(binding.target, value, frame, &mut bound);
        let found = bound.into_iter().find(|(known, _)| known == name);
        found.map_or(unknown, |(_, value)| value)
    }

    /// Returns a value with a part set.
    fn with_part(&mut self, value: &Js<'t>, part: &Binding<'t>, frame: usize) -> Option<Js<'t>> {
        let Some(frame) = self.frame_of(part.node, frame) else {
            // It is in a function that was not called yet.
            return Some(value.clone());
        };
        let arguments = || part.value.map(children_of).unwrap_or_default();
        match (part.kind, value) {
            (BindingKind::Push, Js::List(items)) => {
                let mut items = items.to_vec();
                items.extend(arguments().into_iter().map(|item| self.value(item, frame)));
                Some(Js::list(items))
            }
            (BindingKind::Append, Js::Object(_)) => {
                let &[name, given] = arguments().get(..2)? else {
                    return None;
                };
                let name = self.value(name, frame).as_str()?.to_owned();
                let given = self.value(given, frame);
                set_field(value, &[name], given)
            }
            (BindingKind::Field, Js::Object(_)) => {
                let mut keys = Vec::new();
                let mut node = part.target;
                while let Some(object) = node.child_by_field_name("object") {
                    keys.insert(
                        0,
                        if let Some(property) = node.child_by_field_name("property") {
                            self.text(property).to_owned()
                        } else {
                            let index = node.child_by_field_name("index")?;
                            let index = self.value(index, frame);
                            self.text_of_value(&index).as_literal()?.to_owned()
                        },
                    );
                    node = inner_of(object);
                }
                let given = self.value(part.value?, frame);
                set_field(value, &keys, given)
            }
            // What has no parts here changes no other value.
            (_, Js::Unknown(_) | Js::List(_) | Js::Object(_)) => None,
            (_, value) => Some(value.clone()),
        }
    }

    /// Returns true where a place follows another one without a branch or a loop that may leave it out.
    fn is_straight(&self, from: Node<'t>, place: Node<'t>) -> bool {
        let mut around = self.names.around(from);
        let branch = around.find(|node| is_loop(*node) || is_branch(*node) || is_function(*node));
        branch.is_none_or(|branch| holds(branch, place))
    }
}

/// Returns an object with a field set, also within objects of it.
fn set_field<'t>(object: &Js<'t>, keys: &[String], value: Js<'t>) -> Option<Js<'t>> {
    let Some((key, rest)) = keys.split_first() else {
        return Some(value);
    };
    let fields = match object {
        Js::Object(fields) => Rc::clone(fields),
        Js::Undefined => Rc::default(),
        _ => return None,
    };
    let inner = object.get(key).cloned().unwrap_or(Js::Undefined);
    let inner = set_field(&inner, rest, value)?;
    let mut fields = fields;
    let changed = Rc::make_mut(&mut fields);
    match changed.iter_mut().find(|(known, _)| known == key) {
        Some((_, known)) => *known = inner,
        None => changed.push((key.clone(), inner)),
    }
    Some(Js::Object(fields))
}

/// Returns true for a declaration that only says that there is no value yet.
fn is_start(binding: &Binding<'_>, source: &str) -> bool {
    let text = binding.value.map_or("", |value| text_of(value, source));
    matches!(
        binding.node.kind(),
        "variable_declarator" | "public_field_definition"
    ) && matches!(
        text,
        "" | "null" | "undefined" | "''" | "\"\"" | "0" | "false" | "[]" | "{}"
    )
}

pub(super) fn is_loop(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "for_statement" | "for_in_statement" | "while_statement" | "do_statement"
    )
}

fn is_branch(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "if_statement" | "switch_case" | "switch_default" | "ternary_expression" | "catch_clause"
    )
}

fn holds(node: Node<'_>, other: Node<'_>) -> bool {
    node.start_byte() <= other.start_byte() && other.end_byte() <= node.end_byte()
}
