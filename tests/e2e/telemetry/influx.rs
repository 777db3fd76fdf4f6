//! A real `InfluxDB`, read back by query.

use super::receivers::Influx;
use super::{assert_delivered, measured};
use crate::site::{Sandbox, shop};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::Server;

pub(super) fn trials() -> Vec<Trial> {
    trials![needing "influxd": counts_of_all_seconds_add_up_to_the_record,]
}

fn counts_of_all_seconds_add_up_to_the_record() {
    let influx = Influx::start();
    let (target, sandbox) = (Server::start(shop), Sandbox::new());
    let line = format!(
        "journey --rate 20/s --duration 3s --send influx={}",
        influx.url()
    );
    sandbox.run(&line, &target).run().exits(0);
    assert_delivered(&sandbox.only_run().record());
    let record = sandbox.record();
    let tally = measured(&record);
    let value = |query: &str| {
        let answer = influx.query(query);
        let value = answer["results"][0]["series"][0]["values"][0][1].as_f64();
        value.unwrap_or_else(|| panic!("{query}: {answer}"))
    };
    let journeys = value("SELECT sum(count) FROM loadtest_journeys WHERE result = 'ok'");
    assert_eq!(journeys as u64, tally.journey.ok);
    for (step, counts) in record.start.definition.steps.iter().zip(&tally.steps) {
        let of_step = format!("WHERE step = '{}'", step.name);
        let count = value(&format!(
            "SELECT sum(count) FROM loadtest_step_response_seconds {of_step}"
        ));
        assert_eq!(count as u64, counts.response.count());
        let longest = value(&format!(
            "SELECT max(max) FROM loadtest_step_response_seconds {of_step}"
        ));
        let expected = counts.response.max().expect("times").as_secs_f64();
        assert!(
            (longest - expected).abs() < 1e-9,
            "{longest} and {expected}"
        );
    }
}
