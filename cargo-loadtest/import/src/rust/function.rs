//! A step that builds its request in a function, for requests that no attribute can express.

use super::body::{BodyKind, without_boundary};
use super::declared::{METHODS, bearer_of, is_sendable};
use super::json::{JsonText, Leaf, number_code};
use super::layout::{quote_bytes, quote_code, quote_text};
use super::scope::Scope;
use super::types::Shape;
use crate::naming;
use crate::recording::{Body, Exchange, Header, Origin, Part, Piece, RunValue, Text};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

/// The indentation of the code of a function.
const DEPTH: usize = 8;

/// The imports and functions that steps need.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// `Form` and `Part`.
    pub(super) parts: bool,
    /// The names of functions.
    pub(super) functions: BTreeSet<&'static str>,
    /// The feeds of the scenario that a step draws from by itself.
    pub(super) drawn: BTreeSet<usize>,
}

/// A function that is being written.
pub(super) struct Function<'a> {
    pub(super) scope: &'a Scope<'a>,
    pub(super) uses: &'a mut Uses,
    /// The statements before the request.
    statements: String,
    /// The names that are taken.
    pub(super) used: HashSet<String>,
    /// The variables of references: the source, true for a bare one, the name, and true for a `&str`.
    pub(super) variables: HashMap<(&'a Origin, bool), (String, bool)>,
    /// True where a value may be missing, so that it returns an `Option`.
    pub(super) is_fallible: bool,
    /// True where it has values of the virtual user.
    pub(super) draws: bool,
    /// The variables of those that stay the same.
    pub(super) user_values: HashMap<RunValue, String>,
    /// The feeds that it reads.
    pub(super) feeds: BTreeSet<usize>,
}

/// Writes a function that builds a request; `answer` is the type of its response.
pub(super) fn write_function(
    source: &mut String,
    name: &str,
    exchange: &Exchange,
    url: &Text,
    answer: Option<&str>,
    scope: &Scope<'_>,
    uses: &mut Uses,
) {
    let mut function = Function::new(scope, uses);
    let request = function.request(exchange, url);
    let ty = answer.map_or("Request".to_owned(), |answer| format!("Request<{answer}>"));
    let (returned, end) = if function.is_fallible {
        function.define("request", &request);
        (format!("Option<{ty}>"), "Some(request)".to_owned())
    } else {
        (ty, request)
    };
    let mut parameters = function.parameters();
    let mut named = String::new();
    if let Some((name, ty)) = scope.named_step(exchange) {
        parameters.insert(0, format!("{name}: &{ty}"));
        named = format!("{:DEPTH$}let _ = {name};\n", "");
    }
    let parameters = parameters.join(", ");
    let statements = &function.statements;
    let _ = write!(
        source,
        "    fn {name}({parameters}) -> {returned} {{\n{named}{statements}        {end}\n    }}\n"
    );
}

impl<'a> Function<'a> {
    /// Begins a function without parameters and statements.
    pub(super) fn new(scope: &'a Scope<'a>, uses: &'a mut Uses) -> Self {
        let ours = ["body", "form", "request", "vu"].map(str::to_owned);
        Self {
            scope,
            uses,
            statements: String::new(),
            used: scope.scenario.names.values().cloned().chain(ours).collect(),
            variables: HashMap::new(),
            is_fallible: false,
            draws: false,
            user_values: HashMap::new(),
            feeds: BTreeSet::new(),
        }
    }
}

