//! The names that functions and templates of a scenario can use.

use super::{Argument, unraw};
use crate::body::{Item, Role};
use crate::signature::{self, Parameter};
use crate::spelling::as_written;
use crate::suggest::{Errors, did_you_mean, listed};

/// Where the value of a parameter comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Step(usize),
    Feed(usize),
    Vu {
        is_mutable: bool,
    },
    /// What a step that sends for itself sends with.
    Http,
    State {
        at: usize,
        is_mutable: bool,
    },
    Setup(usize),
}

impl Source {
    pub(crate) fn step(self) -> Option<usize> {
        match self {
            Self::Step(step) => Some(step),
            _ => None,
        }
    }
}

/// Who looks a name up; numbers count functions of that role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
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

impl Reader {
    /// Whether it has a client to send with.
    fn sends(self) -> bool {
        matches!(
            self,
            Self::Step { is_async: true, .. }
                | Self::Setup { is_async: true, .. }
                | Self::Teardown { is_async: true }
        )
    }
}

/// Why a name is no earlier step.
pub(super) enum NotEarlier {
    Unknown,
    Itself,
    Later(String),
    /// `http`, for steps that send for themselves.
    NotAsync,
    /// `step12` of a scenario with fewer.
    NoSuchNumber(usize),
    /// A feed, for a function that belongs to no iteration.
    Row,
    /// `vu`, for what runs without users.
    NoUser,
}

#[derive(Default)]
pub(super) struct Names {
    pub(super) steps: Vec<String>,
    pub(super) feeds: Vec<String>,
    states: Vec<String>,
    setups: Vec<String>,
}

impl Names {
    /// Collects the names; reserved ones are noted.
    pub(super) fn of(items: &[Item], errors: &mut Errors) -> Self {
        let mut names = Self::default();
        for item in items {
            let Some(role) = item.role() else { continue };
            let list = match role {
                Role::Step => &mut names.steps,
                Role::Feed => &mut names.feeds,
                Role::State => &mut names.states,
                Role::Setup => &mut names.setups,
                Role::Check | Role::Teardown => continue,
            };
            let name = item.ident().map(unraw).unwrap_or_default();
            list.push(name.clone());
            let Some(ident) = item.ident() else { continue };
            let position = list.len();
            if name == "vu" {
                errors.at(
                    ident.span(),
                    "`vu` is the virtual user: choose another name",
                );
            }
            if name == "secret" {
                errors.at(
                    ident.span(),
                    "`secret` is where secrets come from: choose another name",
                );
            }
            if name == "http" {
                errors.at(
                    ident.span(),
                    "`http` is what an `async` function sends with: choose another name",
                );
            }
            if let Some(number) = step_number(&name)
                && (role != Role::Step || number != position)
            {
                let place = if role == Role::Step {
                    format!("this is number {position}")
                } else {
                    format!("this is a {}", role.name())
                };
                errors.at(
                    ident.span(),
                    format!("`{name}` means the step with the number {number}, but {place}"),
                );
            }
        }
        names
    }

    /// Whether `name` is a step, also by its number.
    pub(super) fn is_step(&self, name: &str) -> bool {
        self.steps.iter().any(|step| step == name) || step_number(name).is_some()
    }

    /// The feed `name`.
    pub(super) fn feed(&self, name: &str) -> Option<usize> {
        self.feeds.iter().position(|feed| feed == name)
    }

