//! Deliveries under way, a thread each: the run goes on meanwhile.

use crate::post::{
    ATTEMPT, ATTEMPTS, PostRequest, Undelivered, build_agent, pause_after, random_share,
    send_request,
};
use loadtest_console::interrupt::Interrupts;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// After how long no further one begins.
const ALL: Duration = Duration::from_secs(30);
/// The interval of looking for Ctrl-C.
const LOOK: Duration = Duration::from_millis(20);

/// Deliveries, in the order they were begun.
pub(super) struct Outbox {
    deliveries: Vec<Delivery>,
    sender: Sender<(usize, News)>,
    receiver: Receiver<(usize, News)>,
    /// The user ended the waiting.
    stopped: bool,
}

/// The state of a delivery.
#[derive(Debug, Default)]
struct Delivery {
    attempts: u32,
    /// The error of the last attempt.
    why: Option<String>,
    /// Nothing more will come.
    over: bool,
    delivered: bool,
}

/// The report of a thread after each attempt.
#[derive(Debug)]
struct News {
    /// The error of the attempt, where it failed.
    why: Option<String>,
    over: bool,
}

impl Outbox {
    pub(super) fn new() -> Self {
        let (sender, receiver) = channel();
        Self {
            deliveries: Vec::new(),
            sender,
            receiver,
            stopped: false,
        }
    }

    /// Begins a delivery; its number counts from 0.
    pub(super) fn post(&mut self, request: PostRequest) {
        let number = self.deliveries.len();
        let sender = self.sender.clone();
        let deliver = move || {
            deliver_in_attempts(&request, |news| {
                // Nobody listens any more once the program ends.
                let _ = sender.send((number, news));
            });
        };
        let mut delivery = Delivery::default();
        let thread = thread::Builder::new().name("notify".to_owned());
        if let Err(error) = thread.spawn(deliver) {
            delivery.why = Some(format!("no thread could be started: {error}"));
            delivery.over = true;
        }
        self.deliveries.push(delivery);
    }

    /// Waits until nothing is under way: for `limit` at most, and until the user asks to stop.
    pub(super) fn wait(&mut self, limit: Duration, interrupts: &Interrupts) {
        let (begin, asked) = (now(), interrupts.count());
        while self.deliveries.iter().any(|delivery| !delivery.over) {
            let left = limit.saturating_sub(begin.elapsed());
            self.stopped = interrupts.count() > asked;
            if left.is_zero() || self.stopped {
                break;
            }
            match self.receiver.recv_timeout(left.min(LOOK)) {
                Ok((number, news)) => self.deliveries[number].learn(news),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    }

    /// Returns the number of each message that was not delivered, the reason as far as it is known,
    /// and the attempts.
    pub(super) fn undelivered(&self) -> impl Iterator<Item = (usize, String, u32)> {
        let all = self.deliveries.iter().enumerate();
        all.filter(|(_, delivery)| !delivery.delivered)
            .map(|(number, delivery)| (number, delivery.words(self.stopped), delivery.attempts))
    }
}

impl Delivery {
    fn learn(&mut self, news: News) {
        self.attempts += 1;
        self.delivered = news.why.is_none();
        self.over = news.over;
        self.why = news.why;
    }

    fn words(&self, stopped: bool) -> String {
        let mut words = self.why.clone().unwrap_or("no answer yet".to_owned());
        if stopped && !self.over {
            words.push_str(" when Ctrl-C ended the waiting");
        }
        words
    }
}

/// Tries until the receiver has it, or refuses it, or for long enough.
fn deliver_in_attempts(request: &PostRequest, tell: impl Fn(News)) {
    let begin = now();
    for attempt in 1.. {
        let limit = ATTEMPT.min(ALL.saturating_sub(begin.elapsed()));
        let agent = build_agent(&request.url, limit);
        let (why, pause) = match send_request(&agent, request) {
            Ok(_) => (None, None),
            Err(Undelivered::Refused(why)) => (Some(why), None),
            Err(Undelivered::Failed { why, after }) => {
                let pause = pause_before(attempt, after, begin.elapsed(), random_share());
                (Some(why), pause)
            }
        };
        let over = pause.is_none();
        tell(News { why, over });
        match pause {
            Some(pause) => thread::sleep(pause),
            None => return,
        }
    }
}

/// Returns the pause after a failed attempt, the first of which is 1; `None` when there is no
/// further one.
fn pause_before(
    attempt: u32,
    asked: Option<Duration>,
    elapsed: Duration,
    random: f64,
) -> Option<Duration> {
    let pause = pause_after(attempt, asked, random);
    let is_time = elapsed.checked_add(pause).is_some_and(|then| then < ALL);
    (attempt < ATTEMPTS && is_time).then_some(pause)
}

#[expect(
    clippy::disallowed_methods,
    reason = "other machines are waited for here; nothing is measured, and no test pauses it"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::post::PAUSE;
    use proptest::prelude::*;

    const NOTHING: Duration = Duration::ZERO;

    #[test]
    fn pauses_double_and_there_are_as_many_as_attempts_but_one() {
        let longest =
            |attempt| pause_before(attempt, None, NOTHING, 1.0).map(|pause| pause.as_millis());
        assert_eq!(
            [1, 2, 3, 4, 5, 99].map(longest),
            [Some(500), Some(1_000), Some(2_000), Some(4_000), None, None]
        );
        let least = pause_before(3, None, NOTHING, 0.0).unwrap();
        assert_eq!(least, Duration::from_secs(1));
    }

    #[test]
    fn a_receiver_that_names_a_time_is_not_asked_before_it_nor_waited_for_too_long() {
        let asked = |seconds| pause_before(1, Some(Duration::from_secs(seconds)), NOTHING, 0.5);
        assert_eq!(asked(3), Some(Duration::from_secs(3)));
        assert!(asked(0).unwrap() >= PAUSE / 2);
        assert_eq!(asked(30), None);
        assert_eq!(asked(u64::MAX), None);
    }

    #[test]
    fn a_delivery_says_what_is_known_of_it() {
        let mut delivery = Delivery::default();
        assert_eq!(delivery.words(false), "no answer yet");
        for _ in 0..2 {
            delivery.learn(News {
                why: Some("503 Service Unavailable".to_owned()),
                over: false,
            });
        }
        assert_eq!(delivery.words(false), "503 Service Unavailable");
        assert_eq!(delivery.attempts, 2);
        let stopped = "503 Service Unavailable when Ctrl-C ended the waiting";
        assert_eq!(delivery.words(true), stopped);
        assert!(!delivery.over && !delivery.delivered);
        delivery.learn(News {
            why: None,
            over: true,
        });
        assert!(delivery.over && delivery.delivered);
    }

    proptest! {
        #[test]
        fn all_attempts_begin_in_time(
            attempt in 1..9_u32, asked in proptest::option::of(0..99_u64), elapsed in 0..60_000_u64, random in 0.0..=1.0,
        ) {
            let (asked, elapsed) = (asked.map(Duration::from_secs), Duration::from_millis(elapsed));
            if let Some(pause) = pause_before(attempt, asked, elapsed, random) {
                prop_assert!(elapsed + pause < ALL);
                prop_assert!(pause >= asked.unwrap_or(PAUSE / 2));
            }
        }
    }
}
