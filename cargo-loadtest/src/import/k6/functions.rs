//! Functions and classes of the script.

use super::names::is_class;
use super::script::Script;
use super::syntax::{children_of, nodes_within, span_of};
use super::value::Js;
use crate::import::source::Span;
use std::rc::Rc;
use tree_sitter::Node;

/// Deepest calls of functions.
const DEEPEST: usize = 30;

impl<'t> Script<'_, 't> {
    /// Walks through a function as it is called, and returns its value.
    pub(super) fn enter(
        &mut self,
        (function, at, this): (Node<'t>, usize, Option<Js<'t>>),
        arguments: &[Js<'t>],
        site: Option<Span>,
    ) -> Js<'t> {
        if self.open.contains(&function.id()) || self.open.len() >= DEEPEST {
            let words = "a function that calls itself is followed once";
            self.migration.note_once(&span_of(function), words);
            return Js::Unknown(span_of(function));
        }
        let frame = self.open_frame(function, at, this, arguments, site);
        self.entered.insert(function.id(), frame);
        self.seen.insert(function.id());
        self.open.push(function.id());
        let after = self.after;
        if let Some(body) = function.child_by_field_name("body") {
            self.walk(body, frame);
        }
        self.after = after;
        self.open.pop();
        self.returned(function, frame)
    }

    /// Makes an object of a class.
    pub(super) fn construct(&mut self, class: Node<'t>, at: usize, arguments: &[Js<'t>]) -> Js<'t> {
        let mut classes = self.classes(class, at).into_iter();
        let constructor = classes.find_map(|class| self.method(class, "constructor"));
        let frame = self.open_frame(constructor.unwrap_or(class), at, None, arguments, None);
        let object = Js::Instance(class, frame);
        self.set_this(frame, object.clone());
        if let Some(constructor) = constructor {
            self.entered.insert(constructor.id(), frame);
            self.seen.insert(constructor.id());
            let body = constructor.child_by_field_name("body");
            body.into_iter().for_each(|body| self.walk(body, frame));
        }
        object
    }

    /// Walks through the constructor that `super(..)` calls.
    pub(super) fn construct_above(&mut self, node: Node<'t>, frame: usize) {
        let class = self.names.around(node).find(|node| is_class(*node));
        let classes = class.map(|class| self.classes(class, frame));
        let mut above = classes.unwrap_or_default().into_iter().skip(1);
        if let Some(constructor) = above.find_map(|class| self.method(class, "constructor")) {
            let (arguments, this) = (self.arguments(node, frame), self.this(frame));
            self.enter((constructor, frame, this), &arguments, None);
        }
    }

    /// Returns a class and those that it extends.
    fn classes(&mut self, class: Node<'t>, frame: usize) -> Vec<Node<'t>> {
        let mut classes = vec![class];
        while classes.len() < DEEPEST {
            let mut parts = children_of(classes[classes.len() - 1]).into_iter();
            let heritage = parts.find(|part| part.kind() == "class_heritage");
            let clause = heritage.and_then(|heritage| children_of(heritage).into_iter().next());
            let above = clause.map(|clause| clause.child_by_field_name("value").unwrap_or(clause));
            match above.map(|above| self.value(above, frame)) {
                Some(Js::Class(above, _)) => classes.push(above),
                _ => break,
            }
        }
        classes
    }

    /// Returns a method of a class.
    fn method(&self, class: Node<'t>, name: &str) -> Option<Node<'t>> {
        let body = class.child_by_field_name("body")?;
        let mut members = children_of(body).into_iter();
        members.find(|member| {
            let known = member.child_by_field_name("name");
            member.kind() == "method_definition"
                && known.is_some_and(|known| self.text(known) == name)
        })
    }

    /// Returns a method or a field of a class or of its object.
    pub(super) fn class_member(
        &mut self,
        object: &Js<'t>,
        (class, frame): (Node<'t>, usize),
        name: &str,
        node: Node<'t>,
    ) -> Js<'t> {
        let bound = |function, at| Js::Function(function, at, Some(Rc::new(object.clone())));
        for class in self.classes(class, frame) {
            if let Some(method) = self.method(class, name) {
                return bound(method, frame);
            }
            let bindings = self.names.bindings(class.id(), name).map(<[_]>::to_vec);
            if let Some(bindings) = bindings {
                return match self.resolve(&bindings, name, node, frame) {
                    Js::Function(function, at, None) => bound(function, at),
                    value => value,
                };
            }
        }
        Js::Unknown(span_of(node))
    }

    /// Returns the only value that a function returns, beside none.
    pub(super) fn returned(&mut self, function: Node<'t>, frame: usize) -> Js<'t> {
        let unknown = Js::Unknown(span_of(function));
        let Some(body) = function.child_by_field_name("body") else {
            return unknown;
        };
        if body.kind() != "statement_block" {
            return self.value(body, frame);
        }
        let mut returns = nodes_within(body);
        returns.retain(|node| node.kind() == "return_statement");
        // Of a function that the walk was in, those that it came to.
        let is_reached = |node: &Node<'t>| self.results.contains_key(&(node.id(), frame));
        if returns.iter().any(is_reached) {
            returns.retain(is_reached);
        }
        let mut values: Vec<Js<'t>> = Vec::new();
        for node in returns {
            let value = match self.results.get(&(node.id(), frame)) {
                Some(value) => value.clone(),
                None => children_of(node)
                    .first()
                    .map_or(Js::Undefined, |value| self.value(*value, frame)),
            };
            if value.truth() != Some(false) && !values.contains(&value) {
                values.push(value);
            }
        }
        match values.len() {
            0 => Js::Undefined,
            1 => values.remove(0),
            _ => unknown,
        }
    }
}
