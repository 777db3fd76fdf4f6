//! The kinds of values that options have, by their owner.

use super::attribute::{GOOD, LIMIT};
use super::grammar::{self, Rule};
use super::read::Role;
use loadtest_language::{METHODS, OPEN_OPTION};
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

/// The key of method and URL together.
pub(super) const REQUEST: &str = "request";

/// The kind of value that an option has.
#[derive(Debug, Clone, Copy)]
pub(super) enum ItemKind {
    Flag,
    /// Without a value, or with parameters: `once(for = 50m)`.
    FlagOrCall,
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
    let is_request = METHODS.contains(&key) || key == OPEN_OPTION;
    if owner == Owner::Step && is_request {
        REQUEST
    } else {
        key
    }
}

pub(super) fn kind_of(owner: Owner, key: &str) -> Option<ItemKind> {
    use ItemKind::{
        Body, Call, Closure, Condition, Conditions, Fields, Flag, FlagOrCall, Load, Pair, Request,
        Source, SourceOrCall, Text, Texts,
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
            "start" | "grace" => Source(grammar::time),
            "cookies" | "dns" | "insecure" => Source(grammar::word),
            "connections" => Source(grammar::number_or_word),
            "reaches" => Texts,
            _ => return shared,
        }),
        Owner::Step => Some(match key {
            REQUEST => Request,
            LIMIT => Condition(Scope::Step),
            "weight" => Source(grammar::weight),
            "one_of" | "jar" | "connections" | "format" | "graded" | "compress" | "partial" => {
                Source(grammar::word)
            }
            "rendezvous" => SourceOrCall(grammar::number),
            "once" => FlagOrCall,
            "last" => Flag,
            "refresh" => Source(grammar::statuses),
            "until" | "first" | "units" => Closure,
            "every" | "within" | "lasts" | "idle" => Source(grammar::time),
            "events" => Source(grammar::number),
            GOOD => Source(grammar::good),
            "end" | "protocol" | "graphql" => Text,
            "heartbeat" => Call,
            "reply" => Pair,
            "query" | "form" => Fields {
                may_hold_files: false,
            },
            "multipart" => Fields {
                may_hold_files: true,
            },
            "json" | "variables" => Source(grammar::json),
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
