//! The queue of a sink: bounded, so that a slow sink costs resolution and never memory or load.

use super::interval::Interval;
use super::sink::{Sent, Sink};
use crate::access::AccessHeaders;
use crate::interrupt::Interrupts;
use crate::post::{ATTEMPTS, pause_after, random_share};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most intervals that wait for a sink.
const MOST_WAITING: usize = 64;
/// The interval of looking for Ctrl-C.
const LOOK: Duration = Duration::from_millis(20);
/// Why an interval was dropped, where no attempt says more.
const TOO_SLOW: &str = "the sink is slower than the run";

/// Intervals that wait for a sink, and the counts of the rest.
pub(super) struct SinkQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
    /// The seconds between two intervals.
    every: u32,
    headers: AccessHeaders,
    /// Set while an earlier run is sent: it waits for the sink until these, and the first lost interval ends it.
    replay: Option<Interrupts>,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<QueueItem>,
    /// The newest interval of each scenario.
    newest: BTreeMap<usize, NewestInterval>,
    counts: DeliveryCounts,
    news: Vec<String>,
    /// True once an interval that was not taken as a whole was reported.
    has_reported: bool,
    /// Nothing more comes.
    is_closed: bool,
    /// Nothing more is delivered.
    is_over: bool,
}

#[derive(Debug)]
struct NewestInterval {
    interval: Arc<Interval>,
    is_queued: bool,
}

#[derive(Debug, Clone)]
enum QueueItem {
    Interval(Arc<Interval>),
    /// The scenario is over; its last interval.
    End(Arc<Interval>),
}

/// The intervals of a sink, by what became of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DeliveryCounts {
    pub(super) offered: u64,
    pub(super) delivered: u64,
    pub(super) dropped: u64,
    /// Why the last one that was not delivered was not.
    pub(super) reason: Option<String>,
    pub(super) is_given_up: bool,
}

impl SinkQueue {
    pub(super) fn new(every: u32, headers: AccessHeaders, replay: Option<Interrupts>) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            every,
            headers,
            replay,
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an interval, in the place of the oldest one where there is no room.
    pub(super) fn offer(&self, interval: &Arc<Interval>) {
        let mut state = self.lock();
        let is_due = (interval.second + 1).is_multiple_of(self.every);
        let newest = NewestInterval {
            interval: Arc::clone(interval),
            is_queued: is_due,
        };
        state.newest.insert(interval.scenario, newest);
        if is_due {
            self.push(state, interval);
        }
    }

    /// Ends a scenario.
    pub(super) fn end(&self, scenario: usize) {
        let Some(newest) = self.lock().newest.remove(&scenario) else {
            return;
        };
        if !newest.is_queued {
            self.push(self.lock(), &newest.interval);
        }
        let mut state = self.lock();
        state.waiting.push_back(QueueItem::End(newest.interval));
        self.changed.notify_all();
    }

    fn push(&self, mut state: MutexGuard<'_, QueueState>, interval: &Arc<Interval>) {
        let has_time = || self.replay.as_ref().is_some_and(|stop| stop.count() == 0);
        while has_time() && !state.is_over && state.waiting.len() >= MOST_WAITING {
            let waited = self.changed.wait_timeout(state, LOOK);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.counts.offered += 1;
        if state.is_over {
            return;
        }
        if state.waiting.len() >= MOST_WAITING {
            state.waiting.pop_front();
            state.lose(None);
        }
        state
            .waiting
            .push_back(QueueItem::Interval(Arc::clone(interval)));
        self.changed.notify_all();
    }

    /// Says that nothing more comes.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Ends the deliveries. What is still waiting is lost.
    pub(super) fn stop(&self, why: &str) {
        let mut state = self.lock();
        if !state.is_over {
            state.is_over = true;
            state.counts.reason.get_or_insert_with(|| why.to_owned());
        }
        self.changed.notify_all();
    }

    /// Gives the sink up before anything was sent.
    pub(super) fn refuse(&self, why: &str) {
        self.lock().give_up(why.to_owned(), false);
    }

    /// Returns true once nothing more is delivered.
    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    pub(super) fn counts(&self) -> DeliveryCounts {
        self.lock().counts.clone()
    }

    /// Returns the messages to print now.
    pub(super) fn take_news(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().news)
    }

