//! The virtual user, as scenario code sees it.

use super::StepSender;
use super::beat::Beat;
use super::measure::{Measure, MeasuredOutput};
use super::stamp::Stamp;
use loadtest_model::random::{GOLDEN, mix_bits, unit_interval};
use loadtest_model::trace::{TraceId, TraceParent};
use std::borrow::Cow;
use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// A virtual user: its number, its current iteration, a source of random numbers that depends on
/// nothing but the seed, the scenario, the iteration and the step, and metrics of the scenario's own.
#[derive(Debug, Clone)]
pub struct Vu {
    id: u64,
    iteration: u64,
    turn: u64,
    seed: u64,
    state: u64,
    given: Vec<Given>,
    origin: Arc<str>,
    /// The trace of the iteration, and true if it is sampled; none where requests carry no trace.
    trace: Option<(TraceId, bool)>,
    /// The step that runs, by its zero-based number.
    step: Option<usize>,
    /// What measures the operations of an async step, while one runs.
    sender: Option<Measurer>,
}

/// The sender of the step that runs.
#[derive(Clone)]
struct Measurer(Rc<dyn StepSender>);

impl fmt::Debug for Measurer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Measurer")
    }
}

/// A count, a time or a number that the scenario's code recorded.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    pub(crate) name: Cow<'static, str>,
    pub(crate) figure: Figure,
    /// The time at which it was given.
    pub(crate) at: Instant,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Figure {
    Count(u64),
    Time(Duration),
    /// A finite number.
    Gauge(f64),
}

impl Vu {
    /// A virtual user that has not begun an iteration; `seed` is that of run and scenario.
    #[doc(hidden)]
    pub fn new(id: u64, seed: u64) -> Self {
        Self {
            id,
            iteration: 0,
            turn: 0,
            seed,
            state: 0,
            given: Vec::new(),
            origin: Arc::default(),
            trace: None,
            step: None,
            sender: None,
        }
    }

    /// The number of the user, counted from zero.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The number of the current iteration, counted from zero: over all users where a load fixes the
    /// iterations (a rate, a number of iterations), over this user's own where it fixes the users.
    pub fn iteration(&self) -> u64 {
        // Loads of users number their iterations `user << 32 | count`.
        self.iteration & u64::from(u32::MAX)
    }

    /// A number drawn evenly from `0.0..1.0`.
    ///
    /// The same seed gives the same numbers in the same step of the same iteration.
    pub fn random(&mut self) -> f64 {
        unit_interval(self.bits())
    }

    /// A whole number drawn evenly from `range`, such as `1..=6`. From the same source as
    /// [`random`](Self::random).
    ///
    /// # Panics
    /// The range is empty.
    pub fn random_range(&mut self, range: impl RangeBounds<u64>) -> u64 {
        let first = match range.start_bound() {
            Bound::Included(first) => Some(*first),
            Bound::Excluded(before) => before.checked_add(1),
            Bound::Unbounded => Some(0),
        };
        let last = match range.end_bound() {
            Bound::Included(last) => Some(*last),
            Bound::Excluded(end) => end.checked_sub(1),
            Bound::Unbounded => Some(u64::MAX),
        };
        let width = first
            .zip(last)
            .and_then(|(first, last)| Some((first, last.checked_sub(first)?)));
        let Some((first, width)) = width else {
            panic!("there is no number in this range");
        };
        // the upper half of the product: `bits / 2^64` of the numbers there are
        let numbers = u128::from(width) + 1;
        first + ((u128::from(self.bits()) * numbers) >> 64) as u64
    }

