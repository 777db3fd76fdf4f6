//! One step: what its signature and options say.

use super::shown::DeclaredText;
use super::{
    Argument, ArgumentSource, Placeholder, ResolvedHeader, ResolvedRequest, ValueOrigin, doc_text,
    graphql, source, without_raw_prefix,
};
use crate::body::RoleFn;
use crate::fingerprint::Fingerprint;
use crate::options::{StepDefaults, StepOptions};
use crate::signature::{self, ResponseType};
use crate::suggest::MacroErrors;
use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use std::collections::BTreeSet;

pub(crate) struct ResolvedStep {
    pub(crate) ident: Ident,
    /// Without `r#`.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) fingerprint: String,
    pub(crate) options: StepOptions,
    /// The zero-based number of the group that it is in.
    pub(crate) group: Option<usize>,
    pub(crate) response: ResponseType,
    pub(crate) reads_headers: bool,
    pub(crate) dependencies: Vec<Dependency>,
    /// The parameters of a declared step, which name steps and nothing else.
    pub(crate) follows: Vec<Argument>,
    /// Method and URL as far as the source shows them.
    pub(crate) shown: Option<(String, String)>,
    /// Kind and name of its GraphQL operation as far as the source shows them.
    pub(crate) operation: Option<String>,
    /// Headers and body as far as the source shows them.
    pub(crate) declared: DeclaredText,
    /// The headers of the scenario that a computed request does not set itself.
    pub(crate) defaults: Vec<ResolvedHeader>,
    pub(crate) form: StepForm,
    has_body: bool,
    pub(crate) is_async: bool,
}

/// The use of an earlier step.
pub(crate) struct Dependency {
    pub(crate) step: usize,
    /// True if the step also runs without the dependency.
    pub(crate) optional: bool,
    /// The place of use; for a required step, the place that requires it.
    pub(crate) span: Span,
}

/// The way in which a step defines its request.
pub(crate) enum StepForm {
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
    Declared(ResolvedRequest),
    /// There was a mistake.
    Broken,
}

impl ResolvedStep {
    /// Returns true if the engine opens a WebSocket for the step.
    pub(crate) fn opens_websocket(&self) -> bool {
        self.response.is_socket() && !self.is_async
    }

    /// Returns true if the engine reads the answer of the step as one of GraphQL.
    pub(crate) fn reads_graphql(&self) -> bool {
        let is_asked = self.options.graphql.document.is_some() && self.response.flow.is_none();
        (is_asked || self.response.graph_data.is_some()) && !self.is_async
    }

    /// Returns true if the step sends for itself, and does not take `http`.
    pub(crate) fn is_without_http(&self) -> bool {
        let takes_http = |given: &Argument| given.source == ArgumentSource::Http;
        match &self.form {
            StepForm::Sender { arguments, .. } => !arguments.iter().any(takes_http),
            _ => false,
        }
    }

    pub(super) fn new(
        function: &RoleFn,
        defaults: &StepDefaults,
        errors: &mut MacroErrors,
    ) -> Self {
        let mut options = StepOptions::parse(function.options.clone(), errors);
        let is_async = function.signature.asyncness.is_some();
        let applied = defaults.apply(&mut options, is_async);
        let response = signature::parse_response_type(function, errors);
        let signature = &function.signature;
        let operation = match &function.body {
            Some(body) if !is_async => graphql::check_built(body.stream(), errors),
            _ => options.graphql.operation.clone(),
        };
        let shown = match (&options.call, &function.body) {
            _ if is_async => None,
            (Some(call), _) => Some((call.sent_method(), call.shown_url())),
            (None, Some(body)) => source::find_request(body.stream()),
            (None, None) => None,
        };
        let body = function.body.as_ref().map(ToTokens::to_token_stream);
        Self {
            ident: signature.ident.clone(),
            name: without_raw_prefix(&signature.ident),
            description: doc_text(&function.attributes),
            fingerprint: Fingerprint::from_streams(
                [
                    function.options.clone(),
                    signature.to_token_stream(),
                    body.unwrap_or_default(),
                ]
                .into_iter()
                .chain(applied),
            ),
            // a closure gets the whole response
            reads_headers: !options.checks.is_empty() || options.repeat.until.is_some(),
            options,
            group: function.group,
            response,
            dependencies: Vec::new(),
            follows: Vec::new(),
            shown,
            operation,
            declared: DeclaredText::default(),
            defaults: Vec::new(),
            form: StepForm::Broken,
            has_body: function.body.is_some(),
            is_async,
        }
    }

    /// The place of a step whose signature does not parse.
    pub(super) fn broken(ident: Option<&Ident>) -> Self {
        let ident = ident
            .cloned()
            .unwrap_or_else(|| Ident::new("unnamed", Span::call_site()));
        Self {
            name: without_raw_prefix(&ident),
            response: ResponseType::unknown(),
            ident,
            description: String::new(),
            fingerprint: String::new(),
            options: StepOptions::default(),
            group: None,
            reads_headers: false,
            dependencies: Vec::new(),
            follows: Vec::new(),
            shown: None,
            operation: None,
            declared: DeclaredText::default(),
            defaults: Vec::new(),
            form: StepForm::Broken,
            has_body: true,
            is_async: false,
        }
    }

    pub(super) fn set_declared_text(&mut self, declared: DeclaredText) {
        if let (Some((_, url)), false) = (&mut self.shown, declared.query.is_empty()) {
            if !url.ends_with(['?', '&']) {
                url.push(if url.contains('?') { '&' } else { '?' });
            }
            url.push_str(&declared.query);
        }
        self.declared = declared;
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
            StepForm::Declared(request) => Some(request.placeholders()),
            _ => None,
        };
        let defaults = self.defaults.iter().flat_map(ResolvedHeader::placeholders);
        request.into_iter().flatten().chain(defaults)
    }

    /// The numbers of the setups whose values it uses.
    pub(crate) fn setups(&self) -> BTreeSet<usize> {
        let given = match &self.form {
            StepForm::Builder { arguments, .. } | StepForm::Sender { arguments, .. } => arguments,
            _ => &self.follows,
        };
        let given = given.iter().filter_map(|given| given.source.setup_index());
        let placed = self
            .placeholders()
            .filter_map(|placed| match placed.origin {
                ValueOrigin::Setup(at) => Some(at),
                _ => None,
            });
        given.chain(placed).collect()
    }

    /// The words for a use of its response, where it has none.
    pub(super) fn explain_not_read(&self) -> String {
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

    pub(super) fn add_argument_dependencies(&mut self, arguments: &[Argument]) {
        for argument in arguments {
            if let Some(step) = argument.source.step_index() {
                self.add_dependency(step, signature::is_option(&argument.ty), argument.span);
            }
        }
    }

    pub(super) fn add_dependency(&mut self, step: usize, optional: bool, span: Span) {
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
