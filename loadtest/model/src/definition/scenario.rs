//! Scenarios and their steps.

use super::{
    Client, Cookies, DEFAULT_TIMEOUT, Expect, GoodCondition, GraphqlDef, HttpVersion, Load, Part,
    Rendezvous, Renewal, Retry, StreamDef, Think, Threshold, Until, WebSocketDef, micros,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

type Text = Cow<'static, str>;

/// Everything a scenario declares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioDef {
    /// The name shown to people: the function's, or `name = ".."`.
    pub name: Text,
    /// The function's name.
    pub function: Text,
    /// The `module_path!()` of the function.
    pub module: Text,
    /// The package that holds it.
    pub package: Text,
    /// The source file, as `file!()` gives it.
    pub file: Text,
    /// The line of the function's name.
    pub line: u32,
    /// The doc comment, trimmed; empty when there is none.
    pub description: Text,
    /// Free labels, selected by `--tag`.
    pub tags: Cow<'static, [Text]>,
    /// The URL that paths are joined to, when declared.
    pub base: Option<Text>,
    /// The share of a total load that the scenario gets beside others (`--mix`).
    #[serde(default = "default_weight")]
    pub weight: f64,
    /// The time from the start of a mix to the start of its load.
    #[serde(rename = "start_us", with = "micros", default)]
    pub start: Duration,
    /// The time that journeys under way have after the load; without it, 30 seconds.
    #[serde(
        rename = "grace_us",
        with = "micros::option",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub grace: Option<Duration>,
    /// What clients of the scenario's own connect to, such as `tcp://db.test:5432`.
    #[serde(default, skip_serializing_if = "<[Text]>::is_empty")]
    pub reaches: Cow<'static, [Text]>,
    /// The HTTP settings of its virtual users.
    #[serde(default)]
    pub client: Client,
    /// The declared load.
    pub load: Option<Load>,
    /// Conditions on the journey.
    pub thresholds: Cow<'static, [Threshold]>,
    /// The grading target T of all steps that declare none.
    #[serde(rename = "apdex_us", with = "micros::option", default)]
    pub apdex: Option<Duration>,
    /// The error budget of all steps that declare none, a share of one.
    #[serde(default)]
    pub budget: Option<f64>,
    /// The share in the overall grade of each step that declares none; `None` is the weight of the step.
    #[serde(default)]
    pub grade_weight: Option<f64>,
    /// A hash of the normalised tokens of the scenario.
    pub fingerprint: Text,
    /// `version = ".."`, which stands in for the fingerprint.
    #[serde(default)]
    pub version: Option<Text>,
    /// True if a `#[setup]` of the scenario returns a `Target`.
    pub starts_target: bool,
    /// True if a `#[state]` or a `once` step carries something from one iteration of a user to the next. Then an
    /// iteration cannot be replayed alone.
    #[serde(default)]
    pub keeps_state: bool,
    /// The `#[feed]` functions, in source order.
    #[serde(default)]
    pub feeds: Cow<'static, [FeedDef]>,
    /// The names of the secrets that the source shows.
    #[serde(default, skip_serializing_if = "<[Text]>::is_empty")]
    pub secrets: Cow<'static, [Text]>,
    /// The `#[group]`s, in source order.
    #[serde(default, skip_serializing_if = "<[GroupDef]>::is_empty")]
    pub groups: Cow<'static, [GroupDef]>,
    /// The steps in source order; at least one.
    pub steps: Cow<'static, [StepDef]>,
}

