//! The deadline of a user's requests: one timer per user, not one per request.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that is left armed from request to request.
///
/// It is armed anew only when it goes off before the deadline of the present request, or when that
/// deadline is earlier. With a timeout of 30 s that is twice a minute, however many requests a
/// user sends.
#[derive(Debug, Default)]
pub(super) struct DeadlineTimer {
    timer: Option<Pin<Box<Sleep>>>,
    /// Whom the timer wakes.
    wakes: Option<Waker>,
}

/// The deadline passed.
#[derive(Debug)]
pub(super) struct DeadlinePassed;

thread_local! {
    /// True if a future has given up its turn while it could have gone on.
    static HAS_YIELDED: Cell<bool> = const { Cell::new(false) };
}

/// Gives up the turn of a task that could go on, so that others have theirs, and its deadline is looked at.
pub(super) fn yield_turn<R>(cx: &Context<'_>) -> Poll<R> {
    HAS_YIELDED.set(true);
    cx.waker().wake_by_ref();
    Poll::Pending
}

impl DeadlineTimer {
    /// Waits for `future`, but no longer than until `deadline`.
    ///
    /// It is pinned already, since it is large, and would be moved here and pinned then.
    pub(super) fn run_until<F: Future>(
        &mut self,
        deadline: Instant,
        mut future: Pin<&mut F>,
    ) -> impl Future<Output = Result<F::Output, DeadlinePassed>> {
        poll_fn(move |cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Ok(output));
            }
            // Timers go off between the turns of many tasks, which are long where one always has more to read.
            if HAS_YIELDED.take() && Instant::now() >= deadline {
                return Poll::Ready(Err(DeadlinePassed));
            }
            let timer = self
                .timer
                .get_or_insert_with(|| Box::pin(sleep_until(deadline)));
            if timer.deadline() > deadline {
                timer.as_mut().reset(deadline);
            } else if !timer.is_elapsed()
                && self
                    .wakes
                    .as_ref()
                    .is_some_and(|woken| woken.will_wake(cx.waker()))
            {
                // It is armed, and will wake this task.
                return Poll::Pending;
            }
            self.wakes = Some(cx.waker().clone());
            // Not held back where the future has used up the turn of its task, again and again perhaps.
            while pin!(unconstrained(timer.as_mut())).poll(cx).is_ready() {
                if timer.deadline() >= deadline {
                    return Poll::Ready(Err(DeadlinePassed));
                }
                timer.as_mut().reset(deadline);
            }
            Poll::Pending
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};
    use std::time::Duration;
    use tokio::time::sleep;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_deadline_holds_after_longer_and_shorter_ones() {
        let mut deadline = DeadlineTimer::default();
        for seconds in [30, 1, 5, 2, 60] {
            let start = Instant::now();
            let length = SECOND * seconds;
            assert!(
                deadline
                    .run_until(start + length, pin!(pending::<()>()))
                    .await
                    .is_err()
            );
            assert_eq!(start.elapsed(), length);
        }
    }

    #[tokio::test]
    async fn a_deadline_is_looked_at_where_a_turn_is_given_up() {
        let mut timer = DeadlineTimer::default();
        let end = Instant::now() + Duration::from_millis(1);
        let busy = pin!(poll_fn(|cx| yield_turn::<()>(cx)));
        let mut bound = pin!(timer.run_until(end, busy));
        let mut poll = || bound.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let _armed = poll();
        // No timer goes off meanwhile, since the runtime has no turn.
        std::thread::sleep(Duration::from_millis(5));
        assert!(matches!(poll(), Poll::Ready(Err(DeadlinePassed))));
    }

    #[tokio::test]
    async fn a_deadline_holds_for_what_is_always_ready() {
        let mut deadline = DeadlineTimer::default();
        let busy = async {
            loop {
                tokio::task::consume_budget().await;
            }
        };
        let end = Instant::now() + Duration::from_millis(1);
        let bound: Result<(), _> = deadline.run_until(end, pin!(busy)).await;
        assert!(bound.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_that_goes_off_early_does_not_end_a_request() {
        let mut deadline = DeadlineTimer::default();
        let armed = Instant::now() + 2 * SECOND;
        assert!(deadline.run_until(armed, pin!(ready(()))).await.is_ok());
        let first = deadline.run_until(armed, pin!(sleep(SECOND))).await;
        assert!(first.is_ok());
        // Armed for 1 s from now; this request may take 3 s and takes 2.
        let second = deadline
            .run_until(Instant::now() + 3 * SECOND, pin!(sleep(2 * SECOND)))
            .await;
        assert!(second.is_ok());
        // Went off while nothing was under way.
        sleep(10 * SECOND).await;
        let third = deadline
            .run_until(Instant::now() + 3 * SECOND, pin!(sleep(2 * SECOND)))
            .await;
        assert!(third.is_ok());
    }
}
