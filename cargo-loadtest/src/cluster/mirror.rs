//! The files of one agent, as far as they have come.

use super::messages::{AgentEnd, AgentInfo, FileKind, ParcelHead, decode, list_files};
use crate::journal::Tail;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_model::protocol::{JournalLine, SpanLine};
use serde::de::IgnoredAny;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use tokio::time::Instant;

/// The most bytes of a line: that of a second of a scenario with a thousand steps is far below.
const MAX_LINE: usize = 16 << 20;
/// The most bytes of a journal: a day of a large scenario.
const MAX_JOURNAL: u64 = 32 << 30;
/// The most bytes of a record: 600 cells of a scenario with a thousand steps.
const MAX_RECORD: u64 = 256 << 20;
/// The most bytes of spans: an agent writes no more once it has 64 MiB.
const MAX_SPANS: u64 = (64 << 20) + MAX_LINE as u64;

/// One agent of a run.
#[derive(Debug)]
pub(super) struct Mirror {
    pub(super) info: AgentInfo,
    files: Vec<MirroredFile>,
    scenarios: usize,
    /// How its part ended, once that is known.
    pub(super) end: Option<AgentEnd>,
    /// The time of its last parcel.
    pub(super) last_word: Instant,
    /// The reason why it is not waited for.
    pub(super) lost: Option<String>,
    /// True if it told what cannot be, so that nothing of it counts.
    pub(super) is_distrusted: bool,
}

#[derive(Debug)]
struct MirroredFile {
    kind: FileKind,
    path: PathBuf,
    /// Open once something of it comes.
    file: Option<File>,
    length: u64,
    /// Bytes since the last end of a line.
    line: usize,
    /// The lines that are read as they come; a record is read at the end.
    tail: Tail<IgnoredAny>,
}

impl MirroredFile {
    fn create(kind: FileKind, path: PathBuf) -> Result<Self, Error> {
        File::create(&path).map_err(Error::io("write", &path))?;
        Ok(Self {
            kind,
            file: None,
            length: 0,
            line: 0,
            tail: Tail::new(&path),
            path,
        })
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::options().append(true).open(&self.path)?),
        };
        file.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Returns why it cannot have these bytes at its end, so that it is `length` long.
    fn find_excess(&mut self, new: &[u8], length: u64) -> Option<&'static str> {
        let (most, excess) = match self.kind {
            FileKind::Journal => (MAX_JOURNAL, "sends more than a journal can hold"),
            FileKind::Record => (MAX_RECORD, "sends more than a record can hold"),
            FileKind::Spans => (MAX_SPANS, "sends more spans than an agent keeps"),
        };
        if length > most {
            return Some(excess);
        }
        if self.kind == FileKind::Record {
            return None;
        }
        for part in new.split_inclusive(|byte| *byte == b'\n') {
            self.line += part.len();
            if self.line > MAX_LINE {
                return Some("sends a line that no journal has");
            }
            if part.ends_with(b"\n") {
                self.line = 0;
            }
        }
        None
    }
}

impl Mirror {
    /// Prepares empty files for so many scenarios in `folder`; `number` is that of the agent.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub(super) fn create(
        info: AgentInfo,
        folder: &Path,
        number: usize,
        scenarios: usize,
    ) -> Result<Self, Error> {
        let files = list_files(scenarios).map(|(kind, scenario)| {
            let what = match kind {
                FileKind::Journal => "journal",
                FileKind::Record => "record",
                FileKind::Spans => "spans",
            };
            let path = folder.join(format!("agent-{number}-{what}-{scenario}"));
            MirroredFile::create(kind, path)
        });
        Ok(Self {
            files: files.collect::<Result<_, _>>()?,
            scenarios,
            info,
            end: None,
            last_word: Instant::now(),
            lost: None,
            is_distrusted: false,
        })
    }

    /// Adds a parcel. One that was there before adds nothing; one that does not follow is asked for again. The inner error
    /// says why it cannot be of this agent.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn add(
        &mut self,
        head: ParcelHead,
        bytes: &[u8],
    ) -> Result<Result<(), &'static str>, Error> {
        let files = self.files.len();
        let Some(file) = self.files.get_mut(head.file) else {
            return Ok(Err("reports a scenario that does not run"));
        };
        if let Some(end) = &head.end
            && end.lengths.len() != files
        {
            return Ok(Err("reports the end of other scenarios"));
        }
        let end_of_parcel = head.offset.saturating_add(bytes.len() as u64);
        if head.offset <= file.length && end_of_parcel > file.length {
            let known = usize::try_from(file.length - head.offset).unwrap_or(usize::MAX);
            let new = bytes.get(known..).unwrap_or_default();
            if let Some(excess) = file.find_excess(new, end_of_parcel) {
                return Ok(Err(excess));
            }
            let written = file.append(new);
            written.map_err(Error::io("write", &file.path))?;
        }
        if head.end.is_some() {
            self.end = head.end;
        }
        Ok(Ok(()))
    }

    /// Returns lines of a journal that are new, each or what is wrong with it; `None` if there are no more.
    pub(super) fn next_lines(
        &mut self,
        scenario: usize,
    ) -> Option<impl Iterator<Item = Result<JournalLine, String>> + use<>> {
        parse_lines(self.files[scenario].tail.read_lines(), |line| {
            let read = JournalLine::from_json(line);
            read.map_err(|wrong| format!("a line of its journal cannot be read: {wrong}"))
        })
    }

    /// Returns the same of its spans.
    pub(super) fn next_spans(
        &mut self,
        scenario: usize,
    ) -> Option<impl Iterator<Item = Result<SpanLine, String>> + use<>> {
        let file = &mut self.files[2 * self.scenarios + scenario];
        if file.length == 0 {
            return None;
        }
        parse_lines(file.tail.read_lines(), |line| {
            decode(line).map_err(|wrong| format!("a line of its spans cannot be read: {wrong}"))
        })
    }

    /// Describes the end of a load test whose journal does not end.
    pub(super) fn describe_early_end(&self) -> String {
        let mut words = format!("the load test of agent {} ended too early", self.info.agent);
        if let Some(end) = &self.end {
            let error = end.output.iter().rfind(|line| line.contains("error"));
            for part in [Some(&end.status), error].into_iter().flatten() {
                words.push_str(": ");
                words.push_str(&console::clean(part));
            }
        }
        words
    }

    /// Returns how many bytes of each file are here.
    pub(super) fn received(&self) -> Vec<u64> {
        self.files.iter().map(|file| file.length).collect()
    }

    /// Returns true once the part has ended and all of its files are here.
    pub(super) fn is_complete(&self) -> bool {
        self.has_first_files(self.files.len())
    }

    /// Returns true once the part has ended and all that it measured is here; spans may be missing.
    pub(super) fn has_figures(&self) -> bool {
        self.has_first_files(2 * self.scenarios)
    }

    fn has_first_files(&self, count: usize) -> bool {
        let is_here = |(file, length): (&MirroredFile, &u64)| file.length == *length;
        (self.end.as_ref())
            .is_some_and(|end| self.files.iter().zip(&end.lengths).take(count).all(is_here))
    }

    /// Removes the files, which the record of the run has taken the place of.
    pub(super) fn remove_files(&self) {
        for file in &self.files {
            // One that stays does no harm.
            let _ = std::fs::remove_file(&file.path);
        }
    }

    /// Returns the path of the journal of a scenario.
    pub(super) fn journal(&self, scenario: usize) -> &Path {
        &self.files[scenario].path
    }

    /// Returns the path of the record of a scenario, which its process wrote at the end; `None` if there is none, or not
    /// all of it.
    pub(super) fn record(&self, scenario: usize) -> Option<&Path> {
        let file = &self.files[self.scenarios + scenario];
        (self.has_figures() && file.length > 0).then_some(&*file.path)
    }
}

