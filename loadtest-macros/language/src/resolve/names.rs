//! The names that functions and templates of a scenario can use.

use super::{Argument, ValueOrigin, without_raw_prefix};
use crate::body::{BodyItem, Role};
use crate::options::FeedOptions;
use crate::signature::{self, Parameter};
use crate::spelling::source_text;
use crate::suggest::{MacroErrors, did_you_mean, list_names};

/// The source of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentSource {
    Step {
        at: usize,
        is_mutable: bool,
    },
    Feed(usize),
    Vu {
        is_mutable: bool,
    },
    /// The client of an `async` step.
    Http,
    /// What clients of its own connect with.
    Net,
    State {
        at: usize,
        is_mutable: bool,
    },
    Setup(usize),
}

impl ArgumentSource {
    pub(crate) fn step_index(self) -> Option<usize> {
        match self {
            Self::Step { at, .. } => Some(at),
            _ => None,
        }
    }

    pub(crate) fn setup_index(self) -> Option<usize> {
        match self {
            Self::Setup(at) => Some(at),
            _ => None,
        }
    }
}

/// The function that uses a name; numbers count functions of that role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameUser {
    Step {
        at: usize,
        is_async: bool,
    },
    Check,
    /// Reads those of the first setups that are above it.
    Feed(usize),
    State,
    Setup {
        at: usize,
        is_async: bool,
    },
    Teardown {
        is_async: bool,
    },
}

impl NameUser {
    /// Returns true if the function has a client to send with.
    fn has_client(self) -> bool {
        matches!(
            self,
            Self::Step { is_async: true, .. }
                | Self::Setup { is_async: true, .. }
                | Self::Teardown { is_async: true }
        )
    }
}

/// Names with a meaning of their own.
const RESERVED: [(&str, &str); 4] = [
    ("vu", "the virtual user"),
    ("secret", "where secrets come from"),
    ("http", "what an `async` function sends with"),
    ("net", "what clients of your own connect with"),
];

/// The reason why a name is not an earlier step.
pub(super) enum NotEarlier {
    Unknown,
    Itself,
    Later(String),
    /// `http` or `net`, for steps that send for themselves.
    NotAsync,
    /// `step12` of a scenario with fewer.
    NoSuchNumber(usize),
    /// A feed, for a function that belongs to no iteration.
    Row,
    /// `vu`, for what runs without users.
    NoUser,
}

#[derive(Default)]
pub(super) struct ScenarioNames {
    pub(super) steps: Vec<String>,
    pub(super) feeds: Vec<String>,
    /// The rows that each feed gives to an iteration.
    pub(super) feed_rows: Vec<usize>,
    pub(super) states: Vec<String>,
    pub(super) setups: Vec<String>,
    /// The scenario, if a group that others share as well may be to blame: `` of `buyers` ``.
    pub(super) scenario: String,
}

impl ScenarioNames {
    /// Collects the names; reserved ones are noted.
    pub(super) fn collect(items: &[BodyItem], errors: &mut MacroErrors) -> Self {
        let mut names = Self::default();
        for item in items {
            let Some(role) = item.role() else { continue };
            let list = match role {
                Role::Step => &mut names.steps,
                Role::Feed => &mut names.feeds,
                Role::State => &mut names.states,
                Role::Setup => &mut names.setups,
                Role::Check | Role::Teardown | Role::Group => continue,
            };
            let name = item.ident().map(without_raw_prefix).unwrap_or_default();
            list.push(name.clone());
            let position = list.len();
            if role == Role::Feed {
                let rows = match item {
                    BodyItem::Function(feed) => {
                        FeedOptions::parse(feed.options.clone(), errors).rows
                    }
                    _ => 1,
                };
                names.feed_rows.push(rows);
            }
            let Some(ident) = item.ident() else { continue };
            for (reserved, meaning) in RESERVED {
                if name == reserved {
                    let message = format!("`{name}` is {meaning}: choose another name");
                    errors.add_at(ident.span(), message);
                }
            }
            if let Some(number) = step_number(&name)
                && (role != Role::Step || number != position)
            {
                let place = if role == Role::Step {
                    format!("this is number {position}")
                } else {
                    format!("this is a {}", role.name())
                };
                errors.add_at(
                    ident.span(),
                    format!("`{name}` means the step with the number {number}, but {place}"),
                );
            }
        }
        names
    }

    /// The feed, state or setup `name`, as the source of a placeholder.
    pub(super) fn find_value(&self, name: &str) -> Option<ValueOrigin> {
        let at = |names: &[String]| names.iter().position(|known| known == name);
        let feed = at(&self.feeds).map(|at| ValueOrigin::Feed { at, row: 0 });
        feed.or_else(|| at(&self.states).map(ValueOrigin::State))
            .or_else(|| at(&self.setups).map(ValueOrigin::Setup))
    }

