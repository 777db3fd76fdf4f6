//! The file that keeps what is observed in a scenario: a tool that is killed leaves it beside the journal.

use super::figures::{Figures, ObservedLine};
use loadtest_console::files;
use loadtest_model::record::ObservedSeries;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

/// The bytes beyond which one line takes the place of all.
const MOST_BYTES: usize = 8 << 20;

/// A file that grows by a line with each reading.
///
/// One that cannot be written ends there, and costs nothing unless the tool is killed.
#[derive(Debug)]
pub(super) struct ObservedFile {
    path: PathBuf,
    file: Option<File>,
    length: usize,
    /// The length at which it is written anew.
    most: usize,
}

impl ObservedFile {
    pub(super) fn create(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            file: File::create(path).ok(),
            length: 0,
            most: MOST_BYTES,
        }
    }

    /// Adds a line to those that came to `figures`.
    pub(super) fn append(&mut self, line: &ObservedLine, figures: &Figures) {
        if self.length > self.most {
            self.shorten(figures);
        }
        let Some(file) = &mut self.file else {
            return;
        };
        let written = serde_json::to_vec(line).map(|mut text| {
            text.push(b'\n');
            self.length += text.len();
            file.write_all(&text)
        });
        if !matches!(written, Ok(Ok(()))) {
            self.file = None;
        }
    }

    /// Writes what all lines come to.
    fn shorten(&mut self, figures: &Figures) {
        self.length = 0;
        if self.file.take().is_none() {
            return;
        }
        let line = ObservedLine::Figures(figures.clone());
        let Ok(mut text) = serde_json::to_vec(&line) else {
            return;
        };
        text.push(b'\n');
        if files::write(&self.path, &text).is_ok() {
            self.file = File::options().append(true).open(&self.path).ok();
            self.length = text.len();
            self.most = self.most.max(2 * self.length);
        }
    }
}

/// Reads what was observed from such a file. A missing one holds nothing; a line that cannot be read is left out.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn read_observed(path: &Path) -> io::Result<Vec<ObservedSeries>> {
    let file = match files::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file?,
    };
    let mut figures = Figures::default();
    let mut file = BufReader::new(file);
    let mut line = Vec::new();
    while file.read_until(b'\n', &mut line)? > 0 {
        if let Ok(line) = serde_json::from_slice(&line) {
            figures.add(line);
        }
        line.clear();
    }
    Ok(figures.into_series())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::figures::{ObservedFigure, SeriesReading};
    use std::fs;

    fn lines() -> impl Iterator<Item = ObservedLine> {
        let series = ["cpu", "cpu per request"].map(|name| {
            ObservedLine::Series(ObservedFigure {
                series: ObservedSeries {
                    name: name.to_owned(),
                    unit: "cores".to_owned(),
                    source: "process 1".into(),
                    width: 1,
                    points: Vec::new(),
                    limit: None,
                    gap: None,
                },
                waiting: name.ends_with("request").then(Vec::new),
                stands_for: None,
            })
        });
        let seconds = (0..50_u32).flat_map(|second| {
            let reading = |series| {
                ObservedLine::Reading(SeriesReading {
                    series,
                    at_us: u64::from(second) * 1_000_000 + 600_000,
                    span_us: 1_000_000,
                    value: f64::from(second) + 0.5,
                })
            };
            let count = 10;
            [
                reading(0),
                reading(1),
                ObservedLine::Requests { second, count },
            ]
        });
        let why = "no answer in time".into();
        let gap = ObservedLine::Gap { series: 0, why };
        series.into_iter().chain(seconds).chain([gap])
    }

    /// Writes a file that is written anew beyond so many bytes; returns what it should hold.
    fn write(path: &Path, most: usize) -> Vec<ObservedSeries> {
        let mut file = ObservedFile::create(path);
        file.most = most;
        let mut figures = Figures::default();
        for line in lines() {
            file.append(&line, &figures);
            figures.add(line);
        }
        figures.into_series()
    }

    #[test]
    fn a_file_holds_all_that_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("observed-1.jsonl");
        assert_eq!(read_observed(&path).unwrap(), []);
        let written = write(&path, MOST_BYTES);
        assert_eq!(written[1].points.len(), 50);
        assert_eq!(read_observed(&path).unwrap(), written);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 153);
        // One that was cut within its last line, and has one that is none.
        fs::write(&path, format!("{{}}\n{}", &text[..text.len() - 9])).unwrap();
        let mut cut = written;
        cut[0].gap = None;
        assert_eq!(read_observed(&path).unwrap(), cut);
    }

    #[test]
    fn a_file_that_grows_too_long_becomes_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("observed-1.jsonl");
        let written = write(&path, 5_000);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("{\"figures\":"), "{text}");
        assert!(text.lines().count() < 153, "{text}");
        assert_eq!(read_observed(&path).unwrap(), written);
    }

    #[test]
    fn a_file_that_cannot_be_written_costs_itself_only() {
        let folder = tempfile::tempdir().unwrap();
        let written = write(folder.path(), MOST_BYTES);
        assert_eq!(written.len(), 2);
    }

    #[test]
    fn no_file_is_too_strange() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("observed-1.jsonl");
        write(&path, MOST_BYTES);
        let text = fs::read_to_string(&path).unwrap();
        let begin: String = text.split_inclusive('\n').take(6).collect();
        loadtest_tests::fuzz::fuzz_texts([&*begin], |text| {
            fs::write(&path, text).unwrap();
            let _ = read_observed(&path);
        });
    }
}
