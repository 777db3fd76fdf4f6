//! Writes bundles: the same contents give the same bytes.

use super::files::{DataFiles, find_data_files};
use super::{
    BundleManifest, BundledFile, BundledProgram, CONFIG, FORMAT, MANIFEST, MOST_BYTES, MOST_FILES,
    PACKAGES, PROGRAMS, check_path, config, platform,
};
use crate::config::FILE_NAME;
use crate::selection::Found;
use crate::workspace::{Binary, Workspace, hash};
use flate2::{Compression, GzBuilder};
use loadtest::targets::Permissions;
use loadtest_console::error::Error;
use std::collections::BTreeMap;
use std::env::consts::EXE_SUFFIX;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What a bundle holds.
#[derive(Debug)]
pub(crate) struct WrittenBundle {
    /// The paths of its programs and data files.
    pub(crate) paths: Vec<String>,
    /// The size of the file.
    pub(crate) bytes: u64,
}

/// The contents of a file in a bundle.
enum EntryContent {
    Text(String),
    File(PathBuf),
}

/// Writes a bundle of `chosen` to `output`. `config` is the file of the tool's configuration; `included` are further
/// data files.
///
/// # Errors
/// A file that may not be bundled, or cannot be read or written.
pub(crate) fn write_bundle(
    output: &Path,
    chosen: &[Found],
    config: Option<&Path>,
    included: &[PathBuf],
    workspace: &Workspace,
) -> Result<WrittenBundle, Error> {
    let mut contents = BTreeMap::new();
    let mut programs: Vec<BundledProgram> = Vec::new();
    let mut known: Vec<&Binary> = Vec::new();
    for found in chosen {
        let binary = &found.binary;
        if known.contains(&binary) {
            continue;
        }
        known.push(binary);
        let path = format!("{PROGRAMS}/{}-{}{EXE_SUFFIX}", binary.package, known.len());
        check_path(&path)?;
        programs.push(BundledProgram {
            path: path.clone(),
            package: binary.package.clone(),
            target: binary.target.clone(),
        });
        contents.insert(path, EntryContent::File(binary.executable.clone()));
        let targets = read_targets(&binary.package_root)?;
        let path = format!("{PACKAGES}/{}/{FILE_NAME}", binary.package);
        contents.insert(path, EntryContent::Text(targets));
    }
    let text = config.map(|path| config::select_config(&read_text(path)?, path));
    let text = text.transpose()?.unwrap_or_default();
    contents.insert(CONFIG.to_owned(), EntryContent::Text(text));
    let data: DataFiles = find_data_files(chosen, included, workspace)?;
    contents.extend(
        data.into_iter()
            .map(|(path, file)| (path, EntryContent::File(file))),
    );
    let files: Vec<BundledFile> = contents
        .iter()
        .map(|(path, content)| content.describe(path))
        .collect::<Result<_, _>>()?;
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    if files.len() > MOST_FILES || bytes > MOST_BYTES {
        return Err(Error::usage(format!(
            "a bundle holds at most {MOST_FILES} files of together {} GiB",
            MOST_BYTES >> 30
        )));
    }
    let manifest = BundleManifest {
        format: FORMAT,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        platform: platform(),
        scenarios: chosen
            .iter()
            .map(|found| found.definition.identity())
            .collect(),
        programs,
        files,
    };
    let bytes = write_archive(output, &manifest, &contents)?;
    let paths = manifest.files.into_iter().map(|file| file.path);
    let paths = paths.filter(|path| Path::new(path).file_name() != Some(FILE_NAME.as_ref()));
    Ok(WrittenBundle {
        paths: paths.collect(),
        bytes,
    })
}

/// Returns the targets that the load tests of the package in `root` may be sent to.
fn read_targets(root: &Path) -> Result<String, Error> {
    let permissions =
        Permissions::of_package(root, false).map_err(|error| Error::usage(error.to_string()))?;
    match permissions.file() {
        Some(path) => config::select_targets(&read_text(path)?, path),
        None => Ok(String::new()),
    }
}

fn read_text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(Error::io("read", path))
}

impl EntryContent {
    fn describe(&self, path: &str) -> Result<BundledFile, Error> {
        let (bytes, sha256) = match self {
            Self::Text(text) => (text.len() as u64, super::open::hash_bytes(text.as_bytes())),
            Self::File(file) => {
                let metadata = std::fs::metadata(file).map_err(Error::io("read", file))?;
                (metadata.len(), hash(file)?)
            }
        };
        Ok(BundledFile {
            path: path.to_owned(),
            bytes,
            sha256,
        })
    }
}

/// Writes the archive as a whole, or not at all; returns its size.
fn write_archive(
    output: &Path,
    manifest: &BundleManifest,
    contents: &BTreeMap<String, EntryContent>,
) -> Result<u64, Error> {
    let failed = || Error::io("write", output);
    let folder = match output.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let file = NamedTempFile::new_in(folder).map_err(failed())?;
    let compressed = GzBuilder::new().write(BufWriter::new(file), Compression::default());
    let mut archive = tar::Builder::new(compressed);
    let json = serde_json::to_vec_pretty(manifest).map_err(Error::encode(MANIFEST))?;
    append(&mut archive, MANIFEST, json.len() as u64, &*json).map_err(failed())?;
    for file in &manifest.files {
        let appended = match &contents[&file.path] {
            EntryContent::Text(text) => {
                append(&mut archive, &file.path, file.bytes, text.as_bytes())
            }
            EntryContent::File(path) => {
                let source = File::open(path).map_err(Error::io("read", path))?;
                // A file that grows meanwhile does not spoil the entries after it.
                append(
                    &mut archive,
                    &file.path,
                    file.bytes,
                    source.take(file.bytes),
                )
            }
        };
        appended.map_err(failed())?;
    }
    let written = archive
        .into_inner()
        .and_then(flate2::write::GzEncoder::finish)
        .map_err(failed())?;
    let file = written
        .into_inner()
        .map_err(|error| failed()(error.into_error()))?;
    let bytes = file.as_file().metadata().map_err(failed())?.len();
    let persisted = file.persist(output);
    persisted.map_err(|error| failed()(error.error))?;
    Ok(bytes)
}

/// Appends a regular file that has no owner and no time.
fn append(
    archive: &mut tar::Builder<impl Write>,
    path: &str,
    bytes: u64,
    data: impl Read,
) -> std::io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_path(path)?;
    header.set_size(bytes);
    header.set_entry_type(tar::EntryType::Regular);
    let is_program = path.starts_with(PROGRAMS);
    header.set_mode(if is_program { 0o755 } else { 0o644 });
    header.set_mtime(0);
    header.set_cksum();
    archive.append(&header, data)
}
