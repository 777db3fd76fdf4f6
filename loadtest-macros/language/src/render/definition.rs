//! The definition: what is declared, as plain data.

use super::threshold::render_threshold;
use super::{repeat, stream, websocket};
use crate::options::{
    ClientOptions, LoadOption, LoadShape, ROUNDING, RendezvousOption, ScenarioOptions, StageOption,
    ThinkOption, WEIGHT_RANGE, WeightOption,
};
use crate::resolve::{
    Dependency, ResolvedFeed, ResolvedGroup, ResolvedScenario, ResolvedStep, StepForm,
    collect_choices, without_raw_prefix,
};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use std::time::Duration;
use syn::LitStr;

/// The status by which a WebSocket is opened.
const SWITCHING_PROTOCOLS: (u16, u16) = (101, 101);

/// The `ScenarioDef` of a scenario.
pub(super) fn render_definition(
    name: &Ident,
    description: &str,
    resolved: &ResolvedScenario,
) -> TokenStream {
    let ScenarioOptions {
        name: shown,
        tags,
        base,
        load: declared,
        thresholds,
        apdex,
        budget,
        grade_weight,
        version,
        client: declared_client,
        weight: share,
        start,
        grace,
        reaches,
        headers: _,
        crate_path: _,
        defaults: _,
    } = &resolved.options;
    let function = without_raw_prefix(name);
    let shown = shown
        .as_ref()
        .map_or_else(|| function.clone(), LitStr::value);
    let line = source_line(name);
    let tags = render_list(tags.iter().map(render_literal));
    let base = render_option(base.as_ref().map(render_literal));
    let load = render_option(declared.as_ref().map(render_load));
    let thresholds = render_list(
        thresholds
            .iter()
            .map(|one| render_threshold(&one.threshold)),
    );
    let apdex = render_option(apdex.map(render_duration));
    let budget = render_option(budget.map(render_number));
    let grade_weight = render_option(grade_weight.map(render_number));
    let fingerprint = render_text(&resolved.fingerprint);
    let version = render_option(version.as_ref().map(render_literal));
    let share = render_number(share.unwrap_or(1.0));
    let start = render_duration(*start);
    let grace = render_option(grace.map(render_duration));
    let reaches = render_list(reaches.iter().map(render_literal));
    let starts_target = resolved.setups.iter().any(|setup| setup.made.is_target);
    let runs_once = |step: &ResolvedStep| step.options.repeat.once;
    let keeps_state = !resolved.states.is_empty() || resolved.steps.iter().any(runs_once);
    let feeds = render_list(resolved.feeds.iter().map(render_feed_def));
    let secrets = render_list(resolved.secrets.iter().map(|name| render_text(name)));
    let client = render_client_def(declared_client);
    let redirects = declared_client.redirects.unwrap_or(0);
    let steps = resolved.steps.iter().enumerate();
    let steps = render_list(steps.map(|(at, one)| {
        let group = one.group.and_then(|group| resolved.groups.get(group));
        render_step_def(at, one, group, redirects)
    }));
    let groups = render_list(resolved.groups.iter().map(render_group_def));
    let (shown, function, description) = (
        render_text(&shown),
        render_text(&function),
        render_text(description),
    );
    quote! {
        ::loadtest::__private::ScenarioDef {
            name: #shown,
            function: #function,
            module: ::loadtest::__private::Cow::Borrowed(::core::module_path!()),
            package: ::loadtest::__private::Cow::Borrowed(::core::env!("CARGO_PKG_NAME")),
            file: ::loadtest::__private::Cow::Borrowed(::core::file!()),
            line: #line,
            description: #description,
            tags: #tags,
            base: #base,
            weight: #share,
            start: #start,
            grace: #grace,
            reaches: #reaches,
            client: #client,
            load: #load,
            thresholds: #thresholds,
            apdex: #apdex,
            budget: #budget,
            grade_weight: #grade_weight,
            fingerprint: #fingerprint,
            version: #version,
            starts_target: #starts_target,
            keeps_state: #keeps_state,
            feeds: #feeds,
            secrets: #secrets,
            groups: #groups,
            steps: #steps,
        }
    }
}