/// Returns what the lines hold, each or what is wrong with it; `None` if there are none.
fn parse_lines<L>(
    lines: impl Iterator<Item = Vec<u8>>,
    parse: impl Fn(&[u8]) -> Result<L, String>,
) -> Option<impl Iterator<Item = Result<L, String>>> {
    let mut lines = lines.peekable();
    lines.peek()?;
    Some(lines.map(move |line| parse(&line)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::messages::PROTOCOL;
    use loadtest_model::record::Environment;
    use std::collections::BTreeMap;

    fn mirror(folder: &Path) -> Mirror {
        let info = AgentInfo {
            agent: "a-1".to_owned(),
            protocol: PROTOCOL,
            tool_version: String::new(),
            host: String::new(),
            environment: Environment::default(),
            weight: 1,
            scenarios: BTreeMap::new(),
            bundle: None,
            accepts: None,
            run: None,
        };
        Mirror::create(info, folder, 1, 1).unwrap()
    }

    fn head(offset: u64) -> ParcelHead {
        ParcelHead {
            agent: "a-1".to_owned(),
            file: 0,
            offset,
            end: None,
        }
    }

    #[tokio::test]
    async fn parcels_that_come_twice_overlap_or_are_missing_leave_the_journal_exact() {
        let folder = tempfile::tempdir().unwrap();
        let mut mirror = mirror(folder.path());
        let text = b"\"ready\"\n{\"garbage\n\"ready\"\n";
        for (from, to) in [(0, 5), (0, 5), (9, 12), (3, 9), (5, 20), (20, 26), (0, 26)] {
            mirror
                .add(head(from as u64), &text[from..to])
                .unwrap()
                .unwrap();
        }
        assert_eq!(mirror.received(), [26, 0, 0]);
        assert_eq!(std::fs::read(mirror.journal(0)).unwrap(), text);
        let lines = mirror.next_lines(0).into_iter().flatten();
        let readable: Vec<bool> = lines.map(|line| line.is_ok()).collect();
        assert_eq!(readable, [true, false, true]);
        let end = |lengths| ParcelHead {
            end: Some(AgentEnd {
                lengths,
                status: "exit code 0".to_owned(),
                gave_up: None,
                output: Vec::new(),
            }),
            ..head(26)
        };
        mirror.add(end(vec![27, 0, 0]), b"").unwrap().unwrap();
        assert!(!mirror.has_figures());
        mirror.add(end(vec![26, 0, 9]), b"").unwrap().unwrap();
        assert!(mirror.has_figures() && !mirror.is_complete());
        mirror.add(end(vec![26, 0, 0]), b"").unwrap().unwrap();
        assert!(mirror.is_complete() && mirror.record(0).is_none());
        assert!(mirror.add(end(vec![]), b"").unwrap().is_err());
    }

    #[tokio::test]
    async fn what_no_agent_sends_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut mirror = mirror(folder.path());
        let elsewhere = ParcelHead { file: 3, ..head(0) };
        assert!(mirror.add(elsewhere, b"").unwrap().is_err());
        let spans = ParcelHead { file: 2, ..head(0) };
        mirror.files[2].length = MAX_SPANS;
        let more = ParcelHead {
            offset: MAX_SPANS,
            ..spans
        };
        assert!(mirror.add(more, b"x").unwrap().is_err());
        let chunk = vec![b'x'; 1 << 20];
        let sent = (0..17).map(|at| mirror.add(head(at << 20), &chunk));
        let refused: Vec<bool> = sent.map(|sent| sent.unwrap().is_err()).collect();
        assert_eq!(refused.iter().position(|refused| *refused), Some(16));
    }
}
