//! The control pipe: the tool writes `stop` or `abort` to the standard input of a run.

use super::print_error;
use crate::engine::Control;
use crate::targets;
use std::io::{self, BufRead as _};
use std::thread;

/// Listens to the control pipe until it closes, which means `stop`.
pub(super) fn listen_to_control_pipe(control: Control) {
    let listener = thread::Builder::new()
        .name("loadtest-control".to_owned())
        .spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                match line.trim() {
                    "stop" => stop_run(&control),
                    "abort" => control.abort(),
                    _ => {}
                }
            }
            stop_run(&control);
        });
    if let Err(error) = listener {
        print_error(&format!(
            "warning: the run cannot be stopped early: {error}"
        ));
    }
}

/// Ends the run, or the wait for a target that it is to begin with.
fn stop_run(control: &Control) {
    control.stop();
    targets::give_up();
}
