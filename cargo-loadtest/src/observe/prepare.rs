//! Sources before a run: all mistakes at once, and the question whether they answer.

use super::source::{Question, Source};
use crate::access::AccessHeaders;
use crate::config::{FigureConfig, ObserveConfig};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_model::capacity::ObservedCondition;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The interval between two questions where the file names none.
const PAGE_INTERVAL: Duration = Duration::from_secs(1);
const RANGE_INTERVAL: Duration = Duration::from_secs(5);

/// What is observed in the runs of a command.
#[derive(Clone, Default)]
pub(crate) struct Observation {
    pub(super) sources: Arc<Vec<Source>>,
    /// The figures of the target's own process that have a limit.
    pub(super) process: Arc<Vec<FigureConfig>>,
}

impl Observation {
    /// Prepares the sources of `[[observe]]`. Without a network, those on this machine are asked.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub(crate) fn prepare(configs: &[ObserveConfig], offline: bool) -> Result<Self, Error> {
        let mut sources = Vec::new();
        let mut process = Vec::new();
        let mut mistakes = Vec::new();
        for config in configs {
            let Some(url) = config.url().cloned() else {
                process.extend(config.figures());
                continue;
            };
            let name = config.name();
            if offline && !config.is_local() {
                let figures = config.figures();
                let limits = figures.iter().filter(|figure| figure.limit.is_some());
                let lost = limits.map(|_| ", and its limit is not judged").next();
                let lost = lost.unwrap_or_default();
                console::print_warning(format!(
                    "observe `{name}`: an offline run queries no other machine{lost}"
                ));
                continue;
            }
            let (question, interval) = if config.prometheus.is_some() {
                let query = config.query.clone();
                (Question::Range { server: url, query }, RANGE_INTERVAL)
            } else {
                (Question::Page(url), PAGE_INTERVAL)
            };
            match AccessHeaders::read(&config.access, "Bearer") {
                Ok(headers) => sources.push(Source {
                    place: config.place(),
                    question,
                    figures: config.figures(),
                    interval: config.interval.unwrap_or(interval),
                    headers,
                    name,
                }),
                Err(wrong) => {
                    let wrong = wrong.into_iter();
                    mistakes.extend(wrong.map(|mistake| format!("observe `{name}`: {mistake}")));
                }
            }
        }
        if !mistakes.is_empty() {
            return Err(Error::usage(mistakes.join("\n")));
        }
        Ok(Self {
            sources: Arc::new(sources),
            process: Arc::new(process),
        })
    }

    /// Asks each source once. One that does not answer is a warning.
    ///
    /// # Errors
    /// Those that do not answer though a limit is about them, or one of the conditions of a search.
    pub(crate) fn check(&self, conditions: &[ObservedCondition]) -> Result<(), Error> {
        let now = super::now();
        let answers: Vec<_> = thread::scope(|scope| {
            let asked = self.sources.iter();
            let asked: Vec<_> = asked
                .map(|source| scope.spawn(move || source.check(now)))
                .collect();
            let answers = asked.into_iter().map(thread::ScopedJoinHandle::join);
            answers.collect()
        });
        let is_needed = |source: &Source| {
            let mut names = conditions.iter().map(|condition| &*condition.name);
            names.any(|name| source.has_series(name))
        };
        let mut mistakes = Vec::new();
        for (source, answer) in self.sources.iter().zip(answers) {
            let answer = answer.unwrap_or_else(|_| Err("it could not be queried".to_owned()));
            match answer {
                Ok(None) => {}
                Ok(Some(odd)) => console::print_warning(source.tell(&odd)),
                Err(why) if source.has_limit() || is_needed(source) => {
                    mistakes.push(source.tell(&why));
                }
                Err(why) => console::print_warning(source.tell(&why)),
            }
        }
        if mistakes.is_empty() {
            return Ok(());
        }
        Err(Error::usage(mistakes.join("\n")).with_help(
            "a limit needs an answer before the run; make sure that the source answers, or leave its `limit` out",
        ))
    }
}

impl Source {
    /// Formats words about the source: `observe db cpu, http://127.0.0.1:9090: no answer in time`.
    pub(super) fn tell(&self, words: &str) -> String {
        format!("observe `{}`, {}: {words}", self.name, self.place)
    }
}
