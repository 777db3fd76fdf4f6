//! Where the future of a request is while it is under way.

use std::future::Future;
use std::pin::Pin;

/// A place for the future of a request, which takes more room than all else of a user's task.
pub(crate) trait RequestPlacement: 'static {
    type Placed<F: Future>: Future<Output = F::Output>;

    fn place<F: Future>(request: F) -> Self::Placed<F>;
}

/// Within the task of the user, which has room for it at all times: nothing is allocated for a request.
pub(crate) enum InTask {}

/// In a box that lasts as long as the request: for users that spend their time in async steps, such as with an open
/// WebSocket.
pub(crate) enum InBox {}

impl RequestPlacement for InTask {
    type Placed<F: Future> = F;

    fn place<F: Future>(request: F) -> F {
        request
    }
}

impl RequestPlacement for InBox {
    type Placed<F: Future> = Pin<Box<F>>;

    fn place<F: Future>(request: F) -> Pin<Box<F>> {
        Box::pin(request)
    }
}
