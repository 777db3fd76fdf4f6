//! Bundles that others made: what is not as it should be is refused, and nothing is written outside of the folder.

use super::open::hash_bytes;
use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::protocol::{MARKER_PREFIX, VERSION};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use tar::{EntryType, Header};
use tempfile::TempDir;

const PROGRAM: &str = "programs/shop-1";
const FEED: &str = "packages/shop/data/users.csv";

/// A bundle of one program and one data file, which tests spoil.
struct Sample {
    manifest: BundleManifest,
    entries: Vec<(String, EntryType, Vec<u8>)>,
}

impl Sample {
    fn new() -> Self {
        let marker = [MARKER_PREFIX, format!("{VERSION:02}").as_bytes()].concat();
        let contents = [(PROGRAM, marker), (FEED, b"name\nada\n".to_vec())];
        let files = contents.iter().map(|(path, bytes)| BundledFile {
            path: (*path).to_owned(),
            bytes: bytes.len() as u64,
            sha256: hash_bytes(bytes),
        });
        Self {
            manifest: BundleManifest {
                format: FORMAT,
                tool: env!("CARGO_PKG_VERSION").to_owned(),
                platform: platform(),
                scenarios: vec!["shop::load::visit".to_owned()],
                programs: vec![BundledProgram {
                    path: PROGRAM.to_owned(),
                    package: "shop".to_owned(),
                    target: "test `load`".to_owned(),
                }],
                files: files.collect(),
            },
            entries: contents
                .map(|(path, bytes)| (path.to_owned(), EntryType::Regular, bytes))
                .to_vec(),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        let manifest = serde_json::to_vec(&self.manifest).unwrap();
        let first = (MANIFEST.to_owned(), EntryType::Regular, manifest);
        for (path, kind, bytes) in std::iter::once(&first).chain(&self.entries) {
            let mut header = Header::new_ustar();
            // `set_path` refuses what a bundle must not hold.
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_size(bytes.len() as u64);
            header.set_entry_type(*kind);
            header.set_mode(0o644);
            header.set_cksum();
            archive.append(&header, &**bytes).unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap()
    }

    /// Renames the data file, in the manifest too.
    fn move_feed(&mut self, path: &str) {
        path.clone_into(&mut self.manifest.files[1].path);
        path.clone_into(&mut self.entries[1].0);
    }
}

/// A folder to unpack in, which is within one of its own.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn inside(&self) -> PathBuf {
        self.0.path().join("inside")
    }

    fn open(&self, bytes: &[u8]) -> Result<OpenedBundle, Error> {
        let path = self.0.path().join("a.bundle");
        fs::write(&path, bytes).unwrap();
        open_bundle(&path, &self.inside())
    }

    /// The names beside the folder to unpack in.
    fn outside(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "inside").collect()
    }
}

fn refusal(sample: &Sample) -> String {
    let place = Place::new();
    let error = place.open(&sample.to_bytes()).unwrap_err();
    assert_eq!(error.exit_code(), ExitCode::Usage, "{error}");
    assert_eq!(place.outside(), ["a.bundle"]);
    error.to_string()
}

#[test]
fn a_bundle_is_unpacked_as_it_was_written() {
    let place = Place::new();
    let bundle = place.open(&Sample::new().to_bytes()).unwrap();
    assert_eq!(bundle.scenarios, ["shop::load::visit"]);
    assert_eq!(bundle.hash.len(), 64);
    let [binary] = &*bundle.binaries else {
        panic!("{bundle:?}");
    };
    assert_eq!(binary.package_root, place.inside().join("packages/shop"));
    assert_eq!(fs::read(place.inside().join(FEED)).unwrap(), b"name\nada\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&binary.executable), 0o700);
        assert_eq!(mode(&place.inside().join(FEED)), 0o600);
    }
}