    /// Chooses one of `items` with equal probability; `None` if there are none. Uses the same source as
    /// [`random`](Self::random).
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let last = (items.len() as u64).checked_sub(1)?;
        items.get(self.random_range(0..=last) as usize)
    }

    /// Chooses one of `items`, each as often as its share of all weights; `None` if there are none, or all weights are 0.
    /// Uses the same source as [`random`](Self::random).
    ///
    /// ```
    /// use loadtest::prelude::*;
    ///
    /// const SIZES: [(&str, f64); 3] = [("S", 1.0), ("M", 3.5), ("L", 2.0)];
    ///
    /// #[scenario(base = "http://127.0.0.1:3000")]
    /// fn shop() {
    ///     #[step(expect = 201)]
    ///     fn order(vu: &mut Vu) -> Option<Request> {
    ///         let (size, _) = vu.choose_weighted(&SIZES, |(_, weight)| *weight)?;
    ///         Some(Request::post("/orders").json(&json!({ "size": size })))
    ///     }
    /// }
    /// ```
    ///
    /// # Panics
    /// A weight is negative, infinite or not a number.
    #[track_caller]
    pub fn choose_weighted<'a, T>(
        &mut self,
        items: &'a [T],
        weight: impl Fn(&T) -> f64,
    ) -> Option<&'a T> {
        let mut total = 0.0;
        let mut ends = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let weight = weight(item);
            assert!(
                weight.is_finite() && weight >= 0.0,
                "the weight of item {at} is {weight}: a weight is a finite number, 0 or more"
            );
            total += weight;
            ends.push(total);
        }
        let drawn = self.random() * total;
        // The product may be rounded up to the total, which no end exceeds.
        let chosen = ends.partition_point(|end| *end <= drawn && *end < total);
        items.get(chosen).filter(|_| total > 0.0)
    }

    /// A random UUID (version 4) as text. From the same source as [`random`](Self::random), so that
    /// two runs with the same seed send the same ones.
    pub fn uuid(&mut self) -> String {
        let (high, low) = (self.bits(), self.bits());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xfff,
            low >> 48 & 0x3fff | 0x8000,
            low & 0xffff_ffff_ffff,
        )
    }

    /// The time as RFC 3339 writes it, in UTC and to the millisecond.
    pub fn now(&self) -> String {
        now()
    }

    /// A short text that is the same in all steps of an iteration, and that no other iteration has: ten lower-case
    /// letters and digits, for names that must be new. Two runs with the same seed have the same ones.
    pub fn unique(&self) -> String {
        let mut bits = mix_bits(mix_bits(self.seed) ^ mix_bits(self.iteration ^ GOLDEN));
        let letters = std::iter::repeat_with(|| {
            let letter = b"0123456789abcdefghijklmnopqrstuvwxyz"[(bits % 36) as usize];
            bits /= 36;
            char::from(letter)
        });
        letters.take(10).collect()
    }

    /// Begins a beat: ticks at equal distances, the first one now. What an `async` step begins at a tick that is overdue,
    /// since answers before came late, counts from the tick.
    ///
    /// ```
    /// use loadtest::prelude::*;
    /// use std::time::Duration;
    ///
    /// #[scenario(base = "http://127.0.0.1:3000", load = users(50, for = 1m))]
    /// fn devices() {
    ///     #[step(ws = "/telemetry")]
    ///     fn socket() -> Socket<Value>;
    ///
    ///     #[step(apdex = 5s, row("report").p99 < 50ms)]
    ///     async fn reports(socket: &Socket<Value>, vu: &mut Vu) -> Result<(), Error> {
    ///         let mut beat = vu.beat(Duration::from_millis(100));
    ///         while let Some(number @ 0..100) = beat.next().await {
    ///             socket.ask(&json!({ "report": number })).name("report").await?;
    ///         }
    ///         Ok(())
    ///     }
    /// }
    /// ```
    pub fn beat(&self, interval: Duration) -> Beat {
        Beat::begin(interval)
    }

    /// This instant as a text: sent through the target, it times the way to another user. See [`Stamp`].
    pub fn stamp(&self) -> Stamp {
        Stamp::now()
    }

    /// Scheme, host and port of the base URL, as browsers send them in `origin`: `http://127.0.0.1:3000`. Empty without
    /// a base URL.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The value of a W3C `traceparent` header for clients of the scenario's own, such as the header of a message or
    /// the comment of a query: the span of the step that runs. `None` unless the run has `[traces]`.
    ///
    /// Requests carry one without it.
    pub fn traceparent(&self) -> Option<String> {
        let (trace, is_sampled) = self.trace?;
        let span = self
            .step
            .map_or_else(|| trace.journey(), |step| trace.step(step));
        let parent = TraceParent {
            trace,
            span,
            is_sampled,
        };
        Some(parent.to_string())
    }

    /// Adds `number` to the counter `name` of the scenario, which the report shows with its rate.
    ///
    /// ```
    /// use loadtest::prelude::*;
    ///
    /// #[scenario(base = "http://127.0.0.1:3000")]
    /// fn orders() {
    ///     #[step(post = "/orders", json = { "product": 7 }, expect = 201 | 409)]
    ///     fn buy();
    ///
    ///     #[check]
    ///     fn sold(buy: &Response, vu: &mut Vu) -> bool {
    ///         vu.count("sold_out", u64::from(buy.status() == 409));
    ///         true
    ///     }
    /// }
    /// ```
    ///
    /// Adding 0 says that nothing happened: without it the counter has no value, and a threshold on the counter does not
    /// hold.
    ///
    /// A scenario has at most 64 names of counters and [`time`](Self::time)s; further ones are counted
    /// together. A name is a kind of thing, such as `sold_out`: it holds no id.
    pub fn count(&mut self, name: impl Into<Cow<'static, str>>, number: u64) {
        self.give(name.into(), Figure::Count(number));
    }

    /// Records a duration under `name`, of which the report shows count, percentiles and maximum.
    ///
    /// ```
    /// use loadtest::prelude::*;
    /// use std::time::Duration;
    ///
    /// #[response]
    /// struct Found { took_ms: u64 }
    ///
    /// #[scenario(base = "http://127.0.0.1:3000")]
    /// fn search() {
    ///     #[step(get = "/search?q=teapot")]
    ///     fn find() -> Found;
    ///
    ///     #[check]
    ///     fn took(find: &Found, vu: &mut Vu) -> bool {
    ///         vu.time("took", Duration::from_millis(find.took_ms));
    ///         true
    ///     }
    /// }
    /// ```
    ///
    /// Durations are recorded from one microsecond to one hour. For the names see [`count`](Self::count).
    pub fn time(&mut self, name: impl Into<Cow<'static, str>>, duration: Duration) {
        self.give(name.into(), Figure::Time(duration));
    }

    /// Sets the gauge `name` of the scenario to `number`. The report shows the last number, the smallest and the largest
    /// one, and the mean.
    ///
    /// ```
    /// use loadtest::prelude::*;
    ///
    /// #[response]
    /// struct Status { queue: u32 }
    ///
    /// #[scenario(base = "http://127.0.0.1:3000", thresholds(gauge(queue).max < 100))]
    /// fn orders() {
    ///     #[step(get = "/status")]
    ///     fn status() -> Status;
    ///
    ///     #[check]
    ///     fn queue(status: &Status, vu: &mut Vu) -> bool {
    ///         vu.gauge("queue", status.queue);
    ///         true
    ///     }
    /// }
    /// ```
    ///
    /// Write `as f64` behind a `u64`, an `i64` or a `usize`. For the names see [`count`](Self::count).
    ///
    /// # Panics
    /// The number is infinite or not a number. The step fails, and the report names the place.
    #[track_caller]
    pub fn gauge(&mut self, name: impl Into<Cow<'static, str>>, number: impl Into<f64>) {
        let (name, number) = (name.into(), number.into());
        assert!(
            number.is_finite(),
            "the gauge `{name}` was set to {number}: a gauge takes finite numbers only"
        );
        self.give(name, Figure::Gauge(number));
    }

    /// Measures an operation of any client, such as a query: how long it takes, from when it is first polled to its end,
    /// and whether it fails. It counts in the row `name` of its step, and the step is graded by what it measures.
    ///
    /// The operation has the `timeout` of the step, and fails with `timeout.total` then. For `async` steps; see
    /// [`Measure`] for more.
    ///
    /// ```
    /// use loadtest::prelude::*;
    /// # struct Queue;
    /// # impl Queue { async fn publish(&self, _: &str) -> Result<u64, std::io::Error> { Ok(7) } }
    ///
    /// #[scenario]
    /// fn orders() {
    ///     #[state]
    ///     fn queue() -> Queue { Queue }
    ///
    ///     #[step(p99 < 100ms)]
    ///     async fn publish(queue: &Queue, vu: &mut Vu) -> Result<u64, Error> {
    ///         let order = vu.uuid();
    ///         Ok(vu.measure("publish", queue.publish(&order)).await?)
    ///     }
    /// }
    /// ```
    pub fn measure<'a, F: Future<Output: MeasuredOutput> + 'a>(
        &'a self,
        name: impl Into<Cow<'static, str>>,
        operation: F,
    ) -> Measure<'a, F> {
        let sender = self.sender.as_ref().map(|sender| &*sender.0);
        Measure::new(sender, name.into(), operation)
    }

    /// Takes what measures the operations of the step that runs now.
    pub(crate) fn set_sender(&mut self, sender: Option<Rc<dyn StepSender>>) {
        self.sender = sender.map(Measurer);
    }

    /// Takes the origin of a base URL.
    pub(crate) fn set_base(&mut self, base: &str) {
        let host = base.find("://").map_or(0, |at| at + 3);
        let end = base[host..].find('/').map_or(base.len(), |at| host + at);
        self.origin = Arc::from(&base[..end]);
    }

    fn give(&mut self, name: Cow<'static, str>, figure: Figure) {
        let at = Instant::now();
        self.given.push(Given { name, figure, at });
    }

    /// Returns the counts, times and numbers recorded since the last call.
    pub(crate) fn given(&mut self) -> &mut Vec<Given> {
        &mut self.given
    }

    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix_bits(self.state)
    }

    /// The place of the current iteration among those of all users, from which the rows of feeds
    /// follow: its number, or, where a load fixes the users, `own number x users + user`.
    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    /// Moves to `iteration`, which has this `turn`.
    pub(crate) fn begin(&mut self, iteration: u64, turn: u64) {
        self.iteration = iteration;
        self.turn = turn;
    }

    /// Takes the trace of the current iteration.
    pub(crate) fn set_trace(&mut self, trace: Option<(TraceId, bool)>) {
        self.trace = trace;
    }

    /// Makes [`random`](Self::random) the source of `purpose` in `step` of the current iteration.
    pub(crate) fn reseed(&mut self, step: usize, purpose: Purpose) {
        if let Purpose::Scenario = purpose {
            self.step = (step != usize::MAX).then_some(step);
        }
        let place = (step as u64) << 8 | purpose as u64;
        self.state = mix_bits(mix_bits(self.seed ^ mix_bits(self.iteration)) ^ place);
    }
}

