//! `[grading]`: how steps are graded that declare nothing themselves.

use super::key::{ConfigTable, Given};
use crate::cli::values;
use loadtest_console::units;
use loadtest_model::plan::GradingDefaults;

impl ConfigTable for GradingDefaults {
    const SECTION: &'static str = "grading";

    fn set_key(&mut self, name: &str, given: &Given<'_>) -> Result<(), String> {
        match name {
            "apdex" => self.apdex = Some(values::apdex(given.text())?),
            "budget" => self.budget = Some(units::share(given.text())?),
            "grade_weight" => {
                let weight = given.text().parse().ok();
                let weight = weight.filter(|weight| (0.0..=1e6).contains(weight));
                let mistake = "is not valid; use a number from 0 to 1000000";
                self.grade_weight = Some(weight.ok_or(mistake)?);
            }
            _ => return Err("is not a key of this table".to_owned()),
        }
        Ok(())
    }
}
