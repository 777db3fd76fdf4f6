//! The same seed sends the same requests, whatever the number of threads.

use crate::chain::{Scenario, SetupContext};
use crate::engine::{self, Control, Workers};
use crate::prelude::*;
use crate::transport::{HttpTransport, Network};
use loadtest_model::definition::{Load, Rate, Shape, Stage};
use loadtest_model::plan::{GradingDefaults, Overrides, Plan};
use loadtest_model::shard::Shard;
use loadtest_tests::{Reply, Server};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

#[scenario]
fn drawn() {
    #[feed]
    fn color() -> Feed<Value> {
        Feed::iter(["red", "green", "blue"].map(Value::from)).random()
    }

    #[feed]
    fn number() -> Feed<Value> {
        Feed::iter((0..11).map(Value::from)).shuffle()
    }

    #[step(think = 0ms..3ms)]
    fn open(vu: &mut Vu, color: &Value) -> Request {
        Request::post(format!("/open/{}", vu.iteration()))
            .json(&json!({ "color": color, "roll": vu.random(), "key": vu.uuid() }))
    }

    #[step(one_of = view, weight = 0.5, think = 0ms..2ms)]
    fn grid(vu: &mut Vu, number: &Value) -> Request {
        Request::get(format!("/grid/{}/{number}", vu.iteration()))
            .header("x-roll", vu.random_range(..))
    }

    #[step(one_of = view, weight = 0.3)]
    fn rows(vu: &mut Vu) -> Request {
        Request::get(format!("/rows/{}", vu.iteration()))
    }

    #[step(weight = 0.4)]
    async fn last(vu: &mut Vu, http: &mut Http) -> Result<(), Error> {
        for _ in 0..2 {
            let url = format!("/last/{}/{}", vu.iteration(), vu.random());
            http.get(url).send().await?;
        }
        Ok(())
    }
}

/// Every request of a run, in an order of its own.
fn sent(load: &Load, seed: u64, workers: u32) -> Vec<String> {
    sent_by_shard(load, seed, workers, Shard::WHOLE)
}

/// The same of a part of the load.
fn sent_by_shard(load: &Load, seed: u64, workers: u32, shard: Shard) -> Vec<String> {
    let server = Server::recording(|_| Reply::json("{}"));
    let scenario: &'static Scenario = drawn();
    let mut definition = scenario.definition.clone();
    definition.load = Some(load.clone());
    let grading = GradingDefaults::default();
    let overrides = Overrides {
        shard,
        ..Overrides::default()
    };
    let plan = Plan::new(&definition, &overrides, &grading, seed).unwrap();
    let context = SetupContext {
        seed,
        users: plan.max_users,
        ..SetupContext::default()
    };
    let prepared = (scenario.prepare)(&context).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let network = runtime.block_on(Network::prepare(Some(&server.url()), "run"));
    let network = Arc::new(network.unwrap());
    let ended = engine::LoadRun {
        scenario,
        shared: &prepared.shared,
        plan: &plan,
        workers: Workers::new(workers, workers).unwrap(),
        start: engine::common_start(1),
        control: &Control::new(),
        tracing: None,
        samples: None,
    }
    .run(
        move |user| HttpTransport::new(Arc::clone(&network), user),
        |_| ControlFlow::Continue(()),
    );
    assert!(ended.unwrap().complete);
    let mut sent: Vec<_> = server
        .recorded()
        .iter()
        .map(|request| {
            let roll = request.header("x-roll").unwrap_or_default();
            let body = request.text();
            format!("{} {} {roll} {body}", request.method, request.target)
        })
        .collect();
    sent.sort();
    sent
}

fn assert_same(load: &Load) {
    let one = sent(load, 7, 1);
    assert!(one.len() > 60, "{one:#?}");
    for workers in [2, 3] {
        assert_eq!(sent(load, 7, workers), one, "{workers} workers");
    }
    assert_ne!(sent(load, 8, 2), one, "another seed");
}

#[test]
fn fixed_work_is_the_same_with_any_number_of_threads() {
    assert_same(&Load::iterations(60, 12));
}

#[test]
fn fixed_work_is_the_same_with_any_number_of_users() {
    let one = sent(&Load::iterations(60, 1), 7, 1);
    assert_eq!(sent(&Load::iterations(60, 20), 7, 2), one);
}

#[test]
fn arrivals_are_the_same_with_any_number_of_threads() {
    // as many users as there are arrivals, so that none is dropped
    assert_same(&Load::rate(Rate::per_second(600.0), Duration::from_millis(100)).max_users(60));
}

/// Every shard runs by itself, with a number of threads of its own.
#[test]
fn shards_send_together_what_one_process_sends() {
    let rate = Rate::per_second(600.0);
    let stage = |from, to| Stage {
        from,
        to,
        duration: Duration::from_millis(60),
    };
    let stages = Shape::RateStages {
        stages: vec![stage(0.0, 1_000.0), stage(1_000.0, 250.0)].into(),
    };
    for load in [
        Load::iterations(61, 12),
        Load::iterations_per_user(5, 13),
        Load::rate(rate, Duration::from_millis(100)).max_users(60),
        Load::new(stages).max_users(80),
    ] {
        let one = sent(&load, 7, 2);
        assert!(one.len() > 60, "{one:#?}");
        for weights in [&[1, 1, 1][..], &[3, 1, 2]] {
            let shards = Shard::by_weight(weights).unwrap();
            let mut all: Vec<String> = (1..)
                .zip(shards)
                .flat_map(|(workers, shard)| sent_by_shard(&load, 7, workers, shard))
                .collect();
            all.sort();
            assert_eq!(all, one, "{load:?} by {weights:?}");
        }
    }
}
