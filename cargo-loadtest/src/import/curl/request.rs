//! The requests of the options of a command.

use super::super::recording::{Body, Exchange, Http, Part, Recording};
use super::super::shell::{CommandInput, ShellVariables};
use super::super::source::{Mistake, Note, Span};
use super::super::text::is_token;
use super::arguments::{CurlOperation, CurlSetting};
use super::data::{self, DataSource};
use super::form::FormPart;
use super::url::{CurlUrl, UserPassword};
use super::{MOST_REQUESTS, PermittedFiles, form, glob};
use std::time::Duration;

/// Redirects that curl follows.
const REDIRECTS: u32 = 50;
/// Most bytes of all bodies.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Commands that are being read.
pub(super) struct RequestReader<'a, 'v> {
    files: &'a PermittedFiles,
    variables: &'a ShellVariables<'v>,
    bytes: usize,
}

impl<'a, 'v> RequestReader<'a, 'v> {
    pub(super) fn new(files: &'a PermittedFiles, variables: &'a ShellVariables<'v>) -> Self {
        Self {
            files,
            variables,
            bytes: 0,
        }
    }

    /// Adds the requests of a command; `span` is the place of its name.
    pub(super) fn read_command(
        &mut self,
        operations: &[CurlOperation],
        stdin: &CommandInput,
        span: &Span,
        into: &mut Recording,
    ) -> Result<(), Mistake> {
        let files = self.files;
        let reads = DataSource { files, stdin };
        for operation in operations {
            let mut draft = RequestDraft::default();
            for setting in &operation.settings {
                draft.apply_setting(setting, &reads, into)?;
            }
            if draft.urls.is_empty() {
                return Err(Mistake::new(span.clone(), "this command has no URL"));
            }
            draft.check_bodies()?;
            for (exchange, bytes) in draft.build_exchanges(&reads, self.variables, into)? {
                self.bytes += bytes;
                if self.bytes > MOST_BYTES || into.exchanges.len() == MOST_REQUESTS {
                    let mib = MOST_BYTES / 1024 / 1024;
                    let words = format!(
                        "this is too much: at most {MOST_REQUESTS} requests and {mib} MiB are taken"
                    );
                    return Err(Mistake::new(exchange.span, words));
                }
                into.exchanges.push(exchange);
            }
        }
        Ok(())
    }
}

/// The options of one operation.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of curl")]
#[derive(Default)]
pub(super) struct RequestDraft {
    urls: Vec<(Vec<u8>, Span)>,
    method: Option<(Vec<u8>, Span)>,
    pub(super) headers: Vec<(Vec<u8>, Span)>,
    data: Option<(Vec<u8>, Span)>,
    query: Vec<u8>,
    pub(super) is_json: bool,
    form: Vec<FormPart>,
    form_span: Option<Span>,
    uploads: Vec<(Vec<u8>, Span)>,
    is_get: bool,
    head: Option<Span>,
    pub(super) user: Option<UserPassword>,
    pub(super) bearer: Option<Vec<u8>>,
    pub(super) sends_no_credentials: bool,
    pub(super) cookies: Vec<Vec<u8>>,
    pub(super) cookie_files: Vec<Vec<u8>>,
    pub(super) without_sessions: bool,
    pub(super) agent: Option<Vec<u8>>,
    pub(super) referer: Option<Vec<u8>>,
    pub(super) range: Option<(Vec<u8>, Span)>,
    pub(super) is_compressed: bool,
    is_literal: bool,
    keeps_dots: bool,
    follows: bool,
    most_redirects: Option<u32>,
    timeout: Option<Duration>,
}

