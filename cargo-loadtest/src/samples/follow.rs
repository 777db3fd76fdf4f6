//! Follows the file of samples that a load writes, and turns it into lines as it grows.

use super::SamplesFile;
use super::lines::{SampleFormat, SampleLines};
use loadtest_model::samples::{SampleEntry, SamplesHeader};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The interval between two looks at a file that has not grown.
const POLL: Duration = Duration::from_millis(100);
/// The lines that are written at once.
const LINES_AT_ONCE: usize = 1 << 16;

/// A thread that follows one file.
#[derive(Debug)]
pub(crate) struct Follower {
    path: PathBuf,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    /// Follows the file at `path`, which need not be there yet.
    pub(super) fn start(
        path: PathBuf,
        format: SampleFormat,
        output: Arc<Mutex<SamplesFile>>,
    ) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let source = GrowingFile {
            path: path.clone(),
            file: None,
            is_over: Arc::clone(&is_over),
        };
        let unstarted = Arc::clone(&output);
        let thread = thread::Builder::new().name("samples".to_owned());
        let thread = thread.spawn(move || write_lines(source, format, &output));
        if let Err(error) = &thread {
            note_failure(&unstarted, error);
        }
        Self {
            path,
            is_over,
            thread: thread.ok(),
        }
    }

    /// Returns once all that the load wrote is in the output; its file is removed.
    pub(crate) fn end(self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread {
            // What it wrote before a panic stays.
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

fn note_failure(output: &Mutex<SamplesFile>, error: &io::Error) {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    output.failure.get_or_insert_with(|| error.to_string());
}

fn write_lines(source: GrowingFile, format: SampleFormat, output: &Mutex<SamplesFile>) {
    if let Err(error) = copy_lines(source, format, output) {
        note_failure(output, &error);
    }
}

fn copy_lines(
    source: GrowingFile,
    format: SampleFormat,
    output: &Mutex<SamplesFile>,
) -> io::Result<()> {
    let mut source = BufReader::with_capacity(1 << 16, source);
    let mut first = Vec::new();
    source.read_until(b'\n', &mut first)?;
    if first.is_empty() {
        // The load did not begin.
        return Ok(());
    }
    let header: SamplesHeader = serde_json::from_slice(&first)?;
    let mut lines = SampleLines::new(format, header);
    let mut text = lines.begin();
    loop {
        let entry = SampleEntry::read(&mut source)?;
        if let Some(entry) = &entry {
            lines.write(entry, &mut text);
        }
        // Whoever reads along gets what there is, once there is no more.
        let is_behind = !source.buffer().is_empty();
        if entry.is_none() || !is_behind || text.len() >= LINES_AT_ONCE {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            let writer = output.sink.writer();
            writer.write_all(&text)?;
            if !is_behind {
                writer.flush()?;
            }
            text.clear();
        }
        if entry.is_none() {
            return Ok(());
        }
    }
}

/// A file that another process writes; its end is where it ends once that process is over.
struct GrowingFile {
    path: PathBuf,
    file: Option<File>,
    is_over: Arc<AtomicBool>,
}

impl Read for GrowingFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            // Before the read: what comes after it comes too late for this one.
            let is_over = self.is_over.load(Ordering::SeqCst);
            if self.file.is_none() {
                self.file = open_if_there(&self.path)?;
            }
            let count = match &mut self.file {
                Some(file) => file.read(bytes)?,
                None => 0,
            };
            if count > 0 || is_over {
                return Ok(count);
            }
            thread::sleep(POLL);
        }
    }
}

fn open_if_there(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    }
}
