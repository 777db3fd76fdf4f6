//! A receiver that is spoken to by HTTP.

use super::Sent;
use crate::post::{ATTEMPT, PostRequest, Undelivered, build_agent, send_request};
use std::io::Read as _;
use ureq::Agent;
use url::Url;

/// The bytes of an answer that are read.
const READ: u64 = 64 * 1_024;

/// A URL, and what every request to it has.
pub(crate) struct HttpTarget {
    url: Url,
    headers: Vec<(String, String)>,
    agent: Agent,
}

impl HttpTarget {
    pub(crate) fn new(url: Url, headers: Vec<(String, String)>) -> Self {
        Self {
            agent: build_agent(&url, ATTEMPT),
            url,
            headers,
        }
    }

    /// Posts a message once; returns the beginning of the answer.
    ///
    /// # Errors
    /// The result of an attempt that failed.
    pub(super) fn post(
        &self,
        content_type: &'static str,
        more: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<Vec<u8>, Sent> {
        let more = more.iter();
        let more = more.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let request = PostRequest {
            url: self.url.clone(),
            content_type,
            headers: self.headers.iter().cloned().chain(more).collect(),
            body,
        };
        match send_request(&self.agent, &request) {
            Ok(mut response) => {
                let mut bytes = Vec::new();
                let reader = response.body_mut().as_reader();
                // It was taken, whatever becomes of the rest of the answer.
                let _ = reader.take(READ).read_to_end(&mut bytes);
                Ok(bytes)
            }
            Err(Undelivered::Refused(why)) => Err(Sent::Refused(why)),
            Err(Undelivered::Failed { why, after }) => Err(Sent::Failed { why, after }),
        }
    }
}