impl RequestDraft {
    fn apply_setting(
        &mut self,
        setting: &CurlSetting,
        reads: &DataSource<'_>,
        into: &mut Recording,
    ) -> Result<(), Mistake> {
        let CurlSetting {
            name,
            on,
            value,
            span,
        } = setting;
        let placed = || (value.clone(), span.clone());
        match *name {
            "url" => self.urls.push(placed()),
            "request" => self.method = Some(placed()),
            "header" => self.add_header(value, span, reads)?,
            "data" | "data-ascii" | "data-binary" | "json" => {
                self.is_json |= *name == "json";
                let keeps_lines = matches!(*name, "data-binary" | "json");
                let data = data::read_data(value, keeps_lines, reads, span)?;
                self.add_data(data, if *name == "json" { "" } else { "&" }, span)?;
            }
            "data-raw" => self.add_data(value.clone(), "&", span)?,
            "data-urlencode" => {
                self.add_data(data::read_encoded(value, reads, span)?, "&", span)?;
            }
            "url-query" => {
                let part = match value.strip_prefix(b"+") {
                    Some(raw) => raw.to_vec(),
                    None => data::read_encoded(value, reads, span)?,
                };
                if !self.query.is_empty() {
                    self.query.push(b'&');
                }
                self.query.extend(part);
            }
            "form" => {
                let part = form::read_part(value, reads, span, &mut into.notes)?;
                self.form.push(part);
                self.form_span = Some(span.clone());
            }
            "form-string" => {
                self.form.push(form::read_literal(value, span)?);
                self.form_span = Some(span.clone());
            }
            "form-escape" if *on => into.notes.push(Note::new(
                span.clone(),
                "quotes in the names of fields are escaped as `%22`",
            )),
            "get" => self.is_get = *on,
            "head" => self.head = on.then(|| span.clone()),
            "user" => self.user = Some(parse_user(value, span)?),
            "oauth2-bearer" => self.bearer = Some(value.clone()),
            "digest" | "ntlm" | "ntlm-wb" | "negotiate" => self.sends_no_credentials = *on,
            "basic" | "anyauth" => self.sends_no_credentials = false,
            "cookie" => self.add_cookie(value, span, reads, into)?,
            "cookie-jar" => into.client.keeps_cookies = true,
            "junk-session-cookies" => self.without_sessions = *on,
            "user-agent" => self.agent = Some(value.clone()),
            "referer" => {
                let referer = value.strip_suffix(b";auto");
                self.referer = Some(referer.unwrap_or(value).to_vec());
            }
            "range" => self.range = Some(([b"bytes=", &value[..]].concat(), span.clone())),
            "compressed" => self.is_compressed = *on,
            "globoff" => self.is_literal = *on,
            "path-as-is" => self.keeps_dots = *on,
            "location" | "location-trusted" => self.follows = *on,
            "max-redirs" => {
                let number: i64 = parse_number(value, span)?;
                self.most_redirects = Some(u32::try_from(number).unwrap_or(REDIRECTS));
            }
            "max-time" => self.timeout = parse_seconds(value, span)?,
            "upload-file" => self.uploads.push(placed()),
            "insecure" => into.client.insecure |= *on,
            "http1.1" => into.client.http = Some(Http::One),
            "http2" => into.client.http = None,
            "http2-prior-knowledge" => into.client.http = Some(Http::Two),
            "cacert" => into.client.ca = Some(permitted_path(value, span, reads)?),
            "cert" => into.client.identity = Some(certificate_path(value, span, reads)?),
            // Those that make no other request.
            _ => {}
        }
        Ok(())
    }

    fn add_data(&mut self, more: Vec<u8>, between: &str, span: &Span) -> Result<(), Mistake> {
        let Some((data, _)) = &mut self.data else {
            self.data = Some((more, span.clone()));
            return Ok(());
        };
        data.extend_from_slice(between.as_bytes());
        data.extend(more);
        if data.len() > MOST_BYTES {
            return Err(Mistake::new(span.clone(), "this body is too long"));
        }
        Ok(())
    }

