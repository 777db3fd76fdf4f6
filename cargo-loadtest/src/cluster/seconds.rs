//! The seconds of all agents, added up.

use loadtest_model::metrics::Frame;
use std::collections::BTreeMap;

/// Seconds for which an agent that says nothing is waited for before the others are shown without it.
const PATIENCE: u32 = 3;

/// The seconds of one scenario that not all agents have told yet.
#[derive(Debug)]
pub(super) struct Seconds {
    pending: BTreeMap<u32, Frame>,
    /// The newest second of each agent, and `u32::MAX` of one that tells no more.
    newest: Vec<Option<u32>>,
    /// The first second that was not given out yet.
    next: u32,
}

impl Seconds {
    /// Expects seconds of so many agents.
    pub(super) fn new(agents: usize) -> Self {
        Self {
            pending: BTreeMap::new(),
            newest: vec![None; agents],
            next: 0,
        }
    }

    /// Adds what one agent told of a second. What comes too late is shown with the next one.
    pub(super) fn add(&mut self, agent: usize, mut frame: Frame) {
        self.newest[agent] = self.newest[agent].max(Some(frame.second));
        frame.second = frame.second.max(self.next);
        match self.pending.get_mut(&frame.second) {
            Some(sum) => sum.merge(&frame),
            None => _ = self.pending.insert(frame.second, frame),
        }
    }

    /// Expects nothing more of an agent.
    pub(super) fn finish(&mut self, agent: usize) {
        self.newest[agent] = Some(u32::MAX);
    }

    /// Returns the next second that is complete, or that is older than others are waited for.
    pub(super) fn next_complete(&mut self) -> Option<Frame> {
        let first = self.pending.first_entry()?;
        let second = *first.key();
        let is_told = |newest: &Option<u32>| newest.is_some_and(|newest| newest > second);
        let told = self
            .newest
            .iter()
            .flatten()
            .filter(|newest| **newest < u32::MAX)
            .max();
        let is_late = told.is_some_and(|newest| second + PATIENCE < *newest);
        if !is_late && !self.newest.iter().all(is_told) {
            return None;
        }
        self.next = second + 1;
        Some(first.remove())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;

    fn started(seconds: &mut Seconds) -> Vec<(u32, u64)> {
        std::iter::from_fn(|| seconds.next_complete())
            .map(|frame| (frame.second, frame.windows.steady.journey.started))
            .collect()
    }

    #[test]
    fn a_second_is_given_out_once_all_have_told_it() {
        let mut seconds = Seconds::new(2);
        seconds.add(0, sample::frame(0, 1));
        seconds.add(0, sample::frame(1, 2));
        seconds.add(1, sample::frame(0, 10));
        assert_eq!(started(&mut seconds), []);
        seconds.add(1, sample::frame(1, 20));
        assert_eq!(started(&mut seconds), [(0, 11)]);
        seconds.finish(0);
        assert_eq!(started(&mut seconds), []);
        seconds.finish(1);
        assert_eq!(started(&mut seconds), [(1, 22)]);
    }

    #[test]
    fn who_says_nothing_is_not_waited_for_for_ever_and_nothing_is_lost() {
        let mut seconds = Seconds::new(2);
        for second in 0..6 {
            seconds.add(0, sample::frame(second, 1));
        }
        assert_eq!(started(&mut seconds), [(0, 1), (1, 1)]);
        seconds.add(1, sample::frame(0, 5));
        seconds.finish(0);
        seconds.finish(1);
        assert_eq!(started(&mut seconds), [(2, 6), (3, 1), (4, 1), (5, 1)]);
    }
}
