//! `[[notify]]`: who is told of events.

use super::key::{ConfigTable, Given, suggest_known};
use serde::{Serialize, Serializer};
use url::Url;

/// A webhook of `[[notify]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notify {
    /// `url`: where to, `http` or `https`; or `$` and the variable of the environment that holds it.
    pub(crate) url: String,
    /// `events`: of what; of all, where nothing is said.
    pub(crate) events: Vec<Event>,
    /// `format`: in what form.
    pub(crate) format: NotifyFormat,
    /// `secret_env`: the variable of the environment that holds the key of the signature.
    pub(crate) secret_env: Option<String>,
}

impl Notify {
    /// The variable that holds the URL, where the file does not.
    pub(crate) fn url_variable(&self) -> Option<&str> {
        self.url.strip_prefix('$')
    }
}

impl Default for Notify {
    fn default() -> Self {
        Self {
            url: String::new(),
            events: Event::ALL.to_vec(),
            format: NotifyFormat::default(),
            secret_env: None,
        }
    }
}

/// An event that webhooks receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    /// `run.started`
    RunStarted,
    /// `run.finished`
    RunFinished,
    /// `gate.failed`
    GateFailed,
}

impl Event {
    const ALL: [Self; 3] = [Self::RunStarted, Self::RunFinished, Self::GateFailed];

    /// The word in the file.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::RunStarted => "run.started",
            Self::RunFinished => "run.finished",
            Self::GateFailed => "gate.failed",
        }
    }

    fn read(word: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|event| event.word() == word);
        known.ok_or_else(|| {
            let instead = suggest_known(word, &Self::ALL.map(Self::word));
            format!("`{word}` is not an event; {instead}")
        })
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// The payload format of a webhook.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum NotifyFormat {
    /// `json`: the documented payload.
    #[default]
    Json,
    /// `slack`: a message of Slack's incoming webhooks.
    Slack,
}

impl ConfigTable for Notify {
    const SECTION: &'static str = "notify";

    fn set_key(&mut self, name: &str, given: &Given<'_>) -> Result<(), String> {
        let text = given.text();
        match name {
            "url" => {
                self.url = match text.strip_prefix('$') {
                    Some(name) => {
                        format!("${}", read_variable(name, "url = \"$SLACK_WEBHOOK_URL\"")?)
                    }
                    None => destination(text)?.into(),
                }
            }
            "events" => self.events = parse_events(given)?,
            "format" => {
                self.format = match text {
                    "json" => NotifyFormat::Json,
                    "slack" => NotifyFormat::Slack,
                    word => {
                        let instead = suggest_known(word, &["json", "slack"]);
                        return Err(format!("is not a format; {instead}"));
                    }
                }
            }
            "secret_env" => {
                let example = "secret_env = \"LOADTEST_WEBHOOK_KEY\"";
                self.secret_env = Some(read_variable(text, example)?);
            }
            _ => return Err("is not a key of this table".to_owned()),
        }
        Ok(())
    }
}

fn parse_events(given: &Given<'_>) -> Result<Vec<Event>, String> {
    let mut events = Vec::new();
    for word in given.words {
        let event = Event::read(word)?;
        if !events.contains(&event) {
            events.push(event);
        }
    }
    if events.is_empty() {
        return Err("names no event, so nothing would ever be sent".to_owned());
    }
    Ok(events)
}

/// A URL that events can be sent to. What is wrong is told without it: who knows it can write to Slack.
pub(crate) fn destination(text: &str) -> Result<Url, String> {
    let example = "write for example `https://hooks.example.com/loadtest`";
    let url = Url::parse(text).map_err(|error| format!("is not a URL ({error}); {example}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "starts with neither `http://` nor `https://`; {example}"
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "holds a user name or a password, which must not be in this file; \
             `secret_env` names the variable of a key that signs what is sent"
                .to_owned(),
        );
    }
    Ok(url)
}

/// The name of a variable, not its value.
pub(super) fn read_variable(text: &str, example: &str) -> Result<String, String> {
    let is_name = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if is_name {
        return Ok(text.to_owned());
    }
    Err(format!(
        "is not a name of a variable; put the value into the environment, and the name of its variable \
         here, as in `{example}`"
    ))
}
