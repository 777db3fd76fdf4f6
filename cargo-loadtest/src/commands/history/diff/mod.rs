//! `history --diff A B`: which steps changed between two versions, and what else.

mod change;
mod facts;
mod human;
mod side;

use crate::cli::{HistoryArgs, ResultFormat};
use crate::console;
use crate::error::Error;
use crate::selection::matching;
use change::ScenarioChange;
use serde::Serialize;
use side::{Side, Sources};

/// What changed between two runs or versions.
#[derive(Debug, Serialize)]
struct Diff {
    schema_version: u32,
    base: Side,
    new: Side,
    /// The scenarios that both have.
    scenarios: Vec<ScenarioChange>,
    /// The identities of those that only one has.
    only_in_base: Vec<String>,
    only_in_new: Vec<String>,
    /// How to see the difference of the sources.
    sources: Sources,
}

/// Shows what changed from `base` to `new`, each a run or a version.
///
/// # Errors
/// When one of them is not known, or they have nothing in common.
pub(super) fn diff(args: &HistoryArgs, base: &str, new: &str) -> Result<u8, Error> {
    let mut base = Side::find(base, &args.cargo)?;
    let mut new = Side::find(new, &args.cargo)?;
    if let Some(filter) = &args.scenario {
        let mut known: Vec<String> = base.identities();
        known.extend(new.identities());
        known.sort();
        known.dedup();
        let kept = matching(&known, filter)?;
        base.keep(&kept);
        new.keep(&kept);
    }
    let diff = Diff::of(base, new)?;
    match args.format {
        ResultFormat::Human => {
            let text = human::render(&diff, console::width(), console::colours_results());
            console::result(text.trim_end())?;
        }
        ResultFormat::Json => {
            let text = serde_json::to_string_pretty(&diff).map_err(|error| Error::Internal {
                what: format!("could not encode the difference: {error}"),
            })?;
            console::result(text)?;
        }
    }
    Ok(0)
}

impl Diff {
    fn of(base: Side, new: Side) -> Result<Self, Error> {
        let runs = base.is_run && new.is_run;
        let (ours, theirs) = (new.identities(), base.identities());
        let pairs: Vec<_> = match (&base.scenarios[..], &new.scenarios[..]) {
            // Of one scenario and its copy, say.
            ([one], [other]) => vec![(one, other)],
            (all, others) => {
                let pair = |one| {
                    let identity = side::identity(one);
                    let other = others
                        .iter()
                        .find(|other| side::identity(other) == identity);
                    Some((one, other?))
                };
                all.iter().filter_map(pair).collect()
            }
        };
        if pairs.is_empty() {
            return Err(Error::NothingInCommon {
                base: base.name,
                new: new.name,
                theirs,
                ours,
            });
        }
        let scenarios: Vec<_> = pairs
            .iter()
            .map(|(one, other)| ScenarioChange::between(one, other, runs))
            .collect();
        let alone = |all: Vec<String>, of: fn(&ScenarioChange) -> &String| {
            let is_told = |identity: &String| scenarios.iter().any(|told| of(told) == identity);
            all.into_iter().filter(|one| !is_told(one)).collect()
        };
        let (only_in_base, only_in_new) = (
            alone(theirs, |told| &told.base),
            alone(ours, |told| &told.new),
        );
        let files = pairs
            .iter()
            .flat_map(|(one, other)| [&one.definition.file, &other.definition.file]);
        let sources = Sources::between(&base, &new, files.map(|file| &**file));
        Ok(Self {
            schema_version: 1,
            scenarios,
            only_in_base,
            only_in_new,
            sources,
            base,
            new,
        })
    }
}
