//! The examples at the end of `cargo loadtest <command> --help`.

pub(super) const LIST: &str = "\
Examples:
  cargo loadtest list
  cargo loadtest list --tag smoke --format json";

pub(super) const PLAN: &str = "\
Examples:
  cargo loadtest plan checkout
  cargo loadtest plan checkout --rate 50/s --duration 2m";

pub(super) const RUN: &str = "\
Examples:
  cargo loadtest run                                        every scenario of the workspace
  cargo loadtest run checkout --rate 50/s --duration 2m     one scenario, another load
  cargo loadtest run --mix --users 20 --export pdf --open   all at once, with a PDF
  cargo loadtest run --ci --baseline main                   the gate of a pipeline
  cargo loadtest run --rate 5/s -- curl http://localhost:3000/health";

pub(super) const DEBUG: &str = "\
Examples:
  cargo loadtest debug checkout
  cargo loadtest debug checkout --base-url http://localhost:3000
  cargo loadtest debug checkout --seed 42 --iteration 17   the journey that failed in a run";

pub(super) const CAPACITY: &str = "\
Examples:
  cargo loadtest capacity checkout
  cargo loadtest capacity checkout --slo 'p95 < 300ms, errors < 1%' --from 20/s";

pub(super) const IMPORT: &str = "\
Examples:
  cargo loadtest import curl -- curl http://localhost:3000/products
  cargo loadtest import har visit.har -o tests/visit.rs
  cargo loadtest import openapi api.yaml --tag orders -o tests/orders.rs
  cargo loadtest import postman shop.json --environment staging.json -o tests/shop.rs";

pub(super) const REPORT: &str = "\
Examples:
  cargo loadtest report --open
  cargo loadtest report 20260131 --export pdf=report.pdf
  cargo loadtest report --apdex 200ms --min-grade B";

pub(super) const SEND: &str = "\
Examples:
  cargo loadtest send --to 2
  cargo loadtest send 20260131 --send otlp=http://127.0.0.1:4318";

pub(super) const MERGE: &str = "\
Examples:
  cargo loadtest run checkout --shard 1/2    on one machine
  cargo loadtest run checkout --shard 2/2    on another
  cargo loadtest merge shard-1/record.json shard-2/record.json --min-grade B";

#[cfg(feature = "cluster")]
pub(super) const AGENT: &str = "\
Examples:
  cargo loadtest agent --cluster tls://nats.example.com:4222
  cargo loadtest run checkout --cluster tls://nats.example.com:4222 --agents 3    on the machine of the controller";

#[cfg(feature = "cluster")]
pub(super) const AGENTS: &str = "\
Examples:
  cargo loadtest agents --cluster tls://nats.example.com:4222";

pub(super) const BUNDLE: &str = "\
Examples:
  cargo loadtest bundle checkout -o checkout.bundle
  cargo loadtest run checkout --bundle checkout.bundle --shard 1/2    on another machine";

pub(super) const EXPORT: &str = "\
Examples:
  cargo loadtest export checkout -o checkout.json
  cargo loadtest export slurm checkout --shards 8 -o checkout.slurm.sh
  cargo loadtest export kubernetes checkout --agents 8 --image registry.example.com/loadtest@sha256:5f70bf18 -o checkout.yaml
  cargo loadtest export compose checkout --agents 3 --image loadtest -o compose.yaml";

pub(super) const SETUP: &str = "\
Examples:
  cargo loadtest setup checkout
  cargo loadtest run checkout --shard 1/2 --setup-values setup-values.json
  cargo loadtest teardown checkout";

pub(super) const COMPARE: &str = "\
Examples:
  cargo loadtest compare main             the latest run with a baseline
  cargo loadtest compare 20260131 latest  two runs";

pub(super) const BASELINE: &str = "\
Examples:
  cargo loadtest baseline save main
  cargo loadtest run --baseline main
  cargo loadtest baseline list";

#[cfg(feature = "ui")]
pub(super) const UI: &str = "\
Examples:
  cargo loadtest ui                open the dashboard of this workspace
  cargo loadtest ui --read-only    look at runs and reports only";

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    /// The words of a line, as a shell splits them; two spaces begin the explanation.
    fn words(line: &str) -> Vec<OsString> {
        let command = line.trim().split("  ").next().expect("a part");
        let mut words = Vec::new();
        for (i, part) in command.split('\'').enumerate() {
            if i % 2 == 1 {
                words.push(part.into());
            } else {
                words.extend(part.split_whitespace().map(OsString::from));
            }
        }
        words
    }

    #[test]
    fn every_example_is_a_command_line() {
        for text in [
            LIST, PLAN, RUN, DEBUG, CAPACITY, IMPORT, REPORT, SEND, MERGE, BUNDLE, EXPORT, SETUP,
            COMPARE, BASELINE,
        ] {
            for line in text.lines().skip(1) {
                let words = words(line).into_iter().skip(1);
                if let Err(error) = crate::cli::parse(words) {
                    panic!("{line}: {error}");
                }
            }
        }
    }
}
