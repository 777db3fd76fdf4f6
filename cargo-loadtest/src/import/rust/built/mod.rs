//! A step that builds its request in a function: what no attribute can say.

use super::super::marked::{BOUNDARY, Body, Exchange, Header, Origin, Part};
use super::declared::{URL_ENCODED, Writing, bearer, content_type, is_sent, pairs, told_name};
use super::layout::{Code, variable};
use super::literal::{bytes, code_text, text};
use super::partition::exchange_of;
use super::scope::is_token;
use super::step::{INDENT, is_usual};
use super::template::Piece;
use crate::import::naming;
use crate::import::secrecy::{is_callback, is_secret};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

mod json;
mod text;
mod values;

/// How deep the code of a function is.
const DEPTH: usize = 8;

/// What the steps of a source use of the rest of it.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing of its own")]
pub(super) struct Uses {
    /// `Form` and `Part`.
    pub(super) parts: bool,
    /// Headers of parts.
    pub(super) headers: bool,
    /// The function `between`.
    pub(super) between: bool,
    /// The function `header_part`.
    pub(super) header_part: bool,
    /// The function `link`.
    pub(super) link: bool,
    /// The function `encoded`.
    pub(super) encoded: bool,
    /// The function `decoded`.
    pub(super) decoded: bool,
    /// The function `unescaped`.
    pub(super) unescaped: bool,
}

/// What a variable is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    /// Text as it is.
    Plain,
    /// A part of a URL.
    Url,
    /// A value of JSON.
    Json,
}

/// What an expression is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// A `&str`.
    Lent,
    /// A `String`.
    Owned,
    /// A number or the like.
    Other,
}

/// A variable of the function.
#[derive(Debug, Clone)]
struct Local {
    name: String,
    sort: Sort,
}

impl Local {
    /// It, where it is text.
    fn lent(&self) -> Option<String> {
        match self.sort {
            Sort::Lent => Some(self.name.clone()),
            Sort::Owned => Some(format!("{}.as_str()", self.name)),
            Sort::Other => None,
        }
    }
}

/// A function that is being written.
struct Function<'a, 'b, 'c> {
    writing: &'a mut Writing<'b, 'c>,
    uses: &'a mut Uses,
    variables: String,
    /// The exchanges and the rows that it takes.
    takes: Vec<Origin>,
    used: HashSet<String>,
    known: HashMap<(Piece, Place), Local>,
    alike: HashMap<(&'c Origin, bool), Piece>,
    is_fallible: bool,
}

/// Writes a step whose request is built; `answer` is the type that its answer is read into.
pub(super) fn write(
    source: &mut String,
    exchange: &Exchange,
    answer: Option<&str>,
    writing: &mut Writing<'_, '_>,
    uses: &mut Uses,
) {
    let scenario = writing.scope.scenario;
    let names = scenario.names.values().chain(scenario.feeds.values());
    let ours = ["fields", "form", "request"].map(str::to_owned);
    let mut function = Function {
        used: names.cloned().chain(ours).collect(),
        writing,
        uses,
        variables: String::new(),
        takes: Vec::new(),
        known: HashMap::new(),
        alike: HashMap::new(),
        is_fallible: false,
    };
    let request = function.request(exchange);
    let request_type = match answer {
        Some(answer) => format!("Request<{answer}>"),
        None => "Request".to_owned(),
    };
    let (returned, end) = if function.is_fallible {
        function
            .variables
            .push_str(&variable("request", &request, DEPTH));
        (
            format!("Option<{request_type}>"),
            "Some(request)".to_owned(),
        )
    } else {
        (request_type, request.lay(DEPTH, DEPTH, 0))
    };
    let name = function.writing.name;
    let parameters = function.parameters();
    let line = format!(
        "{INDENT}fn {name}({}) -> {returned} {{",
        parameters.join(", ")
    );
    if line.chars().count() <= super::WIDTH {
        let _ = writeln!(source, "{line}");
    } else {
        let _ = writeln!(source, "{INDENT}fn {name}(");
        for parameter in &parameters {
            let _ = writeln!(source, "{INDENT}    {parameter},");
        }
        let _ = writeln!(source, "{INDENT}) -> {returned} {{");
    }
    let margin = " ".repeat(DEPTH);
    let variables = &function.variables;
    let _ = write!(source, "{variables}{margin}{end}\n{INDENT}}}\n");
}

