//! What each command does, a file each, and how scenarios are found.

#[cfg(feature = "cluster")]
pub(crate) mod agent;
pub(crate) mod baseline;
pub(crate) mod bundle;
pub(crate) mod capacity;
#[cfg(feature = "cluster")]
mod cluster_run;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod debug;
pub(crate) mod duplicate;
pub(crate) mod export;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod merge;
mod mix;
pub(crate) mod plan;
mod publish;
mod recorded;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod send;
mod series;
pub(crate) mod setup;
mod weights;
mod words;

use crate::bundle::{OpenedBundle, open_bundle};
use crate::cli::{CargoArgs, Cli, ProjectArgs, SelectionArgs, TelemetryArgs};
use crate::config::Config;
use crate::notify::Webhooks;
use crate::observe::Observation;
use crate::policy::{self, Action};
use crate::selection::{Found, one, select};
use crate::session;
use crate::telemetry::Telemetry;
use crate::workspace::{self, Binary, Workspace, build};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::interrupt::Interrupts;
use loadtest_model::protocol::{
    Listing, OFFLINE_VARIABLE, VALIDITY_VARIABLE, is_offline_wanted, is_validity_off,
};
use recorded::ImportedRequests;
use std::path::Path;
use tempfile::TempDir;

/// The common start of commands about scenarios: the workspace, its load tests and their scenarios.
pub(crate) struct Project<'a> {
    args: &'a ProjectArgs,
    cli: &'a Cli,
    pub(crate) workspace: Workspace,
    pub(crate) interrupts: Interrupts,
    /// True if traffic stays within a network namespace of its own.
    offline: bool,
    bundle: Option<UnpackedBundle>,
}

/// The bundle of `--bundle`, in a folder that goes with it.
struct UnpackedBundle {
    opened: OpenedBundle,
    #[cfg_attr(
        not(feature = "cluster"),
        expect(dead_code, reason = "it goes with the bundle")
    )]
    folder: TempDir,
}

impl UnpackedBundle {
    /// Asks its load tests for the scenarios whose files are there.
    fn scenarios(&self, interrupts: &Interrupts) -> Result<Vec<Found>, Error> {
        let listings = self.opened.binaries.iter().map(|binary| {
            let listing = session::list(binary, interrupts)?;
            Ok((binary.clone(), listing))
        });
        let mut all = join_listings(listings.collect::<Result<_, Error>>()?)?;
        all.retain(|found| {
            let identity = found.definition.identity();
            self.opened.scenarios.contains(&identity)
        });
        Ok(all)
    }

    fn open(path: &Path) -> Result<Self, Error> {
        let folder = tempfile::Builder::new()
            .prefix("loadtest-bundle-")
            .tempdir();
        let folder = folder.map_err(Error::io("create a folder in", std::env::temp_dir()))?;
        Ok(Self {
            opened: open_bundle(path, folder.path())?,
            folder,
        })
    }
}

impl<'a> Project<'a> {
    /// Finds the workspace; builds nothing yet.
    fn open(args: &'a ProjectArgs, cli: &'a Cli) -> Result<Self, Error> {
        Self::opened(args, cli, Workspace::load)
    }

    /// The same, or a folder without a package.
    pub(crate) fn open_anywhere(args: &'a ProjectArgs, cli: &'a Cli) -> Result<Self, Error> {
        Self::opened(args, cli, Workspace::load_or_folder)
    }

    /// Finds what is needed: requests from elsewhere need no workspace.
    fn open_for(
        given: Option<&ImportedRequests>,
        args: &'a ProjectArgs,
        cli: &'a Cli,
    ) -> Result<Self, Error> {
        match given {
            Some(_) => Self::open_anywhere(args, cli),
            None => Self::open(args, cli),
        }
    }

    fn opened(
        args: &'a ProjectArgs,
        cli: &'a Cli,
        load: fn(&CargoArgs) -> Result<Workspace, Error>,
    ) -> Result<Self, Error> {
        Ok(Self {
            offline: args.cargo.offline || is_offline()?,
            args,
            cli,
            interrupts: Interrupts::install()?,
            workspace: match (args.binaries.as_slice(), &args.bundle) {
                ([], None) => load(&args.cargo)?,
                _ => Workspace::load_or_folder(&args.cargo)?,
            },
            bundle: args
                .bundle
                .as_deref()
                .map(UnpackedBundle::open)
                .transpose()?,
        })
    }