    fn add_header(
        &mut self,
        value: &[u8],
        span: &Span,
        reads: &DataSource<'_>,
    ) -> Result<(), Mistake> {
        let Some(name) = value.strip_prefix(b"@") else {
            self.headers.push((value.to_vec(), span.clone()));
            return Ok(());
        };
        let file = reads.read(name, span)?;
        for line in file.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.is_empty() && !line.starts_with(b"#") {
                self.headers.push((line.to_vec(), span.clone()));
            }
        }
        Ok(())
    }

    fn add_cookie(
        &mut self,
        value: &[u8],
        span: &Span,
        reads: &DataSource<'_>,
        into: &mut Recording,
    ) -> Result<(), Mistake> {
        let name = value.strip_prefix(b"@");
        if name.is_none() && value.contains(&b'=') {
            self.cookies.push(value.to_vec());
            return Ok(());
        }
        into.client.keeps_cookies = true;
        let name = name.unwrap_or(value);
        if !name.is_empty() {
            self.cookie_files.push(reads.read(name, span)?);
        }
        Ok(())
    }

    /// Refuses what curl refuses: two kinds of body.
    fn check_bodies(&self) -> Result<(), Mistake> {
        let data = self.data.as_ref().filter(|_| !self.is_get);
        let upload = self.uploads.first().map(|(_, span)| span);
        let data = data.map(|(_, span)| span);
        let kinds = [data, self.form_span.as_ref(), upload, self.head.as_ref()];
        let second = kinds.into_iter().flatten().nth(1);
        second.map_or(Ok(()), |second| {
            let words = "curl takes only one of `-d`, `-F`, `-T` and `-I` for a request";
            Err(Mistake::new(second.clone(), words))
        })
    }

    /// Returns the requests, each with its bytes.
    fn build_exchanges(
        &self,
        reads: &DataSource<'_>,
        variables: &ShellVariables<'_>,
        into: &mut Recording,
    ) -> Result<Vec<(Exchange, usize)>, Mistake> {
        let mut exchanges = Vec::new();
        for (number, (text, span)) in self.urls.iter().enumerate() {
            let urls = if self.is_literal {
                vec![text.clone()]
            } else {
                glob::expand_url(text, span)?
            };
            let upload = self.uploads.get(number);
            let body = match upload {
                Some((file, at)) => RawBody::Bytes(reads.read(file, at)?),
                None => self.raw_body(),
            };
            if urls.len().saturating_mul(body.length()) > MOST_BYTES {
                let words =
                    "this URL stands for several requests, whose bodies are too long together";
                return Err(Mistake::new(span.clone(), words));
            }
            for url in urls {
                let mut url = CurlUrl::read(&url, self.keeps_dots, span)?;
                if let Some((file, _)) = upload {
                    name_upload(&mut url, file);
                }
                self.append_query(&mut url, span)?;
                if variables.has_placeholder(&url.origin) {
                    let words = "the host comes from a variable, and a scenario names its host";
                    let help = "write the host itself; `--base-url` sends the requests elsewhere";
                    return Err(Mistake::new(span.clone(), words).help(help));
                }
                let bytes = body.length() + url.target().len();
                let request = RawRequest {
                    url,
                    body: &body,
                    is_upload: upload.is_some(),
                    span,
                };
                exchanges.push((self.build_exchange(&request, variables, into)?, bytes));
            }
        }
        Ok(exchanges)
    }

    fn raw_body(&self) -> RawBody {
        if !self.form.is_empty() {
            return RawBody::Form(self.form.clone());
        }
        match &self.data {
            Some((data, _)) if !self.is_get => RawBody::Bytes(data.clone()),
            _ => RawBody::None,
        }
    }

    /// Adds the data of `-G`, or the queries of `--url-query`.
    fn append_query(&self, url: &mut CurlUrl, span: &Span) -> Result<(), Mistake> {
        let got = self.data.as_ref().filter(|_| self.is_get);
        let (query, span) = match got {
            Some((data, at)) => (data, at),
            None if self.query.is_empty() => return Ok(()),
            None => (&self.query, span),
        };
        check_query(query, span)?;
        url.append(&data::lower_escapes(query));
        Ok(())
    }

    fn build_exchange(
        &self,
        request: &RawRequest<'_>,
        variables: &ShellVariables<'_>,
        into: &mut Recording,
    ) -> Result<Exchange, Mistake> {
        let method = match &self.method {
            Some((method, at)) => parse_method(method, at)?,
            None if self.head.is_some() => "HEAD".to_owned(),
            None if request.is_upload => "PUT".to_owned(),
            None if matches!(request.body, RawBody::None) => "GET".to_owned(),
            None => "POST".to_owned(),
        };
        let mut exchange = Exchange {
            span: request.span.clone(),
            method,
            origin: request.url.origin.clone(),
            target: variables.split_values(request.url.target().as_bytes()),
            body: request.body.split_values(variables),
            redirects: match (self.follows, self.most_redirects) {
                (false, _) => 0,
                (true, most) => most.unwrap_or(REDIRECTS).min(REDIRECTS),
            },
            timeout: self.timeout,
            ..Exchange::default()
        };
        self.add_headers(&mut exchange, request, variables, into)?;
        Ok(exchange)
    }
}

