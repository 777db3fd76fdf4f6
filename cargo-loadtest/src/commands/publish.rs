//! From a record to what people and programs get to see: the one place that grades and exports.

use crate::cli::{Export, Format, PdfArgs};
use crate::error::Error;
use crate::export;
use crate::export::pdf::{Font, NoFont};
use crate::shell;
use crate::store::{self, RunFolder, Store};
use loadtest::card::{Report, worst};
use loadtest::record::RunRecord;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What a report is exported as, and with what.
#[derive(Debug, Clone)]
pub(super) struct Exports {
    all: Vec<Export>,
    /// For characters that the PDF document would lack.
    fonts: Vec<Font>,
}

impl Exports {
    /// Refuses, before anything is run, what could not be written afterwards.
    ///
    /// # Errors
    /// [`Error::ExportPath`], [`Error::SeveralResults`], [`Error::NoFont`]; [`Error::Io`] of a font.
    pub(super) fn check(exports: &[Export], pdf: &PdfArgs) -> Result<Self, Error> {
        if exports.iter().filter(|export| export.is_result()).count() > 1 {
            return Err(Error::SeveralResults);
        }
        let files = exports.iter().filter(|export| !export.is_result());
        files
            .filter_map(|export| export.path.as_deref())
            .try_for_each(check_path)?;
        Ok(Self {
            all: exports.to_vec(),
            fonts: pdf
                .fonts
                .iter()
                .map(|path| font(path))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Every run has its page; further exports come as they were asked for.
    fn with_page(mut self) -> Self {
        let page = Export {
            format: Format::Html,
            path: None,
        };
        if !self.all.contains(&page) {
            self.all.insert(0, page);
        }
        self
    }
}

fn font(path: &Path) -> Result<Font, Error> {
    let none = |why: String| Error::NoFont {
        path: path.to_path_buf(),
        why,
    };
    let bytes = std::fs::read(path).map_err(|error| none(error.to_string()))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Font::parse(&name, bytes).map_err(|what| {
        none(
            match what {
                NoFont::Format => "it is neither TrueType nor OpenType, or broken",
                NoFont::Outlines => "its letters are no outlines of TrueType or CFF",
            }
            .to_owned(),
        )
    })
}

/// Keeps the record of a run with that many journals, and publishes it with its page, even if it cannot be
/// kept: what was measured is shown in any case.
///
/// # Errors
/// As [`publish`]; what could not be kept is told, and in the exit code.
pub(super) fn conclude(
    store: &Store,
    folder: &RunFolder,
    record: &RunRecord,
    journals: usize,
    exports: &Exports,
) -> Result<u8, Error> {
    let kept = folder
        .close(record, journals)
        .and_then(|()| store.mark_latest(folder));
    let published = publish(record, folder, &exports.clone().with_page());
    match (kept, published) {
        (Ok(()), published) => published,
        (Err(error), Ok(code)) => {
            shell::error(&error);
            Ok(worst([error.exit_code(), code]))
        }
        (Err(first), Err(second)) => {
            shell::error(&first);
            Err(second)
        }
    }
}

/// Grades `record`, writes the `exports`, and prints the card and where everything is; the exit code
/// is that of the report, with the scenarios that did not run.
///
/// # Errors
/// The first file that could not be written; the card is printed all the same. A standard output
/// that takes nothing.
pub(super) fn publish(
    record: &RunRecord,
    folder: &RunFolder,
    exports: &Exports,
) -> Result<u8, Error> {
    let report = Report::grade(record);
    // Files first: whoever reads standard output may be gone.
    let mut written = Vec::new();
    let mut failed = None;
    let mut result = None;
    for export in &exports.all {
        let file = render(export.format, &report, &exports.fonts);
        if export.is_result() {
            result = Some(file);
            continue;
        }
        let path = place(export, folder);
        match store::write(&path, &file) {
            Ok(()) => written.push((export.format.word(), path)),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    written.dedup();
    let printed = match result {
        Some(file) => shell::file(&file),
        None => shell::result(page(&report, folder, &written).trim_end()),
    };
    match failed {
        Some(error) => Err(error),
        None => printed.map(|()| report.exit_code()),
    }
}

/// The card, and where everything is.
fn page(report: &Report, folder: &RunFolder, written: &[(&str, PathBuf)]) -> String {
    let card = export::terminal::render(report, shell::width(), shell::colours_results());
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
/// [`Error::ExportPath`].
pub(super) fn check_path(path: &Path) -> Result<(), Error> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() || path.is_dir() {
        return Err(Error::ExportPath {
            path: path.to_path_buf(),
        });
    }
    Ok(())
}

fn place(export: &Export, folder: &RunFolder) -> PathBuf {
    export
        .path
        .clone()
        .unwrap_or_else(|| folder.file(export.format.file_name()))
}

fn render(format: Format, report: &Report, fonts: &[Font]) -> Vec<u8> {
    match format {
        Format::Html => export::html::render(report).into_bytes(),
        Format::Pdf => export::pdf::render(report, fonts),
        Format::Json => export::json::render(report).into_bytes(),
        Format::Junit => export::junit::render(report).into_bytes(),
        Format::Markdown => export::markdown::render(report).into_bytes(),
        Format::Csv => export::csv::render(report).into_bytes(),
        Format::Openmetrics => export::openmetrics::render(report).into_bytes(),
    }
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
        let check = |all: Vec<Export>| Exports::check(&all, &PdfArgs::default());
        assert!(check(vec![export(folder.path().join("a.json"))]).is_ok());
        assert!(check(vec![export(PathBuf::from("a.json"))]).is_ok());
        let result = || export(PathBuf::from("-"));
        assert!(check(vec![result()]).is_ok());
        assert_eq!(check(vec![result(), result()]).unwrap_err().exit_code(), 2);
        for path in [
            folder.path().join("missing/a.json"),
            folder.path().to_path_buf(),
        ] {
            assert_eq!(check(vec![export(path)]).unwrap_err().exit_code(), 2);
        }
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
            Exports::check(&[], &PdfArgs { fonts })
        };
        assert_eq!(check(&good).unwrap().fonts.len(), 1);
        for path in [&text, &folder.path().join("missing.ttf"), folder.path()] {
            let error = check(path).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains("`--pdf-font`"), "{error}");
        }
    }
}
