//! Groups: steps that are measured together, too.

use super::{ResolvedScenario, ResolvedStep, doc_text, shape, without_raw_prefix};
use crate::body::{Role, RoleFn};
use crate::options::GroupOptions;
use crate::suggest::MacroErrors;
use proc_macro2::{Ident, Span};
use syn::{LitStr, ReturnType};

pub(crate) struct ResolvedGroup {
    pub(crate) ident: Ident,
    /// The name shown to people.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) options: GroupOptions,
    /// The place in the scenario, also of one that is declared elsewhere.
    pub(crate) span: Span,
}

/// Checks the shape of a group's function.
pub(crate) fn check_group_function(function: &RoleFn, errors: &mut MacroErrors) {
    shape::check_function(function, errors);
    let signature = &function.signature;
    if !signature.inputs.is_empty() {
        errors.add_on(
            &signature.inputs,
            "a group takes no parameters: each of its steps names what it uses",
        );
    }
    if let ReturnType::Type(_, ty) = &signature.output {
        errors.add_on(
            ty,
            "a group returns nothing: later steps name the steps in it",
        );
    }
}

impl ResolvedScenario {
    pub(super) fn add_group(&mut self, function: &RoleFn, errors: &mut MacroErrors) {
        check_group_function(function, errors);
        let options = GroupOptions::parse(function.options.clone(), errors);
        let ident = function.signature.ident.clone();
        let name = options.name.as_ref().map(LitStr::value);
        self.groups.push(ResolvedGroup {
            name: name.unwrap_or_else(|| without_raw_prefix(&ident)),
            ident,
            description: doc_text(&function.attributes),
            options,
            span: function.signature.fn_token.span,
        });
    }

    /// Notes groups that measure nothing, or whose name is taken.
    pub(super) fn check_groups(&self, errors: &mut MacroErrors) {
        for (at, group) in self.groups.iter().enumerate() {
            let name = &group.name;
            let literal = group.options.name.as_ref().map(LitStr::span);
            let is_step = self.steps.iter().any(|step| step.display_name() == *name);
            if is_step || self.groups[..at].iter().any(|other| other.name == *name) {
                let other = if is_step { "a step" } else { "another group" };
                errors.add_at(
                    literal.unwrap_or_else(|| group.ident.span()),
                    format!("{other} of this scenario is named `{name}`, too: give the group another name"),
                );
            }
            let mut steps = self.steps.iter().filter(|step| step.group == Some(at));
            let is_broken = self
                .items
                .iter()
                .any(|item| item.role() == Some(Role::Group) && item.ident().is_none());
            let message = if steps.clone().next().is_none() {
                "has no steps: add `#[step] fn name() -> Request<T> { ... }`"
            } else if steps.all(ResolvedStep::runs_last) {
                "measures journeys, and all of its steps run `last`, after them"
            } else {
                continue;
            };
            if !is_broken {
                errors.add_at(group.ident.span(), format!("group `{name}` {message}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::ScenarioFn;
    use proc_macro2::TokenStream;

    fn mistakes(groups: &str) -> String {
        let text = format!("fn shop() {{ #[step(get = \"/\")] fn alone(); {groups} }}");
        let function: ScenarioFn = syn::parse_str(&text).unwrap();
        let mut errors = MacroErrors::default();
        crate::resolve::resolve_scenario(TokenStream::new(), &function, &mut errors);
        errors.into_compile_errors().to_string()
    }

    #[test]
    fn a_group_measures_a_step_of_journeys_and_has_a_name_of_its_own() {
        let step = "#[step(get = \"/\")] fn a();";
        let last = "#[step(get = \"/\", last)] fn b();";
        for (groups, words) in [
            ("#[group] fn g() { }".to_owned(), "group `g` has no steps"),
            (
                "#[group] fn g() { fn helper() {} }".to_owned(),
                "group `g` has no steps",
            ),
            (
                format!("#[group] fn g() {{ {last} }}"),
                "all of its steps run `last`",
            ),
            (
                format!("#[group(name = \"alone\")] fn g() {{ {step} }}"),
                "a step of this scenario is named `alone`, too",
            ),
            (
                format!("#[group] fn g() {{ {step} }} #[group(name = \"g\")] fn h() {{ {last} }}"),
                "another group of this scenario is named `g`, too",
            ),
        ] {
            assert!(mistakes(&groups).contains(words), "{}", mistakes(&groups));
        }
        assert_eq!(
            mistakes(&format!("#[group] fn g() {{ {step} {last} }}")),
            ""
        );
    }
}
