//! The hub: intervals to sinks, a thread each, and what became of them.

use super::bounds::SeriesBudget;
use super::feed::IntervalFeed;
use super::interval::Interval;
use super::queue::{DeliveryCounts, SinkQueue, now};
use super::sink::prometheus::ScrapePage;
use super::spans::SpanReader;
use super::tracker::{Tracker, TrackerSettings};
use crate::course::Course;
use loadtest_console::console;
use loadtest_console::interrupt::Interrupts;
use loadtest_model::display::format_counted;
use loadtest_model::metrics::Frame;
use loadtest_model::record::TelemetryDelivery;
use loadtest_model::redacted::Redacted;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The end of a run waits so long for sinks.
const WAIT: Duration = Duration::from_secs(10);
/// So many requests to stop abort a run, which then waits for nothing.
const ABORT: u32 = 2;
/// The interval of looking for Ctrl-C.
const LOOK: Duration = Duration::from_millis(20);
/// Why spans are lost that the load did not write.
const NO_ROOM: &str = "the load keeps 2,000 spans a second and 64 MiB at most";
/// Why intervals are lost that are still on their way at the end.
const NO_ANSWER: &str = "no answer in time";

/// The sinks of a run.
pub(crate) struct Hub {
    pub(super) state: Arc<Mutex<HubState>>,
    pub(super) run: String,
    pub(super) is_replay: bool,
}

/// The scenarios under way, and the sinks that get their figures.
pub(crate) struct HubState {
    pub(super) settings: TrackerSettings,
    pub(super) trackers: BTreeMap<usize, Tracker>,
    /// The spans of the scenarios, where a sink takes some.
    pub(super) spans: BTreeMap<usize, SpanReader>,
    pub(super) sinks: Vec<ServedSink>,
}

/// A sink of a run.
pub(super) struct ServedSink {
    pub(super) name: SinkName,
    pub(super) receiver: Receiver,
    /// The way of spans to it, which has a thread of its own.
    pub(super) spans: Option<Arc<SinkQueue>>,
    /// The losses that the figures hold already.
    pub(super) counted_losses: u64,
}

/// The name of a sink in messages.
#[derive(Debug, Clone)]
pub(super) struct SinkName {
    pub(super) number: usize,
    pub(super) format: &'static str,
    /// Scheme and host, an address, or a path.
    pub(super) place: String,
    /// True if the configuration names it.
    pub(super) is_configured: bool,
}

/// The way to a sink.
pub(super) enum Receiver {
    Queue(Arc<SinkQueue>),
    Page(Arc<ScrapePage>),
}

impl SinkName {
    fn describe(&self) -> String {
        let Self {
            number,
            format,
            place,
            ..
        } = self;
        format!("telemetry {number}, {format} {place}")
    }

    /// The flag by which `send` names it.
    fn flag(&self) -> String {
        if self.is_configured {
            format!("--to {}", self.number)
        } else {
            format!("--send {}=..", self.format)
        }
    }
}

impl HubState {
    pub(super) fn start(&mut self, scenario: usize, course: &Course, spans: Option<&Path>) {
        self.end(scenario);
        self.end_spans(scenario);
        let is_traced = course.record.start.plan.tracing.is_some();
        if let Some(path) = spans
            && is_traced
            && self.sinks.iter().any(|sink| sink.spans.is_some())
        {
            let reader = SpanReader::new(path, course, &self.settings.facts);
            self.spans.insert(scenario, reader);
        }
        let tracker = Tracker::new(scenario, course, &self.settings);
        self.trackers.insert(scenario, tracker);
    }

    pub(super) fn frame(&mut self, scenario: usize, frame: &Frame, course: &Course) {
        let Some(tracker) = self.trackers.get_mut(&scenario) else {
            return;
        };
        let dropped: Vec<_> = self.sinks.iter_mut().map(ServedSink::new_losses).collect();
        if let Some(interval) = tracker.add(frame, course, &dropped) {
            self.offer(interval);
        }
        self.offer_spans(scenario);
    }