    /// The step `name` if it is above the step with the number `reader`.
    pub(super) fn earlier_step(&self, name: &str, reader: usize) -> Result<usize, NotEarlier> {
        let step = match self.steps.iter().position(|step| step == name) {
            Some(step) => step,
            None => match step_number(name) {
                Some(number) if (1..=self.steps.len()).contains(&number) => number - 1,
                Some(number) => return Err(NotEarlier::NoSuchNumber(number)),
                None => return Err(NotEarlier::Unknown),
            },
        };
        match step.cmp(&reader) {
            std::cmp::Ordering::Less => Ok(step),
            std::cmp::Ordering::Equal => Err(NotEarlier::Itself),
            std::cmp::Ordering::Greater => Err(NotEarlier::Later(self.steps[step].clone())),
        }
    }

    /// Resolves `parameter` of the function `who`; adds an error if its name is unknown.
    pub(super) fn resolve_argument(
        &self,
        parameter: Parameter,
        reader: NameUser,
        who: &str,
        errors: &mut MacroErrors,
    ) -> Option<Argument> {
        let Parameter { ident, ty } = parameter;
        let written = without_raw_prefix(&ident);
        let known = self.names_for(reader);
        // `_login` uses the step for the order alone
        let name = match written.strip_prefix('_') {
            Some(rest) if !known.contains(&written.as_str()) => rest,
            _ => &written,
        };
        let mut source = match self.find_source(name, reader) {
            Ok(source) => source,
            Err(reason) => {
                let refusal = self.explain_refusal(&reason, name, reader, who, &known);
                errors.add_at(ident.span(), refusal);
                return None;
            }
        };
        let reference = signature::referenced_type(&ty).map(|(_, is_mutable)| is_mutable);
        let (is_lent, what, wanted) = match &mut source {
            ArgumentSource::Step { is_mutable, .. } => {
                // Such as a connection whose methods change it.
                *is_mutable = reader.has_client() && reference == Some(true);
                (
                    *is_mutable || signature::lent_type(&ty).is_some(),
                    "a response is lent to the steps below it, as `&T`, or as `Option<&T>` to run without it",
                    "&",
                )
            }
            ArgumentSource::Feed(at) if self.feed_rows[*at] > 1 => {
                if signature::is_array(&ty) {
                    (true, "", "")
                } else {
                    let (rows, row) = (self.feed_rows[*at], source_text(signature::row_type(&ty)));
                    let message = format!(
                        "every iteration has {rows} rows of `{name}`: write `{ident}: [&{row}; {rows}]`"
                    );
                    errors.add_on(&ty, message);
                    return None;
                }
            }
            ArgumentSource::Feed(_) => (
                reference == Some(false),
                "every iteration has a row, which all users share",
                "&",
            ),
            ArgumentSource::Setup(_) => (
                reference == Some(false),
                "what a setup made is shared by all users",
                "&",
            ),
            ArgumentSource::Http | ArgumentSource::Net => {
                (reference == Some(true), "the client is lent", "&mut ")
            }
            ArgumentSource::Vu { is_mutable } => {
                *is_mutable = reference == Some(true);
                (reference.is_some(), "the virtual user is lent", "&mut ")
            }
            ArgumentSource::State { is_mutable, .. } => {
                *is_mutable = reference == Some(true);
                (reference.is_some(), "a state is lent", "&mut ")
            }
        };
        if !is_lent {
            let inner = source_text(signature::innermost_type(&ty));
            errors.add_on(&ty, format!("{what}: write `{ident}: {wanted}{inner}`"));
            return None;
        }
        Some(Argument {
            source,
            ty,
            span: ident.span(),
            variable: name.to_owned(),
        })
    }

    /// Explains why `who` cannot use `name`.
    pub(super) fn explain_refusal(
        &self,
        reason: &NotEarlier,
        name: &str,
        reader: NameUser,
        who: &str,
        known: &[&str],
    ) -> String {
        match reason {
            NotEarlier::Itself => format!("step `{who}` cannot use its own response"),
            NotEarlier::Later(later) => format!(
                "`{later}` runs after `{who}`: {}",
                match reader {
                    NameUser::Step { .. } | NameUser::Check =>
                        "a step can only use the steps above it",
                    NameUser::Setup { .. } => "a setup can only use the setups above it",
                    NameUser::Feed(_) => "a feed can only use the setups above it",
                    NameUser::State => "a state can use `vu` and the setups",
                    NameUser::Teardown { .. } => "a teardown can use the setups",
                }
            ),
            NotEarlier::NotAsync => explain_not_async(name, who, reader),
            NotEarlier::NoSuchNumber(number) => format!(
                "there is no step {number}: this scenario has {}",
                self.steps.len()
            ),
            NotEarlier::Row => format!(
                "`{name}` is a row per iteration: only steps and checks can take it, not `{who}`"
            ),
            NotEarlier::NoUser => match reader {
                NameUser::Feed(_) => format!(
                    "feed `{who}` is read once, before there are users; for a row of each \
                     user's own write `.unique()`"
                ),
                _ => format!(
                    "`{who}` runs once per run, so it has no `vu`; steps with a body, states and checks have"
                ),
            },
            NotEarlier::Unknown => {
                let hint = did_you_mean(name, known.iter().copied());
                let there_is = if known.is_empty() {
                    String::new()
                } else {
                    format!("; there is {}", list_names(known.iter().copied()))
                };
                let of = &self.scenario;
                format!("no step or value named `{name}` above `{who}`{of}{hint}{there_is}")
            }
        }
    }

