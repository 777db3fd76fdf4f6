//! `[run]` and `[ci]`: what `run` does where its command line says nothing.

use super::key::{ConfigTable, Given};
use crate::cli::{Export, LoadArgs, RunArgs, values};
use loadtest_console::file_names::check_baseline_name;
use loadtest_model::definition::Letter;
use std::path::PathBuf;

/// Defaults of the options of `run`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RunDefaults {
    /// `load`: the preset in place of what scenarios declare.
    pub(crate) load: Option<String>,
    /// `seed`: the seed in place of another one each run.
    pub(crate) seed: Option<u64>,
    /// `min_grade`: the least overall grade with which a run passes.
    pub(crate) min_grade: Option<Letter>,
    /// `baseline`: what runs are compared with.
    pub(crate) baseline: Option<String>,
    /// `export`: what reports are written as.
    pub(crate) export: Vec<Export>,
    /// `pdf_font`: fonts for characters that the font of the PDF lacks.
    pub(crate) pdf_font: Vec<PathBuf>,
}

impl RunDefaults {
    /// Completes a command line with these defaults.
    pub(crate) fn complete(&self, args: &RunArgs) -> RunArgs {
        let mut args = args.clone();
        args.load = self.load_args(&args.load);
        args.gate.min_grade = args.gate.min_grade.or(self.min_grade);
        if !args.gate.no_baseline {
            args.gate.baseline = args.gate.baseline.or_else(|| self.baseline.clone());
        }
        if args.export.is_empty() {
            args.export.clone_from(&self.export);
        }
        if args.reports.fonts.is_empty() {
            args.reports.fonts.clone_from(&self.pdf_font);
        }
        args
    }

    /// The same of the flags of a load.
    pub(crate) fn load_args(&self, load: &LoadArgs) -> LoadArgs {
        LoadArgs {
            preset: load
                .preset
                .clone()
                .or_else(|| self.load.clone().filter(|_| !load.declared_load)),
            seed: load.seed.or(self.seed),
            ..load.clone()
        }
    }
}

impl ConfigTable for RunDefaults {
    const SECTION: &'static str = "run";

    fn set_key(&mut self, name: &str, given: &Given<'_>) -> Result<(), String> {
        match name {
            "load" => self.load = Some(given.name()?),
            "seed" => self.seed = Some(values::seed(given.text())?),
            "min_grade" => self.min_grade = Some(given.text().parse()?),
            "baseline" => self.baseline = Some(parse_baseline(given.text())?),
            "export" => self.export = parse_exports(given)?,
            "pdf_font" => {
                self.pdf_font = given.words.iter().map(|word| given.path(word)).collect();
            }
            _ => return Err("is not a key of this table".to_owned()),
        }
        Ok(())
    }
}

fn parse_baseline(name: &str) -> Result<String, String> {
    match check_baseline_name(name) {
        Ok(()) => Ok(name.to_owned()),
        Err(error) => Err(format!(
            "is not a valid baseline name: it {}; write for example `{}`",
            error.reason, error.example
        )),
    }
}

fn parse_exports(given: &Given<'_>) -> Result<Vec<Export>, String> {
    let read = |word: &String| -> Result<Export, String> {
        let export: Export = word.parse()?;
        Ok(match &export.path {
            Some(path) if !export.is_result() => Export {
                path: Some(given.base.join(path)),
                ..export
            },
            _ => export,
        })
    };
    given.words.iter().map(read).collect()
}
