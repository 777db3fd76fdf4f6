//! `graphql = "query .."`, `variables = { .. }` and `partial = true`, of steps that ask a GraphQL server.

use super::body::BodyOption;
use super::json::{TemplateValue, parse_json};
use super::step::{MethodAndUrl, StepOptions};
use super::value::parse_error;
use crate::suggest::{MacroErrors, did_you_mean, list_names};
use crate::template::{Template, TemplatePart};
use loadtest_model::graphql::{Document, Operation};
use proc_macro2::{Ident, Span};
use syn::parse::ParseStream;
use syn::{LitBool, LitStr, Token};

/// The options of a step that asks a GraphQL server.
pub(crate) const GRAPHQL_OPTIONS: [&str; 3] = ["graphql", "variables", "partial"];
/// The path that operations are posted to.
pub(crate) const GRAPHQL_PATH: &str = "/graphql";

#[derive(Default)]
pub(crate) struct GraphqlOptions {
    /// The document of `graphql = ".."`.
    pub(crate) document: Option<LitStr>,
    pub(crate) variables: Option<TemplateValue>,
    pub(crate) partial: bool,
    /// Kind and name of its operation, where the document has no mistake.
    pub(crate) operation: Option<String>,
}

impl GraphqlOptions {
    /// Parses one of [`GRAPHQL_OPTIONS`].
    pub(super) fn parse_option(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        input.parse::<Token![=]>()?;
        match key.to_string().as_str() {
            "graphql" => {
                let wanted = "`graphql` takes a document in quotes: `graphql = \"query Cart($id: ID!) { cart(id: $id) { total } }\"`";
                let document = input.parse::<LitStr>();
                self.document = Some(document.map_err(|error| parse_error(&error, wanted))?);
            }
            "variables" => self.variables = Some(parse_json("variables", input)?),
            _ => {
                let wanted = "`partial = true` accepts errors together with data";
                let value = input.parse::<LitBool>();
                self.partial = value.map_err(|error| parse_error(&error, wanted))?.value;
            }
        }
        Ok(())
    }
}

impl StepOptions {
    /// Makes the request of `graphql = ".."`: a body, and the path that it is posted to unless `post` or `get` names another.
    pub(super) fn add_graphql_request(&mut self, errors: &mut MacroErrors) {
        let Some(document) = self.graphql.document.clone() else {
            if let Some(key) = self.find_key("variables") {
                let message = "`variables` belong to a document: add `graphql = \"query ..\"`";
                // a document that is broken is the mistake to report
                if self.find_key("graphql").is_none() {
                    errors.add_at(key.span(), message);
                }
            }
            return;
        };
        let key = self
            .find_key("graphql")
            .map_or_else(|| document.span(), Ident::span);
        match &self.call {
            // refused with the other bodies
            Some(call) if call.opens_websocket() => {}
            Some(call) if call.method != "post" && call.method != "get" => {
                let (method, url) = (&call.method, call.literal.value());
                let message = format!(
                    "`graphql` is sent by `post` or `get`: write `post = \"{url}\"` for `{method} = ..`"
                );
                errors.add_at(method.span(), message);
            }
            Some(_) => {}
            None => {
                let literal = LitStr::new(GRAPHQL_PATH, key);
                self.call = Some(MethodAndUrl {
                    method: Ident::new("post", key),
                    url: Template::parse(&literal).ok(),
                    literal,
                });
            }
        }
        if let Some(body) = &self.body {
            let body = body.option_name();
            let message = format!("`graphql` is the body of the request: leave `{body}` out");
            errors.add_at(key, message);
            return;
        }
        self.graphql.operation = self.check_document(&document, errors);
        let label = self.graphql.operation.as_deref();
        let is_mutation = label.is_some_and(|label| label.starts_with("mutation"));
        if let Some(call) = &self.call
            && is_mutation
            && call.method == "get"
        {
            let url = call.literal.value();
            let message = format!("servers refuse mutations by GET: write `post = \"{url}\"`");
            errors.add_at(call.method.span(), message);
        }
        let text = Template {
            span: document.span(),
            parts: vec![TemplatePart::Text(document.value())],
        };
        let field = |name: &str| LitStr::new(name, key);
        let mut fields = vec![(field("query"), TemplateValue::Text(text))];
        let variables = self.graphql.variables.take();
        fields.extend(variables.map(|variables| (field("variables"), variables)));
        self.body = Some(BodyOption::Json(TemplateValue::Object(fields)));
    }

