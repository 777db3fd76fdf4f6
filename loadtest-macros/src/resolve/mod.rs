//! Finds out what every name of a scenario means, and notes all mistakes at once.

mod choice;
mod header;
mod last;
mod names;
mod payload;
mod repeat;
mod request;
mod secrets;
mod shape;
mod shown;
mod source;
mod step;

pub(crate) use choice::choices;
pub(crate) use header::{Basic, Header, HeaderValue};
pub(crate) use names::{Source, step_number};
pub(crate) use payload::Payload;
pub(crate) use request::{Access, Origin, Piece, Placeholder, Request, Sink, is_field_name};
pub(crate) use step::{Dependency, Form, Step};

use crate::body::{self, Item, Role, RoleFn, ScenarioFn};
use crate::fingerprint::Fingerprint;
use crate::options::ScenarioOptions;
use crate::signature::{self, FeedType, Parameter, SetupType};
use crate::spelling::as_written;
use crate::suggest::Errors;
use names::{Names, Reader};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::{Attribute, Expr, Lit, Meta, ReturnType};

/// A scenario whose names are known.
pub(crate) struct Resolved {
    pub(crate) options: ScenarioOptions,
    /// The options as they were written.
    pub(crate) written: TokenStream,
    pub(crate) fingerprint: String,
    /// What the user wrote, in order.
    pub(crate) items: Vec<Item>,
    pub(crate) steps: Vec<Step>,
    pub(crate) checks: Vec<Check>,
    pub(crate) feeds: Vec<Feed>,
    pub(crate) states: Vec<State>,
    pub(crate) setups: Vec<Setup>,
    pub(crate) teardowns: Vec<Teardown>,
    /// The names of the secrets that it is seen to need.
    pub(crate) secrets: Vec<String>,
    /// There is something that rustc reports: a name that repeats, a parameter without a type.
    pub(crate) is_incomplete: bool,
}

pub(crate) struct Argument {
    pub(crate) source: Source,
    pub(crate) ty: syn::Type,
    pub(crate) variable: String,
    /// Of the name in the signature.
    pub(crate) span: Span,
}

pub(crate) struct Check {
    pub(crate) ident: Ident,
    pub(crate) name: String,
    pub(crate) returned: TokenStream,
    pub(crate) arguments: Vec<Argument>,
    /// The last step it names, in the order in which they run.
    pub(crate) step: usize,
}

pub(crate) struct Feed {
    pub(crate) ident: Ident,
    pub(crate) name: String,
    pub(crate) ty: FeedType,
    pub(crate) arguments: Vec<Argument>,
    /// How many setups are above it, and run before it.
    pub(crate) setups_above: usize,
}

pub(crate) struct State {
    pub(crate) ident: Ident,
    pub(crate) ty: TokenStream,
    pub(crate) arguments: Vec<Argument>,
}

pub(crate) struct Setup {
    pub(crate) ident: Ident,
    pub(crate) name: String,
    pub(crate) made: SetupType,
    pub(crate) arguments: Vec<Argument>,
    /// It sends.
    pub(crate) is_async: bool,
}

pub(crate) struct Teardown {
    pub(crate) ident: Ident,
    pub(crate) name: String,
    pub(crate) returned: TokenStream,
    /// It sends.
    pub(crate) is_async: bool,
    pub(crate) arguments: Vec<Argument>,
}

