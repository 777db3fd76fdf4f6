//! `[grading]`: how steps are graded that declare nothing themselves.

use super::key::{BuiltIn, Key, ValueKind};
use crate::cli::values;
use crate::units;
use loadtest_model::plan::GradingDefaults;

/// The keys of the table.
pub(super) const KEYS: [Key<GradingDefaults>; 3] = [
    Key {
        name: "apdex",
        kind: ValueKind::Text { unit: "ms" },
        example: "\"300ms\"",
        built_in: BuiltIn::Value("500ms"),
        read: |given, grading| {
            grading.apdex = Some(values::apdex(given.text())?);
            Ok(())
        },
    },
    Key {
        name: "budget",
        kind: ValueKind::Text { unit: "%" },
        example: "\"0.5%\"",
        built_in: BuiltIn::Value("1%"),
        read: |given, grading| {
            grading.budget = Some(units::share(given.text())?);
            Ok(())
        },
    },
    Key {
        name: "grade_weight",
        kind: ValueKind::Number,
        example: "1",
        built_in: BuiltIn::Nothing("the step's weight"),
        read: |given, grading| {
            let weight = given.text().parse().ok();
            let weight = weight.filter(|weight| (0.0..=1e6).contains(weight));
            let weight = weight.ok_or("has no meaning; use a number from 0 to 1000000")?;
            grading.grade_weight = Some(weight);
            Ok(())
        },
    },
];
