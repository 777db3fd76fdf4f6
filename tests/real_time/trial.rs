//! Trials that are judged only where the machine gave what they need.

use crate::machine::{Needs, Watch};
use libtest_mimic::{Completion, Trial};
use std::sync::{Mutex, PoisonError};

/// Judges what was measured; the machine was as the test needs it.
pub(crate) type Judge = Box<dyn FnOnce()>;

/// What became of the trials, in their order.
static OUTCOMES: Mutex<Vec<Outcome>> = Mutex::new(Vec::new());

struct Outcome {
    name: &'static str,
    /// Why it was not judged.
    reason: Option<String>,
}

/// Makes a trial. `measure` does all that takes time, and asserts nothing; what it returns is called if the machine gave
/// what the test `needs` while it measured.
pub(crate) fn new_trial(name: &'static str, needs: Needs, measure: fn() -> Judge) -> Trial {
    Trial::ignorable_test(name, move || {
        let watch = Watch::start();
        let judge = measure();
        let machine = watch.compare(needs);
        let reason = machine.err().map(|late| late.to_string());
        let mut outcomes = OUTCOMES.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes.push(Outcome {
            name,
            reason: reason.clone(),
        });
        drop(outcomes);
        if let Some(reason) = reason {
            return Ok(Completion::ignored_with(format!("not judged: {reason}")));
        }
        judge();
        Ok(Completion::Completed)
    })
}

/// Makes a trial of each function, under its name.
macro_rules! trials {
    ($($test:ident needs $needs:expr,)*) => {
        vec![$($crate::trial::new_trial(stringify!($test), $needs, $test),)*]
    };
}
pub(crate) use trials;

/// Prints how many trials were judged, and which were not, with the figure.
#[expect(clippy::print_stdout, reason = "it belongs to the output of the tests")]
pub(crate) fn print_summary() {
    let outcomes = OUTCOMES.lock().unwrap_or_else(PoisonError::into_inner);
    if outcomes.is_empty() {
        // They were listed, or none was asked for.
        return;
    }
    let not_judged = outcomes.iter().filter(|outcome| outcome.reason.is_some());
    let count = not_judged.clone().count();
    println!(
        "real time: {} judged, {count} not judged",
        outcomes.len() - count
    );
    for outcome in not_judged {
        let reason = outcome.reason.as_deref().unwrap_or_default();
        println!("  {}: {reason}", outcome.name);
    }
    println!();
}
