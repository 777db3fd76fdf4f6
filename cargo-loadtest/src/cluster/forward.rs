//! The way of an agent's files to the controller: from the disk, so that the load never waits for the network.

use super::messages::{AgentEnd, ParcelHead, encode_parcel, parcel_subject};
use async_nats::HeaderMap;
use async_nats::jetstream::Context;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::cell::RefCell;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// The most bytes of a parcel; a server takes 1 MB.
const CHUNK: u64 = 256 * 1024;
/// The interval between two looks at the files.
const POLL: Duration = Duration::from_millis(50);
/// An agent says at least so often that it is there.
const WORD: Duration = Duration::from_secs(1);
/// A parcel that the server did not take in this time is sent again.
const ACK_LIMIT: Duration = Duration::from_secs(1);
/// What the controller does not have so long after the server took it is sent again.
const RESEND_AFTER: Duration = Duration::from_secs(3);

/// The part of an agent in a run, as far as its files travel.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    /// Set once the child has ended.
    pub(super) end: Option<AgentEnd>,
    /// How much of each file the controller has.
    pub(super) received: Vec<u64>,
    /// True once the server has all of them, and the end.
    pub(super) is_sent: bool,
}

/// Files on their way.
pub(super) struct Forwarder {
    pub(super) context: Context,
    pub(super) run: String,
    pub(super) place: usize,
    pub(super) agent: String,
    /// All files of the part.
    pub(super) files: Vec<PathBuf>,
    pub(super) delivery: Rc<RefCell<Delivery>>,
}

/// A file on its way.
struct OutgoingFile {
    file: Option<File>,
    /// The bytes that the server took.
    sent: u64,
    /// The time since which the controller lacks some of them, and how many it has.
    lacking: Option<(Instant, u64)>,
}

impl Forwarder {
    /// Sends what the files hold, until it is dropped.
    pub(super) async fn forward(self) {
        let mut sources: Vec<OutgoingFile> = self
            .files
            .iter()
            .map(|_| OutgoingFile {
                file: None,
                sent: 0,
                lacking: None,
            })
            .collect();
        let (mut number, mut last_word) = (0_u64, None::<Instant>);
        loop {
            let lengths = self
                .delivery
                .borrow()
                .end
                .as_ref()
                .map(|end| end.lengths.clone());
            let mut has_sent = false;
            for (file, source) in sources.iter_mut().enumerate() {
                self.rewind(file, source);
                let bytes = read_chunk(source, &self.files[file]);
                if bytes.is_empty() {
                    continue;
                }
                let length = bytes.len() as u64;
                self.send(&mut number, file, source.sent, &bytes).await;
                source.sent += length;
                has_sent = true;
            }
            let is_due = last_word.is_none_or(|last| last.elapsed() >= WORD);
            if has_sent {
                last_word = Some(Instant::now());
            } else if is_due {
                let sent = sources.first().map_or(0, |source| source.sent);
                self.send(&mut number, 0, sent, &[]).await;
                last_word = Some(Instant::now());
            } else {
                sleep(POLL).await;
                continue;
            }
            // What was sent told the end, if there was one by then.
            let is_whole = |lengths: Vec<u64>| {
                let mut files = sources.iter().zip(lengths);
                files.all(|(source, length)| source.sent >= length)
            };
            self.delivery.borrow_mut().is_sent = lengths.is_some_and(is_whole);
        }
    }

    /// Goes back to what the controller has, if the rest got lost.
    fn rewind(&self, file: usize, source: &mut OutgoingFile) {
        let received = self.delivery.borrow().received.get(file).copied();
        let Some(received) = received.filter(|received| *received < source.sent) else {
            source.lacking = None;
            return;
        };
        match source.lacking {
            Some((since, known)) if known == received => {
                if since.elapsed() >= RESEND_AFTER {
                    source.sent = received;
                    source.lacking = None;
                }
            }
            _ => source.lacking = Some((Instant::now(), received)),
        }
    }

    /// Sends a parcel, again and again until the server has it.
    async fn send(&self, number: &mut u64, file: usize, offset: u64, bytes: &[u8]) {
        *number += 1;
        let identifier = format!("{}.{}.{}.{number}", self.run, self.place, self.agent);
        // The answer to the first may come after the second was sent.
        let mut answers = FuturesUnordered::new();
        loop {
            let head = ParcelHead {
                agent: self.agent.clone(),
                file,
                offset,
                end: self.delivery.borrow().end.clone(),
            };
            let Ok(parcel) = encode_parcel(&head, bytes) else {
                return;
            };
            let mut headers = HeaderMap::new();
            headers.insert("Nats-Msg-Id", identifier.as_str());
            let subject = parcel_subject(&self.run, self.place);
            let sent = self
                .context
                .publish_with_headers(subject, headers, parcel.into());
            answers.push(async { sent.await?.await });
            match timeout(ACK_LIMIT, answers.next()).await {
                Ok(Some(Ok(_))) => return,
                Ok(_) => sleep(POLL).await,
                Err(_) => {}
            }
        }
    }
}

/// Reads what follows in a file; nothing where there is none yet.
fn read_chunk(source: &mut OutgoingFile, path: &Path) -> Vec<u8> {
    if source.file.is_none() {
        source.file = File::open(path).ok();
    }
    let mut bytes = Vec::new();
    if let Some(file) = &mut source.file
        && file.seek(SeekFrom::Start(source.sent)).is_ok()
    {
        // What cannot be read now is read in the next round.
        let _ = file.take(CHUNK).read_to_end(&mut bytes);
    }
    bytes
}
