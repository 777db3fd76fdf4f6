//! Steps that run `once`, and setups, whose values are stale: they run again, and so does a step that was refused for it.

use super::VirtualUser;
use super::observer::IterationObserver;
use super::placement::RequestPlacement;
use super::progress::IterationProgress;
use super::step::{StepBreak, StepContext};
use crate::engine::request_loop::{AttemptEnd, AttemptSummary};
use crate::transport::Transport;
use loadtest_model::definition::ScenarioDef;
use std::ops::ControlFlow;
use tokio::time::Instant;

/// Has a step run again that runs `once`, and with it those that use its answer, themselves or by steps between.
pub(super) fn expire_once(
    completed: &mut [Option<Instant>],
    definition: &ScenarioDef,
    step: usize,
) {
    for derived in definition.derived_steps(step) {
        completed[derived] = None;
    }
}

/// Returns the status for which a step was refused.
fn refused_status(attempt: &AttemptSummary) -> Option<u16> {
    let status = attempt.result.as_ref().err()?.status?;
    Some(status.as_u16())
}

impl<T: Transport> VirtualUser<T> {
    /// Runs those setups and `once` steps again of which a step says that their values are stale, and then the step itself,
    /// if that was refused for it.
    pub(super) async fn renew_and_resend<P: RequestPlacement, O: IterationObserver>(
        &mut self,
        context: &StepContext<'_>,
        progress: &mut IterationProgress,
        observer: &mut O,
    ) -> ControlFlow<StepBreak, bool> {
        let StepContext {
            step,
            window,
            state,
            ..
        } = *context;
        let refused = self.refused.take();
        // The first request of the journey has been sent.
        let start_delay = progress.start_delay.take();
        let begun = Instant::now();
        let status = refused.as_deref().and_then(refused_status);
        // Before the steps that run again, which may use them.
        let has_new_setups = self.renew_setups(step, status, progress).await;
        let stale = self.give_back(step, status);
        for &renewed in &stale {
            let def = &self.scenario.definition.steps[renewed];
            let (trace, sampled) = (context.trace, context.sampled);
            let context = StepContext::new(renewed, def, window, state, trace, sampled);
            let step_over = if def.sends_itself {
                self.run_async_step(&context, progress, observer).await
            } else {
                self.run_request_step::<P, O>(&context, progress, observer)
                    .await
            };
            if let ControlFlow::Break(StepBreak::CutOff) = step_over {
                return ControlFlow::Break(StepBreak::CutOff);
            }
            // One that is refused itself has failed, unless a setup that it uses has a new value.
            if let Some(attempt) = self.refused.take() {
                let begun = Instant::now();
                let status = refused_status(&attempt);
                let is_new = self.renew_setups(renewed, status, progress).await;
                let sent = self.resend_refused::<P, O>(
                    &context,
                    progress,
                    observer,
                    (*attempt, is_new.then_some(begun)),
                );
                if let ControlFlow::Break(StepBreak::CutOff) = sent.await {
                    return ControlFlow::Break(StepBreak::CutOff);
                }
            }
        }
        let Some(refused) = refused else {
            return ControlFlow::Continue(true);
        };
        progress.start_delay = start_delay;
        let is_new = has_new_setups || !stale.is_empty();
        let attempt = (*refused, is_new.then_some(begun));
        self.resend_refused::<P, O>(context, progress, observer, attempt)
            .await
    }

    /// Sends a step that was refused once more, if new values of what it uses have been fetched since the time beside the
    /// attempt; and ends it.
    async fn resend_refused<P: RequestPlacement, O: IterationObserver>(
        &mut self,
        context: &StepContext<'_>,
        progress: &mut IterationProgress,
        observer: &mut O,
        (mut attempt, renewed_since): (AttemptSummary, Option<Instant>),
    ) -> ControlFlow<StepBreak, bool> {
        let StepContext {
            step,
            window,
            state,
            ..
        } = *context;
        if let Some(begun) = renewed_since
            && self.fill_request(context).is_ok()
        {
            let renewing = begun.elapsed();
            let mut again =
                P::place(self.request_loop(context, observer).send_until_settled()).await;
            progress.paused += again.paused;
            if again.end == AttemptEnd::CutOff {
                return ControlFlow::Break(StepBreak::CutOff);
            }
            state.with_tally(window, |tally| tally.steps[step].retries += 1);
            again.continue_from(&attempt);
            again.paused += renewing;
            attempt = again;
        }
        progress.sent = true;
        let settled = self.settle_attempt(context, progress, attempt);
        ControlFlow::Continue(self.end_request_step(context, progress, settled, observer))
    }

    /// Has those `once` steps run again whose answers a step uses, and with them what was derived from these; of a step that
    /// answered with `status`, those which say so. Returns the ones that are due now.
    fn give_back(&mut self, step: usize, status: Option<u16>) -> Vec<usize> {
        let definition = &self.scenario.definition;
        let stale = definition.sources(step, |def| match status {
            Some(status) => def.refreshes_on(status),
            None => def.once,
        });
        let before = self.completed_once.clone();
        for source in stale {
            expire_once(&mut self.completed_once, definition, source);
        }
        let is_due = |at: &usize| before[*at].is_some() && self.completed_once[*at].is_none();
        (0..step).filter(is_due).collect()
    }
}
