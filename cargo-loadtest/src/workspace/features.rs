//! Which load tests the features of a build leave out, as cargo does.

use super::{LoadTest, Workspace};
use cargo_metadata::Package;
use clap_cargo::Features;
use loadtest_console::error::Error;
use loadtest_console::suggestion::join_names;
use std::collections::BTreeSet;

impl Workspace {
    /// Leaves out the load tests whose `required-features` are off, as cargo does where a target is not named.
    ///
    /// # Errors
    /// When none is left.
    pub(crate) fn without_disabled(
        &self,
        tests: Vec<LoadTest>,
        features: &Features,
    ) -> Result<Vec<LoadTest>, Error> {
        let (enabled, disabled): (Vec<_>, Vec<_>) = tests
            .into_iter()
            .partition(|test| self.missing_features(test, features).is_empty());
        if let ([], [first, ..]) = (&*enabled, &*disabled) {
            let missing = self.missing_features(first, features);
            let message = format!(
                "the load test `{}` of package `{}` needs the {} {}",
                first.name,
                first.package,
                if missing.len() == 1 {
                    "feature"
                } else {
                    "features"
                },
                join_names(&missing)
            );
            let help = format!(
                "`--features {}` switches on what it needs",
                missing.join(",")
            );
            return Err(Error::nothing_found(message).with_help(help));
        }
        Ok(enabled)
    }

    fn missing_features(&self, test: &LoadTest, features: &Features) -> Vec<String> {
        if test.required_features.is_empty() || features.all_features {
            return Vec::new();
        }
        let packages = self.packages().into_iter();
        let mut packages = packages.filter(|package| package.id.repr == test.package_id);
        let enabled = packages.next().map(|package| enabled(package, features));
        let is_missing = |name: &&String| {
            let known = enabled.as_ref();
            known.is_some_and(|enabled| !enabled.contains(&***name))
        };
        let required = test.required_features.iter();
        required.filter(is_missing).cloned().collect()
    }
}

/// The features of `package` that are on.
fn enabled<'a>(package: &'a Package, features: &'a Features) -> BTreeSet<&'a str> {
    let mut open: Vec<&str> = Vec::new();
    if !features.no_default_features {
        open.push("default");
    }
    // Of another package, they are written with its name.
    let named = features
        .features
        .iter()
        .flat_map(|given| given.split([',', ' ']));
    open.extend(named.filter_map(|name| match name.split_once('/') {
        Some((of, name)) => (*package.name == of).then_some(name),
        None => Some(name),
    }));
    let mut enabled = BTreeSet::new();
    while let Some(name) = open.pop() {
        if enabled.insert(name) {
            open.extend(
                package
                    .features
                    .get(name)
                    .into_iter()
                    .flatten()
                    .map(|name| &**name),
            );
        }
    }
    enabled
}
