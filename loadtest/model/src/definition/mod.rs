//! The declarations of a scenario: plain data, written by the macros, printed by `list`, kept in every record.
//!
//! Every type here can be built in a `const` and read back from JSON, so a definition exists once,
//! whether it comes from the linked program or from a record of last year.

mod client;
mod draw;
mod expect;
mod graphql;
mod letter;
mod load;
mod rendezvous;
mod repeat;
#[cfg(any(test, feature = "fixtures"))]
#[doc(hidden)]
pub mod sample;
mod scenario;
mod stream;
mod think;
mod websocket;

pub use crate::micros;
pub use crate::quantity::{Rate, Share};
pub use crate::threshold::{
    Better, Bound, Comparator, GaugeFigure, Metric, Part, Scope, Statistic, Subject, Threshold,
    Unit,
};
pub use client::{Client, Cookies, Dns, HttpVersion};
pub use draw::Draw;
pub use expect::{Expect, StatusRange};
pub use graphql::GraphqlDef;
pub use letter::Letter;
pub use load::{Load, Shape, Stage};
pub use rendezvous::Rendezvous;
pub use repeat::{Renewal, Retry, Trigger, Until};
pub use scenario::{
    BodyDef, BodyKind, Dependency, FeedDef, GroupDef, HeaderDef, Reads, ScenarioDef, StepDef,
};
pub use stream::{EndMark, GoodCondition, StreamDef, StreamFormat};
pub use think::{Think, ThinkLaw};
pub use websocket::{AutomaticReply, Heartbeat, WebSocketDef};

/// The length of time after which a request is given up when nothing else is declared.
pub const DEFAULT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);
