//! From a record to what people and programs get to see: the one place that grades and exports.

use crate::ci;
use crate::cli::{Export, INSTALL_ALL, ReportOptions};
use crate::export;
use crate::export::Format;
use crate::export::pdf::Font;
use crate::export::terminal::Extent;
use crate::protected::check_output;
use crate::store::{MeasuredRun, RunFolder, Store};
use jiff::Timestamp;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::files;
use loadtest_console::suggestion::join_some;
use loadtest_model::card::Report;
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The reports to write, and their options.
#[derive(Debug, Clone)]
pub(super) struct Exports {
    all: Vec<Export>,
    /// For characters that the PDF document would lack.
    fonts: Vec<Font>,
    /// The extent of the card on the terminal.
    extent: Extent,
    /// The folder that source paths are relative to, if CI gets annotations.
    sources: Option<PathBuf>,
    /// The number of reports added by default, which come first.
    added: usize,
    /// True where the browser opens the page.
    opens_page: bool,
    /// True where something else goes to standard output.
    hides_card: bool,
}

impl Exports {
    /// Refuses, before anything is run, what could not be written afterwards.
    ///
    /// # Errors
    /// When a file could not be written, or two reports would replace one another.
    pub(super) fn check(exports: &[Export], options: &ReportOptions) -> Result<Self, Error> {
        if exports.iter().filter(|export| export.is_result()).count() > 1 {
            return Err(Error::usage("only one report can go to standard output"));
        }
        if exports.iter().any(|export| export.format == Format::Pdf) {
            check_pdf()?;
        }
        let mut taken: Vec<(Format, PathBuf)> = Vec::new();
        for export in exports.iter().filter(|export| !export.is_result()) {
            let Some(path) = export.path.as_deref() else {
                continue;
            };
            check_path(path)?;
            reserve_path(&mut taken, export.format, path)?;
        }
        let mut checked = Self {
            all: exports.to_vec(),
            fonts: options
                .fonts
                .iter()
                .map(|path| read_font(path))
                .collect::<Result<_, _>>()?,
            extent: if options.verbose {
                Extent::Full
            } else {
                Extent::Short
            },
            sources: None,
            added: 0,
            opens_page: options.open,
            hides_card: false,
        };
        if options.open {
            checked.add(Format::Html);
        }
        Ok(checked)
    }

    /// Adds what a build server is given, which is told of the run: the sources are below `root`.
    pub(super) fn for_ci(mut self, root: &Path) -> Self {
        for format in ci::EXPORTS {
            self.add(format);
        }
        self.sources = Some(root.to_path_buf());
        self
    }

    /// Leaves the card out, where standard output is for lines of figures or samples.
    pub(super) fn without_card(self, is_taken: bool) -> Self {
        Self {
            hides_card: is_taken,
            ..self
        }
    }

    /// Returns true if a report goes to standard output.
    pub(super) fn take_output(&self) -> bool {
        self.all.iter().any(Export::is_result)
    }

    /// Refuses files that would take the place of one another, or of a record, now that the folder of the
    /// run is known.
    ///
    /// # Errors
    /// When they would.
    fn check_places(&self, folder: &RunFolder) -> Result<(), Error> {
        let mut taken: Vec<(Format, PathBuf)> = Vec::new();
        for export in self.all.iter().filter(|export| !export.is_result()) {
            let path = export_path(export, folder);
            check_output(&path)?;
            reserve_path(&mut taken, export.format, &path)?;
        }
        Ok(())
    }

    /// Every run has its page; further exports come as they were asked for.
    fn with_page(mut self) -> Self {
        self.add(Format::Html);
        self
    }

    /// Adds a file in the folder of the run, before those that were asked for.
    fn add(&mut self, format: Format) {
        let export = Export { format, path: None };
        if !self.all.contains(&export) {
            let at = self.added;
            self.all.insert(at, export);
            self.added += 1;
        }
    }
}

