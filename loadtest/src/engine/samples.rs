//! Raw samples on their way to a file: each worker fills blocks, one thread writes them. A worker waits for nothing;
//! where it has no block, samples are lost and counted.

use loadtest_model::metrics::{Phases, Traffic, micros};
use loadtest_model::samples::{
    LostSamples, SAMPLE_BYTES, Sample, SampleEntry, SamplesAccount, SamplesHeader, SamplesRequest,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use tokio::time::Instant;

/// The samples of a block, few enough that a block stays in the processor's cache until it is written.
const BLOCK_SAMPLES: usize = 2_048;
/// The bytes after which a block is handed over, which a name or a gap may exceed.
const BLOCK_BYTES: usize = BLOCK_SAMPLES * SAMPLE_BYTES;
/// The blocks of a worker.
const BLOCKS: usize = 16;
/// The most names of requests of a worker; further ones have none.
const MAX_NAMES: usize = 10_000;
/// Samples end with a file of this size.
const MAX_FILE_BYTES: u64 = 2 << 30;

/// A file that samples are written to, by a thread of its own.
#[derive(Debug)]
pub(crate) struct SamplesFile {
    request: SamplesRequest,
    sender: Sender<Message>,
    thread: JoinHandle<SamplesAccount>,
}

enum Message {
    /// Entries: so many samples, and so many that were lost before them; and the place for the block when it is empty
    /// again.
    Block {
        bytes: Vec<u8>,
        samples: u64,
        lost: u64,
        empty: Sender<Vec<u8>>,
    },
    /// No more come.
    End,
}

impl SamplesFile {
    /// Begins the file.
    ///
    /// # Errors
    /// When it cannot be written, or there is no thread.
    pub(crate) fn create(request: &SamplesRequest, header: &SamplesHeader) -> io::Result<Self> {
        let mut first = serde_json::to_vec(header)?;
        first.push(b'\n');
        let mut file = File::create(&request.path)?;
        file.write_all(&first)?;
        let (sender, receiver) = channel();
        let thread = thread::Builder::new().name("loadtest-samples".to_owned());
        Ok(Self {
            request: request.clone(),
            sender,
            thread: thread.spawn(move || write_blocks(&mut file, &receiver))?,
        })
    }

    /// Returns the buffer of a worker, for a load that begins at `start` with the seed of run and scenario.
    pub(crate) fn buffer(&self, worker: u32, start: Instant, seed: u64) -> SampleBuffer {
        let (empty, returned) = channel();
        SampleBuffer {
            request: self.request.clone(),
            seed,
            start,
            filling: RefCell::new(Filling {
                worker,
                block: Vec::new(),
                samples: 0,
                made: 0,
                lost: None,
                lost_before: 0,
                names: HashMap::new(),
                sender: self.sender.clone(),
                empty,
                returned,
            }),
        }
    }

    /// Ends the file, and returns what became of the samples.
    pub(crate) fn end(self) -> SamplesAccount {
        // A worker that is stuck in a step keeps its end of the channel.
        let _ = self.sender.send(Message::End);
        self.thread.join().unwrap_or_default()
    }
}

/// Writes blocks until there are no more. What cannot be written is counted.
fn write_blocks(file: &mut File, receiver: &Receiver<Message>) -> SamplesAccount {
    let mut account = SamplesAccount::default();
    let mut room = MAX_FILE_BYTES;
    while let Ok(message) = receiver.recv() {
        match message {
            Message::Block {
                mut bytes,
                samples,
                lost,
                empty,
            } => {
                account.lost += lost;
                let length = bytes.len() as u64;
                if account.ended.is_none() && length > room {
                    account.ended = Some("the file holds 2 GiB".into());
                }
                if account.ended.is_none()
                    && let Err(error) = file.write_all(&bytes)
                {
                    account.ended = Some(crate::redact::redact(&error.to_string()));
                }
                if account.ended.is_none() {
                    room -= length;
                    account.written += samples;
                } else {
                    account.lost += samples;
                }
                bytes.clear();
                // Who ended needs it no more.
                let _ = empty.send(bytes);
            }
            Message::End => break,
        }
    }
    account
}

/// The samples of one worker.
#[derive(Debug)]
pub(crate) struct SampleBuffer {
    request: SamplesRequest,
    seed: u64,
    start: Instant,
    filling: RefCell<Filling>,
}

/// The block that is being filled.
#[derive(Debug)]
struct Filling {
    worker: u32,
    block: Vec<u8>,
    /// The samples in it.
    samples: u64,
    /// The blocks that were made.
    made: usize,
    /// Samples for which there is no block.
    lost: Option<LostSamples>,
    /// Lost samples that the block tells.
    lost_before: u64,
    names: HashMap<String, u32>,
    sender: Sender<Message>,
    /// The way of empty blocks, and its end.
    empty: Sender<Vec<u8>>,
    returned: Receiver<Vec<u8>>,
}

/// The bytes and the wait for the answers of what a sample is about.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SampledTraffic {
    pub(crate) sent: u32,
    pub(crate) received: u32,
    pub(crate) first_byte_us: Option<u32>,
}

