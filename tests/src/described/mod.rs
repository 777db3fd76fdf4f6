//! A service made of an OpenAPI document alone: it answers as the document says, and refuses what the document would
//! not have.
//!
//! Nothing of it is of the importer: it is what the importer is judged by.

mod access;
mod body;
mod excuse;
mod judge;
mod locate;
mod sample;
mod schema;
mod yaml;

use crate::replay::Refusals;
use crate::{Reply, Request, Server};
use judge::Judge;
use locate::{Operation, operations, parameters, resolved};
use sample::Sampler;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The status of a request that is not as the document has it.
const REFUSED: u16 = 400;
/// Statuses whose answers have no body.
const EMPTY: [u16; 3] = [204, 205, 304];

/// A service as a document describes it.
#[derive(Debug, Clone)]
pub struct Described {
    root: Value,
    operations: Vec<Operation>,
}

/// The service under way.
#[derive(Debug)]
pub struct Service {
    /// Where it is.
    pub server: Server,
    /// What it refused, and why.
    pub refusals: Refusals,
    /// Of what it could not judge a part, and why.
    pub unjudged: Refusals,
    operations: Vec<String>,
    answered: Arc<Mutex<BTreeSet<usize>>>,
}

impl Described {
    /// Reads a document, of version 2.0 or 3, as JSON or YAML.
    ///
    /// # Panics
    /// Where it is neither.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let root = serde_json::from_str(text).unwrap_or_else(|_| yaml::read(text));
        Self {
            operations: operations(&root),
            root,
        }
    }

    /// How many operations the document has.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.operations.len()
    }

    /// Starts the service.
    #[must_use]
    pub fn start(self) -> Service {
        let refusals = Refusals::default();
        let unjudged = Refusals::default();
        let answered: Arc<Mutex<BTreeSet<usize>>> = Arc::default();
        let operations = self.operations.iter().map(Operation::title).collect();
        let judge = Judge::new(&self.root);
        let (told, left, known) = (refusals.clone(), unjudged.clone(), Arc::clone(&answered));
        let server = Server::recording(move |request| match self.taken(request, &judge, &left) {
            Ok(number) => {
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                known.insert(number);
                self.reply(&self.operations[number], request)
            }
            Err(why) => {
                let why = format!("{} {}: {why}", request.method, request.target);
                told.put(why.clone());
                Reply::status(REFUSED).body(why)
            }
        });
        Service {
            server,
            refusals,
            unjudged,
            operations,
            answered,
        }
    }

    /// The operation that a request is of; why it is of none.
    fn taken(
        &self,
        request: &Request,
        judge: &Judge,
        unjudged: &Refusals,
    ) -> Result<usize, String> {
        let mut why = None;
        let all = self.operations.iter().enumerate();
        let mut all: Vec<_> = all
            .filter(|(_, operation)| operation.method == request.method)
            .filter_map(|(number, operation)| Some((number, operation, operation.values(request)?)))
            .collect();
        // Of two paths, the one with fewer places for values is meant, or else the one that says more.
        all.sort_by_key(|(_, operation, values)| {
            let letters = std::cmp::Reverse(operation.letters());
            (values.len(), letters, !operation.has_query())
        });
        let least = all.first().map(|(_, _, values)| values.len());
        for (number, operation, values) in all {
            if Some(values.len()) != least {
                break;
            }
            match judge.fault(operation, request, &values, unjudged) {
                None => return Ok(number),
                Some(fault) => why = why.or(Some(fault)),
            }
        }
        Err(why.unwrap_or_else(|| "there is no such operation".to_owned()))
    }

    /// The answer to a request: the first of the successes that are declared.
    fn reply(&self, operation: &Operation, request: &Request) -> Reply {
        let responses = &operation.node["responses"];
        let (status, response) = success(responses);
        let response = resolved(&self.root, response);
        let mut reply = Reply::status(status);
        for (name, header) in response["headers"].as_object().into_iter().flatten() {
            if name.eq_ignore_ascii_case("content-type") {
                continue;
            }
            let value = if name.eq_ignore_ascii_case("location") && request.method == "POST" {
                // Where what was made is from now on.
                format!(
                    "{}/{}",
                    request.path.trim_end_matches('/'),
                    self.made_by(operation)
                )
            } else {
                Sampler::new(&self.root).header(resolved(&self.root, header))
            };
            let is_text = value.bytes().all(|byte| (b' '..0x7f).contains(&byte));
            if is_text && !value.is_empty() {
                reply = reply.header(name, value);
            }
        }
        if EMPTY.contains(&status) {
            return reply;
        }
        let accept = request.header("accept").unwrap_or("*/*");
        match self.body(operation, response, accept) {
            Some((media_type, body)) => reply.header("content-type", media_type).body(body),
            None => reply,
        }
    }

    /// What is told from others of its kind by a value in a path: a new one of them.
    fn made_by(&self, operation: &Operation) -> String {
        let mut ones = self.operations.iter().filter_map(|one| {
            let name = one.is_of_one_of(operation)?;
            let mut declared = parameters(&self.root, one).into_iter();
            declared.find(|parameter| parameter["in"] == "path" && parameter["name"] == name)
        });
        let value = ones.next().map(|one| Sampler::new(&self.root).header(one));
        value.unwrap_or("4217".to_owned()).replace(' ', "%20")
    }

    /// The media type and the body of an answer to somebody who accepts certain ones.
    fn body(
        &self,
        operation: &Operation,
        response: &Value,
        accept: &str,
    ) -> Option<(String, String)> {
        let sampler = Sampler::new(&self.root);
        let chosen = |types: &[&String]| {
            let accepted = accept.split(',').map(|range| range.split(';').next());
            let accepted = accepted.flatten().map(str::trim);
            let found = accepted.into_iter().find_map(|range| {
                let mut types = types.iter();
                types.find(|name| locate::is_in_range(name, range))
            });
            found.or(types.first()).map(|name| (*name).clone())
        };
        if let Some(content) = response["content"].as_object() {
            let name = chosen(&content.keys().collect::<Vec<_>>())?;
            let media = resolved(&self.root, &content[&name]);
            let value = sampler.media(media);
            return Some(written(&name, value));
        }
        // Version 2.0.
        if response["schema"].is_null() && response["examples"].is_null() {
            return None;
        }
        let produces = [&operation.node["produces"], &self.root["produces"]];
        let produces = produces.into_iter().find_map(Value::as_array);
        let produces: Vec<String> = produces
            .into_iter()
            .flatten()
            .filter_map(|name| Some(name.as_str()?.to_owned()))
            .collect();
        let name = chosen(&produces.iter().collect::<Vec<_>>());
        let name = name.unwrap_or("application/json".to_owned());
        let example = &response["examples"][&name];
        let value = if example.is_null() {
            sampler.schema(&response["schema"])
        } else {
            example.clone()
        };
        Some(written(&name, value))
    }
}