/// Resolves the scenario; where `errors` is not empty afterwards, parts of the result are missing.
pub(crate) fn scenario(
    options: TokenStream,
    function: &ScenarioFn,
    errors: &mut Errors,
) -> Resolved {
    let fingerprint = Fingerprint::of([options.clone(), function.body.stream()]);
    let written = options.clone();
    let options = ScenarioOptions::parse(options, errors);
    shape::check_scenario(function, errors);
    let items = body::split(function.body.stream(), errors);
    let names = Names::of(&items, errors);
    if names.steps.is_empty() {
        let name = &function.signature.ident;
        errors.at(
            name.span(),
            format!(
                "scenario `{name}` has no steps: add `#[step] fn name() -> Request<T> {{ ... }}`"
            ),
        );
    }
    let mut resolved = Resolved {
        options,
        written,
        fingerprint,
        items: Vec::new(),
        steps: Vec::new(),
        checks: Vec::new(),
        feeds: Vec::new(),
        states: Vec::new(),
        setups: Vec::new(),
        teardowns: Vec::new(),
        secrets: Vec::new(),
        is_incomplete: names_repeat(&items)
            || items.iter().any(|item| matches!(item, Item::Broken { .. })),
    };
    for item in &items {
        match item {
            Item::Plain(_) => {}
            Item::Function(function) => resolved.add(function, &names, errors),
            Item::Broken { role, name, .. } => {
                if *role == Role::Step {
                    resolved.steps.push(Step::broken(name.as_ref()));
                } else if *role == Role::Feed {
                    resolved.feeds.push(Feed::broken(name.as_ref()));
                }
            }
        }
    }
    resolved.items = items;
    resolved.spread_headers(&names, errors);
    resolved.resolve_requests(&names, errors);
    resolved.note_secrets(&function.body.stream(), errors);
    resolved.refuse_calls(errors);
    repeat::check(&resolved.steps, errors);
    last::check(&mut resolved, errors);
    choice::check(&resolved, errors);
    resolved.check_display_names(errors);
    resolved
}

impl Feed {
    /// The place of a feed whose signature does not parse.
    fn broken(ident: Option<&Ident>) -> Self {
        let ident = ident
            .cloned()
            .unwrap_or_else(|| Ident::new("unnamed", Span::call_site()));
        Self {
            name: unraw(&ident),
            ident,
            ty: FeedType::unknown(),
            arguments: Vec::new(),
            setups_above: 0,
        }
    }
}

