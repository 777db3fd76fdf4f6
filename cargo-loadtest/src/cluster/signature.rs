//! Keys that sign bundles. An agent runs the programs of a bundle only if its operator trusts the key.

use crate::workspace;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::files;
use nkeys::KeyPair;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

/// The most bytes of a bundle that travels through the server.
pub(super) const LARGEST_BUNDLE: u64 = 512 << 20;
/// Begins what is signed, so that a signature means nothing elsewhere.
const CONTEXT: &str = "loadtest bundle 1 ";

/// A public key, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BundleKey(String);

/// A bundle that somebody answers for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SignedBundle {
    /// The SHA-256 of the file, in hexadecimal.
    pub(super) sha256: String,
    /// The size of the file.
    pub(super) bytes: u64,
    /// The signature of the hash, in Base64.
    pub(super) signature: String,
}

impl BundleKey {
    /// Reads a public key.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        match KeyPair::from_public_key(text) {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(_) => Err(
                Error::usage("`--accept-bundles` is not a public key for bundles").with_help(
                    "make a pair with `cargo loadtest bundle --new-key FILE`, which prints it",
                ),
            ),
        }
    }

    /// Returns the key as it is written.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Writes a new secret key to a file that only its owner can read; returns the public key.
///
/// # Errors
/// When the file is there already, or cannot be written.
pub(crate) fn create_key(path: &Path) -> Result<BundleKey, Error> {
    let pair = KeyPair::new_user();
    let seed = pair.seed().map_err(unusable(path))?;
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let file = options.open(path);
    file.and_then(|mut file| writeln!(file, "{seed}"))
        .map_err(|error| {
            let is_there = error.kind() == ErrorKind::AlreadyExists;
            let error = Error::io("create", path)(error);
            if is_there {
                error.with_help("give another name: an existing key is never overwritten")
            } else {
                error
            }
        })?;
    Ok(BundleKey(pair.public_key()))
}

/// Warns of a secret key that other users of the machine can read.
fn warn_of_readers(key: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let others = |mode: u32| mode & 0o077 != 0;
        if std::fs::metadata(key).is_ok_and(|found| others(found.permissions().mode())) {
            let path = key.display();
            console::print_warning(format_args!(
                "other users can read the secret key `{path}`: `chmod 600` it"
            ));
        }
    }
    #[cfg(not(unix))]
    let _ = key;
}

fn unusable(path: &Path) -> impl Fn(nkeys::error::Error) -> Error {
    // The error is not told: it could quote the secret.
    move |_| {
        Error::usage(format!("`{}` holds no key for bundles", path.display()))
            .with_help("make one with `cargo loadtest bundle --new-key FILE`")
    }
}

impl SignedBundle {
    /// Signs the bundle at `path` with the secret key in `key`; returns the public key too.
    ///
    /// # Errors
    /// When a file cannot be read, or the bundle is too large.
    pub(super) fn sign(path: &Path, key: &Path) -> Result<(Self, BundleKey), Error> {
        warn_of_readers(key);
        let seed = files::read(key).map_err(Error::io("read", key))?;
        let seed = String::from_utf8_lossy(&seed);
        let pair = KeyPair::from_seed(seed.trim()).map_err(unusable(key))?;
        let bytes = std::fs::metadata(path)
            .map_err(Error::io("read", path))?
            .len();
        let sha256 = workspace::hash(path)?;
        let signature = pair.sign(&signed_text(&sha256)).map_err(unusable(key))?;
        let bundle = Self {
            sha256,
            bytes,
            signature: BASE64_STANDARD.encode(signature),
        };
        bundle.check_size()?;
        Ok((bundle, BundleKey(pair.public_key())))
    }

    /// Checks what is known before the file comes: its size, and who signed its hash.
    ///
    /// # Errors
    /// When it is too large, or another key signed it.
    pub(super) fn check(&self, key: &BundleKey) -> Result<(), Error> {
        self.check_size()?;
        let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        let is_hash = self.sha256.len() == 64 && self.sha256.bytes().all(is_digit);
        let signature = BASE64_STANDARD.decode(&self.signature).ok();
        let pair = KeyPair::from_public_key(key.as_str()).ok();
        match (pair, signature) {
            (Some(pair), Some(signature))
                if is_hash && pair.verify(&signed_text(&self.sha256), &signature).is_ok() =>
            {
                Ok(())
            }
            _ => Err(Error::failure(format!(
                "the bundle is not signed with the key that it accepts, {}",
                key.as_str()
            ))),
        }
    }

