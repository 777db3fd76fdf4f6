//! A real Prometheus, which watches what the target depends on.

use super::{LOAD, assert_always, page, series};
use crate::call::wait_for;
use crate::site::{Sandbox, shop};
use crate::telemetry::receivers::Prometheus;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::Server;

pub(super) fn trials() -> Vec<Trial> {
    trials![needing "prometheus":
        the_answers_of_a_query_are_in_the_report,
        a_query_that_is_none_is_told_and_holds_no_limit,
    ]
}

const PAGE: &str = "jobs{zone=\"a\"} 40\njobs{zone=\"b\"} 2\n";

/// Starts one that has read the page.
fn watching(page: &Server) -> Prometheus {
    let prometheus = Prometheus::start(Some(page.address()));
    wait_for("a value", || {
        (prometheus.query("jobs").len() == 2).then_some(())
    });
    prometheus
}

fn the_answers_of_a_query_are_in_the_report() {
    let page = page(PAGE);
    let prometheus = watching(&page);
    let source = |name: &str, more: &str| {
        format!(
            "[[observe]]\nname = \"{name}\"\nprometheus = \"{}\"\n{more}\n",
            prometheus.url()
        )
    };
    let sandbox = Sandbox::with(&format!(
        "{}{}",
        source(
            "queue",
            "query = \"sum(jobs)\"\nunit = \"jobs\"\nlimit = \"mean < 41\""
        ),
        source("zone", "query = \"jobs\"\nby = \"zone\"")
    ));
    let target = Server::start(shop);
    let output = sandbox.run(LOAD, &target).run();
    output
        .exits(99)
        .prints(&["mean of `queue`: 42 jobs, and must be < 41 jobs"])
        .says_no("warning");
    let record = sandbox.record();
    // The last seconds come after the end.
    for (name, value) in [("queue", 42.0), ("zone a", 40.0), ("zone b", 2.0)] {
        assert_always(&record, name, value);
        let points = series(&record, name).points.iter();
        let seconds: Vec<_> = points.map(|point| point.second).take(3).collect();
        assert_eq!(seconds, [0, 1, 2], "{name}");
        assert_eq!(series(&record, name).gap, None);
        assert_eq!(&*series(&record, name).source, prometheus.url());
    }
}

fn a_query_that_is_none_is_told_and_holds_no_limit() {
    let page = page(PAGE);
    let prometheus = watching(&page);
    let call = |query: &str, limit: &str| {
        let sandbox = Sandbox::with(&format!(
            "[[observe]]\nname = \"queue\"\nprometheus = \"{}\"\nquery = \"{query}\"\n{limit}\n",
            prometheus.url()
        ));
        let target = Server::start(shop);
        sandbox.run(LOAD, &target).run()
    };
    let limit = "limit = \"max < 100\"";
    call("sum(", limit)
        .exits(2)
        .says(&["400 Bad Request", "observe `queue`"]);
    let several = "its query has 2 series; write `sum(..)` around it, or `by";
    call("jobs", limit).exits(2).says(&[several]);
    call("jobs", "")
        .exits(0)
        .says(&["warning: observe `queue`", several]);
    let nothing = call("sum(no_such)", limit);
    nothing
        .exits(99)
        .says(&["there is no value of its query yet"])
        .prints(&["max of `queue` is not known, and must be < 100"]);
}
