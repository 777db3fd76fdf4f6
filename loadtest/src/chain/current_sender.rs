//! The sender of the step whose function has the thread. What a step is lent may outlive it, such as an open
//! connection, and measures each operation for the step that asks for it.

use super::StepSender;
use std::cell::RefCell;
use std::rc::Rc;

thread_local! {
    static CURRENT: RefCell<Option<Rc<dyn StepSender>>> = const { RefCell::new(None) };
}

/// Runs `code` of a step with its sender.
pub(crate) fn with_step_sender<R>(sender: &Rc<dyn StepSender>, code: impl FnOnce() -> R) -> R {
    let _before = SenderGuard(CURRENT.replace(Some(Rc::clone(sender))));
    code()
}

/// Returns the sender of the step whose function has the thread, if one has.
pub(super) fn current_sender() -> Option<Rc<dyn StepSender>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Brings back the sender of before, also where the code panics.
struct SenderGuard(Option<Rc<dyn StepSender>>);

impl Drop for SenderGuard {
    fn drop(&mut self) {
        CURRENT.replace(self.0.take());
    }
}
