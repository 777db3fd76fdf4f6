//! `cargo loadtest`: discovers, runs, grades and exports load tests.

mod baselines;
mod ci;
mod cli;
mod commands;
mod config;
mod error;
mod export;
mod files;
mod import;
mod interrupt;
mod live;
mod notify;
mod policy;
mod selection;
mod session;
mod shell;
mod store;
mod units;
mod workspace;

use cli::Command;
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == session::REPLAY)
    {
        return loadtest::harness::replay();
    }
    // For mistakes in the command line itself, which may say otherwise.
    cli::Color::default().apply();
    let cli = match cli::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return shell::usage(&error),
    };
    let session = ci::Session::begin(cli.command.is_for_ci());
    cli.color.apply();
    let outcome = match &cli.command {
        Command::Init(args) => commands::init::init(args),
        Command::List(args) => commands::list::list(args, &cli),
        Command::Plan(args) => commands::plan::plan(args, &cli),
        Command::Run(args) => commands::run::run(args, &cli),
        Command::Debug(args) => commands::debug::debug(args, &cli),
        Command::Capacity(args) => commands::capacity::capacity(args, &cli),
        Command::Import(args) => commands::import::import(args, cli.quiet),
        Command::Export(args) => commands::export::export(args, &cli),
        Command::Duplicate(args) => commands::duplicate::duplicate(args, &cli),
        Command::Report(args) => commands::report::report(args, &cli),
        Command::Compare(args) => commands::compare::compare(args),
        Command::History(args) => commands::history::history(args),
        Command::Baseline(args) => commands::baseline::baseline(args),
        Command::Config(args) => commands::config::config(args),
    };
    let code = match outcome {
        Ok(code) => code,
        Err(error) => {
            shell::error(&error);
            session.failed(&error);
            error.exit_code()
        }
    };
    ExitCode::from(session.end(code))
}