/// Everything a step declares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub struct StepDef {
    /// The name shown to people: the function's, or `name = ".."`.
    pub name: Text,
    /// The line of the function's name.
    pub line: u32,
    /// The doc comment, trimmed; empty when there is none.
    pub description: Text,
    /// Free labels, for limits on all steps with one of them.
    #[serde(default, skip_serializing_if = "<[Text]>::is_empty")]
    pub tags: Cow<'static, [Text]>,
    /// The HTTP method, where the source shows it.
    pub method: Option<Text>,
    /// The URL template, where the source shows it.
    pub url: Option<Text>,
    /// The headers that the source shows, those of the scenario included: name in lower case and
    /// template of the value.
    #[serde(default)]
    pub headers: Cow<'static, [HeaderDef]>,
    /// The body, where the source shows one.
    #[serde(default)]
    pub body: Option<BodyDef>,
    /// True if the step is an `async fn` that sends its own requests.
    #[serde(default)]
    pub sends_itself: bool,
    /// True if the step runs once per virtual user and its response is kept.
    #[serde(default)]
    pub once: bool,
    /// When the answer of a `once` step is stale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renewal: Option<Renewal>,
    /// True if the step runs once per virtual user, after its last iteration.
    #[serde(default)]
    pub last: bool,
    /// True for an `async` step that does not take `http`, and so needs no base URL.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_http: bool,
    /// True if its failure ends the journey: the steps after it are skipped.
    #[serde(default)]
    pub stop_on_failure: bool,
    /// The retries after a failure.
    #[serde(default)]
    pub retry: Option<Retry>,
    /// The answer that it asks for until it comes.
    #[serde(default)]
    pub until: Option<Until>,
    /// The maximum number of redirects to follow.
    #[serde(default)]
    pub redirects: u32,
    /// True if each request goes over a connection of its own: `connections = new`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_connections: bool,
    /// The probability that the step runs in an iteration: more than 0, at most 1.
    pub weight: f64,
    /// The choice of which one step runs at most; its steps share a draw.
    #[serde(default)]
    pub one_of: Option<Text>,
    /// The name of the group that the step is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Text>,
    /// The statuses that count as success.
    pub expect: Expect,
    /// The users that wait for each other before they send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendezvous: Option<Rendezvous>,
    /// The pause after the step.
    #[serde(default)]
    pub think: Option<Think>,
    /// The time a request may take, from ready to the last body byte.
    #[serde(rename = "timeout_us", with = "micros")]
    pub timeout: Duration,
    /// Conditions on this step.
    pub thresholds: Cow<'static, [Threshold]>,
    /// The grading target T.
    #[serde(rename = "apdex_us", with = "micros::option", default)]
    pub apdex: Option<Duration>,
    /// The error budget, a share of one.
    #[serde(default)]
    pub budget: Option<f64>,
    /// The share in the overall grade; `None` is that of the scenario, else the weight.
    #[serde(default)]
    pub grade_weight: Option<f64>,
    /// The earlier steps this one uses, in the order of first use.
    pub dependencies: Cow<'static, [Dependency]>,
    /// The parts of the response that are kept.
    pub reads: Reads,
    /// How the answer is read, where it is a stream of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamDef>,
    /// How the step opens a WebSocket, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub websocket: Option<WebSocketDef>,
    /// How the answer is read, where it is one of GraphQL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graphql: Option<GraphqlDef>,
    /// What holds for a good execution; empty where nothing is declared.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub good: Cow<'static, [GoodCondition]>,
    /// A hash of the normalised tokens of the step.
    pub fingerprint: Text,
}

/// A `#[feed]` function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedDef {
    /// The name of the function.
    pub name: Text,
    /// The line of the name.
    pub line: u32,
}

/// A `#[group]`: steps that are measured together, too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupDef {
    /// The name shown to people; no step and no other group has it.
    pub name: Text,
    /// The line where it stands in the scenario.
    pub line: u32,
    /// The doc comment, trimmed; empty when there is none.
    pub description: Text,
    /// Conditions on the group.
    pub thresholds: Cow<'static, [Threshold]>,
}

/// A header that a step declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderDef {
    /// The name in lower case.
    pub name: Text,
    /// The value, with its `{{placeholders}}`; of `basic = (..)` user name and password as they are
    /// before they are encoded.
    pub value: Text,
}

/// A body that a step declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyDef {
    /// The encoding of the body.
    pub kind: BodyKind,
    /// The body, with its `{{placeholders}}`: JSON, in which `(..)` stands for a Rust expression; for
    /// forms a JSON object of its fields, whose values are text or `{"file": path}`; text; or the
    /// path of a file.
    pub template: Text,
}

/// The encoding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyKind {
    /// `application/json`.
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// Text.
    Text,
    /// The bytes of a file.
    Bytes,
    /// `multipart/form-data`.
    Multipart,
}

fn default_weight() -> f64 {
    1.0
}

/// The use of an earlier step's response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    /// The zero-based number of the earlier step.
    pub step: usize,
    /// True if the step also runs without it (`Option<&T>`).
    pub optional: bool,
}

/// The parts of a response that the chain needs; the transport drops the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reads {
    /// The body is decoded.
    pub body: bool,
    /// A later step or check may look at the headers.
    pub headers: bool,
}

impl StepDef {
    /// Returns true if the step runs `once` or `last`: it is measured over the whole run, and has no rate.
    pub fn runs_once_per_user(&self) -> bool {
        self.once || self.last
    }

    /// Returns true if its answer is stale for a step that is answered with `status`.
    pub fn refreshes_on(&self, status: u16) -> bool {
        (self.renewal.as_ref()).is_some_and(|renewal| renewal.on.accepts(status))
    }

    /// Returns kind and name of its GraphQL operation, where the source shows them.
    pub fn operation(&self) -> Option<&str> {
        self.graphql.as_ref()?.operation.as_deref()
    }

