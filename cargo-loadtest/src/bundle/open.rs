//! Unpacks bundles. A file that its manifest does not list with size and hash is never written.

use super::{
    BundleManifest, BundleVersion, BundledFile, CONFIG, FORMAT, LARGEST_MANIFEST, LONGEST_PATH,
    MANIFEST, MOST_BYTES, MOST_FILES, PACKAGES, PROGRAMS, check_path, platform,
};
use crate::workspace::Binary;
use flate2::read::GzDecoder;
use loadtest_console::console::has_controls;
use loadtest_console::error::Error;
use loadtest_console::files;
use ring::digest::{Context, SHA256};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use tar::{Archive, Entry, EntryType};

const CHUNK: usize = 64 * 1024;

/// A bundle that is unpacked.
#[derive(Debug)]
pub(crate) struct OpenedBundle {
    /// The folder it is unpacked in.
    pub(crate) root: PathBuf,
    /// The identities of its scenarios. Its programs may hold others, whose files are not there.
    pub(crate) scenarios: Vec<String>,
    /// Its programs.
    pub(crate) binaries: Vec<Binary>,
    /// The SHA-256 of its manifest, which holds that of every file: the same for the same contents.
    #[cfg_attr(
        not(any(test, feature = "cluster")),
        expect(dead_code, reason = "compared by the machines of a cluster")
    )]
    pub(crate) hash: String,
}

impl OpenedBundle {
    /// The file with the configuration of the tool.
    pub(crate) fn config(&self) -> PathBuf {
        self.root.join(CONFIG)
    }
}

/// Checks the bundle at `path`, and unpacks it into the folder `into`, which is empty.
///
/// # Errors
/// A bundle that is damaged, or made for another platform or by another version of the tool.
pub(crate) fn open_bundle(path: &Path, into: &Path) -> Result<OpenedBundle, Error> {
    let shown = path.display();
    let file = files::open(path)
        .map_err(|error| Error::usage(format!("could not open the bundle `{shown}`: {error}")))?;
    let broken = |error: io::Error| {
        Error::usage(format!("`{shown}` is not a bundle, or is damaged: {error}"))
            .with_help("create it with `cargo loadtest bundle`")
    };
    let in_bundle = |error: Error| {
        let usage = Error::usage(format!("the bundle `{shown}` is refused: {error}"));
        match error.help() {
            Some(help) => usage.with_help(help),
            None => usage,
        }
    };
    let mut archive = Archive::new(GzDecoder::new(BufReader::new(file)));
    // Raw entries: extensions of the format may ask for any amount of memory.
    let mut entries = archive.entries().map_err(broken)?.raw(true);
    let missing = || broken(io::Error::other("it has no `bundle.json`"));
    let mut first = entries.next().ok_or_else(missing)?.map_err(broken)?;
    if read_path(&first).is_none_or(|path| path != MANIFEST) {
        return Err(missing());
    }
    let mut json = Vec::new();
    let read = first
        .by_ref()
        .take(LARGEST_MANIFEST + 1)
        .read_to_end(&mut json);
    read.map_err(broken)?;
    let manifest = read_manifest(&json).map_err(in_bundle)?;
    let mut listed = manifest.files.iter();
    for entry in entries {
        let mut entry = entry.map_err(broken)?;
        let path = read_path(&entry);
        let Some(file) = listed
            .next()
            .filter(|file| path.as_ref() == Some(&file.path))
        else {
            return Err(broken(io::Error::other("its files differ from its list")));
        };
        unpack(&mut entry, file, into)?.map_err(broken)?;
    }
    if let Some(file) = listed.next() {
        let message = format!("`{}` is missing", file.path);
        return Err(broken(io::Error::other(message)));
    }
    let packages = into.join(PACKAGES);
    let mut binaries = Vec::new();
    for program in manifest.programs {
        let package_root = packages.join(&program.package);
        std::fs::create_dir_all(&package_root).map_err(Error::io("create", &package_root))?;
        let binary = Binary {
            package_root,
            package: program.package,
            target: program.target,
            executable: into.join(&program.path),
            script: None,
            packages: Some(packages.clone()),
        };
        binary.check()?;
        binaries.push(binary);
    }
    Ok(OpenedBundle {
        root: into.to_path_buf(),
        scenarios: manifest.scenarios,
        binaries,
        hash: hash_bytes(&json),
    })
}

