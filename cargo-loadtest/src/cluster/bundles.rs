//! Signed bundles on their way from a controller to agents, in pieces that the server keeps for an hour.

use super::connection::make_stream;
use super::messages::{AgentInfo, Answer, Question, agent_subject, decode};
use super::signature::{BundleKey, SignedBundle};
use async_nats::jetstream::stream::{Config as StreamConfig, StorageType};
use async_nats::{Client, Request, RequestErrorKind, StatusCode};
use futures_util::{StreamExt as _, future, stream};
use jiff::Timestamp;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::files;
use loadtest_console::interrupt::Interrupts;
use loadtest_model::display::{format_bytes, format_span};
use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// The name of the stream.
const STREAM: &str = "loadtest-bundles";
/// The subjects of all pieces.
const ALL_PIECES: &str = "lt.bundles.*.*";
/// Pieces are kept for so long.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);
/// A bundle that is there for so long is sent again, so that it does not go while agents take it.
const OLD: Duration = Duration::from_secs(30 * 60);
/// The most bytes that the stream keeps; the oldest pieces go first.
const MAX_BYTES: i64 = 1 << 30;
/// The bytes of a piece, except the last one.
const PIECE: u64 = 128 * 1024;
/// The pieces under way at once.
const AT_ONCE: usize = 4;
/// The time for one piece on a slow link, and how often it is asked for.
const PIECE_LIMIT: Duration = Duration::from_secs(30);
const TRIES: u32 = 3;
/// The time for an agent to get a bundle.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(15 * 60);
/// The time for an agent to have its scenarios.
const TAKE_LIMIT: Duration = Duration::from_secs(17 * 60);
/// The interval between two questions to an agent.
const POLL: Duration = Duration::from_millis(200);

/// A bundle that a controller sends to its agents.
#[derive(Debug)]
pub(crate) struct SentBundle {
    path: PathBuf,
    pub(super) signed: SignedBundle,
    pub(super) key: BundleKey,
}

/// The answer of an agent that a bundle is offered to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offered {
    Taken,
    Fetching,
    /// It does something else.
    Busy,
}

fn piece_subject(sha256: &str, at: u64) -> String {
    format!("lt.bundles.{sha256}.{at}")
}

impl SignedBundle {
    fn pieces(&self) -> u64 {
        self.bytes.div_ceil(PIECE)
    }

    fn piece_length(&self, at: u64) -> u64 {
        PIECE.min(self.bytes - at * PIECE)
    }
}

impl SentBundle {
    /// Signs the bundle at `path` with the key in a file.
    ///
    /// # Errors
    /// When a file cannot be read, or the bundle is too large.
    pub(crate) fn sign(path: &Path, key: &Path) -> Result<Self, Error> {
        let (signed, key) = SignedBundle::sign(path, key)?;
        Ok(Self {
            path: path.to_path_buf(),
            signed,
            key,
        })
    }

    /// Returns true if an agent takes it.
    pub(super) fn is_for(&self, agent: &AgentInfo) -> bool {
        agent.accepts.as_deref() == Some(self.key.as_str())
    }

    /// Sends it to those agents that take it, and waits until they have it.
    ///
    /// # Errors
    /// When the server does not keep it, or an agent does not take it.
    pub(super) async fn send(
        &self,
        client: &Client,
        agents: &[AgentInfo],
        interrupts: &Interrupts,
    ) -> Result<(), Error> {
        let mut waiting: Vec<&AgentInfo> =
            agents.iter().filter(|agent| self.is_for(agent)).collect();
        if waiting.is_empty() {
            return Ok(());
        }
        self.store(client, interrupts).await?;
        let begin = Instant::now();
        loop {
            let answers = waiting.iter().map(|agent| self.offer(client, agent));
            let answers = future::try_join_all(answers).await?;
            let mut answers = answers.into_iter();
            // One that is busy is replaced when the parts are given.
            waiting.retain(|_| answers.next() == Some(Offered::Fetching));
            let Some(slow) = waiting.first() else {
                return Ok(());
            };
            interrupts.check()?;
            if begin.elapsed() > TAKE_LIMIT {
                return Err(Error::failure(format!(
                    "agent {} did not get the bundle in {}",
                    slow.agent,
                    format_span(TAKE_LIMIT)
                )));
            }
            sleep(POLL).await;
        }
    }

    /// Offers it to an agent, which begins to fetch it.
    ///
    /// # Errors
    /// When the agent does not answer, or refuses it.
    pub(super) async fn offer(&self, client: &Client, agent: &AgentInfo) -> Result<Offered, Error> {
        let failed = |reason: String| {
            Error::failure(format!(
                "agent {} refuses the bundle: {reason}",
                agent.agent
            ))
        };
        let question = serde_json::to_vec(&Question::Take(self.signed.clone()));
        let question = question.map_err(Error::encode("a bundle"))?;
        let answer = client.request(agent_subject(&agent.agent), question.into());
        let answer = answer.await.map_err(|error| failed(error.to_string()))?;
        match decode(&answer.payload).map_err(failed)? {
            Answer::Accepted => Ok(Offered::Taken),
            Answer::Fetching => Ok(Offered::Fetching),
            Answer::Busy => Ok(Offered::Busy),
            Answer::Refused { message } => Err(failed(console::clean(&message))),
            Answer::Clock { .. } => Err(failed("it answered something else".to_owned())),
        }
    }

