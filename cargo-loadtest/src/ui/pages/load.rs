//! The fields of the load of a run: what was entered, and what `run` would refuse.

use crate::cli::{self, Command};
use crate::commands::run::find_override_mistake;
use crate::ui::dashboard::Dashboard;
use crate::ui::request::Fields;
use clap::error::{ContextKind, ErrorKind};
use loadtest_model::plan::{GradingDefaults, LoadOption, Overrides, Plan, PlanError};
use maud::{Markup, html};
use std::error::Error as _;
use std::ffi::OsString;

/// A field for a flag of `run`.
struct LoadField {
    /// The name of the flag, and of the field.
    name: &'static str,
    title: &'static str,
    example: &'static str,
}

const FIELDS: [LoadField; 7] = [
    LoadField::new("rate", "Rate", "50/s"),
    LoadField::new("users", "Users", "20"),
    LoadField::new("iterations", "Iterations", "1000"),
    LoadField::new("ramp-up", "Ramp-up", "10s"),
    LoadField::new("duration", "Duration", "2m"),
    LoadField::new("base-url", "Base URL", "http://localhost:3000"),
    LoadField::new("seed", "Seed", "random"),
];
/// The field of the preset.
const PRESET: &str = "load";

impl LoadField {
    const fn new(name: &'static str, title: &'static str, example: &'static str) -> Self {
        Self {
            name,
            title,
            example,
        }
    }
}

/// A field that is refused; without a name, all of the load.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefusedLoad {
    name: Option<&'static str>,
    message: String,
}

/// What was entered in the form of a run, and why it is refused.
#[derive(Debug, Default)]
pub(super) struct EnteredLoad {
    pub(super) form: Fields,
    pub(super) refused: Vec<RefusedLoad>,
}

impl EnteredLoad {
    /// Returns true if the scenario was chosen.
    pub(super) fn is_chosen(&self, identity: &str) -> bool {
        self.form.all("scenario").any(|chosen| chosen == identity)
    }
}

/// Renders the options of a run; `is_list` where scenarios can be chosen beside them.
pub(super) fn render_load(dashboard: &Dashboard, entered: &EnteredLoad, is_list: bool) -> Markup {
    let presets = dashboard
        .config()
        .map(|config| config.presets)
        .unwrap_or_default();
    let form = &entered.form;
    let is_refused = |name: &str| {
        entered
            .refused
            .iter()
            .any(|refused| refused.name == Some(name))
    };
    html! {
        fieldset.options {
            legend { "Load" }
            p.sub { "Leave a field empty to use the scenario's own setting." }
            @if !presets.is_empty() {
                label { "Preset"
                    select name=(PRESET) {
                        option value="" { "none" }
                        @for preset in &presets { option value=(preset.name) selected[form.get(PRESET) == Some(&preset.name)] { (preset.name) } }
                    }
                }
            }
            @for LoadField { name, title, example } in FIELDS {
                @let error = is_refused(name).then_some("load-error");
                label { (title)
                    input name=(name) value=[form.raw(name)] placeholder=(example) autocomplete="off" spellcheck="false"
                        aria-invalid=[error.map(|_| "true")] aria-describedby=[error];
                }
            }
            @if is_list {
                button name="how" value="turn" data-key="r" { "Run selected one by one" }
                button name="how" value="mix" { "Run selected together" }
            } @else {
                button data-key="r" { "Run" }
            }
            @if !entered.refused.is_empty() {
                div #load-error { @for refused in &entered.refused { p.s-bad { (refused.message) } } }
            }
        }
    }
}

/// Returns the flags of the filled fields of the form.
pub(super) fn collect_flags(form: &Fields) -> Vec<String> {
    let names = FIELDS.iter().map(|field| field.name).chain([PRESET]);
    names
        .filter_map(|name| Some(format!("--{name}={}", form.get(name)?)))
        .collect()
}

