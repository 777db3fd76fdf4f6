//! Everything that macro-generated code refers to; not a public interface.

pub use super::{
    Chain, Prepared, Scenario, SetupContext, SetupError, Shared,
    feed::{
        Feed,
        open::{Row, Rows, fewest, open_fallible_feed, open_feed},
    },
    file::{File, made_once, open_file, without_boundary},
    form::{begin_query, outside_boundary, user_name},
    http::{
        Halt, Http, Local,
        returned::{SenderReturn, sent},
    },
    kept::{
        Hidden, HidesNothing, HidesSomething, Movable, Nothing, Returned, SetupValue, Shareable,
        SpelledOut, StateValue, run_fallible_setup, run_setup, spelled_out, state,
    },
    option_docs as options,
    outcome::{
        CheckReturn, StepReturn, TeardownReturn, check_with, holds, into_check, into_request,
        into_teardown, run_check, run_teardowns,
    },
    request::Request,
    response::{FromBody, Response},
    setup_sender::{SetupSender, run_async_setup, run_async_teardown},
    skip::{SkipProbe, SkipsAlways, SkipsMaybe, SkipsNever, SkipsWithin},
    slot::{FromSlot, Lend, LendMut, Slot, arg, fill, lend, lend_mut},
    unmet::Unmet,
    untyped::{Name, OpenPlain, OpenValue, Owner, Take, Untyped, take},
    value::{
        IndexPath, KeyPath, Peel, PeelOption, PeelPlain, Segment, Text, form_text, in_feed, index,
        json_path, json_text, json_value, key, present, query_text, secret_text, text, url_text,
    },
    vu::Vu,
    write::without_row,
};
pub use crate::debug::shell::quote_for_shell;
pub use crate::registry::{Entry, Registry};
pub use crate::targets::own::Target;
pub use crate::transport::message::{RawResponse, RequestBuf, RequestTarget};
pub use http::{HeaderName, HeaderValue, Method, uri::PathAndQuery};
pub use loadtest_model::definition::{
    BodyDef, BodyKind, Bound, Client, Comparator, Cookies, DEFAULT_TIMEOUT, Dependency, Dns,
    Expect, FeedDef, HeaderDef, HttpVersion, Load, Metric, Part, Reads, Retry, ScenarioDef, Shape,
    Stage, Statistic, StatusRange, StepDef, Think, Threshold, Trigger, Until,
};
pub use loadtest_model::metrics::{Cause, RootCause};
pub use loadtest_model::plan::RowLimit;
pub use std::borrow::Cow;
pub use {bytes::Bytes, inventory, serde};

use std::sync::Arc;

/// Downcasts the values of a scenario's setups to their own type.
pub fn shared<T: Send + Sync + 'static>(shared: &Shared) -> Arc<T> {
    Arc::clone(shared)
        .downcast()
        .unwrap_or_else(|_| unreachable!("the engine hands a chain what its own `prepare` left"))
}

/// The target of a scenario, for its functions, and what `start` started: nothing where the base URL
/// comes from outside.
pub fn target(
    context: &SetupContext,
    start: impl FnOnce() -> Result<SetupValue<Target>, SetupError>,
) -> Result<(SetupValue<Target>, Option<Target>), SetupError> {
    if let Some(url) = &context.base_url {
        return Ok((SetupValue::new(Target::external(url.clone())), None));
    }
    let started = start()?.into_inner();
    let known = SetupValue::new(Target::external(started.url().to_owned()));
    Ok((known, Some(started)))
}

/// A number that no step has.
pub fn no_such_step(step: usize) -> ! {
    unreachable!("this scenario has no step {step}")
}