/// A request as bytes.
pub(super) struct RawRequest<'a> {
    pub(super) url: CurlUrl,
    pub(super) body: &'a RawBody,
    pub(super) is_upload: bool,
    span: &'a Span,
}

/// A body as bytes.
pub(super) enum RawBody {
    None,
    Bytes(Vec<u8>),
    Form(Vec<FormPart>),
}

impl RawBody {
    fn length(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Bytes(bytes) => bytes.len(),
            Self::Form(parts) => parts.iter().map(|part| part.content.len()).sum(),
        }
    }

    fn split_values(&self, variables: &ShellVariables<'_>) -> Body {
        let split = |bytes: &Vec<u8>| variables.split_values(bytes);
        match self {
            Self::None => Body::None,
            Self::Bytes(bytes) => Body::Text(split(bytes)),
            Self::Form(parts) => {
                let parts = parts.iter().map(|part| Part {
                    name: split(&part.name),
                    file_name: part.file_name.as_ref().map(split),
                    content_type: part.content_type.clone(),
                    content: split(&part.content),
                });
                Body::Multipart(parts.collect())
            }
        }
    }
}

fn parse_user(value: &[u8], span: &Span) -> Result<UserPassword, Mistake> {
    let at = value.iter().position(|byte| *byte == b':');
    let at = at.ok_or_else(|| {
        let words = "curl would ask for the password of this user";
        let help = "write `user:password`, or `user:` for an empty one";
        Mistake::new(span.clone(), words).help(help)
    })?;
    Ok(UserPassword {
        user: value[..at].to_vec(),
        password: value[at + 1..].to_vec(),
    })
}

/// Returns a path that may have a password behind it, which is in no message.
fn certificate_path(value: &[u8], span: &Span, reads: &DataSource<'_>) -> Result<String, Mistake> {
    // The colon of `C:\me.pem` is none before a password.
    let colon = value.iter().skip(2).position(|byte| *byte == b':');
    let plain = &value[..colon.map_or(value.len(), |at| at + 2)];
    permitted_path(plain, span, reads)?;
    permitted_path(value, span, reads)
}

fn permitted_path(value: &[u8], span: &Span, reads: &DataSource<'_>) -> Result<String, Mistake> {
    Ok(reads.files.path(value, span)?.display().to_string())
}

fn parse_number(value: &[u8], span: &Span) -> Result<i64, Mistake> {
    let text = std::str::from_utf8(value).ok();
    let number = text.and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| Mistake::new(span.clone(), "a number is expected here"))
}

/// Parses seconds; none is no limit.
fn parse_seconds(value: &[u8], span: &Span) -> Result<Option<Duration>, Mistake> {
    const LONGEST: f64 = 86_400.0;
    let text = std::str::from_utf8(value).ok();
    let seconds: f64 = text
        .and_then(|text| text.trim().parse().ok())
        .filter(|seconds| (0.0..f64::INFINITY).contains(seconds))
        .ok_or_else(|| Mistake::new(span.clone(), "a number of seconds is expected here"))?;
    let time = Duration::from_secs_f64(seconds.min(LONGEST));
    Ok((time > Duration::ZERO).then_some(time))
}

fn parse_method(method: &[u8], span: &Span) -> Result<String, Mistake> {
    let method = String::from_utf8_lossy(method).into_owned();
    let mistake = || Mistake::new(span.clone(), "this is no method of HTTP");
    is_token(&method).then_some(method).ok_or_else(mistake)
}

fn check_query(query: &[u8], span: &Span) -> Result<(), Mistake> {
    if query.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
        let words = "this query has a blank or a control character in it";
        let mistake = Mistake::new(span.clone(), words);
        return Err(mistake.help("write it with `--data-urlencode`"));
    }
    Ok(())
}

/// Appends the name of the file to a URL that ends with `/`.
fn name_upload(url: &mut CurlUrl, file: &[u8]) {
    if !url.path.ends_with(b"/") || file == b"-" {
        return;
    }
    let name = file.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    for byte in name {
        data::push_encoded(&mut url.path, *byte);
    }
}
