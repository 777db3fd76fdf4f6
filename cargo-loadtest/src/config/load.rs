//! `[load.NAME]`: loads under a name, which `--load NAME` chooses.

use super::key::{ConfigTable, Given, keys_of};
use super::reader::{ConfigReader, Value};
use crate::cli::values;
use loadtest_console::error::Error;
use loadtest_console::suggestion::{find_similar, join_names};
use loadtest_model::plan::Overrides;

/// A load under a name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Preset {
    /// Its name.
    pub(crate) name: String,
    /// The line of its table.
    pub(crate) line: usize,
    /// The overrides of the declared load.
    pub(crate) overrides: Overrides,
}

/// Merges `flags` into `preset`. A rate, users or iterations among the flags replace those of the preset; ramp-up and
/// duration stay where the new load has them.
pub(crate) fn override_load(preset: &Overrides, flags: &Overrides) -> Overrides {
    let mut load = preset.clone();
    if flags.rate_per_second.is_some() {
        load = Overrides {
            rate_per_second: flags.rate_per_second,
            users: None,
            iterations: None,
            ..load
        };
    }
    if flags.users.is_some() {
        load.rate_per_second = None;
        load.users = flags.users;
    }
    if flags.iterations.is_some() {
        load = Overrides {
            users: load.users,
            iterations: flags.iterations,
            ..Overrides::default()
        };
    }
    load.ramp_up = flags.ramp_up.or(load.ramp_up);
    load.duration = flags.duration.or(load.duration);
    load
}

/// The preset called `name`.
///
/// # Errors
/// When there is none.
pub(super) fn find_preset<'p>(presets: &'p [Preset], name: &str) -> Result<&'p Preset, Error> {
    let found = presets.iter().find(|preset| preset.name == name);
    found.ok_or_else(|| {
        let known: Vec<_> = presets.iter().map(|preset| preset.name.clone()).collect();
        let suggestion = find_similar(name, known.iter().map(String::as_str));
        let instead = match (suggestion, &known[..]) {
            (_, []) => "`loadtest.toml` has no `[load.NAME]`".to_owned(),
            (None, known) => format!("there is {}", join_names(known)),
            (Some(name), [_]) => format!("did you mean `{name}`?"),
            (Some(name), known) => {
                format!("did you mean `{name}`? Available: {}", join_names(known))
            }
        };
        Error::usage(format!("there is no load `{name}`; {instead}"))
    })
}

impl ConfigTable for Overrides {
    const SECTION: &'static str = "load";

    fn set_key(&mut self, name: &str, given: &Given<'_>) -> Result<(), String> {
        let text = given.text();
        match name {
            "rate" => self.rate_per_second = Some(values::rate(text)?),
            "users" => self.users = Some(values::users(text)?),
            "iterations" => self.iterations = Some(values::iterations(text)?),
            "ramp_up" => self.ramp_up = Some(values::bounded_duration(text)?),
            "duration" => self.duration = Some(values::duration(text)?),
            _ => return Err("is not a key of this table".to_owned()),
        }
        Ok(())
    }
}

/// Reads the tables below `load`.
pub(super) fn read(value: Value<'_, '_>, reader: &mut ConfigReader<'_>) -> Vec<Preset> {
    let mut presets = Vec::new();
    let Some(tables) = value.get_ref().as_table() else {
        let message = "`load` holds tables; write `[load.smoke]` on a line of its own";
        reader.mistake(value.span().start, message);
        return presets;
    };
    for (name, value) in tables {
        let line = reader.line(name.span().start);
        let name = name.get_ref();
        let Some(table) = value.get_ref().as_table() else {
            let message = if keys_of(Overrides::SECTION).any(|key| key.name == name) {
                format!("`{name}` is part of a load with a name: write it below `[load.smoke]`")
            } else {
                format!("`load.{name}` is a table; write `[load.{name}]` on a line of its own")
            };
            reader.mistake(value.span().start, message);
            // It has a name, so that whoever calls it by that makes no mistake of his own.
            presets.push(Preset {
                name: name.to_string(),
                line,
                overrides: Overrides::default(),
            });
            continue;
        };
        let mut overrides = Overrides::default();
        let read = reader.keys(table, &mut overrides);
        // Of keys that could not be read there is nothing more to say.
        if read.len() == table.len() {
            for mistake in list_mistakes(&overrides) {
                reader.mistake_in(line, format!("`[load.{name}]` {mistake}"));
            }
        }
        presets.push(Preset {
            name: name.to_string(),
            line,
            overrides,
        });
    }
    presets.sort_by_key(|preset| preset.line);
    presets
}

