//! Calls on the way, and the functions and classes of the script that they call.

use super::calls::Callee;
use super::nodes::is_class;
use super::requests::head_of;
use super::script::Script;
use super::value::Js;
use crate::source::Span;
use crate::syntax::{children_of, inner_of, is_function, nodes_within, part_of, span_of};
use crate::text::quote_name;
use std::rc::Rc;
use tree_sitter::Node;

/// Deepest calls of functions.
const DEEPEST: usize = 30;

/// Methods that call a function for each item of a list.
const LOOPS: [&str; 8] = [
    "forEach", "map", "filter", "flatMap", "some", "every", "find", "reduce",
];

impl<'t> Script<'_, 't> {
    /// Walks through a call and what it calls.
    pub(super) fn walk_call(&mut self, node: Node<'t>, frame: usize) {
        let function = part_of(node, "function");
        let Some(function) = function.or(part_of(node, "constructor")).map(inner_of) else {
            return;
        };
        let first = self.migration.recording.exchanges.len();
        match part_of(function, "object") {
            Some(object) => self.walk(object, frame),
            None if function.kind() != "identifier" => self.walk(function, frame),
            None => {}
        }
        let list = part_of(node, "arguments");
        let nodes = list.map(children_of).unwrap_or_default();
        for argument in &nodes {
            if !is_function(*argument) {
                self.walk(*argument, frame);
            }
        }
        let site = span_of(node).start..list.map_or(node.end_byte(), |list| list.start_byte());
        let site = Some(site).filter(|_| !nodes.is_empty());
        let result = match self.callee(node, frame) {
            Some(Callee::Value(Js::Function(function, at, this))) => {
                let arguments = self.arguments(node, frame);
                self.enter((function, at, this), &arguments, site)
            }
            Some(Callee::Value(Js::Class(class, at))) => {
                let arguments = self.arguments(node, frame);
                self.construct(class, at, &arguments)
            }
            Some(Callee::Value(Js::Native(path))) => {
                match self.call_effect(&path, &nodes, node, frame) {
                    Some(result) => result,
                    None => return self.walk_callbacks(None, &path, (node, frame), first),
                }
            }
            Some(Callee::Method(Js::Metric(kind, name), "add")) => {
                let arguments = self.arguments(node, frame);
                let value = arguments.first().unwrap_or(&Js::Undefined);
                return self.add_metric(&kind, &name, value, node);
            }
            Some(Callee::Method(Js::List(_) | Js::Object(_), "push" | "append")) => {
                let arguments = self.arguments(node, frame);
                if let Some(object) = part_of(function, "object") {
                    self.extend(object, &arguments, frame);
                }
                return;
            }
            Some(Callee::Method(object, name)) => {
                return self.walk_callbacks(Some(&object), name, (node, frame), first);
            }
            _ if function.kind() == "super" => return self.construct_above(node, frame),
            _ => {
                // It may call any function that is a value.
                self.is_lost = true;
                return self.walk_callbacks(None, "", (node, frame), first);
            }
        };
        let result = match result {
            Js::Unknown(_) => Js::Unknown(span_of(node)),
            result => result,
        };
        self.results.insert((node.id(), frame), result);
    }

    /// Walks through the functions that something else gets, and may call; `first` is the number of requests before.
    fn walk_callbacks(
        &mut self,
        object: Option<&Js<'t>>,
        name: &str,
        (node, frame): (Node<'t>, usize),
        first: usize,
    ) {
        let value = self.call_value(node, frame);
        if !value.is_unknown() && object.is_none() {
            return;
        }
        let unknown = Js::Unknown(span_of(node));
        let is_loop = LOOPS.contains(&name);
        let item = match object {
            Some(list) if is_loop => {
                let function = part_of(node, "function");
                let place = function.and_then(|function| part_of(function, "object"));
                self.any_of(list, place.unwrap_or(node))
            }
            Some(answer) if name == "then" => answer.clone(),
            _ => unknown.clone(),
        };
        let mut functions = Vec::new();
        for argument in self.arguments(node, frame) {
            let fields = argument.fields().iter().map(|(_, value)| value.clone());
            functions.extend(fields.chain([argument.clone()]));
        }
        if self.is_outside {
            let nodes = part_of(node, "arguments").map(children_of);
            let nodes = nodes.unwrap_or_default().into_iter();
            self.mentioned.extend(nodes.map(|node| (node, frame)));
            functions.clear();
        }
        let arguments = [item, unknown.clone(), unknown.clone(), unknown];
        for function in functions {
            let Js::Function(function, at, this) = function else {
                continue;
            };
            let walk = |script: &mut Self| {
                script.enter((function, at, this), &arguments, None);
            };
            if is_loop {
                let head = part_of(node, "function").map_or("", |head| self.text(head));
                self.walk_repeated(head, walk);
            } else {
                walk(self);
            }
        }
        if value.is_unknown() && !is_loop && name != "then" {
            if first < self.migration.recording.exchanges.len() {
                let name = part_of(node, "function");
                let name = quote_name(name.map_or("", |name| self.text(name)));
                let words = format!("{name} is not followed, only the requests in it");
                self.migration.note_once(&head_of(node), words);
            } else {
                self.unknown_calls.push(node);
            }
            self.first_unknown.get_or_insert(node);
        }
    }

    /// Walks through a function as it is called, and returns its value.
    pub(super) fn enter(
        &mut self,
        (function, at, this): (Node<'t>, usize, Option<Rc<Js<'t>>>),
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
        if let Some(body) = part_of(function, "body") {
            self.walk(body, frame);
        }
        self.after = after;
        self.open.pop();
        self.returned(function, frame)
    }

    /// Makes an object of a class.
    pub(super) fn construct(&mut self, class: Node<'t>, at: usize, arguments: &[Js<'t>]) -> Js<'t> {
        let mut classes = self.classes(class, at).into_iter();
        let constructor = classes.find_map(|class| self.member_of(class, "constructor"));
        let frame = self.open_frame(constructor.unwrap_or(class), at, None, arguments, None);
        let object = Js::Instance(class, frame);
        self.set_this(frame, Rc::new(object.clone()));
        if let Some(constructor) = constructor {
            self.entered.insert(constructor.id(), frame);
            self.seen.insert(constructor.id());
            if let Some(body) = part_of(constructor, "body") {
                self.walk(body, frame);
            }
        }
        object
    }

    /// Walks through the constructor that `super(..)` calls.
    pub(super) fn construct_above(&mut self, node: Node<'t>, frame: usize) {
        let class = self.nodes.around(node).find(|node| is_class(*node));
        let classes = class.map(|class| self.classes(class, frame));
        let mut above = classes.unwrap_or_default().into_iter().skip(1);
        if let Some(constructor) = above.find_map(|class| self.member_of(class, "constructor")) {
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
            let above = clause.map(|clause| part_of(clause, "value").unwrap_or(clause));
            match above.map(|above| self.value(above, frame)) {
                Some(Js::Class(above, _)) => classes.push(above),
                _ => break,
            }
        }
        classes
    }

    /// Returns a method or a field of a class.
    fn member_of(&self, class: Node<'t>, name: &str) -> Option<Node<'t>> {
        let body = part_of(class, "body")?;
        let mut members = children_of(body).into_iter();
        members.find(|member| {
            let known = part_of(*member, "name");
            ["method_definition", "public_field_definition"].contains(&member.kind())
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
        let bound = |value: Js<'t>| match value {
            Js::Function(function, at, None) => {
                Js::Function(function, at, Some(Rc::new(object.clone())))
            }
            Js::Unknown(_) => Js::Unknown(span_of(node)),
            value => value,
        };
        let field = self.frames[frame].variables.get(&format!("this.{name}"));
        if let Some(value) = field {
            return bound(value.clone());
        }
        for class in self.classes(class, frame) {
            match self.member_of(class, name) {
                Some(member) if member.kind() == "method_definition" => {
                    return bound(Js::Function(member, frame, None));
                }
                Some(field) => {
                    let value = part_of(field, "value");
                    let value = value.map(|value| self.value(value, frame));
                    return bound(value.unwrap_or(Js::Undefined));
                }
                None => {}
            }
        }
        Js::Unknown(span_of(node))
    }

    /// Returns the only value that a function returns, beside none.
    pub(super) fn returned(&mut self, function: Node<'t>, frame: usize) -> Js<'t> {
        let unknown = Js::Unknown(span_of(function));
        let Some(body) = part_of(function, "body") else {
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
        } else {
            self.declare_locals(body, frame);
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