    /// The part of an execution that it is graded by: of a stream, the time to its first event.
    pub fn graded_part(&self) -> Part {
        match &self.stream {
            Some(stream) if !stream.graded_by_response => Part::FirstEvent,
            _ => Part::Whole,
        }
    }

    /// A step that declares nothing but its name.
    pub fn new(name: impl Into<Text>) -> Self {
        Self {
            name: name.into(),
            line: 1,
            description: Cow::Borrowed(""),
            tags: Cow::Borrowed(&[]),
            method: None,
            url: None,
            headers: Cow::Borrowed(&[]),
            body: None,
            sends_itself: false,
            once: false,
            renewal: None,
            last: false,
            without_http: false,
            stop_on_failure: false,
            retry: None,
            until: None,
            redirects: 0,
            new_connections: false,
            weight: 1.0,
            one_of: None,
            group: None,
            expect: Expect::SUCCESS,
            rendezvous: None,
            think: None,
            timeout: DEFAULT_TIMEOUT,
            thresholds: Cow::Borrowed(&[]),
            apdex: None,
            budget: None,
            grade_weight: None,
            dependencies: Cow::Borrowed(&[]),
            reads: Reads {
                body: false,
                headers: false,
            },
            stream: None,
            websocket: None,
            graphql: None,
            good: Cow::Borrowed(&[]),
            fingerprint: Cow::Borrowed(""),
        }
    }
}

impl ScenarioDef {
    /// A scenario that declares nothing but its name and its steps.
    pub fn new(function: impl Into<Text>, steps: Vec<StepDef>) -> Self {
        let function = function.into();
        Self {
            name: function.clone(),
            function,
            module: Cow::Borrowed("load"),
            package: Cow::Borrowed(""),
            file: Cow::Borrowed(""),
            line: 1,
            description: Cow::Borrowed(""),
            tags: Cow::Borrowed(&[]),
            base: None,
            weight: 1.0,
            start: Duration::ZERO,
            grace: None,
            reaches: Cow::Borrowed(&[]),
            client: Client::DEFAULT,
            load: None,
            thresholds: Cow::Borrowed(&[]),
            apdex: None,
            budget: None,
            grade_weight: None,
            fingerprint: Cow::Borrowed(""),
            version: None,
            starts_target: false,
            keeps_state: false,
            feeds: Cow::Borrowed(&[]),
            secrets: Cow::Borrowed(&[]),
            groups: Cow::Borrowed(&[]),
            steps: steps.into(),
        }
    }

    /// Returns whether a step has a path that needs a base URL, or may have one.
    pub fn needs_base(&self) -> bool {
        let mut sending = self.steps.iter().filter(|step| !step.without_http);
        let mut urls = self
            .steps
            .iter()
            .filter_map(|step| step.url.as_deref())
            .peekable();
        if urls.peek().is_none() {
            return sending.next().is_some();
        }
        urls.any(|url| url.starts_with('/'))
    }

    /// Returns the first URL without TLS, of `base` and of the steps, where all requests go over QUIC, which has no other.
    pub fn url_without_tls<'a>(&'a self, base: Option<&'a str>) -> Option<&'a str> {
        if self.client.http != HttpVersion::Http3 {
            return None;
        }
        // A WebSocket is opened over HTTP/1.1.
        let steps = self.steps.iter().filter(|step| step.websocket.is_none());
        let urls = base
            .into_iter()
            .chain(steps.filter_map(|step| step.url.as_deref()));
        let scheme = |url: &str| url.get(..7).unwrap_or_default().to_ascii_lowercase();
        urls.into_iter().find(|url| scheme(url) == "http://")
    }

    /// Returns the zero-based number of the group that a step is in.
    pub fn group_index(&self, step: &StepDef) -> Option<usize> {
        let name = step.group.as_ref()?;
        self.groups.iter().position(|group| group.name == *name)
    }

    /// Returns the HTTP settings as they apply: a `once` step keeps the cookies of its user.
    pub fn client(&self) -> Client {
        let mut client = self.client.clone();
        if client.cookies == Cookies::Iteration && self.steps.iter().any(|step| step.once) {
            client.cookies = Cookies::User;
        }
        client
    }

    /// Returns the nearest steps that a step uses, itself or by steps between, and that `is_source` holds for.
    pub fn sources(&self, step: usize, is_source: impl Fn(&StepDef) -> bool) -> Vec<usize> {
        let mut used = vec![false; self.steps.len()];
        used[step] = true;
        for at in (0..=step).rev() {
            if used[at] && (at == step || !is_source(&self.steps[at])) {
                for dependency in &*self.steps[at].dependencies {
                    used[dependency.step] = true;
                }
            }
        }
        let found = (0..step).filter(|at| used[*at] && is_source(&self.steps[*at]));
        found.collect()
    }

