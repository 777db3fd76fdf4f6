//! A gate that holds answers until the test opens it.

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Holds the answers that are given to it until the test opens it. Clones are of the same gate.
///
/// ```
/// use loadtest_tests::{Gate, Reply, Server};
///
/// let gate = Gate::new();
/// let held = gate.clone();
/// let server = Server::start(move |_| Reply::text("late").hold(&held));
/// // .. begin what asks the server ..
/// # let asked = std::thread::spawn({
/// #     let address = server.address();
/// #     move || {
/// #         use std::io::{Read as _, Write as _};
/// #         let mut stream = std::net::TcpStream::connect(address).unwrap();
/// #         stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
/// #         let mut answer = [0; 15];
/// #         stream.read_exact(&mut answer).unwrap();
/// #         String::from_utf8(answer.to_vec()).unwrap()
/// #     }
/// # });
/// gate.wait_until_held(1);
/// // .. what happens here happens before the answer ..
/// gate.open();
/// # assert_eq!(asked.join().unwrap(), "HTTP/1.1 200 OK");
/// ```
#[derive(Debug, Clone)]
pub struct Gate(Arc<watch::Sender<State>>);

#[derive(Debug, Default)]
struct State {
    is_open: bool,
    held: usize,
}

impl Gate {
    /// Returns a closed gate.
    #[expect(
        clippy::new_without_default,
        reason = "a default gate would be as likely open as closed"
    )]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(State::default())))
    }

    /// Lets everything pass from now on.
    pub fn open(&self) {
        self.0.send_modify(|state| state.is_open = true);
    }

    /// Returns how many answers have come to the gate while it was closed.
    pub fn held(&self) -> usize {
        self.0.borrow().held
    }

    /// Blocks until so many answers have come to the gate while it was closed.
    ///
    /// # Panics
    /// When they did not come in ten minutes.
    pub fn wait_until_held(&self, count: usize) {
        // A test has no runtime here, and what it waits for happens on another thread.
        for _ in 0..600_000 {
            if self.held() >= count {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("{} of {count} answers came to the gate", self.held());
    }

    /// Waits until the gate is open.
    pub(crate) async fn pass(&self) {
        let mut state = self.0.subscribe();
        self.0.send_if_modified(|state| {
            state.held += usize::from(!state.is_open);
            !state.is_open
        });
        // It does not fail: the sender is ours.
        let _ = state.wait_for(|state| state.is_open).await;
    }
}
