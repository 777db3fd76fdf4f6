//! What all pages share: the workspace, its store, and the work under way.

use super::command::{CommandOutput, run_command};
use super::editor::Checks;
use super::guard::{Door, Guard};
use super::listing::ListedScenarios;
use super::notices::{Notice, Notices};
use super::route::Route;
use super::runs::Runs;
use super::watch::Watched;
use crate::archive::{Archive, Index};
use crate::cli::CargoArgs;
use crate::commands::Project;
use crate::config::{Config, FILE_NAME};
use crate::policy::{self, Action, Caller};
use crate::store::Store;
use crate::workspace::Workspace;
use loadtest_console::error::Error;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::protocol::DebugEvent;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// The changes that the page of events remembers.
const CHANGES: usize = 200;

/// The dashboard, as one visitor sees it.
#[derive(Debug)]
pub(super) struct Dashboard {
    state: Arc<State>,
    /// Whom a proxy names; nobody in a dashboard of one user.
    visitor: Option<Caller>,
}

/// The state of the server.
#[derive(Debug)]
pub(super) struct State {
    /// Where commands run.
    pub(super) folder: PathBuf,
    pub(super) root: PathBuf,
    workspace: Mutex<Arc<Workspace>>,
    /// The options of this call for cargo, which all commands get, too.
    cargo: CargoArgs,
    pub(super) store: Store,
    /// Flags of this call that other commands of a project get, too.
    project_flags: Vec<String>,
    guard: Mutex<Guard>,
    /// True if pages may change sources.
    is_editable: bool,
    pub(super) runs: Runs,
    index: Mutex<Index>,
    pub(super) scenarios: ListedScenarios,
    pub(super) checks: Checks,
    last_edit: Mutex<Option<LastEdit>>,
    import_draft: Mutex<Option<ImportDraft>>,
    watched: Mutex<Option<Watched>>,
    journeys: Mutex<BTreeMap<String, Journey>>,
    pub(super) notices: Notices,
    changes: Mutex<VecDeque<SavedChange>>,
}

/// One journey of a scenario, as it was tried last.
#[derive(Debug, Clone)]
pub(super) enum Journey {
    Running,
    Ended(Vec<DebugEvent>),
    Failed(String),
}

/// Requests that were read and not saved.
#[derive(Debug, Clone)]
pub(super) struct ImportDraft {
    /// Names what a page shows, so that nothing else is saved.
    pub(super) number: String,
    /// The format, in words.
    pub(super) format: String,
    /// The source that would be written.
    pub(super) source: String,
    /// A name for its module.
    pub(super) name: String,
    /// What `import` says of it.
    pub(super) messages: String,
}

/// The last change of a source file, so that it can be taken back.
#[derive(Debug, Clone)]
pub(super) struct LastEdit {
    pub(super) path: PathBuf,
    pub(super) before: String,
    pub(super) after: String,
}

