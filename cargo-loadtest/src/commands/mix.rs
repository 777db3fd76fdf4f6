//! `--mix`: which program runs the scenarios, and what each gets of the total.

use crate::selection::Found;
use crate::workspace::Binary;
use loadtest_console::error::Error;
use loadtest_model::mix;
use loadtest_model::plan::Overrides;

/// The program that holds all of `chosen`: they run in one process, which measures them alike.
///
/// # Errors
/// When there is none.
pub(super) fn program(chosen: &[Found]) -> Result<Binary, Error> {
    let holds = |found: &Found, binary: &Binary| {
        binaries(found).any(|other| other.executable == binary.executable)
    };
    let first = chosen.first().into_iter().flat_map(binaries);
    for binary in first {
        if chosen.iter().all(|found| holds(found, binary)) {
            return Ok(binary.clone());
        }
    }
    let mut programs: Vec<(String, Vec<String>)> = Vec::new();
    for found in chosen {
        let Binary {
            target, package, ..
        } = &found.binary;
        let program = format!("{target} of package `{package}`");
        let identity = format!("`{}`", found.definition.identity());
        match programs.iter_mut().find(|(known, _)| *known == program) {
            Some((_, scenarios)) => scenarios.push(identity),
            None => programs.push((program, vec![identity])),
        }
    }
    let lines: Vec<_> = programs
        .iter()
        .map(|(program, scenarios)| format!("\n  {program}: {}", scenarios.join(", ")))
        .collect();
    Err(Error::usage(format!(
        "a mix runs in one program, and these are in {}:{}",
        programs.len(),
        lines.concat()
    ))
    .with_help(
        "select scenarios of one program, with a filter, `--tag` or `--package`; scenarios of several packages \
         can be linked into one program through a library: `use my_crate as _;`",
    ))
}

fn binaries(found: &Found) -> impl Iterator<Item = &Binary> {
    std::iter::once(&found.binary).chain(&found.also_in)
}

/// Splits the total over `chosen` by weight.
///
/// # Errors
/// When a total does not suffice for all.
pub(super) fn split(chosen: &[Found], total: &Overrides) -> Result<Vec<Overrides>, Error> {
    let weights: Vec<f64> = chosen.iter().map(|found| found.definition.weight).collect();
    mix::split_load(total, &weights).map_err(|mistakes| {
        let lines: Vec<_> = mistakes.iter().map(ToString::to_string).collect();
        Error::usage(lines.join("\n"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest_model::exit_code::ExitCode;
    use std::path::PathBuf;

    fn binary(package: &str) -> Binary {
        Binary {
            package: package.to_owned(),
            package_root: PathBuf::new(),
            target: "test `load`".to_owned(),
            executable: PathBuf::from(package),
            script: None,
            packages: None,
        }
    }

    fn found(function: &str, packages: &[&str]) -> Found {
        let mut binaries = packages.iter().map(|package| binary(package));
        Found {
            definition: sample::definition(function, &[]),
            binary: binaries.next().unwrap(),
            also_in: binaries.collect(),
        }
    }

    #[test]
    fn a_mix_runs_in_the_program_that_holds_all() {
        let chosen = [found("a", &["shop", "gate"]), found("b", &["gate"])];
        assert_eq!(program(&chosen).unwrap().package, "gate");
    }

    #[test]
    fn scenarios_of_several_programs_are_refused_by_name() {
        let chosen = [
            found("a", &["shop"]),
            found("b", &["gate"]),
            found("c", &["shop"]),
        ];
        let error = program(&chosen).unwrap_err();
        assert_eq!(error.exit_code(), ExitCode::Usage);
        assert_eq!(
            error.to_string(),
            "a mix runs in one program, and these are in 2:\n  \
             test `load` of package `shop`: `shop::load::a`, `shop::load::c`\n  \
             test `load` of package `gate`: `shop::load::b`"
        );
        assert!(error.help().is_some_and(|help| help.contains("--tag")));
    }

    #[test]
    fn the_total_is_split_by_the_declared_weights() {
        let mut chosen = [found("a", &["shop"]), found("b", &["shop"])];
        chosen[0].definition.weight = 3.0;
        let total = Overrides {
            users: Some(8),
            ..Overrides::default()
        };
        let users: Vec<_> = split(&chosen, &total)
            .unwrap()
            .iter()
            .map(|one| one.users)
            .collect();
        assert_eq!(users, [Some(6), Some(2)]);
        let total = Overrides {
            users: Some(1),
            ..Overrides::default()
        };
        assert_eq!(
            split(&chosen, &total).unwrap_err().exit_code(),
            ExitCode::Usage
        );
    }
}
