//! `cargo loadtest ui`: the dashboard, a local web page over the runs and scenarios of a workspace.
//!
//! The pages are functions from data to HTML. Runs and all other work are commands of this program as child processes, so
//! that they do what the command line does. Only sources of scenarios are changed here, by the room `source`.

mod answer;
mod assets;
mod command;
mod dashboard;
mod editor;
mod frame;
mod guard;
mod listen;
mod listing;
mod live;
mod notices;
mod pages;
mod request;
mod route;
mod runs;
mod server;
mod stream;
mod watch;

use crate::cli::{Cli, UiArgs};
use crate::commands::Project;
use crate::config::{Config, FILE_NAME};
use crate::store::{Claim, Store};
use dashboard::Dashboard;
use guard::{Door, Guard, Proxy, SECRET_VARIABLE, random_secret};
use listen::{Listener, listen_on_loopback};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::files;
use loadtest_console::process;
use loadtest_model::exit_code::ExitCode;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A secret that is taken again after a restart is younger than this.
const SECRET_LIFE: Duration = Duration::from_secs(24 * 3600);
const ASK_LIMIT: Duration = Duration::from_secs(5);
/// How often, and after which pauses, a dashboard that is ending is looked for.
const CLAIM_TRIES: u32 = 30;
const CLAIM_PAUSE: Duration = Duration::from_millis(100);

/// The server of a workspace, as a second call finds it.
#[derive(Debug, Serialize, Deserialize)]
struct Running {
    #[serde(default)]
    is_read_only: bool,
    port: u16,
    secret: String,
    made: SystemTime,
}

/// Serves the dashboard until Ctrl-C.
///
/// # Errors
/// When there is no workspace, or no port to listen on.
pub(crate) fn ui(args: &UiArgs, cli: &Cli) -> Result<ExitCode, Error> {
    let project = Project::open_anywhere(&args.project, cli)?;
    let config = project.config()?;
    let store = Store::in_workspace(&project.workspace, &config);
    let folder = store.directory().join(".dashboard");
    std::fs::create_dir_all(&folder).map_err(Error::io("create the folder", &folder))?;
    let place = folder.join("server.json");
    let Some(_claim) = claim_folder(&folder)? else {
        return open_running(read_running(&place), &place, args);
    };
    let opening = match &args.shared.public_url {
        Some(public_url) => open_shared(public_url, &config, &project, args)?,
        None => open_local(&place, &project, args)?,
    };
    let guard = Guard::new(opening.door, args.read_only);
    let is_editable = args.shared.public_url.is_none() || args.shared.allow_edit;
    let dashboard = Arc::new(Dashboard::new(&project, store, guard, is_editable));
    let address = dashboard.open_address();
    console::print_result(&address)?;
    if args.shared.public_url.is_none() && !args.no_open {
        open_browser(&address);
    }
    server::serve(&dashboard, opening.listeners, &project.interrupts)?;
    Ok(ExitCode::Passed)
}

/// Who is let in, and where.
#[derive(Debug)]
struct Opening {
    door: Door,
    listeners: Vec<Listener>,
}

/// Listens for browsers of this machine, with the secret of the last start where it is young.
fn open_local(place: &PathBuf, project: &Project<'_>, args: &UiArgs) -> Result<Opening, Error> {
    let before = read_running(place);
    let (port, listeners) = listen_on_loopback(args.port, project.workspace.root())?;
    let old = before.filter(|before| {
        let is_young = before.made.elapsed().is_ok_and(|age| age < SECRET_LIFE);
        is_young && !args.fresh && before.port == port
    });
    let mut running = old.unwrap_or_else(|| Running {
        is_read_only: false,
        port,
        secret: random_secret(),
        made: SystemTime::now(),
    });
    running.is_read_only = args.read_only;
    write_running(place, &running)?;
    let secret = running.secret;
    Ok(Opening {
        door: Door::Cookie { port, secret },
        listeners,
    })
}

