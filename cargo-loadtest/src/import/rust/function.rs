//! A step that builds its request in a function, for requests that no attribute can express.

use super::declared::{METHODS, bearer_of, form_pairs, is_sendable};
use super::json::{Json, Leaf, is_json_type, number_code};
use super::literal::{quote_bytes, quote_code, quote_text};
use super::scope::{Scope, is_header_name};
use super::types::AnswerType;
use super::values::{Local, ValueContext, ValueKey};
use crate::import::naming;
use crate::import::recording::{BOUNDARY, Body, Exchange, Header, Origin, Part, Piece, Text};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

/// The indentation of the code of a function.
const DEPTH: usize = 8;

/// The imports and functions that steps need.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// `Form` and `Part`.
    pub(super) parts: bool,
    /// Types for headers of parts.
    pub(super) headers: bool,
    /// The names of functions.
    pub(super) functions: BTreeSet<&'static str>,
}

/// A function that is being written.
pub(super) struct Function<'a> {
    pub(super) scope: &'a Scope<'a>,
    pub(super) uses: &'a mut Uses,
    /// The statements before the request.
    pub(super) statements: String,
    /// The sources of the values that it takes.
    pub(super) takes: Vec<&'a Origin>,
    /// The names that are taken.
    pub(super) used: HashSet<String>,
    pub(super) known: HashMap<(ValueKey<'a>, ValueContext), Local>,
    /// True where a value may be missing, so that it returns an `Option`.
    pub(super) is_fallible: bool,
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
    let ours = ["fields", "form", "request"].map(str::to_owned);
    let mut function = Function {
        scope,
        uses,
        statements: String::new(),
        takes: Vec::new(),
        used: scope.scenario.names.values().cloned().chain(ours).collect(),
        known: HashMap::new(),
        is_fallible: false,
    };
    let request = function.request(exchange, url);
    let ty = answer.map_or_else(
        || "Request".to_owned(),
        |answer| format!("Request<{answer}>"),
    );
    let (returned, end) = if function.is_fallible {
        function.define("request", &request);
        (format!("Option<{ty}>"), "Some(request)".to_owned())
    } else {
        (ty, request)
    };
    let parameters = function.parameters().join(", ");
    let statements = &function.statements;
    let _ = write!(
        source,
        "    fn {name}({parameters}) -> {returned} {{\n{statements}        {end}\n    }}\n"
    );
}

