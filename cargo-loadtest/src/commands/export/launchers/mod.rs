//! `cargo loadtest export slurm|kubernetes|compose`: files that start a load on several machines. Nothing here starts
//! one.

#[cfg(test)]
mod tests;

use crate::cli::{LauncherArgs, LauncherCommand};
use crate::console;
use crate::error::Error;
use loadtest_model::definition::ScenarioDef;
use loadtest_model::protocol::BASE_URL_VARIABLE;
use std::path::Path;
use std::time::Duration;

const SLURM: &str = include_str!("slurm.sh");
const KUBERNETES: &str = include_str!("kubernetes.yaml");
const COMPOSE: &str = include_str!("compose.yaml");

/// The longest name of a job, with room for `-controller`.
const LONGEST_NAME: usize = 50;

impl LauncherCommand {
    /// Returns the options that all launchers have.
    pub(super) fn args(&self) -> &LauncherArgs {
        match self {
            Self::Slurm { args, .. }
            | Self::Kubernetes { args, .. }
            | Self::Compose { args, .. } => args,
        }
    }

    /// Writes the file that starts `scenario`.
    ///
    /// # Errors
    /// An image that is named by no digest, a target that only its own process reaches, or a bundle whose name is no
    /// text for people.
    pub(super) fn render(&self, scenario: &ScenarioDef) -> Result<String, Error> {
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
            Self::Slurm { limit, .. } => values.fill_slurm(*limit),
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
                        ("SECONDS", count_up(*limit, 1).to_string()),
                        ("BASE_URL", base),
                    ],
                )
            }
            Self::Compose { image, memory, .. } => {
                let mount = format!("./{}:{}:ro", values.bundle(), values.bundle_in_image());
                let base = values.format_base_url(|url| {
                    format!("    environment:\n      {BASE_URL_VARIABLE}: {url}\n")
                });
                values.fill_yaml(
                    COMPOSE,
                    &[
                        ("IMAGE", quote_yaml_text(image)),
                        ("MEMORY", quote_yaml_text(memory)),
                        ("BUNDLE_MOUNT", quote_yaml_text(&mount)),
                        ("BASE_URL", base),
                    ],
                )
            }
        })
    }
}

impl LauncherCommand {
    /// Checks that all processes reach the target; a script takes the address from its environment too.
    fn check_target(&self, scenario: &ScenarioDef) -> Result<(), Error> {
        if !scenario.starts_target || self.args().base_url.is_some() {
            return Ok(());
        }
        let function = &scenario.function;
        let message = format!(
            "a setup of `{function}` starts the target, which other processes do not reach"
        );
        if matches!(self, Self::Slurm { .. }) {
            console::print_warning(format_args!(
                "{message}: set {BASE_URL_VARIABLE} when you start the script"
            ));
            return Ok(());
        }
        Err(Error::usage(message).with_help("give `--base-url https://staging.example.com`"))
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