impl Function<'_, '_, '_> {
    /// What it takes, in the order of the steps.
    fn parameters(&self) -> Vec<String> {
        let scope = self.writing.scope;
        let mut parameters = Vec::new();
        for exchange in &scope.scenario.steps {
            let of_this = |origin: &&Origin| exchange_of(origin) == Some(*exchange);
            let takes: Vec<&Origin> = self.takes.iter().filter(of_this).collect();
            if takes.is_empty() {
                continue;
            }
            let is_header = |origin: &&Origin| {
                matches!(
                    origin.root(),
                    Origin::Header { .. } | Origin::Part { .. } | Origin::Link { .. }
                )
            };
            let reads_headers = takes.iter().any(is_header);
            let ty = match (scope.answer(*exchange), reads_headers) {
                (Some(read), true) => format!("Response<{}>", read.ty()),
                (Some(read), false) => read.lent(),
                (None, _) => "Response".to_owned(),
            };
            parameters.push(format!("{}: &{ty}", scope.step(*exchange)));
        }
        let mut rows: Vec<&str> = Vec::new();
        for origin in &self.takes {
            if let Origin::Row { data, .. } = origin
                && let Some(feed) = scope.scenario.feeds.get(data)
                && !rows.contains(&feed.as_str())
            {
                rows.push(feed);
            }
        }
        parameters.extend(rows.into_iter().map(|feed| format!("{feed}: &Value")));
        parameters
    }

    fn request(&mut self, exchange: &Exchange) -> Code {
        let url = self.writing.url_template();
        let url = self.url(&url);
        let method = exchange.method.as_str();
        let begin = if is_usual(method) {
            Code::call(
                format!("Request::{}", method.to_ascii_lowercase()),
                vec![url],
            )
        } else {
            let method = Code::chain(
                Code::atom(text(method)),
                vec![
                    Code::call(".parse", Vec::new()),
                    Code::call(".expect", vec![Code::atom("\"a method\"")]),
                ],
            );
            Code::call("Request::new", vec![method, url])
        };
        let mut links = Vec::new();
        links.extend(self.credentials(exchange));
        let form = match &exchange.body {
            Body::Bytes(body) if content_type(exchange) == Some(URL_ENCODED) => {
                std::str::from_utf8(body).ok().and_then(pairs)
            }
            _ => None,
        };
        let json = match &exchange.body {
            Body::Bytes(body) if content_type(exchange).is_some_and(json::is_type) => {
                std::str::from_utf8(body)
                    .ok()
                    .and_then(|body| self.sayable(body))
                    .and_then(|json| self.json_macro(&json))
            }
            _ => None,
        };
        for header in exchange.headers.iter().filter(|header| is_sent(header)) {
            let is_told = header.name.eq_ignore_ascii_case("content-type")
                && (form.is_some() || json.is_some() && header.value == b"application/json");
            if !is_told && !self.writing.scope.is_shared(header) {
                links.extend(self.header(header, exchange));
            }
        }
        match &exchange.body {
            Body::None => {}
            Body::Multipart(parts) => {
                let form = self.form(parts);
                self.variables.push_str(&variable("form", &form, DEPTH));
                links.push(Code::call(".multipart", vec![Code::atom("form")]));
            }
            Body::Bytes(_) if json.is_some() => {
                links.extend(json.map(|json| Code::call(".json", vec![json])));
            }
            Body::Bytes(body) => match (form, std::str::from_utf8(body)) {
                (Some(pairs), _) => {
                    let fields = self.fields(pairs);
                    self.variables.push_str(&variable("fields", &fields, DEPTH));
                    links.push(Code::call(".form", vec![Code::atom("&fields")]));
                }
                (None, Ok(body)) => {
                    let is_json = content_type(exchange).is_some_and(|ty| ty.contains("json"));
                    let template = if is_json {
                        self.writing.json(body)
                    } else {
                        None
                    };
                    let template =
                        template.unwrap_or_else(|| self.writing.body(body, content_type(exchange)));
                    let mut body = self.body(&template, is_json);
                    if matches!(&body, Code::Call { is_macro: true, .. }) {
                        let name = naming::unique("body", &mut self.used);
                        self.variables.push_str(&variable(&name, &body, DEPTH));
                        body = Code::atom(name);
                    }
                    links.push(Code::call(".body", vec![body]));
                }
                (None, Err(_)) => {
                    let bytes = Code::atom(format!("{}.as_slice()", bytes(body)));
                    links.push(Code::call(".body", vec![bytes]));
                }
            },
        }
        Code::chain(begin, links)
    }

    fn credentials(&mut self, exchange: &Exchange) -> Option<Code> {
        let credentials = exchange.credentials.as_ref()?;
        let (user, password) = if let Some((user, password)) = self.writing.credentials(exchange) {
            let user = self.text(&user, "user");
            let password = match password.0.as_slice() {
                [Piece::Secret(name)] => secret(name),
                _ => self.text(&password, "password"),
            };
            (user, password)
        } else {
            // What is no text is secret, and as near to it as text comes.
            let what = format!("the password of `{}`", self.writing.name);
            let password = self
                .writing
                .vault
                .name(&credentials.password, "password", &what);
            let user = String::from_utf8_lossy(&credentials.user);
            let user = self.writing.user(&user, &password);
            (self.text(&user, "user"), secret(&password))
        };
        let password = Code::call("Some", vec![password]);
        Some(Code::call(".basic_auth", vec![user, password]))
    }

    fn header(&mut self, header: &Header, exchange: &Exchange) -> Option<Code> {
        let name = header.name.to_ascii_lowercase();
        let mut header = header.clone();
        if let Body::Multipart(_) = exchange.body {
            let boundary = format!("; boundary={BOUNDARY}");
            let value = header.value.strip_suffix(boundary.as_bytes());
            if value == Some(b"multipart/form-data") {
                return None;
            }
            if let Some(value) = value.map(<[u8]>::to_vec) {
                header.value = value;
            }
        }
        let Some(value) = self.writing.header(&header) else {
            if is_secret(&name) {
                // What is no text is secret, and as near to it as text comes.
                let what = format!("the header `{name}` of `{}`", self.writing.name);
                let secret_name = self.writing.vault.name(&header.value, &name, &what);
                let name = Code::atom(text(&name));
                return Some(Code::call(".header", vec![name, secret(&secret_name)]));
            }
            let value = Code::atom(format!("{}.as_slice()", bytes(&header.value)));
            return Some(Code::call(".header", vec![Code::atom(text(&name)), value]));
        };
        if let Some(token) = bearer(&name, &value) {
            let token = match token.0.as_slice() {
                [Piece::Secret(name)] => secret(name),
                _ => self.text(&token, "token"),
            };
            return Some(Code::call(".bearer_auth", vec![token]));
        }
        let value = match value.0.as_slice() {
            [Piece::Secret(name)] => secret(name),
            [Piece::Text(text)] if !text.is_ascii() => {
                Code::atom(format!("{}.as_bytes()", code_text(text)))
            }
            _ => self.text(&value, &name),
        };
        Some(Code::call(".header", vec![Code::atom(text(&name)), value]))
    }

    fn fields(&mut self, pairs: Vec<(String, String)>) -> Code {
        let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        let is_called_back = is_callback(&names);
        let fields = pairs.into_iter().map(|(name, value)| {
            let told = told_name(&name, is_called_back);
            let template = self.writing.field(told, &value);
            let value = self.lent(&template, &name);
            Code::call("", vec![Code::atom(code_text(&name)), value])
        });
        let fields = fields.collect();
        Code::list(fields)
    }

    fn form(&mut self, parts: &[Part]) -> Code {
        self.uses.parts = true;
        let mut links = Vec::new();
        for part in parts {
            let name = String::from_utf8_lossy(&part.name);
            let content = if let Ok(content) = std::str::from_utf8(&part.content) {
                let template = self.writing.field(&name, content);
                let content = self.owned(&template, &name);
                Code::call("Part::text", vec![content])
            } else {
                let bytes = Code::atom(format!("{}.as_slice()", bytes(&part.content)));
                Code::call("Part::bytes", vec![bytes])
            };
            let mut settings = Vec::new();
            if let Some(file_name) = &part.file_name {
                let file_name = self.writing.file_name(&String::from_utf8_lossy(file_name));
                let file_name = self.owned(&file_name, "file name");
                settings.push(Code::call(".file_name", vec![file_name]));
            }
            if let Some(content_type) = &part.content_type {
                settings.push(Code::call(
                    ".mime_str",
                    vec![Code::atom(code_text(content_type))],
                ));
                settings.push(Code::call(".expect", vec![Code::atom("\"a type\"")]));
            }
            if let Some(headers) = self.headers(part) {
                settings.push(Code::call(".headers", vec![headers]));
            }
            let part = Code::chain(content, settings);
            links.push(Code::call(
                ".part",
                vec![Code::atom(code_text(&name)), part],
            ));
        }
        Code::chain(Code::call("Form::new", Vec::new()), links)
    }

    /// The headers of a part, as a variable.
    fn headers(&mut self, part: &Part) -> Option<Code> {
        let headers: Vec<Code> = part
            .headers
            .iter()
            .filter_map(|line| part_header(line))
            .map(|(name, value)| {
                let template = self.writing.part_header(&name, &value);
                let name = Code::atom(format!("HeaderName::from_static({})", text(&name)));
                let value = if let Some(constant) = template.text() {
                    Code::atom(format!("HeaderValue::from_static({})", text(constant)))
                } else {
                    let value = self.lent(&template, "value");
                    let read = Code::call("HeaderValue::from_str", vec![value]);
                    let expect = Code::call(".expect", vec![Code::atom("\"a header\"")]);
                    Code::chain(read, vec![expect])
                };
                Code::call("", vec![name, value])
            })
            .collect();
        if headers.is_empty() {
            return None;
        }
        self.uses.headers = true;
        let name = naming::unique("headers", &mut self.used);
        let map = Code::call("HeaderMap::from_iter", vec![Code::list(headers)]);
        self.variables.push_str(&variable(&name, &map, DEPTH));
        Some(Code::atom(name))
    }
}

/// `secret("NAME")`.
fn secret(name: &str) -> Code {
    Code::call("secret", vec![Code::atom(text(name))])
}

/// A header of a part as name and value, where the source can have it.
pub(super) fn part_header(line: &[u8]) -> Option<(String, String)> {
    let line = std::str::from_utf8(line).ok()?;
    let (name, value) = line.split_once(':')?;
    let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
    let is_fit = |byte: u8| (b' '..=b'~').contains(&byte);
    (is_token(&name) && value.bytes().all(is_fit)).then(|| (name, value.to_owned()))
}
