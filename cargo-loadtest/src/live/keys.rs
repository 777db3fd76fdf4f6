//! Keys that a terminal shows while it draws a view: `^C` at the end of the last line begins another, so
//! that the view no longer stands where it is cleared.

/// While this lives, the terminal of standard error does not show control keys.
#[derive(Debug)]
pub(super) struct UnseenKeys {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

#[cfg(unix)]
impl UnseenKeys {
    pub(super) fn begin() -> Self {
        use rustix::termios::LocalModes;
        let before = terminal().filter(|modes| modes.local_modes.contains(LocalModes::ECHOCTL));
        if let Some(mut modes) = before.clone() {
            modes.local_modes.remove(LocalModes::ECHOCTL);
            set(&modes);
        }
        Self { before }
    }
}

#[cfg(not(unix))]
impl UnseenKeys {
    pub(super) fn begin() -> Self {
        Self {}
    }
}

#[cfg(unix)]
impl Drop for UnseenKeys {
    fn drop(&mut self) {
        if let (Some(before), Some(_)) = (&self.before, terminal()) {
            set(before);
        }
    }
}

/// The modes of the terminal, if it is ours: whoever changes those of another's is stopped.
#[cfg(unix)]
fn terminal() -> Option<rustix::termios::Termios> {
    use rustix::{process, termios};
    let stderr = std::io::stderr();
    let foreground = termios::tcgetpgrp(&stderr).ok()?;
    (foreground == process::getpgrp())
        .then(|| termios::tcgetattr(&stderr).ok())
        .flatten()
}

#[cfg(unix)]
fn set(modes: &rustix::termios::Termios) {
    // A terminal that refuses shows the keys.
    let _ = rustix::termios::tcsetattr(
        std::io::stderr(),
        rustix::termios::OptionalActions::Now,
        modes,
    );
}