impl Service {
    /// The operations that nobody has asked for as the document has it.
    #[must_use]
    pub fn unasked(&self) -> Vec<&str> {
        let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.operations.iter().enumerate();
        all.filter(|(number, _)| !answered.contains(number))
            .map(|(_, title)| title.as_str())
            .collect()
    }
}

/// The lowest status of success that is declared, and what is said of it.
fn success(responses: &Value) -> (u16, &Value) {
    let fields = responses.as_object();
    let declared = |range: std::ops::Range<u16>| {
        let fields = fields.into_iter().flatten();
        let statuses = fields.filter_map(|(name, node)| Some((name.trim().parse().ok()?, node)));
        let statuses = statuses.filter(|(status, _)| range.contains(status));
        statuses.min_by_key(|(status, _)| *status)
    };
    let any = |wanted: &str| {
        let mut fields = fields.into_iter().flatten();
        fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted))
    };
    if let Some(found) = declared(200..300) {
        return found;
    }
    if let Some((_, node)) = any("2XX").or_else(|| any("default")) {
        return (200, node);
    }
    declared(300..400).unwrap_or((200, &Value::Null))
}

/// A value as a media type has it.
fn written(media_type: &str, value: Value) -> (String, String) {
    let name = if media_type.contains('*') {
        "application/json"
    } else {
        media_type
    };
    let essence = name.split(';').next().unwrap_or_default().trim();
    let is_json = essence.ends_with("json");
    let body = match value {
        // An example that is written as the text it is sent as.
        Value::String(text) if !is_json => text,
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => text,
        Value::Null if !is_json => String::new(),
        value => value.to_string(),
    };
    (name.to_owned(), body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    const DOCUMENT: &str = r"
openapi: 3.0.3
servers: [{url: 'https://api.example/{stage}', variables: {stage: {default: v1}}}]
security: [{key: []}]
paths:
  /teas:
    post:
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: '#/components/schemas/Tea'}}}
      responses:
        '409': {description: there is one}
        '201': {headers: {Location: {schema: {type: string}}}, content: {application/json: {schema: {$ref: '#/components/schemas/Tea'}}}}
    get:
      parameters:
        - {in: query, name: kinds, required: true, explode: false, schema: {type: array, items: {enum: [green, black]}}}
        - {in: header, name: X-Shop, required: true, schema: {type: integer, minimum: 1}}
      responses: {2XX: {content: {application/xml: {example: <teas/>}, application/json: {schema: {type: array, minItems: 2, items: {$ref: '#/components/schemas/Tea'}}}}}}
  /teas/first: {get: {security: [], responses: {'204': {}}}}
  /teas/{id}: {get: {parameters: [{in: path, name: id, required: true, schema: {type: integer}}]}}
  /form: {post: {requestBody: {content: {application/x-www-form-urlencoded: {schema: {required: [a], properties: {a: {type: integer}}}}}}}}
