//! The walk: takes each request where it is written, once, with the conditions and loops around it as warnings.

use super::conditions::{compare, is_success, opposite, tests_of};
use super::nodes::{is_class, is_loop};
use super::script::Script;
use super::value::{Js, Test};
use crate::recording::Runs;
use crate::syntax::{children_of, inner_of, is_function, nodes_within, part_of, span_of};
use crate::text::quote_name;
use tree_sitter::Node;

/// Deepest nodes, calls of functions included.
const DEEPEST: usize = 600;
/// Most requests.
const MOST_REQUESTS: usize = 2_000;

impl<'t> Script<'_, 't> {
    /// Walks through a node in the order in which it runs.
    pub(super) fn walk(&mut self, node: Node<'t>, frame: usize) {
        let has_room = self.migration.recording.exchanges.len() < MOST_REQUESTS;
        if !self.may_go_on() || !has_room || self.level >= DEEPEST {
            let words = "the script is too long: the rest is left out";
            return self.migration.note_once(&span_of(node), words);
        }
        self.level += 1;
        self.walk_node(node, frame);
        self.level -= 1;
    }

    /// Walks through the parts of a node.
    fn walk_parts(&mut self, node: Node<'t>, frame: usize) {
        for part in children_of(node) {
            self.walk(part, frame);
        }
    }

    fn walk_node(&mut self, node: Node<'t>, frame: usize) {
        match node.kind() {
            _ if is_class(node) => {}
            _ if is_function(node) => {
                if node.kind() != "function_declaration" {
                    self.mentioned.push((node, frame));
                }
            }
            "call_expression" | "new_expression" => self.walk_call(node, frame),
            "if_statement" | "ternary_expression" => self.walk_if(node, frame),
            "switch_statement" => self.walk_switch(node, frame),
            "binary_expression" => self.walk_binary(node, frame),
            _ if is_loop(node) => {
                let Some(body) = part_of(node, "body") else {
                    return;
                };
                let first = self.changes.len();
                for part in children_of(node)
                    .into_iter()
                    .filter(|part| part.id() != body.id())
                {
                    self.walk(part, frame);
                }
                let head = self.source_of(&(node.start_byte()..body.start_byte()));
                let head = if head.trim() == "do" {
                    self.text(node)
                } else {
                    head
                };
                self.begin_loop(node, frame);
                self.walk_repeated(head.trim(), |script| script.walk(body, frame));
                self.end_block(first, frame);
            }
            "assignment_expression" | "augmented_assignment_expression" | "update_expression" => {
                self.walk_parts(node, frame);
                self.assign(node, frame);
            }
            "statement_block" => {
                let first = self.changes.len();
                self.declare_functions(node, frame);
                self.walk_parts(node, frame);
                // Functions that are called later know the variables of the one around them.
                if !self.nodes.parent(node).is_some_and(is_function) {
                    self.end_block(first, frame);
                }
            }
            "catch_clause" => {
                let Some(body) = part_of(node, "body") else {
                    return;
                };
                let head = self.source_of(&(node.start_byte()..body.start_byte()));
                self.walk_uncertain(head.trim(), |script| script.walk(body, frame));
            }
            "expression_statement" | "variable_declarator" | "return_statement" => {
                self.walk_statement(node, frame);
            }
            "throw_statement" => self.leave_code(node, "an exception"),
            "identifier" | "shorthand_property_identifier" => self.mentioned.push((node, frame)),
            "import_statement" => {}
            _ => self.walk_parts(node, frame),
        }
    }

    /// Walks through a statement. A call in it that is not known is code.
    fn walk_statement(&mut self, node: Node<'t>, frame: usize) {
        let unknown_calls = self.unknown_calls.len();
        let requests = self.migration.recording.exchanges.len();
        let value = part_of(node, "value").map(inner_of);
        let declares = node.kind() == "variable_declarator";
        match value.filter(|_| declares) {
            Some(value) if is_function(value) => return self.declare(node, frame),
            Some(value) => self.walk(value, frame),
            None if declares => {}
            None => self.walk_parts(node, frame),
        }
        if declares {
            self.declare(node, frame);
        }
        if node.kind() == "return_statement" {
            let value = children_of(node)
                .first()
                .map(|value| self.value(*value, frame));
            self.results
                .insert((node.id(), frame), value.unwrap_or(Js::Undefined));
        }
        let has_code = self.unknown_calls.len() > unknown_calls;
        self.unknown_calls.truncate(unknown_calls);
        // The values of requests that are code become constants.
        if !has_code || requests < self.migration.recording.exchanges.len() {
            return;
        }
        if !declares {
            return self.leave_code(node, "this statement");
        }
        if value.is_some_and(|value| self.value(value, frame).is_unknown()) {
            self.leave_code(node, "the value of a variable");
        }
    }

    /// Walks through what a loop repeats.
    pub(super) fn walk_repeated(&mut self, head: &str, walk: impl FnOnce(&mut Self)) {
        let words = format!(
            "sent once here, and repeated in the script: {}",
            quote_name(head)
        );
        self.walk_with(&words, walk);
    }

    /// Walks through what depends on a condition that is not known.
    fn walk_uncertain(&mut self, condition: &str, walk: impl FnOnce(&mut Self)) {
        let words = format!(
            "sent in every journey here, and in the script on a condition: {}",
            quote_name(condition)
        );
        self.walk_with(&words, walk);
    }

    /// Walks, and notes these words at the first request on the way.
    fn walk_with(&mut self, words: &str, walk: impl FnOnce(&mut Self)) {
        let first = self.migration.recording.exchanges.len();
        self.walk_maybe(walk);
        let exchanges = &self.migration.recording.exchanges;
        if let Some(exchange) = exchanges.get(first) {
            let span = exchange.span.clone();
            let words = match exchanges.len() - first {
                1 => format!("this request is {words}"),
                count => format!("this request and {} after it are {words}", count - 1),
            };
            self.migration.note(&span, words);
        }
    }

    fn walk_binary(&mut self, node: Node<'t>, frame: usize) {
        let [left, sign, right] = ["left", "operator", "right"].map(|name| part_of(node, name));
        let (Some(left), Some(sign), Some(right)) = (left, sign, right) else {
            return;
        };
        self.walk(left, frame);
        let sign = self.text(sign);
        if !["&&", "||", "??"].contains(&sign) {
            return self.walk(right, frame);
        }
        let value = self.value(left, frame);
        match value {
            Js::Tests(tests) if sign == "||" && self.ends_journey(right) => {
                self.stop_unless(&tests);
            }
            value => {
                let is_taken = value.truth().map(|truth| truth == (sign == "&&"));
                if is_taken != Some(false) {
                    let condition = format!("{} {sign}", self.text(left));
                    self.walk_uncertain(&condition, |script| {
                        script.walk_when(&value, sign == "&&", right, frame);
                    });
                }
            }
        }
    }

    /// Walks through a branch that is taken where a condition holds, or does not.
    fn walk_when(&mut self, condition: &Js<'t>, holds: bool, branch: Node<'t>, frame: usize) {
        let (mut tests, holds) = match condition {
            Js::Fails(tests) => (tests.clone(), !holds),
            value => (tests_of(value).unwrap_or_default(), holds),
        };
        let is_known = !tests.is_empty();
        // An answer with another status is counted in no metric anyway.
        tests.retain(|(_, test)| !holds || !matches!(test, Test::Status(_)));
        let when = Some((tests, holds)).filter(|(tests, _)| !is_known || !tests.is_empty());
        let before = std::mem::replace(&mut self.when, when);
        self.walk_maybe(|script| script.walk(branch, frame));
        self.when = before;
    }

    fn walk_if(&mut self, node: Node<'t>, frame: usize) {
        let (Some(condition), Some(consequence)) =
            (part_of(node, "condition"), part_of(node, "consequence"))
        else {
            return;
        };
        let alternative = part_of(node, "alternative").map(|clause| match clause.kind() {
            "else_clause" => children_of(clause).into_iter().next().unwrap_or(clause),
            _ => clause,
        });
        self.walk(condition, frame);
        let value = self.value(condition, frame);
        if let Some(truth) = value.truth() {
            let branch = if truth {
                Some(consequence)
            } else {
                alternative
            };
            if let Some(branch) = branch {
                self.walk(branch, frame);
            }
            return;
        }
        let tests = tests_of(&value).unwrap_or_default();
        let ends = alternative.is_none() && self.ends_journey(consequence);
        let text = self.text(inner_of(condition));
        match &value {
            Js::Chance(share) if (0.0..=1.0).contains(share) => {
                return self.walk_chance(*share, [Some(consequence), alternative], frame);
            }
            Js::FirstIteration if self.runs == Runs::Always => {
                self.runs = Runs::Once;
                self.walk_maybe(|script| script.walk(consequence, frame));
                self.runs = Runs::Always;
            }
            Js::Fails(tests) if ends => {
                self.expect_status(tests);
                return self.leave_unless(tests, consequence);
            }
            Js::Tests(_) if ends && !is_success(&tests) && opposite(&tests).is_some() => {
                let tests = opposite(&tests).unwrap_or_default();
                self.expect_status(&tests);
                return self.leave_unless(&tests, consequence);
            }
            _ if is_success(&tests) => {
                let before = self.after;
                self.after = tests.first().map(|(exchange, _)| *exchange);
                self.expect_status(&tests);
                self.walk_when(&value, true, consequence, frame);
                self.after = before;
            }
            _ if ends => {
                self.leave_code(node, "a condition");
                if self.text(consequence).contains("return") {
                    self.walk(consequence, frame);
                }
                return;
            }
            _ => self.walk_uncertain(text, |script| {
                script.walk_when(&value, true, consequence, frame);
            }),
        }
        if let Some(alternative) = alternative {
            let words = format!("!({text})");
            self.walk_uncertain(&words, |script| {
                script.walk_when(&value, false, alternative, frame);
            });
        }
    }

    fn walk_switch(&mut self, node: Node<'t>, frame: usize) {
        let parts = ["value", "body"].map(|name| part_of(node, name));
        let [Some(subject), Some(body)] = parts else {
            return;
        };
        self.walk(subject, frame);
        let value = self.value(subject, frame);
        let cases = children_of(body);
        let matches = cases.iter().map(|case| match part_of(*case, "value") {
            Some(case) => {
                let case = self.value(case, frame);
                compare("==", &value, &case).and_then(|same| same.truth())
            }
            None => Some(true),
        });
        let matches: Vec<Option<bool>> = matches.collect();
        // A case without statements is that of the next one.
        if matches.iter().all(Option::is_some) {
            let mut taken = cases.iter().zip(matches);
            let taken = taken.find(|(_, is_same)| *is_same == Some(true));
            let from = taken.map_or(node.end_byte(), |(case, _)| case.start_byte());
            let mut cases = cases.iter().filter(|case| case.start_byte() >= from);
            if let Some(case) = cases.find(|case| part_of(**case, "body").is_some()) {
                self.walk_parts(*case, frame);
            }
            return;
        }
        let head = format!("switch {}", self.text(subject));
        for case in cases {
            self.walk_uncertain(&head, |script| script.walk_parts(case, frame));
        }
    }

    /// Walks through the branches of a draw: steps with weights.
    fn walk_chance(&mut self, share: f64, branches: [Option<Node<'t>>; 2], frame: usize) {
        let choice =
            branches[1].map(|_| format!("choice_{}", self.migration.recording.exchanges.len()));
        let before = (self.after, std::mem::replace(&mut self.is_drawn, true));
        for (branch, share) in branches.into_iter().zip([share, 1.0 - share]) {
            let Some(branch) = branch else { continue };
            let first = self.migration.recording.exchanges.len();
            self.walk_maybe(|script| script.walk(branch, frame));
            let exchanges = &mut self.migration.recording.exchanges;
            for (at, exchange) in exchanges.iter_mut().enumerate().skip(first) {
                if at == first {
                    let share = (share * 1e6).round() / 1e6;
                    exchange.settings.weight = Some(share.to_string());
                    exchange.settings.choice.clone_from(&choice);
                } else if exchange.settings.after.is_none_or(|after| after < first) {
                    exchange.settings.after = Some(first);
                }
            }
        }
        (self.after, self.is_drawn) = before;
    }

    /// Returns true where a node ends the journey or the function, and does nothing else that counts.
    fn ends_journey(&self, node: Node<'t>) -> bool {
        let node = inner_of(node);
        let statements = match node.kind() {
            "statement_block" => children_of(node),
            _ => vec![node],
        };
        let text = |node: &Node<'t>| self.text(*node);
        let has_call = |node: &Node<'t>| {
            let mut nodes = nodes_within(*node).into_iter();
            nodes.any(|node| node.kind() == "call_expression")
        };
        let is_end = |node: &Node<'t>| match node.kind() {
            "throw_statement" => true,
            "return_statement" => !has_call(node),
            _ => text(node).starts_with("fail("),
        };
        let is_silent = |node: &Node<'t>| text(node).starts_with("console.");
        statements.last().is_some_and(is_end)
            && statements
                .iter()
                .all(|node| is_end(node) || is_silent(node))
    }

    /// Ends the journey, or the function, where conditions do not hold.
    fn leave_unless(&mut self, tests: &[(usize, Test)], branch: Node<'t>) {
        let last = match branch.kind() {
            "statement_block" => children_of(branch).pop(),
            _ => Some(branch),
        };
        match last.map(|last| last.kind()) {
            Some("return_statement") => self.after = tests.first().map(|(exchange, _)| *exchange),
            _ => self.stop_unless(tests),
        }
    }

    /// Ends the journey where conditions do not hold.
    fn stop_unless(&mut self, tests: &[(usize, Test)]) {
        for (exchange, _) in tests {
            self.migration.recording.exchanges[*exchange]
                .settings
                .stops_on_failure = true;
        }
    }
}
