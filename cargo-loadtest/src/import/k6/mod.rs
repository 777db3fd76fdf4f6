//! Scripts of k6 (<https://grafana.com/docs/k6/>), as far as they are data.
//!
//! A script is followed without running it: constants, functions that are called straight through, requests, checks.
//! What depends on the run, such as a loop or a condition, is left as a comment. No file is read.

mod binding;
mod calls;
mod conditions;
mod expressions;
mod interpreter;
mod methods;
mod operators;
mod options;
mod requests;
mod statements;
mod syntax;
#[cfg(test)]
mod tests;
mod value;

use super::recording::{Client, Group, Recording, Runs};
use super::source::{Input, Mistake, Span};
use interpreter::Interpreter;
use options::{DeclaredLimit, DeclaredScenario, apply_thresholds, read_scenarios};
use syntax::{children_of, inner_of, nodes_below, parse_script, span_of, string_value};
use tree_sitter::Node;
use value::Js;

/// The name that the function of the default export has here.
const DEFAULT: &str = "default";
/// Most scenarios.
const MOST_SCENARIOS: usize = 100;

/// Reads a script.
///
/// # Errors
/// The place where it is no script, or why it has no request.
pub(crate) fn read_k6(input: &Input) -> Result<Recording, Mistake> {
    let tree = parse_script(input)?;
    let root = tree.root_node();
    let mut interpreter = Interpreter::new(&input.text);
    read_imports(root, &mut interpreter);
    let exported = interpreter.run_module(root);
    interpreter.migration.place_outside();
    let options = interpreter
        .find("options")
        .cloned()
        .unwrap_or(Js::Undefined);
    let place = exported.or_else(|| children_of(root).first().map(|first| first_word(*first)));
    let place = place.unwrap_or(0..0);
    if let Some(most) = options.get("maxRedirects").and_then(Js::as_number) {
        interpreter.redirects = most.clamp(0.0, 50.0) as u32;
    }
    let agent = options.get("userAgent").and_then(Js::as_str);
    interpreter.user_agent = agent.map(str::to_owned);
    interpreter.migration.recording.client = Client {
        insecure: options.get("insecureSkipTLSVerify").and_then(Js::truth) == Some(true),
        keeps_cookies: true,
        redirects: interpreter.redirects,
        ..Client::default()
    };
    let names = OptionNames::new(root, &interpreter);
    let mut limits: Vec<DeclaredLimit> = Vec::new();
    for scenario in read_scenarios(&options).into_iter().take(MOST_SCENARIOS) {
        let applied = interpreter.run_scenario(scenario, &options, &names);
        if limits.is_empty() {
            limits = applied;
            continue;
        }
        for (known, again) in limits.iter_mut().zip(applied) {
            known.is_applied |= again.is_applied;
        }
    }
    for limit in limits.iter().filter(|limit| !limit.is_applied) {
        let (name, words) = (&limit.name, &limit.words);
        let words = format!("the threshold `{name}`: `{words}` is not imported");
        let place = names.place_of(name).unwrap_or_else(|| place.clone());
        interpreter.migration.note_once(&place, words);
    }
    names.note_unknown(&options, &mut interpreter);
    interpreter.leave_functions(root);
    if interpreter.migration.recording.exchanges.is_empty() {
        let words = "there is no request in it that can be imported";
        let help = "the function that k6 runs calls `http.get(..)` and the like, straight through";
        return Err(Mistake::new(place, words).help(help));
    }
    Ok(interpreter.migration.finish())
}

/// Returns the place of the first word.
fn first_word(node: Node<'_>) -> Span {
    let start = node.start_byte();
    start..node.end_byte().min(start + 1)
}

