//! The requests of the options of a command.

use super::arguments::{self, CurlSetting};
use super::files::DataSource;
use super::headers::OwnHeader;
use super::options::OptionEffect;
use super::url::{append_query, expand_set, parse_url};
use super::{PermittedFiles, form};
use crate::recording::{Body, EVENTS, EventStream, Exchange, Http, Part, Recording, Text};
use crate::shell::{ShellCommand, ShellVariables};
use crate::source::{Mistake, Span};
use crate::text::is_token;
use std::time::Duration;
use url::{Position, Url};

/// Redirects that curl follows.
const REDIRECTS: u32 = 50;
/// Encodings that curl can decode.
const ENCODINGS: &str = "deflate, gzip, br, zstd";

/// Commands that are being read.
pub(super) struct RequestReader<'a, 'v> {
    files: &'a PermittedFiles,
    variables: &'a ShellVariables<'v>,
    recording: &'a mut Recording,
}

/// The options of a command.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of curl")]
#[derive(Default)]
pub(super) struct RequestDraft {
    urls: Vec<(String, Span)>,
    method: Option<String>,
    pub(super) headers: Vec<OwnHeader>,
    /// Headers of other options, which those of `-H` replace.
    pub(super) defaults: Vec<(&'static str, String)>,
    /// Kinds of body, and where the first option of each is.
    bodies: Vec<(CurlBodyKind, Span)>,
    data: Vec<u8>,
    query: String,
    pub(super) is_json: bool,
    parts: Vec<Part>,
    /// Names and contents of the files of `-T`.
    uploads: Vec<(String, Vec<u8>)>,
    is_get: bool,
    is_streamed: bool,
    pub(super) user: Option<(String, String)>,
    pub(super) sends_no_credentials: bool,
    pub(super) cookies: Vec<String>,
    pub(super) cookie_files: Vec<String>,
    is_literal: bool,
    follows: bool,
    most_redirects: Option<u32>,
    timeout: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CurlBodyKind {
    Data,
    Form,
    Upload,
    Head,
}

impl<'a, 'v> RequestReader<'a, 'v> {
    pub(super) fn new(
        files: &'a PermittedFiles,
        variables: &'a ShellVariables<'v>,
        recording: &'a mut Recording,
    ) -> Self {
        Self {
            files,
            variables,
            recording,
        }
    }

    /// Adds the requests of a command.
    pub(super) fn read_command(&mut self, command: &ShellCommand) -> Result<(), Mistake> {
        let settings = arguments::read_settings(&command.words[1..], &mut self.recording.notes)?;
        let mut requests = settings.split(|setting| setting.name == "next");
        requests.try_for_each(|settings| self.read_request(command, settings))
    }

    fn read_request(
        &mut self,
        command: &ShellCommand,
        settings: &[CurlSetting],
    ) -> Result<(), Mistake> {
        let reads = DataSource {
            files: self.files,
            stdin: command.stdin.as_deref(),
        };
        let mut draft = RequestDraft::default();
        for setting in settings {
            self.apply_setting(&mut draft, setting, &reads)?;
        }
        if draft.is_get {
            let data = |body: &mut (CurlBodyKind, Span)| body.0 == CurlBodyKind::Data;
            for (_, span) in draft.bodies.extract_if(.., data) {
                check_query(&String::from_utf8_lossy(&draft.data), &span)?;
            }
        }
        if let Some((_, second)) = draft.bodies.get(1) {
            let words = "curl takes only one of `-d`, `-F`, `-T` and `-I` for a request";
            return Err(Mistake::new(second.clone(), words));
        }
        if draft.urls.is_empty() {
            let name = command.words[0].span.clone();
            return Err(Mistake::new(name, "this command has no URL"));
        }
        if !draft.is_literal {
            let urls = draft.urls.iter();
            draft.urls = urls.flat_map(|(url, span)| expand_set(url, span)).collect();
        }
        for number in 0..draft.urls.len() {
            let exchange = draft.build_exchange(number, self.variables)?;
            self.recording.exchanges.push(exchange);
        }
        Ok(())
    }

    fn apply_setting(
        &mut self,
        draft: &mut RequestDraft,
        setting: &CurlSetting,
        reads: &DataSource<'_>,
    ) -> Result<(), Mistake> {
        let (on, span) = (setting.on, &setting.span);
        let client = &mut self.recording.client;
        match setting.name {
            name @ ("data" | "data-ascii" | "data-binary" | "json") => {
                draft.is_json |= name == "json";
                let keeps_lines = matches!(name, "data-binary" | "json");
                let data = reads.read_data(&setting.value, keeps_lines, span)?;
                draft.add_data(&data, if name == "json" { "" } else { "&" }, span);
            }
            "data-raw" => draft.add_data(&setting.value, "&", span),
            "data-urlencode" => {
                let data = reads.read_encoded(setting.text()?, span)?;
                draft.add_data(data.as_bytes(), "&", span);
            }
            name @ ("form" | "form-string") => {
                let is_literal = name == "form-string";
                let text = setting.text()?;
                let read = form::read_part(text, is_literal, reads, self.variables, span);
                draft.parts.push(read?);
                draft.add_body(CurlBodyKind::Form, span);
            }
            "upload-file" => {
                let name = setting.text()?.to_owned();
                let content = reads.read(&name, span)?;
                draft.uploads.push((name, content));
                draft.add_body(CurlBodyKind::Upload, span);
            }
            "head" if on => draft.add_body(CurlBodyKind::Head, span),
            "header" => {
                let text = setting.text()?;
                let file = text
                    .strip_prefix('@')
                    .map(|name| reads.read_text(name, span));
                let file = file.transpose()?;
                let lines = file
                    .as_deref()
                    .map_or_else(|| vec![text], |file| file.lines().collect());
                for line in lines
                    .iter()
                    .filter(|line| !line.is_empty() && !line.starts_with('#'))
                {
                    draft.add_header(line, span, &mut self.recording.notes)?;
                }
            }
            "cookie" => {
                let text = setting.text()?;
                let name = text.strip_prefix('@');
                if name.is_none() && text.contains('=') {
                    draft.cookies.push(text.to_owned());
                    return Ok(());
                }
                client.keeps_cookies = true;
                let name = name.unwrap_or(text);
                if !name.is_empty() {
                    draft.cookie_files.push(reads.read_text(name, span)?);
                }
            }
            "cookie-jar" => client.keeps_cookies = true,
            "insecure" => client.insecure |= on,
            "http1.1" => client.http = Some(Http::One),
            "http2" => client.http = None,
            "http2-prior-knowledge" => client.http = Some(Http::Two),
            "http3" | "http3-only" => client.http = Some(Http::Three),
            "cacert" => client.ca = Some(permitted_path(setting.text()?, reads, span)?),
            "cert" => {
                let path = setting.text()?;
                // The colon of `C:\me.pem` is none before a password, which is in no message.
                let colon = path
                    .char_indices()
                    .skip(2)
                    .find(|(_, letter)| *letter == ':');
                permitted_path(&path[..colon.map_or(path.len(), |(at, _)| at)], reads, span)?;
                client.identity = Some(permitted_path(path, reads, span)?);
            }
            _ => return draft.apply_setting(setting, reads),
        }
        Ok(())
    }
}

impl RequestDraft {
    fn apply_setting(
        &mut self,
        setting: &CurlSetting,
        reads: &DataSource<'_>,
    ) -> Result<(), Mistake> {
        let (on, span) = (setting.on, &setting.span);
        let text = setting.text()?;
        if let OptionEffect::Header((name, prefix)) = setting.effect {
            self.defaults.retain(|(known, _)| *known != name);
            if text.is_empty() && name == "user-agent" {
                return self.add_header("User-Agent:", span, &mut Vec::new());
            }
            self.defaults.push((name, format!("{prefix}{text}")));
            return Ok(());
        }
        match setting.name {
            "url" => self.urls.push((text.to_owned(), span.clone())),
            "request" if is_token(text) => self.method = Some(text.to_owned()),
            "request" => return Err(Mistake::new(span.clone(), "this is not a method of HTTP")),
            "url-query" => {
                let query = match text.strip_prefix('+') {
                    Some(raw) => raw.to_owned(),
                    None => reads.read_encoded(text, span)?,
                };
                check_query(&query, span)?;
                let between = if self.query.is_empty() { "" } else { "&" };
                self.query.extend([between, &query]);
            }
            "buffer" => self.is_streamed = true,
            "get" => self.is_get = on,
            "user" => {
                let (user, password) = text.split_once(':').ok_or_else(|| {
                    let words = "curl would ask for the password of this user";
                    let help = "write `user:password`, or `user:` for an empty one";
                    Mistake::new(span.clone(), words).help(help)
                })?;
                self.user = Some((user.to_owned(), password.to_owned()));
            }
            "digest" | "ntlm" | "ntlm-wb" | "negotiate" => self.sends_no_credentials = true,
            "compressed" if on => self
                .defaults
                .push(("accept-encoding", ENCODINGS.to_owned())),
            "globoff" => self.is_literal = on,
            "location" | "location-trusted" => self.follows = on,
            "max-redirs" => {
                let number: i64 = parse_number(text, "a number is expected here", span)?;
                self.most_redirects = u32::try_from(number).ok();
            }
            "max-time" => {
                let seconds: f64 =
                    parse_number(text, "a number of seconds is expected here", span)?;
                // None is no limit.
                let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
                self.timeout = (time > Duration::ZERO).then_some(time);
            }
            // Those that make no other request.
            _ => {}
        }
        Ok(())
    }

    fn add_body(&mut self, kind: CurlBodyKind, span: &Span) {
        if self.bodies.iter().all(|(known, _)| *known != kind) {
            self.bodies.push((kind, span.clone()));
        }
    }

    fn add_data(&mut self, data: &[u8], between: &str, span: &Span) {
        if self
            .bodies
            .iter()
            .any(|(kind, _)| *kind == CurlBodyKind::Data)
        {
            self.data.extend_from_slice(between.as_bytes());
        }
        self.add_body(CurlBodyKind::Data, span);
        self.data.extend_from_slice(data);
    }

    fn build_exchange(
        &self,
        number: usize,
        variables: &ShellVariables<'_>,
    ) -> Result<Exchange, Mistake> {
        let (text, span) = &self.urls[number];
        let text = variables.fill_host(text, span)?;
        let mut url = parse_url(&text, self.is_literal, span)?;
        let upload = self.uploads.get(number);
        let kind = self.bodies.first().map(|(kind, _)| *kind);
        let (method, body) = match (kind, upload) {
            (_, Some((file, content))) => {
                name_upload(&mut url, file);
                ("PUT", Body::Text(variables.split_values(content)))
            }
            (Some(CurlBodyKind::Data), _) => {
                ("POST", Body::Text(variables.split_values(&self.data)))
            }
            (Some(CurlBodyKind::Form), _) => ("POST", Body::Multipart(self.parts.clone())),
            (Some(CurlBodyKind::Head), _) => ("HEAD", Body::None),
            (Some(CurlBodyKind::Upload) | None, _) => ("GET", Body::None),
        };
        if self.is_get && !self.data.is_empty() {
            append_query(&mut url, &String::from_utf8_lossy(&self.data));
        } else if !self.query.is_empty() {
            append_query(&mut url, &self.query);
        }
        let origin = url.origin().ascii_serialization();
        let target = &url[Position::BeforePath..Position::AfterQuery];
        let redirects = self.most_redirects.unwrap_or(REDIRECTS).min(REDIRECTS);
        let mut exchange = Exchange {
            span: span.clone(),
            method: self.method.clone().unwrap_or_else(|| method.to_owned()),
            origin,
            target: variables.split_values(target.as_bytes()),
            body,
            redirects: if self.follows { redirects } else { 0 },
            timeout: self.timeout,
            ..Exchange::default()
        };
        self.add_headers(&mut exchange, &url, upload.is_some(), variables);
        let accept = exchange.header("accept").and_then(Text::as_literal);
        let is_streamed = self.is_streamed || accept.is_some_and(|accept| accept.trim() == EVENTS);
        exchange.stream = is_streamed.then(EventStream::default);
        Ok(exchange)
    }
}

fn permitted_path(path: &str, reads: &DataSource<'_>, span: &Span) -> Result<String, Mistake> {
    Ok(reads.files.path(path, span)?.display().to_string())
}

fn parse_number<T: std::str::FromStr>(text: &str, words: &str, span: &Span) -> Result<T, Mistake> {
    let number = text.trim().parse();
    number.map_err(|_| Mistake::new(span.clone(), words))
}

fn check_query(query: &str, span: &Span) -> Result<(), Mistake> {
    if query.contains(|letter: char| letter <= ' ' || letter == '\x7f') {
        let words = "this query has a blank or a control character in it";
        return Err(Mistake::new(span.clone(), words).help("write it with `--data-urlencode`"));
    }
    Ok(())
}

/// Appends the name of the file to a URL that ends with `/`.
fn name_upload(url: &mut Url, file: &str) {
    if url.path().ends_with('/') && file != "-" {
        let name = file.rsplit('/').next().unwrap_or_default();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push(name);
        }
    }
}