/// Returns the settings that no scenario could run with.
fn list_mistakes(load: &Overrides) -> Vec<&'static str> {
    let mut mistakes = Vec::new();
    if *load == Overrides::default() {
        mistakes.push("says nothing of a load; write for example `rate = \"200/s\"` below it");
    }
    if load.rate_per_second.is_some() && load.users.is_some() {
        mistakes.push("has both `rate` and `users`; leave one out");
    }
    if load.rate_per_second.is_some() && load.iterations.is_some() {
        mistakes.push("has both `rate` and `iterations`; leave one out");
    }
    if load.iterations.is_some() && (load.ramp_up.is_some() || load.duration.is_some()) {
        mistakes.push("is a fixed number of iterations, which has no `duration` and no `ramp_up`");
    }
    if let (Some(ramp_up), Some(duration)) = (load.ramp_up, load.duration)
        && ramp_up >= duration
    {
        mistakes.push("has a `ramp_up` that leaves nothing of its `duration`, which includes it");
    }
    mistakes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest_model::definition::{Load, Rate};
    use loadtest_model::plan::{GradingDefaults, IterationCount, Plan};
    use proptest::prelude::*;
    use std::time::Duration;

    fn some_time() -> impl Strategy<Value = Option<Duration>> {
        prop::option::of((10..60_u64).prop_map(Duration::from_secs))
    }

    fn some_flags() -> impl Strategy<Value = Overrides> {
        let ramp = prop::option::of((0..9_u64).prop_map(Duration::from_secs));
        let parts = (0..4, 1..50_u32, 1..50_u64, ramp, some_time());
        parts.prop_map(|(model, users, iterations, ramp_up, duration)| {
            let one = match model {
                1 => Overrides {
                    rate_per_second: Some(f64::from(users)),
                    ..Overrides::default()
                },
                2 => Overrides {
                    users: Some(users),
                    ..Overrides::default()
                },
                3 => Overrides {
                    iterations: Some(IterationCount::Total(iterations)),
                    ..Overrides::default()
                },
                _ => Overrides::default(),
            };
            if model == 3 {
                one
            } else {
                Overrides {
                    ramp_up,
                    duration,
                    ..one
                }
            }
        })
    }

    fn load(declared: Option<Load>, overrides: &Overrides) -> Load {
        let mut scenario = sample::definition("visit", &[]);
        scenario.load = declared;
        let plan = Plan::new(&scenario, overrides, &GradingDefaults::default(), 0);
        plan.unwrap().load
    }

    proptest! {
        /// Flags beside a preset do what they would if the scenario declared the preset.
        #[test]
        fn flags_change_a_preset_as_they_change_a_declared_load(
            preset in some_flags(),
            flags in some_flags(),
        ) {
            // Fixed work has no length that another load could keep, and none that flags could change.
            prop_assume!(preset.iterations.is_none());
            let declared = Some(Load::rate(Rate::per_second(5.0), Duration::from_secs(60)));
            let one_by_one = load(Some(load(declared.clone(), &preset)), &flags);
            prop_assert_eq!(load(declared, &override_load(&preset, &flags)), one_by_one);
        }
    }

    #[test]
    fn users_beside_fixed_work_share_it_and_a_rate_takes_its_place() {
        let preset = Overrides {
            iterations: Some(IterationCount::Total(1_000)),
            users: Some(10),
            ..Overrides::default()
        };
        let flags = Overrides {
            users: Some(20),
            ..Overrides::default()
        };
        let load = load(None, &override_load(&preset, &flags));
        assert_eq!(load, Load::iterations(1_000, 20));
        let flags = Overrides {
            rate_per_second: Some(5.0),
            ..Overrides::default()
        };
        assert_eq!(override_load(&preset, &flags), flags);
    }
}
