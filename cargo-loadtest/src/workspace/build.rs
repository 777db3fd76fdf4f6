//! Builds load tests, and nothing else, with cargo's own progress and errors on the terminal.

use super::{Binary, LoadTest, cargo, clean, pass_on};
use crate::cli::{Cli, ProjectArgs};
use cargo_metadata::Message;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::interrupt::Interrupts;
use loadtest_model::exit_code::ExitCode;
use std::io::BufReader;
use std::process::{Command, Stdio};

/// Builds `tests` and checks that they are what their sources say. `default_profile` is the one of cargo where the
/// command line names none.
///
/// # Errors
/// When the build fails, after cargo printed why; a program that is not a load test.
pub(crate) fn build(
    tests: &[LoadTest],
    cli: &Cli,
    args: &ProjectArgs,
    default_profile: &str,
    interrupts: &Interrupts,
) -> Result<Vec<Binary>, Error> {
    let mut binaries = Vec::new();
    for group in group_by_targets(tests) {
        let command = build_command(&group, cli, args, default_profile);
        binaries.extend(run_build(command, &group, interrupts)?);
    }
    for binary in &binaries {
        binary.check()?;
    }
    Ok(binaries)
}

/// Groups load tests that one call of cargo can build. Packages share a call only if they name the same targets; else
/// a namesake in another package would be built too.
fn group_by_targets(tests: &[LoadTest]) -> Vec<Vec<&LoadTest>> {
    let mut packages: Vec<Vec<&LoadTest>> = Vec::new();
    for test in tests {
        match packages.last_mut() {
            Some(package) if package[0].package_id == test.package_id => package.push(test),
            _ => packages.push(vec![test]),
        }
    }
    let mut groups: Vec<(Vec<_>, Vec<&LoadTest>)> = Vec::new();
    for package in packages {
        let mut targets: Vec<_> = package.iter().map(|test| (test.kind, &test.name)).collect();
        targets.sort_unstable();
        match groups.iter_mut().find(|(known, _)| *known == targets) {
            Some((_, group)) => group.extend(package),
            None => groups.push((targets, package)),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

fn build_command(
    group: &[&LoadTest],
    cli: &Cli,
    args: &ProjectArgs,
    default_profile: &str,
) -> Command {
    let compilation = &args.compilation;
    let mut command = Command::new(cargo());
    let profile = if compilation.release {
        "release"
    } else {
        compilation.profile.as_deref().unwrap_or(default_profile)
    };
    command
        .args(["build", "--message-format=json-render-diagnostics"])
        .args(["--profile", profile])
        .args(["--color", cli.color.word()]);
    if cli.quiet {
        command.arg("--quiet");
    }
    if console::is_ci() {
        // Whatever the environment says.
        command.env("CARGO_TERM_PROGRESS_WHEN", "never");
    }
    pass_on(&mut command, &args.cargo, true);
    let features = &compilation.features;
    if features.all_features {
        command.arg("--all-features");
    }
    if features.no_default_features {
        command.arg("--no-default-features");
    }
    for feature in &features.features {
        command.args(["--features", feature]);
    }
    let mut named: Vec<[&str; 2]> = Vec::new();
    for test in group {
        // The identifier tells a member from a dependency of the same name.
        let package = ["--package", test.package_id.as_str()];
        let target = [
            ["--test", "--bench", "--example", "--bin"]
                .into_iter()
                .find(|flag| &flag[2..] == test.kind)
                .unwrap_or("--test"),
            &test.name,
        ];
        for pair in [package, target] {
            if !named.contains(&pair) {
                named.push(pair);
                command.args(pair);
            }
        }
    }
    clean(&mut command);
    command
}

/// Prepares `cargo check` of the tests of a package, with messages as JSON.
#[cfg(feature = "ui")]
pub(crate) fn cargo_check(package: &str, flags: &[String]) -> Command {
    let mut command = Command::new(cargo());
    command
        .args([
            "check",
            "--tests",
            "--message-format=json",
            "--package",
            package,
        ])
        .args(["--color", "never"])
        .args(flags);
    clean(&mut command);
    command
}

fn run_build(
    mut command: Command,
    group: &[&LoadTest],
    interrupts: &Interrupts,
) -> Result<Vec<Binary>, Error> {
    interrupts.check()?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Error::spawn(&command))?;
    let (artifacts, status) = interrupts.guard(&mut child, |child| {
        let mut artifacts = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            // What is no message is a compiler's or build script's chatter.
            for message in Message::parse_stream(BufReader::new(stdout)).flatten() {
                if let Message::CompilerArtifact(artifact) = message
                    && artifact.executable.is_some()
                {
                    artifacts.push(artifact);
                }
            }
        }
        (artifacts, child.wait())
    });
    interrupts.check()?;
    let status = status.map_err(Error::spawn(&command))?;
    if !status.success() {
        return Err(Error::with_exit_code(
            ExitCode::BuildFailed,
            "the load tests do not compile; nothing was run",
        ));
    }
    group
        .iter()
        .map(|test| {
            let executable = artifacts
                .iter()
                .find(|artifact| {
                    artifact.package_id.repr == test.package_id
                        && artifact.target.name == test.name
                        && super::flag(&artifact.target) == Some(test.kind)
                })
                .and_then(|artifact| artifact.executable.clone())
                .ok_or_else(|| {
                    Error::failure(format!(
                        "cargo built no program for the {} `{}` of package `{}`",
                        test.kind, test.name, test.package
                    ))
                })?;
            Ok(Binary {
                package: test.package.clone(),
                package_root: test.package_root.clone(),
                target: format!("{} `{}`", test.kind, test.name),
                executable: executable.into_std_path_buf(),
                script: None,
                packages: None,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn test(package: &str, kind: &'static str, name: &str) -> LoadTest {
        LoadTest {
            path: PathBuf::new(),
            package: package.to_owned(),
            package_root: PathBuf::new(),
            package_id: package.to_owned(),
            kind,
            name: name.to_owned(),
            required_features: Vec::new(),
        }
    }

    #[test]
    fn the_command_line_overrides_the_profile_of_the_configuration() {
        let profile = |line: &str| {
            let words = line.split_whitespace().map(std::ffi::OsString::from);
            let cli = crate::cli::parse(words).unwrap();
            let crate::cli::Command::Run(args) = &cli.command else {
                panic!("{line}");
            };
            let test = test("shop", "test", "load");
            let command = build_command(&[&test], &cli, &args.project, "loadtest");
            let mut words = command.get_args();
            words.find(|word| *word == "--profile");
            words.next().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(profile("cargo-loadtest run"), "loadtest");
        assert_eq!(profile("cargo-loadtest run --profile dev"), "dev");
        assert_eq!(profile("cargo-loadtest run --release"), "release");
    }

    #[test]
    fn packages_share_a_call_only_if_they_name_the_same_targets() {
        let tests = [
            test("a", "test", "load"),
            test("b", "test", "load"),
            test("c", "test", "load"),
            test("c", "bench", "heavy"),
            test("d", "bench", "load"),
        ];
        let groups: Vec<Vec<&str>> = group_by_targets(&tests)
            .iter()
            .map(|group| group.iter().map(|test| test.package.as_str()).collect())
            .collect();
        assert_eq!(groups, [vec!["a", "b"], vec!["c", "c"], vec!["d"]]);
    }
}
