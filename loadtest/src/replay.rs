//! Runs recorded requests as a scenario, without a macro or a package.

use crate::chain::{
    Chain, Halt, Http, Local, Prepared, RawResponse, ReadError, RequestBuf, Scenario, SetupContext,
    SetupError, Shared, Unmet, Vu,
};
use crate::{redact, secrets};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use loadtest_model::metrics::Cause;
use loadtest_model::protocol::{Replay, ReplayedRequest};
use std::sync::{Arc, OnceLock};

/// A request, ready to be sent.
struct Ready {
    method: Method,
    url: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    omitted: Vec<HeaderName>,
    body: Bytes,
}

/// The requests of this process: a process replays one scenario, since what makes its chains is a function.
static REQUESTS: OnceLock<Arc<Vec<Ready>>> = OnceLock::new();

/// The scenario.
///
/// # Errors
/// A request that HTTP cannot tell; a second scenario in a process.
pub(crate) fn build_scenario(replay: Replay) -> Result<&'static Scenario, String> {
    if replay.requests.len() != replay.definition.steps.len() || replay.requests.is_empty() {
        return Err("a replay has as many steps as requests, and at least one".to_owned());
    }
    for (name, value) in &replay.secrets {
        secrets::keep_value(name, value);
    }
    for (header, value) in replay.requests.iter().flat_map(|request| &request.headers) {
        keep_header(header, value);
    }
    let names = replay.definition.steps.iter().map(|step| &*step.name);
    let requests: Result<Vec<Ready>, String> = replay
        .requests
        .iter()
        .zip(names)
        .map(|(request, step)| {
            Ready::new(request).map_err(|reason| format!("step `{step}`: {reason}"))
        })
        .collect();
    REQUESTS
        .set(Arc::new(requests?))
        .map_err(|_| "a process replays one scenario".to_owned())?;
    let root = replay.root.to_string_lossy().into_owned();
    Ok(Box::leak(Box::new(Scenario {
        definition: replay.definition,
        root: root.leak(),
        prepare,
        chain,
        teardown: |_, _| Ok(()),
    })))
}

/// Lets what a header holds be shown nowhere, if it is one for secrets: the target may answer with it.
fn keep_header(header: &str, value: &[u8]) {
    if !redact::is_secret_name(header) {
        return;
    }
    let value = String::from_utf8_lossy(value);
    let name = header.to_ascii_lowercase();
    let parts: Vec<&str> = match &*name {
        "cookie" => value
            .split(';')
            .filter_map(|pair| pair.split_once('='))
            .map(|(_, value)| value.trim())
            .collect(),
        "authorization" | "proxy-authorization" => {
            let credentials = value.split_once(' ').map(|(_, after)| after.trim());
            let basic = credentials.and_then(|text| BASE64_STANDARD.decode(text).ok());
            if let Some((_, password)) = basic
                .as_deref()
                .and_then(|basic| std::str::from_utf8(basic).ok())
                .and_then(|basic| basic.split_once(':'))
            {
                secrets::keep_value(&name, password);
            }
            vec![credentials.unwrap_or(&value)]
        }
        _ => vec![&*value],
    };
    for part in parts {
        secrets::keep_value(&name, part);
    }
}

impl Ready {
    fn new(request: &ReplayedRequest) -> Result<Self, String> {
        let name = |name: &str| {
            HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| format!("`{}` is not a name of a header", name.escape_debug()))
        };
        let mut headers = Vec::new();
        for (header, value) in &request.headers {
            let mut value = HeaderValue::from_bytes(value)
                .map_err(|_| format!("the value of the header `{header}` cannot be sent"))?;
            value.set_sensitive(redact::is_secret_name(header));
            headers.push((name(header)?, value));
        }
        let mut buffer = RequestBuf::default();
        if let Err(Unmet::Invalid { reason }) = buffer.url(&request.url) {
            return Err(reason);
        }
        Ok(Self {
            method: request
                .method
                .parse()
                .map_err(|_| format!("`{}` is not a method", request.method.escape_debug()))?,
            url: request.url.clone(),
            headers,
            omitted: request
                .omitted
                .iter()
                .map(|omitted| name(omitted))
                .collect::<Result<_, _>>()?,
            body: request.body.clone().into(),
        })
    }
}

fn prepare(_: &SetupContext) -> Result<Prepared, SetupError> {
    let requests = REQUESTS.get().map(Arc::clone);
    Ok(Prepared {
        shared: requests.ok_or_else(|| SetupError::Setup {
            setup: "replay",
            reason: "there are no requests".to_owned(),
        })?,
        target: None,
        rows: None,
        shared_feeds: Vec::new(),
    })
}

