//! The journal of a run: read while it grows, folded into a record where there is no other, and compressed once there
//! is one.

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use loadtest_console::files;
use loadtest_model::failure::RunFailure;
use loadtest_model::protocol::JournalLine;
use loadtest_model::record::{EndReason, ScenarioRecord};
use loadtest_model::redacted::Redacted;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// The most bytes that are read at once: the journal of a long run does not fit into memory.
const MOST_AT_ONCE: u64 = 16 << 20;

/// A journal that another process writes, of lines that are each an `L`.
#[derive(Debug)]
pub(crate) struct Tail<L> {
    path: PathBuf,
    file: Option<File>,
    pending: Vec<u8>,
    line: PhantomData<fn() -> L>,
}

impl<L: DeserializeOwned> Tail<L> {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            file: None,
            pending: Vec::new(),
            line: PhantomData,
        }
    }

    /// Returns the lines that were completed since the last call, of a long journal the first of them; one that cannot be
    /// read is left out. Each is decoded when it is asked for: decoded, a line
    /// takes many times the room of its text.
    pub(crate) fn read(&mut self) -> impl Iterator<Item = L> + use<L> {
        self.read_lines()
            .filter_map(|line| serde_json::from_slice(&line).ok())
    }

    /// Returns the same as they are.
    pub(crate) fn read_lines(&mut self) -> impl Iterator<Item = Vec<u8>> + use<L> {
        if self.file.is_none() {
            // The process makes the file when it gets that far.
            self.file = File::open(&self.path).ok();
        }
        if let Some(file) = &mut self.file {
            // What cannot be read now is read when the journal is folded, or reported then.
            let _ = file.take(MOST_AT_ONCE).read_to_end(&mut self.pending);
        }
        let complete = self
            .pending
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let rest = self.pending.split_off(complete);
        let text = std::mem::replace(&mut self.pending, rest);
        let mut at = 0;
        std::iter::from_fn(move || {
            let rest = &text[at..];
            let length = rest.iter().position(|byte| *byte == b'\n')?;
            at += length + 1;
            Some(rest[..length].to_vec())
        })
    }
}

/// Returns the path of a compressed journal.
fn compressed(path: &Path) -> PathBuf {
    path.with_extension("jsonl.gz")
}

/// Returns true if there is a journal, compressed or not.
pub(crate) fn exists(path: &Path) -> bool {
    path.is_file() || compressed(path).is_file()
}

/// Compresses a journal to which nothing is added any more.
///
/// # Errors
/// When it cannot; the journal stays then as it is.
pub(crate) fn compress(path: &Path) -> io::Result<()> {
    let compressed = compressed(path);
    let mut from = files::open(path)?;
    let written = File::create(&compressed).and_then(|file| {
        let mut to = GzEncoder::new(file, Compression::fast());
        io::copy(&mut from, &mut to)?;
        to.finish()
    });
    // Of the two, the one that is whole is read.
    let other = if written.is_ok() { path } else { &compressed };
    std::fs::remove_file(other)?;
    written.map(|_| ())
}

/// Opens a whole journal, compressed or not. While both are there, only one of them is known to be whole.
fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    match files::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let file = files::open(&compressed(path))?;
            Ok(Box::new(BufReader::new(GzDecoder::new(BufReader::new(
                file,
            )))))
        }
        file => Ok(Box::new(BufReader::new(file?))),
    }
}

/// Reads the lines of a whole journal; what cannot be read is left out.
pub(crate) fn read_lines(path: &Path) -> impl Iterator<Item = JournalLine> + use<> {
    let journal = open(path).into_iter();
    let lines = journal.flat_map(|journal| journal.split(b'\n').map_while(Result::ok));
    lines.filter_map(|line| serde_json::from_slice(&line).ok())
}

/// The contents of a journal.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    record: Option<ScenarioRecord>,
    ended: bool,
    damaged: usize,
    /// The reason why nothing ran.
    pub(crate) failure: Option<RunFailure>,
}

/// Reads a whole journal. A missing one holds nothing; a last line that was cut is ignored.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn fold(path: &Path) -> io::Result<Folded> {
    let mut folded = Folded::default();
    // Line by line: that of a long run does not fit into memory.
    let mut journal = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(folded),
        journal => journal?,
    };
    let mut line = Vec::new();
    while journal.read_until(b'\n', &mut line)? > 0 {
        let is_cut = line.last() != Some(&b'\n');
        match JournalLine::from_json(&line) {
            Ok(line) => folded.add(line),
            Err(_) if is_cut || line == b"\n" => {}
            Err(_) => folded.damaged += 1,
        }
        line.clear();
    }
    Ok(folded)
}