impl Resolved {
    fn add(&mut self, function: &RoleFn, names: &Names, errors: &mut Errors) {
        shape::check_function(function, errors);
        let parameters = signature::parameters(function, errors);
        let ident = function.signature.ident.clone();
        let name = unraw(&ident);
        match function.role {
            Role::Step => self.add_step(function, parameters, names, errors),
            Role::Check => {
                let arguments = self.arguments(parameters, names, Reader::Check, &name, errors);
                if matches!(function.signature.output, ReturnType::Default) {
                    errors.at(
                        ident.span(),
                        "a check returns `bool` or `Result<(), impl Display>`: add one",
                    );
                    return;
                }
                let Some(arguments) = arguments else { return };
                let step = arguments
                    .iter()
                    .filter_map(|argument| argument.source.step());
                match step.max() {
                    Some(step) => self.checks.push(Check {
                        ident,
                        name,
                        returned: signature::returned(function),
                        arguments,
                        step,
                    }),
                    None => errors.at(
                        ident.span(),
                        "a check looks at a step: give it a parameter named like one",
                    ),
                }
            }
            Role::Feed => self.add_feed(function, parameters, names, errors),
            Role::State => {
                if matches!(function.signature.output, ReturnType::Default) {
                    errors.at(
                        ident.span(),
                        format!("state `{name}` has no value: add `-> T`"),
                    );
                }
                let arguments = self.arguments(parameters, names, Reader::State, &name, errors);
                refuse_impl(function, errors);
                self.states.push(State {
                    ident,
                    ty: signature::returned(function),
                    arguments: arguments.unwrap_or_default(),
                });
            }
            Role::Setup => {
                let is_async = function.signature.asyncness.is_some();
                let reader = Reader::Setup {
                    at: self.setups.len(),
                    is_async,
                };
                let made = signature::setup_type(function);
                refuse_impl(function, errors);
                if let Some(word) = &function.signature.asyncness
                    && made.is_target
                {
                    errors.on(
                        word,
                        "a setup that returns a `Target` is not `async`: there is nobody yet to send to",
                    );
                }
                if made.is_target
                    && let Some(first) = self.setups.iter().find(|setup| setup.made.is_target)
                {
                    let first = &first.name;
                    errors.at(
                        ident.span(),
                        format!("a scenario has one target, and `{first}` starts it"),
                    );
                }
                let arguments = self.arguments(parameters, names, reader, &name, errors);
                self.setups.push(Setup {
                    ident,
                    made,
                    arguments: arguments.unwrap_or_default(),
                    name,
                    is_async,
                });
            }
            Role::Teardown => {
                let is_async = function.signature.asyncness.is_some();
                let reader = Reader::Teardown { is_async };
                let arguments = self.arguments(parameters, names, reader, &name, errors);
                self.teardowns.push(Teardown {
                    ident,
                    name,
                    returned: signature::returned(function),
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
        names: &Names,
        errors: &mut Errors,
    ) {
        let mut step = Step::new(function, errors);
        repeat::refuse_on_async(&step, function, errors);
        let is_async = function.signature.asyncness.is_some();
        let reader = Reader::Step {
            at: self.steps.len(),
            is_async,
        };
        let arguments = self.arguments(parameters, names, reader, &step.name, errors);
        step.depend_on(arguments.as_deref().unwrap_or_default());
        let returned = signature::returned(function);
        match arguments {
            Some(arguments) if function.body.is_none() => {
                shape::check_follows(&arguments, errors);
                step.follows = arguments;
            }
            Some(arguments) if is_async => {
                step.form = Form::Sender {
                    returned,
                    arguments,
                };
            }
            Some(arguments) => {
                step.form = Form::Builder {
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
        names: &Names,
        errors: &mut Errors,
    ) {
        let ident = function.signature.ident.clone();
        let name = unraw(&ident);
        let setups_above = self.setups.len();
        refuse_impl(function, errors);
        let ty = signature::feed_type(function, errors);
        let reader = Reader::Feed(setups_above);
        let arguments = self.arguments(parameters, names, reader, &name, errors);
        self.feeds.push(Feed {
            ident,
            name,
            ty,
            arguments: arguments.unwrap_or_default(),
            setups_above,
        });
    }

    fn arguments(
        &mut self,
        parameters: Option<Vec<Parameter>>,
        names: &Names,
        reader: Reader,
        name: &str,
        errors: &mut Errors,
    ) -> Option<Vec<Argument>> {
        let before = errors.len();
        let arguments: Vec<Argument> = parameters?
            .into_iter()
            .filter_map(|parameter| names.argument(parameter, reader, name, errors))
            .collect();
        names::check_borrows(&arguments, errors);
        for argument in &arguments {
            if let Some(step) = argument.source.step()
                && let Some(step) = self.steps.get_mut(step)
                && !signature::takes_body_alone(&argument.ty, &step.response.ty)
            {
                step.reads_headers = true;
            }
            if let Some(step) = argument.source.step()
                && let Some(step) = self.steps.get(step)
                && step.response.is_unit
                && !signature::needs_no_body(&argument.ty)
            {
                errors.on(&argument.ty, step.not_read());
            }
        }
        (errors.len() == before).then_some(arguments)
    }

    /// The declared requests, once the types of all steps are known.
    fn resolve_requests(&mut self, names: &Names, errors: &mut Errors) {
        for at in 0..self.steps.len() {
            let Some(Item::Function(function)) = self
                .items
                .iter()
                .filter(|item| item.role() == Some(Role::Step))
                .nth(at)
            else {
                continue;
            };
            if let Some(body) = &function.body {
                if function.signature.asyncness.is_some() {
                    shape::refuse_options_of_requests(&self.steps[at], errors);
                } else {
                    shape::refuse_request_options(&self.steps[at], errors);
                }
                shape::refuse_templates(body.stream(), names, errors);
                let mut resolver = request::Resolver {
                    at,
                    steps: &self.steps,
                    feeds: &self.feeds,
                    names,
                    errors,
                };
                let defaults = resolver.headers(&self.steps[at].options.headers);
                self.steps[at].defaults = defaults;
            } else if function.signature.asyncness.is_some() {
                // noted: it has no body
                continue;
            } else {
                let Some(request) = request::resolve(at, &self.steps, &self.feeds, names, errors)
                else {
                    continue;
                };
                self.steps[at].form = Form::Declared(request);
            }
            self.note_reads(at);
            let shown = shown::shown(&self.steps[at].options, at, names);
            self.steps[at].show(shown);
        }
    }

    /// Calls of steps that are declared, in any body and any `check = ..`.
    fn refuse_calls(&self, errors: &mut Errors) {
        let declared = |item: &Item| match item {
            Item::Function(function) => function.role == Role::Step && function.body.is_none(),
            _ => false,
        };
        let declared: Vec<String> = self
            .items
            .iter()
            .filter(|item| declared(item))
            .filter_map(|item| item.ident().map(unraw))
            .collect();
        let builders: Vec<String> = self
            .items
            .iter()
            .filter(|item| match item {
                Item::Function(function) => {
                    function.role == Role::Step
                        && function.body.is_some()
                        && function.signature.asyncness.is_none()
                }
                _ => false,
            })
            .filter_map(|item| item.ident().map(unraw))
            .collect();
        let instead = |name: &str| {
            let step = self.steps.iter().find(|step| step.name == name);
            match step.map(|step| &step.response) {
                Some(response) if !response.is_unit => format!(
                    "its answer comes as a parameter `{name}: &{}`",
                    as_written(&response.ty)
                ),
                _ => "it is sent by the engine, and not called".to_owned(),
            }
        };
        for item in &self.items {
            let Item::Function(function) = item else {
                continue;
            };
            if let Some(body) = &function.body {
                let body = body.stream();
                let is_step = |name: &str| {
                    declared.iter().any(|step| step == name) && !shape::defines(body.clone(), name)
                };
                shape::refuse_calls(body.clone(), &is_step, &instead, errors);
                // nothing else can be awaited there either
                let is_sync = function.signature.asyncness.is_none();
                let is_builder = |name: &str| {
                    builders.iter().any(|step| step == name)
                        && (is_sync || !shape::defines(body.clone(), name))
                };
                shape::refuse_waiting(body.clone(), &is_builder, &instead, errors);
            }
        }
        for check in self.steps.iter().flat_map(|step| step.options.closures()) {
            let is_step = |name: &str| {
                declared.iter().any(|step| step == name) && !shape::defines(check.clone(), name)
            };
            let instead = |_: &str| {
                "a `#[check]` function can look at the answers of several steps".to_owned()
            };
            shape::refuse_calls(check.clone(), &is_step, &instead, errors);
        }
    }

    /// A name of `name = ".."` must not be that of another step; equal functions are rustc's to report.
    fn check_display_names(&self, errors: &mut Errors) {
        for (at, step) in self.steps.iter().enumerate() {
            let Some(literal) = &step.options.name else {
                continue;
            };
            let name = literal.value();
            let mut others = self.steps.iter().enumerate();
            if others.any(|(i, other)| i != at && other.display_name() == name) {
                errors.at(literal.span(), format!("two steps are named `{name}`"));
            }
        }
    }
}

/// `-> impl Trait`, which is no type that a field could have.
fn refuse_impl(function: &RoleFn, errors: &mut Errors) {
    let returned = signature::returned(function);
    let is_impl = |token: TokenTree| matches!(token, TokenTree::Ident(word) if word == "impl");
    if returned.clone().into_iter().any(is_impl) {
        let role = function.role.name();
        errors.on(
            returned,
            format!(
                "the value of a {role} has a type with a name: for a trait write `Box<dyn Trait>`"
            ),
        );
    }
}

fn names_repeat(items: &[Item]) -> bool {
    let mut names: Vec<String> = items
        .iter()
        .filter_map(|item| item.ident().map(unraw))
        .collect();
    let count = names.len();
    names.sort();
    names.dedup();
    names.len() < count
}

/// The doc comment, its lines trimmed.
pub(crate) fn description(attributes: &[Attribute]) -> String {
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
pub(crate) fn unraw(ident: &Ident) -> String {
    use syn::ext::IdentExt;
    ident.unraw().to_string()
}
