//! Queues: what is delivered, what is lost, and what ends a sink.

use super::{frame, intervals, settings};
use crate::access::AccessHeaders;
use crate::session::sample;
use crate::telemetry::interval::Interval;
use crate::telemetry::queue::{DeliveryCounts, SinkQueue};
use crate::telemetry::sink::{Sent, Sink};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A sink that answers as it is told to, and keeps what it took.
struct ScriptedSink {
    answers: Receiver<Sent>,
    taken: Arc<Mutex<Vec<String>>>,
}

impl Sink for ScriptedSink {
    fn send(&mut self, interval: &Interval) -> Sent {
        let sent = self.answers.recv().unwrap_or(Sent::Delivered);
        self.taken
            .lock()
            .unwrap()
            .push(format!("{}", interval.second));
        sent
    }

    fn end(&mut self, last: &Interval) -> Sent {
        self.taken
            .lock()
            .unwrap()
            .push(format!("end {}", last.second));
        Sent::Delivered
    }
}

/// A queue and the script of its sink, which is not served yet.
struct Scene {
    queue: Arc<SinkQueue>,
    answers: Option<Sender<Sent>>,
    sink: ScriptedSink,
}

impl Scene {
    fn new(every: u32) -> Self {
        let (answers, receiver) = channel();
        let mut headers = AccessHeaders::default();
        headers.add_secret(
            "authorization",
            "canary-token",
            "Bearer canary-token".to_owned(),
        );
        Self {
            queue: Arc::new(SinkQueue::new(every, headers, None)),
            answers: Some(answers),
            sink: ScriptedSink {
                answers: receiver,
                taken: Arc::default(),
            },
        }
    }

    fn answer(&self, sent: Sent) {
        self.answers.as_ref().unwrap().send(sent).unwrap();
    }

    fn offer(&self, seconds: std::ops::Range<u32>) {
        let frames: Vec<_> = seconds.map(frame).collect();
        for interval in intervals(sample::start(), &settings(true, 10_000), &frames) {
            self.queue.offer(&Arc::new(interval));
        }
    }

    /// Serves what there is; what is beyond the script is delivered.
    fn serve(mut self) -> (DeliveryCounts, Vec<String>, Vec<String>) {
        self.queue.close();
        drop(self.answers.take());
        let (queue, sink) = (Arc::clone(&self.queue), self.sink);
        let taken = Arc::clone(&sink.taken);
        thread::spawn(move || queue.serve(Box::new(sink)))
            .join()
            .unwrap();
        let taken = taken.lock().unwrap().clone();
        (self.queue.counts(), self.queue.take_news(), taken)
    }
}

#[test]
fn the_oldest_interval_gives_way_and_is_counted() {
    let scene = Scene::new(1);
    scene.offer(0..70);
    let (counts, news, taken) = scene.serve();
    assert_eq!(
        (counts.offered, counts.delivered, counts.dropped),
        (70, 64, 6)
    );
    assert_eq!(
        counts.reason.as_deref(),
        Some("the sink is slower than the run")
    );
    assert_eq!((taken[0].as_str(), taken.len()), ("6", 64));
    assert!(news.is_empty());
}

#[test]
fn a_longer_interval_takes_every_fifth_second_and_the_last_one() {
    let scene = Scene::new(5);
    scene.offer(0..13);
    scene.queue.end(0);
    let (counts, _, taken) = scene.serve();
    assert_eq!(taken, ["4", "9", "12", "end 12"]);
    assert_eq!((counts.offered, counts.delivered), (3, 3));
}

#[test]
fn a_failed_attempt_is_repeated_and_costs_nothing() {
    let scene = Scene::new(1);
    scene.offer(0..2);
    let failed = Sent::Failed {
        why: "503 Service Unavailable".to_owned(),
        after: Some(Duration::ZERO),
    };
    scene.answer(failed);
    let (counts, _, taken) = scene.serve();
    assert_eq!(taken, ["0", "0", "1"]);
    assert_eq!((counts.delivered, counts.dropped), (2, 0));
}

#[test]
fn a_refusal_ends_the_sink_and_is_told_without_its_secret() {
    let scene = Scene::new(1);
    scene.offer(0..5);
    scene.answer(Sent::Delivered);
    scene.answer(Sent::Refused(
        "401 Unauthorized: no canary-token".to_owned(),
    ));
    let queue = Arc::clone(&scene.queue);
    let (counts, news, taken) = scene.serve();
    assert_eq!(taken, ["0", "1"]);
    assert_eq!((counts.offered, counts.delivered), (5, 1));
    assert!(counts.is_given_up);
    assert_eq!(news, ["given up: 401 Unauthorized: no ***"]);
    // What comes afterwards is counted, and costs nothing.
    for interval in intervals(sample::start(), &settings(true, 10_000), &[frame(9)]) {
        queue.offer(&Arc::new(interval));
    }
    assert_eq!((queue.counts().offered, queue.counts().delivered), (6, 1));
}

#[test]
fn an_interval_that_is_not_taken_is_told_once_and_the_others_go_on() {
    let scene = Scene::new(1);
    scene.offer(0..4);
    for _ in 0..2 {
        scene.answer(Sent::Rejected("400 Bad Request: out of order".to_owned()));
    }
    scene.answer(Sent::Partly("3 points refused: too many".to_owned()));
    let (counts, news, _) = scene.serve();
    assert_eq!((counts.delivered, counts.dropped), (2, 2));
    assert_eq!(
        news,
        ["second 0 is refused, others may follow: 400 Bad Request: out of order"]
    );
}
