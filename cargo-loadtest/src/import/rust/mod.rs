//! The writer: a recording as the source of scenarios. It only reads the recording.
//!
//! A request that no attribute can express - bytes, parts with types of their own, a value of a page of HTML - becomes
//! a function.

mod body;
mod checks;
mod code;
mod comment;
mod declared;
mod feeds;
mod function;
mod head;
mod json;
mod layout;
mod load;
mod partition;
mod scope;
mod shared;
mod step;
mod stream;
#[cfg(test)]
mod tests;
mod transaction;
mod types;
mod values;

use super::recording::{Client, Exchange, Http, Piece, Recording, RunValue};
use super::source::Input;
use function::Uses;
pub(crate) use head::NamedSecret;
use head::name_secrets;
pub(crate) use layout::format_source;
use layout::{quote_text, write_attribute};
use partition::Scenario;
pub(crate) use scope::Linked;
use scope::Scope;
use std::collections::HashSet;
use std::fmt::Write as _;
use types::Types;

/// A source, and the facts that users are told about it.
#[derive(Debug)]
pub(crate) struct Written {
    /// The whole file, not yet formatted.
    pub(crate) source: String,
    /// The secrets that runs read from the environment.
    pub(crate) secrets: Vec<NamedSecret>,
    /// The values of earlier answers.
    pub(crate) linked: Vec<Linked>,
    pub(crate) scenarios: Vec<WrittenScenario>,
}

/// A scenario of a source.
#[derive(Debug)]
pub(crate) struct WrittenScenario {
    /// The name of its function.
    pub(crate) name: String,
    /// The names of its steps, each with the number of its exchange.
    pub(crate) steps: Vec<(String, usize)>,
}

/// Writes the scenarios of a recording.
pub(crate) fn write_source(recording: &Recording, input: &Input, from: &str) -> Written {
    let scenarios = partition::plan_scenarios(recording);
    let types = Types::new(recording, &scenarios);
    let mut writer = Writer {
        recording,
        types: &types,
        base: recording.base_origin(),
        uses: Uses::default(),
        linked: Vec::new(),
        body: String::new(),
    };
    for scenario in &scenarios {
        writer.write_scenario(scenario);
    }
    let Writer {
        uses, linked, body, ..
    } = writer;
    let secrets = name_secrets(recording, &scenarios, &body);
    let mut source = head::render_head(recording, input, from, scenarios.len(), &secrets);
    source.push_str(&head::render_imports(&uses));
    source.push_str(&head::render_constants(recording));
    source.push_str(&types.source);
    source.push_str(&body);
    source.push_str(&head::render_functions(&uses));
    source.push_str("loadtest::main!();\n");
    Written {
        source,
        secrets,
        linked,
        scenarios: scenarios.iter().map(WrittenScenario::new).collect(),
    }
}

impl WrittenScenario {
    fn new(scenario: &Scenario) -> Self {
        let steps = scenario.steps.iter();
        Self {
            name: scenario.name.clone(),
            steps: steps.map(|at| (scenario.names[at].clone(), *at)).collect(),
        }
    }
}

/// Writes the functions of scenarios, and collects what they use.
struct Writer<'a> {
    recording: &'a Recording,
    types: &'a Types,
    base: &'a str,
    uses: Uses,
    linked: Vec<Linked>,
    body: String,
}

impl Writer<'_> {
    fn write_scenario(&mut self, scenario: &Scenario) {
        let recording = self.recording;
        let references = scenario.references(recording);
        let read = references
            .iter()
            .map(|at| recording.references[*at].from.exchange());
        let mut scope = Scope {
            read: read.collect(),
            recording,
            types: self.types,
            scenario,
            above: HashSet::new(),
            noted: HashSet::new(),
            shared: Vec::new(),
            feeds: feeds::name_feeds(recording, &scenario.steps, scenario.names.values().cloned()),
        };
        let (title, description) = (scenario.title.as_deref(), scenario.description.as_deref());
        comment::write_words(&mut self.body, "///", title, description);
        let mut options = vec![format!("base = {}", quote_text(self.base))];
        let exchanges = scenario.steps.iter().map(|at| &recording.exchanges[*at]);
        options.extend(client_options(
            &recording.client,
            &exchanges.collect::<Vec<_>>(),
        ));
        options.extend(load::scenario_options(&scenario.settings));
        options.extend(shared::share_headers(&mut scope));
        write_attribute(&mut self.body, "", "scenario", &options);
        let _ = writeln!(self.body, "fn {}() {{", scenario.name);
        let begin = self.body.len();
        self.uses.drawn.clear();
        let mut transactions = transaction::Transactions::new(scenario);
        for (at, number) in scenario.steps.iter().enumerate() {
            if at > 0 {
                self.body.push('\n');
            }
            transactions.enter(&mut self.body, recording.exchanges[*number].transaction());
            let exchange = &recording.exchanges[*number];
            code::write_code(&mut self.body, recording, *number, false);
            for note in head::notes_of(recording, exchange) {
                let words = loadtest::redact::redact(&note.words);
                comment::write_comment(&mut self.body, "    //", &words);
            }
            self.explain_unique_names(exchange, &mut scope);
            let references = recording.references_of(exchange);
            scope.write_doubts(&mut self.body, &references);
            step::write_step(&mut self.body, *number, self.base, &scope, &mut self.uses);
            for link in scope.links(*number, &references) {
                if !self.linked.contains(&link) {
                    self.linked.push(link);
                }
            }
            code::write_code(&mut self.body, recording, *number, true);
            scope.above.insert(*number);
        }
        transactions.leave(&mut self.body);
        let mut feeds = String::new();
        feeds::write_feeds(&mut feeds, &scope, &self.uses.drawn);
        self.body.insert_str(begin, &feeds);
        self.body.push_str("}\n\n");
    }

    /// Says once why a name is not the recorded one.
    fn explain_unique_names(&mut self, exchange: &Exchange, scope: &mut Scope<'_>) {
        let unique = Piece::Run(RunValue::Unique);
        let is_unique = exchange
            .texts()
            .iter()
            .any(|text| text.pieces().contains(&unique));
        let words =
            "names of created objects differ in each journey, because they may have to be unique";
        if is_unique && scope.noted.insert(words.to_owned()) {
            let comment = format!("`vu.unique`: {words}");
            comment::write_comment(&mut self.body, "    //", &comment);
        }
    }
}

fn client_options(client: &Client, exchanges: &[&Exchange]) -> Vec<String> {
    let version = client.http.map(|http| match http {
        Http::One => "http = 1".to_owned(),
        Http::Two => "http = 2".to_owned(),
        Http::Three => "http = 3".to_owned(),
    });
    let mut options: Vec<String> = version.into_iter().collect();
    for (name, file) in [("ca", &client.ca), ("identity", &client.identity)] {
        options.extend(
            file.iter()
                .map(|file| format!("{name} = {}", quote_text(file))),
        );
    }
    if client.insecure {
        options.push("insecure = true".to_owned());
    }
    if client.redirects > 0 {
        options.push(format!("redirects = {}", client.redirects));
    }
    // Cookies of answers were not recorded beside those that a step sends itself.
    let sends_cookie = exchanges
        .iter()
        .any(|exchange| exchange.header("cookie").is_some());
    let asks_again = exchanges.len() > 1
        || client.redirects > 0
        || exchanges.iter().any(|exchange| exchange.redirects > 0);
    if !client.keeps_cookies && asks_again && sends_cookie {
        options.push("cookies = off".to_owned());
    }
    options
}
