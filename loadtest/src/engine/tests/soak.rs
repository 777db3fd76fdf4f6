//! A long run: worker, journal and record keep no more than in one of a quarter of the time, and lose nothing.

use super::*;
use allocation_counter::measure;
use loadtest_model::metrics::{Cell, Cells, Health};
use loadtest_model::protocol::JournalLine;
use loadtest_model::record::{EndReason, RunEnd, RunStart, ScenarioRecord};

/// The short run has cells of two seconds, and the long one as many, each of eight: both have merged some.
const SHORT: u64 = 900;
const LONG: u64 = 4 * SHORT;
const PER_SECOND: u64 = 4;
/// The bytes that the long run may keep besides: a cell of it holds four times the counts, which takes 11 bytes more,
/// and what is once for a process may be counted with the short one. It is less than three bytes for each second more,
/// so nothing is kept for each second, nor for each journey.
const MORE: i64 = 8_000;

/// Does the same every second, so that all cells are alike: quick and slow answers, and a failure.
#[derive(Clone)]
struct Repeating {
    start: Instant,
}

impl Transport for Repeating {
    async fn send(&self, _: Call<'_>) -> Exchange {
        let begun = Instant::now();
        let quarter = (begun - self.start).subsec_millis() / 250;
        tokio::time::sleep(ms(u64::from(1 + quarter))).await;
        let result = if quarter == 3 {
            Err(Failure::new(ErrorKind::ResetBeforeHead, "scripted"))
        } else {
            Ok(Received {
                status: StatusCode::OK,
                version: http::Version::HTTP_11,
                headers: KeptHeaders::default(),
                body: Bytes::new(),
            })
        };
        Exchange {
            result,
            begun,
            service_time: begun.elapsed(),
            phases: Phases::default(),
            traffic: Traffic {
                requests: 1,
                ..Traffic::default()
            },
            redirected_to: None,
            events: None,
            socket: None,
            hops: None,
            requests: None,
        }
    }
}

/// A run that is over.
struct Soaked {
    record: ScenarioRecord,
    /// The length of the longest line of the journal.
    longest_line: usize,
}

/// Runs a worker for so many seconds of a paused clock, and puts each of its seconds into a record and, as JSON, into a
/// journal.
fn soak(seconds: u64) -> Soaked {
    let load = rate(PER_SECOND as f64, ms(0), Duration::from_secs(seconds));
    let (scenario, plan) = planned(load, vec![step("a")]);
    let record = ScenarioRecord::new(RunStart {
        definition: scenario.definition.clone(),
        plan: plan.clone(),
        base_url: None,
        own_target: false,
        target_in_process: false,
        permits: Vec::new(),
        offline: None,
        validity_off: false,
        executable_hash: String::new(),
        workers: 1,
        started_at: String::new(),
    });
    let soaked = Rc::new(RefCell::new(Soaked {
        record,
        longest_line: 0,
    }));
    let done = block_on_paused_clock(async {
        let start = Instant::now() + ms(20);
        let spec = worker_spec(scenario, &plan, move || Repeating { start });
        let soaked = Rc::clone(&soaked);
        let report = move |mut frame: Frame| {
            let mut soaked = soaked.borrow_mut();
            // The machine makes it, and a cell may keep more of one than of another.
            frame.health = Health::default();
            soaked.record.absorb(&frame);
            // A line takes long without optimisation, and each is forgotten when it is written.
            if frame.second.is_multiple_of(60) {
                let line = serde_json::to_vec(&JournalLine::Frame(Box::new(frame))).unwrap();
                soaked.longest_line = line.len().max(soaked.longest_line);
            }
        };
        let control = Control::new();
        let signals = StopSignals::new(&control, &control);
        run_worker(spec, start, Pacer::with_runtime_timer(), signals, report).await
    });
    let mut soaked = Rc::into_inner(soaked).unwrap().into_inner();
    soaked.record.finish(RunEnd {
        ending: EndReason::Completed,
        elapsed_us: seconds * 1_000_000,
        planned: done.planned,
        steady_us: seconds * 1_000_000,
        complete: true,
        panics: Vec::new(),
        out_of_rows: false,
        target_death: None,
        samples: None,
    });
    soaked
}

/// The figures of a run whose accounts balance: the memory that it took at most and that its record takes, the length of
/// the record as JSON and of the longest line of the journal, all in bytes.
struct Figures {
    most: u64,
    kept: i64,
    record: usize,
    line: usize,
}

fn soak_and_weigh(seconds: u64, width: u32) -> Figures {
    let mut soaked = None;
    let memory = measure(|| soaked = Some(soak(seconds)));
    let Soaked {
        record,
        longest_line,
    } = soaked.unwrap();
    assert_eq!(record.check().map_err(|wrong| wrong.to_string()), Ok(()));
    let journeys = &record.windows.steady.journey;
    let planned = seconds * PER_SECOND;
    assert_eq!((record.end.planned, journeys.started), (planned, planned));
    assert_eq!(journeys.failed, planned / 4);
    assert_eq!(journeys.ok, planned - journeys.failed);
    let cells = &record.cells;
    // The last one is of the frame after the last second.
    assert_eq!((cells.width, cells.cells.len()), (width, 451));
    assert!(cells.cells.len() <= Cells::LIMIT);
    let ended = |ended: fn(&Cell) -> u64| cells.cells.iter().map(ended).sum::<u64>();
    assert_eq!(ended(|cell| cell.ok), journeys.ok);
    assert_eq!(ended(|cell| cell.failed), journeys.failed);
    assert_eq!(ended(|cell| cell.errors.values().sum()), journeys.failed);
    Figures {
        most: memory.bytes_max,
        kept: memory.bytes_current,
        record: serde_json::to_vec(&record).unwrap().len(),
        line: longest_line,
    }
}

#[test]
fn a_long_run_takes_no_more_memory_than_a_short_one_and_loses_nothing() {
    let short = soak_and_weigh(SHORT, 2);
    let long = soak_and_weigh(LONG, 8);
    // Both have as many cells of the same shape.
    assert!(
        long.kept <= short.kept + MORE,
        "{} bytes, not {}",
        long.kept,
        short.kept
    );
    assert!(
        long.record <= short.record + short.record / 20,
        "{} bytes, not {}",
        long.record,
        short.record
    );
    assert!(
        long.line <= short.line + 16,
        "{} bytes, not {}",
        long.line,
        short.line
    );
    // Neighbours merge beside the full cells they come from.
    assert!(
        long.most <= short.most + short.most / 10,
        "{} bytes, not {}",
        long.most,
        short.most
    );
}
