//! The recording that readers of load tests of other tools make: values by name, code that is left, whole URLs.

mod html;
mod load;
mod url;

use super::base::SOMEWHERE;
use super::naming::{field_name, unique};
use super::recording::{
    CodePart, Confidence, Constant, Exchange, Feed, FeedOrder, FeedSource, Group, Origin, Piece,
    Recording, Reference, ReferenceNumbers, Runs, Secret, Text,
};
use super::source::{Note, Span};
use super::text::quote_name;
pub(super) use html::{find_between, find_in_pattern};
pub(super) use load::{load_of_stages, round};
use loadtest_model::definition::{Think, ThinkLaw};
use std::collections::{HashMap, HashSet};
use std::time::Duration;
pub(super) use url::{parse_origin, split_authority, split_credentials};

/// The value of a constant that users have to write.
const UNKNOWN: &str = "unknown";
/// Most numbers of test data.
const MOST_NUMBERS: i64 = 1_000_000;

/// The longest name of a constant.
const LONGEST_NAME: usize = 40;

/// A recording that grows.
#[derive(Debug, Default)]
pub(super) struct Migration {
    pub(super) recording: Recording,
    secrets: HashMap<String, usize>,
    /// Constants by the expression that they are the value of.
    constants: HashMap<String, usize>,
    expressions: Vec<String>,
    names: HashSet<String>,
    references: ReferenceNumbers,
    feeds: HashMap<String, usize>,
    noted: HashSet<String>,
    /// Pauses of the scenario: the exchange that each is made as often as, and true for one before it.
    pauses: Vec<(usize, bool, Think)>,
    /// Code since the last request of the scenario.
    pending: Vec<CodePart>,
    /// The number of the first exchange of the scenario.
    first: usize,
    /// Origins that only a run knows, each with the place of its first request.
    hosts: Vec<(String, Span)>,
}

impl Migration {
    /// Notes a part that is not imported as it is.
    pub(super) fn note(&mut self, span: &Span, words: impl Into<String>) {
        self.recording.notes.push(Note::new(span.clone(), words));
    }

    /// Adds a note the first time only.
    pub(super) fn note_once(&mut self, span: &Span, words: impl Into<String>) {
        let words = words.into();
        if self.noted.insert(words.clone()) {
            self.note(span, words);
        }
    }

    /// Returns the value of a variable of the environment, which has none here.
    pub(super) fn variable(&mut self, name: &str) -> Text {
        let key = field_name(name).to_ascii_uppercase();
        let secrets = &mut self.recording.secrets;
        let number = *self.secrets.entry(key.clone()).or_insert_with(|| {
            let what = format!("the variable {}", quote_name(name));
            secrets.push(Secret::variable(key, what, None));
            secrets.len() - 1
        });
        Text::secret(number)
    }

    /// Returns the value of an expression that only code knows: a constant for users to edit.
    pub(super) fn unknown(&mut self, expression: &str) -> Text {
        if let Some(known) = self.constants.get(expression) {
            return Text::constant(*known);
        }
        let name = field_name(expression).to_ascii_uppercase();
        let end = name.char_indices().nth(LONGEST_NAME);
        let name = end.map_or(name.as_str(), |(end, _)| &name[..end]);
        let name = unique(name.trim_matches('_'), &mut self.names);
        let number = self.recording.constants.len();
        let what = format!(
            "TODO: the value of {}, which code has.",
            quote_name(expression)
        );
        self.recording.constants.push(Constant {
            name,
            value: UNKNOWN.to_owned(),
            what,
        });
        self.constants.insert(expression.to_owned(), number);
        self.expressions.push(expression.to_owned());
        Text::constant(number)
    }

    /// Returns a value of an answer.
    pub(super) fn refer(&mut self, from: Origin, is_bare: bool) -> Text {
        self.refer_because(from, is_bare, Confidence::Certain, "")
    }

    /// Returns a value of an answer, which is as certain as the reason says.
    pub(super) fn refer_because(
        &mut self,
        from: Origin,
        is_bare: bool,
        confidence: Confidence,
        why: &str,
    ) -> Text {
        let why = why.to_owned();
        let reference = Reference {
            from,
            is_bare,
            confidence,
            why,
        };
        self.references
            .refer(reference, &mut self.recording.references)
    }