    /// What `name` is that a function can take and a placeholder cannot, and how it is taken.
    pub(super) fn for_functions(&self, name: &str) -> Option<(&'static str, String)> {
        if self.setups.iter().any(|setup| setup == name) {
            Some(("a setup", format!("{name}: &T")))
        } else if self.states.iter().any(|state| state == name) {
            Some(("a state", format!("{name}: &mut T")))
        } else {
            (name == "vu").then(|| ("the virtual user", "vu: &mut Vu".to_owned()))
        }
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

    /// What `parameter` of the function `who` names; a mistake is noted.
    pub(super) fn argument(
        &self,
        parameter: Parameter,
        reader: Reader,
        who: &str,
        errors: &mut Errors,
    ) -> Option<Argument> {
        let Parameter { ident, ty } = parameter;
        let written = unraw(&ident);
        let known = self.known_to(reader);
        // `_login` uses the step for the order alone
        let name = match written.strip_prefix('_') {
            Some(rest) if !known.contains(&written.as_str()) => rest,
            _ => &written,
        };
        let mut source = match self.source(name, reader) {
            Ok(source) => source,
            Err(reason) => {
                let refusal = self.refusal(&reason, name, reader, who, &known);
                errors.at(ident.span(), refusal);
                return None;
            }
        };
        let reference = signature::referent(&ty);
        let lent = reference.map_or(&ty, |(inner, _)| inner);
        let lent = as_written(lent);
        let is_mutable = reference.is_some_and(|(_, is_mutable)| is_mutable);
        let mistake = match &mut source {
            Source::Step(_) if signature::is_option(&ty) => None,
            Source::Step(_) if signature::is_result(&ty) => Some(format!(
                "a step that failed lends nothing: write `{ident}: &T`, or `{ident}: Option<&T>` to \
                 run without it"
            )),
            Source::Step(_) => (reference.is_none() || is_mutable).then(|| {
                format!("a response is lent to the steps below it: write `{ident}: &{lent}`")
            }),
            Source::Feed(_) => {
                let inside = signature::inside_option(&ty);
                let row = inside.and_then(signature::referent).map(|(row, _)| row);
                let row = row.or(inside).map_or_else(|| lent.clone(), as_written);
                if inside.is_some() {
                    Some(format!(
                        "every iteration has a row: write `{ident}: &{row}`"
                    ))
                } else {
                    (reference.is_none() || is_mutable).then(|| {
                        format!("a row of a feed is shared by all users: write `{ident}: &{row}`")
                    })
                }
            }
            Source::Vu {
                is_mutable: mutable,
            } => {
                *mutable = is_mutable;
                reference
                    .is_none()
                    .then(|| format!("the virtual user is lent: write `{ident}: &{lent}`"))
            }
            Source::Http => {
                (!is_mutable).then(|| "the client is lent: write `http: &mut Http`".to_owned())
            }
            Source::State {
                is_mutable: mutable,
                ..
            } => {
                *mutable = is_mutable;
                reference
                    .is_none()
                    .then(|| format!("a state is lent: write `{ident}: &mut {lent}`"))
            }
            Source::Setup(_) => (reference.is_none() || is_mutable).then(|| {
                format!("what a setup made is shared by all users: write `{ident}: &{lent}`")
            }),
        };
        if let Some(mistake) = mistake {
            errors.on(&ty, mistake);
            return None;
        }
        if let Some(lifetime) = signature::static_lifetime(&ty) {
            let what = match source {
                Source::Step(_) => "a response",
                Source::Feed(_) => "a row of a feed",
                Source::Vu { .. } => "the virtual user",
                Source::Http => "the client",
                Source::State { .. } => "a state",
                Source::Setup(_) => "what a setup made",
            };
            let plain = as_written(&ty).replacen("'static ", "", 1);
            errors.on(
                lifetime,
                format!("{what} is lent for the call only: write `{plain}`"),
            );
            return None;
        }
        Some(Argument {
            source,
            ty,
            span: ident.span(),
            variable: name.to_owned(),
        })
    }

    /// Why `name` is nothing that `who` can use.
    fn refusal(
        &self,
        reason: &NotEarlier,
        name: &str,
        reader: Reader,
        who: &str,
        known: &[&str],
    ) -> String {
        match reason {
            NotEarlier::Itself => format!("step `{who}` cannot use its own response"),
            NotEarlier::Later(later) => format!(
                "`{later}` runs after `{who}`: {}",
                match reader {
                    Reader::Step { .. } | Reader::Check => "a step can only use the steps above it",
                    Reader::Setup { .. } => "a setup can only use the setups above it",
                    Reader::Feed(_) => "a feed can only use the setups above it",
                    Reader::State => "a state can use `vu` and the setups",
                    Reader::Teardown { .. } => "a teardown can use the setups",
                }
            ),
            NotEarlier::NotAsync => not_async(who, reader),
            NotEarlier::NoSuchNumber(number) => format!(
                "there is no step {number}: this scenario has {}",
                self.steps.len()
            ),
            NotEarlier::Row => format!(
                "`{name}` has a row for each iteration, and `{who}` belongs to none: a \
                             row is for steps and checks"
            ),
            NotEarlier::NoUser => match reader {
                Reader::Feed(_) => format!(
                    "feed `{who}` is read once, before there are users; for a row of each \
                     user's own write `.unique()`"
                ),
                _ => format!(
                    "`{who}` runs once, and for no user: `vu` is for steps with a body, states and checks"
                ),
            },
            NotEarlier::Unknown => {
                let hint = did_you_mean(name, known.iter().copied());
                let there_is = if known.is_empty() {
                    String::new()
                } else {
                    format!("; there is {}", listed(known.iter().copied()))
                };
                format!("no step or value named `{name}` above `{who}`{hint}{there_is}")
            }
        }
    }

    fn source(&self, name: &str, reader: Reader) -> Result<Source, NotEarlier> {
        let state = self.states.iter().position(|state| state == name);
        let setup = self.setups.iter().position(|setup| setup == name);
        let feed = self.feed(name);
        let is_mutable = false;
        let at = |at| Source::State { at, is_mutable };
        // a name that is somebody's is refused where it is given
        if name == "http" && !self.is_given(name) {
            return if reader.sends() {
                Ok(Source::Http)
            } else {
                Err(NotEarlier::NotAsync)
            };
        }
        match reader {
            Reader::Step { .. } | Reader::Check => {
                let before = match reader {
                    Reader::Step { at, .. } => at,
                    _ => self.steps.len(),
                };
                match self.earlier_step(name, before) {
                    Err(NotEarlier::Unknown) if name == "vu" => Ok(Source::Vu { is_mutable }),
                    Err(NotEarlier::Unknown) => feed
                        .map(Source::Feed)
                        .or(state.map(at))
                        .or(setup.map(Source::Setup))
                        .ok_or(NotEarlier::Unknown),
                    found => found.map(Source::Step),
                }
            }
            Reader::State if name == "vu" => Ok(Source::Vu { is_mutable }),
            _ if name == "vu" => Err(NotEarlier::NoUser),
            Reader::Feed(_) | Reader::State | Reader::Setup { .. } | Reader::Teardown { .. } => {
                match (setup, reader) {
                    (Some(setup), Reader::Setup { at: own, .. } | Reader::Feed(own))
                        if setup >= own =>
                    {
                        Err(NotEarlier::Later(self.setups[setup].clone()))
                    }
                    (Some(setup), _) => Ok(Source::Setup(setup)),
                    (None, _) if self.steps.iter().any(|step| step == name) => {
                        Err(NotEarlier::Later(name.to_owned()))
                    }
                    (None, _) if feed.is_some() => Err(NotEarlier::Row),
                    (None, _) => Err(NotEarlier::Unknown),
                }
            }
        }
    }

    fn is_given(&self, name: &str) -> bool {
        [&self.steps, &self.states, &self.setups]
            .into_iter()
            .flatten()
            .any(|given| given == name)
    }

    fn known_to(&self, reader: Reader) -> Vec<&str> {
        let steps = match reader {
            Reader::Step { at, .. } => at,
            Reader::Check => self.steps.len(),
            _ => 0,
        };
        let sees_vu = !matches!(
            reader,
            Reader::Feed(_) | Reader::Setup { .. } | Reader::Teardown { .. }
        );
        let sees_states = matches!(reader, Reader::Step { .. } | Reader::Check);
        let setups = match reader {
            Reader::Setup { at, .. } | Reader::Feed(at) => at,
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
            .chain(reader.sends().then_some("http"))
            .collect()
    }
}

/// The words for `http` where nobody sends.
fn not_async(who: &str, reader: Reader) -> String {
    match reader {
        Reader::Step { .. } => format!(
            "`http` is for steps that send for themselves: make `{who}` one with \
             `async fn {who}(..) -> Result<T, Error>`"
        ),
        Reader::Setup { .. } => format!(
            "`http` is for setups that send: make `{who}` one with \
             `async fn {who}(..) -> Result<T, Error>`"
        ),
        Reader::Teardown { .. } => format!(
            "`http` is for teardowns that send: make `{who}` one with \
             `async fn {who}(..) -> Result<(), Error>`"
        ),
        _ => format!(
            "`{who}` cannot send: an `async` step does, setup or teardown, which takes \
             `http: &mut Http`"
        ),
    }
}

/// Refuses a state that is lent twice, once of them to change it: rustc would blame generated code.
pub(super) fn check_borrows(arguments: &[Argument], errors: &mut Errors) {
    for (i, argument) in arguments.iter().enumerate() {
        let clash = arguments[..i]
            .iter()
            .any(|earlier| match (earlier.source, argument.source) {
                (Source::Vu { is_mutable: m }, Source::Vu { is_mutable: n }) => m || n,
                (Source::Http, Source::Http) => true,
                (
                    Source::State {
                        at: a,
                        is_mutable: m,
                    },
                    Source::State {
                        at: b,
                        is_mutable: n,
                    },
                ) => a == b && (m || n),
                _ => false,
            });
        if clash {
            let name = &argument.variable;
            errors.on(
                &argument.ty,
                format!("`{name}` is lent to this function already"),
            );
        }
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
