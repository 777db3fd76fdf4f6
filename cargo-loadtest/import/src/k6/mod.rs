//! Scripts of k6 (<https://grafana.com/docs/k6/>), as far as they are data.
//!
//! A walk over the syntax tree takes each request where it is written, once: through functions, callbacks, loops and
//! branches. Nothing is run, and no other file is read. What depends on the run is a warning, or left as a comment.

mod calls;
mod conditions;
mod effects;
mod exports;
mod expressions;
mod functions;
mod limits;
mod methods;
mod nodes;
mod operators;
mod options;
mod requests;
mod script;
#[cfg(test)]
mod tests;
mod value;
mod variables;
mod walk;

use super::recording::{Client, Group, Recording, Runs};
use super::source::{Input, Mistake, Note, Span};
use super::syntax::{
    children_of, first_word, is_function, nodes_below, parse_script, part_of, span_of,
};
use super::text::quote_name;
use calls::Callee;
use exports::{DEFAULT, Export, GRPC, WEB_SOCKETS};
use limits::{DeclaredLimit, apply_thresholds};
use options::{DeclaredScenario, read_scenarios};
use requests::head_of;
use script::Script;

use tree_sitter::Node;
use value::Js;

/// Most scenarios.
const MOST_SCENARIOS: usize = 100;
/// Functions that k6 calls by their names.
const KNOWN: [&str; 4] = ["setup", "teardown", "handleSummary", "options"];
/// The options that are imported. The last six change nothing here.
const OPTIONS: &str = "vus duration iterations stages scenarios thresholds tags noCookiesReset maxRedirects \
    insecureSkipTLSVerify userAgent summaryTrendStats discardResponseBodies setupTimeout teardownTimeout ext cloud";

/// Reads a script.
///
/// # Errors
/// The first thing that is no such input, and where it stands.
pub fn read_k6(input: &Input) -> Result<Recording, Mistake> {
    let tree = parse_script(input)?;
    let root = tree.root_node();
    let mut script = Script::new(root, &input.text);
    script.read_imports(root);
    let exports = script.read_exports(root);
    script.migration.place_outside();
    let find = |name: &str| exports.iter().find(|export| export.name == name);
    let options = find("options").map_or(Js::Undefined, |export| export.value.clone());
    let place = find(DEFAULT).map(|export| first_word(export.node));
    let place = place.or_else(|| children_of(root).first().map(|first| first_word(*first)));
    let place = place.unwrap_or(0..0);
    if let Some(most) = options.get("maxRedirects").and_then(Js::as_number) {
        script.redirects = most.clamp(0.0, 50.0) as u32;
    }
    let agent = options.get("userAgent").and_then(Js::as_str);
    script.user_agent = agent.map(str::to_owned);
    script.migration.recording.client = Client {
        insecure: options.get("insecureSkipTLSVerify").and_then(Js::truth) == Some(true),
        keeps_cookies: true,
        redirects: script.redirects,
        ..Client::default()
    };
    let mut scenarios = read_scenarios(&options);
    let is_code = options.is_unknown() || options.get("scenarios").is_some_and(Js::is_unknown);
    if is_code
        || scenarios.iter().all(|scenario| scenario.name.is_none()) && find(DEFAULT).is_none()
    {
        // Every function may be run.
        let is_function = |value: &Js<'_>| matches!(value, Js::Function(..) | Js::Unknown(_));
        let functions = exports
            .iter()
            .filter(|export| is_function(&export.value) && !KNOWN.contains(&&*export.name));
        let declared = functions.map(|export| DeclaredScenario {
            name: Some(export.name.clone()).filter(|name| name != DEFAULT),
            function: export.name.clone(),
            settings: scenarios[0].settings.clone(),
            ..DeclaredScenario::default()
        });
        scenarios = declared.collect();
    }
    if is_code {
        let place = script
            .option_place("scenarios")
            .or_else(|| script.option_place("options"));
        let words = "the options are computed by code: write the load and the thresholds";
        script.migration.note(&place.unwrap_or(0..0), words);
    }
    let scenarios = scenarios.into_iter().take(MOST_SCENARIOS);
    let limits = scenarios.map(|scenario| script.read_scenario(scenario, &options, &exports));
    let limits = limits.reduce(|mut limits, again| {
        for (known, again) in limits.iter_mut().zip(again) {
            known.is_applied |= again.is_applied;
        }
        limits
    });
    let limits = limits.unwrap_or_default();
    for limit in limits.iter().filter(|limit| !limit.is_applied) {
        let (name, words) = (&limit.name, &limit.words);
        let words = format!("the threshold `{name}`: `{words}` is not imported");
        let place = script.option_place(name).unwrap_or_else(|| place.clone());
        script.migration.note_once(&place, words);
    }
    script.note_unknown(&options);
    script.leave_functions(root);
    let left_out = script.note_left_out();
    if script.migration.recording.exchanges.is_empty() {
        return Err(script.refuse(left_out.unwrap_or(place)));
    }
    Ok(script.migration.finish())
}

