//! An hour of a run: what it keeps does not grow with its length.

use super::*;
use crate::metrics::Cells;
use crate::protocol::JournalLine;
use crate::record::{ScenarioRecord, Start};
use allocation_counter::measure;

/// Runs a load of `seconds`, with a journal and a record as `cargo loadtest` has them. The record, and the
/// length of the longest line of the journal.
fn recorded(seconds: u64) -> (ScenarioRecord, usize) {
    let load = users(2, ms(0), Duration::from_secs(seconds));
    let (scenario, plan) = planned(load, vec![step("a")]);
    let record = ScenarioRecord::new(Start {
        definition: scenario.definition.clone(),
        plan: plan.clone(),
        base_url: None,
        own_target: false,
        target_in_process: false,
        executable_hash: String::new(),
        workers: 1,
        started_at: String::new(),
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let journal = Rc::new(RefCell::new((record, 0)));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let requests = Arc::clone(&seen);
    let done = LocalSet::new().block_on(&runtime, async {
        let start = Instant::now() + ms(20);
        let crew = Crew {
            crowded: false,
            scenario,
            shared: Arc::new(()) as Shared,
            plan,
            seed: 7,
            worker: 0,
            workers: 1,
            busy: Arc::default(),
            transport: Arc::new(move |_| Scripted {
                script: Arc::new(|at| {
                    // Quick and slow ones in turn, and some that fail in several ways.
                    let time = ms(200 + 7 * (at.as_secs() % 40));
                    match at.as_secs() % 60 {
                        7 => (time, Err(ErrorKind::ConnectRefused)),
                        8 => (time, Err(ErrorKind::ResetBeforeHead)),
                        _ => (time, Ok("")),
                    }
                }),
                start,
                seen: Arc::clone(&requests),
            }),
        };
        let journal = Rc::clone(&journal);
        let report = move |frame: Frame| {
            seen.lock().unwrap().clear();
            let (record, longest) = &mut *journal.borrow_mut();
            record.absorb(&frame);
            // A line takes long without optimisation, and each is forgotten when it is written.
            if frame.second.is_multiple_of(10) {
                let line = serde_json::to_vec(&JournalLine::Frame(Box::new(frame))).unwrap();
                *longest = line.len().max(*longest);
            }
        };
        let control = Control::new();
        work(
            crew,
            start,
            Pacer::on_runtime(),
            control.subscribe(),
            report,
        )
        .await
    });
    let journal = Rc::try_unwrap(journal).ok().unwrap();
    let (record, longest) = journal.into_inner();
    assert_eq!(
        record.windows.steady.journey.started, done.planned,
        "every iteration is in the record"
    );
    (record, longest)
}

#[test]
fn an_hour_takes_no_more_memory_than_ten_minutes() {
    let mut ran = Vec::new();
    for seconds in [610, 3_600] {
        let mut record = None;
        let memory = measure(|| record = Some(recorded(seconds)));
        let (record, longest_line) = record.unwrap();
        let cells = &record.cells;
        let width = if seconds == 610 { 2 } else { 8 };
        assert_eq!(cells.width, width);
        // What ends as the load does may be a second of its own.
        let expected = (seconds as usize).div_ceil(width as usize);
        assert!((expected..=expected + 1).contains(&cells.cells.len()));
        assert!(cells.cells.len() <= Cells::LIMIT);
        assert!(cells.cells.iter().all(|cell| cell.seconds == width));
        let ended: u64 = cells.cells.iter().map(|cell| cell.ok + cell.failed).sum();
        assert_eq!(ended, record.windows.steady.journey.started);
        let size = serde_json::to_vec(&record).unwrap().len();
        ran.push((memory.bytes_max, size, longest_line));
    }
    let [
        (short, short_size, short_line),
        (long, long_size, long_line),
    ] = ran[..]
    else {
        unreachable!()
    };
    assert!(long < short + short / 10, "{long} bytes, not {short}");
    // Three quarters of the cells, each of four times as many seconds.
    assert!(
        long_size < short_size * 3 / 2,
        "{long_size} bytes, not {short_size}"
    );
    assert!(
        long_line < short_line + 200,
        "{long_line}, not {short_line}"
    );
}