impl SampleBuffer {
    /// Returns true if the journey with this number leaves samples.
    pub(crate) fn keeps(&self, iteration: u64) -> bool {
        self.request.keeps(self.seed, iteration)
    }

    /// Returns a time in microseconds after the start of the load.
    pub(crate) fn micros_at(&self, time: Instant) -> u64 {
        micros(time.saturating_duration_since(self.start))
    }

    /// Adds a sample, of requests with `name` if it has one.
    #[inline]
    pub(crate) fn add(&self, mut sample: Sample, name: Option<&str>) {
        let filling = &mut *self.filling.borrow_mut();
        if !filling.has_room() {
            filling.lose(sample.begun_us);
            return;
        }
        if let Some(name) = name {
            sample.name = filling.name_number(name);
        }
        filling.block.extend_from_slice(&sample.to_bytes());
        filling.samples += 1;
    }

    /// Hands over what there is, if another block is left to go on with.
    pub(crate) fn flush(&self) {
        let filling = &mut *self.filling.borrow_mut();
        if filling.samples > 0 {
            filling.replace_block();
        }
    }
}

impl Drop for SampleBuffer {
    fn drop(&mut self) {
        let filling = self.filling.get_mut();
        if let Some(lost) = filling.lost.take() {
            SampleEntry::Lost(lost).write(&mut filling.block);
            filling.lost_before += lost.count;
        }
        filling.send(Vec::new());
    }
}

impl Filling {
    /// Returns true if a sample finds a place.
    fn has_room(&mut self) -> bool {
        let has_room = |block: &Vec<u8>| block.capacity() > 0 && block.len() < BLOCK_BYTES;
        if !has_room(&self.block) {
            self.replace_block();
        }
        has_room(&self.block)
    }

    /// Sends the block on, if there is another one, which then begins with what was lost.
    fn replace_block(&mut self) {
        let next = self.returned.try_recv().ok().or_else(|| {
            (self.made < BLOCKS).then(|| {
                self.made += 1;
                // Room for a name or a gap after the last sample.
                Vec::with_capacity(BLOCK_BYTES + SAMPLE_BYTES)
            })
        });
        let Some(next) = next else {
            return;
        };
        self.send(next);
        if let Some(lost) = self.lost.take() {
            SampleEntry::Lost(lost).write(&mut self.block);
            self.lost_before = lost.count;
        }
    }

    fn send(&mut self, next: Vec<u8>) {
        let bytes = std::mem::replace(&mut self.block, next);
        if bytes.is_empty() {
            return;
        }
        let message = Message::Block {
            bytes,
            samples: std::mem::take(&mut self.samples),
            lost: std::mem::take(&mut self.lost_before),
            empty: self.empty.clone(),
        };
        // Whoever writes them stops after all workers.
        let _ = self.sender.send(message);
    }

    fn lose(&mut self, at_us: u64) {
        let lost = self.lost.get_or_insert(LostSamples {
            from_us: at_us,
            to_us: at_us,
            count: 0,
        });
        lost.from_us = lost.from_us.min(at_us);
        lost.to_us = lost.to_us.max(at_us);
        lost.count += 1;
    }

    /// Returns the number of a name, which differs from those of other workers; a new one is written.
    fn name_number(&mut self, name: &str) -> Option<u32> {
        if let Some(number) = self.names.get(name) {
            return Some(*number);
        }
        if self.names.len() >= MAX_NAMES {
            return None;
        }
        let number = self.worker * MAX_NAMES as u32 + self.names.len() as u32;
        self.names.insert(name.to_owned(), number);
        let name = name.to_owned();
        SampleEntry::Name { number, name }.write(&mut self.block);
        Some(number)
    }
}

impl SampledTraffic {
    pub(crate) fn new(traffic: Traffic, phases: &Phases) -> Self {
        Self {
            sent: clamp(traffic.sent_bytes),
            received: clamp(traffic.received_bytes),
            first_byte_us: phases.first_byte.map(|time| clamp(micros(time))),
        }
    }