#[test]
fn paths_that_lead_out_are_refused() {
    for path in [
        "/etc/passwd",
        "../outside",
        "packages/../../outside",
        "packages/./a",
        "packages//a",
        "packages\\a",
        "C:/a",
        "packages/a\n",
        "packages/",
        "elsewhere/a",
        "bundle.json",
        PROGRAM,
    ] {
        let mut sample = Sample::new();
        sample.move_feed(path);
        let words = refusal(&sample);
        assert!(
            words.contains("is not a valid path in a bundle") || words.contains("is not allowed"),
            "{path}: {words}"
        );
    }
    let mut sample = Sample::new();
    sample.manifest.programs[0].package = "..".to_owned();
    refusal(&sample);
}

#[test]
fn entries_that_are_no_files_are_refused() {
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Directory,
        EntryType::Fifo,
        EntryType::GNULongName,
        EntryType::XHeader,
    ] {
        let mut sample = Sample::new();
        sample.entries[1].1 = kind;
        assert!(
            refusal(&sample).contains("differ from its list"),
            "{kind:?}"
        );
    }
}

#[test]
fn files_are_those_of_the_manifest() {
    let mut larger = Sample::new();
    larger.entries[1].2.push(b'x');
    assert!(refusal(&larger).contains("has changed"));
    let mut other = Sample::new();
    other.entries[1].2[5] = b'x';
    assert!(refusal(&other).contains("has changed"));
    let mut missing = Sample::new();
    missing.entries.pop();
    assert!(refusal(&missing).contains("is missing"));
    let mut more = Sample::new();
    more.entries.push(more.entries[1].clone());
    assert!(refusal(&more).contains("differ from its list"));
    let mut huge = Sample::new();
    huge.manifest.files[1].bytes = u64::MAX;
    assert!(refusal(&huge).contains("too large"));
    let mut foreign = Sample::new();
    foreign.entries[0].2 = b"#!/bin/sh\n".to_vec();
    foreign.manifest.files[0].bytes = 10;
    foreign.manifest.files[0].sha256 = hash_bytes(b"#!/bin/sh\n");
    assert!(refusal(&foreign).contains("is not a load test"));
}

#[test]
fn another_version_or_machine_is_one_clear_message() {
    let mut version = Sample::new();
    version.manifest.tool = "99.0.0".to_owned();
    assert!(refusal(&version).contains("it was created by cargo-loadtest 99.0.0, and this is "));
    let mut machine = Sample::new();
    machine.manifest.platform = "riscv64-plan9".to_owned();
    assert!(refusal(&machine).contains("its programs are for riscv64-plan9, and this machine is "));
    let mut library = Sample::new();
    library.manifest.platform = format!("{}-{}-musl", std::env::consts::ARCH, std::env::consts::OS);
    assert!(Place::new().open(&library.to_bytes()).is_ok());
}

#[test]
fn what_is_no_bundle_is_refused() {
    for bytes in [&b""[..], b"#!/bin/sh\n", b"\x1f\x8b\x08\x00"] {
        let error = Place::new().open(bytes).unwrap_err();
        let words = error.to_string();
        assert!(words.contains("is not a bundle, or is damaged"), "{words}");
    }
}

proptest! {
    /// A damaged bundle is opened or refused, and leaves nothing outside of its folder.
    #[test]
    fn damaged_bundles_write_nothing_outside(at in 0..4000_usize, flip in 1..=255_u8, cut in 0..2_usize) {
        let bytes = Sample::new().to_bytes();
        let mut archive = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*bytes), &mut archive).unwrap();
        let at = at % archive.len();
        archive[at] ^= flip;
        if cut == 1 {
            archive.truncate(at + 1);
        }
        let mut again = GzEncoder::new(Vec::new(), Compression::fast());
        std::io::Write::write_all(&mut again, &archive).unwrap();
        let place = Place::new();
        let _ = place.open(&again.finish().unwrap());
        prop_assert_eq!(place.outside(), ["a.bundle"]);
    }
}