/// Listens for a proxy, which is on this machine, too.
fn open_shared(
    public_url: &str,
    config: &Config,
    project: &Project<'_>,
    args: &UiArgs,
) -> Result<Opening, Error> {
    let organisation = config.organisation.as_ref();
    if organisation.is_none_or(|organisation| organisation.members.is_empty()) {
        return Err(
            Error::usage("a shared dashboard needs the permissions of its users").with_help(
                format!("name its users in `[organisation.members]` of `{FILE_NAME}`"),
            ),
        );
    }
    let user_header = args.shared.user_header.as_deref().unwrap_or_default();
    let proxy = Proxy::new(public_url, user_header, process::variable(SECRET_VARIABLE))?;
    #[cfg(unix)]
    if let Some(path) = &args.shared.socket {
        let listeners = vec![listen::listen_at_path(path)?];
        console::print_status("Serving", path.display());
        return Ok(Opening {
            door: Door::Proxy(proxy),
            listeners,
        });
    }
    let (port, listeners) = listen_on_loopback(args.port, project.workspace.root())?;
    console::print_status("Serving", format!("http://127.0.0.1:{port}"));
    Ok(Opening {
        door: Door::Proxy(proxy),
        listeners,
    })
}

/// Claims the folder of the dashboard; none where another one runs. One that is just ending is waited for.
fn claim_folder(folder: &Path) -> Result<Option<Claim>, Error> {
    let place = folder.join("server.json");
    for _ in 0..CLAIM_TRIES {
        let claim = Claim::try_new(folder).map_err(Error::io("lock the folder", folder))?;
        let answers =
            || read_running(&place).is_some_and(|running| ask_for_address(&running).is_some());
        if claim.is_some() || answers() {
            return Ok(claim);
        }
        std::thread::sleep(CLAIM_PAUSE);
    }
    Ok(None)
}

fn read_running(place: &Path) -> Option<Running> {
    serde_json::from_slice(&files::read(place).ok()?).ok()
}

/// Writes the file that holds the secret, for this user alone.
fn write_running(place: &PathBuf, running: &Running) -> Result<(), Error> {
    let failed = || Error::io("write", place);
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(place).map_err(failed())?;
    #[cfg(unix)]
    {
        let only_us = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        file.set_permissions(only_us).map_err(failed())?;
    }
    drop(file);
    files::write_json(place, running)
}

/// Asks a dashboard for an address that opens it.
fn ask_for_address(running: &Running) -> Option<String> {
    let Running { port, secret, .. } = running;
    let ask = ureq::get(format!("http://127.0.0.1:{port}/code"))
        .config()
        .timeout_global(Some(ASK_LIMIT))
        .proxy(None)
        .build()
        .header("cookie", format!("loadtest_{port}={secret}"));
    ask.call().ok()?.body_mut().read_to_string().ok()
}

/// Opens the page of the dashboard that runs already.
fn open_running(running: Option<Running>, place: &Path, args: &UiArgs) -> Result<ExitCode, Error> {
    let no_answer = || {
        let place = place.display();
        Error::failure(format!(
            "another dashboard of this workspace runs, and `{place}` does not lead to it"
        ))
        .with_help("end it with Ctrl-C in its terminal")
    };
    let running = running.ok_or_else(no_answer)?;
    let other = if args.read_only && !running.is_read_only {
        Some("without `--read-only`".to_owned())
    } else if args.shared.public_url.is_some() {
        Some("for this user only".to_owned())
    } else {
        let port = args.port.filter(|port| *port != 0 && *port != running.port);
        port.map(|_| format!("on port {}", running.port))
    };
    if let Some(other) = other {
        let error = Error::usage(format!(
            "a dashboard of this workspace runs already, {other}"
        ));
        return Err(error.with_help("end it with Ctrl-C in its terminal"));
    }
    let address = ask_for_address(&running).ok_or_else(no_answer)?;
    console::print_status("Running", "already: this opens its page");
    console::print_result(&address)?;
    if !args.no_open {
        open_browser(&address);
    }
    Ok(ExitCode::Passed)
}

/// Opens the browser where there is somebody to look at it.
fn open_browser(address: &str) {
    if console::can_redraw() {
        // The address is printed.
        let _ = open::that_detached(address);
    }
}