    /// Hands over the spans that came since the last call.
    fn offer_spans(&mut self, scenario: usize) {
        let Some(reader) = self.spans.get_mut(&scenario) else {
            return;
        };
        let new = reader.read();
        let batches: Vec<_> = new.batches.into_iter().map(Arc::new).collect();
        for queue in self.sinks.iter().filter_map(|sink| sink.spans.as_ref()) {
            queue.count_lost(new.lost, NO_ROOM);
            for batch in &batches {
                queue.offer_spans(batch);
            }
        }
    }

    /// Hands over the last spans.
    pub(super) fn end_spans(&mut self, scenario: usize) {
        self.offer_spans(scenario);
        self.spans.remove(&scenario);
    }

    pub(super) fn end(&mut self, scenario: usize) {
        self.offer_spans(scenario);
        let Some(mut tracker) = self.trackers.remove(&scenario) else {
            return;
        };
        if let Some(interval) = tracker.finish() {
            self.offer(interval);
        }
        for sink in &self.sinks {
            if let Receiver::Queue(queue) = &sink.receiver {
                queue.end(scenario);
            }
        }
    }

    fn offer(&mut self, interval: Interval) {
        let interval = Arc::new(interval);
        for sink in &self.sinks {
            match &sink.receiver {
                Receiver::Queue(queue) => queue.offer(&interval),
                Receiver::Page(page) => page.show(&interval),
            }
        }
    }

    pub(super) fn take_news(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for sink in &self.sinks {
            let name = sink.name.describe();
            if let Receiver::Queue(queue) = &sink.receiver {
                let news = queue.take_news().into_iter();
                lines.extend(news.map(|words| format!("{name}: {words}")));
            }
            if let Some(queue) = &sink.spans {
                let news = queue.take_news().into_iter();
                lines.extend(news.map(|words| format!("{name}: spans: {words}")));
            }
        }
        lines
    }
}

impl ServedSink {
    /// The label of the sink, and what it lost since the last call.
    fn new_losses(&mut self) -> (String, f64) {
        let dropped = match &self.receiver {
            Receiver::Queue(queue) => queue.counts().dropped,
            Receiver::Page(_) => 0,
        };
        let new = dropped - std::mem::replace(&mut self.counted_losses, dropped);
        let SinkName { number, format, .. } = self.name;
        (format!("{number} {format}"), new as f64)
    }

    fn is_over(&self, waited: Duration) -> bool {
        let has_sent = |queue: &Arc<SinkQueue>| queue.is_over() || waited >= WAIT;
        let has_spans_left = !self.spans.as_ref().is_none_or(has_sent);
        !has_spans_left && self.has_figures(waited)
    }

    fn has_figures(&self, waited: Duration) -> bool {
        match &self.receiver {
            Receiver::Queue(queue) => queue.is_over() || waited >= WAIT,
            Receiver::Page(page) => page.is_over(waited),
        }
    }

    fn outcome(&self, run: &str, is_replay: bool) -> (TelemetryDelivery, String) {
        let (counts, mut words) = match &self.receiver {
            Receiver::Queue(queue) => {
                let counts = queue.counts();
                let words = self.describe_counts(&counts, "interval", run, is_replay);
                (counts, words)
            }
            Receiver::Page(page) => page.outcome(),
        };
        let spans = self.spans.as_ref().map(|queue| queue.counts());
        let spans = spans.unwrap_or_default();
        if spans.offered > 0 {
            let more = self.describe_counts(&spans, "span", run, is_replay);
            words = format!("{words}; {more}");
        }
        words = format!("{}: {words}", self.name.describe());
        let delivery = TelemetryDelivery {
            number: u32::try_from(self.name.number).unwrap_or(u32::MAX),
            format: self.name.format.to_owned(),
            place: loadtest::redact::redact(&self.name.place),
            intervals: counts.offered,
            delivered: counts.delivered,
            spans: spans.offered,
            spans_delivered: spans.delivered,
            reason: (counts.reason)
                .filter(|_| counts.delivered < counts.offered)
                .or(spans.reason.filter(|_| spans.delivered < spans.offered))
                .map(|reason| Redacted::assume(console::clean(&reason))),
        };
        (delivery, words)
    }

