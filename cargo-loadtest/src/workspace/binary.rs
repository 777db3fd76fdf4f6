//! Built load tests: known by the bytes they hold, never by running them.

use loadtest_console::error::Error;
use loadtest_model::protocol::{BASE_URL_VARIABLE, Listing, MARKER_PREFIX, VERSION};
use memchr::memmem;
use ring::digest::{Context, SHA256};
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

const CHUNK: usize = 256 * 1024;
const DIGITS: usize = 2;

/// A load test that may be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binary {
    /// The name of the package.
    pub(crate) package: String,
    /// The folder of the package.
    pub(crate) package_root: PathBuf,
    /// The target in words: test `load`.
    pub(crate) target: String,
    /// The program.
    pub(crate) executable: PathBuf,
    /// The requests to send, if this tool itself is the program.
    pub(crate) script: Option<Script>,
    /// The folder with a folder for each package, if a bundle holds the program.
    pub(crate) packages: Option<PathBuf>,
}

/// A scenario as data: one line, which goes to the program that sends it and nowhere else, since there are secrets in
/// it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Script(pub(crate) String);

impl fmt::Debug for Script {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Script")
    }
}

impl Binary {
    /// Opens a load test that is already built.
    ///
    /// # Errors
    /// When there is no load test at `path`, or one of another version of the protocol.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let folder = loadtest_console::process::directory()
            .map_err(Error::io("enter", PathBuf::from(".")))?;
        let executable = folder.join(path);
        let binary = Self {
            package: String::new(),
            package_root: folder,
            target: format!("program `{}`", path.display()),
            executable,
            script: None,
            packages: None,
        };
        let unreadable =
            |error| Error::usage(format!("could not open `{}`: {error}", path.display()));
        let found = File::open(&binary.executable).and_then(find_protocol);
        match found.map_err(unreadable)? {
            Some(VERSION) => Ok(binary),
            Some(theirs) => Err(binary.wrong_protocol(theirs)),
            None => Err(Error::usage(format!(
                "`{}` is not a load test: no `loadtest::main!` is in it",
                path.display()
            ))
            .with_help("`cargo test --no-run` prints the path of each program that it builds")),
        }
    }

    /// Takes over the package that the program names in its listing.
    ///
    /// # Errors
    /// When the folder of that package, with its data and `loadtest.toml`, is gone.
    pub(crate) fn belongs_to(&mut self, listing: &Listing) -> Result<(), Error> {
        if !listing.package_root.is_dir() {
            return Err(Error::usage(format!(
                "the {} was built in `{}`, which does not exist here",
                self.target,
                listing.package_root.display()
            ))
            .with_help("run it where its package is: `loadtest.toml` and data files are read from that folder"));
        }
        self.package.clone_from(&listing.package);
        self.package_root.clone_from(&listing.package_root);
        Ok(())
    }

    /// Returns the program in words: test `load` of package `shop`.
    pub(crate) fn description(&self) -> String {
        if self.package.is_empty() {
            self.target.clone()
        } else {
            format!("{} of package `{}`", self.target, self.package)
        }
    }

    /// Returns the base URL of the environment. Curl commands name their own host.
    pub(crate) fn base_url_of_environment(&self) -> Option<String> {
        let given = match self.script {
            Some(_) => None,
            None => loadtest_console::process::variable(BASE_URL_VARIABLE),
        };
        given.filter(|url| !url.is_empty())
    }

    /// Looks for the marker that `loadtest::main!` leaves.
    ///
    /// # Errors
    /// When there is none, or one of another version of the protocol.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let file = File::open(&self.executable).map_err(Error::io("open", &self.executable))?;
        let found = find_protocol(file).map_err(Error::io("read", &self.executable))?;
        match found {
            Some(VERSION) => Ok(()),
            Some(theirs) => Err(self.wrong_protocol(theirs)),
            None => Err(Error::usage(format!(
                "the {} is not a load test, though its source calls `loadtest::main!`",
                self.description()
            ))
            .with_help(
                "does the macro come from this `loadtest`, not from another crate of that name?",
            )),
        }
    }

    fn wrong_protocol(&self, theirs: u32) -> Error {
        let help = if theirs > VERSION {
            "update this tool, `cargo-loadtest`, to the version of the library"
        } else {
            "update the dependency `loadtest` of the package to the version of this tool"
        };
        Error::usage(format!(
            "the {} speaks version {theirs} of the protocol, this tool version {VERSION}",
            self.description()
        ))
        .with_help(help)
    }
}

