//! The process group of a target: nothing in it outlives this process, however that ends.
//!
//! Its leader is a shell which reads a pipe that only this process can write to. Where this process
//! ends without a word - and no handler runs on `SIGKILL` - the pipe closes, and the shell ends its
//! group. It leads the group from before the target starts, so there is no moment at which a target
//! is on its own; and its own number is that of the group, so no other process can be hit.

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

/// Ends its group with a word, and a second later without one. Signals to the group are not for it.
const LEADER_SCRIPT: &str = "trap '' HUP INT TERM; read -r _; kill -TERM 0; sleep 1; kill -KILL 0";

/// A process group; dropping it ends all that is in it.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    /// It holds the writing end of the pipe.
    leader: Child,
}

impl ProcessGroup {
    /// An empty group, where there is a shell to lead it.
    pub(super) fn new() -> Option<Self> {
        let leader = Command::new("/bin/sh")
            .args(["-c", LEADER_SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        Some(Self {
            leader: leader.ok()?,
        })
    }

    /// Lets `command` start within the group.
    pub(super) fn add_command(&self, command: &mut Command) {
        if let Ok(group) = i32::try_from(self.leader.id()) {
            command.process_group(group);
        }
    }

    /// Kills all that is in it.
    pub(super) fn kill(&self) {
        // Until the leader is waited for, no other process can have its number.
        if let Ok(group) = i32::try_from(self.leader.id()) {
            // This fails only where nothing is left to end.
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
        let _ = self.leader.wait();
    }
}
