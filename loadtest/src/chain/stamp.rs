//! `Stamp`: an instant as a text that goes through the target, to time the way from one user to another.

use serde::{Serialize, Serializer};
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;
use std::time::Duration;
use tokio::time::Instant;

/// Tells this process from others, whose clocks are not comparable.
static PROCESS: LazyLock<(u64, Instant)> =
    LazyLock::new(|| (RandomState::new().hash_one("stamp"), Instant::now()));

/// An instant of this process as a text, which one user sends and another one hears.
///
/// ```
/// use loadtest::prelude::*;
///
/// #[response]
/// struct Said { text: String, sent: String }
///
/// #[scenario(base = "http://127.0.0.1:3000")]
/// fn chat() {
///     #[step(ws = "/room")]
///     fn socket() -> Socket<Said>;
///
///     #[step]
///     async fn talk(socket: &Socket<Said>, vu: &mut Vu) -> Result<(), Error> {
///         socket.send(&json!({ "text": "hello", "sent": vu.stamp() })).await?;
///         socket.pause(std::time::Duration::from_secs(1)).await;
///         for heard in socket.heard() {
///             if let Some(sent) = Stamp::parse(&heard.sent) {
///                 vu.time("fan-out", heard.since(sent));
///             }
///         }
///         Ok(())
///     }
/// }
/// ```
///
/// It serializes as its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// From the first stamp of the process on.
    at: Duration,
}

impl Stamp {
    /// Now.
    pub(super) fn now() -> Self {
        let (_, begin) = &*PROCESS;
        Self {
            at: begin.elapsed(),
        }
    }

    /// Reads a stamp. That of another process, whose clock is another one, is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (process, nanos) = text.split_once('.')?;
        let is_own = u64::from_str_radix(process, 16) == Ok(PROCESS.0);
        let at = Duration::from_nanos(nanos.parse().ok()?);
        is_own.then_some(Self { at })
    }

    /// The time from it to `instant`; zero if that is earlier.
    pub(super) fn until(self, instant: Instant) -> Duration {
        let (_, begin) = &*PROCESS;
        instant.saturating_duration_since(*begin + self.at)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}.{}", PROCESS.0, self.at.as_nanos())
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_back_and_that_of_another_process_is_none() {
        let stamp = Stamp::now();
        let text = stamp.to_string();
        assert_eq!(Stamp::parse(&text), Some(stamp));
        assert_eq!(serde_json::to_string(&stamp).unwrap(), format!("{text:?}"));
        let (process, nanos) = text.split_once('.').unwrap();
        let other = u64::from_str_radix(process, 16).unwrap() ^ 1;
        for wrong in [
            "",
            process,
            &format!("{process}.x"),
            &format!("{process}.-{nanos}"),
            &format!("{other:016x}.{nanos}"),
        ] {
            assert_eq!(Stamp::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_time_since_a_stamp_is_never_negative() {
        let stamp = Stamp {
            at: Duration::from_millis(20),
        };
        let (_, begin) = &*PROCESS;
        let at = |millis| *begin + Duration::from_millis(millis);
        assert_eq!(stamp.until(at(25)), Duration::from_millis(5));
        assert_eq!(stamp.until(at(15)), Duration::ZERO);
    }
}
