//! The file of spans: written by a thread of its own, so that no worker waits for a disk.

use crate::secrets;
use loadtest_model::metrics::micros;
use loadtest_model::protocol::{SpanLine, TracedJourney};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// The most journeys that wait to be written.
const MOST_WAITING: usize = 1_024;
/// The most spans that are written in a second.
const MOST_PER_SECOND: u64 = 2_000;
/// The most bytes of the file.
const MOST_BYTES: u64 = 64 << 20;
/// The interval of looking for the end of the load.
const POLL: Duration = Duration::from_millis(20);

/// The way of spans to their file. It never blocks: what there is no room for is counted.
#[derive(Debug, Clone)]
pub(crate) struct SpanOutlet {
    sender: SyncSender<TracedJourney>,
    lost: Arc<AtomicU64>,
}

impl SpanOutlet {
    /// Hands over the spans of a journey, all or none.
    pub(super) fn offer(&self, journey: TracedJourney) {
        let spans = journey.spans();
        if self.sender.try_send(journey).is_err() {
            self.lost.fetch_add(spans, Relaxed);
        }
    }
}

/// The thread that writes the file.
#[derive(Debug)]
pub(crate) struct SpanWriter {
    outlet: SpanOutlet,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl SpanWriter {
    /// Creates the file of a load that begins at `start`.
    ///
    /// # Errors
    /// When the system gives no file or no thread.
    pub(crate) fn start(path: &Path, start: Instant) -> io::Result<Self> {
        let mut file = SpanFile::new(File::create(path)?);
        file.write_line(&SpanLine::Start {
            unix_us: unix_micros(start),
        });
        let (sender, receiver) = sync_channel(MOST_WAITING);
        let lost = Arc::<AtomicU64>::default();
        let is_over = Arc::<AtomicBool>::default();
        let (uncounted, over) = (Arc::clone(&lost), Arc::clone(&is_over));
        let thread = thread::Builder::new().name("loadtest-spans".to_owned());
        let thread = thread.spawn(move || file.serve(&receiver, &uncounted, &over))?;
        Ok(Self {
            outlet: SpanOutlet { sender, lost },
            is_over,
            thread,
        })
    }

    /// Returns the way to it.
    pub(crate) fn outlet(&self) -> SpanOutlet {
        self.outlet.clone()
    }

    /// Waits until everything is written that was handed over. A worker that is stuck is not waited for.
    pub(crate) fn finish(self) {
        self.is_over.store(true, Relaxed);
        drop(self.outlet);
        // A thread that panicked has written what it could.
        let _ = self.thread.join();
    }
}

struct SpanFile {
    file: File,
    /// The second that the last spans were written in, and how many these are.
    second: u64,
    spans: u64,
    bytes: u64,
    lost: u64,
    /// The disk took no more.
    is_full: bool,
}

impl SpanFile {
    fn new(file: File) -> Self {
        Self {
            file,
            second: 0,
            spans: 0,
            bytes: 0,
            lost: 0,
            is_full: false,
        }
    }

    fn serve(
        mut self,
        receiver: &Receiver<TracedJourney>,
        uncounted: &AtomicU64,
        is_over: &AtomicBool,
    ) {
        let begin = Instant::now();
        loop {
            match receiver.recv_timeout(POLL) {
                Ok(journey) => {
                    self.lost += uncounted.swap(0, Relaxed);
                    self.add(journey, begin.elapsed().as_secs());
                }
                Err(RecvTimeoutError::Timeout) if is_over.load(Relaxed) => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.lost += uncounted.swap(0, Relaxed);
        self.write_lost();
    }

    fn add(&mut self, journey: TracedJourney, second: u64) {
        let spans = journey.spans();
        if second != self.second {
            (self.second, self.spans) = (second, 0);
        }
        if self.spans + spans > MOST_PER_SECOND || self.bytes >= MOST_BYTES || self.is_full {
            self.lost += spans;
            return;
        }
        self.spans += spans;
        self.write_lost();
        self.write_line(&SpanLine::Journey(Box::new(journey)));
        if self.is_full {
            self.lost += spans;
        }
    }

    fn write_lost(&mut self) {
        let spans = std::mem::take(&mut self.lost);
        if spans > 0 {
            self.write_line(&SpanLine::Lost { spans });
        }
    }

    fn write_line(&mut self, line: &SpanLine) {
        let Ok(bytes) = serde_json::to_vec(line) else {
            return;
        };
        let mut bytes = secrets::scrub_json(bytes);
        bytes.push(b'\n');
        self.bytes += bytes.len() as u64;
        self.is_full |= self.file.write_all(&bytes).is_err();
    }
}

/// Returns the time of day at `instant`, in microseconds after 1970.
pub(crate) fn unix_micros(instant: Instant) -> u64 {
    let (now, today) = (Instant::now(), SystemTime::now());
    let since_1970 = today.duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = since_1970 + instant.saturating_duration_since(now);
    micros(time.saturating_sub(now.saturating_duration_since(instant)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::protocol::{TracedOutcome, TracedRoot, TracedStep};
    use loadtest_model::trace::RunIds;

    /// A journey of ten spans.
    fn journey(iteration: u64) -> TracedJourney {
        let step = |step| TracedStep {
            step,
            begin_us: 0,
            end_us: 1,
            error: None,
            requests: Vec::new(),
        };
        TracedJourney {
            trace_id: RunIds::new("run", "shop::visit", 7).trace(iteration),
            iteration,
            root: Some(TracedRoot {
                begin_us: 0,
                end_us: 1,
                delay_us: 0,
                outcome: TracedOutcome::Ok,
            }),
            steps: (0..9).map(step).collect(),
        }
    }

    /// Returns the numbers of the journeys in a file, and the spans that it says are lost.
    fn read(path: &Path) -> (Vec<u64>, u64) {
        let text = std::fs::read_to_string(path).unwrap();
        let (mut journeys, mut lost) = (Vec::new(), 0);
        for line in text.lines() {
            match serde_json::from_str(line).unwrap() {
                SpanLine::Journey(journey) => journeys.push(journey.iteration),
                SpanLine::Lost { spans } => lost += spans,
                SpanLine::Start { .. } => {}
            }
        }
        (journeys, lost)
    }

    #[test]
    fn a_second_has_so_many_spans_of_whole_journeys_and_the_rest_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spans");
        let mut file = SpanFile::new(File::create(&path).unwrap());
        let most = MOST_PER_SECOND / 10;
        for iteration in 0..most + 3 {
            file.add(journey(iteration), 0);
        }
        file.add(journey(most + 3), 1);
        let expected: Vec<u64> = (0..most).chain([most + 3]).collect();
        assert_eq!(read(&path), (expected, 30));
    }

    #[test]
    fn a_file_that_is_full_takes_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spans");
        let mut file = SpanFile::new(File::create(&path).unwrap());
        file.bytes = MOST_BYTES - 1;
        file.add(journey(0), 0);
        file.add(journey(1), 0);
        file.write_lost();
        assert_eq!(read(&path), (vec![0], 10));
    }
}
