//! From a record to what people and programs get to see: the one place that grades and exports.

use crate::cli::{Export, Format};
use crate::error::Error;
use crate::export;
use crate::shell;
use crate::store::{self, RunFolder, Store};
use loadtest::card::{Report, worst};
use loadtest::record::RunRecord;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

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
    exports: &[Export],
) -> Result<u8, Error> {
    let kept = folder
        .close(record, journals)
        .and_then(|()| store.mark_latest(folder));
    let published = publish(record, folder, &with_page(exports));
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
/// The last file that could not be written, when those before are told; the card is printed all the same.
/// A standard output that takes nothing.
pub(super) fn publish(
    record: &RunRecord,
    folder: &RunFolder,
    exports: &[Export],
) -> Result<u8, Error> {
    let report = Report::grade(record);
    // Files first: whoever reads standard output may be gone.
    let mut written = Vec::new();
    let mut failed = None;
    let mut result = None;
    for export in exports {
        if export.is_result() {
            result = Some(render(export.format, &report));
            continue;
        }
        let path = place(export, folder);
        match store::write(&path, &render(export.format, &report)) {
            Ok(()) => written.push((export.format.word(), path)),
            Err(error) => {
                // Each is told; the last one by whoever called.
                if let Some(before) = failed.replace(error) {
                    shell::error(&before);
                }
            }
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

/// Every run has its page; further exports come as they were asked for.
fn with_page(exports: &[Export]) -> Vec<Export> {
    let page = Export {
        format: Format::Html,
        path: None,
    };
    let mut all = exports.to_vec();
    if !all.contains(&page) {
        all.insert(0, page);
    }
    all
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

/// Refuses, before anything is run, what could not be written afterwards.
///
/// # Errors
/// [`Error::ExportPath`], [`Error::SeveralResults`].
pub(super) fn check(exports: &[Export]) -> Result<(), Error> {
    if exports.iter().filter(|export| export.is_result()).count() > 1 {
        return Err(Error::SeveralResults);
    }
    let files = exports.iter().filter(|export| !export.is_result());
    files
        .filter_map(|export| export.path.as_deref())
        .try_for_each(check_path)
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

fn render(format: Format, report: &Report) -> Vec<u8> {
    match format {
        Format::Html => export::html::render(report).into_bytes(),
        Format::Pdf => export::pdf::render(report),
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
        assert!(check(&[export(folder.path().join("a.json"))]).is_ok());
        assert!(check(&[export(PathBuf::from("a.json"))]).is_ok());
        let result = || export(PathBuf::from("-"));
        assert!(check(&[result()]).is_ok());
        assert_eq!(check(&[result(), result()]).unwrap_err().exit_code(), 2);
        for path in [
            folder.path().join("missing/a.json"),
            folder.path().to_path_buf(),
        ] {
            assert_eq!(check(&[export(path)]).unwrap_err().exit_code(), 2);
        }
    }
}
