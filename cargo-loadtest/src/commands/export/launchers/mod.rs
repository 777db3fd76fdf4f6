//! `cargo loadtest export slurm|kubernetes|compose`: files that start a load on several machines. Nothing here starts
//! one.

#[cfg(test)]
mod tests;

use crate::cli::{LauncherArgs, LauncherCommand};
use crate::config::is_loopback;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_model::definition::ScenarioDef;
use loadtest_model::display::format_span;
use loadtest_model::plan::Plan;
use loadtest_model::protocol::BASE_URL_VARIABLE;
use loadtest_model::schedule::Schedule;
use std::path::Path;
use std::time::Duration;
use url::Url;

const SLURM: &str = include_str!("slurm.sh");
const KUBERNETES: &str = include_str!("kubernetes.yaml");
const COMPOSE: &str = include_str!("compose.yaml");

/// The longest name of a job, with room for `-controller`.
const LONGEST_NAME: usize = 50;
/// The time of a job beyond its load: for machines and images, agents that come late, setups, the report.
const ALLOWANCE: Duration = Duration::from_secs(30 * 60);
/// The longest time of a job whose load has no length, as iterations have none.
const UNKNOWN_LOAD: Duration = Duration::from_secs(60 * 60);

impl LauncherCommand {
    /// Returns the options that all launchers have.
    pub(super) fn args(&self) -> &LauncherArgs {
        match self {
            Self::Slurm { args, .. }
            | Self::Kubernetes { args, .. }
            | Self::Compose { args, .. } => args,
        }
    }

    /// Returns true if it starts the run with `--ci`.
    pub(super) fn is_ci(&self) -> bool {
        matches!(self, Self::Kubernetes { .. })
    }

    /// Writes the file that starts `scenario`.
    ///
    /// # Errors
    /// An image that is named by no digest, a target that only its own process reaches, a limit that ends the load, or
    /// a bundle whose name is no text for people.
    pub(super) fn render(
        &self,
        scenario: &ScenarioDef,
        plan: Option<&Plan>,
    ) -> Result<String, Error> {
        let values = LauncherValues {
            scenario,
            args: self.args(),
            processes: match self {
                Self::Slurm {
                    shards: processes, ..
                }
                | Self::Kubernetes {
                    agents: processes, ..
                }
                | Self::Compose {
                    agents: processes, ..
                } => *processes,
            },
        };
        self.check_target(scenario)?;
        if console::has_controls(&values.bundle()) {
            return Err(Error::usage(
                "the name of the bundle contains control characters",
            ));
        }
        if console::has_controls(&values.file("", "")) {
            return Err(Error::usage(
                "the name of the output contains control characters",
            ));
        }
        Ok(match self {
            Self::Slurm { limit, .. } => values.fill_slurm(find_limit(*limit, plan)?),
            Self::Kubernetes {
                image,
                memory,
                cluster,
                limit,
                ..
            } => {
                if !image.contains("@sha256:") {
                    let message = format!("the image `{image}` is named by no digest");
                    return Err(Error::usage(message).with_help(
                        "all agents need the same one: write `registry.example.com/loadtest@sha256:..`",
                    ));
                }
                let base = values.format_base_url(|url| {
                    format!("            - {{name: {BASE_URL_VARIABLE}, value: {url}}}\n")
                });
                values.fill_yaml(
                    KUBERNETES,
                    &[
                        ("IMAGE", quote_yaml_text(image)),
                        ("MEMORY", quote_yaml_text(memory)),
                        ("CLUSTER", quote_yaml_text(cluster)),
                        (
                            "SECONDS",
                            count_up(find_limit(*limit, plan)?, 1).to_string(),
                        ),
                        ("BASE_URL", base),
                    ],
                )
            }
            Self::Compose { image, memory, .. } => {
                let mount = format!("./{}:{}:ro", values.bundle(), values.bundle_in_image());
                let base =
                    values.format_base_url(|url| format!("      {BASE_URL_VARIABLE}: {url}\n"));
                // A key without a value has that of the environment in which Compose is started.
                let secrets = scenario.secrets.iter();
                let secrets = secrets.map(|name| format!("      {}:\n", quote_yaml_text(name)));
                let secrets = secrets.collect::<Vec<_>>().concat();
                values.fill_yaml(
                    COMPOSE,
                    &[
                        ("IMAGE", quote_yaml_text(image)),
                        ("MEMORY", quote_yaml_text(memory)),
                        ("BUNDLE_MOUNT", quote_yaml_text(&mount)),
                        ("ENVIRONMENT", format_environment(&[&base, &secrets])),
                        ("SECRETS", format_environment(&[&secrets])),
                    ],
                )
            }
        })
    }
}

impl LauncherCommand {
    /// Checks that all processes reach the target; a script takes the address from its environment too.
    fn check_target(&self, scenario: &ScenarioDef) -> Result<(), Error> {
        let given = self.args().base_url.as_deref();
        let base = given.or(scenario.base.as_deref());
        let is_here = |base: &&str| Url::parse(base).is_ok_and(|url| is_loopback(&url));
        let function = &scenario.function;
        let message = if scenario.starts_target && given.is_none() {
            format!("a setup of `{function}` starts the target, which other processes do not reach")
        } else if let Some(base) = base.filter(is_here) {
            format!(
                "`{base}` is a loopback address: each machine or container would send the load of `{function}` to itself"
            )
        } else {
            return Ok(());
        };
        if matches!(self, Self::Slurm { .. }) && given.is_none() {
            console::print_warning(format_args!(
                "{message}: set {BASE_URL_VARIABLE} when you start the script"
            ));
            return Ok(());
        }
        Err(Error::usage(message)
            .with_help("give an address that they reach: `--base-url https://staging.example.com`"))
    }
}