    /// Lets the server keep it, unless it does.
    async fn store(&self, client: &Client, interrupts: &Interrupts) -> Result<(), Error> {
        let config = StreamConfig {
            name: STREAM.to_owned(),
            subjects: vec![ALL_PIECES.to_owned()],
            storage: StorageType::File,
            max_age: MAX_AGE,
            max_bytes: MAX_BYTES,
            max_messages_per_subject: 1,
            allow_direct: true,
            ..StreamConfig::default()
        };
        make_stream(client, config).await?;
        if self.is_kept(client).await {
            return Ok(());
        }
        let signed = &self.signed;
        console::print_status(
            "Sending",
            format_args!("the bundle to agents ({})", format_bytes(signed.bytes)),
        );
        let failed =
            |reason: String| Error::failure(format!("the server refuses the bundle: {reason}"));
        let mut context = async_nats::jetstream::new(client.clone());
        context.set_timeout(PIECE_LIMIT);
        let mut file = files::open(&self.path).map_err(Error::io("read", &self.path))?;
        let mut under_way = VecDeque::new();
        for at in 0..signed.pieces() {
            interrupts.check()?;
            let mut piece = Vec::new();
            let read = (&mut file).take(PIECE).read_to_end(&mut piece);
            read.map_err(Error::io("read", &self.path))?;
            let sent = context.publish(piece_subject(&signed.sha256, at), piece.into());
            under_way.push_back(sent.await.map_err(|error| failed(error.to_string()))?);
            if under_way.len() >= AT_ONCE
                && let Some(first) = under_way.pop_front()
            {
                first.await.map_err(|error| failed(error.to_string()))?;
            }
        }
        for sent in under_way {
            sent.await.map_err(|error| failed(error.to_string()))?;
        }
        Ok(())
    }

    /// Returns true if the server has the first piece and the last, and keeps them for long enough.
    async fn is_kept(&self, client: &Client) -> bool {
        let ends = [0, self.signed.pieces() - 1];
        let ends = ends.map(|at| ask_for_piece(client, &self.signed.sha256, at));
        let Ok(ends) = future::try_join_all(ends).await else {
            return false;
        };
        ends.iter().all(|piece| {
            let headers = piece.headers.as_ref();
            let at = headers.and_then(|headers| headers.get("Nats-Time-Stamp"));
            let at = at.and_then(|at| at.as_str().parse::<Timestamp>().ok());
            at.is_some_and(|at| Timestamp::now().duration_since(at).unsigned_abs() < OLD)
        })
    }
}

/// Asks the server for a piece; needs no more than the permission to ask for pieces.
async fn ask_for_piece(
    client: &Client,
    sha256: &str,
    at: u64,
) -> Result<async_nats::Message, Error> {
    let subject = format!("$JS.API.DIRECT.GET.{STREAM}.{}", piece_subject(sha256, at));
    let mut tries = 0;
    loop {
        tries += 1;
        let request = Request::new()
            .payload(Vec::new().into())
            .timeout(Some(PIECE_LIMIT));
        let failed = match client.send_request(subject.clone(), request).await {
            Ok(piece) if piece.status.is_none_or(|status| status == StatusCode::OK) => {
                return Ok(piece);
            }
            Ok(_) => "the server no longer has it".to_owned(),
            Err(error) if error.kind() == RequestErrorKind::NoResponders => {
                "the server keeps no bundles".to_owned()
            }
            Err(_) if tries < TRIES => continue,
            Err(error) => error.to_string(),
        };
        return Err(Error::failure(format!(
            "the bundle did not arrive: {failed}"
        )));
    }
}

/// Writes a bundle to a new file at `path`, and not a byte more than it has.
///
/// # Errors
/// When it does not come in time, or its pieces have other sizes.
pub(super) async fn download(
    client: &Client,
    bundle: &SignedBundle,
    path: &Path,
) -> Result<(), Error> {
    let written = || Error::io("write", path);
    let mut file = std::fs::File::create_new(path).map_err(written())?;
    let pieces = stream::iter(0..bundle.pieces())
        .map(|at| async move { (at, ask_for_piece(client, &bundle.sha256, at).await) });
    let mut pieces = pieces.buffered(AT_ONCE);
    let all = async {
        while let Some((at, piece)) = pieces.next().await {
            let piece = piece?.payload;
            if piece.len() as u64 != bundle.piece_length(at) {
                return Err(Error::failure(
                    "the bundle that the server keeps is not as long as the one that was signed",
                ));
            }
            file.write_all(&piece).map_err(written())?;
        }
        Ok(())
    };
    let done = timeout(DOWNLOAD_LIMIT, all).await;
    done.map_err(|_| {
        let limit = format_span(DOWNLOAD_LIMIT);
        Error::failure(format!("the bundle did not arrive within {limit}"))
    })?
}