    fn describe_counts(
        &self,
        counts: &DeliveryCounts,
        what: &str,
        run: &str,
        is_replay: bool,
    ) -> String {
        let offered = format_counted(counts.offered, what);
        let words = format!("{} of {offered} delivered", counts.delivered);
        let lost = counts.offered - counts.delivered.min(counts.offered);
        let reason = counts.reason.as_deref().unwrap_or(NO_ANSWER);
        let reason = console::clean(reason);
        match lost {
            0 => words,
            _ if counts.is_given_up => format!("{words}, given up: {reason}"),
            _ if is_replay => format!("{words}, {lost} dropped ({reason})"),
            _ => format!(
                "{words}, {lost} dropped ({reason}); `cargo loadtest send {run} {}` sends them again",
                self.name.flag()
            ),
        }
    }
}

impl Hub {
    /// Returns what takes the frames of scenarios that run at once, the first of which has this number in the run;
    /// `None` where there is no sink.
    pub(crate) fn feed(&self, first: usize) -> Option<IntervalFeed> {
        let is_used = !self.lock().sinks.is_empty();
        is_used.then(|| IntervalFeed {
            state: Arc::clone(&self.state),
            first,
            spans: Vec::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all sinks have what they get, for a few seconds at most and until the user asks to stop, and says
    /// what became of it.
    pub(crate) fn finish(self, quiet: bool, interrupts: &Interrupts) -> Vec<TelemetryDelivery> {
        let mut state = self.lock();
        for scenario in state.trackers.keys().copied().collect::<Vec<_>>() {
            state.end(scenario);
        }
        for sink in &state.sinks {
            if let Some(queue) = &sink.spans {
                queue.close();
            }
            match &sink.receiver {
                Receiver::Queue(queue) => queue.close(),
                Receiver::Page(page) => {
                    if let Some(words) = page.close().filter(|_| !quiet) {
                        console::print_progress(format!("{}: {words}", sink.name.describe()));
                    }
                }
            }
        }
        // What stopped a run does not end the waiting for its last figures.
        let asked = if self.is_replay {
            0
        } else {
            interrupts.count()
        };
        let is_stopped = self.wait(&state.sinks, || interrupts.count() > asked.min(ABORT - 1));
        let why = if is_stopped {
            "Ctrl-C ended the waiting"
        } else {
            NO_ANSWER
        };
        for sink in &state.sinks {
            if let Some(queue) = &sink.spans {
                queue.stop(why);
            }
            match &sink.receiver {
                Receiver::Queue(queue) => queue.stop(why),
                Receiver::Page(page) => page.stop(),
            }
        }
        for line in state.take_news() {
            console::print_warning(line);
        }
        print_left_out(&state.settings.budget);
        let mut deliveries = Vec::new();
        for sink in &state.sinks {
            let (delivery, words) = sink.outcome(&self.run, self.is_replay);
            if !delivery.is_complete() {
                console::print_warning(words);
            } else if !quiet {
                console::print_progress(words);
            }
            deliveries.push(delivery);
        }
        deliveries
    }

    /// Waits for all sinks; an earlier run waits for as long as they take. Returns true if `is_stopped` ended it.
    fn wait(&self, sinks: &[ServedSink], is_stopped: impl Fn() -> bool) -> bool {
        let begin = now();
        loop {
            let waited = if self.is_replay {
                Duration::ZERO
            } else {
                begin.elapsed()
            };
            if sinks.iter().all(|sink| sink.is_over(waited)) {
                return false;
            }
            if is_stopped() {
                return true;
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// Says how many series `max_series` had no room for.
fn print_left_out(budget: &SeriesBudget) {
    let left_out = budget.left_out();
    if left_out > 0 {
        console::print_warning(format!(
            "{left_out} series are left out of telemetry: `max_series` has no room for more"
        ));
    }
}