    /// Returns a step and those that use it, themselves or by steps between.
    pub fn derived_steps(&self, step: usize) -> Vec<usize> {
        let mut derived = vec![step];
        for (at, def) in self.steps.iter().enumerate().skip(step + 1) {
            let mut used = def.dependencies.iter();
            if used.any(|dependency| derived.contains(&dependency.step)) {
                derived.push(at);
            }
        }
        derived
    }

    /// The zero-based numbers of the steps with `tag`.
    pub fn tagged_steps(&self, tag: &str) -> Vec<usize> {
        let steps = self.steps.iter().enumerate();
        let tagged = steps.filter(|(_, step)| step.tags.iter().any(|one| one == tag));
        tagged.map(|(at, _)| at).collect()
    }

    /// The identity of the scenario over time: `package::module::function`.
    ///
    /// A library's own crate name is left out where it is the package's name:
    /// `acme-scenarios::checkout`, but `shop::load::checkout` for `tests/load.rs`.
    pub fn identity(&self) -> String {
        let (krate, rest) = self
            .module
            .split_once("::")
            .map_or((&*self.module, ""), |(krate, rest)| (krate, rest));
        let mut identity = self.package.to_string();
        let own = self.package.replace('-', "_") == krate;
        for part in [if own { "" } else { krate }, rest, &self.function] {
            if !part.is_empty() {
                identity.push_str("::");
                identity.push_str(part);
            }
        }
        identity
    }

    /// The name under libtest: the module path inside the crate, then the function.
    pub fn test_name(&self) -> String {
        match self.module.split_once("::") {
            Some((_, rest)) => format!("{rest}::{}", self.function),
            None => self.function.to_string(),
        }
    }

    /// Returns the version of the scenario, `version = ".."`, or else its fingerprint.
    pub fn revision(&self) -> &str {
        self.version.as_deref().unwrap_or(&self.fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_runs_once_keeps_the_cookies_of_its_user() {
        let mut login = StepDef::new("login");
        let cookies = |login: &StepDef, declared| {
            let mut scenario = ScenarioDef::new("checkout", vec![login.clone()]);
            scenario.client.cookies = declared;
            scenario.client().cookies
        };
        assert_eq!(cookies(&login, Cookies::Iteration), Cookies::Iteration);
        login.once = true;
        assert_eq!(cookies(&login, Cookies::Iteration), Cookies::User);
        assert_eq!(cookies(&login, Cookies::Off), Cookies::Off);
    }

    #[test]
    fn sources_are_the_nearest_and_what_is_derived_is_all_that_follows() {
        let uses = |steps: &[usize]| {
            let steps = steps.iter().map(|step| Dependency {
                step: *step,
                optional: false,
            });
            steps.collect::<Vec<_>>().into()
        };
        let steps = [
            ("login", true, uses(&[])),
            ("socket", true, uses(&[0])),
            ("join", true, uses(&[1])),
            ("say", false, uses(&[2, 1])),
            ("cart", false, uses(&[0])),
            ("buy", false, uses(&[4])),
        ];
        let steps = steps.map(|(name, once, dependencies)| StepDef {
            once,
            dependencies,
            ..StepDef::new(name)
        });
        let scenario = ScenarioDef::new("shop", steps.to_vec());
        let once = |step| scenario.sources(step, |def| def.once);
        assert_eq!((once(3), once(5), once(2)), (vec![1, 2], vec![0], vec![1]));
        assert_eq!(once(0), Vec::<usize>::new());
        let login = scenario.sources(3, |def| def.name == "login");
        assert_eq!(login, [0]);
        assert_eq!(scenario.derived_steps(1), [1, 2, 3]);
        assert_eq!(scenario.derived_steps(0), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn without_tls_there_is_no_quic() {
        let steps = ["/a", "https://h/b", "http://h/c", "HTTP://h/d"].map(|url| {
            let mut step = StepDef::new("step");
            step.url = Some(url.into());
            step
        });
        let mut scenario = ScenarioDef::new("checkout", steps.to_vec());
        let base = Some("http://127.0.0.1");
        assert_eq!(scenario.url_without_tls(base), None);
        scenario.client.http = HttpVersion::Http3;
        assert_eq!(scenario.url_without_tls(base), base);
        assert_eq!(
            scenario.url_without_tls(Some("https://h")),
            Some("http://h/c")
        );
        let steps = scenario.steps.to_mut();
        steps[2].websocket = Some(WebSocketDef::default());
        assert_eq!(scenario.url_without_tls(None), Some("HTTP://h/d"));
        scenario.steps.to_mut().truncate(3);
        assert_eq!(scenario.url_without_tls(None), None);
    }
}
