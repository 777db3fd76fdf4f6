//! Finds out what every name of a scenario means, and notes all mistakes at once.

mod choice;
mod graphql;
mod group;
mod header;
mod last;
mod limits;
mod names;
mod payload;
mod repeat;
mod request;
mod secrets;
mod shape;
mod shown;
mod source;
mod step;
mod values;

pub(crate) use choice::collect_choices;
pub(crate) use group::{ResolvedGroup, check_group_function};
pub(crate) use header::{BasicCredentials, ResolvedHeader, ResolvedHeaderValue};
pub(crate) use names::{ArgumentSource, step_number};
pub(crate) use payload::ResolvedBody;
pub(crate) use request::{
    Placeholder, RequestPiece, ResolvedRequest, ValueAccess, ValueEncoding, ValueOrigin,
    is_field_name,
};
pub(crate) use step::{Dependency, ResolvedStep, StepForm};

use crate::body::{self, BodyItem, Role, RoleFn, ScenarioFn};
use crate::fingerprint::Fingerprint;
use crate::options::{ScenarioOptions, SetupOptions};
use crate::signature::{self, FeedType, Parameter, SetupType};
use crate::suggest::MacroErrors;
use names::{NameUser, ScenarioNames};
use proc_macro2::{Ident, Span, TokenStream};
use syn::{Attribute, Expr, Lit, Meta, ReturnType};

/// A scenario whose names are known.
pub(crate) struct ResolvedScenario {
    pub(crate) options: ScenarioOptions,
    /// The options as they were written.
    pub(crate) written: TokenStream,
    pub(crate) fingerprint: String,
    /// The user's items, in source order.
    pub(crate) items: Vec<BodyItem>,
    pub(crate) groups: Vec<ResolvedGroup>,
    pub(crate) steps: Vec<ResolvedStep>,
    pub(crate) checks: Vec<ResolvedCheck>,
    pub(crate) feeds: Vec<ResolvedFeed>,
    pub(crate) states: Vec<ResolvedState>,
    pub(crate) setups: Vec<ResolvedSetup>,
    pub(crate) teardowns: Vec<ResolvedTeardown>,
    /// The names of the secrets that it is seen to need.
    pub(crate) secrets: Vec<String>,
    /// There is something that rustc reports: a name that repeats, a parameter without a type.
    pub(crate) is_incomplete: bool,
}

pub(crate) struct Argument {
    pub(crate) source: ArgumentSource,
    pub(crate) ty: syn::Type,
    pub(crate) variable: String,
    /// The span of the name in the signature.
    pub(crate) span: Span,
}

pub(crate) struct ResolvedCheck {
    pub(crate) ident: Ident,
    pub(crate) name: String,
    pub(crate) returned: TokenStream,
    pub(crate) arguments: Vec<Argument>,
    /// The last step it names, in the order in which they run.
    pub(crate) step: usize,
}

pub(crate) struct ResolvedFeed {
    pub(crate) ident: Ident,
    pub(crate) name: String,
    pub(crate) ty: FeedType,
    /// The rows of each iteration.
    pub(crate) rows: usize,
    pub(crate) arguments: Vec<Argument>,
    /// The number of setups above this one; they run first.
    pub(crate) setups_above: usize,
}

pub(crate) struct ResolvedState {
    pub(crate) ident: Ident,
    pub(crate) ty: TokenStream,
    pub(crate) arguments: Vec<Argument>,
}

pub(crate) struct ResolvedSetup {
    pub(crate) ident: Ident,
    pub(crate) name: String,
    pub(crate) made: SetupType,
    pub(crate) options: SetupOptions,
    pub(crate) arguments: Vec<Argument>,
    /// It sends.
    pub(crate) is_async: bool,
}

pub(crate) struct ResolvedTeardown {
    pub(crate) ident: Ident,
    pub(crate) name: String,
    pub(crate) returned: TokenStream,
    /// It sends.
    pub(crate) is_async: bool,
    pub(crate) arguments: Vec<Argument>,
}

