//! Many agents that make no load: what a controller makes of a thousand, and what that takes.
//!
//! `loadtest/benches/agents.sh` runs it and says what the figures are.

use super::agent::subscribe;
use super::clock::now_us;
use super::forward::{Delivery, Forwarder};
use super::messages::{
    AGENTS, AgentEnd, AgentInfo, Answer, Beat, PROTOCOL, Phase, Question, agent_subject,
    control_subject, decode,
};
use super::{Cluster, ClusterAddress, ClusterRun};
use crate::cli::AgentLoss;
use crate::config::ClusterConfig;
use crate::live::Live;
use crate::session::sample;
use async_nats::{Client, Message, Subscriber};
use futures_util::StreamExt as _;
use loadtest_console::interrupt::Interrupts;
use loadtest_console::process;
use loadtest_model::definition::{Load, ScenarioDef, Shape, StepDef};
use loadtest_model::metrics::{Frame, Tally, Windows};
use loadtest_model::plan::{GradingDefaults, Overrides, Plan};
use loadtest_model::protocol::{JournalLine, RunRequest, SetupValues};
use loadtest_model::record::{
    EndReason, Environment, RunEnd, RunRecord, RunStart, SCHEMA_VERSION, ScenarioRecord,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use tokio::task::{JoinSet, spawn_local};
use tokio::time::{Instant, sleep_until};

const STEPS: usize = 30;
/// Executions of each step in a second of an agent.
const EXECUTIONS: u64 = 100;

fn number(name: &str, otherwise: u32) -> u32 {
    let given = process::variable_os(name);
    given.map_or(otherwise, |given| given.to_str().unwrap().parse().unwrap())
}

/// A second in which every step ran, in times that differ.
fn frame(second: u32) -> Frame {
    let mut frame = Frame {
        second,
        ..Frame::default()
    };
    let tally = &mut frame.windows.steady;
    *tally = Tally::new(STEPS);
    (tally.journey.started, tally.journey.ok) = (EXECUTIONS, EXECUTIONS);
    for execution in 0..EXECUTIONS {
        let time =
            |part: u64| Duration::from_micros(1_000 + (execution * 977 + part * 131) % 90_000);
        tally.journey.time.record_n(time(0), 1);
        for (part, step) in (1..).zip(&mut tally.steps) {
            step.executed += 1;
            step.ok += 1;
            step.response.record_n(time(part), 1);
            step.service.record_n(time(part), 1);
        }
    }
    frame
}

fn start(seconds: u32, agents: u32) -> RunStart {
    let steps = (0..STEPS).map(|step| StepDef::new(format!("step-{step}")));
    let definition = ScenarioDef {
        load: Some(Load::new(Shape::Rate {
            per_second: EXECUTIONS as f64 * f64::from(agents),
            ramp_up: Duration::ZERO,
            duration: Duration::from_secs(seconds.into()),
        })),
        ..ScenarioDef::new("simulated".to_owned(), steps.collect())
    };
    let plan = Plan::new(
        &definition,
        &Overrides::default(),
        &GradingDefaults::default(),
        1,
    );
    RunStart {
        plan: plan.unwrap(),
        definition,
        ..sample::start()
    }
}

/// What all simulated agents have alike.
struct Simulation {
    start: RunStart,
    /// The lines of all seconds.
    frames: Vec<String>,
    /// The record of all of them.
    record: ScenarioRecord,
    folder: PathBuf,
    address: ClusterAddress,
}

/// The journal of one agent.
struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    fn write(&mut self, line: &JournalLine) {
        self.write_text(&serde_json::to_string(line).unwrap());
    }

    fn write_text(&mut self, line: &str) {
        self.file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

/// An agent between discovery and the end of the run.
async fn act_as_agent(simulation: Rc<Simulation>, number: u32) {
    let agent = format!("simulated-{number:05}");
    let client = simulation.address.connect(&agent).await.unwrap();
    let identity = simulation.start.definition.identity();
    let info = AgentInfo {
        agent: agent.clone(),
        protocol: PROTOCOL,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        host: "simulated".to_owned(),
        environment: Environment::default(),
        weight: 1,
        scenarios: [(identity, simulation.start.executable_hash.clone())].into(),
        bundle: None,
        accepts: None,
        run: None,
    };
    let mut all = subscribe(&client, AGENTS.to_owned()).await.unwrap();
    let mut own = subscribe(&client, agent_subject(&agent)).await.unwrap();
    let order = loop {
        tokio::select! {
            Some(asked) = all.next() => answer(&client, &asked, &info).await,
            Some(asked) = own.next() => match decode(&asked.payload).unwrap() {
                Question::Clock => answer(&client, &asked, &Answer::Clock { now_us: now_us() }).await,
                Question::Take(_) => answer(&client, &asked, &Answer::Busy).await,
                Question::Prepare(order) => {
                    let beats = subscribe(&client, control_subject(&order.run, order.place)).await.unwrap();
                    answer(&client, &asked, &Answer::Accepted).await;
                    break (order, beats);
                }
            }
        }
    };
    let (order, mut beats) = order;
    let path = simulation.folder.join(format!("{agent}.jsonl"));
    let mut journal = Journal {
        file: File::create(&path).unwrap(),
        path,
    };
    journal.write(&JournalLine::Ready);
    let delivery = Rc::new(RefCell::new(Delivery::default()));
    let record_path = journal.path.with_extension("record");
    // It has none.
    let spans_path = journal.path.with_extension("spans");
    let forwarder = Forwarder {
        context: async_nats::jetstream::new(client.clone()),
        run: order.run,
        place: order.place,
        agent,
        files: vec![
            journal.path.clone(),
            record_path.clone(),
            spans_path.clone(),
        ],
        delivery: Rc::clone(&delivery),
    };
    let forwarding = spawn_local(forwarder.forward());
    let shard = order.loads[0].overrides.shard;
    let (starts, mut own) = hear(&mut beats, &delivery, own, &client, Phase::Run).await;
    let starts = starts.expect("a start");
    let mut begin = simulation.start.clone();
    begin.plan.shard = shard;
    journal.write(&JournalLine::Start(Box::new(begin)));
    let begin = Instant::now() + Duration::from_micros(starts.saturating_sub(now_us()));
    for (second, line) in (1..).zip(&simulation.frames) {
        let due = begin + Duration::from_secs(second);
        loop {
            tokio::select! {
                Some(beat) = beats.next() => take(&delivery, &beat),
                Some(asked) = own.next() => answer(&client, &asked, &Answer::Clock { now_us: now_us() }).await,
                () = sleep_until(due) => break,
            }
        }
        journal.write_text(line);
    }
    journal.write(&JournalLine::End(simulation.record.end.clone()));
    let mut record = simulation.record.clone();
    record.start.plan.shard = shard;
    std::fs::write(&record_path, serde_json::to_vec(&record).unwrap()).unwrap();
    let lengths = [&journal.path, &record_path].map(|path| std::fs::metadata(path).unwrap().len());
    delivery.borrow_mut().end = Some(AgentEnd {
        lengths: [&lengths[..], &[0]].concat(),
        status: "exit code 0".to_owned(),
        gave_up: None,
        output: Vec::new(),
    });
    hear(&mut beats, &delivery, own, &client, Phase::Done).await;
    forwarding.abort();
}

async fn answer(client: &Client, asked: &Message, answer: &impl serde::Serialize) {
    let inbox = asked.reply.clone().unwrap();
    let answer = serde_json::to_vec(answer).unwrap();
    client.publish(inbox, answer.into()).await.unwrap();
}

fn take(delivery: &RefCell<Delivery>, beat: &Message) {
    let beat: Beat = decode(&beat.payload).unwrap();
    delivery.borrow_mut().received = beat.received;
}

/// Waits for a phase, and returns the start of the load.
async fn hear(
    beats: &mut Subscriber,
    delivery: &RefCell<Delivery>,
    mut own: Subscriber,
    client: &Client,
    phase: Phase,
) -> (Option<u64>, Subscriber) {
    loop {
        tokio::select! {
            Some(message) = beats.next() => {
                take(delivery, &message);
                let beat: Beat = decode(&message.payload).unwrap();
                if beat.phase >= phase {
                    return (beat.start_us, own);
                }
            }
            Some(asked) = own.next() => answer(client, &asked, &Answer::Clock { now_us: now_us() }).await,
        }
    }
}

/// The CPU time of this thread.
fn cpu_of_thread() -> Duration {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(counted.split(' ').next().unwrap().parse().unwrap())
}

fn simulate(simulation: Simulation, agents: u32) -> Duration {
    super::block_on(async {
        let simulation = Rc::new(simulation);
        let mut all = JoinSet::new();
        for number in 0..agents {
            all.spawn_local(act_as_agent(Rc::clone(&simulation), number));
        }
        while let Some(ended) = all.join_next().await {
            ended.unwrap();
        }
    })
    .unwrap();
    cpu_of_thread()
}

fn request(start: &RunStart, folder: &Path) -> RunRequest {
    RunRequest {
        scenario: start.definition.identity(),
        executable_hash: start.executable_hash.clone(),
        has_controller: true,
        ..sample::request(folder)
    }
}

fn header(start: &RunStart) -> RunRecord {
    RunRecord {
        schema_version: SCHEMA_VERSION,
        run_id: "simulated".to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: start.started_at.clone(),
        environment: Environment::default(),
        scenarios: Vec::new(),
        not_run: Vec::new(),
        capacity: None,
        telemetry: Vec::new(),
    }
}

#[test]
#[ignore = "takes a NATS server (LOADTEST_CLUSTER_URL) and a minute; loadtest/benches/agents.sh runs it"]
fn a_controller_adds_up_what_a_thousand_agents_measure() {
    let agents = number("SIMULATED_AGENTS", 1_000);
    let seconds = number("SIMULATED_SECONDS", 20);
    let url = process::variable_os("LOADTEST_CLUSTER_URL").expect("the address of a server");
    let address = ClusterAddress::new(url.to_str(), &ClusterConfig::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let start = start(seconds, agents);
    let end = RunEnd {
        elapsed_us: u64::from(seconds) * 1_000_000,
        planned: EXECUTIONS * u64::from(seconds),
        steady_us: u64::from(seconds) * 1_000_000,
        ..sample::end()
    };
    let frames: Vec<Frame> = (0..seconds).map(frame).collect();
    let mut record = ScenarioRecord::new(start.clone());
    for frame in &frames {
        record.absorb(frame);
    }
    record.finish(end);
    let lines = frames
        .iter()
        .map(|frame| serde_json::to_string(&JournalLine::Frame(Box::new(frame.clone()))).unwrap());
    let lines: Vec<String> = lines.collect();
    let bytes: usize = lines.iter().map(String::len).sum();
    let simulation = Simulation {
        start: start.clone(),
        frames: lines,
        record,
        folder: folder.path().to_path_buf(),
        address: address.clone(),
    };
    let simulated = std::thread::spawn(move || simulate(simulation, agents));
    let cluster = Cluster {
        address,
        agents: agents as usize,
        wait: Duration::from_secs(60),
        on_loss: AgentLoss::Fail,
        min_share: None,
        orphan_after: Duration::from_secs(15),
        sent: None,
    };
    let requests = [request(&start, folder.path())];
    let header = header(&start);
    let run = ClusterRun {
        name: "simulated".to_owned(),
        requests: &requests,
        bundle: None,
        header: &header,
        folder: folder.path().to_path_buf(),
    };
    let interrupts = Interrupts::default();
    let crew = cluster.gather(&run, &interrupts).unwrap();
    let mut live = Live::new(true, 1);
    let before = cpu_of_thread();
    let (began, values) = (
        Instant::now(),
        [SetupValues {
            scenario: start.definition.identity(),
            fingerprint: String::new(),
            values: BTreeMap::new(),
        }],
    );
    let mut made = crew.make_run(&values, &interrupts, &mut live).unwrap();
    let (cpu, took) = (cpu_of_thread().saturating_sub(before), began.elapsed());
    let record = made.pop().unwrap().unwrap();
    let mut expected = Windows::default();
    for frame in &frames {
        for _ in 0..agents {
            expected.merge(&frame.windows);
        }
    }
    assert_eq!(record.windows, expected);
    assert_eq!(record.end.ending, EndReason::Completed);
    let forwarding = simulated.join().unwrap();
    let agent_seconds = f64::from(agents) * f64::from(seconds);
    println!(
        "{agents} agents, {seconds} s of {STEPS} steps: the controller took {took:.1?}, and {:.0} µs of CPU for each second of an agent; \
         an agent {:.0} µs for each of its seconds, and sent {:.0} bytes",
        cpu.as_secs_f64() * 1e6 / agent_seconds,
        forwarding.as_secs_f64() * 1e6 / agent_seconds,
        bytes as f64 / f64::from(seconds),
    );
    let spread = record.shards.iter().map(|shard| shard.began_after_us).max();
    let error = record
        .shards
        .iter()
        .filter_map(|shard| Some(shard.agent.as_ref()?.clock_error_us))
        .max();
    println!(
        "all began within {} µs, by clocks known to {} µs",
        spread.unwrap(),
        error.unwrap()
    );
    assert_eq!(record.shards.len(), agents as usize);
}