/// Something that this server did.
#[derive(Debug, Clone)]
pub(super) struct SavedChange {
    pub(super) at: String,
    /// Who asked for it, in a shared dashboard.
    pub(super) by: Option<String>,
    pub(super) text: String,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Deref for Dashboard {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl Dashboard {
    /// The dashboard of a project; with `is_editable`, its pages may change sources.
    pub(super) fn new(
        project: &Project<'_>,
        store: Store,
        guard: Guard,
        is_editable: bool,
    ) -> Self {
        let folder = project.workspace.start.clone();
        let state = State {
            root: project.workspace.root().to_path_buf(),
            workspace: Mutex::new(Arc::new(project.workspace.clone())),
            cargo: project.cargo_args().clone(),
            project_flags: project.flags(),
            guard: Mutex::new(guard),
            is_editable,
            runs: Runs::new(&folder),
            index: Mutex::new(Index::load(store.directory())),
            scenarios: ListedScenarios::default(),
            checks: Checks::default(),
            last_edit: Mutex::default(),
            import_draft: Mutex::default(),
            watched: Mutex::default(),
            journeys: Mutex::default(),
            notices: Notices::default(),
            changes: Mutex::default(),
            folder,
            store,
        };
        Self {
            state: Arc::new(state),
            visitor: None,
        }
    }

    /// Returns the workspace as cargo knew it last.
    pub(super) fn workspace(&self) -> Arc<Workspace> {
        Arc::clone(&lock(&self.workspace))
    }

    /// Asks cargo again, since a load test may have been added; keeps what is known where cargo does not answer.
    pub(super) fn reload_workspace(&self) {
        if let Ok(workspace) = Workspace::load_or_folder(&self.cargo) {
            *lock(&self.workspace) = Arc::new(workspace);
        }
    }

    /// The same dashboard, for the user whom a proxy names.
    pub(super) fn for_visitor(&self, user: String) -> Self {
        let caller = Caller {
            names: vec![user],
            source: "the proxy",
        };
        Self {
            state: Arc::clone(&self.state),
            visitor: Some(caller),
        }
    }

    pub(super) fn guard(&self) -> MutexGuard<'_, Guard> {
        lock(&self.guard)
    }

    /// Returns the name of the visitor whom a proxy names.
    pub(super) fn visitor(&self) -> Option<&str> {
        let caller = self.visitor.as_ref()?;
        caller.names.first().map(String::as_str)
    }

    /// Returns whoever looks at the pages.
    pub(super) fn caller(&self) -> Option<Caller> {
        let caller = self.visitor.clone();
        caller.or_else(|| Caller::of_process(&self.folder))
    }

    /// Returns the reason why a visitor may see nothing: they are no member of the organisation.
    pub(super) fn stranger(&self) -> Option<String> {
        let visitor = self.visitor.as_ref()?;
        match self.config() {
            Ok(config) if visitor.level(&config).is_some() => None,
            Ok(_) => Some(format!(
                "{} is not a member: `[organisation.members]` in `{FILE_NAME}` has no such name",
                visitor.describe()
            )),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Returns an address that opens the dashboard in a browser: once, unless a proxy is before it.
    pub(super) fn open_address(&self) -> String {
        let mut guard = self.guard();
        let port = match guard.door() {
            Door::Proxy(proxy) => return proxy.origin().to_owned(),
            Door::Cookie { port, .. } => *port,
        };
        let code = guard.new_code(Instant::now());
        format!("http://127.0.0.1:{port}{}", Route::Open(code).path())
    }

    /// Returns the name of the workspace.
    pub(super) fn name(&self) -> String {
        let name = self.root.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Reads `loadtest.toml` as it is now.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn config(&self) -> Result<Config, Error> {
        Config::load(&self.folder, &self.root)
    }

    /// Returns the reason why the caller may not do `action`, in the words of the command line.
    pub(super) fn refusal(&self, action: Action) -> Option<String> {
        if self.guard().is_read_only() {
            return Some("this dashboard is read-only".to_owned());
        }
        if !self.is_editable && matches!(action, Action::Edit | Action::Duplicate) {
            return Some("sources are not changed in this shared dashboard".to_owned());
        }
        let permitted = self.config().and_then(|config| match &self.visitor {
            Some(visitor) => policy::judge(action, &config, Some(visitor)),
            None => policy::permits(action, &config, &self.folder),
        });
        permitted.err().map(|error| error.to_string())
    }

    /// Reads the summaries of all runs; a store without runs is empty.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn archive(&self) -> Result<Archive, Error> {
        match Archive::read_with(&mut lock(&self.index), &self.store, |_, _| ()) {
            Err(error) if error.exit_code() == ExitCode::NothingFound => Ok(Archive {
                directory: self.store.directory().to_path_buf(),
                entries: Vec::new(),
                unreadable: Vec::new(),
            }),
            read => read,
        }
    }

    /// Runs a command to its end; `words` are those after `cargo loadtest`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn run(&self, words: &[&str], flags: Flags) -> Result<CommandOutput, Error> {
        self.run_words(&self.arguments(words, flags))
    }

    /// Runs a command of which all words are given.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn run_words(&self, words: &[String]) -> Result<CommandOutput, Error> {
        run_command(&self.folder, words, self.visitor())
    }

    /// Returns the arguments of a command with the flags that it gets from this call.
    pub(super) fn arguments(&self, words: &[&str], flags: Flags) -> Vec<String> {
        let flags = match flags {
            Flags::Cargo => &self.cargo.flags(),
            Flags::Project => &self.project_flags,
        };
        let (command, rest) = words.split_at(words.len().min(1));
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let parts: [Vec<String>; 3] = [words(command), flags.clone(), words(rest)];
        parts.concat()
    }

    /// Returns the flags that every command of cargo gets.
    pub(super) fn cargo_flags(&self) -> Vec<String> {
        self.cargo.flags()
    }

    pub(super) fn import_draft(&self) -> Option<ImportDraft> {
        lock(&self.import_draft).clone()
    }

    pub(super) fn set_import_draft(&self, draft: Option<ImportDraft>) {
        *lock(&self.import_draft) = draft;
    }

    pub(super) fn last_edit(&self) -> Option<LastEdit> {
        lock(&self.last_edit).clone()
    }

    pub(super) fn set_last_edit(&self, edit: Option<LastEdit>) {
        *lock(&self.last_edit) = edit;
    }

    /// Returns the name of the run under way, whoever started it: that of this server, else the newest.
    pub(super) fn run_under_way(&self) -> Option<String> {
        let own = self.runs.current().and_then(|current| current.run);
        own.or_else(|| {
            self.store
                .newest_under_way()
                .map(|folder| folder.identifier())
        })
    }

    /// Reads on in the journals of a run under way, and shows what is known of it.
    ///
    /// # Errors
    /// When the run has written nothing.
    pub(super) fn watch<T>(&self, run: &str, show: impl FnOnce(&Watched) -> T) -> Result<T, Error> {
        let mut watched = lock(&self.watched);
        if watched.as_ref().is_none_or(|watched| watched.run != run) {
            *watched = Some(Watched::open(&self.store.find(run)?)?);
        }
        let watched = watched.as_mut().expect("it was just opened");
        watched.refresh();
        Ok(show(watched))
    }

    pub(super) fn journey(&self, identity: &str) -> Option<Journey> {
        lock(&self.journeys).get(identity).cloned()
    }

    pub(super) fn set_journey(&self, identity: &str, journey: Journey) {
        lock(&self.journeys).insert(identity.to_owned(), journey);
    }

    /// Leaves a notice for the page at `path`, and remembers it among the events. Returns the address that shows it.
    pub(super) fn leave_notice(
        &self,
        path: &str,
        is_good: bool,
        text: impl Into<String>,
    ) -> String {
        let text = text.into();
        let mut changes = lock(&self.changes);
        changes.push_front(SavedChange {
            at: crate::store::now(),
            by: self.visitor().map(str::to_owned),
            text: text.clone(),
        });
        changes.truncate(CHANGES);
        self.notices.leave(path, Notice { is_good, text })
    }

    /// Returns what this server did, the newest first.
    pub(super) fn changes(&self) -> Vec<SavedChange> {
        lock(&self.changes).iter().cloned().collect()
    }

    /// Returns a path below the workspace as people know it.
    pub(super) fn shown_path<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }
}

/// Which flags of this call a command gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flags {
    /// Those that every command has: `--manifest-path` and the like.
    Cargo,
    /// Those of commands about scenarios besides: packages, profile, features.
    Project,
}
