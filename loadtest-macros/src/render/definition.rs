//! The definition: what is declared, as plain data.

use super::repeat;
use super::threshold::threshold;
use crate::options::{Client, Load, ROUNDING, ScenarioOptions, Shape, Stage, WEIGHT_RANGE, Weight};
use crate::resolve::{Dependency, Feed, Form, Resolved, Step, choices, unraw};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use std::time::Duration;
use syn::LitStr;

/// The `ScenarioDef` of a scenario.
pub(super) fn scenario(name: &Ident, description: &str, resolved: &Resolved) -> TokenStream {
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
        headers: _,
        crate_path: _,
    } = &resolved.options;
    let function = unraw(name);
    let shown = shown
        .as_ref()
        .map_or_else(|| function.clone(), LitStr::value);
    let line = line(name);
    let tags = list(tags.iter().map(literal));
    let base = option(base.as_ref().map(literal));
    let load = option(declared.as_ref().map(load));
    let thresholds = list(thresholds.iter().map(threshold));
    let apdex = option(apdex.map(duration));
    let budget = option(budget.map(number));
    let grade_weight = option(grade_weight.map(number));
    let fingerprint = text(&resolved.fingerprint);
    let version = option(version.as_ref().map(literal));
    let share = number(share.unwrap_or(1.0));
    let starts_target = resolved.setups.iter().any(|setup| setup.made.is_target);
    let runs_once = |step: &Step| step.options.repeat.once.is_some();
    let keeps_state = !resolved.states.is_empty() || resolved.steps.iter().any(runs_once);
    let feeds = list(resolved.feeds.iter().map(feed));
    let secrets = list(resolved.secrets.iter().map(|name| text(name)));
    let client = client(declared_client);
    let redirects = declared_client.redirects.unwrap_or(0);
    let steps = resolved.steps.iter().enumerate();
    let steps = list(steps.map(|(at, one)| step(at, one, redirects)));
    let (shown, function, description) = (text(&shown), text(&function), text(description));
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
            steps: #steps,
        }
    }
}