    /// Notes the mistakes in a document and its variables. Returns its operation.
    fn check_document(&self, document: &LitStr, errors: &mut MacroErrors) -> Option<String> {
        let span = document.span();
        let text = document.value();
        if text.contains("{{") {
            let message = "a document has no placeholders: declare a variable, `query Cart($id: ID!)`, and give it, \
                           `variables = { \"id\": {{login.response.cart}} }`";
            errors.add_at(span, message);
            return None;
        }
        let parsed = check_structure(&text, None).map_err(|message| syn::Error::new(span, message));
        let (parsed, operation) = errors.ok_or_note(parsed)?;
        let given = match &self.graphql.variables {
            // broken ones are the mistake to report
            None => self.find_key("variables").is_none().then(Vec::new),
            Some(TemplateValue::Object(fields)) => {
                let names = fields.iter().map(|(name, _)| (name.value(), name.span()));
                Some(names.collect())
            }
            // known at run time
            Some(TemplateValue::Value(_) | TemplateValue::Rust(_)) => None,
            Some(_) => {
                let key = self.find_key("variables").map_or(span, Ident::span);
                errors.add_at(
                    key,
                    "`variables` are an object: `variables = { \"id\": 7 }`",
                );
                None
            }
        };
        if let Some(given) = given {
            check_given(&parsed, &operation, &given, span, errors);
        }
        Some(operation.label())
    }
}

/// Checks a document by itself; `name` is the operation to run, where one is named.
///
/// # Errors
/// The first mistake.
pub(crate) fn check_structure(
    text: &str,
    name: Option<&str>,
) -> Result<(Document, Operation), String> {
    let document = Document::parse(text)?;
    let operation = match (document.operations.as_slice(), name) {
        ([only], None) => only.clone(),
        (several, None) => {
            let labels: Vec<_> = several.iter().map(Operation::label).collect();
            return Err(format!(
                "a request runs one operation, and here are {}: leave the others out, or build the request and name \
                 one, `Request::graphql(..).operation(\"..\")`",
                list_names(labels.iter().map(String::as_str)),
            ));
        }
        (several, Some(name)) => {
            let named = several.iter().find(|one| one.name.as_deref() == Some(name));
            let missing = || {
                let known = several.iter().filter_map(|one| one.name.as_deref());
                let near = did_you_mean(name, known);
                format!("there is no operation `{name}` in the document{near}")
            };
            named.cloned().ok_or_else(missing)?
        }
    };
    let is_declared = |variable: &&String| {
        let mut variables = document.operations.iter().flat_map(|one| &one.variables);
        variables.any(|one| one.name == **variable)
    };
    if let Some(unknown) = document.used.iter().find(|variable| !is_declared(variable)) {
        let declared = operation.variables.iter().map(|one| one.name.as_str());
        let near = did_you_mean(unknown, declared);
        let label = operation.label();
        return Err(format!(
            "`${unknown}` is used and not declared: write `{label}(${unknown}: ..)`{near}"
        ));
    }
    Ok((document, operation))
}

/// Notes what is declared and not given, and what is given and not declared; `span` is that of the document.
pub(crate) fn check_given(
    document: &Document,
    operation: &Operation,
    given: &[(String, Span)],
    span: Span,
    errors: &mut MacroErrors,
) {
    let label = operation.label();
    let is_given = |name: &str| given.iter().any(|(one, _)| one == name);
    for variable in &operation.variables {
        let name = &variable.name;
        // one with a default may be left out
        if document.used.contains(name) && !variable.has_default && !is_given(name) {
            let message = format!(
                "`${name}` is used and not given: add `\"{name}\": ..` to the variables, or `null`"
            );
            errors.add_at(span, message);
        }
    }
    for (name, span) in given {
        let declared = || operation.variables.iter().map(|one| one.name.as_str());
        if declared().any(|one| one == name) {
            continue;
        }
        let mut hint = did_you_mean(name, declared());
        if hint.is_empty() {
            let names = list_names(declared());
            let names = if names.is_empty() { "none" } else { &names };
            hint = format!(": `{label}` declares {names}");
        }
        errors.add_at(*span, format!("`${name}` is given and not declared{hint}"));
    }
}