/// Declares what a script imports.
fn read_imports<'t>(root: Node<'t>, interpreter: &mut Interpreter<'_, 't>) {
    for node in children_of(root)
        .into_iter()
        .filter(|node| node.kind() == "import_statement")
    {
        let Some(from) = node.child_by_field_name("source") else {
            continue;
        };
        let from = string_value(from, interpreter.source);
        let module = match from.as_str() {
            "k6/http" => "http.",
            "k6/execution" => "exec.",
            "k6/encoding" => "encoding.",
            "k6/data" | "k6" => "",
            _ if from.starts_with("k6") => "k6.",
            _ if from.starts_with('.') => "file.",
            _ => "",
        };
        for name in nodes_below(node) {
            let (local, native) = match name.kind() {
                "import_specifier" => {
                    let Some(original) = name.child_by_field_name("name") else {
                        continue;
                    };
                    let local = name.child_by_field_name("alias").unwrap_or(original);
                    let original = interpreter.text(original);
                    (local, format!("{module}{original}"))
                }
                "import_clause" | "namespace_import" => {
                    let inner = children_of(name)
                        .into_iter()
                        .find(|inner| inner.kind() == "identifier");
                    let Some(local) = inner else { continue };
                    let native = match module {
                        "" if from.to_ascii_lowercase().contains("papaparse") => {
                            "papaparse".to_owned()
                        }
                        "" => interpreter.text(local).to_owned(),
                        "k6." => format!("k6.{}", interpreter.text(local)),
                        module => module.trim_end_matches('.').to_owned(),
                    };
                    (local, native)
                }
                _ => continue,
            };
            interpreter.declare(interpreter.text(local), Js::Native(native));
        }
    }
}

