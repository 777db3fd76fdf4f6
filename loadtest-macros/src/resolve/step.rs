//! One step: what its signature and options say.

use super::shown::Shown;
use super::{Argument, Header, Placeholder, Request, description, source, unraw};
use crate::body::RoleFn;
use crate::fingerprint::Fingerprint;
use crate::options::StepOptions;
use crate::signature::{self, ResponseType};
use crate::suggest::Errors;
use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;

pub(crate) struct Step {
    pub(crate) ident: Ident,
    /// Without `r#`.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) fingerprint: String,
    pub(crate) options: StepOptions,
    pub(crate) response: ResponseType,
    pub(crate) reads_headers: bool,
    pub(crate) dependencies: Vec<Dependency>,
    /// The parameters of a declared step, which name steps and nothing else.
    pub(crate) follows: Vec<Argument>,
    /// Method and URL as far as the source shows them.
    pub(crate) shown: Option<(String, String)>,
    /// Headers and body as far as the source shows them.
    pub(crate) declared: Shown,
    /// Those of the scenario, for the requests of a function that lack them.
    pub(crate) defaults: Vec<Header>,
    pub(crate) form: Form,
    has_body: bool,
    is_async: bool,
}

/// The use of an earlier step.
pub(crate) struct Dependency {
    pub(crate) step: usize,
    /// Whether the step runs without it.
    pub(crate) optional: bool,
    /// Where it is used, and if it is needed, where that is said.
    pub(crate) span: Span,
}

/// How a step says what it sends.
pub(crate) enum Form {
    /// Its function builds the request.
    Builder {
        returned: TokenStream,
        arguments: Vec<Argument>,
    },
    /// Its function is `async` and sends for itself.
    Sender {
        returned: TokenStream,
        arguments: Vec<Argument>,
    },
    /// Its attribute declares it.
    Declared(Request),
    /// There was a mistake.
    Broken,
}

impl Step {
    pub(super) fn new(function: &RoleFn, errors: &mut Errors) -> Self {
        let options = StepOptions::parse(function.options.clone(), errors);
        let response = signature::response_type(function, errors);
        let signature = &function.signature;
        let shown = match (&options.call, &function.body) {
            _ if signature.asyncness.is_some() => None,
            (Some(call), _) => Some((call.method.to_string().to_uppercase(), call.literal.value())),
            (None, Some(body)) => source::request_in(body.stream()),
            (None, None) => None,
        };
        let body = function.body.as_ref().map(ToTokens::to_token_stream);
        Self {
            ident: signature.ident.clone(),
            name: unraw(&signature.ident),
            description: description(&function.attributes),
            fingerprint: Fingerprint::of([
                function.options.clone(),
                signature.to_token_stream(),
                body.unwrap_or_default(),
            ]),
            // a closure gets the whole response
            reads_headers: !options.checks.is_empty() || options.repeat.until.is_some(),
            options,
            response,
            dependencies: Vec::new(),
            follows: Vec::new(),
            shown,
            declared: Shown::default(),
            defaults: Vec::new(),
            form: Form::Broken,
            has_body: function.body.is_some(),
            is_async: signature.asyncness.is_some(),
        }
    }

    /// The place of a step whose signature does not parse.
    pub(super) fn broken(ident: Option<&Ident>) -> Self {
        let ident = ident
            .cloned()
            .unwrap_or_else(|| Ident::new("unnamed", Span::call_site()));
        Self {
            name: unraw(&ident),
            response: ResponseType::unknown(),
            ident,
            description: String::new(),
            fingerprint: String::new(),
            options: StepOptions::default(),
            reads_headers: false,
            dependencies: Vec::new(),
            follows: Vec::new(),
            shown: None,
            declared: Shown::default(),
            defaults: Vec::new(),
            form: Form::Broken,
            has_body: true,
            is_async: false,
        }
    }

    pub(super) fn show(&mut self, declared: Shown) {
        if let (Some((_, url)), false) = (&mut self.shown, declared.query.is_empty()) {
            if !url.ends_with(['?', '&']) {
                url.push(if url.contains('?') { '&' } else { '?' });
            }
            url.push_str(&declared.query);
        }
        self.declared = declared;
    }

    /// The option `name`, if it is given; also where its value is broken.
    pub(super) fn key(&self, name: &str) -> Option<&Ident> {
        self.options.keys.iter().find(|key| *key == name)
    }

    pub(crate) fn display_name(&self) -> String {
        match &self.options.name {
            Some(name) => name.value(),
            None => self.name.clone(),
        }
    }

    /// The values that its declarations name.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        let request = match &self.form {
            Form::Declared(request) => Some(request.placeholders()),
            _ => None,
        };
        let defaults = self.defaults.iter().flat_map(Header::placeholders);
        request.into_iter().flatten().chain(defaults)
    }

    /// The words for a use of its response, where it has none.
    pub(super) fn not_read(&self) -> String {
        let name = &self.name;
        if self.is_async {
            return format!(
                "`{name}` returns nothing: let it return a value, like `-> Result<Value, Error>`"
            );
        }
        let fix = if self.has_body {
            "-> Request<Value>"
        } else {
            "-> Value"
        };
        format!("the response of `{name}` is not read: give it a type, like `{fix}`")
    }

    pub(super) fn depend_on(&mut self, arguments: &[Argument]) {
        for argument in arguments {
            if let Some(step) = argument.source.step() {
                self.depends_on(step, signature::is_option(&argument.ty), argument.span);
            }
        }
    }

    pub(super) fn depends_on(&mut self, step: usize, optional: bool, span: Span) {
        let known = self
            .dependencies
            .iter_mut()
            .find(|known| known.step == step);
        match known {
            Some(known) if known.optional && !optional => {
                known.optional = false;
                known.span = span;
            }
            Some(_) => {}
            None => self.dependencies.push(Dependency {
                step,
                optional,
                span,
            }),
        }
    }
}