    /// The `loadtest.toml` that holds for it; that of the bundle, where there is one.
    pub(crate) fn config(&self) -> Result<Config, Error> {
        if let Some(UnpackedBundle { opened, .. }) = &self.bundle {
            return Config::of_bundle(&opened.config(), self.workspace.root());
        }
        Config::load(&self.workspace.start, self.workspace.root())
    }

    /// The hash of its bundle.
    #[cfg(feature = "cluster")]
    fn bundle_hash(&self) -> Option<String> {
        let bundle = self.bundle.as_ref()?;
        Some(bundle.opened.hash.clone())
    }

    /// The webhooks of `config`: this tool itself would send them, from outside of such a network.
    fn webhooks(&self, config: &Config) -> Result<Webhooks, Error> {
        if !self.offline {
            return Webhooks::from_config(&config.notify);
        }
        if !config.notify.is_empty() {
            console::print_warning(
                "an offline run (`--offline`, LOADTEST_OFFLINE) sends no webhook",
            );
        }
        Webhooks::from_config(&[])
    }

    /// The sinks of a run: this tool serves them, from outside of a network of the run's own.
    fn telemetry(&self, config: &Config, args: &TelemetryArgs) -> Result<Telemetry, Error> {
        Telemetry::prepare(&config.telemetry, args, self.offline)
    }

    /// The sources of the target's side: this tool itself asks them.
    fn observation(&self, config: &Config) -> Result<Observation, Error> {
        Observation::prepare(&config.observe, self.offline)
    }

    /// Returns the flags of the project, for another command.
    #[cfg(feature = "ui")]
    pub(crate) fn flags(&self) -> Vec<String> {
        self.args.flags()
    }

    /// Returns the options that every command has for cargo.
    #[cfg(feature = "ui")]
    pub(crate) fn cargo_args(&self) -> &CargoArgs {
        &self.args.cargo
    }

    /// Refuses what `config` does not let the caller do.
    fn permits(&self, action: Action, config: &Config) -> Result<(), Error> {
        policy::permits(action, config, &self.workspace.start)
    }

    /// The names of the selected packages; none for all. Like cargo, in the folder of a member it is that one, at the
    /// root of the workspace its default members.
    fn packages(&self) -> Vec<String> {
        if self.args.workspace || !self.args.packages.is_empty() {
            return self.args.packages.clone();
        }
        match self.workspace.member_here() {
            Some(member) => vec![member.name.to_string()],
            None => self.workspace.default_members(),
        }
    }

    /// Builds the load tests of its packages, and asks them for all their scenarios.
    fn scenarios(&self) -> Result<Vec<Found>, Error> {
        let packages = &self.packages();
        let binaries = if self.bundle.is_some() {
            Vec::new()
        } else if self.args.binaries.is_empty() {
            let tests = self.workspace.load_tests(packages)?;
            let features = &self.args.compilation.features;
            let tests = self.workspace.without_disabled(tests, features)?;
            let profile = self.config()?.build.profile;
            let profile = profile.as_deref().unwrap_or("release");
            build(&tests, self.cli, self.args, profile, &self.interrupts)?
        } else {
            let paths = self.args.binaries.iter();
            paths
                .map(|path| Binary::open(path))
                .collect::<Result<_, _>>()?
        };
        let mut listings = Vec::new();
        for mut binary in binaries {
            let listing = session::list(&binary, &self.interrupts)?;
            if !self.args.binaries.is_empty() {
                binary.belongs_to(&listing)?;
            }
            listings.push((binary, listing));
        }
        let all = match &self.bundle {
            Some(bundle) => bundle.scenarios(&self.interrupts)?,
            None => join_listings(listings)?,
        };
        if all.is_empty() {
            let place = match (self.args.binaries.as_slice(), &self.bundle) {
                ([], None) => workspace::place(packages),
                ([], Some(_)) => "`--bundle`".to_owned(),
                _ => "`--binary`".to_owned(),
            };
            let message = format!("no scenario is linked into the load tests of {place}");
            return Err(Error::nothing_found(message).with_help(
                "a scenario is a function with `#[scenario]`; if they live in a library, add \
                 `use my_crate as _;` next to `loadtest::main!();`",
            ));
        }
        Ok(all)
    }

    /// The scenario that is meant by a name, or else the one of requests from elsewhere.
    fn one(&self, name: Option<&str>, given: Option<ImportedRequests>) -> Result<Found, Error> {
        match given {
            Some(given) => given.into_scenario(self),
            None => one(&self.scenarios()?, name.unwrap_or_default()).cloned(),
        }
    }

    /// The scenarios that `selection` is about.
    fn selected(&self, selection: &SelectionArgs) -> Result<Vec<Found>, Error> {
        select(self.scenarios()?, selection)
    }
}