    /// Delivers what comes until nothing more does.
    pub(super) fn serve(&self, mut sink: Box<dyn Sink>) {
        while let Some(item) = self.next() {
            if !self.deliver(sink.as_mut(), &item) {
                break;
            }
        }
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Waits for the next item; `None` when there is none.
    fn next(&self) -> Option<QueueItem> {
        let mut state = self.lock();
        loop {
            if state.is_over {
                return None;
            }
            if let Some(item) = state.waiting.pop_front() {
                self.changed.notify_all();
                return Some(item);
            }
            if state.is_closed {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Tries until the sink has it, or refuses it, or for often enough. Returns false if that was the last one.
    fn deliver(&self, sink: &mut dyn Sink, item: &QueueItem) -> bool {
        for attempt in 1.. {
            let sent = match item {
                QueueItem::Interval(interval) => sink.send(interval),
                QueueItem::End(last) => sink.end(last),
            };
            let is_interval = matches!(item, QueueItem::Interval(_));
            let mut state = self.lock();
            match sent {
                Sent::Delivered | Sent::Partly(_) if state.is_over => return false,
                Sent::Delivered => {
                    state.counts.delivered += u64::from(is_interval);
                    return true;
                }
                Sent::Partly(words) => {
                    state.counts.delivered += u64::from(is_interval);
                    let words = self.headers.hide(&words);
                    state.report_once(
                        |second| format!("taken in part in second {second}: {words}"),
                        item,
                    );
                    return true;
                }
                Sent::Rejected(words) if is_interval => {
                    let words = self.headers.hide(&words);
                    let tell =
                        |second| format!("second {second} is refused, others may follow: {words}");
                    state.report_once(tell, item);
                    state.lose(Some(words));
                    return true;
                }
                Sent::Lost(why) if is_interval => {
                    state.lose(Some(self.headers.hide(&why)));
                    return true;
                }
                Sent::Rejected(_) | Sent::Lost(_) => return true,
                Sent::Refused(why) => {
                    state.give_up(self.headers.hide(&why), is_interval);
                    return false;
                }
                Sent::Failed { why, after } => {
                    let why = self.headers.hide(&why);
                    if attempt >= ATTEMPTS && after.is_none() {
                        if self.replay.is_some() {
                            state.give_up(why, is_interval);
                            return false;
                        }
                        if is_interval {
                            state.lose(Some(why));
                        }
                        return true;
                    }
                    state.counts.reason = Some(why);
                    let pause = pause_after(attempt, after, random_share());
                    if !self.pause(state, pause) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Waits; returns false if the deliveries ended meanwhile.
    fn pause(&self, mut state: MutexGuard<'_, QueueState>, pause: Duration) -> bool {
        let begin = now();
        while !state.is_over {
            let left = pause.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return true;
            }
            let waited = self.changed.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        false
    }
}

impl QueueState {
    /// Counts an interval that is not delivered.
    fn lose(&mut self, why: Option<String>) {
        self.counts.dropped += 1;
        match why {
            Some(why) => self.counts.reason = Some(why),
            None => {
                self.counts
                    .reason
                    .get_or_insert_with(|| TOO_SLOW.to_owned());
            }
        }
    }

    fn give_up(&mut self, why: String, is_interval: bool) {
        self.counts.dropped += u64::from(is_interval);
        self.news.push(format!("given up: {why}"));
        self.counts.reason = Some(why);
        self.counts.is_given_up = true;
        self.is_over = true;
    }

    /// Reports the first interval that was not taken as a whole.
    fn report_once(&mut self, words: impl Fn(u32) -> String, item: &QueueItem) {
        let (QueueItem::Interval(interval) | QueueItem::End(interval)) = item;
        if !std::mem::replace(&mut self.has_reported, true) {
            self.news.push(words(interval.second));
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "other machines are waited for here; nothing is measured, and no test pauses it"
)]
pub(super) fn now() -> Instant {
    Instant::now()
}
