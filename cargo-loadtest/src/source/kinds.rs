//! The kinds of values that options have, by their owner.

use super::attribute::LIMIT;
use super::grammar::{self, Rule};
use super::read::Role;
use loadtest_model::threshold::Scope;

/// The owner of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// A scenario, or the module of several.
    Scenario,
    Step,
    Group,
    Feed,
}

impl Owner {
    pub(super) fn of_role(role: Role) -> Self {
        match role {
            Role::Group => Self::Group,
            Role::Feed => Self::Feed,
            _ => Self::Step,
        }
    }
}

/// The methods that a step can name.
const METHODS: [&str; 7] = ["get", "post", "put", "delete", "patch", "head", "options"];

/// The key of method and URL together.
pub(super) const REQUEST: &str = "request";

/// The kind of value that an option has.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Flag,
    Source(Rule),
    /// A number, or parameters.
    SourceOrCall(Rule),
    Text,
    Pair,
    Texts,
    Conditions(Scope),
    Condition(Scope),
    Request,
    Fields {
        may_hold_files: bool,
    },
    Body,
    Call,
    Load,
    Closure,
}

/// The key that edits and forms know an option by.
pub(super) fn form_key(owner: Owner, key: &str) -> &str {
    let is_request = owner == Owner::Step && METHODS.contains(&key);
    if is_request { REQUEST } else { key }
}

pub(super) fn kind_of(owner: Owner, key: &str) -> Option<Kind> {
    use Kind::{
        Body, Call, Closure, Condition, Conditions, Fields, Flag, Load, Pair, Request, Source,
        SourceOrCall, Text, Texts,
    };
    let shared = match key {
        "name" | "bearer" => Some(Text),
        "header" | "basic" => Some(Pair),
        "tags" => Some(Texts),
        "timeout" | "apdex" => Some(Source(grammar::time)),
        "think" => Some(Source(grammar::think)),
        "expect" => Some(Source(grammar::statuses)),
        "budget" => Some(Source(grammar::share)),
        "grade_weight" | "redirects" => Some(Source(grammar::number)),
        "retry" => Some(Call),
        "stop_on_failure" => Some(Flag),
        "check" => Some(Closure),
        _ => None,
    };
    match owner {
        Owner::Scenario => Some(match key {
            "base" | "version" | "ca" | "identity" => Text,
            "load" => Load,
            "thresholds" => Conditions(Scope::Journey),
            "weight" => Source(grammar::number),
            "http" => Source(grammar::http),
            "start" => Source(grammar::time),
            "cookies" | "dns" | "insecure" => Source(grammar::word),
            _ => return shared,
        }),
        Owner::Step => Some(match key {
            REQUEST => Request,
            LIMIT => Condition(Scope::Step),
            "weight" => Source(grammar::weight),
            "one_of" | "jar" | "connections" => Source(grammar::word),
            "rendezvous" => SourceOrCall(grammar::number),
            "once" | "last" => Flag,
            "until" => Closure,
            "every" | "within" => Source(grammar::time),
            "query" | "form" => Fields {
                may_hold_files: false,
            },
            "multipart" => Fields {
                may_hold_files: true,
            },
            "json" => Source(grammar::json),
            "body" => Body,
            _ => return shared,
        }),
        Owner::Group => match key {
            "name" => Some(Text),
            LIMIT => Some(Condition(Scope::Step)),
            _ => None,
        },
        Owner::Feed => (key == "rows").then_some(Source(grammar::number)),
    }
}
