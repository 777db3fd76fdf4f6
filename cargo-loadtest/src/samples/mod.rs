//! `--samples`: a line for each execution, request and journey, made of what the load wrote.

mod follow;
mod lines;

use crate::cli::SamplesArgs;
use crate::protected::describe_protected;
use flate2::Compression;
use flate2::write::GzEncoder;
use follow::Follower;
use lines::{COLUMNS, SampleFormat};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::process::{self, Stream};
use loadtest_model::display;
use loadtest_model::record::RunRecord;
use loadtest_model::samples::SamplesRequest;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The file names that say what is written.
const ENDINGS: [(&str, SampleFormat, bool); 4] = [
    (".jsonl", SampleFormat::Json, false),
    (".csv", SampleFormat::Csv, false),
    (".jsonl.gz", SampleFormat::Json, true),
    (".csv.gz", SampleFormat::Csv, true),
];

/// The raw samples that a run is to keep, checked before anything is built.
#[derive(Debug, Clone)]
pub(crate) struct SamplesPlan {
    /// The file; standard output without one.
    path: Option<PathBuf>,
    format: SampleFormat,
    is_compressed: bool,
    share: f64,
}

impl SamplesPlan {
    /// Reads the options of a run; `None` where no samples are asked for.
    ///
    /// # Errors
    /// A file name that says no format, or a share of nothing.
    pub(crate) fn read(args: &SamplesArgs) -> Result<Option<Self>, Error> {
        let Some(given) = &args.samples else {
            return Ok(None);
        };
        let share = args.samples_share.unwrap_or(1.0);
        if share <= 0.0 {
            return Err(Error::usage(
                "`--samples-share 0%` keeps nothing; write `1%`, or leave `--samples` out",
            ));
        }
        if given == "-" {
            return Ok(Some(Self {
                path: None,
                format: SampleFormat::Json,
                is_compressed: false,
                share,
            }));
        }
        let found = ENDINGS.iter().find(|(ending, ..)| given.ends_with(ending));
        let Some((_, format, is_compressed)) = found else {
            return Err(Error::usage(format!(
                "`--samples {}` says no format; end the name with `.jsonl`, `.csv`, `.jsonl.gz` or `.csv.gz`, or write \
                 `-` for lines of JSON on standard output",
                console::clean(given)
            )));
        };
        Ok(Some(Self {
            path: Some(process::resolve(Path::new(given))),
            format: *format,
            is_compressed: *is_compressed,
            share,
        }))
    }

    /// Returns true if samples go to standard output, in place of the card.
    pub(crate) fn takes_output(&self) -> bool {
        self.path.is_none()
    }

    /// Opens the file for a run that keeps samples.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn open(plan: Option<Self>, run: &str) -> Result<Option<SamplesOutput>, Error> {
        plan.map(|plan| plan.open_file(run)).transpose()
    }

    fn open_file(self, run: &str) -> Result<SamplesOutput, Error> {
        let path =
            (self.path).map(|path| PathBuf::from(path.to_string_lossy().replace("{run}", run)));
        let failed = |path: &Path, reason: String| {
            Error::usage(format!(
                "`--samples {}` cannot be written: {reason}",
                console::clean(&path.display().to_string())
            ))
        };
        let writer: Box<dyn Write + Send> = match &path {
            None => Box::new(OutputStream),
            Some(path) => {
                if let Some(what) = describe_protected(path) {
                    let reason = format!("it is {what}, which nothing may overwrite");
                    return Err(failed(path, reason));
                }
                let file = create_file(path).map_err(|error| failed(path, error.to_string()))?;
                Box::new(file)
            }
        };
        let buffered = BufWriter::with_capacity(1 << 16, writer);
        let mut sink = if self.is_compressed {
            SampleSink::Compressed(Box::new(GzEncoder::new(buffered, Compression::fast())))
        } else {
            SampleSink::Plain(buffered)
        };
        let header = match self.format {
            // Once, whatever the number of scenarios.
            SampleFormat::Csv => write!(sink.writer(), "{COLUMNS}\r\n"),
            SampleFormat::Json => Ok(()),
        };
        Ok(SamplesOutput {
            path,
            format: self.format,
            share: self.share,
            file: Arc::new(Mutex::new(SamplesFile {
                sink,
                failure: header.err().map(|error| error.to_string()),
            })),
        })
    }
}

fn create_file(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    File::create(path)
}

/// Standard output, as a captured call may have replaced it.
struct OutputStream;

impl Write for OutputStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        process::write_to(Stream::Output, bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The file that gets the lines of all scenarios of a run.
#[derive(Debug)]
pub(crate) struct SamplesOutput {
    path: Option<PathBuf>,
    format: SampleFormat,
    share: f64,
    file: Arc<Mutex<SamplesFile>>,
}

#[derive(Debug)]
struct SamplesFile {
    sink: SampleSink,
    /// The first reason why lines could not be written.
    failure: Option<String>,
}

/// The way of lines to a file or to standard output.
enum SampleSink {
    Plain(BufWriter<Box<dyn Write + Send>>),
    Compressed(Box<GzEncoder<BufWriter<Box<dyn Write + Send>>>>),
}

impl fmt::Debug for SampleSink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SampleSink").finish_non_exhaustive()
    }
}

impl SampleSink {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(writer) => writer,
            Self::Compressed(writer) => writer,
        }
    }

    /// Writes what is left, the end of a compressed file included.
    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut writer) => writer.flush(),
            Self::Compressed(writer) => writer.finish()?.flush(),
        }
    }
}

impl SamplesOutput {
    /// Returns the part of a request to run a scenario that asks for samples in `path`.
    pub(crate) fn request(&self, path: PathBuf) -> SamplesRequest {
        SamplesRequest {
            path,
            share: self.share,
        }
    }

    /// Writes lines of what a load writes to the file of `request`, until the follower is ended.
    pub(crate) fn follow(&self, request: &SamplesRequest) -> Follower {
        Follower::start(request.path.clone(), self.format, Arc::clone(&self.file))
    }

    /// Ends the file, and tells what is in it.
    pub(crate) fn finish(output: Option<Self>, record: &RunRecord, quiet: bool) {
        let Some(Self { path, file, .. }) = output else {
            return;
        };
        let file = Arc::into_inner(file);
        let file = file.map(|file| file.into_inner().unwrap_or_else(PoisonError::into_inner));
        let Some(SamplesFile { sink, failure }) = file else {
            return;
        };
        let ended = sink.finish().map_err(|error| error.to_string());
        let place = path.map(|path| console::clean(&path.display().to_string()));
        let place = place.unwrap_or_else(|| "standard output".to_owned());
        if let Some(reason) = failure.or(ended.err()) {
            console::print_warning(format_args!(
                "the samples in {place} are not complete: {reason}"
            ));
        } else if !quiet {
            let accounts = record.scenarios.iter();
            let accounts = accounts.filter_map(|scenario| scenario.end.samples.as_ref());
            let (written, lost) = accounts.fold((0, 0), |(written, lost), account| {
                (written + account.written, lost + account.lost)
            });
            let lost = match lost {
                0 => String::new(),
                lost => format!(", {} lost", display::format_count(lost)),
            };
            console::print_status(
                "Kept",
                format_args!(
                    "{} in {place}{lost}",
                    display::format_counted(written, "sample")
                ),
            );
        }
    }
}