impl Function<'_> {
    /// Returns the statements so far.
    pub(super) fn statements(&self) -> &str {
        &self.statements
    }

    /// Writes a statement.
    pub(super) fn write(&mut self, code: &str) {
        let _ = writeln!(self.statements, "{:DEPTH$}{code}", "");
    }

    /// Writes a variable.
    pub(super) fn define(&mut self, name: &str, code: &str) {
        self.write(&format!("let {name} = {code};"));
    }

    /// Writes a variable with a free name like this one, and returns the name.
    pub(super) fn hold(&mut self, wanted: &str, code: &str) -> String {
        let name = naming::variable(wanted, &mut self.used);
        self.define(&name, code);
        name
    }

    /// Returns its parameters, in the order of the steps.
    pub(super) fn parameters(&self) -> Vec<String> {
        let steps = self.scope.scenario.steps.iter();
        let parameters = steps.filter_map(|exchange| {
            let mut origins = self.variables.keys().map(|(origin, _)| origin);
            let is_taken = origins.clone().any(|origin| origin.exchange() == *exchange);
            let reads_whole = origins.any(|origin| {
                let is_whole = match origin {
                    Origin::Header { .. } | Origin::Part { .. } => true,
                    // The text of a page is that of its answer.
                    Origin::Between { .. } => self.scope.answer(*exchange) == Some(&Shape::Page),
                    _ => false,
                };
                is_whole && origin.exchange() == *exchange
            });
            let ty = match self.scope.answer(*exchange) {
                _ if !is_taken => return None,
                Some(answer) if reads_whole => format!("Response<{}>", answer.type_name()),
                Some(answer) => answer.borrowed_type(),
                None => "Response".to_owned(),
            };
            Some(format!("{}: &{ty}", self.scope.step(*exchange)))
        });
        let vu = self.draws.then(|| "vu: &mut Vu".to_owned());
        let rows = self.feeds.iter().map(|feed| {
            let ty = self.scope.types.rows[feed].name();
            format!("{}: &{ty}", self.scope.feeds[feed])
        });
        parameters.chain(rows).chain(vu).collect()
    }

    fn request(&mut self, exchange: &Exchange, url: &Text) -> String {
        let url = self.url(url);
        let method = exchange.method.as_str();
        let mut request = if exchange.socket.is_some() {
            format!("Request::websocket({url})")
        } else if METHODS.contains(&method) {
            format!("Request::{}({url})", method.to_ascii_lowercase())
        } else {
            let method = quote_text(method);
            format!("Request::new({method}.parse().expect(\"a method\"), {url})")
        };
        if let Some(credentials) = &exchange.credentials {
            let user = self.text(&credentials.user);
            let password = self.text(&credentials.password);
            let _ = write!(request, ".basic_auth({user}, Some({password}))");
        }
        let mut body = BodyKind::new(exchange, self.scope.recording);
        if let BodyKind::Json(json) = &body {
            match self.json(json) {
                Some(json) => self.define("body", &format!("json!({json})")),
                None => body = BodyKind::None,
            }
        }
        for header in exchange.headers.iter().filter(|header| is_sendable(header)) {
            if !body.implies(header) && !self.scope.is_shared(header) {
                request.push_str(&self.header(header, &body));
            }
        }
        match body {
            BodyKind::Json(_) => request.push_str(".json(&body)"),
            BodyKind::Form(flat, pairs) => {
                let pairs = pairs.into_iter().map(|(name, value)| {
                    let name = self.borrowed(&flat.restore(&name));
                    format!("({name}, {})", self.borrowed(&flat.restore(&value)))
                });
                let pairs: Vec<_> = pairs.collect();
                let _ = write!(request, ".form(&[{}])", pairs.join(", "));
            }
            BodyKind::Multipart(parts) => {
                let form = self.form(parts);
                self.define("form", &form);
                request.push_str(".multipart(form)");
            }
            BodyKind::None | BodyKind::Text(_) => {
                if let Body::Text(text) = &exchange.body {
                    let _ = write!(request, ".body({})", self.body(text, exchange));
                }
            }
        }
        request
    }

    /// Returns the inside of `json!`.
    fn json(&mut self, json: &JsonText) -> Option<String> {
        if !json.is_small() {
            return None;
        }
        json.render(DEPTH, &mut |leaf| {
            Some(match leaf {
                Leaf::Key(key) if json.flat.has_values(key) => return None,
                Leaf::Key(key) => quote_code(key),
                Leaf::Plain(value) => number_code(value),
                Leaf::Text(value) => {
                    let text = json.flat.restore(value);
                    match text.pieces() {
                        [piece @ (Piece::Reference(_) | Piece::Run(_))] => self.json_value(piece),
                        pieces => self.expression(pieces).0,
                    }
                }
            })
        })
    }

    fn header(&mut self, header: &Header, body: &BodyKind<'_>) -> String {
        let name = header.name.to_ascii_lowercase();
        if let Some(token) = bearer_of(&name, &header.value) {
            return format!(".bearer_auth({})", self.text(&token));
        }
        let value = match header.value.pieces() {
            [Piece::Literal(text)] if !text.is_ascii() => {
                format!("{}.as_bytes()", quote_code(text))
            }
            [Piece::Literal(ty)] if matches!(body, BodyKind::Multipart(_)) => {
                quote_code(without_boundary(ty))
            }
            _ => self.text(&header.value),
        };
        format!(".header({}, {value})", quote_text(&name))
    }

    fn form(&mut self, parts: &[Part]) -> String {
        self.uses.parts = true;
        let mut form = "Form::new()".to_owned();
        for part in parts {
            let mut code = match part.content.pieces() {
                [Piece::Bytes(bytes)] => format!("Part::bytes({}.as_slice())", quote_bytes(bytes)),
                _ => format!("Part::text({})", self.owned(&part.content)),
            };
            if let Some(file_name) = &part.file_name {
                let _ = write!(code, ".file_name({})", self.owned(file_name));
            }
            if let Some(content_type) = &part.content_type {
                let content_type = quote_code(content_type);
                let _ = write!(code, ".mime_str({content_type}).expect(\"a type\")");
            }
            let _ = write!(form, ".part({}, {code})", self.owned(&part.name));
        }
        form
    }
}