impl<'t> Script<'_, 't> {
    /// Reads a scenario, and returns the limits of the script.
    fn read_scenario(
        &mut self,
        scenario: DeclaredScenario<'t>,
        options: &Js<'t>,
        exports: &[Export<'t>],
    ) -> Vec<DeclaredLimit> {
        self.migration.begin_scenario();
        self.entered.retain(|_, frame| *frame == 0);
        self.undo_changes(self.own_changes);
        self.is_lost = false;
        self.environment.clone_from(&scenario.environment);
        let name = scenario.name.as_deref();
        let place = name.and_then(|name| self.option_place(name));
        let place = place
            .or_else(|| self.option_place("options"))
            .unwrap_or(0..0);
        for words in &scenario.notes {
            self.migration.note_once(&place, words.clone());
        }
        let data = self.run_export("setup", exports, &[], Runs::Once);
        if data.is_some() && !self.migration.scenario_mut().is_empty() {
            let words = "`setup` runs once for each user here, in its first journey";
            let setup = exports.iter().find(|export| export.name == "setup");
            let setup = setup.map_or(0..0, |export| span_of(export.value_name()));
            self.migration.note_once(&setup, words);
        }
        let unknown = Js::Unknown(place.clone());
        let data = [data.unwrap_or(unknown.clone()), unknown.clone(), unknown];
        let function = scenario.function.as_str();
        if self
            .run_export(function, exports, &data, Runs::Always)
            .is_none()
            && scenario.name.is_some()
        {
            let words = format!("there is no function `{function}` in the script");
            self.migration.note(&place, words);
        }
        self.place_lead();
        self.run_export("teardown", exports, &data, Runs::Last);
        let mut group = Group {
            name: scenario.name.clone().unwrap_or_default(),
            settings: scenario.settings,
            ..Group::default()
        };
        let keeps_cookies = options.get("noCookiesReset").and_then(Js::truth);
        group.settings.keeps_cookies = keeps_cookies == Some(true);
        let tags = options.get("tags").map_or(&[][..], Js::fields);
        let all_tags = tags.iter().chain(&scenario.tags);
        let all_tags =
            all_tags.filter_map(|(name, value)| Some(format!("{name}:{}", value.as_str()?)));
        let all_tags: Vec<String> = all_tags.collect();
        let exchanges = self.migration.scenario_mut();
        for exchange in &mut *exchanges {
            exchange.settings.tags.extend(all_tags.iter().cloned());
            exchange.settings.tags.dedup();
        }
        let limits = apply_thresholds(
            options,
            scenario.name.as_deref(),
            &self.code_metrics,
            &mut group.settings,
            exchanges,
        );
        self.migration.end_scenario(group);
        limits
    }

    /// Walks through an exported function, if it is there.
    fn run_export(
        &mut self,
        name: &str,
        exports: &[Export<'t>],
        arguments: &[Js<'t>],
        runs: Runs,
    ) -> Option<Js<'t>> {
        let export = exports.iter().find(|export| export.name == name)?;
        self.runs = runs;
        self.after = None;
        let value = if let Js::Function(function, at, _) = &export.value {
            self.enter((*function, *at, None), arguments, None)
        } else {
            // Something else makes it of functions.
            self.walk(export.code, 0);
            Js::Unknown(span_of(export.code))
        };
        if self.is_lost && runs == Runs::Always {
            for (node, frame) in self.mentioned.clone() {
                if let Js::Function(node, at, this) = self.value(node, frame)
                    && !self.entered.contains_key(&node.id())
                {
                    let unknown = vec![Js::Unknown(span_of(node)); 4];
                    self.enter((node, at, this), &unknown, None);
                }
            }
        }
        self.runs = Runs::Always;
        Some(value)
    }

    /// Returns the place of a name in the options.
    fn option_place(&self, name: &str) -> Option<Span> {
        let options = self.declarator("options")?;
        let keys = nodes_below(options).into_iter();
        let mut keys = keys.filter_map(|node| part_of(node, "key"));
        let key = match name {
            "options" => part_of(options, "name"),
            name => keys.find(|key| self.text(*key).trim_matches(['"', '\'']) == name),
        };
        key.map(span_of)
    }

    /// Notes the options that are not imported.
    fn note_unknown(&mut self, options: &Js<'t>) {
        for (name, _) in options.fields() {
            if !OPTIONS.split(' ').any(|known| known == name) {
                let place = self.option_place(name).unwrap_or(0..0);
                let words = format!("the option `{name}` is not imported");
                self.migration.note(&place, words);
            }
        }
    }

    /// Leaves the functions that nothing calls.
    fn leave_functions(&mut self, root: Node<'t>) {
        for child in children_of(root) {
            let function = match child.kind() {
                "export_statement" => part_of(child, "declaration"),
                _ => Some(child),
            };
            if let Some(function) = function.filter(|node| node.kind() == "function_declaration")
                && !self.seen.contains(&function.id())
            {
                self.leave_code(function, "a function that is not followed");
            }
        }
        self.migration.place_outside();
    }

    /// Notes the requests that the walk never came to, and returns the place of the first one.
    fn note_left_out(&mut self) -> Option<Span> {
        let nodes = self.nodes.all.clone().into_iter();
        let mut first = None;
        for node in nodes.filter(|node| node.kind() == "call_expression") {
            if self.seen.contains(&node.id()) {
                continue;
            }
            if let Some(Callee::Value(Js::Native(path))) = self.callee(node, 0)
                && effects::sender(&path).is_some()
            {
                let around = self.nodes.around(node).find(|node| is_function(*node));
                let name = around.and_then(|function| part_of(function, "name"));
                let words = match name
                    .filter(|_| !around.is_some_and(|around| self.seen.contains(&around.id())))
                {
                    Some(name) => format!(
                        "nothing that is followed calls {}",
                        quote_name(self.text(name))
                    ),
                    None => "nothing that is followed comes to it".to_owned(),
                };
                self.migration
                    .note(&head_of(node), format!("this request is left out: {words}"));
                first.get_or_insert(head_of(node));
            }
        }
        first
    }

    /// Says why there is no request.
    fn refuse(&self, place: Span) -> Mistake {
        let words = "there is no request in it that can be imported";
        let notes = &self.migration.recording.notes;
        let is_why =
            |note: &&Note| note.span == place || [WEB_SOCKETS, GRPC].contains(&&*note.words);
        if let Some(note) = notes.iter().find(is_why) {
            return Mistake::new(note.span.clone(), format!("{words}: {}", note.words));
        }
        let code = &self.migration.recording.code;
        if let Some(part) = code
            .iter()
            .find(|part| part.what.starts_with("this request"))
        {
            return Mistake::new(part.span.clone(), format!("{words}: {} is code", part.what));
        }
        if let Some(call) = self.first_unknown {
            let name = part_of(call, "function").map_or("", |name| self.text(name));
            let words = format!(
                "{words}: {} is of another file or library",
                quote_name(name)
            );
            let help = "import a script with its modules in one file, such as a bundler makes";
            return Mistake::new(head_of(call), words).help(help);
        }
        let help = "the function that k6 runs must call `http.get(..)` or similar";
        Mistake::new(place, words).help(help)
    }
}
