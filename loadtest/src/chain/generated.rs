//! Everything that macro-generated code refers to; not a public interface.

pub use super::{
    Chain, Prepared, Scenario, SetupContext, SetupError, Shared,
    events::{ends_stream, measure_events, measure_units},
    feed::{
        Feed,
        open::{Row, Rows, draw, fewest, open_feed},
        shared::collect_shared,
    },
    file::{File, made_once, open_file, without_boundary},
    form::{begin_query, outside_boundary, user_name},
    graph::{ReadError, fill_graph, fill_graph_data, is_partial_graph},
    http::{
        Halt, Http,
        returned::{SenderReturn, sent},
    },
    kept::{Movable, SetupValue, Shareable, StateValue, run_setup, state},
    net::Net,
    outcome::{CheckReturn, StepReturn, TeardownReturn, call_with, run_check, run_teardowns},
    renewed_setup::{RenewedSetup, UsedSetup, run_renewed_setup},
    request::Request,
    response::{FromBody, Response},
    setup_sender::{run_async_setup, run_async_teardown},
    setup_values::{JsonForm, OpaqueSetup, SerializedSetup, SetupType},
    skip::{SkipProbe, SkipsAlways, SkipsMaybe, SkipsNever, SkipsWithin},
    slot::{Answer, FromSlot, Lend, LendMut, LendRows, SentByEngine, Slot, fill},
    unmet::Unmet,
    untyped::{Name, OpenPlain, OpenValue, Owner, Take, Untyped},
    value::{
        IndexPath, KeyPath, Peel, PeelOption, PeelPlain, Segment, Text, json_path, json_value,
    },
    vu::Vu,
    vu::{now, unix_millis, unix_seconds},
    write::without_row,
};
/// The version that `http = 3` stands for, where the feature is there.
pub use crate::__http3 as http3;
pub use crate::{
    debug::shell::quote_for_shell,
    registry::{Entry, Registry},
    secrets::secret,
    targets::own::Target,
    transport::events::{EventLog, RawEvent},
    transport::message::{RawResponse, RequestBuf},
};
pub use http::{HeaderName, HeaderValue, Method, uri::PathAndQuery};
pub use loadtest_macros::place_group;
pub use loadtest_model::{
    definition::{
        AutomaticReply, BodyDef, BodyKind, Bound, Client, Comparator, Cookies, DEFAULT_TIMEOUT,
        Dependency, Dns, EndMark, Expect, FeedDef, GaugeFigure, GoodCondition, GraphqlDef,
        GroupDef, HeaderDef, Heartbeat, HttpVersion, Load, Metric, Part, Reads, Rendezvous,
        Renewal, Retry, ScenarioDef, Shape, Stage, Statistic, StatusRange, StepDef, StreamDef,
        StreamFormat, Subject, Think, ThinkLaw, Threshold, Trigger, Until, WebSocketDef,
    },
    metrics::{Cause, RootCause, StreamSample},
    plan::RowLimit,
};
pub use std::borrow::Cow;
pub use {bytes::Bytes, inventory, serde};

use super::kept::call_setup;
use std::fmt::Display;
use std::sync::Arc;

/// Downcasts the values of a scenario's setups to their own type.
pub fn shared<T: Send + Sync + 'static>(shared: &Shared) -> Arc<T> {
    Arc::clone(shared)
        .downcast()
        .unwrap_or_else(|_| unreachable!("the engine hands a chain what its own `prepare` left"))
}

/// The target of a scenario, for its functions, and what `start` started: nothing where the base URL
/// comes from outside.
pub fn target<E: Display>(
    name: &'static str,
    context: &SetupContext,
    start: impl FnOnce() -> Result<Target, E>,
) -> Result<(SetupValue<Target>, Option<Target>), SetupError> {
    if let Some(url) = &context.base_url {
        return Ok((SetupValue::new(Target::external(url.clone())), None));
    }
    let started = call_setup(name, start)?;
    let known = SetupValue::new(Target::external(started.url().to_owned()));
    Ok((known, Some(started)))
}

/// The version that `http = 3` stands for.
#[cfg(feature = "http3")]
#[doc(hidden)]
#[macro_export]
macro_rules! __http3 {
    () => {
        $crate::__private::HttpVersion::Http3
    };
}

/// Refuses `http = 3`.
#[cfg(not(feature = "http3"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __http3 {
    () => {
        ::core::compile_error!("`http = 3` needs the feature `http3` of `loadtest`")
    };
}