components:
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}
  schemas:
    Tea:
      type: object
      required: [id, name]
      properties:
        id: {type: integer, readOnly: true, maximum: 40}
        name: {type: string, minLength: 3, nullable: true}
        pin: {type: string, writeOnly: true}
        like: {$ref: '#/components/schemas/Tea'}
";

    /// What the service makes of a request.
    fn answer(line: &str, headers: &[(&str, &str)], body: &str) -> Result<String, String> {
        let described = Described::new(DOCUMENT);
        let (method, target) = line.split_once(' ').expect("a method and a target");
        let is_key = |(name, _): &&(&str, &str)| *name == "x-key";
        let key = [("x-key", "k")];
        let key = key
            .iter()
            .filter(|_| !headers.iter().any(|header| is_key(&header)));
        let headers = headers.iter().chain(key);
        let request = Request {
            method: method.to_owned(),
            target: format!("/v1{target}"),
            path: format!("/v1{}", target.split('?').next().unwrap_or_default()),
            headers: headers
                .filter(|(_, value)| !value.is_empty())
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            body: body.as_bytes().to_vec(),
            arrived: Instant::now(),
            sequence: 0,
            connection: 0,
        };
        let judge = Judge::new(&described.root);
        let unjudged = Refusals::default();
        let taken = described.taken(&request, &judge, &unjudged);
        assert_eq!(unjudged.told(), Vec::<String>::new());
        taken.map(|number| {
            let reply = described.reply(&described.operations[number], &request);
            let [crate::reply::Act::Write(bytes)] = &reply.acts(false)[..] else {
                panic!("an answer is written at once");
            };
            String::from_utf8_lossy(bytes).into_owned()
        })
    }

    #[test]
    fn answers_are_the_lowest_success_that_is_declared() {
        let json = ("content-type", "application/json");
        let made = answer("POST /teas", &[json], r#"{"name":"Sencha"}"#).expect("as declared");
        assert!(made.starts_with("HTTP/1.1 201 "), "{made}");
        assert!(made.contains("Location: /v1/teas/4217\r\n"), "{made}");
        assert!(made.ends_with(r#"{"id":40,"name":"of its own"}"#), "{made}");
        let shop = ("x-shop", "7");
        let list = answer("GET /teas?kinds=green,black", &[shop], "").expect("as declared");
        assert!(list.starts_with("HTTP/1.1 200 "), "{list}");
        assert!(list.ends_with("\"name\":\"of its own\"}]"), "{list}");
        let accept = ("accept", "application/xml");
        let list = answer("GET /teas?kinds=green", &[shop, accept], "").expect("as declared");
        assert!(list.ends_with("<teas/>"), "{list}");
        // Of two paths that fit, the one with the name is meant.
        let first = answer("GET /teas/first", &[], "").expect("as declared");
        assert!(first.starts_with("HTTP/1.1 204 "), "{first}");
        let form = ("content-type", "application/x-www-form-urlencoded");
        assert!(answer("POST /form", &[form], "a=5").is_ok());
    }

    #[test]
    fn what_is_not_as_declared_is_refused() {
        let json = ("content-type", "application/json");
        let text = ("content-type", "text/plain");
        let form = ("content-type", "application/x-www-form-urlencoded");
        let shop = ("x-shop", "7");
        for (line, headers, body, why) in [
            ("GET /nothing", &[][..], "", "no such operation"),
            ("PUT /teas", &[], "", "no such operation"),
            ("GET /teas/", &[], "", "no such operation"),
            ("GET /teas/a", &[], "", "`id` in the path"),
            ("GET /teas/1", &[("x-key", "")], "", "nobody is let in"),
            ("GET /teas", &[shop], "", "no `kinds`"),
            ("GET /teas?kinds=red", &[shop], "", "`kinds` in the query"),
            ("GET /teas?kinds=green&q=1", &[shop], "", "`q` is nothing"),
            ("GET /teas?kinds=green", &[], "", "no `X-Shop`"),
            (
                "GET /teas?kinds=green",
                &[("x-shop", "0")],
                "",
                "`X-Shop` in the header",
            ),
            ("POST /teas", &[json], "", "one is required"),
            ("POST /teas", &[text], "{}", "none of the type"),
            ("POST /teas", &[json], "{", "no JSON"),
            ("POST /teas", &[json], "{}", "\"name\" is a required"),
            ("POST /teas", &[json], r#"{"name":"ab"}"#, "shorter than 3"),
            ("POST /form", &[form], "b=1", "no `a`"),
            ("POST /form", &[form], "a=x", "`a` in the form"),
        ] {
            let refused = answer(line, headers, body).expect_err(line);
            assert!(refused.contains(why), "{line} {body}: {refused}");
        }
    }
}