    fn find_source(&self, name: &str, reader: NameUser) -> Result<ArgumentSource, NotEarlier> {
        let state = self.states.iter().position(|state| state == name);
        let setup = self.setups.iter().position(|setup| setup == name);
        let feed = self.feeds.iter().position(|feed| feed == name);
        let is_mutable = false;
        let at = |at| ArgumentSource::State { at, is_mutable };
        // a reserved name is refused where it is defined
        let client = match name {
            "http" => Some(ArgumentSource::Http),
            "net" => Some(ArgumentSource::Net),
            _ => None,
        };
        if let Some(client) = client.filter(|_| !self.is_known(name)) {
            return if reader.has_client() {
                Ok(client)
            } else {
                Err(NotEarlier::NotAsync)
            };
        }
        match reader {
            NameUser::Step { .. } | NameUser::Check => {
                let before = match reader {
                    NameUser::Step { at, .. } => at,
                    _ => self.steps.len(),
                };
                match self.earlier_step(name, before) {
                    Err(NotEarlier::Unknown) if name == "vu" => {
                        Ok(ArgumentSource::Vu { is_mutable })
                    }
                    Err(NotEarlier::Unknown) => feed
                        .map(ArgumentSource::Feed)
                        .or(state.map(at))
                        .or(setup.map(ArgumentSource::Setup))
                        .ok_or(NotEarlier::Unknown),
                    found => found.map(|at| ArgumentSource::Step { at, is_mutable }),
                }
            }
            NameUser::State if name == "vu" => Ok(ArgumentSource::Vu { is_mutable }),
            _ if name == "vu" => Err(NotEarlier::NoUser),
            NameUser::Feed(_)
            | NameUser::State
            | NameUser::Setup { .. }
            | NameUser::Teardown { .. } => match (setup, reader) {
                (Some(setup), NameUser::Setup { at: own, .. } | NameUser::Feed(own))
                    if setup >= own =>
                {
                    Err(NotEarlier::Later(self.setups[setup].clone()))
                }
                (Some(setup), _) => Ok(ArgumentSource::Setup(setup)),
                (None, _) if self.steps.iter().any(|step| step == name) => {
                    Err(NotEarlier::Later(name.to_owned()))
                }
                (None, _) if feed.is_some() => Err(NotEarlier::Row),
                (None, _) => Err(NotEarlier::Unknown),
            },
        }
    }

    fn is_known(&self, name: &str) -> bool {
        [&self.steps, &self.states, &self.setups]
            .into_iter()
            .flatten()
            .any(|given| given == name)
    }

    fn names_for(&self, reader: NameUser) -> Vec<&str> {
        let steps = match reader {
            NameUser::Step { at, .. } => at,
            NameUser::Check => self.steps.len(),
            _ => 0,
        };
        let sees_vu = !matches!(
            reader,
            NameUser::Feed(_) | NameUser::Setup { .. } | NameUser::Teardown { .. }
        );
        let sees_states = matches!(reader, NameUser::Step { .. } | NameUser::Check);
        let setups = match reader {
            NameUser::Setup { at, .. } | NameUser::Feed(at) => at,
            _ => self.setups.len(),
        };
        let steps = self.steps.iter().take(steps);
        let feeds = self.feeds.iter().filter(|_| sees_states);
        let states = self.states.iter().filter(|_| sees_states);
        steps
            .chain(feeds)
            .chain(states)
            .chain(self.setups.iter().take(setups))
            .map(String::as_str)
            .chain(sees_vu.then_some("vu"))
            .chain(
                reader
                    .has_client()
                    .then_some(["http", "net"])
                    .into_iter()
                    .flatten(),
            )
            .collect()
    }
}

/// Explains why `http` or `net` is not available.
fn explain_not_async(name: &str, who: &str, reader: NameUser) -> String {
    let ty = if name == "net" { "Net" } else { "Http" };
    match reader {
        NameUser::Step { .. } | NameUser::Setup { .. } | NameUser::Teardown { .. } => format!(
            "`{name}` is for functions that send: make `{who}` one with `async fn {who}(..) -> Result<T, Error>`"
        ),
        _ => format!(
            "`{who}` cannot send: an `async` step does, setup or teardown, which takes \
             `{name}: &mut {ty}`"
        ),
    }
}

/// The number of `step12`.
pub(crate) fn step_number(name: &str) -> Option<usize> {
    let digits = name.strip_prefix("step")?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        digits.parse().ok()
    } else {
        None
    }
}