/// Returns true if the environment asks for runs without a network.
fn is_offline() -> Result<bool, Error> {
    let value = loadtest_console::process::variable_os(OFFLINE_VARIABLE);
    let value = value.as_ref().map(|value| value.to_string_lossy());
    is_offline_wanted(value.as_deref()).map_err(Error::usage)
}

/// Warns of a gate over a run whose validity the environment says not to judge.
///
/// # Errors
/// When the environment says neither `on` nor `off`.
fn warn_of_unjudged_gate(flag: Option<&str>) -> Result<(), Error> {
    let value = loadtest_console::process::variable(VALIDITY_VARIABLE);
    let is_off = is_validity_off(value.as_deref()).map_err(Error::usage)?;
    if let Some(flag) = flag.filter(|_| is_off) {
        console::print_warning(format!(
            "`{VALIDITY_VARIABLE}=off`: the gate of `{flag}` does not notice a generator that was too slow"
        ));
    }
    Ok(())
}

/// The scenarios of all programs in the order (package, file, line). One that a library brings into
/// several programs is there once.
fn join_listings(listings: Vec<(Binary, Listing)>) -> Result<Vec<Found>, Error> {
    let mut problems = Vec::new();
    let mut all: Vec<Found> = Vec::new();
    for (binary, listing) in listings {
        problems.extend(listing.problems);
        for definition in listing.scenarios {
            let identity = definition.identity();
            match all
                .iter_mut()
                .find(|known| known.definition.identity() == identity)
            {
                Some(known) if known.definition == definition => {
                    known.also_in.push(binary.clone());
                }
                Some(known) => problems.push(format!(
                    "the scenario `{identity}` exists twice: {}:{} and {}:{}; \
                     give one of them another name",
                    known.definition.file, known.definition.line, definition.file, definition.line,
                )),
                None => all.push(Found {
                    definition,
                    binary: binary.clone(),
                    also_in: Vec::new(),
                }),
            }
        }
    }
    if !problems.is_empty() {
        problems.dedup();
        let problems = problems.join("\n  ");
        return Err(Error::usage(format!("invalid scenarios:\n  {problems}")));
    }
    all.sort_by(|one, other| {
        let place = |found: &Found| {
            let definition = &found.definition;
            (
                definition.package.clone(),
                definition.file.clone(),
                definition.line,
            )
        };
        place(one).cmp(&place(other))
    });
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest_model::definition::ScenarioDef;
    use loadtest_model::exit_code::ExitCode;
    use std::path::PathBuf;

    fn binary(package: &str) -> Binary {
        Binary {
            package: package.to_owned(),
            package_root: PathBuf::new(),
            target: "test `load`".to_owned(),
            executable: PathBuf::new(),
            script: None,
            packages: None,
        }
    }

    fn scenario(package: &str, function: &str, line: u32) -> ScenarioDef {
        let mut definition = sample::definition(function, &[]);
        definition.package = package.to_owned().into();
        definition.line = line;
        definition
    }

    fn listing(scenarios: Vec<ScenarioDef>) -> Listing {
        Listing {
            package: String::new(),
            package_root: PathBuf::new(),
            scenarios,
            problems: Vec::new(),
        }
    }

    #[test]
    fn scenarios_of_several_packages_come_in_the_order_of_their_sources() {
        let all = join_listings(vec![
            (
                binary("shop"),
                listing(vec![scenario("shop", "z", 3), scenario("shop", "a", 9)]),
            ),
            (binary("gate"), listing(vec![scenario("gate", "m", 5)])),
        ])
        .unwrap();
        let names: Vec<_> = all
            .iter()
            .map(|found| found.definition.identity())
            .collect();
        assert_eq!(names, ["gate::load::m", "shop::load::z", "shop::load::a"]);
    }

    #[test]
    fn a_library_that_two_programs_link_brings_its_scenarios_once() {
        let shared = || listing(vec![scenario("acme", "visit", 3)]);
        let all =
            join_listings(vec![(binary("shop"), shared()), (binary("gate"), shared())]).unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].binary.package, "shop");
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let mut one = listing(vec![scenario("shop", "visit", 3)]);
        one.problems.push("first".to_owned());
        let other = listing(vec![scenario("shop", "visit", 8)]);
        let error =
            join_listings(vec![(binary("shop"), one), (binary("shop"), other)]).unwrap_err();
        assert_eq!(error.exit_code(), ExitCode::Usage);
        let text = error.to_string();
        assert!(
            text.contains("first") && text.contains("load.rs:3 and tests/load.rs:8"),
            "{text}"
        );
    }
}
