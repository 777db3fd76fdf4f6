//! Reads requests from a connection; as little of HTTP/1.1 as tests need.

use std::collections::VecDeque;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::Instant;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The request target: path and query.
    pub target: String,
    /// The target without its query.
    pub path: String,
    /// The headers in order; names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, without its chunked encoding.
    pub body: Vec<u8>,
    /// When its last byte was read.
    pub arrived: Instant,
    /// How many requests with this path came before it.
    pub sequence: u64,
    /// The number of the connection it came over, from 0.
    pub connection: u64,
}

impl Request {
    /// The value of the first header named `name` (in lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The values of every header named `name` (in lower case).
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Reads one request; `None` at the end of the connection.
pub(crate) async fn read<S: AsyncRead + Unpin>(
    stream: &mut S,
    buffer: &mut VecDeque<u8>,
    connection: u64,
) -> io::Result<Option<Request>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match byte(stream, buffer).await? {
            Some(byte) => head.push(byte),
            None if head.is_empty() => return Ok(None),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut request = Request {
        method,
        path: target.split('?').next().unwrap_or_default().to_owned(),
        target,
        headers,
        body: Vec::new(),
        arrived: Instant::now(),
        sequence: 0,
        connection,
    };
    if request.header("transfer-encoding") == Some("chunked") {
        loop {
            let size = line(stream, buffer).await?;
            let size = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
            let mut chunk = exactly(stream, buffer, size + 2).await?;
            chunk.truncate(size);
            request.body.append(&mut chunk);
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = request.header("content-length") {
        let length = length.parse().map_err(io::Error::other)?;
        request.body = exactly(stream, buffer, length).await?;
    }
    request.arrived = Instant::now();
    Ok(Some(request))
}

async fn line<S: AsyncRead + Unpin>(
    stream: &mut S,
    buffer: &mut VecDeque<u8>,
) -> io::Result<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        line.push(required(stream, buffer).await?);
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

async fn exactly<S: AsyncRead + Unpin>(
    stream: &mut S,
    buffer: &mut VecDeque<u8>,
    length: usize,
) -> io::Result<Vec<u8>> {
    while buffer.len() < length {
        if !fill(stream, buffer).await? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(buffer.drain(..length).collect())
}

async fn required<S: AsyncRead + Unpin>(
    stream: &mut S,
    buffer: &mut VecDeque<u8>,
) -> io::Result<u8> {
    byte(stream, buffer)
        .await?
        .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

async fn byte<S: AsyncRead + Unpin>(
    stream: &mut S,
    buffer: &mut VecDeque<u8>,
) -> io::Result<Option<u8>> {
    if buffer.is_empty() && !fill(stream, buffer).await? {
        return Ok(None);
    }
    Ok(buffer.pop_front())
}

async fn fill<S: AsyncRead + Unpin>(stream: &mut S, buffer: &mut VecDeque<u8>) -> io::Result<bool> {
    let mut piece = Vec::with_capacity(16 * 1024);
    let count = stream.read_buf(&mut piece).await?;
    buffer.extend(piece);
    Ok(count > 0)
}
