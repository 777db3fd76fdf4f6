//! A chunk of an answer as services of language models stream it.

use loadtest::prelude::*;

#[response]
pub(crate) struct Chunk {
    pub(crate) choices: Vec<Choice>,
    pub(crate) usage: Option<Usage>,
}

#[response]
pub(crate) struct Choice {
    pub(crate) delta: Delta,
    pub(crate) finish_reason: Option<String>,
}

#[response]
pub(crate) struct Delta {
    pub(crate) content: Option<String>,
    reasoning_content: Option<String>,
}

#[response]
pub(crate) struct Usage {
    pub(crate) completion_tokens: u64,
}

impl Chunk {
    /// What the model said or thought; the first event of a stream usually holds neither.
    pub(crate) fn output(&self) -> Option<&str> {
        let delta = &self.choices.first()?.delta;
        let text = delta.content.as_deref().filter(|text| !text.is_empty());
        let thought = delta.reasoning_content.as_deref();
        text.or(thought.filter(|text| !text.is_empty()))
    }
}
