//! Options of steps at a scenario: they hold for each step that does not give them itself.

use super::step::StepOptions;
use proc_macro2::{Ident, TokenStream};
use syn::parse::ParseStream;

#[derive(Default)]
pub(crate) struct StepDefaults {
    options: StepOptions,
    /// Their names and values as they are written.
    written: Vec<(String, TokenStream)>,
}

impl StepDefaults {
    pub(super) fn parse_option(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        let value = input.cursor().token_stream();
        self.written.push((key.to_string(), value));
        self.options.parse_setting(key, input)
    }

    /// Gives a step the options that it lacks, and returns what was written of them. Checks add up, and no think
    /// time follows a step that is not in every iteration.
    pub(crate) fn apply(&self, step: &mut StepOptions, is_async: bool) -> Vec<TokenStream> {
        let Self { options, written } = self;
        let is_rare = step.repeat.once || step.repeat.last;
        let is_lacking = |name: &str| match name {
            "timeout" => step.timeout.is_none(),
            "think" => step.think.is_none() && !is_rare,
            "expect" => step.expect.is_empty() && !is_async,
            "retry" => step.repeat.retry.is_none() && !is_async,
            "stop_on_failure" => !step.stop_on_failure,
            _ => true,
        };
        let applied: Vec<_> = written
            .iter()
            .filter(|(name, _)| is_lacking(name))
            .collect();
        let has = |wanted: &str| applied.iter().any(|(name, _)| name == wanted);
        if has("timeout") {
            step.timeout = options.timeout;
        }
        if has("think") {
            step.think = options.think;
        }
        if has("expect") {
            step.expect.clone_from(&options.expect);
        }
        if has("retry") {
            step.repeat.retry.clone_from(&options.repeat.retry);
        }
        step.stop_on_failure |= options.stop_on_failure;
        step.checks.splice(0..0, options.checks.iter().cloned());
        applied
            .into_iter()
            .map(|(_, value)| value.clone())
            .collect()
    }
}