/// Refuses a PDF where the tool was built without it.
fn check_pdf() -> Result<(), Error> {
    if cfg!(feature = "pdf") {
        return Ok(());
    }
    let error = Error::usage("this build of the tool writes no PDF, so that it compiles sooner");
    Err(error.with_help(format!(
        "in a clone, `cargo run -p cargo-loadtest -- report latest --export pdf` writes the PDF of the newest run; \
         {INSTALL_ALL}"
    )))
}

/// Keeps the place of a file, unless another format has it.
fn reserve_path(
    taken: &mut Vec<(Format, PathBuf)>,
    format: Format,
    path: &Path,
) -> Result<(), Error> {
    let place = canonical_path(path);
    let is_taken = |(other, there): &(Format, PathBuf)| {
        *there == place && *other != format && !is_device(path)
    };
    if taken.iter().any(is_taken) {
        let message = format!("two formats cannot both be written to `{}`", path.display());
        return Err(Error::usage(message));
    }
    taken.push((format, place));
    Ok(())
}

fn read_font(path: &Path) -> Result<Font, Error> {
    let none = |why: String| {
        let path = path.display();
        Error::usage(format!(
            "`--pdf-font`: no font can be read from `{path}`: {why}"
        ))
    };
    let bytes = files::read(path).map_err(|error| none(error.to_string()))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Font::parse(&name, bytes).map_err(|why| none(why.to_string()))
}

/// Keeps the record of a run with that many journals, and publishes it with its page. Where the store takes no record,
/// both are among the temporary files.
///
/// # Errors
/// As [`publish`]; what could not be kept is told, and in the exit code.
pub(super) fn conclude(
    store: &Store,
    folder: &RunFolder,
    result: MeasuredRun<'_>,
    journals: usize,
    exports: &Exports,
) -> Result<ExitCode, Error> {
    let exports = &exports.clone().with_page();
    let (kept, published) = match folder.close(result, journals) {
        Ok(()) => {
            let marked = store.mark_latest(folder);
            (marked, publish(result, folder, exports))
        }
        Err(error) => match folder.close_elsewhere(result) {
            Ok(spare) => {
                let help = format!(
                    "record and report are in `{}` instead",
                    spare.path().display()
                );
                (Err(error.with_help(help)), publish(result, &spare, exports))
            }
            Err(_) => (Err(error), publish(result, folder, exports)),
        },
    };
    if kept.is_ok() {
        folder.compress_journals(journals);
        prune_store(store, folder);
    }
    match (kept, published) {
        (Ok(()), published) => published,
        (Err(error), Ok(code)) => {
            console::print_error(&error);
            Ok(ExitCode::worst_of([error.exit_code(), code]))
        }
        (Err(first), Err(second)) => {
            let code = ExitCode::worst_of([first.exit_code(), second.exit_code()]);
            let (shown, returned) = if code == first.exit_code() {
                (second, first)
            } else {
                (first, second)
            };
            console::print_error(&shown);
            Err(returned)
        }
    }
}

/// Removes the runs that are not to be kept any longer; that one cannot be removed fails nothing.
fn prune_store(store: &Store, made: &RunFolder) {
    let pruned = store.prune(made, Timestamp::now());
    if !pruned.removed.is_empty() {
        let count = display::format_counted(pruned.removed.len() as u64, "old run");
        let runs = join_some(&pruned.removed);
        console::print_status(
            "Removed",
            format_args!("{count}, as `[store]` asks for: {runs}"),
        );
    }
    for error in &pruned.failed {
        console::print_caution(error);
    }
}