fn feed(feed: &Feed) -> TokenStream {
    let (name, line) = (text(&feed.name), line(&feed.ident));
    quote!(::loadtest::__private::FeedDef { name: #name, line: #line })
}

fn client(client: &Client) -> TokenStream {
    let variant = |name| Ident::new(name, Span::call_site());
    let http = variant(client.http.unwrap_or("Negotiated"));
    let cookies = variant(client.cookies.unwrap_or("Iteration"));
    let dns = variant(if client.dns_ttl { "Ttl" } else { "Pinned" });
    let insecure = client.insecure;
    let ca = option(client.ca.as_ref().map(literal));
    let identity = option(client.identity.as_ref().map(literal));
    quote! {
        ::loadtest::__private::Client {
            http: ::loadtest::__private::HttpVersion::#http,
            cookies: ::loadtest::__private::Cookies::#cookies,
            dns: ::loadtest::__private::Dns::#dns,
            insecure: #insecure,
            ca: #ca,
            identity: #identity,
        }
    }
}

fn step(at: usize, step: &Step, redirects: u32) -> TokenStream {
    let options = &step.options;
    let name = text(&step.display_name());
    let line = line(&step.ident);
    let description = text(&step.description);
    let (method, url) = match &step.shown {
        Some((method, url)) => (option(Some(text(method))), option(Some(text(url)))),
        None => (option(None), option(None)),
    };
    let declared_headers = list(step.declared.headers.iter().map(|(name, value)| {
        let (name, value) = (text(name), text(value));
        quote!(::loadtest::__private::HeaderDef { name: #name, value: #value })
    }));
    let declared_body = option(step.declared.body.as_ref().map(|(kind, template)| {
        let (kind, template) = (Ident::new(kind, Span::call_site()), text(template));
        quote! {
            ::loadtest::__private::BodyDef {
                kind: ::loadtest::__private::BodyKind::#kind,
                template: #template,
            }
        }
    }));
    let weight = weight(at, &options.weight);
    let one_of = option(options.one_of.as_ref().map(|name| text(&unraw(name))));
    let expect = expect(&options.expect);
    let think = option(options.think.map(|(min, max)| {
        let (min, max) = (duration(min), duration(max));
        quote!(::loadtest::__private::Think { min: #min, max: #max })
    }));
    let timeout = options
        .timeout
        .map_or_else(|| quote!(::loadtest::__private::DEFAULT_TIMEOUT), duration);
    let thresholds = list(options.thresholds.iter().map(threshold));
    let apdex = option(options.apdex.map(duration));
    let budget = option(options.budget.map(number));
    let grade_weight = option(options.grade_weight.map(number));
    let dependencies = list(step.dependencies.iter().map(|dependency| {
        let Dependency { step, optional, .. } = dependency;
        quote!(::loadtest::__private::Dependency { step: #step, optional: #optional })
    }));
    let (once, last) = (options.repeat.once.is_some(), step.runs_last());
    let (retry, until) = (
        repeat::retry(&options.repeat),
        repeat::until(&options.repeat),
    );
    let (body, headers) = (!step.response.is_unit, step.reads_headers);
    let fingerprint = text(&step.fingerprint);
    let sends_itself = matches!(step.form, Form::Sender { .. });
    let redirects = options.redirects.unwrap_or(redirects);
    quote! {
        ::loadtest::__private::StepDef {
            name: #name,
            line: #line,
            description: #description,
            method: #method,
            url: #url,
            headers: #declared_headers,
            body: #declared_body,
            sends_itself: #sends_itself,
            once: #once,
            last: #last,
            retry: #retry,
            until: #until,
            redirects: #redirects,
            weight: #weight,
            one_of: #one_of,
            expect: #expect,
            think: #think,
            timeout: #timeout,
            thresholds: #thresholds,
            apdex: #apdex,
            budget: #budget,
            grade_weight: #grade_weight,
            dependencies: #dependencies,
            reads: ::loadtest::__private::Reads { body: #body, headers: #headers },
            fingerprint: #fingerprint,
        }
    }
}

/// The weights that are constants, which only the compiler knows: each is in range, and so is the sum
/// of those that share a draw. A wrong one is an error at the constant.
pub(super) fn weights(steps: &[Step]) -> TokenStream {
    let constants = steps.iter().enumerate().filter_map(|(at, step)| {
        let expression = step.options.weight.constant()?;
        let refuse = refuse(expression, WEIGHT_RANGE);
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
    let sums = choices(steps).into_iter().filter_map(|choice| {
        let members = || choice.members.iter().map(|&at| (at, &steps[at]));
        let mut last = members().filter_map(|(_, step)| step.options.weight.constant());
        let refuse = refuse(last.next_back()?, &choice.too_much());
        let weights = members().map(|(at, step)| weight(at, &step.options.weight));
        Some(quote! {
            const _: () = if #(#weights)+* > 1.0 + #ROUNDING {
                #refuse
            };
        })
    });
    quote!(#(#constants)* #(#sums)*)
}

fn refuse(expression: &TokenStream, why: &str) -> TokenStream {
    let span = expression
        .clone()
        .into_iter()
        .next()
        .map_or_else(Span::call_site, |token| token.span());
    let span = Span::call_site().located_at(span);
    quote_spanned!(span=> ::core::panic!(#why))
}

fn weight(at: usize, weight: &Weight) -> TokenStream {
    match weight {
        Weight::Always => quote!(1.0),
        Weight::Literal(weight) => number(*weight),
        Weight::Constant(_) => {
            let name = constant_weight(at);
            quote!(#name)
        }
    }
}

fn constant_weight(at: usize) -> Ident {
    format_ident!("__WEIGHT_{at}")
}

fn expect(ranges: &[(u16, u16)]) -> TokenStream {
    if ranges.is_empty() {
        return quote!(::loadtest::__private::Expect::SUCCESS);
    }
    let ranges = list(
        ranges
            .iter()
            .map(|(from, to)| quote!(::loadtest::__private::StatusRange { from: #from, to: #to })),
    );
    quote!(::loadtest::__private::Expect(#ranges))
}

fn load(load: &Load) -> TokenStream {
    let shape = match &load.shape {
        Shape::Rate {
            per_second,
            ramp_up,
            duration: whole,
        } => {
            let (ramp_up, whole) = (duration(*ramp_up), duration(*whole));
            quote!(Rate { per_second: #per_second, ramp_up: #ramp_up, duration: #whole })
        }
        Shape::Users {
            users,
            ramp_up,
            duration: whole,
        } => {
            let (ramp_up, whole) = (duration(*ramp_up), duration(*whole));
            quote!(Users { users: #users, ramp_up: #ramp_up, duration: #whole })
        }
        Shape::Iterations { count, users } => quote!(Iterations { count: #count, users: #users }),
        Shape::RateStages(stages) => {
            let stages = list(stages.iter().map(stage));
            quote!(RateStages { stages: #stages })
        }
        Shape::UserStages(stages) => {
            let stages = list(stages.iter().map(stage));
            quote!(UserStages { stages: #stages })
        }
    };
    let warm_up = duration(load.warm_up);
    let max_users = option(load.max_users.map(|users| quote!(#users)));
    quote! {
        ::loadtest::__private::Load {
            shape: ::loadtest::__private::Shape::#shape,
            warm_up: #warm_up,
            max_users: #max_users,
        }
    }
}

fn stage(stage: &Stage) -> TokenStream {
    let (from, to, duration) = (stage.from, stage.to, duration(stage.duration));
    quote!(::loadtest::__private::Stage { from: #from, to: #to, duration: #duration })
}

pub(super) fn duration(duration: Duration) -> TokenStream {
    let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    quote!(::core::time::Duration::from_nanos(#nanos))
}

fn number(number: f64) -> TokenStream {
    quote!(#number)
}

pub(super) fn text(text: &str) -> TokenStream {
    quote!(::loadtest::__private::Cow::Borrowed(#text))
}

fn literal(literal: &LitStr) -> TokenStream {
    text(&literal.value())
}

pub(super) fn list(items: impl Iterator<Item = TokenStream>) -> TokenStream {
    quote!(::loadtest::__private::Cow::Borrowed(const { &[#(#items),*] }))
}

pub(super) fn option(value: Option<TokenStream>) -> TokenStream {
    value.map_or_else(
        || quote!(::core::option::Option::None),
        |value| quote!(::core::option::Option::Some(#value)),
    )
}

/// Counted from one; outside of a real expansion there are lines as well.
fn line(ident: &Ident) -> u32 {
    u32::try_from(ident.span().start().line).unwrap_or(u32::MAX)
}
