//! Ctrl-C and termination: counted, not obeyed at once, so that a run can end in order.

use crate::console;
use crate::error::Error;
use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What counts the signals of this process from its start on.
static OF_PROCESS: OnceLock<Interrupts> = OnceLock::new();

/// Counts the requests to stop.
#[derive(Debug, Clone, Default)]
pub struct Interrupts(Arc<InterruptState>);

#[derive(Debug, Default)]
struct InterruptState {
    count: AtomicU32,
    /// True if nothing needs to end in order, so that the first request ends the program.
    ends_program: AtomicBool,
    /// A child that has nothing to put in order: it is ended with the first request.
    expendable: Mutex<Option<u32>>,
}

impl Interrupts {
    /// Ends the program in words at SIGINT, SIGTERM and SIGHUP, until a command [counts](Self::install) them.
    ///
    /// # Errors
    /// When the system does not allow it.
    pub fn install_for_program() -> Result<(), Error> {
        let interrupts = Self::default();
        interrupts.0.ends_program.store(true, Ordering::SeqCst);
        interrupts.handle_signals()?;
        let _is_first = OF_PROCESS.set(interrupts);
        Ok(())
    }

    /// Counts SIGINT, SIGTERM and SIGHUP from now on; call it once.
    ///
    /// # Errors
    /// When the system does not allow it.
    pub fn install() -> Result<Self, Error> {
        if let Some(interrupts) = OF_PROCESS.get() {
            interrupts.0.ends_program.store(false, Ordering::SeqCst);
            return Ok(interrupts.clone());
        }
        let interrupts = Self::default();
        interrupts.handle_signals()?;
        Ok(interrupts)
    }

    fn handle_signals(&self) -> Result<(), Error> {
        let state = Arc::clone(&self.0);
        ctrlc::set_handler(move || {
            if state.ends_program.load(Ordering::SeqCst) {
                let interrupted = Error::interrupted();
                console::print_error(&interrupted);
                std::process::exit(interrupted.exit_code().number().into());
            }
            Self(Arc::clone(&state)).request();
        })
        .map_err(|source| Error::failure(format!("could not prepare for Ctrl-C: {source}")))
    }

    /// Returns the number of requests to stop so far.
    pub fn count(&self) -> u32 {
        self.0.count.load(Ordering::SeqCst)
    }

    /// An error when the user asked to stop.
    ///
    /// # Errors
    /// When they did.
    pub fn check(&self) -> Result<(), Error> {
        match self.count() {
            0 => Ok(()),
            _ => Err(Error::interrupted()),
        }
    }

    /// Ends `child` when the user asks to stop while `work` is done.
    pub fn guard<T>(&self, child: &mut Child, work: impl FnOnce(&mut Child) -> T) -> T {
        self.set_expendable(Some(child.id()));
        if self.count() > 0 {
            terminate(child.id());
        }
        let result = work(child);
        self.set_expendable(None);
        result
    }

    fn set_expendable(&self, id: Option<u32>) {
        *self
            .0
            .expendable
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = id;
    }

    /// Asks to stop, as a signal does.
    pub fn request(&self) {
        self.0.count.fetch_add(1, Ordering::SeqCst);
        let expendable = self.0.expendable.lock();
        if let Some(id) = *expendable.unwrap_or_else(PoisonError::into_inner) {
            terminate(id);
        }
    }

    /// Obeys the lines on standard input: `stop` and `abort`. Its end asks to stop, since nobody could any more.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn obey_input(&self) -> Result<(), Error> {
        let interrupts = self.clone();
        let obey = move || {
            for word in std::io::stdin().lines().map_while(Result::ok) {
                let wanted = match word.as_str() {
                    "stop" => 1,
                    "abort" => 2,
                    _ => 0,
                };
                while interrupts.count() < wanted {
                    interrupts.request();
                }
            }
            if interrupts.count() == 0 {
                interrupts.request();
            }
        };
        std::thread::Builder::new()
            .name("control".to_owned())
            .spawn(obey)
            .map(|_| ())
            .map_err(|error| Error::failure(format!("no thread for the control pipe: {error}")))
    }
}

#[cfg(unix)]
/// Asks a child to end.
pub fn terminate(id: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    if let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        // It may have ended by itself.
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// On Windows, Ctrl-C reaches every process of the console by itself.
#[cfg(not(unix))]
pub fn terminate(_id: u32) {}