    /// Adds a pause that is made as often as an exchange: before it, or after it.
    pub(super) fn pause(&mut self, owner: usize, is_before: bool, think: Think) {
        self.pauses.push((owner, is_before, think));
    }

    /// Makes the pauses of the scenario think times. One before a request that all journeys have follows the last such
    /// request before it, which for the first one is the last of all, since journeys follow each other. Another one follows
    /// its own request, so that it is made as often.
    fn place_pauses(&mut self, last: usize) {
        let first = self.first;
        for (owner, is_before, think) in std::mem::take(&mut self.pauses) {
            let exchanges = &mut self.recording.exchanges;
            let owner = owner.clamp(first, last);
            let is_certain = |at: &usize| {
                let settings = &exchanges[*at].settings;
                settings.runs == Runs::Always
                    && settings.weight.is_none()
                    && settings.after.is_none()
            };
            let mut before = (first..owner).rev().chain((owner..=last).rev());
            let at = if is_before && is_certain(&owner) {
                before.find(is_certain).unwrap_or(owner)
            } else {
                owner
            };
            add_think(&mut exchanges[at].settings.think, think);
        }
    }

    /// Adds test data, once for each key, and returns its number.
    pub(super) fn feed(&mut self, key: String, feed: Feed) -> usize {
        let feeds = &mut self.recording.feeds;
        *self.feeds.entry(key).or_insert_with(|| {
            feeds.push(feed);
            feeds.len() - 1
        })
    }

    /// Adds the numbers of a range as test data, both included.
    pub(super) fn number_feed(
        &mut self,
        name: &str,
        (low, high): (i64, i64),
        order: FeedOrder,
    ) -> Option<usize> {
        if low > high || high.checked_sub(low)? > MOST_NUMBERS {
            return None;
        }
        let feed = Feed::new(name, FeedSource::Numbers(low, high), order);
        Some(self.feed(format!("{name} {low}..{high} {order:?}"), feed))
    }

    /// Leaves a part of the scenario as a comment.
    pub(super) fn leave_code(&mut self, span: Span, text: &str, what: &str) {
        let part = CodePart {
            span,
            text: text.to_owned(),
            what: what.to_owned(),
            exchange: None,
            is_after: false,
        };
        if !self.pending.contains(&part) {
            self.pending.push(part);
        }
    }

    /// Places the last part that was left at an exchange, which it is about.
    pub(super) fn place_last(&mut self, exchange: usize) {
        if let Some(mut part) = self.pending.pop() {
            part.exchange = Some(exchange);
            self.recording.code.push(part);
        }
    }

    /// Leaves what is pending outside of journeys.
    pub(super) fn place_outside(&mut self) {
        for part in std::mem::take(&mut self.pending) {
            let mut known = self.recording.code.iter();
            if !known.any(|known| known.span == part.span && known.exchange.is_none()) {
                self.recording.code.push(part);
            }
        }
    }

    /// Adds a request, and returns its number.
    pub(super) fn push(&mut self, mut exchange: Exchange) -> usize {
        let number = self.recording.exchanges.len();
        for mut part in std::mem::take(&mut self.pending) {
            part.exchange = Some(number);
            self.recording.code.push(part);
        }
        // At the start of a target, the value is a path.
        if let Some(Piece::Constant(at)) = exchange.target.pieces().first() {
            self.recording.constants[*at].value = format!("/{UNKNOWN}");
        }
        let mut noted = HashSet::new();
        for text in exchange.texts() {
            for piece in text.pieces() {
                if let Piece::Constant(at) = piece
                    && noted.insert(*at)
                {
                    let name = &self.recording.constants[*at].name;
                    let expression = quote_name(&self.expressions[*at]);
                    let words = format!(
                        "the constant `{name}` needs a value: {expression} is computed by code"
                    );
                    let note = Note::new(exchange.span.clone(), words);
                    self.recording.notes.push(note);
                }
            }
        }
        exchange.redirects = exchange.redirects.min(50);
        self.recording.exchanges.push(exchange);
        number
    }

    /// Begins a scenario.
    pub(super) fn begin_scenario(&mut self) {
        self.place_outside();
        self.first = self.recording.exchanges.len();
    }