fn render_feed_def(feed: &ResolvedFeed) -> TokenStream {
    let (name, line) = (render_text(&feed.name), source_line(&feed.ident));
    quote!(::loadtest::__private::FeedDef { name: #name, line: #line })
}

fn render_group_def(group: &ResolvedGroup) -> TokenStream {
    let (name, description) = (render_text(&group.name), render_text(&group.description));
    let line = line_of(group.span);
    let thresholds = render_list(group.options.thresholds.iter().map(render_threshold));
    quote! {
        ::loadtest::__private::GroupDef {
            name: #name,
            line: #line,
            description: #description,
            thresholds: #thresholds,
        }
    }
}

fn render_client_def(client: &ClientOptions) -> TokenStream {
    let variant = |name| Ident::new(name, Span::call_site());
    let http = match client.http {
        // The library knows whether it has the feature.
        Some(("Http3", span)) => quote_spanned!(span=> ::loadtest::__private::http3!()),
        http => {
            let http = variant(http.map_or("Negotiated", |(version, _)| version));
            quote!(::loadtest::__private::HttpVersion::#http)
        }
    };
    let connections = render_option(client.connections.map(|(count, _)| quote!(#count)));
    let new_connections = client.new_connections;
    let cookies = variant(client.cookies.unwrap_or("Iteration"));
    let dns = variant(client.dns.unwrap_or("Pinned"));
    let insecure = client.insecure;
    let ca = render_option(client.ca.as_ref().map(render_literal));
    let identity = render_option(client.identity.as_ref().map(render_literal));
    quote! {
        ::loadtest::__private::Client {
            http: #http,
            connections: #connections,
            new_connections: #new_connections,
            cookies: ::loadtest::__private::Cookies::#cookies,
            dns: ::loadtest::__private::Dns::#dns,
            insecure: #insecure,
            ca: #ca,
            identity: #identity,
        }
    }
}

fn render_step_def(
    at: usize,
    step: &ResolvedStep,
    group: Option<&ResolvedGroup>,
    redirects: u32,
) -> TokenStream {
    let options = &step.options;
    let name = render_text(&step.display_name());
    // a line of another file means nothing in that of the scenario
    let elsewhere = group.filter(|group| group.span.file() != step.ident.span().file());
    let line = elsewhere.map_or_else(|| source_line(&step.ident), |group| line_of(group.span));
    let group = render_option(group.map(|group| render_text(&group.name)));
    let description = render_text(&step.description);
    let (method, url) = match &step.shown {
        Some((method, url)) => (
            render_option(Some(render_text(method))),
            render_option(Some(render_text(url))),
        ),
        None => (render_option(None), render_option(None)),
    };
    let declared_headers = render_list(step.declared.headers.iter().map(|(name, value)| {
        let (name, value) = (render_text(name), render_text(value));
        quote!(::loadtest::__private::HeaderDef { name: #name, value: #value })
    }));
    let declared_body = render_declared_body(step);
    let weight = render_weight(at, &options.weight);
    let one_of = render_option(
        options
            .one_of
            .as_ref()
            .map(|name| render_text(&without_raw_prefix(name))),
    );
    let expect = render_expect(step);
    let think = render_option(options.think.map(render_think));
    let rendezvous = render_option(options.rendezvous.map(render_rendezvous));
    let timeout = render_timeout(step);
    let thresholds = options.thresholds.iter();
    let thresholds = render_list(thresholds.map(|one| render_threshold(&one.threshold)));
    let tags = render_list(options.tags.iter().map(render_literal));
    let apdex = render_option(options.apdex.map(render_duration));
    let budget = render_option(options.budget.map(render_number));
    let grade_weight = render_option(options.grade_weight.map(render_number));
    let dependencies = render_list(step.dependencies.iter().map(|dependency| {
        let Dependency { step, optional, .. } = dependency;
        quote!(::loadtest::__private::Dependency { step: #step, optional: #optional })
    }));
    let (once, last) = (options.repeat.once, step.runs_last());
    let renewal = repeat::render_renewal(&options.repeat);
    let without_http = step.is_without_http();
    let stop_on_failure = options.stop_on_failure;
    let (retry, until) = (
        repeat::render_retry(&options.repeat),
        repeat::render_until(&options.repeat),
    );
    let reads = render_reads(step);
    let stream = stream::render_stream_def(step);
    let websocket = websocket::render_websocket_def(step);
    let graphql = render_graphql_def(step);
    let good = stream::render_good(&options.stream);
    let fingerprint = render_text(&step.fingerprint);
    let sends_itself = matches!(step.form, StepForm::Sender { .. });
    let redirects = options.redirects.unwrap_or(redirects);
    let new_connections = options.new_connections.is_some();
    quote! {
        ::loadtest::__private::StepDef {
            name: #name,
            line: #line,
            description: #description,
            tags: #tags,
            method: #method,
            url: #url,
            headers: #declared_headers,
            body: #declared_body,
            sends_itself: #sends_itself,
            once: #once,
            renewal: #renewal,
            last: #last,
            without_http: #without_http,
            stop_on_failure: #stop_on_failure,
            retry: #retry,
            until: #until,
            redirects: #redirects,
            new_connections: #new_connections,
            weight: #weight,
            one_of: #one_of,
            group: #group,
            expect: #expect,
            rendezvous: #rendezvous,
            think: #think,
            timeout: #timeout,
            thresholds: #thresholds,
            apdex: #apdex,
            budget: #budget,
            grade_weight: #grade_weight,
            dependencies: #dependencies,
            reads: #reads,
            stream: #stream,
            websocket: #websocket,
            graphql: #graphql,
            good: #good,
            fingerprint: #fingerprint,
        }
    }
}

/// The body that a step declares.
fn render_declared_body(step: &ResolvedStep) -> TokenStream {
    render_option(step.declared.body.as_ref().map(|(kind, template)| {
        let (kind, template) = (Ident::new(kind, Span::call_site()), render_text(template));
        quote! {
            ::loadtest::__private::BodyDef {
                kind: ::loadtest::__private::BodyKind::#kind,
                template: #template,
            }
        }
    }))
}

/// The parts of the answer that are kept; a GraphQL server tells its errors in the body.
fn render_reads(step: &ResolvedStep) -> TokenStream {
    let body = step.response.keeps_data() || step.reads_graphql();
    let headers = step.reads_headers;
    quote!(::loadtest::__private::Reads { body: #body, headers: #headers })
}

/// The `Option<GraphqlDef>` of a step.
fn render_graphql_def(step: &ResolvedStep) -> TokenStream {
    let operation = step.operation.as_ref().map(|label| render_text(label));
    let (operation, partial) = (render_option(operation), step.options.graphql.partial);
    // A subscription whose answer is a stream is one of GraphQL too, with an operation or without.
    let asks = step.options.graphql.document.is_some() || step.response.is_subscription();
    let asks = asks && !step.is_async;
    render_option((asks || step.reads_graphql()).then(|| {
        quote! {
            ::loadtest::__private::GraphqlDef {
                operation: #operation,
                partial: #partial,
            }
        }
    }))
}

/// The timeout of a step; streams have more time unless it is declared.
fn render_timeout(step: &ResolvedStep) -> TokenStream {
    let default = if step.response.is_stream() && !step.is_async {
        quote!(::loadtest::__private::StreamDef::TIMEOUT)
    } else {
        quote!(::loadtest::__private::DEFAULT_TIMEOUT)
    };
    step.options.timeout.map_or(default, render_duration)
}

fn render_rendezvous(option: RendezvousOption) -> TokenStream {
    let users = option.users;
    let within = option.within.map_or_else(
        || quote!(::loadtest::__private::Rendezvous::WITHIN),
        render_duration,
    );
    quote!(::loadtest::__private::Rendezvous { users: #users, within: #within })
}

fn render_think(think: ThinkOption) -> TokenStream {
    match think {
        ThinkOption::Uniform(min, max) => {
            let (min, max) = (render_duration(min), render_duration(max));
            quote!(::loadtest::__private::Think::Uniform { min: #min, max: #max })
        }
        ThinkOption::Random(law, mean, deviation) => {
            let law = Ident::new(law, Span::call_site());
            let (mean, deviation) = (render_duration(mean), render_duration(deviation));
            quote! {
                ::loadtest::__private::Think::Random {
                    law: ::loadtest::__private::ThinkLaw::#law,
                    mean: #mean,
                    deviation: #deviation,
                }
            }
        }
    }
}

/// The weights that are constants, which only the compiler knows: each is in range, and so is the sum
/// of those that share a draw. A wrong one is an error at the constant.
pub(super) fn render_weight_checks(steps: &[ResolvedStep]) -> TokenStream {
    let constants = steps.iter().enumerate().filter_map(|(at, step)| {
        let expression = step.options.weight.constant_expression()?;
        let refuse = render_refusal(expression, WEIGHT_RANGE);
        let name = constant_weight(at);
        Some(quote! {
            const #name: f64 = {
                let __weight: f64 = #expression;
                if !(__weight > 0.0 && __weight <= 1.0) {
                    #refuse
                }
                __weight
            };
        })
    });
    let sums = collect_choices(steps).into_iter().filter_map(|choice| {
        let members = || choice.members.iter().map(|&at| (at, &steps[at]));
        let mut last = members().filter_map(|(_, step)| step.options.weight.constant_expression());
        let refuse = render_refusal(last.next_back()?, &choice.weights_exceed_one());
        let weights = members().map(|(at, step)| render_weight(at, &step.options.weight));
        Some(quote! {
            const _: () = if #(#weights)+* > 1.0 + #ROUNDING {
                #refuse
            };
        })
    });
    quote!(#(#constants)* #(#sums)*)
}

fn render_refusal(expression: &TokenStream, why: &str) -> TokenStream {
    let span = expression
        .clone()
        .into_iter()
        .next()
        .map_or_else(Span::call_site, |token| token.span());
    let span = Span::call_site().located_at(span);
    quote_spanned!(span=> ::core::panic!(#why))
}

fn render_weight(at: usize, weight: &WeightOption) -> TokenStream {
    match weight {
        WeightOption::Always => quote!(1.0),
        WeightOption::Literal(weight) | WeightOption::Relative(weight, _) => render_number(*weight),
        WeightOption::Constant(_) => {
            let name = constant_weight(at);
            quote!(#name)
        }
    }
}

fn constant_weight(at: usize) -> Ident {
    format_ident!("__WEIGHT_{at}")
}

fn render_expect(step: &ResolvedStep) -> TokenStream {
    let ranges = match step.options.expect.as_slice() {
        [] if step.opens_websocket() => &[SWITCHING_PROTOCOLS],
        ranges => ranges,
    };
    if ranges.is_empty() {
        return quote!(::loadtest::__private::Expect::SUCCESS);
    }
    render_statuses(ranges)
}

/// An `Expect` of inclusive ranges.
pub(super) fn render_statuses(ranges: &[(u16, u16)]) -> TokenStream {
    let ranges = render_list(
        ranges
            .iter()
            .map(|(from, to)| quote!(::loadtest::__private::StatusRange { from: #from, to: #to })),
    );
    quote!(::loadtest::__private::Expect(#ranges))
}

fn render_load(load: &LoadOption) -> TokenStream {
    let warm_up = render_duration(load.warm_up);
    let max_users = render_option(load.max_users.map(|users| quote!(#users)));
    let pace = render_option(load.pace.map(render_duration));
    let shape = match &load.shape {
        LoadShape::Curve {
            is_rate,
            curve,
            duration: whole,
        } => {
            let make = if *is_rate { "rate_curve" } else { "user_curve" };
            let (make, whole) = (Ident::new(make, Span::call_site()), render_duration(*whole));
            return quote! {
                ::loadtest::__private::Load {
                    warm_up: #warm_up,
                    max_users: #max_users,
                    pace: #pace,
                    ..::loadtest::__private::Load::#make(#curve, #whole)
                }
            };
        }
        LoadShape::Rate {
            per_second,
            ramp_up,
            duration: whole,
        } => {
            let (ramp_up, whole) = (render_duration(*ramp_up), render_duration(*whole));
            quote!(Rate { per_second: #per_second, ramp_up: #ramp_up, duration: #whole })
        }
        LoadShape::Users {
            users,
            ramp_up,
            duration: whole,
        } => {
            let (ramp_up, whole) = (render_duration(*ramp_up), render_duration(*whole));
            quote!(Users { users: #users, ramp_up: #ramp_up, duration: #whole })
        }
        LoadShape::Iterations {
            count,
            users,
            per_user,
        } => {
            quote!(Iterations { count: #count, users: #users, per_user: #per_user })
        }
        LoadShape::RateStages(stages) => {
            let stages = render_list(stages.iter().map(render_stage));
            quote!(RateStages { stages: #stages })
        }
        LoadShape::UserStages(stages) => {
            let stages = render_list(stages.iter().map(render_stage));
            quote!(UserStages { stages: #stages })
        }
    };
    quote! {
        ::loadtest::__private::Load {
            shape: ::loadtest::__private::Shape::#shape,
            warm_up: #warm_up,
            max_users: #max_users,
            pace: #pace,
        }
    }
}

fn render_stage(stage: &StageOption) -> TokenStream {
    let (from, to, duration) = (stage.from, stage.to, render_duration(stage.duration));
    quote!(::loadtest::__private::Stage { from: #from, to: #to, duration: #duration })
}

pub(super) fn render_duration(duration: Duration) -> TokenStream {
    let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    quote!(::core::time::Duration::from_nanos(#nanos))
}

fn render_number(number: f64) -> TokenStream {
    quote!(#number)
}

pub(super) fn render_text(text: &str) -> TokenStream {
    quote!(::loadtest::__private::Cow::Borrowed(#text))
}

pub(super) fn render_literal(literal: &LitStr) -> TokenStream {
    render_text(&literal.value())
}

pub(super) fn render_list(items: impl Iterator<Item = TokenStream>) -> TokenStream {
    quote!(::loadtest::__private::Cow::Borrowed(const { &[#(#items),*] }))
}

pub(super) fn render_option(value: Option<TokenStream>) -> TokenStream {
    value.map_or_else(
        || quote!(::core::option::Option::None),
        |value| quote!(::core::option::Option::Some(#value)),
    )
}

/// Counted from one; outside of a real expansion there are lines as well.
fn source_line(ident: &Ident) -> u32 {
    line_of(ident.span())
}

fn line_of(span: Span) -> u32 {
    u32::try_from(span.start().line).unwrap_or(u32::MAX)
}
