//! The load tests of an agent: those that it was started with, or those of a signed bundle that it took.

use super::bundles::download;
use super::messages::Answer;
use super::signature::{BundleKey, SignedBundle};
use crate::selection::Found;
use crate::workspace;
use async_nats::Client;
use loadtest_console::error::Error;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::task::{JoinHandle, spawn_blocking, spawn_local};

/// Scenarios that can run, with the files they need.
#[derive(Default)]
pub(crate) struct Programs {
    pub(super) scenarios: Vec<Found>,
    /// The scenarios, each with the SHA-256 of its program.
    pub(super) hashes: BTreeMap<String, String>,
    /// The hash of the bundle that they are from.
    pub(super) bundle: Option<String>,
    /// The folder of the bundle, which goes with this.
    _folder: Option<TempDir>,
}

/// Opens a bundle that is checked.
pub(crate) type OpenPrograms = dyn Fn(&Path) -> Result<Programs, Error> + Send + Sync;

/// The bundles that an agent takes.
pub(crate) struct Acceptance {
    /// The key that signs them.
    pub(crate) key: BundleKey,
    /// Finds the scenarios of one.
    pub(crate) open: Arc<OpenPrograms>,
}

/// A bundle on its way, or the last one that came.
#[derive(Default)]
pub(super) enum Taking {
    #[default]
    Nothing,
    Fetching(SignedBundle, JoinHandle<Result<Programs, Error>>),
    /// The SHA-256 of the file.
    Taken(String),
}

impl Programs {
    /// Takes scenarios, and hashes their programs.
    ///
    /// # Errors
    /// When a program cannot be read.
    pub(crate) fn new(
        scenarios: Vec<Found>,
        bundle: Option<String>,
        folder: Option<TempDir>,
    ) -> Result<Self, Error> {
        let mut known: BTreeMap<&Path, String> = BTreeMap::new();
        let mut hashes = BTreeMap::new();
        for found in &scenarios {
            let program = found.binary.executable.as_path();
            let hash = match known.get(program) {
                Some(hash) => hash.clone(),
                None => workspace::hash(program)?,
            };
            known.insert(program, hash.clone());
            hashes.insert(found.definition.identity(), hash);
        }
        Ok(Self {
            scenarios,
            hashes,
            bundle,
            _folder: folder,
        })
    }
}

impl Taking {
    /// Returns true if a bundle is on its way.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self, Self::Fetching(_, task) if !task.is_finished())
    }

    /// Returns true if this bundle is here.
    pub(super) fn has(&self, sha256: &str) -> bool {
        matches!(self, Self::Taken(taken) if taken == sha256)
    }

    /// Begins to fetch a bundle, or says how far that is; its programs come with the end.
    pub(super) async fn take(
        &mut self,
        bundle: SignedBundle,
        acceptance: &Acceptance,
        client: &Client,
    ) -> (Answer, Option<Programs>) {
        if self.has(&bundle.sha256) {
            return (Answer::Accepted, None);
        }
        if let Err(error) = bundle.check(&acceptance.key) {
            return (Answer::refuse(&error), None);
        }
        if self.is_busy() {
            let is_same = matches!(self, Self::Fetching(other, _) if *other == bundle);
            let answer = if is_same {
                Answer::Fetching
            } else {
                Answer::Busy
            };
            return (answer, None);
        }
        match std::mem::take(self) {
            Self::Fetching(other, task) if other == bundle => match task.await {
                Ok(Ok(programs)) => {
                    *self = Self::Taken(bundle.sha256);
                    (Answer::Accepted, Some(programs))
                }
                Ok(Err(error)) => (Answer::refuse(&error), None),
                Err(error) => (
                    Answer::refuse(&Error::failure(format!(
                        "the bundle was not accepted: {error}"
                    ))),
                    None,
                ),
            },
            // The programs of the one before stay until this one is here.
            _ => {
                let open = Arc::clone(&acceptance.open);
                let fetching = fetch(client.clone(), bundle.clone(), open);
                *self = Self::Fetching(bundle, spawn_local(fetching));
                (Answer::Fetching, None)
            }
        }
    }
}

/// Downloads a bundle, and opens it once it is known to be the one that was signed.
async fn fetch(
    client: Client,
    bundle: SignedBundle,
    open: Arc<OpenPrograms>,
) -> Result<Programs, Error> {
    let folder =
        tempfile::tempdir().map_err(Error::io("create a folder in", std::env::temp_dir()))?;
    let path = folder.path().join("taken.bundle");
    download(&client, &bundle, &path).await?;
    let opened = spawn_blocking(move || {
        bundle.check_file(&path)?;
        let opened = open(&path);
        drop(folder);
        opened
    });
    let opened = opened.await;
    opened.map_err(|error| Error::failure(format!("the bundle was not opened: {error}")))?
}