/// Resolves the scenario; where `errors` is not empty afterwards, parts of the result are missing.
pub(crate) fn resolve_scenario(
    options: TokenStream,
    function: &ScenarioFn,
    errors: &mut MacroErrors,
) -> ResolvedScenario {
    let fingerprint = Fingerprint::from_streams([options.clone(), function.body.stream()]);
    let written = options.clone();
    let options = ScenarioOptions::parse(options, errors);
    shape::check_scenario(function, errors);
    let items = body::split_items(function.body.stream(), errors);
    let mut names = ScenarioNames::collect(&items, errors);
    if items.iter().any(|item| item.role() == Some(Role::Group)) {
        names.scenario = format!(" of `{}`", function.signature.ident);
    }
    if names.steps.is_empty() {
        let name = &function.signature.ident;
        let plain = items.iter().find_map(BodyItem::plain_function);
        let (span, how) = plain.map_or_else(
            || {
                (
                    name.span(),
                    "add `#[step] fn name() -> Request<T> { ... }`".to_owned(),
                )
            },
            |plain| (plain.span(), format!("put `#[step]` on `{plain}`")),
        );
        errors.add_at(span, format!("scenario `{name}` has no steps: {how}"));
    }
    let mut resolved = ResolvedScenario {
        options,
        written,
        fingerprint,
        items: Vec::new(),
        groups: Vec::new(),
        steps: Vec::new(),
        checks: Vec::new(),
        feeds: Vec::new(),
        states: Vec::new(),
        setups: Vec::new(),
        teardowns: Vec::new(),
        secrets: Vec::new(),
        is_incomplete: has_repeated_names(&items)
            || items
                .iter()
                .any(|item| matches!(item, BodyItem::Broken { .. })),
    };
    for item in &items {
        match item {
            BodyItem::Plain(_) => {}
            BodyItem::Function(function) if function.role == Role::Group => {
                resolved.add_group(function, errors);
            }
            BodyItem::Function(function) => resolved.add_function(function, &names, errors),
            BodyItem::Broken { role, name, .. } => {
                if *role == Role::Step {
                    resolved.steps.push(ResolvedStep::broken(name.as_ref()));
                } else if *role == Role::Feed {
                    resolved.feeds.push(ResolvedFeed::broken(name.as_ref()));
                }
            }
        }
    }
    resolved.items = items;
    resolved.apply_scenario_headers(&names, errors);
    resolved.resolve_requests(&names, errors);
    resolved.note_secrets(&function.body.stream(), errors);
    repeat::check_repeating_steps(&resolved.steps, errors);
    last::check_last_steps(&mut resolved, errors);
    choice::settle_weights(&mut resolved.steps, errors);
    choice::check_choices(&resolved, errors);
    limits::check_limits(&resolved, errors);
    resolved.check_display_names(errors);
    resolved.check_connections(errors);
    resolved.check_new_connections(errors);
    resolved.check_jars(errors);
    resolved.check_groups(errors);
    resolved
}

impl ResolvedFeed {
    /// The place of a feed whose signature does not parse.
    fn broken(ident: Option<&Ident>) -> Self {
        let ident = ident
            .cloned()
            .unwrap_or_else(|| Ident::new("unnamed", Span::call_site()));
        Self {
            name: without_raw_prefix(&ident),
            ident,
            ty: FeedType::unknown(),
            rows: 1,
            arguments: Vec::new(),
            setups_above: 0,
        }
    }
}

