//! The variables of a script, each with its value so far on the walk.
//!
//! What a branch or a loop changes is not known behind it, unless the variable had no value before.

use super::nodes::is_class;
use super::script::Script;
use super::value::Js;
use crate::recording::FeedOrder;
use crate::syntax::{children_of, inner_of, is_function, nodes_below, part_of, span_of};
use std::collections::HashSet;
use std::rc::Rc;
use tree_sitter::Node;

/// A change of a variable.
#[derive(Debug, Clone)]
pub(super) struct VariableChange<'t> {
    frame: usize,
    name: String,
    before: Option<Js<'t>>,
    is_declared: bool,
}

impl<'t> Script<'_, 't> {
    /// Returns the value of a name where it is used.
    pub(super) fn name_value(&self, node: Node<'t>, frame: usize) -> Option<Js<'t>> {
        let name = self.text(node);
        let frame = self.frame_with(name, frame)?;
        Some(match &self.frames[frame].variables[name] {
            // The name says more than the expression that it is the value of.
            Js::Unknown(_) => Js::Unknown(span_of(node)),
            value => value.clone(),
        })
    }

    /// Returns the frame that has a variable, from inside out.
    fn frame_with(&self, name: &str, mut frame: usize) -> Option<usize> {
        while !self.frames[frame].variables.contains_key(name) {
            if frame == 0 {
                return None;
            }
            frame = self.frames[frame].parent;
        }
        Some(frame)
    }

    /// Sets a variable of a frame.
    pub(super) fn set_variable(
        &mut self,
        frame: usize,
        name: &str,
        value: Js<'t>,
        is_declared: bool,
    ) {
        let variables = &mut self.frames[frame].variables;
        let before = variables.insert(name.to_owned(), value);
        self.changes.push(VariableChange {
            frame,
            name: name.to_owned(),
            before,
            is_declared,
        });
    }

    /// Undoes all changes but for the first ones.
    pub(super) fn undo_changes(&mut self, kept: usize) {
        for change in self.changes.split_off(kept).into_iter().rev() {
            self.undo_change(change);
        }
    }

    fn undo_change(&mut self, change: VariableChange<'t>) {
        let variables = &mut self.frames[change.frame].variables;
        match change.before {
            Some(before) => variables.insert(change.name, before),
            None => variables.remove(&change.name),
        };
    }

    /// Removes the variables that a block has declared since a change.
    pub(super) fn end_block(&mut self, first: usize, frame: usize) {
        let changes = self.changes[first..].iter().rev();
        let declared = changes.filter(|change| change.is_declared && change.frame == frame);
        for change in declared.cloned().collect::<Vec<_>>() {
            self.undo_change(change);
        }
    }

    /// Walks through what only some journeys come to.
    pub(super) fn walk_maybe(&mut self, walk: impl FnOnce(&mut Self)) {
        let first = self.changes.len();
        walk(self);
        let mut seen = HashSet::new();
        let changes = self.changes[first..].to_vec();
        for change in changes {
            let is_first = seen.insert((change.frame, change.name.clone()));
            let Some(before) = change.before.filter(|_| is_first) else {
                continue;
            };
            let now = self.frames[change.frame].variables.get(&change.name);
            if now.is_some_and(|now| *now != before) && !before.is_nothing() {
                self.set_variable(change.frame, &change.name, Js::Unknown(0..0), false);
            }
        }
    }

    /// Declares the functions and classes of a block, which are known before it.
    pub(super) fn declare_functions(&mut self, block: Node<'t>, frame: usize) {
        for child in children_of(block) {
            let exported = part_of(child, "declaration").or(part_of(child, "value"));
            let child = exported
                .filter(|_| child.kind() == "export_statement")
                .unwrap_or(child);
            let value = match child.kind() {
                "function_declaration" | "generator_function_declaration" => {
                    Js::Function(child, frame, None)
                }
                _ if is_class(child) => Js::Class(child, frame),
                _ => continue,
            };
            if let Some(name) = part_of(child, "name") {
                self.set_variable(frame, self.text(name), value, true);
            }
        }
    }

    /// Declares the variable of a declarator.
    pub(super) fn declare(&mut self, declarator: Node<'t>, frame: usize) {
        let value = match part_of(declarator, "value").map(inner_of) {
            None => Js::Undefined,
            Some(value) if is_function(value) => Js::Function(value, frame, None),
            Some(value) => self.value(value, frame),
        };
        let around = self.nodes.parent(declarator);
        let is_var = around.is_some_and(|around| around.kind() == "variable_declaration");
        if let Some(name) = part_of(declarator, "name") {
            self.bind(name, value, frame, !is_var);
        }
    }

    /// Declares the variables of a function that the walk was not in.
    pub(super) fn declare_locals(&mut self, body: Node<'t>, frame: usize) {
        self.declare_functions(body, frame);
        for declarator in children_of(body).into_iter().flat_map(children_of) {
            if declarator.kind() == "variable_declarator" {
                self.declare(declarator, frame);
            }
        }
    }

    /// Does what an assignment does, whose sides the walk was in.
    pub(super) fn assign(&mut self, node: Node<'t>, frame: usize) {
        let Some(target) = part_of(node, "left")
            .or(part_of(node, "argument"))
            .map(inner_of)
        else {
            return;
        };
        let sign = part_of(node, "operator").map_or("", |sign| self.text(sign));
        let more = part_of(node, "right").map(|right| self.value(right, frame));
        let value = match (node.kind(), more) {
            ("assignment_expression", Some(value)) => Some(value),
            ("augmented_assignment_expression", Some(more)) if sign == "+=" => {
                let before = self.value(target, frame);
                self.sum(&before, &more)
            }
            _ => None,
        };
        let value = value.unwrap_or(Js::Unknown(span_of(node)));
        self.bind(target, value, frame, false);
    }

    /// Adds to a list, or a field to an object: `list.push(value)`, `form.append(name, value)`.
    pub(super) fn extend(&mut self, object: Node<'t>, arguments: &[Js<'t>], frame: usize) {
        let value = match (self.value(object, frame), arguments) {
            (Js::List(items), _) => Js::list([&items[..], arguments].concat()),
            (value @ Js::Object(_), [name, given, ..]) => {
                let keys = name.as_str().map(|name| vec![name.to_owned()]);
                let changed = keys.and_then(|keys| set_field(&value, &keys, given.clone()));
                changed.unwrap_or(Js::Unknown(span_of(object)))
            }
            _ => return,
        };
        self.bind(object, value, frame, false);
    }

    /// Gives the parts of a value to the names of a pattern: to new variables, or to those that are there.
    pub(super) fn bind(
        &mut self,
        pattern: Node<'t>,
        value: Js<'t>,
        frame: usize,
        is_declared: bool,
    ) {
        match pattern.kind() {
            "identifier" | "shorthand_property_identifier_pattern" => {
                let name = self.text(pattern);
                let known = self.frame_with(name, frame).filter(|_| !is_declared);
                self.set_variable(known.unwrap_or(frame), name, value, is_declared);
            }
            "member_expression" | "subscript_expression" => self.set_part(pattern, value, frame),
            "object_pattern" => {
                for child in children_of(pattern) {
                    let (key, target) = match child.kind() {
                        "pair_pattern" => (part_of(child, "key"), part_of(child, "value")),
                        "object_assignment_pattern" => (part_of(child, "left"), Some(child)),
                        "rest_pattern" => (None, Some(child)),
                        _ => (Some(child), Some(child)),
                    };
                    let Some(target) = target else { continue };
                    let part = match key.and_then(|key| self.key_name(key, frame)) {
                        Some(name) => self.member(&value, &name, child),
                        None => Js::Unknown(span_of(child)),
                    };
                    self.bind(target, part, frame, is_declared);
                }
            }
            "array_pattern" => {
                for (at, child) in children_of(pattern).into_iter().enumerate() {
                    let part = self.item(&value, &Js::Number(at as f64), child);
                    self.bind(child, part, frame, is_declared);
                }
            }
            "assignment_pattern" | "object_assignment_pattern" => {
                let value = match (value, part_of(pattern, "right")) {
                    (Js::Undefined, Some(right)) => self.value(right, frame),
                    (value, _) => value,
                };
                if let Some(left) = part_of(pattern, "left") {
                    self.bind(left, value, frame, is_declared);
                }
            }
            "rest_pattern" => {
                if let Some(inner) = children_of(pattern).first() {
                    self.bind(*inner, value, frame, is_declared);
                }
            }
            _ => {}
        }
    }

    /// Sets a part of what a variable or an object has: `params.headers.Accept = value`.
    fn set_part(&mut self, target: Node<'t>, value: Js<'t>, frame: usize) {
        let mut keys: Vec<Option<String>> = Vec::new();
        let mut root = target;
        while let Some(object) = part_of(root, "object") {
            let key = match (part_of(root, "property"), part_of(root, "index")) {
                (Some(property), _) => Some(self.text(property).to_owned()),
                (None, Some(index)) => {
                    let index = self.value(index, frame);
                    self.text_of_value(&index).as_literal().map(str::to_owned)
                }
                (None, None) => None,
            };
            keys.insert(0, key);
            root = inner_of(object);
        }
        let this = self.this(frame);
        let (frame, name) = if root.kind() == "this"
            && let Some(Js::Instance(_, at)) = this.as_deref()
        {
            let Some(field) = keys.remove(0) else { return };
            (*at, format!("this.{field}"))
        } else {
            let name = self.text(root);
            let Some(at) = self.frame_with(name, frame) else {
                return;
            };
            (at, name.to_owned())
        };
        let before = self.frames[frame].variables.get(&name);
        let before = before.cloned().unwrap_or(Js::Undefined);
        let keys: Option<Vec<String>> = keys.into_iter().collect();
        let changed = keys.and_then(|keys| set_field(&before, &keys, value));
        let changed = match (changed, before) {
            (Some(changed), _) => changed,
            (None, Js::Unknown(_) | Js::List(_) | Js::Object(_)) => Js::Unknown(0..0),
            // What has no parts here changes no other value.
            (None, before) => before,
        };
        self.set_variable(frame, &name, changed, false);
    }

    /// Declares what a loop has anew each time, and forgets what it changes.
    pub(super) fn begin_loop(&mut self, node: Node<'t>, frame: usize) {
        for inner in nodes_below(node) {
            let is_set = inner.kind() == "assignment_expression";
            let changes = ["augmented_assignment_expression", "update_expression"];
            let target = part_of(inner, "left")
                .or(part_of(inner, "argument"))
                .map(inner_of);
            let target = target.filter(|target| target.kind() == "identifier");
            let known = target.and_then(|target| self.name_value(target, frame));
            if let (Some(target), Some(known)) = (target, known)
                && (is_set && !known.is_nothing() || changes.contains(&inner.kind()))
            {
                self.bind(target, Js::Unknown(0..0), frame, false);
            }
        }
        if let (Some(item), Some(list)) = (part_of(node, "left"), part_of(node, "right")) {
            let items = self.value(list, frame);
            let any = self.any_of(&items, list);
            self.bind(item, any, frame, true);
        } else if let Some((name, value)) = self.counted(node, frame) {
            self.bind(name, value, frame, true);
        }
    }

    /// Returns the number of `for (let number = 1; number < 10; number++)`: another one in each journey.
    fn counted(&mut self, head: Node<'t>, frame: usize) -> Option<(Node<'t>, Js<'t>)> {
        let declared = children_of(part_of(head, "initializer")?);
        let field = |name: &str| declared.first()?.child_by_field_name(name);
        let (name, first) = (field("name")?, field("value")?);
        let mut condition = part_of(head, "condition")?;
        if condition.kind() == "expression_statement" {
            condition = children_of(condition).into_iter().next()?;
        }
        let sides = ["left", "operator", "right"];
        let [left, sign, right] = sides.map(|name| part_of(condition, name));
        let low = self.value(first, frame).as_number()?;
        let high = self.value(right?, frame).as_number()?;
        let high = match self.text(sign?) {
            "<" => high,
            "<=" => high + 1.0,
            _ => return None,
        };
        let feed = self.number_feed(low, high, FeedOrder::Sequential)?;
        (self.text(left?) == self.text(name)).then_some((name, Js::Row(feed, None)))
    }
}

/// Returns an object with a field set, also within objects of it.
fn set_field<'t>(object: &Js<'t>, keys: &[String], value: Js<'t>) -> Option<Js<'t>> {
    let Some((key, rest)) = keys.split_first() else {
        return Some(value);
    };
    let mut fields = match object {
        Js::Object(fields) => Rc::clone(fields),
        Js::Undefined => Rc::default(),
        _ => return None,
    };
    let inner = object.get(key).cloned().unwrap_or(Js::Undefined);
    let inner = set_field(&inner, rest, value)?;
    let changed = Rc::make_mut(&mut fields);
    match changed.iter_mut().find(|(known, _)| known == key) {
        Some((_, known)) => *known = inner,
        None => changed.push((key.clone(), inner)),
    }
    Some(Js::Object(fields))
}
