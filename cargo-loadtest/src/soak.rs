//! A run of eight hours: the tool folds its journal, grades it and makes its page in the memory of half an hour.

use crate::export::Format;
use crate::journal;
use crate::session::sample;
use allocation_counter::measure;
use loadtest_model::card::Report;
use loadtest_model::metrics::{ErrorKind, ErrorTally, Frame};
use loadtest_model::plan::{GradingDefaults, Overrides, Plan};
use loadtest_model::protocol::JournalLine;
use loadtest_model::record::{EndReason, RunEnd, RunRecord, RunStart, ScenarioRecord};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::time::Duration;

const HOUR: u32 = 3_600;

/// A second of a minute that repeats: its journeys take other times than those of the second before, and some fail.
fn frame(second: u32) -> Frame {
    let started = u64::from(2 + second % 7);
    let mut frame = sample::frame(second, started);
    let tally = &mut frame.windows.steady;
    let time = Duration::from_micros(u64::from(900 + 377 * (second % 60)));
    tally.journey.time.record_n(time, started);
    let buy = &mut tally.steps[1];
    (buy.executed, buy.failed) = (started, started);
    buy.failed_response.record_n(time, started);
    buy.errors = vec![ErrorTally {
        kind: ErrorKind::Status,
        status: Some(503),
        count: started,
        example: "expected 2xx, got 503 Service Unavailable".into(),
        sample: Some("busy".into()),
        traced: None,
    }];
    frame
}

/// Starts a run of so many seconds at a constant rate.
fn start(seconds: u32) -> RunStart {
    let overrides = Overrides {
        duration: Some(Duration::from_secs(seconds.into())),
        ..Overrides::default()
    };
    let start = sample::start();
    let plan = Plan::new(
        &start.definition,
        &overrides,
        &GradingDefaults::default(),
        1,
    );
    RunStart {
        plan: plan.unwrap(),
        ..start
    }
}

/// Writes the journal of so many seconds line by line. Returns the number of journeys in it.
fn write_journal(path: &Path, seconds: u32) -> u64 {
    let minute: Vec<Frame> = (0..60).map(frame).collect();
    let journeys = |frame: &Frame| frame.windows.steady.journey.started;
    let minutes = u64::from(seconds / 60);
    let planned = minutes * minute.iter().map(journeys).sum::<u64>();
    let end = RunEnd {
        ending: EndReason::Completed,
        elapsed_us: u64::from(seconds) * 1_000_000,
        planned,
        ..sample::end()
    };
    // Each second of the minute is encoded once: later only its number differs.
    let lines = minute.into_iter().map(|frame| {
        let number = format!("\"second\":{},", frame.second);
        let line = sample::journal(&[JournalLine::Frame(Box::new(frame))]);
        let (before, after) = line.split_once(&number).unwrap();
        (before.to_owned(), after.to_owned())
    });
    let lines: Vec<_> = lines.collect();
    let mut file = BufWriter::new(File::create(path).unwrap());
    let mut write = |text: String| file.write_all(text.as_bytes()).unwrap();
    write(sample::journal(&[JournalLine::Start(Box::new(start(
        seconds,
    )))]));
    for second in 0..seconds {
        let (before, after) = &lines[second as usize % 60];
        write(format!("{before}\"second\":{second},{after}"));
    }
    write(sample::journal(&[JournalLine::End(end)]));
    planned
}

fn render_page(scenario: ScenarioRecord) -> Vec<u8> {
    let record = RunRecord {
        scenarios: vec![scenario],
        capacity: None,
        ..crate::export::sample::search_record("x")
    };
    Format::Html.render(&Report::grade(&record, None), &[])
}

/// The most memory that folding and rendering take, and the length of the page, in bytes.
fn weigh(seconds: u32, width: u32) -> [u64; 3] {
    let file = tempfile::NamedTempFile::new().unwrap();
    let planned = write_journal(file.path(), seconds);
    let mut folded = None;
    let folding = measure(|| folded = Some(journal::fold(file.path()).unwrap()));
    let ending = EndReason::Died { reason: "x".into() };
    let record = folded.unwrap().into_record(ending).unwrap();
    assert_eq!(record.check().map_err(|wrong| wrong.to_string()), Ok(()));
    assert_eq!(record.end.ending, EndReason::Completed);
    let journeys = &record.windows.steady.journey;
    assert_eq!((record.end.planned, journeys.ok), (planned, planned));
    let cells = &record.cells;
    assert_eq!((cells.width, cells.cells.len()), (width, 450));
    let ok = cells.cells.iter().map(|cell| cell.ok);
    assert_eq!(ok.sum::<u64>(), planned, "every second is there");
    let mut page = Vec::new();
    let rendering = measure(|| page = render_page(record));
    assert!(page.ends_with(b"</html>\n"));
    [folding.bytes_max, rendering.bytes_max, page.len() as u64]
}

#[test]
fn eight_hours_are_folded_and_shown_in_the_memory_of_half_an_hour() {
    let short = weigh(HOUR / 2, 4);
    let long = weigh(8 * HOUR, 64);
    // Both have as many cells; those of the longer run hold longer numbers.
    for (long, short) in long.into_iter().zip(short) {
        assert!(long <= short + short / 10, "{long} bytes, not {short}");
    }
}