impl Folded {
    fn add(&mut self, line: JournalLine) {
        match (line, &mut self.record) {
            (JournalLine::Start(start), record) => {
                let start = ScenarioRecord::new(*start);
                if start.check().is_ok() {
                    *record = Some(start);
                } else {
                    self.damaged += 1;
                }
            }
            (JournalLine::Frame(frame), Some(record)) => {
                if frame.check(record.start.definition.steps.len()).is_ok() {
                    record.absorb(&frame);
                } else {
                    self.damaged += 1;
                }
            }
            (JournalLine::End(end), Some(record)) => {
                record.finish(end);
                self.ended = true;
            }
            (JournalLine::Failed(failure), _) => self.failure = Some(failure),
            (JournalLine::Ready, _) => {}
            // Without a start there is nothing to add to.
            (JournalLine::Frame(_) | JournalLine::End(_), None) => self.damaged += 1,
        }
    }

    /// The record, if the run began; `ending` is how it ended where the journal does not say so, or is
    /// damaged, so that nobody knows all of it.
    pub(crate) fn into_record(self, ending: EndReason) -> Option<ScenarioRecord> {
        let mut record = self.record?;
        if !self.ended || self.damaged > 0 {
            let reason = match (&ending, self.damaged) {
                (EndReason::Died { reason }, 0) => reason.clone(),
                (EndReason::Died { reason }, 1) => {
                    Redacted::assume(format!("{reason}; a damaged line is left out"))
                }
                (EndReason::Died { reason }, n) => {
                    Redacted::assume(format!("{reason}; {n} damaged lines are left out"))
                }
                _ => Redacted::default(),
            };
            record.mark_died(reason);
            if !matches!(ending, EndReason::Died { .. }) {
                record.end.ending = ending;
            }
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use proptest::prelude::*;
    use std::io::Write as _;

    fn write(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    fn died() -> EndReason {
        EndReason::Died {
            reason: "killed by signal 9".into(),
        }
    }

    #[test]
    fn a_cut_journal_is_accounted_for() {
        let mut text = sample::journal(&[
            JournalLine::Start(Box::new(sample::start())),
            JournalLine::Frame(Box::new(sample::frame(0, 10))),
            JournalLine::Frame(Box::new(sample::frame(4, 20))),
        ]);
        text.push_str("{\"fra");
        let record = fold(write(&text).path())
            .unwrap()
            .into_record(died())
            .unwrap();
        assert_eq!(record.end.planned, 30);
        assert_eq!(record.end.elapsed_us, 5_000_000);
        // The load of the sample ramps for two seconds.
        assert_eq!(record.end.steady_us, 3_000_000);
        assert_eq!(record.end.ending, died());
    }

    #[test]
    fn damage_in_the_middle_is_told() {
        let frame = JournalLine::Frame(Box::new(sample::frame(0, 10)));
        let mut text = sample::journal(&[JournalLine::Start(Box::new(sample::start()))]);
        text.push_str("garbage\n");
        text.push_str(&sample::journal(&[frame]));
        let record = fold(write(&text).path())
            .unwrap()
            .into_record(died())
            .unwrap();
        assert_eq!(record.windows.steady.journey.started, 10);
        assert_eq!(
            record.end.ending,
            EndReason::Died {
                reason: "killed by signal 9; a damaged line is left out".into()
            }
        );
    }

    #[test]
    fn a_complete_journal_keeps_its_own_ending() {
        let text = sample::journal(&[
            JournalLine::Start(Box::new(sample::start())),
            JournalLine::End(sample::end()),
        ]);
        let record = fold(write(&text).path())
            .unwrap()
            .into_record(died())
            .unwrap();
        assert_eq!(record.end.ending, EndReason::Completed);
        assert_eq!(record.end.planned, sample::end().planned);
    }

    #[test]
    fn a_damaged_journal_is_not_complete_whatever_its_end_says() {
        let frame = JournalLine::Frame(Box::new(sample::frame(0, 10)));
        let whole = sample::journal(&[
            JournalLine::Start(Box::new(sample::start())),
            frame,
            JournalLine::End(sample::end()),
        ]);
        // A line of a version that is yet to come, and what no version writes.
        for foreign in ["{\"pause\":{\"second\":3}}\n", "\0\0\u{fffd}\n{\n"] {
            let folded = fold(write(&format!("{whole}{foreign}")).path()).unwrap();
            let record = folded.into_record(died()).unwrap();
            assert!(
                matches!(&record.end.ending, EndReason::Died { reason } if reason.contains("damaged"))
            );
            assert_eq!(
                record.end.planned, 10,
                "what is known to have been due, and no more"
            );
        }
    }

    #[test]
    fn a_compressed_journal_is_read_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal-1.jsonl");
        let lines = [
            JournalLine::Start(Box::new(sample::start())),
            JournalLine::Frame(Box::new(sample::frame(0, 10))),
            JournalLine::End(sample::end()),
        ];
        assert!(!exists(&path) && compress(&path).is_err());
        std::fs::write(&path, sample::journal(&lines)).unwrap();
        let before = fold(&path).unwrap().into_record(died());
        compress(&path).unwrap();
        let files = std::fs::read_dir(folder.path()).unwrap();
        let files: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        assert_eq!(files, ["journal-1.jsonl.gz"]);
        assert!(exists(&path));
        assert_eq!(fold(&path).unwrap().into_record(died()), before);
        assert_eq!(read_lines(&path).collect::<Vec<_>>(), lines);
        // One that was killed while it compressed left half of it.
        std::fs::write(compressed(&path), "half").unwrap();
        std::fs::write(&path, sample::journal(&lines)).unwrap();
        assert_eq!(fold(&path).unwrap().into_record(died()), before);
    }

    #[test]
    fn a_journal_without_a_start_holds_no_record() {
        for text in ["", "\n", "{\"start\""] {
            let folded = fold(write(text).path()).unwrap();
            assert!(folded.into_record(died()).is_none(), "{text}");
        }
        assert!(
            fold(Path::new("/nowhere"))
                .unwrap()
                .into_record(died())
                .is_none()
        );
    }

    proptest! {
        #[test]
        fn a_journal_cut_anywhere_holds_all_whole_frames(
            frames in proptest::collection::vec(0_u64..40, 0..8),
            at in any::<proptest::sample::Index>(),
            ended in any::<bool>(),
        ) {
            let mut lines = vec![JournalLine::Start(Box::new(sample::start()))];
            let frame = |(second, started): (usize, &u64)| sample::frame(second as u32, *started);
            let all: Vec<_> = frames.iter().enumerate().map(frame).collect();
            lines.extend(all.iter().cloned().map(Box::new).map(JournalLine::Frame));
            lines.extend(ended.then(|| JournalLine::End(sample::end())));
            let text = sample::journal(&lines);
            let cut = &text[..at.index(text.len() + 1)];
            // A line is whole when all of it is there, be it without the end of the line.
            let mut end = 0;
            let whole = text.lines().take_while(|line| {
                end += line.len() + 1;
                end - 1 <= cut.len()
            });
            let whole = whole.count();
            let file = write(cut);
            let folded = fold(file.path()).unwrap();
            prop_assert_eq!(folded.damaged, 0, "a cut is no damage");
            let record = folded.into_record(died());
            prop_assert_eq!(record.is_some(), whole > 0);
            if let Some(record) = record {
                let mut expected = ScenarioRecord::new(sample::start());
                let kept = &all[..(whole - 1).min(all.len())];
                for frame in kept {
                    expected.absorb(frame);
                }
                prop_assert_eq!(record.cells, expected.cells);
                prop_assert_eq!(record.windows, expected.windows);
                let whole_run = whole == lines.len() && ended;
                prop_assert_eq!(record.end.ending == EndReason::Completed, whole_run);
            }
            // Whoever watches it grow sees the same, but for a line whose end is yet to come.
            let seen = Tail::<JournalLine>::new(file.path()).read().count();
            prop_assert!(seen == whole || seen + 1 == whole, "{seen} of {whole}");
        }
    }

    #[test]
    fn a_growing_journal_is_read_line_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut tail = Tail::<JournalLine>::new(&path);
        assert_eq!(tail.read().count(), 0);
        let line = sample::journal(&[JournalLine::Frame(Box::new(sample::frame(0, 1)))]);
        let (one, other) = line.split_at(10);
        let mut file = File::create(&path).unwrap();
        file.write_all(one.as_bytes()).unwrap();
        assert_eq!(tail.read().count(), 0);
        file.write_all(other.as_bytes()).unwrap();
        file.write_all(line.as_bytes()).unwrap();
        assert_eq!(tail.read().count(), 2);
        assert_eq!(tail.read().count(), 0);
    }

    #[test]
    fn no_journal_is_too_strange() {
        let seeds =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../loadtest/tests/records/v1/killed");
        let journal = std::fs::read_to_string(seeds.join("journal-1.jsonl")).unwrap();
        let lines: Vec<&str> = journal.lines().take(4).collect();
        let short = lines.join("\n") + "\n";
        loadtest_tests::fuzz::fuzz_texts([short.as_str(), lines[0]], |text| {
            let file = write(text);
            let folded = fold(file.path()).unwrap();
            let ending = EndReason::Died { reason: "x".into() };
            if let Some(record) = folded.into_record(ending) {
                assert_eq!(record.check().map_err(|wrong| wrong.to_string()), Ok(()));
            }
        });
    }
}
