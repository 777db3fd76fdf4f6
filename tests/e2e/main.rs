//! The end-to-end suite: small cargo projects, the real `cargo loadtest`, a scripted server.
//!
//! Everything is compiled into one target folder that stays from run to run. A test that needs a
//! program which is not there is ignored, and says so.

mod accounts;
mod alias;
#[cfg(unix)]
mod applications;
#[cfg(unix)]
mod archive;
mod baselines;
mod bodies;
#[cfg(unix)]
mod browser;
#[cfg(unix)]
mod bundles;
#[cfg(unix)]
mod canary;
#[cfg(unix)]
mod capacity;
mod choices;
#[cfg(unix)]
mod ci;
mod client;
mod cluster;
mod configuration;
mod copied;
mod curl;
#[cfg(unix)]
mod dashboard;
mod debug;
mod duplicate;
mod editor;
#[cfg(unix)]
mod events;
#[cfg(unix)]
mod exit_codes;
mod export;
mod feeds;
#[cfg(unix)]
mod generator;
mod groups;
#[cfg(unix)]
mod history;
#[cfg(unix)]
mod import_correlation;
mod import_curl;
mod import_described;
#[cfg(unix)]
mod import_har;
mod import_migrated;
mod import_openapi;
mod import_pages;
mod import_places;
mod import_postman;
mod import_secrets;
#[cfg(unix)]
mod import_visit;
mod import_writer;
mod init;
#[cfg(unix)]
mod keyboard;
mod language;
#[cfg(target_os = "linux")]
mod launchers;
mod libraries;
mod limits;
#[cfg(target_os = "linux")]
mod listed;
mod listing;
mod many;
mod metrics;
mod mistakes;
mod mix;
mod nginx;
#[cfg(target_os = "linux")]
mod observed;
#[cfg(target_os = "linux")]
mod offline;
mod own_target;
#[cfg(unix)]
mod page;
#[cfg(unix)]
mod pdf;
mod plan;
#[path = "../projects/mod.rs"]
#[expect(dead_code, reason = "the fault matrix uses the rest")]
mod projects;
mod protocols;
mod repeat;
mod reports;
mod samples;
mod secrets;
mod senders;
#[cfg(unix)]
mod servers;
mod shards;
mod shop;
mod smoke;
mod sources;
#[cfg(unix)]
mod telemetry;
mod verdicts;
#[cfg(unix)]
mod workflows;

use libtest_mimic::Arguments;
pub(crate) use projects::{call, guard, lonely, project, site, trial, trial::trials};
use std::num::NonZero;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert_with(at_once);
    let trials = [
        accounts::trials(),
        alias::trials(),
        #[cfg(unix)]
        applications::trials(),
        baselines::trials(),
        bodies::trials(),
        #[cfg(unix)]
        bundles::trials(),
        #[cfg(unix)]
        canary::trials(),
        #[cfg(unix)]
        capacity::trials(),
        choices::trials(),
        #[cfg(unix)]
        ci::trials(),
        client::trials(),
        configuration::trials(),
        copied::trials(),
        curl::trials(),
        #[cfg(unix)]
        dashboard::trials(),
        debug::trials(),
        duplicate::trials(),
        editor::trials(),
        #[cfg(unix)]
        events::trials(),
        #[cfg(unix)]
        exit_codes::trials(),
        export::trials(),
        feeds::trials(),
        #[cfg(unix)]
        generator::trials(),
        groups::trials(),
        #[cfg(unix)]
        history::trials(),
        #[cfg(unix)]
        import_correlation::trials(),
        import_curl::trials(),
        import_described::trials(),
        #[cfg(unix)]
        import_har::trials(),
        import_migrated::trials(),
        import_pages::trials(),
        import_places::trials(),
        import_postman::trials(),
        import_secrets::trials(),
        import_openapi::trials(),
        #[cfg(unix)]
        import_visit::trials(),
        import_writer::trials(),
        init::trials(),
        language::trials(),
        #[cfg(target_os = "linux")]
        launchers::trials(),
        libraries::trials(),
        limits::trials(),
        #[cfg(target_os = "linux")]
        listed::trials(),
        listing::trials(),
        many::trials(),
        metrics::trials(),
        mistakes::trials(),
        mix::trials(),
        nginx::trials(),
        #[cfg(target_os = "linux")]
        offline::trials(),
        own_target::trials(),
        #[cfg(unix)]
        page::trials(),
        #[cfg(unix)]
        pdf::trials(),
        plan::trials(),
        protocols::trials(),
        repeat::trials(),
        #[cfg(target_os = "linux")]
        observed::trials(),
        reports::trials(),
        samples::trials(),
        secrets::trials(),
        cluster::trials(),
        shards::trials(),
        senders::trials(),
        #[cfg(unix)]
        servers::trials(),
        smoke::trials(),
        sources::trials(),
        #[cfg(unix)]
        telemetry::trials(),
        verdicts::trials(),
        #[cfg(unix)]
        workflows::trials(),
    ];
    let conclusion = libtest_mimic::run(&arguments, trials.into_iter().flatten().collect());
    #[cfg(unix)]
    browser::end();
    conclusion.exit_code()
}

/// Returns how many trials run at once: most of their time they wait for loads to last as long as declared.
fn at_once() -> usize {
    4 * std::thread::available_parallelism().map_or(1, NonZero::get)
}
