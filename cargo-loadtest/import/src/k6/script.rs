//! The state of a walk over a script, and the calls of its functions that it is in. Nothing is run.

use super::nodes::{ScriptNodes, parameters_of};
use super::value::{Js, Test};
use super::variables::VariableChange;
use crate::migration::Migration;
use crate::recording::Runs;
use crate::source::Span;
use crate::syntax::{inner_of, span_of, text_of};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::Duration;
use tree_sitter::Node;

/// Most expressions that are looked at for one value.
const MOST_LOOKS: usize = 20_000;
/// Most of them in a script.
const MOST_WORK: usize = 500_000;
/// Deepest expressions.
const DEEPEST: usize = 60;

/// A function as it is called at one place.
#[derive(Debug, Default)]
pub(super) struct Frame<'t> {
    /// The frame in which the function is written.
    pub(super) parent: usize,
    this: Option<Rc<Js<'t>>>,
    /// Its variables; the fields of an object have `this.` before their names.
    pub(super) variables: HashMap<String, Js<'t>>,
    /// The call, where it has arguments.
    site: Option<Span>,
}

/// The state of a walk.
#[derive(Default)]
pub(super) struct Script<'s, 't> {
    pub(super) source: &'s str,
    pub(super) migration: Migration,
    pub(super) nodes: ScriptNodes<'t>,
    pub(super) frames: Vec<Frame<'t>>,
    /// The changes of variables, in their order.
    pub(super) changes: Vec<VariableChange<'t>>,
    /// The number of those that the script itself makes.
    pub(super) own_changes: usize,
    /// The values of calls that the walk was at, each in its frame.
    pub(super) results: HashMap<(usize, usize), Js<'t>>,
    /// The last frame of each function that the walk was in.
    pub(super) entered: HashMap<usize, usize>,
    /// The functions that the walk is in.
    pub(super) open: Vec<usize>,
    /// The values that were looked up for the one that is asked for.
    looked_up: HashMap<(usize, usize), Js<'t>>,
    pub(super) depth: usize,
    /// The depth of the walk.
    pub(super) level: usize,
    looks: usize,
    pub(super) work: usize,
    /// Names of the transactions around.
    pub(super) transactions: Vec<String>,
    /// The exchange without whose success the next ones are not sent.
    pub(super) after: Option<usize>,
    /// The conditions around, and true where they have to fail.
    pub(super) when: Option<(Vec<(usize, Test)>, bool)>,
    pub(super) runs: Runs,
    /// True in a branch that is drawn.
    pub(super) is_drawn: bool,
    /// The pause before the first request.
    pub(super) lead: (Duration, Duration),
    /// Names of metrics that code adds to.
    pub(super) code_metrics: Vec<String>,
    /// The number of redirects that requests follow.
    pub(super) redirects: u32,
    pub(super) user_agent: Option<String>,
    /// Variables of the environment that the scenario has.
    pub(super) environment: Vec<(String, Js<'t>)>,
    /// The calls of requests that the walk was at.
    pub(super) seen: HashSet<usize>,
    /// Calls of what is not known.
    pub(super) unknown_calls: Vec<Node<'t>>,
    pub(super) first_unknown: Option<Node<'t>>,
    /// True in the statements of the script itself, which send nothing.
    pub(super) is_outside: bool,
    /// True where it is not known which function is called.
    pub(super) is_lost: bool,
    /// What may be a function that an unknown call calls, with its frame.
    pub(super) mentioned: Vec<(Node<'t>, usize)>,
}

impl<'s, 't> Script<'s, 't> {
    pub(super) fn new(root: Node<'t>, source: &'s str) -> Self {
        Self {
            source,
            nodes: ScriptNodes::new(root),
            frames: vec![Frame::default()],
            entered: HashMap::from([(root.id(), 0)]),
            redirects: 10,
            ..Self::default()
        }
    }

    /// Returns the text of a place.
    pub(super) fn source_of(&self, span: &Span) -> &'s str {
        self.source.get(span.clone()).unwrap_or_default()
    }

    pub(super) fn text(&self, node: Node<'_>) -> &'s str {
        text_of(node, self.source)
    }

    /// Leaves a node as a comment.
    pub(super) fn leave_code(&mut self, node: Node<'_>, what: &str) {
        let text = self.text(node);
        self.migration.leave_code(span_of(node), text, what);
    }

    /// Counts what is looked at; false where that is too much.
    pub(super) fn may_go_on(&mut self) -> bool {
        self.work += 1;
        self.work < MOST_WORK
    }

    /// Returns the value of an expression within a frame.
    pub(super) fn value(&mut self, node: Node<'t>, frame: usize) -> Js<'t> {
        let node = inner_of(node);
        if let Some(known) = self.results.get(&(node.id(), frame)) {
            return known.clone();
        }
        if self.depth == 0 {
            self.looks = 0;
            self.looked_up.clear();
        }
        if let Some(known) = self.looked_up.get(&(node.id(), frame)) {
            return known.clone();
        }
        self.looks += 1;
        if self.depth >= DEEPEST || self.looks > MOST_LOOKS || !self.may_go_on() {
            return Js::Unknown(span_of(node));
        }
        self.depth += 1;
        let value = self.expression(node, frame);
        self.depth -= 1;
        let value = if value.is_too_large() {
            Js::Unknown(span_of(node))
        } else {
            value
        };
        self.looked_up.insert((node.id(), frame), value.clone());
        value
    }

    /// Opens a frame for a call of a function.
    pub(super) fn open_frame(
        &mut self,
        function: Node<'t>,
        parent: usize,
        this: Option<Rc<Js<'t>>>,
        arguments: &[Js<'t>],
        site: Option<Span>,
    ) -> usize {
        let frame = self.frames.len();
        self.frames.push(Frame {
            parent,
            this,
            site,
            ..Frame::default()
        });
        for (at, (pattern, default)) in parameters_of(function).into_iter().enumerate() {
            let value = match (arguments.get(at), default) {
                _ if pattern.kind() == "rest_pattern" => {
                    Js::list(arguments.get(at..).unwrap_or_default().to_vec())
                }
                (None | Some(Js::Undefined), Some(default)) => self.value(default, frame),
                (None, None) => Js::Undefined,
                (Some(value), _) => value.clone(),
            };
            self.bind(pattern, value, frame, true);
        }
        frame
    }

    /// Returns the place of a call of a request: where the function around it is called with its arguments.
    pub(super) fn site(&self, frame: usize) -> Option<Span> {
        self.frames[frame].site.clone()
    }

    pub(super) fn set_this(&mut self, frame: usize, this: Rc<Js<'t>>) {
        self.frames[frame].this = Some(this);
    }

    /// Returns what `this` is in a frame.
    pub(super) fn this(&self, mut frame: usize) -> Option<Rc<Js<'t>>> {
        while self.frames[frame].this.is_none() && frame != 0 {
            frame = self.frames[frame].parent;
        }
        self.frames[frame].this.clone()
    }
}