impl ResolvedScenario {
    fn add_function(&mut self, function: &RoleFn, names: &ScenarioNames, errors: &mut MacroErrors) {
        shape::check_function(function, errors);
        let parameters = signature::parse_parameters(function, errors);
        let ident = function.signature.ident.clone();
        let name = without_raw_prefix(&ident);
        match function.role {
            Role::Group => {}
            Role::Step => self.add_step(function, parameters, names, errors),
            Role::Check => {
                let arguments =
                    self.resolve_arguments(parameters, names, NameUser::Check, &name, errors);
                if matches!(function.signature.output, ReturnType::Default) {
                    errors.add_at(
                        ident.span(),
                        "a check returns whether it holds: add `-> bool` or `-> Result<(), String>`",
                    );
                    return;
                }
                let Some(arguments) = arguments else { return };
                let step = arguments
                    .iter()
                    .filter_map(|argument| argument.source.step_index());
                match step.max() {
                    Some(step) => self.checks.push(ResolvedCheck {
                        ident,
                        name,
                        returned: signature::return_type_tokens(function),
                        arguments,
                        step,
                    }),
                    None => errors.add_at(
                        ident.span(),
                        "a check looks at a step: give it a parameter named like one",
                    ),
                }
            }
            Role::Feed => self.add_feed(function, parameters, names, errors),
            Role::State => {
                if matches!(function.signature.output, ReturnType::Default) {
                    errors.add_at(
                        ident.span(),
                        format!("state `{name}` has no value: add `-> T`"),
                    );
                }
                let arguments =
                    self.resolve_arguments(parameters, names, NameUser::State, &name, errors);
                self.states.push(ResolvedState {
                    ident,
                    ty: signature::return_type_tokens(function),
                    arguments: arguments.unwrap_or_default(),
                });
            }
            Role::Setup => {
                let is_async = function.signature.asyncness.is_some();
                let reader = NameUser::Setup {
                    at: self.setups.len(),
                    is_async,
                };
                let made = signature::parse_setup_type(function);
                if let Some(word) = &function.signature.asyncness
                    && made.is_target
                {
                    errors.add_on(
                        word,
                        "a setup that returns a `Target` cannot be `async`: there is no target to send to yet",
                    );
                }
                if made.is_target
                    && let Some(first) = self.setups.iter().find(|setup| setup.made.is_target)
                {
                    let first = &first.name;
                    errors.add_at(
                        ident.span(),
                        format!("a scenario has one target, and `{first}` starts it"),
                    );
                }
                let arguments = self.resolve_arguments(parameters, names, reader, &name, errors);
                self.setups.push(ResolvedSetup {
                    ident,
                    made,
                    options: SetupOptions::parse(function, errors),
                    arguments: arguments.unwrap_or_default(),
                    name,
                    is_async,
                });
            }
            Role::Teardown => {
                let is_async = function.signature.asyncness.is_some();
                let reader = NameUser::Teardown { is_async };
                let arguments = self.resolve_arguments(parameters, names, reader, &name, errors);
                self.teardowns.push(ResolvedTeardown {
                    ident,
                    name,
                    returned: signature::return_type_tokens(function),
                    is_async,
                    arguments: arguments.unwrap_or_default(),
                });
            }
        }
    }

    fn add_step(
        &mut self,
        function: &RoleFn,
        parameters: Option<Vec<Parameter>>,
        names: &ScenarioNames,
        errors: &mut MacroErrors,
    ) {
        let mut step = ResolvedStep::new(function, &self.options.defaults, errors);
        let is_async = function.signature.asyncness.is_some();
        let reader = NameUser::Step {
            at: self.steps.len(),
            is_async,
        };
        let arguments = self.resolve_arguments(parameters, names, reader, &step.name, errors);
        let given = arguments.as_deref().unwrap_or_default();
        shape::check_lent_sockets(function, given, &self.steps, errors);
        step.add_argument_dependencies(arguments.as_deref().unwrap_or_default());
        let returned = signature::return_type_tokens(function);
        match arguments {
            Some(arguments) if function.body.is_none() => {
                shape::check_dependency_parameters(&arguments, errors);
                step.follows = arguments;
            }
            Some(arguments) if is_async => {
                step.form = StepForm::Sender {
                    returned,
                    arguments,
                };
            }
            Some(arguments) => {
                step.form = StepForm::Builder {
                    returned,
                    arguments,
                };
            }
            None => {}
        }
        self.steps.push(step);
    }

    fn add_feed(
        &mut self,
        function: &RoleFn,
        parameters: Option<Vec<Parameter>>,
        names: &ScenarioNames,
        errors: &mut MacroErrors,
    ) {
        let ident = function.signature.ident.clone();
        let name = without_raw_prefix(&ident);
        let setups_above = self.setups.len();
        let ty = signature::parse_feed_type(function, errors);
        let reader = NameUser::Feed(setups_above);
        let arguments = self.resolve_arguments(parameters, names, reader, &name, errors);
        self.feeds.push(ResolvedFeed {
            ident,
            name,
            ty,
            rows: names.feed_rows[self.feeds.len()],
            arguments: arguments.unwrap_or_default(),
            setups_above,
        });
    }

    fn resolve_arguments(
        &mut self,
        parameters: Option<Vec<Parameter>>,
        names: &ScenarioNames,
        reader: NameUser,
        name: &str,
        errors: &mut MacroErrors,
    ) -> Option<Vec<Argument>> {
        let before = errors.len();
        let arguments: Vec<Argument> = parameters?
            .into_iter()
            .filter_map(|parameter| names.resolve_argument(parameter, reader, name, errors))
            .collect();
        for argument in &arguments {
            if let Some(step) = argument.source.step_index()
                && let Some(step) = self.steps.get_mut(step)
                && !signature::takes_body_alone(&argument.ty, &step.response.ty)
            {
                step.reads_headers = true;
            }
            if let Some(step) = argument.source.step_index()
                && let Some(step) = self.steps.get(step)
                && step.response.is_unit
                && !signature::needs_no_body(&argument.ty)
            {
                errors.add_on(&argument.ty, step.explain_not_read());
            }
        }
        (errors.len() == before).then_some(arguments)
    }