    /// Checks that the file at `path` is the one that was signed.
    ///
    /// # Errors
    /// When it is another one, or cannot be read.
    pub(super) fn check_file(&self, path: &Path) -> Result<(), Error> {
        if workspace::hash(path)? == self.sha256 {
            return Ok(());
        }
        Err(Error::failure(
            "the bundle that the server keeps is not the one that was signed",
        ))
    }

    fn check_size(&self) -> Result<(), Error> {
        if (1..=LARGEST_BUNDLE).contains(&self.bytes) {
            return Ok(());
        }
        Err(Error::usage(format!(
            "the bundle has {} bytes, but the server passes at most {} MiB",
            self.bytes,
            LARGEST_BUNDLE >> 20
        ))
        .with_help("copy it to the agents, and start them with `--bundle`"))
    }
}

fn signed_text(sha256: &str) -> Vec<u8> {
    format!("{CONTEXT}{sha256}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Keys {
        folder: tempfile::TempDir,
        public: BundleKey,
        bundle: SignedBundle,
    }

    fn signed() -> Keys {
        let folder = tempfile::tempdir().unwrap();
        let (file, key) = (folder.path().join("a.bundle"), folder.path().join("key"));
        std::fs::write(&file, b"bytes of a bundle").unwrap();
        let public = create_key(&key).unwrap();
        let (bundle, signer) = SignedBundle::sign(&file, &key).unwrap();
        assert_eq!(signer, public);
        Keys {
            folder,
            public,
            bundle,
        }
    }

    #[test]
    fn a_key_is_readable_by_its_owner_alone_and_never_overwritten() {
        let Keys { folder, .. } = signed();
        let path = folder.path().join("key");
        let before = std::fs::read(&path).unwrap();
        assert!(create_key(&path).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), before);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = path.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn only_the_bundle_that_the_key_signed_is_accepted() {
        let Keys {
            folder,
            public,
            bundle,
        } = signed();
        bundle.check(&public).unwrap();
        bundle.check_file(&folder.path().join("a.bundle")).unwrap();

        let other = create_key(&folder.path().join("other")).unwrap();
        let refusal = bundle.check(&other).unwrap_err().to_string();
        assert!(refusal.contains("not signed with the key"), "{refusal}");
        let spoiled = [
            SignedBundle {
                sha256: bundle.sha256.replace(|_| true, "0"),
                ..bundle.clone()
            },
            SignedBundle {
                sha256: bundle.sha256.to_uppercase(),
                ..bundle.clone()
            },
            SignedBundle {
                signature: bundle.signature[4..].to_owned(),
                ..bundle.clone()
            },
            SignedBundle {
                signature: "?".to_owned(),
                ..bundle.clone()
            },
            SignedBundle {
                bytes: LARGEST_BUNDLE + 1,
                ..bundle.clone()
            },
            SignedBundle {
                bytes: 0,
                ..bundle.clone()
            },
        ];
        for one in spoiled {
            assert!(one.check(&public).is_err(), "{one:?}");
        }

        let changed = folder.path().join("changed");
        std::fs::write(&changed, b"bytes of a bundlf").unwrap();
        let refusal = bundle.check_file(&changed).unwrap_err().to_string();
        assert!(refusal.contains("not the one that was signed"), "{refusal}");
    }

    #[test]
    fn what_is_no_key_is_refused_without_its_text() {
        assert!(BundleKey::parse("canary").is_err());
        let Keys { folder, public, .. } = signed();
        assert_eq!(BundleKey::parse(public.as_str()).unwrap(), public);
        let (file, wrong) = (folder.path().join("a.bundle"), folder.path().join("wrong"));
        std::fs::write(&wrong, "SUcanary").unwrap();
        let refusal = SignedBundle::sign(&file, &wrong).unwrap_err().to_string();
        assert!(refusal.contains("holds no key") && !refusal.contains("canary"));
    }
}