/// Returns the longest time of a job: the one that is given, or one that follows the load.
///
/// # Errors
/// When it would end the load.
fn find_limit(given: Option<Duration>, plan: Option<&Plan>) -> Result<Duration, Error> {
    let load = plan.and_then(|plan| Some(Schedule::new(&plan.load).end()? + plan.graceful_stop));
    match (given, load) {
        (Some(limit), Some(load)) if limit < load => {
            let [limit, load] = [limit, load].map(format_span);
            let message = format!("`--limit {limit}` ends the load, which takes up to {load}");
            Err(Error::usage(message).with_help(
                "leave it out: without it, the limit is half an hour more than the load",
            ))
        }
        (Some(limit), _) => Ok(limit),
        (None, Some(load)) => Ok(load + ALLOWANCE),
        (None, None) => Ok(UNKNOWN_LOAD),
    }
}

/// Returns the block of variables in a Compose service; none without any.
fn format_environment(parts: &[&str]) -> String {
    match parts.concat() {
        lines if lines.is_empty() => lines,
        lines => format!("    environment:\n{lines}"),
    }
}

/// What a template is filled with.
struct LauncherValues<'a> {
    scenario: &'a ScenarioDef,
    args: &'a LauncherArgs,
    /// The number of processes that make the load.
    processes: u32,
}

impl LauncherValues<'_> {
    /// The path of the bundle beside the launcher.
    fn bundle(&self) -> String {
        let given = self.args.project.bundle.as_deref();
        let given = given.and_then(Path::file_name);
        given.map_or_else(
            || format!("{}.bundle", self.scenario.function),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// The name of the launcher itself.
    fn file(&self, name: &str, extension: &str) -> String {
        let output = Some(&self.args.output).filter(|output| *output != Path::new("-"));
        let output = output.and_then(|output| output.file_name());
        output.map_or_else(
            || format!("{name}.{extension}"),
            |output| output.to_string_lossy().into_owned(),
        )
    }

    fn bundle_in_image(&self) -> String {
        format!("/bundle/{}", self.bundle())
    }

    /// Returns the lines for the base URL in YAML; none where none is given.
    fn format_base_url(&self, line: impl Fn(&str) -> String) -> String {
        let base = self.args.base_url.iter();
        base.map(|base| line(&quote_yaml_text(base))).collect()
    }

    fn fill_slurm(&self, limit: Duration) -> String {
        let base = self.args.base_url.iter();
        let base = base.map(|base| {
            let base = quote_shell_word(base);
            format!("export {BASE_URL_VARIABLE}=${{{BASE_URL_VARIABLE}:-{base}}}\n")
        });
        let own = [
            ("MINUTES", count_up(limit, 60).to_string()),
            ("BASE_URL", base.collect()),
        ];
        self.fill(SLURM, "slurm.sh", quote_shell_word, &own)
    }

    fn fill_yaml(&self, template: &str, own: &[(&'static str, String)]) -> String {
        self.fill(template, "yaml", quote_yaml_text, own)
    }

    /// Puts values in the places of their names, in one pass: a value is no template.
    fn fill(
        &self,
        template: &str,
        extension: &str,
        quote: fn(&str) -> String,
        own: &[(&'static str, String)],
    ) -> String {
        let identity = self.scenario.identity();
        let name = name_of_job(&self.scenario.function);
        let common = [
            ("TITLE", identity.clone()),
            ("SCENARIO", quote(&identity)),
            ("SCENARIO_WORD", quote_shell_word(&identity)),
            ("BUNDLE", quote(&self.bundle())),
            ("BUNDLE_WORD", quote_shell_word(&self.bundle())),
            ("BUNDLE_PATH", quote(&self.bundle_in_image())),
            ("FILE", quote_shell_word(&self.file(&name, extension))),
            ("NAME", name),
            ("AGENTS", self.processes.to_string()),
            ("CPUS", self.args.cpus.to_string()),
        ];
        let mut parts = template.split("{{");
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (token, rest) = part.split_once("}}").unwrap_or((part, ""));
            let value = own.iter().chain(&common).find(|(name, _)| *name == token);
            text.push_str(value.map_or("", |(_, value)| value));
            text.push_str(rest);
        }
        text
    }
}

/// Returns a name that clusters take: lower-case letters, digits and dashes.
fn name_of_job(function: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let name: String = function.chars().map(plain).take(LONGEST_NAME).collect();
    match name.trim_matches('-') {
        "" => "loadtest".to_owned(),
        name => name.to_owned(),
    }
}

/// Returns the number of units of so many seconds, rounded up.
fn count_up(time: Duration, seconds: u64) -> u64 {
    time.as_millis()
        .div_ceil(u128::from(seconds) * 1_000)
        .try_into()
        .unwrap_or(u64::MAX)
}

/// Returns a word of a shell.
fn quote_shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns a text of YAML: JSON's are such.
fn quote_yaml_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