    /// Ends a scenario, and gives it its group. Returns false where it has no request.
    pub(super) fn end_scenario(&mut self, group: Group) -> bool {
        let exchanges = &mut self.recording.exchanges;
        let last = exchanges.len().checked_sub(1);
        let last = last.filter(|last| *last >= self.first);
        let Some(last) = last else {
            self.pauses.clear();
            self.place_outside();
            return false;
        };
        let number = self.recording.groups.len();
        let always = |exchange: &Exchange| exchange.settings.runs == Runs::Always;
        let has_journey = exchanges[self.first..].iter().any(always);
        for exchange in &mut exchanges[self.first..] {
            exchange.group = Some(number);
            if !has_journey {
                exchange.settings.runs = Runs::Always;
            }
        }
        self.place_pauses(last);
        for mut part in std::mem::take(&mut self.pending) {
            (part.exchange, part.is_after) = (Some(last), true);
            self.recording.code.push(part);
        }
        self.recording.groups.push(group);
        true
    }

    /// Returns the exchanges of the scenario so far.
    pub(super) fn scenario_mut(&mut self) -> &mut [Exchange] {
        let first = self.first;
        &mut self.recording.exchanges[first..]
    }

    /// Sets the origin and the target of a request.
    pub(super) fn set_url(&mut self, exchange: &mut Exchange, url: &Text) -> Result<(), String> {
        let parts = url::split_url(url)?;
        exchange.origin = parts.origin;
        if let Some(variables) = parts.variables {
            let recording = &self.recording;
            exchange.origin = variables.shown(|piece| match piece {
                Piece::Secret(at) => format!("{{{}}}", recording.secrets[*at].name),
                Piece::Constant(at) => format!("{{{}}}", recording.constants[*at].name),
                _ => "{value}".to_owned(),
            });
            let host = (exchange.origin.clone(), exchange.span.clone());
            if !self.hosts.iter().any(|(known, _)| *known == host.0) {
                self.hosts.push(host);
            }
        }
        exchange.target = parts.target;
        if parts.credentials.is_some() {
            exchange.credentials = parts.credentials;
        }
        Ok(())
    }

    /// Ends the recording.
    pub(super) fn finish(mut self) -> Recording {
        self.place_outside();
        let mut recording = self.recording;
        let mut exchanges = recording.exchanges.iter();
        let is_unknown = exchanges.all(|exchange| exchange.origin.is_empty());
        if is_unknown && let Some(first) = recording.exchanges.first() {
            let words =
                format!("no host is known, so requests go to `{SOMEWHERE}`: write another `base`");
            recording.notes.push(Note::new(first.span.clone(), words));
        }
        recording.drop_unused();
        let constants = recording.choose_base();
        for (origin, span) in self.hosts {
            let host = origin.split_once("://").map_or(&*origin, |(_, host)| host);
            let variable = host
                .strip_prefix('{')
                .and_then(|host| host.strip_suffix('}'));
            let whose = match variable.filter(|name| !name.contains('}')) {
                Some(name) => format!("the host is in the variable `{name}`"),
                None => format!("the host is `{host}`"),
            };
            let words = match constants.get(&origin) {
                Some(name) => format!("{whose}: write it into the constant `{name}`"),
                None => format!("{whose}: requests go to the base URL, which `--base-url` gives"),
            };
            recording.notes.insert(0, Note::new(span, words));
        }
        let mut known = HashSet::new();
        recording
            .notes
            .retain(|note| known.insert((note.span.start, note.words.clone())));
        recording.notes.sort_by_key(|note| note.span.start);
        recording
    }
}

/// Adds a pause to another one.
pub(super) fn add_think(known: &mut Option<Think>, think: Think) {
    let sum = known.map_or(think, |known| add_pauses(known, think));
    *known = Some(sum).filter(|sum| !sum.longest().is_zero());
}

/// Adds two pauses, whose means and variances add up.
fn add_pauses(one: Think, other: Think) -> Think {
    let deviation = |think: Think| match think {
        Think::Uniform { min, max } => max.saturating_sub(min).as_secs_f64() / 12_f64.sqrt(),
        Think::Random { deviation, .. } => deviation.as_secs_f64(),
    };
    match (one, other) {
        (
            Think::Uniform { min, max },
            Think::Uniform {
                min: low,
                max: high,
            },
        ) => Think::Uniform {
            min: min + low,
            max: max + high,
        },
        _ => Think::Random {
            law: ThinkLaw::Normal,
            mean: one.mean() + other.mean(),
            deviation: Duration::from_secs_f64(deviation(one).hypot(deviation(other))),
        },
    }
}
