//! Messages that come again, too late, in part or never: the result is what the agents measured.

use super::broker::Broker;
use super::proxy::{Fate, Passing, Proxy};
use super::run::{Agent, Cluster};
use crate::site::{Sandbox, assert_balanced};
use crate::trials;
use libtest_mimic::Trial;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![needing "nats-server":
        messages_that_come_three_times_count_once,
        messages_that_are_lost_are_sent_again,
        a_connection_that_is_cut_within_messages_loses_nothing,
        an_agent_whose_messages_come_late_is_waited_for,
    ]
}

/// Makes a run of two agents by a proxy, or of one of them only, and compares it with what they kept.
#[track_caller]
fn assert_exact(all: bool, script: impl Fn(&Passing<'_>) -> Fate + Send + Sync + 'static) {
    let broker = Broker::start();
    let met = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&met);
    let proxy = Proxy::start(broker.address(), move |passing| {
        let fate = script(passing);
        let is_met = fate != Fate::Pass && passing.parcel > 0;
        count.fetch_add(usize::from(is_met), Ordering::SeqCst);
        fate
    });
    let direct = broker.option();
    let other = if all { proxy.option() } else { direct };
    let agents = [other.clone(), proxy.option()].map(|address| Agent::start(&address, ""));
    let cluster = Cluster::of(broker, agents);
    let sandbox = Sandbox::new();
    let line = format!("single --rate 40/s --duration 5s --agents 2 {other}");
    sandbox.run(&line, &cluster.target).run().exits(0);
    let record = sandbox.record();
    assert_balanced(&record);
    assert_eq!(record.end.planned, 200);
    cluster.assert_is_sum(&record);
    let met = met.load(Ordering::SeqCst);
    // The first or the third parcel of each agent, at least.
    assert!(met >= 2, "only {met} parcels met their fate");
}

fn messages_that_come_three_times_count_once() {
    // The server asks and answers by itself below this.
    assert_exact(true, |passing| match passing.subject {
        subject if subject.starts_with("$JS.") => Fate::Pass,
        _ => Fate::Thrice,
    });
}

fn messages_that_are_lost_are_sent_again() {
    let beats = AtomicUsize::new(0);
    assert_exact(true, move |passing| {
        let is_beat = passing.subject.contains(".control.");
        let is_third = is_beat
            && passing.is_published
            && beats.fetch_add(1, Ordering::SeqCst).is_multiple_of(3);
        // Never two parcels of an agent in succession, after which it would be silent for too long.
        let lost = if passing.is_published { 1 } else { 3 };
        if passing.parcel % 4 == lost || is_third {
            Fate::Lost
        } else {
            Fate::Pass
        }
    });
}

fn a_connection_that_is_cut_within_messages_loses_nothing() {
    assert_exact(true, |passing| {
        if passing.parcel % 4 == 3 {
            Fate::Cut
        } else {
            Fate::Pass
        }
    });
}

fn an_agent_whose_messages_come_late_is_waited_for() {
    assert_exact(false, |passing| {
        if passing.is_published && passing.parcel > 0 {
            Fate::Late(Duration::from_secs(1))
        } else {
            Fate::Pass
        }
    });
}
