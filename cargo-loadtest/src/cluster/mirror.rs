//! The journals of one agent, as far as they have come.

use super::messages::{AgentEnd, AgentInfo, ParcelHead};
use crate::error::Error;
use crate::session::journal::Tail;
use loadtest_model::protocol::JournalLine;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tokio::time::Instant;

/// The most bytes of a line: that of a second of a scenario with a thousand steps is far below.
const MAX_LINE: usize = 16 << 20;
/// The most bytes of a journal: a day of a large scenario.
const MAX_JOURNAL: u64 = 32 << 30;

/// One agent of a run.
#[derive(Debug)]
pub(super) struct Mirror {
    pub(super) info: AgentInfo,
    journals: Vec<MirroredJournal>,
    /// How its part ended, once that is known.
    pub(super) end: Option<AgentEnd>,
    /// The time of its last parcel.
    pub(super) last_word: Instant,
    /// The reason why it is not waited for.
    pub(super) lost: Option<String>,
}

#[derive(Debug)]
struct MirroredJournal {
    path: PathBuf,
    file: File,
    length: u64,
    /// Bytes since the last end of a line.
    line: usize,
    tail: Tail<JournalLine>,
}

impl Mirror {
    /// Prepares empty journals at `paths`.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub(super) fn create(info: AgentInfo, paths: &[PathBuf]) -> Result<Self, Error> {
        let journals = paths.iter().map(|path| {
            Ok(MirroredJournal {
                file: File::create(path).map_err(Error::io("write", path))?,
                path: path.clone(),
                length: 0,
                line: 0,
                tail: Tail::new(path),
            })
        });
        Ok(Self {
            journals: journals.collect::<Result<_, Error>>()?,
            info,
            end: None,
            last_word: Instant::now(),
            lost: None,
        })
    }

    /// Adds a parcel. One that was there before adds nothing; one that does not follow is asked for again.
    ///
    /// # Errors
    /// When it cannot be of this agent, or not be written.
    pub(super) fn add(&mut self, head: ParcelHead, bytes: &[u8]) -> Result<(), Error> {
        self.last_word = Instant::now();
        let wrong = |what: &str| Error::failure(format!("{} {what}", self.info.agent));
        let journals = self.journals.len();
        let journal = self.journals.get_mut(head.journal);
        let journal = journal.ok_or_else(|| wrong("tells of a scenario that does not run"))?;
        if let Some(end) = &head.end
            && end.lengths.len() != journals
        {
            return Err(wrong("tells the end of other scenarios"));
        }
        let end_of_parcel = head.offset.saturating_add(bytes.len() as u64);
        if end_of_parcel > MAX_JOURNAL {
            return Err(wrong("sends more than a journal can hold"));
        }
        if head.offset <= journal.length && end_of_parcel > journal.length {
            let known = usize::try_from(journal.length - head.offset).unwrap_or(usize::MAX);
            let new = bytes.get(known..).unwrap_or_default();
            for part in new.split_inclusive(|byte| *byte == b'\n') {
                journal.line += part.len();
                if journal.line > MAX_LINE {
                    return Err(wrong("sends a line that no journal has"));
                }
                if part.ends_with(b"\n") {
                    journal.line = 0;
                }
            }
            let written = journal.file.write_all(new);
            written.map_err(Error::io("write", &journal.path))?;
            journal.length = end_of_parcel;
        }
        if head.end.is_some() {
            self.end = head.end;
        }
        Ok(())
    }

    /// Returns the lines of a journal that are new.
    pub(super) fn lines(&mut self, journal: usize) -> impl Iterator<Item = JournalLine> + use<> {
        self.journals[journal].tail.read()
    }

    /// Returns how many bytes of each journal are here.
    pub(super) fn received(&self) -> Vec<u64> {
        self.journals.iter().map(|journal| journal.length).collect()
    }

    /// Returns true once the part has ended and all that it measured is here.
    pub(super) fn is_complete(&self) -> bool {
        self.end
            .as_ref()
            .is_some_and(|end| end.lengths == self.received())
    }

    /// Removes the files, which the record of the run has taken the place of.
    pub(super) fn remove_files(&self) {
        for journal in &self.journals {
            // One that stays does no harm.
            let _ = std::fs::remove_file(&journal.path);
        }
    }

    /// Returns the path of a journal.
    pub(super) fn path(&self, journal: usize) -> &Path {
        &self.journals[journal].path
    }
}

#[cfg(test)]
mod tests {
    use super::super::messages::PROTOCOL;
    use super::*;
    use std::collections::BTreeMap;

    fn mirror(folder: &Path) -> Mirror {
        let info = AgentInfo {
            agent: "a-1".to_owned(),
            protocol: PROTOCOL,
            tool_version: String::new(),
            host: String::new(),
            environment: loadtest_model::record::Environment::default(),
            weight: 1,
            scenarios: BTreeMap::new(),
            bundle: None,
            run: None,
        };
        Mirror::create(info, &[folder.join("journal")]).unwrap()
    }

    fn head(offset: u64) -> ParcelHead {
        ParcelHead {
            agent: "a-1".to_owned(),
            journal: 0,
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
            mirror.add(head(from as u64), &text[from..to]).unwrap();
        }
        assert_eq!(mirror.received(), [26]);
        assert_eq!(std::fs::read(mirror.path(0)).unwrap(), text);
        assert_eq!(mirror.lines(0).count(), 2);
        let end = |lengths| ParcelHead {
            end: Some(AgentEnd {
                lengths,
                status: "exit code 0".to_owned(),
                gave_up: None,
                output: Vec::new(),
            }),
            ..head(26)
        };
        mirror.add(end(vec![27]), b"").unwrap();
        assert!(!mirror.is_complete());
        mirror.add(end(vec![26]), b"").unwrap();
        assert!(mirror.is_complete());
        assert!(mirror.add(end(vec![]), b"").is_err());
    }

    #[tokio::test]
    async fn what_no_agent_sends_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut mirror = mirror(folder.path());
        let elsewhere = ParcelHead {
            journal: 1,
            ..head(0)
        };
        assert!(mirror.add(elsewhere, b"").is_err());
        assert!(mirror.add(head(MAX_JOURNAL), b"x").is_err());
        let chunk = vec![b'x'; 1 << 20];
        let sent = (0..17).map(|at| mirror.add(head(at << 20), &chunk));
        let refused: Vec<bool> = sent.map(|sent| sent.is_err()).collect();
        assert_eq!(refused.iter().position(|refused| *refused), Some(16));
    }
}