/// The time, as RFC 3339 writes it, in UTC: the value of `{{vu.now}}`.
pub fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// The seconds since 1970: the value of `{{vu.now.unix}}`.
pub fn unix_seconds() -> u64 {
    unix_millis() / 1_000
}

/// The milliseconds since 1970: the value of `{{vu.now.unix_ms}}`.
pub fn unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_millis() as u64
}

/// The purpose of a random number. Each has a sequence of its own, so that drawing one number more does not
/// change the others.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    Weight,
    Think,
    Scenario,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_a_range_and_every_item_comes_and_no_other() {
        let mut vu = Vu::new(0, 7);
        let (mut numbers, mut items) = ([0; 7], [0; 3]);
        for _ in 0..700 {
            numbers[vu.random_range(1..=6) as usize] += 1;
            items[*vu.choose(&[0, 1, 2]).unwrap()] += 1;
        }
        assert_eq!(numbers[0], 0);
        assert!(numbers[1..].iter().all(|&count| count > 80), "{numbers:?}");
        assert!(items.iter().all(|&count| count > 180), "{items:?}");
        assert_eq!(vu.random_range(5..6), 5);
        assert_eq!(vu.random_range(u64::MAX..), u64::MAX);
        assert_eq!(vu.choose::<u8>(&[]), None);
    }

    #[test]
    fn weights_say_how_often_each_item_is_chosen() {
        let mut vu = Vu::new(0, 7);
        let weights = [0.0, 3.0, 0.0, 1.0, 0.0];
        let mut chosen = [0_u32; 5];
        for _ in 0..4_000 {
            let item = vu.choose_weighted(&[0, 1, 2, 3, 4], |item| weights[*item]);
            chosen[*item.unwrap()] += 1;
        }
        assert_eq!([chosen[0], chosen[2], chosen[4]], [0; 3]);
        assert!(chosen[1].abs_diff(3_000) < 100, "{chosen:?}");
        assert_eq!(vu.choose_weighted(&[1, 2], |_| 0.0), None);
        assert_eq!(vu.choose_weighted(&[] as &[u8], |_| 1.0), None);
    }

    #[test]
    #[should_panic(expected = "the weight of item 1 is -1: a weight is a finite number, 0 or more")]
    fn no_weight_is_negative() {
        Vu::new(0, 7).choose_weighted(&[1.0, -1.0], |weight| *weight);
    }

    #[test]
    #[should_panic(expected = "no number in this range")]
    fn there_is_no_number_in_an_empty_range() {
        Vu::new(0, 7).random_range(3..3);
    }

    #[test]
    fn a_gauge_refuses_what_is_no_finite_number_and_names_it() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let refused = std::panic::catch_unwind(|| Vu::new(0, 7).gauge("queue", number));
            let message = *refused.unwrap_err().downcast::<String>().unwrap();
            let wanted =
                format!("the gauge `queue` was set to {number}: a gauge takes finite numbers only");
            assert_eq!(message, wanted);
        }
    }

    #[test]
    fn a_unique_text_is_that_of_its_iteration() {
        let unique = |seed, iteration| {
            let mut vu = Vu::new(0, seed);
            vu.begin(iteration, 0);
            let before = vu.unique();
            vu.reseed(3, Purpose::Scenario);
            vu.random();
            assert_eq!(vu.unique(), before);
            before
        };
        let mut all: Vec<_> = (0..1000).map(|iteration| unique(7, iteration)).collect();
        all.extend((0..1000).map(|user| unique(8, user << 32)));
        let is_plain = |text: &String| {
            let mut letters = text.bytes();
            text.len() == 10
                && letters.all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
        };
        assert!(all.iter().all(is_plain), "{all:?}");
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 2000);
    }

    #[test]
    fn the_origin_is_that_of_the_base_url() {
        let mut vu = Vu::new(0, 7);
        assert_eq!(vu.origin(), "");
        vu.set_base("http://127.0.0.1:3000/api/v1");
        assert_eq!(vu.origin(), "http://127.0.0.1:3000");
        vu.set_base("https://shop.example");
        assert_eq!(vu.origin(), "https://shop.example");
    }

    #[test]
    fn a_uuid_has_version_and_variant_in_their_places() {
        let mut vu = Vu::new(0, 7);
        let (one, other) = (vu.uuid(), vu.uuid());
        assert_ne!(one, other);
        let parts: Vec<&str> = one.split('-').collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{one}");
        assert!(
            parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']),
            "{one}"
        );
    }
}
