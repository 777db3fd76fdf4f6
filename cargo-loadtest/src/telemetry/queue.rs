//! The queue of a sink: bounded, so that a slow sink costs resolution and never memory or load.

use super::interval::Interval;
use super::sink::{Sent, Sink};
use super::spans::SpanBatch;
use crate::access::AccessHeaders;
use crate::post::{ATTEMPTS, pause_after, random_share};
use loadtest_console::interrupt::Interrupts;
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
    Spans(Arc<SpanBatch>),
}

impl QueueItem {
    /// Returns what it counts: an interval as one, spans as they are.
    fn weight(&self) -> u64 {
        match self {
            Self::Interval(_) => 1,
            Self::End(_) => 0,
            Self::Spans(batch) => batch.spans,
        }
    }

    /// Returns the place of it in a message.
    fn place(&self) -> String {
        match self {
            Self::Interval(interval) | Self::End(interval) => {
                format!(" in second {}", interval.second)
            }
            Self::Spans(_) => String::new(),
        }
    }
}

/// The intervals of a sink, or its spans, by what became of them.
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

    /// Adds spans, in the place of the oldest ones where there is no room.
    pub(super) fn offer_spans(&self, batch: &Arc<SpanBatch>) {
        self.push_item(self.lock(), QueueItem::Spans(Arc::clone(batch)));
    }

    /// Counts what the load had no room for.
    pub(super) fn count_lost(&self, spans: u64, why: &str) {
        let mut state = self.lock();
        state.counts.offered += spans;
        if spans > 0 {
            state.lose(spans, Some(why.to_owned()));
        }
    }

    fn push(&self, state: MutexGuard<'_, QueueState>, interval: &Arc<Interval>) {
        self.push_item(state, QueueItem::Interval(Arc::clone(interval)));
    }

    fn push_item(&self, mut state: MutexGuard<'_, QueueState>, item: QueueItem) {
        let has_time = || self.replay.as_ref().is_some_and(|stop| stop.count() == 0);
        while has_time() && !state.is_over && state.waiting.len() >= MOST_WAITING {
            let waited = self.changed.wait_timeout(state, LOOK);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.counts.offered += item.weight();
        if state.is_over {
            return;
        }
        if state.waiting.len() >= MOST_WAITING {
            let oldest = state.waiting.pop_front();
            state.lose(oldest.map_or(0, |item| item.weight()), None);
        }
        state.waiting.push_back(item);
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
        self.lock().give_up(why.to_owned(), 0);
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
                QueueItem::Spans(batch) => sink.send_spans(batch),
            };
            let weight = item.weight();
            let mut state = self.lock();
            match sent {
                Sent::Delivered | Sent::Partly(_) if state.is_over => return false,
                Sent::Delivered => {
                    state.counts.delivered += weight;
                    return true;
                }
                Sent::Partly(words) => {
                    state.counts.delivered += weight;
                    let words = self.headers.hide(&words);
                    state.report_once(
                        |item| format!("taken in part{}: {words}", item.place()),
                        item,
                    );
                    return true;
                }
                Sent::Rejected(words) if weight > 0 => {
                    let words = self.headers.hide(&words);
                    let tell = |item: &QueueItem| match item {
                        QueueItem::Spans(_) => {
                            format!("spans are refused, others may follow: {words}")
                        }
                        QueueItem::Interval(interval) | QueueItem::End(interval) => {
                            let second = interval.second;
                            format!("second {second} is refused, others may follow: {words}")
                        }
                    };
                    state.report_once(tell, item);
                    state.lose(weight, Some(words));
                    return true;
                }
                Sent::Lost(why) if weight > 0 => {
                    state.lose(weight, Some(self.headers.hide(&why)));
                    return true;
                }
                Sent::Rejected(_) | Sent::Lost(_) => return true,
                Sent::Refused(why) => {
                    state.give_up(self.headers.hide(&why), weight);
                    return false;
                }
                Sent::Failed { why, after } => {
                    let why = self.headers.hide(&why);
                    if attempt >= ATTEMPTS && after.is_none() {
                        if self.replay.is_some() {
                            state.give_up(why, weight);
                            return false;
                        }
                        if weight > 0 {
                            state.lose(weight, Some(why));
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
    /// Counts what is not delivered.
    fn lose(&mut self, weight: u64, why: Option<String>) {
        self.counts.dropped += weight;
        match why {
            Some(why) => self.counts.reason = Some(why),
            None => {
                self.counts
                    .reason
                    .get_or_insert_with(|| TOO_SLOW.to_owned());
            }
        }
    }

    fn give_up(&mut self, why: String, weight: u64) {
        self.counts.dropped += weight;
        self.news.push(format!("given up: {why}"));
        self.counts.reason = Some(why);
        self.counts.is_given_up = true;
        self.is_over = true;
    }

    /// Reports the first interval that was not taken as a whole.
    fn report_once(&mut self, words: impl Fn(&QueueItem) -> String, item: &QueueItem) {
        if !std::mem::replace(&mut self.has_reported, true) {
            self.news.push(words(item));
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
