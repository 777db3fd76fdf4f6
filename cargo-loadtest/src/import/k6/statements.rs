//! Statements: followed in their order; what depends on the run is left as a comment.

use super::conditions::tests_of;
use super::interpreter::{Flow, Interpreter};
use super::syntax::{children_of, inner_of, nodes_below, span_of};
use super::value::{Js, Test};
use crate::import::recording::Runs;
use tree_sitter::Node;

impl<'t> Interpreter<'_, 't> {
    /// Follows the statements of a block.
    pub(super) fn run_block(&mut self, block: Node<'t>) -> Flow<'t> {
        let statements = children_of(block);
        // Functions are known before they are declared.
        for statement in &statements {
            if statement.kind() == "function_declaration"
                && let Some(name) = statement.child_by_field_name("name")
            {
                let function = Js::Function(*statement, self.scope);
                self.declare(self.text(name), function);
            }
        }
        for statement in statements {
            if let Flow::Return(value) = self.run_statement(statement) {
                return Flow::Return(value);
            }
        }
        Flow::Next
    }

    /// Follows a statement.
    pub(super) fn run_statement(&mut self, node: Node<'t>) -> Flow<'t> {
        if !self.may_go_on() {
            self.leave_code(node, "a part after too many others");
            return Flow::Next;
        }
        self.depth += 1;
        let flow = self.run_statement_node(node);
        self.depth -= 1;
        flow
    }

    fn run_statement_node(&mut self, node: Node<'t>) -> Flow<'t> {
        match node.kind() {
            "lexical_declaration" | "variable_declaration" => {
                for declarator in children_of(node) {
                    self.run_declarator(declarator);
                }
            }
            "expression_statement" => {
                for expression in children_of(node) {
                    let expression = inner_of(expression);
                    let value = self.eval(expression);
                    let is_silent =
                        expression.kind() == "assignment_expression" && !is_call(expression);
                    if value.is_unknown() && !is_silent {
                        self.leave_code(node, "this statement");
                    }
                }
            }
            "return_statement" => {
                let value = children_of(node).first().map(|value| self.eval(*value));
                return Flow::Return(value.unwrap_or(Js::Undefined));
            }
            "if_statement" => return self.run_if(node),
            "statement_block" => {
                let before = self.open_scope(self.scope);
                let flow = self.run_block(node);
                self.close_scope(before);
                return flow;
            }
            "try_statement" => {
                let flow = node
                    .child_by_field_name("body")
                    .map(|body| self.run_statement(body));
                for name in ["handler", "finalizer"] {
                    if let Some(part) = node.child_by_field_name(name) {
                        self.leave_code(part, "the handling of an exception");
                    }
                }
                return flow.unwrap_or(Flow::Next);
            }
            "throw_statement" => {
                self.leave_code(node, "an exception");
                return Flow::Return(Js::Undefined);
            }
            "for_statement" | "for_in_statement" | "while_statement" | "do_statement" => {
                self.leave_code(node, "a loop");
            }
            "switch_statement" => self.leave_code(node, "a condition"),
            "function_declaration"
            | "empty_statement"
            | "interface_declaration"
            | "type_alias_declaration"
            | "import_statement"
            | "debugger_statement" => {}
            _ => self.leave_code(node, "this statement"),
        }
        Flow::Next
    }

    fn run_declarator(&mut self, declarator: Node<'t>) {
        let Some(name) = declarator.child_by_field_name("name") else {
            return;
        };
        let value = match declarator.child_by_field_name("value") {
            Some(value) => self.eval(value),
            None => Js::Undefined,
        };
        if value.is_unknown() {
            self.leave_code(declarator, "the value of a variable");
        }
        self.bind(name, value, true);
    }

    fn run_if(&mut self, node: Node<'t>) -> Flow<'t> {
        let field = |name: &str| node.child_by_field_name(name);
        let (Some(condition), Some(consequence)) = (field("condition"), field("consequence"))
        else {
            return Flow::Next;
        };
        let alternative =
            field("alternative").and_then(|clause| children_of(clause).into_iter().next());
        let value = self.eval(condition);
        if let Some(truth) = value.truth() {
            let branch = if truth {
                Some(consequence)
            } else {
                alternative
            };
            return branch.map_or(Flow::Next, |branch| self.run_statement(branch));
        }
        match value {
            Js::Chance(share) if (0.0..=1.0).contains(&share) => {
                self.run_chance(share, consequence, alternative);
                Flow::Next
            }
            Js::FirstIteration if alternative.is_none() && self.runs == Runs::Always => {
                self.runs = Runs::Once;
                self.run_statement(consequence);
                self.runs = Runs::Always;
                Flow::Next
            }
            Js::Fails(exchange) => {
                if alternative.is_none() && ends_journey(consequence, self) {
                    self.expect_success(condition);
                    self.after = Some(exchange);
                } else {
                    self.leave_code(node, "a condition");
                }
                Flow::Next
            }
            value => {
                let tests = tests_of(&value).unwrap_or_default();
                if let ([(exchange, Test::Status(ranges))], None) = (tests.as_slice(), alternative)
                    && ends_journey(consequence, self)
                {
                    self.expect_status(&[(*exchange, Test::Status(other_statuses(ranges)))]);
                    self.after = Some(*exchange);
                    return Flow::Next;
                }
                if !is_success(&tests) {
                    self.leave_code(node, "a condition");
                    return Flow::Next;
                }
                let before = self.after;
                self.after = tests.first().map(|(exchange, _)| *exchange);
                self.expect_status(&tests);
                self.run_statement(consequence);
                self.after = before;
                if let Some(alternative) = alternative {
                    self.leave_code(alternative, "what follows if a condition does not hold");
                }
                Flow::Next
            }
        }
    }

    /// Expects the status that a negative condition asks for, so that the steps below follow a success.
    fn expect_success(&mut self, condition: Node<'t>) {
        let inner = inner_of(condition);
        if inner.kind() == "unary_expression"
            && let Some(argument) = inner.child_by_field_name("argument")
            && inner_of(argument).kind() != "call_expression"
        {
            let value = self.eval(argument);
            self.expect_status(&tests_of(&value).unwrap_or_default());
        }
    }

    /// Expects a status where nothing else says which one.
    fn expect_status(&mut self, tests: &[(usize, Test)]) {
        for (exchange, test) in tests {
            let known = self.migration.recording.exchanges.get(*exchange);
            let is_free = known
                .is_some_and(|known| known.expect.is_empty() && known.settings.statuses.is_empty());
            if is_free && matches!(test, Test::Status(_)) {
                self.apply_tests(&[(*exchange, test.clone())]);
            }
        }
    }

    /// Follows the branches of a draw: steps with weights.
    fn run_chance(&mut self, share: f64, consequence: Node<'t>, alternative: Option<Node<'t>>) {
        let choice =
            alternative.map(|_| format!("choice_{}", self.migration.recording.exchanges.len()));
        let before = self.after;
        for (branch, share) in [(Some(consequence), share), (alternative, 1.0 - share)] {
            let Some(branch) = branch else { continue };
            let first = self.migration.recording.exchanges.len();
            self.run_statement(branch);
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
        self.after = before;
    }
}

/// Returns true for conditions that a good answer meets.
fn is_success(tests: &[(usize, Test)]) -> bool {
    let is_good = |(_, test): &(usize, Test)| match test {
        Test::Status(ranges) => ranges
            .iter()
            .all(|range| range.1 <= 400 || *range == (100, 600)),
        Test::Check(_) => true,
    };
    !tests.is_empty() && tests.iter().all(is_good)
}

/// Returns the statuses that are in none of these ranges.
fn other_statuses(ranges: &[(u16, u16)]) -> Vec<(u16, u16)> {
    let is_in = |status: &u16| {
        ranges
            .iter()
            .any(|range| (range.0..range.1).contains(status))
    };
    let mut others: Vec<(u16, u16)> = Vec::new();
    for status in (100..600).filter(|status| !is_in(status)) {
        match others.last_mut().filter(|range| range.1 == status) {
            Some(range) => range.1 += 1,
            None => others.push((status, status + 1)),
        }
    }
    others
}

/// Returns true where a statement ends the journey, and does nothing else that counts.
fn ends_journey(node: Node<'_>, interpreter: &Interpreter<'_, '_>) -> bool {
    let statements = match node.kind() {
        "statement_block" => children_of(node),
        _ => vec![node],
    };
    let is_end = |node: &Node<'_>| {
        let text = interpreter.text(*node);
        matches!(node.kind(), "return_statement" | "throw_statement") || text.starts_with("fail(")
    };
    let is_silent = |node: &Node<'_>| interpreter.text(*node).starts_with("console.");
    statements.last().is_some_and(is_end)
        && statements
            .iter()
            .all(|node| is_end(node) || is_silent(node))
}

/// Returns true where an expression calls something.
fn is_call(node: Node<'_>) -> bool {
    let span = span_of(node);
    !span.is_empty()
        && nodes_below(node)
            .iter()
            .any(|below| below.kind() == "call_expression")
}