/// Grades a run, writes the `exports`, and prints the card and where everything is; the exit code
/// is that of the report, with the scenarios that did not run.
///
/// # Errors
/// A file that could not be written, all others of which are told; the card is printed all the same. A
/// standard output that takes nothing.
pub(super) fn publish(
    measured: MeasuredRun<'_>,
    folder: &RunFolder,
    exports: &Exports,
) -> Result<ExitCode, Error> {
    let report = measured.grade();
    // Files first: whoever reads standard output may be gone.
    let mut written = Vec::new();
    let mut failed = None;
    let mut result = None;
    exports.check_places(folder)?;
    for export in &exports.all {
        let file = export.format.render(&report, &exports.fonts);
        if export.is_result() {
            result = Some(file);
            continue;
        }
        let path = export_path(export, folder);
        match files::write(&path, &file) {
            Ok(()) => written.push((export.format.word(), path)),
            Err(error) => {
                // Each is told; the last one by whoever called.
                if let Some(before) = failed.replace(error) {
                    console::print_error(&before);
                }
            }
        }
    }
    written.dedup();
    let page = written
        .iter()
        .find(|(word, _)| *word == Format::Html.word());
    let page = page.map(|(_, path)| path.as_path());
    if let Some(sources) = &exports.sources {
        ci::report_run(&ci::Published {
            report: &report,
            folder: folder.path(),
            page,
            sources,
        });
    }
    let printed = match result {
        Some(file) => console::print_file(&file),
        None if exports.hides_card => Ok(()),
        None => {
            console::print_result(render_card(&report, exports.extent, folder, &written).trim_end())
        }
    };
    if let Some(page) = page.filter(|_| exports.opens_page)
        && let Err(error) = open::that_detached(page)
    {
        console::print_caution(&Error::failure(format!(
            "no browser could be opened: {error}"
        )));
    }
    match failed {
        Some(error) => Err(error),
        None => printed.map(|()| report.exit_code()),
    }
}

/// The card, and where everything is.
fn render_card(
    report: &Report,
    extent: Extent,
    folder: &RunFolder,
    written: &[(&str, PathBuf)],
) -> String {
    let (width, colour) = (console::result_width(), console::colours_results());
    let card = export::terminal::render(report, width, colour, extent);
    let mut text = format!("{}\n", card.trim_end());
    if folder.record().exists() {
        let _ = write!(text, "\nrecord  {}", folder.record().display());
    }
    for (word, path) in written {
        let _ = write!(text, "\n{word:6}  {}", path.display());
    }
    text
}

