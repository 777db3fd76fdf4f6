//! Follows a script as far as its values are known. It sends nothing and runs nothing of others.

use super::syntax::{children_of, nodes_below, span_of, text_of};
use super::value::{Data, DataKind, Js};
use crate::import::migration::Migration;
use crate::import::recording::{Feed, FeedOrder, FeedSource, Runs};
use crate::import::source::Span;
use crate::import::text::singular;
use std::collections::{HashMap, HashSet};
use tree_sitter::Node;

/// Most expressions and statements that are followed.
const MOST_WORK: usize = 200_000;
/// Deepest calls and expressions.
const DEEPEST: usize = 60;
/// Most numbers that a feed has.
const MOST_NUMBERS: f64 = 1e6;

/// The variables of a function or a block.
#[derive(Debug, Default)]
struct Scope<'t> {
    values: HashMap<String, Js<'t>>,
    parent: Option<usize>,
}

/// The state of a script.
pub(super) struct Interpreter<'s, 't> {
    pub(super) source: &'s str,
    pub(super) migration: Migration,
    scopes: Vec<Scope<'t>>,
    pub(super) scope: usize,
    pub(super) depth: usize,
    work: usize,
    /// Names of the transactions around.
    pub(super) transactions: Vec<String>,
    /// The exchange without whose success the next ones are not sent.
    pub(super) after: Option<usize>,
    pub(super) runs: Runs,
    /// The number of redirects that requests follow.
    pub(super) redirects: u32,
    pub(super) user_agent: Option<String>,
    /// The functions that were followed.
    pub(super) followed: HashSet<usize>,
}

/// The way on after a statement.
#[derive(Debug)]
pub(super) enum Flow<'t> {
    Next,
    Return(Js<'t>),
}

impl<'s, 't> Interpreter<'s, 't> {
    pub(super) fn new(source: &'s str) -> Self {
        Self {
            source,
            migration: Migration::default(),
            scopes: vec![Scope::default()],
            scope: 0,
            depth: 0,
            work: 0,
            transactions: Vec::new(),
            after: None,
            runs: Runs::Always,
            redirects: 10,
            user_agent: None,
            followed: HashSet::new(),
        }
    }

    /// Counts an expression or statement; false where there are too many, or too deep ones.
    pub(super) fn may_go_on(&mut self) -> bool {
        self.work += 1;
        self.work < MOST_WORK && self.depth < DEEPEST
    }

    /// Returns the text of a place.
    pub(super) fn source_of(&self, span: &Span) -> &'s str {
        self.source.get(span.clone()).unwrap_or_default()
    }

    pub(super) fn text(&self, node: Node<'_>) -> &'s str {
        text_of(node, self.source)
    }

    /// Opens a scope within another one, and returns the one before.
    pub(super) fn open_scope(&mut self, parent: usize) -> usize {
        self.scopes.push(Scope {
            values: HashMap::new(),
            parent: Some(parent),
        });
        std::mem::replace(&mut self.scope, self.scopes.len() - 1)
    }

    pub(super) fn close_scope(&mut self, before: usize) {
        self.scope = before;
    }

    pub(super) fn declare(&mut self, name: &str, value: Js<'t>) {
        let scope = &mut self.scopes[self.scope];
        scope.values.insert(name.to_owned(), value);
    }

    /// Returns the scope that has a variable.
    fn scope_of(&self, name: &str) -> Option<usize> {
        let mut scope = Some(self.scope);
        while let Some(at) = scope {
            if self.scopes[at].values.contains_key(name) {
                return Some(at);
            }
            scope = self.scopes[at].parent;
        }
        None
    }

    pub(super) fn find(&self, name: &str) -> Option<&Js<'t>> {
        self.scopes[self.scope_of(name)?].values.get(name)
    }

    pub(super) fn assign(&mut self, name: &str, value: Js<'t>) {
        let scope = self.scope_of(name).unwrap_or(self.scope);
        self.scopes[scope].values.insert(name.to_owned(), value);
    }

    /// Leaves a node as a comment. What it may change is unknown after it.
    pub(super) fn leave_code(&mut self, node: Node<'t>, what: &str) {
        let text = self.text(node);
        self.migration.leave_code(span_of(node), text, what);
        self.forget(node, &mut HashSet::new());
    }

    /// Makes the variables unknown that a node, or a function that it calls, may change.
    fn forget(&mut self, node: Node<'t>, seen: &mut HashSet<usize>) {
        if !seen.insert(node.id()) || !self.may_go_on() {
            return;
        }
        for below in nodes_below(node) {
            let changed = match below.kind() {
                "assignment_expression" | "augmented_assignment_expression" => {
                    below.child_by_field_name("left")
                }
                "update_expression" => below.child_by_field_name("argument"),
                "call_expression" => {
                    let function = below.child_by_field_name("function");
                    if let Some(function) = function
                        && let Some(Js::Function(body, _)) = self.find(self.text(function)).cloned()
                    {
                        self.forget(body, seen);
                    }
                    // `list.push(..)` changes the list.
                    function.filter(|function| function.kind() == "member_expression")
                }
                _ => None,
            };
            let Some(mut root) = changed else { continue };
            let span = span_of(root);
            while let Some(object) = root.child_by_field_name("object") {
                root = object;
            }
            let names = nodes_below(root).into_iter().filter(|node| {
                ["identifier", "shorthand_property_identifier_pattern"].contains(&node.kind())
            });
            for name in names {
                let name = self.text(name);
                let keeps = matches!(
                    self.find(name),
                    None | Some(Js::Native(_) | Js::Response(_) | Js::Data(_) | Js::Function(..))
                ) && below.kind() == "call_expression";
                if !keeps {
                    self.assign(name, Js::Unknown(span.clone()));
                }
            }
        }
    }

    /// Returns the number of a feed of whole numbers, the last one not included.
    pub(super) fn number_feed(&mut self, low: f64, high: f64) -> Option<usize> {
        let is_fit = low.abs() < 1e12 && high > low && high - low <= MOST_NUMBERS;
        is_fit.then_some(())?;
        let (low, high) = (low.floor() as i64, high.ceil() as i64 - 1);
        let feed = Feed {
            name: "number".to_owned(),
            source: FeedSource::Numbers(low, high),
            order: FeedOrder::Random,
            stops: false,
        };
        Some(self.migration.feed(format!("{low}..{high}"), feed))
    }

    /// Returns a row of a file, whose draw stands at this place.
    pub(super) fn row(&mut self, data: &Data, order: FeedOrder, span: &Span) -> Js<'t> {
        let source = match data.kind {
            DataKind::Csv => FeedSource::Csv(data.file.clone()),
            DataKind::Json => FeedSource::Json(data.file.clone()),
            DataKind::Text | DataKind::CsvParsed => return Js::Unknown(span.clone()),
        };
        let file = data.file.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = file.split('.').next().unwrap_or_default();
        let feed = Feed {
            name: singular(stem),
            source,
            order,
            stops: false,
        };
        Js::Row(self.migration.feed(format!("{span:?}"), feed), None)
    }

    /// Returns the parameters of a function and its body.
    pub(super) fn function_parts(node: Node<'t>) -> (Vec<Node<'t>>, Option<Node<'t>>) {
        let parameters = match node.child_by_field_name("parameters") {
            Some(list) => children_of(list),
            None => node.child_by_field_name("parameter").into_iter().collect(),
        };
        let patterns = parameters.into_iter().map(|parameter| {
            parameter
                .child_by_field_name("pattern")
                .unwrap_or(parameter)
        });
        (patterns.collect(), node.child_by_field_name("body"))
    }
}
