//! An hour of a run: what it keeps does not grow with its length.

use super::*;
use allocation_counter::measure;
use loadtest_model::metrics::Cells;
use loadtest_model::protocol::JournalLine;
use loadtest_model::record::{RunStart, ScenarioRecord};

/// A minute of a run: quick and slow answers, and some that fail in several ways.
fn minute() -> Vec<Frame> {
    let load = users(2, ms(0), Duration::from_secs(60));
    let ran = run(load, vec![step("a")], |at| {
        let time = ms(200 + 7 * (at.as_secs() % 40));
        match at.as_secs() {
            7 => (time, Err(ErrorKind::ConnectRefused)),
            8 => (time, Err(ErrorKind::ResetBeforeHead)),
            _ => (time, Ok("")),
        }
    });
    ran.frames
}

/// Puts `minute` again and again into a journal and a record, as `cargo loadtest` does. The record, and the
/// length of the longest line of the journal.
fn recorded(minute: &[Frame], seconds: u32) -> (ScenarioRecord, usize) {
    let load = users(2, ms(0), Duration::from_secs(seconds.into()));
    let (scenario, plan) = planned(load, vec![step("a")]);
    let mut record = ScenarioRecord::new(RunStart {
        definition: scenario.definition.clone(),
        plan,
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
    let mut longest = 0;
    for second in 0..seconds {
        let mut frame = minute[second as usize % 60].clone();
        frame.second = second;
        record.absorb(&frame);
        // A line takes long without optimisation, and each is forgotten when it is written.
        if second.is_multiple_of(10) {
            let line = serde_json::to_vec(&JournalLine::Frame(Box::new(frame))).unwrap();
            longest = line.len().max(longest);
        }
    }
    (record, longest)
}

#[test]
fn an_hour_takes_no_more_memory_than_twenty_minutes() {
    let minute = minute();
    let mut ran = Vec::new();
    for (seconds, width) in [(1_200, 2), (3_600, 8)] {
        let mut kept = None;
        let memory = measure(|| kept = Some(recorded(&minute, seconds)));
        let (record, longest_line) = kept.unwrap();
        let cells = &record.cells;
        assert_eq!(
            (cells.width, cells.cells.len() as u32),
            (width, seconds / width)
        );
        assert!(cells.cells.len() <= Cells::LIMIT);
        assert!(cells.cells.iter().all(|cell| cell.seconds == width));
        let ended: u64 = cells.cells.iter().map(|cell| cell.ok + cell.failed).sum();
        let journeys = &record.windows.steady.journey;
        assert_eq!(ended, journeys.ok + journeys.failed, "nothing is lost");
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
    assert!(
        long_size < short_size + short_size / 10,
        "{long_size} bytes, not {short_size}"
    );
    assert_eq!(long_line, short_line);
}

#[test]
fn a_worker_holds_no_more_the_longer_it_works() {
    let most = |seconds| {
        let load = users(2, ms(0), Duration::from_secs(seconds));
        let mut kept = None;
        let memory = measure(|| kept = Some(run(load, vec![step("a")], |_| (ms(900), Ok("")))));
        let frames: usize = kept.map_or(0, |ran| ran.frames.len());
        // The frames are handed over; here they are kept to be looked at, and all are alike.
        memory.bytes_max / frames as u64
    };
    let (short, long) = (most(30), most(120));
    assert!(
        long <= short + short / 20,
        "{long} bytes a second, not {short}"
    );
}