impl<'t> Interpreter<'_, 't> {
    /// Follows the statements of the script itself. Returns the place of the default export.
    fn run_module(&mut self, root: Node<'t>) -> Option<Span> {
        let mut exported = None;
        let mut statements = Vec::new();
        for child in children_of(root) {
            if child.kind() != "export_statement" {
                statements.push(child);
                continue;
            }
            let declaration = child.child_by_field_name("declaration");
            let value = child.child_by_field_name("value");
            if !self.text(child).starts_with("export default") {
                statements.extend(declaration);
                continue;
            }
            exported = Some(first_word(child));
            if let Some(function) = declaration.or(value).map(inner_of) {
                let value = match function.kind() {
                    "identifier" => {
                        statements.push(child);
                        continue;
                    }
                    "class_declaration" => Js::Unknown(span_of(function)),
                    _ => Js::Function(function, 0),
                };
                self.declare(DEFAULT, value);
            }
        }
        for statement in &statements {
            if ["function_declaration", "generator_function_declaration"]
                .contains(&statement.kind())
                && let Some(name) = statement.child_by_field_name("name")
            {
                let function = Js::Function(*statement, 0);
                self.declare(self.text(name), function);
            }
        }
        for statement in statements {
            match statement.child_by_field_name("value").map(inner_of) {
                Some(value) if statement.kind() == "export_statement" => {
                    let value = self.eval(value);
                    self.declare(DEFAULT, value);
                }
                _ => {
                    self.run_statement(statement);
                }
            }
        }
        exported
    }

    /// Follows the functions of a scenario, and returns the limits of the script.
    fn run_scenario(
        &mut self,
        scenario: DeclaredScenario,
        options: &Js<'t>,
        names: &OptionNames<'t>,
    ) -> Vec<DeclaredLimit> {
        self.migration.begin_scenario();
        let place = scenario
            .name
            .as_deref()
            .and_then(|name| names.place_of(name));
        let place = place.or_else(|| names.place_of("options")).unwrap_or(0..0);
        for words in &scenario.notes {
            self.migration.note_once(&place, words.clone());
        }
        let data = match self.run_named("setup", &[], Runs::Once) {
            Some(value) => {
                let words = "`setup` runs once for each user here, in its first journey";
                if !self.migration.scenario_mut().is_empty() {
                    self.migration
                        .note_once(&place_of_function(self, "setup"), words);
                }
                value
            }
            None => Js::Undefined,
        };
        let arguments = std::slice::from_ref(&data);
        if self
            .run_named(&scenario.function, arguments, Runs::Always)
            .is_none()
        {
            let words = format!("there is no function `{}` in the script", scenario.function);
            self.migration.note(&place, words);
        }
        self.run_named("teardown", arguments, Runs::Last);
        let mut group = Group {
            name: scenario.name.clone().unwrap_or_default(),
            settings: scenario.settings,
            ..Group::default()
        };
        let exchanges = self.migration.scenario_mut();
        let limits = apply_thresholds(
            options,
            scenario.name.as_deref(),
            &mut group.settings,
            exchanges,
        );
        self.migration.end_scenario(group);
        limits
    }

    /// Leaves the functions that nothing calls straight through.
    fn leave_functions(&mut self, root: Node<'t>) {
        for child in children_of(root) {
            let function = match child.kind() {
                "export_statement" => child.child_by_field_name("declaration"),
                _ => Some(child),
            };
            if let Some(function) = function.filter(|node| node.kind() == "function_declaration")
                && !self.followed.contains(&function.id())
            {
                let text = self.text(function);
                let what = "a function that is not followed";
                self.migration.leave_code(span_of(function), text, what);
            }
        }
        self.migration.place_outside();
    }

    /// Follows a function of the script, if it is there.
    fn run_named(&mut self, name: &str, arguments: &[Js<'t>], runs: Runs) -> Option<Js<'t>> {
        let Some(Js::Function(function, scope)) = self.find(name).cloned() else {
            return None;
        };
        self.runs = runs;
        self.after = None;
        self.depth = 0;
        let value = self.call_function(function, scope, arguments);
        self.runs = Runs::Always;
        Some(value)
    }
}

/// Returns the place of the name of a function.
fn place_of_function(interpreter: &Interpreter<'_, '_>, name: &str) -> Span {
    match interpreter.find(name) {
        Some(Js::Function(function, _)) => {
            let name = function.child_by_field_name("name").unwrap_or(*function);
            first_word(name).start..name.end_byte()
        }
        _ => 0..0,
    }
}

/// The places of the names in the options.
struct OptionNames<'t> {
    pairs: Vec<(String, Node<'t>)>,
}

impl<'t> OptionNames<'t> {
    fn new(root: Node<'t>, interpreter: &Interpreter<'_, 't>) -> Self {
        let mut pairs = Vec::new();
        for node in nodes_below(root) {
            let is_options = node.kind() == "variable_declarator"
                && node
                    .child_by_field_name("name")
                    .is_some_and(|name| interpreter.text(name) == "options");
            if !is_options {
                continue;
            }
            if let Some(name) = node.child_by_field_name("name") {
                pairs.push(("options".to_owned(), name));
            }
            for below in nodes_below(node) {
                if let Some(key) = below.child_by_field_name("key") {
                    let name = interpreter.text(key).trim_matches(['"', '\'']);
                    pairs.push((name.to_owned(), key));
                }
            }
        }
        Self { pairs }
    }

    fn place_of(&self, name: &str) -> Option<Span> {
        let mut pairs = self.pairs.iter();
        pairs
            .find(|(known, _)| known == name)
            .map(|(_, node)| span_of(*node))
    }

    /// Notes the options that are not imported.
    fn note_unknown(&self, options: &Js<'t>, interpreter: &mut Interpreter<'_, 't>) {
        const KNOWN: [&str; 16] = [
            "vus",
            "duration",
            "iterations",
            "stages",
            "scenarios",
            "thresholds",
            "maxRedirects",
            "insecureSkipTLSVerify",
            "summaryTrendStats",
            "discardResponseBodies",
            "userAgent",
            "ext",
            "cloud",
            "noConnectionReuse",
            "setupTimeout",
            "teardownTimeout",
        ];
        if options.is_unknown() {
            let place = self.place_of("options").unwrap_or(0..0);
            let words = "the options are made by code: write the load and the thresholds";
            interpreter.migration.note(&place, words);
        }
        for (name, _) in options.fields() {
            if !KNOWN.contains(&name.as_str()) || name == "noConnectionReuse" {
                let place = self.place_of(name).unwrap_or(0..0);
                let words = format!("the option `{name}` is not imported");
                interpreter.migration.note(&place, words);
            }
        }
    }
}