fn chain(shared: &Shared, _: &mut Vu) -> Box<dyn Chain> {
    let requests = Arc::clone(shared).downcast().unwrap_or_default();
    Box::new(Requests { requests })
}

/// The chain of one virtual user: it keeps nothing.
struct Requests {
    requests: Arc<Vec<Ready>>,
}

impl Chain for Requests {
    fn begin(&mut self, _: &mut Vu) {}

    fn skip(&mut self, _: usize, _: Cause) {}

    fn build(&mut self, step: usize, _: &mut Vu, request: &mut RequestBuf) -> Result<(), Unmet> {
        let ready = &self.requests[step];
        request.start(ready.method.clone());
        request.url(&ready.url)?;
        request.headers.extend_from_slice(&ready.headers);
        request.omitted.extend_from_slice(&ready.omitted);
        request.body(ready.body.clone());
        Ok(())
    }

    fn run<'a>(
        &'a mut self,
        step: usize,
        _: &'a mut Vu,
        _: &'a mut Http,
    ) -> Local<'a, Result<(), Halt>> {
        unreachable!("step {step} is a request that is known")
    }

    fn finish(&mut self, _: usize, _: RawResponse) -> Result<(), ReadError> {
        Ok(())
    }

    fn arrived(&self, _: usize) -> bool {
        true
    }

    fn is_checked(&self, _: usize) -> bool {
        false
    }

    fn check(&mut self, _: usize, _: &mut Vu, _: &mut dyn FnMut(&'static str, Result<(), String>)) {
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::definition::ScenarioDef;
    use loadtest_model::definition::StepDef;
    use std::path::PathBuf;

    fn request(url: &str) -> ReplayedRequest {
        ReplayedRequest {
            method: "PROPFIND".to_owned(),
            url: url.to_owned(),
            headers: vec![("X-Key".to_owned(), b"\xe9".to_vec())],
            omitted: vec!["accept".to_owned()],
            body: vec![0, 255],
        }
    }

    fn replay(url: &str) -> Replay {
        Replay {
            definition: ScenarioDef::new("visit", vec![StepDef::new("home")]),
            root: PathBuf::new(),
            requests: vec![request(url)],
            secrets: vec![("TOKEN".to_owned(), "a token of a replay".to_owned())],
        }
    }

    #[test]
    fn a_replay_survives_the_way_to_the_process_that_sends_it() {
        let replay = replay("/a");
        let text = serde_json::to_string(&replay).unwrap();
        assert_eq!(serde_json::from_str::<Replay>(&text).unwrap(), replay);
        assert!(!format!("{replay:?} {:?}", replay.requests).contains("X-Key"));
    }

    #[test]
    fn what_a_header_holds_is_known_as_a_secret() {
        keep_header("Authorization", b"Basic YWRhOnBhc3N3b3JkLW9uZQ==");
        keep_header("authorization", b"Bearer bearer-of-a-replay");
        keep_header("cookie", b"theme=d; session=cookie-of-a-replay");
        keep_header("x-plain", b"plain-value-of-a-replay");
        let shown = secrets::scrub_text(
            "password-one bearer-of-a-replay cookie-of-a-replay plain-value-of-a-replay",
        );
        assert_eq!(
            shown,
            "[secret:authorization] [secret:authorization] [secret:cookie] plain-value-of-a-replay"
        );
    }

    #[test]
    fn a_request_is_built_as_it_was_recorded() {
        let refused = build_scenario(replay("no url")).unwrap_err();
        assert!(refused.starts_with("step `home`: URL"), "{refused}");
        let scenario = build_scenario(replay("/a?b")).unwrap();
        assert_eq!(
            secrets::scrub_text("it was a+token+of+a+replay."),
            "it was [secret:TOKEN]."
        );
        let prepared = (scenario.prepare)(&SetupContext::default()).unwrap();
        let mut vu = Vu::new(0, 0);
        let mut chain = (scenario.chain)(&prepared.shared, &mut vu);
        let mut buffer = RequestBuf::default();
        for _ in 0..2 {
            chain.build(0, &mut vu, &mut buffer).unwrap();
            assert_eq!(buffer.method.as_str(), "PROPFIND");
            assert_eq!(buffer.target.to_string(), "/a?b");
            assert_eq!(buffer.headers.len(), 1);
            assert_eq!(buffer.omitted, ["accept"]);
            assert_eq!(buffer.body, [0, 255][..]);
        }
        assert!(build_scenario(replay("/")).is_err(), "one for a process");
    }
}
