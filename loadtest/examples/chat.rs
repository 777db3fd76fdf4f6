//! A chat room over WebSockets, and a load test of it.
//!
//! ```console
//! $ cargo test -p loadtest --example chat     # the journey once
//! $ cargo loadtest run -p loadtest chat      # under load
//! ```

use loadtest::prelude::*;
use std::collections::BTreeMap;
use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

/// The members of the room by number, each with a way to write to it.
#[derive(Default)]
struct Room(Mutex<(u64, BTreeMap<u64, WebSocket<TcpStream>>)>);

impl Room {
    /// Says `text` to all members.
    fn say(&self, text: &str) {
        let mut room = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Members who have left get no more messages.
        let (_, members) = &mut *room;
        members.retain(|_, member| member.send(Message::text(text)).is_ok());
    }

    /// Takes a member in, and returns its number and how many there are.
    fn join(&self, socket: WebSocket<TcpStream>) -> (u64, usize) {
        let (next, members) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *next += 1;
        members.insert(*next, socket);
        (*next, members.len())
    }

    fn leave(&self, number: u64) {
        let (_, members) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        members.remove(&number);
    }

    /// Serves a connection until it ends: tells the room what its member says.
    fn serve(&self, stream: TcpStream) -> Result<(), Box<dyn std::error::Error>> {
        let writer = stream.try_clone()?;
        let mut reader = tungstenite::accept(stream).map_err(|error| error.to_string())?;
        let (number, members) = self.join(WebSocket::from_raw_socket(writer, Role::Server, None));
        reader.send(
            json!({ "joined": { "members": members } })
                .to_string()
                .into(),
        )?;
        let heard = loop {
            match reader.read() {
                Ok(Message::Text(text)) => self.say(&text),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        self.leave(number);
        match heard {
            tungstenite::Error::ConnectionClosed => Ok(()),
            other => Err(other.into()),
        }
    }
}

#[response]
#[serde(rename_all = "snake_case")]
enum Heard {
    Joined { members: u64 },
    Said { id: String, sent: String },
}

/// A member joins, sends a message, receives it, and reads the messages of others.
#[scenario(load = users(40, ramp_up = 2s, for = 8s))]
fn chat() {
    #[setup]
    fn server() -> Result<Target, TargetError> {
        Target::serve(|listener| async move {
            let room = Arc::new(Room::default());
            while let Ok((stream, _)) = listener.accept().await {
                let stream = stream.into_std()?;
                stream.set_nonblocking(false)?;
                // Otherwise each message waits until the previous one is acknowledged.
                stream.set_nodelay(true)?;
                let room = Arc::clone(&room);
                // Members leave in many ways, and the room continues.
                thread::spawn(move || drop(room.serve(stream)));
            }
            io::Result::Ok(())
        })
    }

    #[step(ws = "/room", p95 < 200ms)]
    fn socket() -> Socket<Heard>;

    #[step(check = |members| *members > 0)]
    async fn join(socket: &Socket<Heard>) -> Result<u64, Error> {
        // Others may say something before.
        let joined = socket.wait(|heard| matches!(heard, Heard::Joined { .. }));
        match joined.await? {
            Heard::Joined { members } => Ok(members),
            Heard::Said { .. } => unreachable!("`wait` says so"),
        }
    }

    #[step(apdex = 20ms)]
    async fn talk(_join: &u64, socket: &Socket<Heard>, vu: &mut Vu) -> Result<(), Error> {
        for turn in 0..3 {
            let id = format!("{}.{turn}", vu.unique());
            let say = json!({ "said": { "id": id, "sent": vu.stamp() } });
            let is_own =
                |heard: &Heard| matches!(heard, Heard::Said { id: said, .. } if *said == id);
            socket.ask(&say).name("say").until(is_own).await?;
            socket.pause(Duration::from_millis(100)).await;
        }
        for heard in socket.heard() {
            if let Heard::Said { sent, .. } = heard.data()
                && let Some(sent) = Stamp::parse(sent)
            {
                vu.time("from one to another", heard.since(sent));
            }
        }
        Ok(())
    }
}

loadtest::main!();