/// Refuses a file that could not be there.
///
/// # Errors
/// When no file can be there.
pub(super) fn check_path(path: &Path) -> Result<(), Error> {
    let folder = folder_of(path);
    // What ends as a folder does is one, also if it is not there.
    let names_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    if !folder.is_dir() || path.is_dir() || names_folder || path.file_name().is_none() {
        return Err(Error::usage(format!(
            "nothing can be written to `{}`: its folder does not exist, or it is a folder itself",
            path.display()
        )));
    }
    if is_device(path) {
        return Ok(());
    }
    check_output(path)?;
    files::try_write(path)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The path by which a file is known, however it was named.
fn canonical_path(path: &Path) -> PathBuf {
    let folder = folder_of(path);
    let folder = folder.canonicalize().unwrap_or(folder.to_path_buf());
    folder.join(path.file_name().unwrap_or_default())
}

/// Returns true for a device or a pipe, which takes several outputs.
fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

fn export_path(export: &Export, folder: &RunFolder) -> PathBuf {
    export
        .path
        .clone()
        .unwrap_or_else(|| folder.file(export.format.file_name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_into_a_folder_that_does_not_exist_is_refused_before_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let export = |path: PathBuf| Export {
            format: Format::Json,
            path: Some(path),
        };
        let check = |all: Vec<Export>| Exports::check(&all, &ReportOptions::default());
        assert!(check(vec![export(folder.path().join("a.json"))]).is_ok());
        assert!(check(vec![export(PathBuf::from("a.json"))]).is_ok());
        let result = || export(PathBuf::from("-"));
        assert!(check(vec![result()]).is_ok());
        assert_eq!(
            check(vec![result(), result()]).unwrap_err().exit_code(),
            ExitCode::Usage
        );
        for path in [
            folder.path().join("missing/a.json"),
            folder.path().to_path_buf(),
            folder.path().join("new/"),
            PathBuf::from(".."),
            PathBuf::from("/"),
        ] {
            let error = check(vec![export(path.clone())]).unwrap_err();
            assert_eq!(error.exit_code(), ExitCode::Usage, "{}", path.display());
        }
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 0, "nothing is left of what was tried");
    }

    #[test]
    fn two_formats_in_one_file_are_refused_before_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let export = |format, name: &str| Export {
            format,
            path: Some(folder.path().join(name)),
        };
        let check = |all: &[Export]| Exports::check(all, &ReportOptions::default());
        let first = export(Format::Json, "a");
        assert!(check(&[first.clone(), first.clone()]).is_ok());
        assert!(check(&[first.clone(), export(Format::Html, "b")]).is_ok());
        std::fs::create_dir(folder.path().join("x")).unwrap();
        for other in ["a", "./a", "x/../a"] {
            let same = export(Format::Html, other);
            let error = check(&[first.clone(), same]).unwrap_err();
            assert!(
                error.to_string().contains("two formats cannot both"),
                "{error}"
            );
            assert_eq!(error.exit_code(), ExitCode::Usage);
        }
        let null = |format| Export {
            format,
            path: Some(PathBuf::from("/dev/null")),
        };
        assert!(check(&[null(Format::Html), null(Format::Json)]).is_ok());
    }

    #[test]
    fn a_report_never_takes_the_place_of_what_was_measured() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| std::fs::write(place(name), text).unwrap();
        let run = RunFolder::at(folder.path());
        let json = |path: Option<PathBuf>| {
            let export = Export {
                format: Format::Json,
                path,
            };
            let exports = Exports::check(&[export], &ReportOptions::default())?;
            exports.check_places(&run)
        };
        write("journal-1.jsonl", "anybody's");
        assert!(json(Some(place("journal-1.jsonl"))).is_ok());
        write("run.json", "of a run that was killed");
        let record = r#"{"schema_version":1,"run_id":"a","rest":[]}"#;
        write("report.json", record);
        write("kept.json", record);
        #[cfg(unix)]
        std::os::unix::fs::symlink(place("kept.json"), place("link.json")).unwrap();
        let mut places = vec![None, Some(place("./run.json")), Some(place("kept.json"))];
        places.push(Some(place("journal-1.jsonl")));
        #[cfg(unix)]
        places.push(Some(place("link.json")));
        for path in places {
            let error = json(path).unwrap_err();
            assert!(
                error.to_string().contains("refusing to overwrite"),
                "{error}"
            );
            assert_eq!(error.exit_code(), ExitCode::Usage);
        }
        write("report.json", "{\n  \"schema_version\": 1,\n");
        assert!(json(None).is_ok(), "an earlier report");
        let both = [
            Export {
                format: Format::Pdf,
                path: Some(place("report.html")),
            },
            Export {
                format: Format::Html,
                path: None,
            },
        ];
        let exports = Exports::check(&both, &ReportOptions::default()).unwrap();
        let error = exports.check_places(&run).unwrap_err();
        assert!(
            error.to_string().contains("two formats cannot both"),
            "{error}"
        );
    }

    #[test]
    fn a_font_that_is_none_is_refused_before_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("notes.ttf");
        std::fs::write(&text, "not a font").unwrap();
        let good = folder.path().join("good.ttf");
        std::fs::write(&good, dejavu::sans_mono::regular()).unwrap();
        let check = |path: &Path| {
            let fonts = vec![path.to_path_buf()];
            let options = ReportOptions {
                fonts,
                ..ReportOptions::default()
            };
            Exports::check(&[], &options)
        };
        assert_eq!(check(&good).unwrap().fonts.len(), 1);
        for path in [&text, &folder.path().join("missing.ttf"), folder.path()] {
            let error = check(path).unwrap_err();
            assert_eq!(error.exit_code(), ExitCode::Usage);
            assert!(error.to_string().contains("`--pdf-font`"), "{error}");
        }
    }
}