    /// The declared requests, once the types of all steps are known.
    fn resolve_requests(&mut self, names: &ScenarioNames, errors: &mut MacroErrors) {
        for at in 0..self.steps.len() {
            let Some(BodyItem::Function(function)) = self
                .items
                .iter()
                .filter(|item| item.role() == Some(Role::Step))
                .nth(at)
            else {
                continue;
            };
            shape::check_stream_options(&self.steps[at], errors);
            shape::check_websocket_options(&self.steps[at], errors);
            graphql::check_partial(&self.steps[at], errors);
            if let Some(body) = &function.body {
                shape::refuse_request_options(&self.steps[at], errors);
                shape::refuse_templates(body.stream(), names, errors);
                let mut resolver = request::RequestResolver {
                    at,
                    scenario: self,
                    names,
                    errors,
                };
                let defaults = resolver.resolve_headers(&self.steps[at].options.headers);
                self.steps[at].defaults = defaults;
            } else if function.signature.asyncness.is_some() {
                // noted: it has no body
                continue;
            } else {
                let Some(request) = request::resolve_request(at, self, names, errors) else {
                    continue;
                };
                self.steps[at].form = StepForm::Declared(request);
            }
            self.note_reads(at);
            let shown = shown::declared_text(&self.steps[at].options, at, names);
            self.steps[at].set_declared_text(shown);
        }
    }

    /// Only connections that take several requests at once are shared.
    fn check_connections(&self, errors: &mut MacroErrors) {
        let client = &self.options.client;
        if let Some((_, span)) = client.connections
            && client.http.is_none_or(|(version, _)| version != "Http2")
        {
            let message =
                "`connections` needs `http = 2`: requests share connections over HTTP/2 alone";
            // The place to change: another version, else the option that needs one.
            errors.add_at(client.http.map_or(span, |(_, span)| span), message);
        }
    }

    /// What goes over a connection of its own shares none.
    fn check_new_connections(&self, errors: &mut MacroErrors) {
        for step in &self.steps {
            let Some(span) = step.options.new_connections else {
                continue;
            };
            if self.options.client.connections.is_some() {
                let message = "the users of this scenario share connections: leave out `connections = new` here, or \
                               `connections = ..` in `#[scenario(..)]`";
                errors.add_at(span, message);
            } else if step.response.is_socket() {
                let message =
                    "a WebSocket has a connection of its own anyway: leave out `connections = new`";
                errors.add_at(span, message);
            }
        }
    }

    /// Without cookies there are no jars.
    fn check_jars(&self, errors: &mut MacroErrors) {
        let jars = self
            .steps
            .iter()
            .filter_map(|step| step.options.jar.as_ref());
        for jar in jars.filter(|_| self.options.client.cookies == Some("Off")) {
            let message =
                format!("with `cookies = off` there is no cookie jar `{jar}`: drop one of them");
            errors.add_at(jar.span(), message);
        }
    }

    /// A name of `name = ".."` must not be that of another step; equal functions are rustc's to report.
    fn check_display_names(&self, errors: &mut MacroErrors) {
        for (at, step) in self.steps.iter().enumerate() {
            let Some(literal) = &step.options.name else {
                continue;
            };
            let name = literal.value();
            let mut others = self.steps.iter().enumerate();
            if others.any(|(i, other)| i != at && other.display_name() == name) {
                errors.add_at(
                    literal.span(),
                    format!("two steps are named `{name}`: give one of them another `name`"),
                );
            }
        }
    }
}

fn has_repeated_names(items: &[BodyItem]) -> bool {
    let mut names: Vec<String> = items
        .iter()
        .filter(|item| item.role() != Some(Role::Group))
        .filter_map(|item| item.ident().map(without_raw_prefix))
        .collect();
    let count = names.len();
    names.sort();
    names.dedup();
    names.len() < count
}

/// The doc comment, its lines trimmed.
pub(crate) fn doc_text(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes {
        if let Meta::NameValue(meta) = &attribute.meta
            && meta.path.is_ident("doc")
            && let Expr::Lit(literal) = &meta.value
            && let Lit::Str(line) = &literal.lit
        {
            lines.extend(line.value().lines().map(|line| line.trim().to_owned()));
        }
    }
    lines.join("\n").trim().to_owned()
}

/// The name without `r#`.
pub(crate) fn without_raw_prefix(ident: &Ident) -> String {
    use syn::ext::IdentExt;
    ident.unraw().to_string()
}