impl Function<'_> {
    /// Writes a variable.
    pub(super) fn define(&mut self, name: &str, code: &str) {
        let _ = writeln!(self.statements, "{:DEPTH$}let {name} = {code};", "");
    }

    /// Writes a variable with a free name like this one, and returns the name.
    pub(super) fn hold(&mut self, wanted: &str, code: &str) -> String {
        let name = naming::variable(wanted, &mut self.used);
        self.define(&name, code);
        name
    }

    /// Returns its parameters, in the order of the steps.
    fn parameters(&self) -> Vec<String> {
        let steps = self.scope.scenario.steps.iter();
        let parameters = steps.filter_map(|exchange| {
            let takes = self.takes.iter();
            let takes = takes.filter(|origin| origin.exchange() == *exchange);
            let takes: Vec<_> = takes.collect();
            let reads_headers = takes.iter().any(|origin| {
                matches!(
                    origin,
                    Origin::Header { .. } | Origin::Part { .. } | Origin::Link { .. }
                )
            });
            let ty = match (self.scope.answer(*exchange), reads_headers) {
                _ if takes.is_empty() => return None,
                (Some(answer), true) => format!("Response<{}>", answer.name()),
                (Some(answer), false) => answer.borrowed_name(),
                (None, _) => "Response".to_owned(),
            };
            Some(format!("{}: &{ty}", self.scope.step(*exchange)))
        });
        parameters.collect()
    }

    fn request(&mut self, exchange: &Exchange, url: &Text) -> String {
        let url = self.url(url);
        let method = exchange.method.as_str();
        let mut request = if METHODS.contains(&method) {
            format!("Request::{}({url})", method.to_ascii_lowercase())
        } else {
            let method = quote_text(method);
            format!("Request::new({method}.parse().expect(\"a method\"), {url})")
        };
        if let Some(credentials) = &exchange.credentials {
            let user = self.text(&credentials.user, "user");
            let password = match credentials.password.pieces() {
                [Piece::Secret(number)] => self.secret(*number),
                _ => self.text(&credentials.password, "password"),
            };
            let _ = write!(request, ".basic_auth({user}, Some({password}))");
        }
        let content_type = exchange.content_type();
        let (form, json) = match &exchange.body {
            Body::Text(text) if content_type == Some(crate::import::text::URL_ENCODED) => {
                (form_pairs(text), None)
            }
            Body::Text(text) if content_type.is_some_and(is_json_type) => {
                (None, self.json_macro(text))
            }
            _ => (None, None),
        };
        for header in exchange.headers.iter().filter(|header| is_sendable(header)) {
            let is_implied = header.name.eq_ignore_ascii_case("content-type")
                && (form.is_some() || json.is_some() && content_type == Some("application/json"));
            if !is_implied && !self.scope.is_shared(header) {
                request.push_str(&self.header(header, exchange).unwrap_or_default());
            }
        }
        let body = match &exchange.body {
            Body::None => String::new(),
            Body::Multipart(parts) => {
                let form = self.form(parts);
                self.define("form", &form);
                ".multipart(form)".to_owned()
            }
            Body::Text(text) => match (form, json) {
                (_, Some(json)) => format!(".json(&{json})"),
                (Some((flat, pairs)), None) => {
                    let pairs = pairs.into_iter().map(|(name, value)| {
                        let value = self.borrowed(&flat.restore(&value), &name);
                        let name = self.borrowed(&flat.restore(&name), "name");
                        format!("({name}, {value})")
                    });
                    let pairs: Vec<_> = pairs.collect();
                    self.define("fields", &format!("[{}]", pairs.join(", ")));
                    ".form(&fields)".to_owned()
                }
                (None, None) => {
                    let is_json = content_type.is_some_and(|ty| ty.contains("json"));
                    format!(".body({})", self.body(text, is_json))
                }
            },
        };
        request + &body
    }

    /// Returns the variable of a body that `json!` can write.
    fn json_macro(&mut self, text: &Text) -> Option<String> {
        let (flat, json) = Json::parse(text, self.scope.recording)?;
        (json.is_for_macro() && !json.has_values_in_keys(&flat)).then_some(())?;
        let json = json.render(DEPTH, &mut |leaf| {
            Some(match leaf {
                Leaf::Key(key) => quote_code(key),
                Leaf::Plain(value) => number_code(value),
                Leaf::Text(value) => match flat.restore(value).pieces() {
                    [Piece::Secret(number)] => format!("{}.expose()", self.secret(*number)),
                    [Piece::Reference(at)] => self.json_value(*at),
                    [] => "\"\"".to_owned(),
                    [Piece::Literal(text)] => quote_code(text),
                    pieces => self.format(pieces, ValueContext::Plain),
                },
            })
        })?;
        let name = naming::unique("body", &mut self.used);
        self.define(&name, &format!("json!({json})"));
        Some(name)
    }

    fn header(&mut self, header: &Header, exchange: &Exchange) -> Option<String> {
        let name = header.name.to_ascii_lowercase();
        let mut value = header.value.clone();
        if let (Body::Multipart(_), Some(whole)) = (&exchange.body, value.as_literal()) {
            let without = whole.strip_suffix(&format!("; boundary={BOUNDARY}"));
            match without.map(str::to_owned) {
                Some(ty) if ty == "multipart/form-data" => return None,
                Some(ty) => value = ty.into(),
                None => {}
            }
        }
        if let Some(token) = bearer_of(&name, &value) {
            let token = match token.pieces() {
                [Piece::Secret(number)] => self.secret(*number),
                _ => self.text(&token, "token"),
            };
            return Some(format!(".bearer_auth({token})"));
        }
        let value = match value.pieces() {
            [Piece::Secret(number)] => self.secret(*number),
            [Piece::Literal(text)] if !text.is_ascii() => {
                format!("{}.as_bytes()", quote_code(text))
            }
            _ => self.text(&value, &name),
        };
        Some(format!(".header({}, {value})", quote_text(&name)))
    }

    fn form(&mut self, parts: &[Part]) -> String {
        self.uses.parts = true;
        let mut form = "Form::new()".to_owned();
        for part in parts {
            let name = part.name.shown(|_| "value".to_owned());
            let mut code =
                if let Some(bytes) = part.content.as_bytes().filter(|_| part.content.is_binary()) {
                    format!("Part::bytes({}.as_slice())", quote_bytes(bytes))
                } else {
                    format!("Part::text({})", self.owned(&part.content, &name))
                };
            if let Some(file_name) = &part.file_name {
                let _ = write!(code, ".file_name({})", self.owned(file_name, "file name"));
            }
            if let Some(content_type) = &part.content_type {
                let content_type = quote_code(content_type);
                let _ = write!(code, ".mime_str({content_type}).expect(\"a type\")");
            }
            if let Some(headers) = self.part_headers(part) {
                let _ = write!(code, ".headers({headers})");
            }
            let name = if part.name.is_binary() {
                quote_code(&name)
            } else {
                self.owned(&part.name, "name")
            };
            let _ = write!(form, ".part({name}, {code})");
        }
        form
    }

    /// Writes the headers of a part as a variable.
    fn part_headers(&mut self, part: &Part) -> Option<String> {
        let headers = part.headers.iter().filter_map(parse_part_header);
        let headers = headers.map(|(name, value)| {
            let name = quote_text(&name);
            let value = if let Some(value) = value.as_literal() {
                format!("HeaderValue::from_static({})", quote_text(value))
            } else {
                let value = self.borrowed(&value, "value");
                format!("HeaderValue::from_str({value}).expect(\"a header\")")
            };
            format!("(HeaderName::from_static({name}), {value})")
        });
        let headers: Vec<_> = headers.collect();
        (!headers.is_empty()).then_some(())?;
        self.uses.headers = true;
        let map = format!("HeaderMap::from_iter([{}])", headers.join(", "));
        let name = naming::unique("headers", &mut self.used);
        self.define(&name, &map);
        Some(name)
    }
}

/// Parses a header of a part that the source can have.
pub(super) fn parse_part_header(line: &Text) -> Option<(String, Text)> {
    let flat = line.flat();
    let (name, value) = flat.text.split_once(':').filter(|_| !line.is_binary())?;
    let (name, value) = (name.trim().to_ascii_lowercase(), flat.restore(value.trim()));
    let is_fit = |piece: &Piece| match piece {
        Piece::Literal(text) => text.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
        _ => true,
    };
    (is_header_name(&name) && value.pieces().iter().all(is_fit)).then_some((name, value))
}

impl AnswerType {
    /// Returns the type of a reference to the answer.
    fn borrowed_name(&self) -> String {
        match self {
            Self::Json(shape) => shape.borrowed_type(),
            Self::Text => "str".to_owned(),
        }
    }
}
