//! Frames that tungstenite writes are read, and frames that are written here are read by tungstenite.

use super::frame::{FrameReader, Opcode, Received, write_close, write_frame};
use bytes::Bytes;
use proptest::prelude::*;
use proptest::sample::Index;
use std::io::{self, Read, Write};
use tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tungstenite::protocol::frame::{CloseFrame, Frame};
use tungstenite::protocol::{Role, WebSocket};
use tungstenite::{Error, Message};

/// A connection in memory.
#[derive(Default)]
struct Memory {
    input: io::Cursor<Vec<u8>>,
    output: Vec<u8>,
}

impl Read for Memory {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.input.read(buffer)
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn server(input: Vec<u8>) -> WebSocket<Memory> {
    let memory = Memory {
        input: io::Cursor::new(input),
        output: Vec::new(),
    };
    WebSocket::from_raw_socket(memory, Role::Server, None)
}

/// Something that either side may say.
#[derive(Debug, Clone)]
enum Said {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
}

impl Said {
    fn opcode(&self) -> Opcode {
        match self {
            Self::Text(_) => Opcode::Text,
            Self::Binary(_) => Opcode::Binary,
            Self::Ping(_) => Opcode::Ping,
            Self::Pong(_) => Opcode::Pong,
        }
    }

    fn payload(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(data) | Self::Ping(data) | Self::Pong(data) => data,
        }
    }

    fn received(&self) -> Received {
        let data = Bytes::copy_from_slice(self.payload());
        match self {
            Self::Text(_) | Self::Binary(_) => Received::Message {
                is_text: matches!(self, Self::Text(_)),
                data,
            },
            Self::Ping(_) => Received::Ping(data),
            Self::Pong(_) => Received::Pong(data),
        }
    }
}

fn said() -> impl Strategy<Value = Said> {
    let bytes = |most| proptest::collection::vec(any::<u8>(), 0..most);
    prop_oneof![
        "\\PC{0,200}".prop_map(Said::Text),
        bytes(400).prop_map(Said::Binary),
        (65_400..65_700_usize).prop_map(|length| Said::Binary(vec![9; length])),
        bytes(126).prop_map(Said::Ping),
        bytes(126).prop_map(Said::Pong),
    ]
}

/// The frames of a server: each message in fragments, with control frames between them.
fn write_as_server(all: &[(Said, Vec<Index>)]) -> Vec<u8> {
    let mut server = server(Vec::new());
    for (said, cuts) in all {
        let payload = said.payload();
        if !matches!(said, Said::Text(_) | Said::Binary(_)) {
            let data = Bytes::copy_from_slice(payload);
            let message = match said {
                Said::Ping(_) => Message::Ping(data),
                _ => Message::Pong(data),
            };
            server.send(message).unwrap();
            continue;
        }
        let mut cuts: Vec<usize> = cuts
            .iter()
            .map(|cut| cut.index(payload.len() + 1))
            .collect();
        cuts.sort_unstable();
        let ends = cuts.iter().copied().chain([payload.len()]);
        let mut begin = 0;
        for (at, end) in ends.enumerate() {
            let data = match said {
                _ if at > 0 => Data::Continue,
                Said::Text(_) => Data::Text,
                _ => Data::Binary,
            };
            let is_final = at == cuts.len();
            let part = payload[begin..end].to_vec();
            let frame = Frame::message(part, OpCode::Data(data), is_final);
            server.send(Message::Frame(frame)).unwrap();
            if !is_final {
                let ping = Frame::ping(Bytes::from_static(b"between"));
                server.send(Message::Frame(ping)).unwrap();
            }
            begin = end;
        }
    }
    std::mem::take(&mut server.get_mut().output)
}

proptest! {
    #[test]
    fn frames_of_tungstenite_are_read_wherever_they_are_cut(
        all in proptest::collection::vec((said(), proptest::collection::vec(any::<Index>(), 0..3)), 0..6),
        cuts in proptest::collection::vec(any::<Index>(), 0..12),
        each_byte: bool,
    ) {
        let bytes = write_as_server(&all);
        let mut cuts: Vec<usize> = if each_byte {
            (0..bytes.len()).collect()
        } else {
            cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect()
        };
        cuts.push(bytes.len());
        cuts.sort_unstable();
        let mut reader = FrameReader::new(false);
        let mut read = Vec::new();
        let mut begin = 0;
        for end in cuts {
            let mut piece = &bytes[begin..end];
            while let Some(received) = reader.read(&mut piece).unwrap() {
                read.push(received);
            }
            prop_assert!(piece.is_empty());
            begin = end;
        }
        read.retain(|received| *received != Received::Ping(Bytes::from_static(b"between")));
        let wanted: Vec<Received> = all.iter().map(|(said, _)| said.received()).collect();
        prop_assert_eq!(read, wanted);
    }

    #[test]
    fn frames_written_here_are_read_by_tungstenite(
        all in proptest::collection::vec(said(), 0..8),
        mask: [u8; 4],
        code in prop_oneof![Just(1000), Just(1001), 3000..5000_u16],
    ) {
        let mut bytes = Vec::new();
        for said in &all {
            write_frame(&mut bytes, said.opcode(), false, said.payload(), mask);
        }
        write_close(&mut bytes, code, mask);
        let mut server = server(bytes);
        for said in &all {
            let message = server.read().unwrap();
            let is_same = match said {
                Said::Text(_) => message.is_text(),
                Said::Binary(_) => message.is_binary(),
                Said::Ping(_) => message.is_ping(),
                Said::Pong(_) => message.is_pong(),
            };
            prop_assert!(is_same, "{:?} and {:?}", said, message);
            let data = message.into_data();
            prop_assert_eq!(&data[..], said.payload());
        }
        let closed = server.read().unwrap();
        let Message::Close(Some(CloseFrame { code: read, .. })) = closed else {
            panic!("no close frame: {closed:?}");
        };
        prop_assert_eq!(read, CloseCode::from(code));
    }
}

#[test]
fn a_close_frame_without_a_code_is_read_by_tungstenite() {
    let mut bytes = Vec::new();
    write_close(&mut bytes, 1005, [1, 2, 3, 4]);
    let mut server = server(bytes);
    assert_eq!(server.read().unwrap(), Message::Close(None));
    assert!(matches!(server.read(), Err(Error::ConnectionClosed)));
}
