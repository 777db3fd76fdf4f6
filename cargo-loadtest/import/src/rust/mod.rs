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
pub use head::NamedSecret;
use head::name_secrets;
pub use layout::format_source;
use layout::{quote_text, write_attribute, write_flag, write_option};
use partition::Scenario;
pub use scope::Linked;
use scope::Scope;
use std::collections::HashSet;
use std::fmt::Write as _;
use types::Types;

/// A source, and the facts that users are told about it.
#[derive(Debug)]
pub struct Written {
    /// The whole file, not yet formatted.
    pub source: String,
    /// The secrets that runs read from the environment.
    pub secrets: Vec<NamedSecret>,
    /// The values of earlier answers.
    pub linked: Vec<Linked>,
    pub scenarios: Vec<WrittenScenario>,
}

/// A scenario of a source.
#[derive(Debug)]
pub struct WrittenScenario {
    /// The name of its function.
    pub name: String,
    /// The names of its steps, each with the number of its exchange.
    pub steps: Vec<(String, usize)>,
}

/// Writes the scenarios of a recording.
pub fn write_source(recording: &Recording, input: &Input, from: &str) -> Written {
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
        let exchanges: Vec<_> = exchanges.collect();
        options.extend(client_options(&recording.client, &exchanges));
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
            let notes = recording.notes.iter();
            for note in notes.filter(|note| note.span == exchange.span) {
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
    let http = client.http.map(|http| match http {
        Http::One => 1,
        Http::Two => 2,
        Http::Three => 3,
    });
    // Cookies of answers were not recorded beside those that a step sends itself.
    let mut all = exchanges.iter();
    let sends_cookie = all.any(|exchange| exchange.header("cookie").is_some());
    let redirects = exchanges.iter().map(|exchange| exchange.redirects);
    let asks_again = exchanges.len() > 1 || redirects.sum::<u32>() + client.redirects > 0;
    let drops_cookies = !client.keeps_cookies && asks_again && sends_cookie;
    let options = [
        write_option("http", http),
        write_option("ca", client.ca.as_deref().map(quote_text)),
        write_option("identity", client.identity.as_deref().map(quote_text)),
        write_flag("insecure = true", client.insecure),
        write_option("redirects", Some(client.redirects).filter(|most| *most > 0)),
        write_flag("cookies = off", drops_cookies),
    ];
    options.into_iter().flatten().collect()
}