/// SHA-256 of a file, in hexadecimal.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn hash(path: &Path) -> Result<String, Error> {
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    let mut hasher = Context::new(&SHA256);
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk).map_err(Error::io("read", path))? {
            0 => break,
            read => hasher.update(&chunk[..read]),
        }
    }
    Ok(hasher
        .finish()
        .as_ref()
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }))
}

/// The version in the marker of a program; `None` where there is no marker.
fn find_protocol(mut program: impl Read) -> io::Result<Option<u32>> {
    let length = MARKER_PREFIX.len() + DIGITS;
    let mut window = Vec::with_capacity(CHUNK + length);
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = program.read(&mut chunk)?;
        if read == 0 {
            return Ok(None);
        }
        window.extend_from_slice(&chunk[..read]);
        let mut places = memmem::find_iter(&window, MARKER_PREFIX);
        if let Some(version) = places.find_map(|at| version(&window[at + MARKER_PREFIX.len()..])) {
            return Ok(Some(version));
        }
        // A marker may lie across two chunks.
        let rest = window.len().saturating_sub(length - 1);
        window.drain(..rest);
    }
}

fn version(after: &[u8]) -> Option<u32> {
    let digits = after.get(..DIGITS)?;
    // The prefix alone, as a constant of the library, is no marker.
    digits.iter().all(u8::is_ascii_digit).then(|| {
        digits
            .iter()
            .fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(before: usize, marker: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0xa5; before];
        bytes.extend_from_slice(marker);
        bytes.extend_from_slice(&[0; 1000]);
        bytes
    }

    fn marker(digits: &str) -> Vec<u8> {
        [MARKER_PREFIX, digits.as_bytes()].concat()
    }

    #[test]
    fn a_marker_is_found_wherever_it_lies() {
        for before in [0, 7, CHUNK - 1, CHUNK - 20, 3 * CHUNK - 3] {
            let found = find_protocol(program(before, &marker("01")).as_slice()).unwrap();
            assert_eq!(found, Some(1), "{before}");
        }
    }

    #[test]
    fn a_marker_is_found_in_single_bytes() {
        struct Trickle<'a>(&'a [u8]);
        impl Read for Trickle<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let few = buffer.len().min(1);
                self.0.read(&mut buffer[..few])
            }
        }
        let bytes = program(50, &marker("42"));
        assert_eq!(find_protocol(Trickle(&bytes)).unwrap(), Some(42));
    }

    #[test]
    fn the_prefix_alone_is_no_marker() {
        let mut bytes = program(10, MARKER_PREFIX);
        assert_eq!(find_protocol(bytes.as_slice()).unwrap(), None);
        bytes.extend(marker("01"));
        assert_eq!(find_protocol(bytes.as_slice()).unwrap(), Some(1));
        assert_eq!(find_protocol(io::empty()).unwrap(), None);
    }

    #[test]
    fn a_hash_is_that_of_the_bytes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        assert_eq!(
            hash(file.path()).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn the_outdated_side_is_named() {
        let binary = Binary {
            package: "shop".to_owned(),
            package_root: PathBuf::new(),
            target: "test `load`".to_owned(),
            executable: PathBuf::new(),
            script: None,
            packages: None,
        };
        let help = |theirs| binary.wrong_protocol(theirs).help().unwrap().to_owned();
        assert!(help(VERSION + 1).contains("update this tool"));
        assert!(help(VERSION - 1).contains("update the dependency"));
    }
}