/// Checks the fields as `run` does, for the scenarios whose declarations are known.
pub(super) fn check_load(
    dashboard: &Dashboard,
    form: &Fields,
    chosen: &[&str],
) -> Vec<RefusedLoad> {
    let mut refused: Vec<RefusedLoad> = FIELDS
        .iter()
        .filter_map(|field| {
            let value = form.get(field.name)?;
            let error = parse_flags(&[format!("--{}={value}", field.name)]).err()?;
            let reason = error.source().map(ToString::to_string);
            let reason = reason.unwrap_or_else(|| "is refused".to_owned());
            Some(RefusedLoad {
                name: Some(field.name),
                message: format!("{}: `{value}` {reason}", field.title),
            })
        })
        .collect();
    if !refused.is_empty() {
        return refused;
    }
    let args = match parse_flags(&collect_flags(form)) {
        Ok(args) => args,
        Err(error) => return vec![describe_conflict(&error)],
    };
    let Ok(config) = dashboard.config() else {
        return refused;
    };
    let overrides = match config.overrides(&args) {
        Ok(overrides) => overrides,
        Err(error) => return vec![refuse(Some(PRESET), error.to_string())],
    };
    refused.extend(
        find_override_mistake(&overrides).map(|mistake| describe_mistake(&mistake, &overrides)),
    );
    if refused.is_empty() {
        let definitions = chosen
            .iter()
            .filter_map(|identity| dashboard.definition(identity));
        for definition in definitions {
            let plan = Plan::new(&definition, &overrides, &GradingDefaults::default(), 0);
            for mistake in plan.err().into_iter().flatten() {
                let one = describe_mistake(&mistake, &overrides);
                if !refused.contains(&one) {
                    refused.push(one);
                }
            }
        }
    }
    refused
}

fn refuse(name: Option<&'static str>, message: String) -> RefusedLoad {
    RefusedLoad { name, message }
}

/// Parses flags of a load as the command line does.
fn parse_flags(flags: &[String]) -> Result<cli::LoadArgs, clap::Error> {
    let words = ["cargo-loadtest", "run"].map(OsString::from);
    let flags = flags.iter().map(OsString::from);
    match cli::parse(words.into_iter().chain(flags))?.command {
        Command::Run(args) => Ok(args.load),
        _ => Ok(cli::LoadArgs::default()),
    }
}

/// Returns the name of the field of a flag, as clap names it: `--rate <N/s>`.
fn find_field(flag: &str) -> Option<&'static LoadField> {
    let word = flag.split(' ').next()?.strip_prefix("--")?;
    FIELDS.iter().find(|field| field.name == word)
}

fn describe_conflict(error: &clap::Error) -> RefusedLoad {
    let field = |kind| find_field(&error.get(kind)?.to_string());
    let both = (field(ContextKind::InvalidArg), field(ContextKind::PriorArg));
    match both {
        (Some(one), Some(other)) if error.kind() == ErrorKind::ArgumentConflict => refuse(
            Some(one.name),
            format!("{} and {} exclude each other", one.title, other.title),
        ),
        _ => refuse(None, error.to_string()),
    }
}

fn describe_mistake(mistake: &PlanError, overrides: &Overrides) -> RefusedLoad {
    let field_of = |option| match option {
        LoadOption::Rate => "rate",
        LoadOption::RampUp => "ramp-up",
        LoadOption::Duration => "duration",
    };
    let name = match mistake {
        PlanError::Meaningless { option, .. } => Some(field_of(*option)),
        PlanError::RampTooLong { .. } if overrides.ramp_up.is_some() => Some("ramp-up"),
        PlanError::RampTooLong { .. } | PlanError::TooLong => Some("duration"),
        _ => None,
    };
    let title = |option| {
        let mut fields = FIELDS.iter();
        let field = fields.find(|field| field.name == field_of(option));
        field.map_or_else(String::new, |field| field.title.to_owned())
    };
    refuse(name, mistake.describe(title))
}