    /// Adds those of another exchange.
    pub(crate) fn add(&mut self, other: Self) {
        self.sent = self.sent.saturating_add(other.sent);
        self.received = self.received.saturating_add(other.received);
        if let Some(more) = other.first_byte_us {
            let sum = self.first_byte_us.get_or_insert(0);
            *sum = sum.saturating_add(more);
        }
    }
}

fn clamp(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::samples::SampleKind;
    use loadtest_model::schedule::Window;

    fn sample(iteration: u64) -> Sample {
        Sample {
            kind: SampleKind::Journey,
            window: Window::Steady,
            step: None,
            name: None,
            user: 3,
            iteration: Some(iteration),
            begun_us: iteration,
            start_delay_us: 0,
            service_us: Some(7),
            first_byte_us: None,
            status: None,
            is_ok: true,
            error: None,
            sent: 0,
            received: 0,
        }
    }

    fn buffer(sender: &Sender<Message>) -> SampleBuffer {
        let file = SamplesFile {
            request: SamplesRequest {
                path: "samples".into(),
                share: 1.0,
            },
            sender: sender.clone(),
            thread: thread::spawn(SamplesAccount::default),
        };
        file.buffer(1, Instant::now(), 7)
    }

    fn read_all(bytes: &[u8]) -> Vec<SampleEntry> {
        let mut reader = bytes;
        std::iter::from_fn(|| SampleEntry::read(&mut reader).unwrap()).collect()
    }

    #[test]
    fn a_worker_without_a_block_loses_samples_and_tells_how_many() {
        let (sender, receiver) = channel();
        let buffer = buffer(&sender);
        let room = (BLOCKS * BLOCK_SAMPLES) as u64;
        for iteration in 0..room + 100 {
            buffer.add(sample(iteration), None);
        }
        let mut written = 0;
        let mut give_back = |message| {
            let Message::Block {
                mut bytes,
                samples,
                lost,
                empty,
            } = message
            else {
                panic!("a block");
            };
            let entries = read_all(&bytes);
            let count = |entry: &&SampleEntry| matches!(entry, SampleEntry::Sample(_));
            assert_eq!(entries.iter().filter(count).count() as u64, samples);
            written += samples;
            bytes.clear();
            // At the end nobody takes it.
            let _ = empty.send(bytes);
            (entries, lost)
        };
        while let Ok(message) = receiver.try_recv() {
            let (_, lost) = give_back(message);
            assert_eq!(lost, 0);
        }
        buffer.add(sample(room + 100), None);
        buffer.flush();
        drop(buffer);
        let mut gaps = Vec::new();
        let mut lost_in_all = 0;
        while let Ok(message) = receiver.try_recv() {
            let (entries, lost) = give_back(message);
            lost_in_all += lost;
            gaps.extend(entries.into_iter().filter_map(|entry| match entry {
                SampleEntry::Lost(lost) => Some(lost),
                _ => None,
            }));
        }
        let gap = LostSamples {
            from_us: room,
            to_us: room + 99,
            count: 100,
        };
        assert_eq!(gaps, [gap]);
        assert_eq!(lost_in_all, 100);
        assert_eq!(written, room + 1);
    }

    #[test]
    fn a_name_is_written_once_before_its_samples() {
        let (sender, receiver) = channel();
        let buffer = buffer(&sender);
        for name in ["GET /a", "GET /b", "GET /a"] {
            buffer.add(sample(0), Some(name));
        }
        drop(buffer);
        let Ok(Message::Block { bytes, .. }) = receiver.recv() else {
            panic!("a block");
        };
        let told = read_all(&bytes).into_iter().map(|entry| match entry {
            SampleEntry::Name { number, name } => format!("{number} is {name}"),
            SampleEntry::Sample(sample) => format!("{:?}", sample.name),
            SampleEntry::Lost(_) => "lost".to_owned(),
        });
        let expected = [
            "10000 is GET /a",
            "Some(10000)",
            "10001 is GET /b",
            "Some(10001)",
            "Some(10000)",
        ];
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_disk_that_is_full_ends_the_samples_and_not_the_load() {
        let mut full = File::options().write(true).open("/dev/full").unwrap();
        let (sender, receiver) = channel();
        let buffer = buffer(&sender);
        for iteration in 0..10 {
            buffer.add(sample(iteration), None);
        }
        buffer.flush();
        buffer.add(sample(10), None);
        drop(buffer);
        sender.send(Message::End).unwrap();
        let account = write_blocks(&mut full, &receiver);
        assert_eq!((account.written, account.lost), (0, 11));
        let reason = account.ended.expect("a reason").to_string();
        assert!(reason.contains("No space left"), "{reason}");
    }
}
