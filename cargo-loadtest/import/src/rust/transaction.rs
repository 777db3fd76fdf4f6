//! Steps that the input puts together, as groups of a scenario.

use super::layout::{quote_text, write_attribute};
use super::partition::Scenario;
use crate::naming;
use crate::text::truncate;
use std::collections::HashSet;
use std::fmt::Write as _;

/// The longest name, in characters.
const LONGEST: usize = 80;

/// Writes groups around consecutive steps of one transaction.
pub(super) struct Transactions {
    used: HashSet<String>,
    /// The names that groups have in the report.
    shown: HashSet<String>,
    /// The limits of groups.
    limits: Vec<(String, String)>,
    open: Option<Open>,
}

struct Open {
    name: String,
    /// The place of its first step.
    start: usize,
}

impl Transactions {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self {
            used: scenario.names.values().cloned().collect(),
            shown: scenario.names.values().cloned().collect(),
            limits: scenario.settings.group_limits.clone(),
            open: None,
        }
    }

    /// Ends the group before a step of another one, and begins that.
    pub(super) fn enter(&mut self, body: &mut String, name: Option<&str>) {
        if self.open.as_ref().map(|open| open.name.as_str()) == name {
            return;
        }
        // The blank line before the step stands before the group.
        let blank = body.ends_with("\n\n");
        self.leave_before(body, usize::from(blank));
        let Some(name) = name else { return };
        let wanted = naming::function_name(name, "group").unwrap_or_else(|| "group".to_owned());
        let function = naming::variable(&wanted, &mut self.used);
        let shown = truncate(&loadtest_console::console::clean(name), LONGEST);
        let shown = naming::unique(&shown, &mut self.shown);
        let mut options: Vec<String> = Vec::new();
        if function != shown {
            options.push(format!("name = {}", quote_text(&shown)));
        }
        let limits = self.limits.iter().filter(|(group, _)| group == name);
        options.extend(limits.map(|(_, limit)| limit.clone()));
        write_attribute(body, "    ", "group", &options);
        let _ = writeln!(body, "    fn {function}() {{");
        self.open = Some(Open {
            name: name.to_owned(),
            start: body.len(),
        });
    }

    /// Ends the last group.
    pub(super) fn leave(&mut self, body: &mut String) {
        self.leave_before(body, 0);
    }

    fn leave_before(&mut self, body: &mut String, blanks: usize) {
        let Some(open) = self.open.take() else { return };
        let steps = body.split_off(open.start);
        let steps = &steps[..steps.len() - blanks];
        for line in steps.lines() {
            let indent = if line.is_empty() { "" } else { "    " };
            let _ = writeln!(body, "{indent}{line}");
        }
        body.push_str("    }\n");
        body.push_str(&"\n".repeat(blanks));
    }
}