/// Reads `bundle.json`, and checks all that it says.
///
/// # Errors
/// What is wrong with it.
fn read_manifest(json: &[u8]) -> Result<BundleManifest, Error> {
    if json.len() as u64 > LARGEST_MANIFEST {
        return Err(Error::usage("its `bundle.json` is too large"));
    }
    let unread = |error| Error::usage(format!("its `bundle.json` cannot be read: {error}"));
    let version: BundleVersion = serde_json::from_slice(json).map_err(unread)?;
    let own = env!("CARGO_PKG_VERSION");
    if version.format != FORMAT || version.tool != own {
        return Err(Error::usage(format!(
            "it was created by cargo-loadtest {}, and this is {own}",
            version.tool.escape_debug()
        ))
        .with_help("use the same version of cargo-loadtest on both machines"));
    }
    let manifest: BundleManifest = serde_json::from_slice(json).map_err(unread)?;
    check_platform(&manifest.platform)?;
    let bytes = manifest.files.iter();
    let bytes = bytes.fold(0_u64, |sum, file| sum.saturating_add(file.bytes));
    if manifest.files.len() > MOST_FILES || bytes > MOST_BYTES {
        return Err(Error::usage("its files are too many or too large"));
    }
    let mut paths = BTreeSet::new();
    for BundledFile { path, .. } in &manifest.files {
        check_path(path)?;
        let is_known = path == CONFIG
            || [PROGRAMS, PACKAGES].iter().any(|folder| {
                let rest = path.strip_prefix(folder);
                rest.is_some_and(|rest| rest.starts_with('/'))
            });
        if !is_known || !paths.insert(path.as_str()) {
            return Err(Error::usage(format!("`{path}` is not allowed in a bundle")));
        }
    }
    for program in &manifest.programs {
        check_path(&program.package)?;
        let is_listed = paths.contains(program.path.as_str());
        if has_controls(&program.target) || program.target.len() > LONGEST_PATH {
            return Err(Error::usage(
                "the name of a program contains control characters",
            ));
        }
        if !is_listed || !program.path.starts_with(PROGRAMS) || program.package.contains('/') {
            return Err(Error::usage("its programs are not among its files"));
        }
    }
    if manifest.programs.is_empty() {
        return Err(Error::usage("it holds no program"));
    }
    Ok(manifest)
}

/// Refuses programs of another processor or operating system; their C library may be another one.
fn check_platform(theirs: &str) -> Result<(), Error> {
    let own = platform();
    let machine = |platform: &str| platform.split('-').take(2).collect::<Vec<_>>().join("-");
    if machine(theirs) == machine(&own) {
        return Ok(());
    }
    Err(Error::usage(format!(
        "its programs are for {}, and this machine is {own}",
        theirs.escape_debug()
    ))
    .with_help("create the bundle on a machine like this one"))
}

/// Returns the path of an entry that is a regular file.
fn read_path(entry: &Entry<'_, impl Read>) -> Option<String> {
    let header = entry.header();
    if header.entry_type() != EntryType::Regular || header.as_ustar().is_none() {
        return None;
    }
    String::from_utf8(entry.path_bytes().into_owned()).ok()
}

/// Writes an entry to its place; the inner result is about the bundle.
fn unpack(
    entry: &mut Entry<'_, impl Read>,
    file: &BundledFile,
    into: &Path,
) -> Result<io::Result<()>, Error> {
    let path = into.join(&file.path);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let is_program = file.path.starts_with(PROGRAMS);
        options.mode(if is_program { 0o700 } else { 0o600 });
    }
    let mut out = options.open(&path).map_err(Error::io("create", &path))?;
    let mut hasher = Context::new(&SHA256);
    let mut chunk = vec![0; CHUNK];
    let mut left = file.bytes;
    loop {
        let read = match entry.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        let Some(rest) = left.checked_sub(read as u64) else {
            left = u64::MAX;
            break;
        };
        left = rest;
        hasher.update(&chunk[..read]);
        out.write_all(&chunk[..read])
            .map_err(Error::io("write", &path))?;
    }
    if left != 0 || format_hash(hasher) != file.sha256 {
        let message = format!("`{}` has changed", file.path);
        return Ok(Err(io::Error::other(message)));
    }
    Ok(Ok(()))
}

/// SHA-256 in hexadecimal.
pub(super) fn hash_bytes(bytes: &[u8]) -> String {
    let mut hasher = Context::new(&SHA256);
    hasher.update(bytes);
    format_hash(hasher)
}

fn format_hash(hasher: Context) -> String {
    let hash = hasher.finish();
    hash.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
