//! The allowance of a listed target: a guard, not a shaper. Requests above a cap are refused and not
//! delayed, since a delay would count as the target's time.

use super::listed::ListedTarget;
use loadtest_model::shard::Shard;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::Instant;

/// The burst: requests due within this time may be sent at once, to make up for a short delay of the
/// generator.
const BURST_WINDOW: Duration = Duration::from_secs(1);

/// The caps of one target, counted over all clients of a run.
#[derive(Debug)]
pub(crate) struct Allowance {
    target: ListedTarget,
    /// The part of the caps that this process has.
    shard: Shard,
    begin: Instant,
    /// The time at which the next request is due at the highest rate, in nanoseconds after `begin` (the
    /// generic cell rate algorithm, ITU-T I.371).
    due: AtomicU64,
    in_flight: AtomicU32,
}

/// The pass of a request under way.
#[derive(Debug)]
pub(crate) struct RequestPass(Arc<Allowance>);

impl Allowance {
    /// Returns whether these are the caps of `target`.
    pub(super) fn is_for(&self, target: &ListedTarget) -> bool {
        self.target == *target
    }

    pub(super) fn new(target: ListedTarget, shard: Shard) -> Self {
        Self {
            target,
            shard,
            begin: Instant::now(),
            due: AtomicU64::new(0),
            in_flight: AtomicU32::new(0),
        }
    }

    /// Lets a request pass now, or says which cap it would break.
    ///
    /// # Errors
    /// The cap, in words.
    pub(crate) fn admit_request(self: &Arc<Self>) -> Result<RequestPass, String> {
        if let Some(most) = self.target.max_in_flight
            && self
                .in_flight
                .fetch_update(Relaxed, Relaxed, |count| {
                    let own = self.shard.count_of(most.into());
                    (u64::from(count) < own).then_some(count + 1)
                })
                .is_err()
        {
            return Err(self.cap_message(&format!("`max_in_flight = {most}`")));
        }
        if self.target.max_in_flight.is_none() {
            self.in_flight.fetch_add(1, Relaxed);
        }
        let pass = RequestPass(Arc::clone(self));
        if let Some(rate) = self.target.max_rate {
            let apart = (1e9 / (rate * self.shard.share())) as u64;
            let now = u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let latest = now.saturating_add(BURST_WINDOW.as_nanos() as u64);
            self.due
                .fetch_update(Relaxed, Relaxed, |due| {
                    let due = due.max(now);
                    (due <= latest).then_some(due.saturating_add(apart))
                })
                .map_err(|_| self.cap_message(&format!("`max_rate = \"{rate}/s\"`")))?;
        }
        Ok(pass)
    }

    fn cap_message(&self, cap: &str) -> String {
        format!(
            "a request to {} was not sent: it would break {cap} of its entry in line {} of `loadtest.toml`",
            self.target.origin(),
            self.target.line
        )
    }
}

impl Drop for RequestPass {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowance(keys: &str) -> Arc<Allowance> {
        let text = format!("[[targets]]\nhost = \"shop.test\"\nowner = \"ada\"\n{keys}\n");
        let target = ListedTarget::read(&text).unwrap().remove(0);
        Arc::new(Allowance::new(target, Shard::WHOLE))
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_is_kept_over_time_with_a_second_of_it_at_once() {
        let allowance = allowance("max_rate = \"100/s\"");
        let burst = (0..1_000)
            .filter(|_| allowance.admit_request().is_ok())
            .count();
        assert_eq!(burst, 101);
        tokio::time::advance(Duration::from_secs(2)).await;
        let after = (0..1_000)
            .filter(|_| allowance.admit_request().is_ok())
            .count();
        assert_eq!(after, 101, "what was not used is lost");
        let mut sent = 0;
        for _ in 0..10_000 {
            tokio::time::advance(Duration::from_millis(1)).await;
            sent += u32::from(allowance.admit_request().is_ok());
        }
        assert!((999..=1_001).contains(&sent), "{sent} in ten seconds");
        let told = allowance.admit_request().unwrap_err();
        assert!(
            told.contains("`max_rate = \"100/s\"`") && told.contains("line 1"),
            "{told}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_has_ended_makes_room() {
        let allowance = allowance("max_in_flight = 2");
        let (one, _two) = (
            allowance.admit_request().unwrap(),
            allowance.admit_request().unwrap(),
        );
        assert!(
            allowance
                .admit_request()
                .unwrap_err()
                .contains("`max_in_flight = 2`")
        );
        drop(one);
        assert!(allowance.admit_request().is_ok());
    }
}
