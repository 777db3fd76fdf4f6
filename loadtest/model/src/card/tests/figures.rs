//! Figures, remarks and sentences.

use super::*;
use crate::definition::HttpVersion;

#[test]
fn a_single_request_is_told_by_its_response_time() {
    let mut record = record(&["ping"]);
    record.windows.steady.steps[0] = executed(1_000, ms(7));
    let card = Card::grade(&record, None);
    assert!(card.headline.single_request);
    assert_eq!(card.headline.time.p99, Some(ms(7)));
    assert_eq!(card.statuses[&200], 1_000);
}

/// `ask` reads 1,000 streams of five events and nine units, of which one in ten begins after 500 ms.
fn with_streams(together: u64) -> ScenarioRecord {
    let mut record = record(&["login", "ask"]);
    let step = &mut record.start.definition.steps.to_mut()[1];
    step.stream = Some(StreamDef {
        format: StreamFormat::Detected,
        first: None,
        end: None,
        units: None,
        events: None,
        lasts: None,
        idle: StreamDef::IDLE,
        idle_counts_bytes: false,
        graded_by_response: false,
    });
    step.good = vec![GoodCondition {
        part: Part::FirstEvent,
        at_most: ms(300),
    }]
    .into();
    record.start.plan.grading[1].target = ms(400);
    let mut tally = executed(1_000, ms(2_000));
    (tally.satisfied, tally.tolerating, tally.good) = (900, 100, 900);
    for number in 0..1_000 {
        let stream = StreamSample {
            first_event: Some(if number % 10 == 0 { ms(500) } else { ms(200) }),
            gaps: vec![ms(20); 4],
            units: 9,
            events: 5,
            together,
            is_continued: false,
        };
        tally.stream.get_or_insert_default().record(&stream, true);
    }
    record.windows.steady.steps[1] = tally;
    record
}

#[test]
fn a_stream_is_graded_by_its_first_event() {
    let card = Card::grade(&with_streams(0), None);
    let ask = &card.steps[1];
    let stream = ask.stream.as_ref().unwrap();
    let times = [
        stream.first_event.p50,
        stream.first_event.p95,
        stream.gap.p95,
        stream.per_unit.p95,
    ];
    let times = times.map(|time| time.unwrap().as_millis());
    assert_eq!(times, [200, 500, 20, 10]);
    assert_eq!(
        (stream.gap.samples, stream.per_unit.samples),
        (4_000, 1_000)
    );
    assert_eq!(
        (stream.units, stream.units_per_second),
        (9_000, Some(900.0))
    );
    assert_eq!(ask.good, Some(0.9));
    assert_eq!(ask.grade.unwrap().label(), "A-");
    assert!((ask.grade.unwrap().score - 0.95).abs() < 1e-12);
    let [loss] = &ask.losses[..] else {
        panic!("{:?}", ask.losses)
    };
    assert_eq!(loss.kind, LossKind::Latency);
    assert_eq!(
        loss.words,
        "10.0 % of the first events of `ask` took over 400 ms"
    );
    assert_eq!(card.remarks, [""; 0]);
    assert_eq!(card.steps[0].stream, None);
    assert_eq!(card.steps[0].good, None);
}

#[test]
fn events_that_came_together_are_remarked_on() {
    let card = Card::grade(&with_streams(1), None);
    assert_eq!(
        card.remarks,
        [
            "20.0 % of the events of `ask` came together with the one before: the gaps say how the network delivered \
          them; `per_unit` is the pace of the target"
        ]
    );
}

#[test]
fn streams_without_an_event_that_counts_are_remarked_on() {
    let mut record = with_streams(0);
    record.windows.steady.steps[1].ok += 3;
    let remarks = |record: &ScenarioRecord| Card::grade(record, None).remarks;
    let words = "3 streams of `ask` ended without an event, and are graded by their whole time";
    assert_eq!(remarks(&record), [words]);
    let stream = &mut record.start.definition.steps.to_mut()[1].stream;
    stream.as_mut().unwrap().first = Some("|chunk| chunk.text.is_some()".into());
    let words = "3 streams of `ask` ended without an event that counts, and are graded by their whole time: is its \
                 `first` right?";
    assert_eq!(remarks(&record), [words]);
}

#[test]
fn streams_are_graded_anew_by_their_first_events() {
    let mut record = with_streams(0);
    record.regrade(&GradingDefaults {
        apdex: Some(ms(100)),
        ..GradingDefaults::default()
    });
    let ask = &record.windows.steady.steps[1];
    assert_eq!((ask.satisfied, ask.tolerating), (0, 900));
    let score = Card::grade(&record, None).steps[1].grade.unwrap().score;
    assert!((score - 0.45).abs() < 1e-12);
}

/// `login` and `token` are a group, in which 990 journeys of 20 ms succeeded and 10 failed.
fn with_group(record: &mut ScenarioRecord) {
    let definition = &mut record.start.definition;
    for step in &mut definition.steps.to_mut()[..2] {
        step.group = Some("sign in".into());
    }
    definition.groups = vec![GroupDef {
        name: "sign in".into(),
        line: 30,
        description: "".into(),
        thresholds: Vec::new().into(),
    }]
    .into();
    let group = record.windows.steady.group(0);
    for number in 0..1_000 {
        group.record(GroupSample {
            executed: true,
            failed: number < 10,
            response: ms(20),
        });
    }
}

#[test]
fn a_group_has_a_row_and_limits_and_no_part_in_the_grade() {
    let names = ["login", "token", "buy"];
    let mut record = record(&names);
    let grade = Card::grade(&record, None).grade;
    with_group(&mut record);
    for (metric, bound, abort_after) in [
        (Metric::P95, Bound::Time(ms(15)), None),
        (Metric::Errors, Bound::Ratio(0.02), Some(Duration::ZERO)),
    ] {
        let threshold = Threshold {
            abort_after,
            ..Threshold::new(metric, Comparator::Less, bound)
        };
        record.start.plan.thresholds.push(ScopedThreshold {
            step: None,
            group: Some(0),
            tagged: Vec::new(),
            threshold,
            implied: false,
        });
    }
    record.check().unwrap();
    let card = Card::grade(&record, None);
    let [row] = &card.groups[..] else {
        panic!("{:?}", card.groups);
    };
    assert_eq!((&*row.name, row.line), ("sign in", 30));
    assert_eq!((row.executed, row.failed), (1_000, 10));
    assert_eq!(row.error_rate, Some(0.01));
    assert_eq!(row.per_second, Some(100.0));
    assert_eq!(
        (row.response.samples, row.response.max),
        (1_000, Some(ms(20)))
    );
    assert_eq!(row.time_share, Some(2.0 / 3.0));
    let groups = card.steps.iter().map(|step| step.group.as_deref());
    let groups: Vec<_> = groups.collect();
    assert_eq!(groups, [Some("sign in"), Some("sign in"), None]);
    assert_eq!(card.grade, grade);
    assert_eq!(
        words(&card),
        ["p95 of `sign in`: 20.0 ms, and must be < 15 ms"]
    );
    let kept = card.thresholds.last().unwrap();
    assert_eq!(
        (kept.step.as_deref(), kept.actual),
        (Some("sign in"), Some(0.01))
    );
    record.start.plan.thresholds[1].group = Some(1);
    let error = record.check().unwrap_err().to_string();
    assert!(
        error.ends_with("a threshold is of group 2, and there are 1"),
        "{error}"
    );
}

#[test]
fn a_group_that_never_ran_has_no_figures_and_keeps_no_limit() {
    let mut record = record(&["login", "token"]);
    with_group(&mut record);
    record.windows.steady.groups.clear();
    let metric = Metric::MAX;
    record.start.plan.thresholds.push(ScopedThreshold {
        step: None,
        group: Some(0),
        tagged: Vec::new(),
        threshold: Threshold::new(metric, Comparator::Less, Bound::Time(ms(15))),
        implied: false,
    });
    let card = Card::grade(&record, None);
    assert_eq!(
        (card.groups[0].executed, card.groups[0].per_second),
        (0, None)
    );
    assert_eq!(
        words(&card),
        ["max of `sign in` has no samples, and must be < 15 ms"]
    );
}

#[test]
fn figures_of_a_closed_load_say_what_they_leave_out() {
    let mut record = record(&["ping"]);
    let says = |record: &ScenarioRecord| {
        let notes = Card::grade(record, None).notes;
        notes.iter().any(|note| note.contains("closed loop"))
    };
    assert!(!says(&record));
    record.start.plan.load = Load::users(5, Duration::from_secs(10));
    assert!(says(&record));
}

#[test]
fn much_memory_is_remarked_with_what_holds_it() {
    let mut large = record(&["report"]);
    let remarks = |large: &mut ScenarioRecord, memory_bytes| {
        large.cells.cells = vec![Cell {
            seconds: 1,
            active_users: 100,
            health: Health {
                memory_bytes,
                ..Health::default()
            },
            ..Cell::default()
        }];
        Card::grade(large, None).remarks
    };
    assert!(remarks(&mut large, 999_999_999).is_empty());
    assert_eq!(
        remarks(&mut large, 3_012_000_000),
        [
            "the load test took up to 3.0 GB of memory, 30 MB for each of 100 virtual users: a user keeps what its \
             steps returned until its iteration ends, and its states until the load ends"
        ]
    );
}

#[test]
fn what_is_odd_about_answers_is_remarked_and_changes_nothing() {
    let mut odd = record(&["login", "buy"]);
    let steps = &mut odd.windows.steady.steps;
    (steps[0].ambiguous, steps[1].unsolicited) = (2, 1);
    odd.windows.ramp.steps = vec![StepTally {
        ambiguous: 1,
        ..StepTally::default()
    }];
    let card = Card::grade(&odd, None);
    assert_eq!(
        card.remarks,
        [
            "3 answers in `login` had both a `content-length` and a `transfer-encoding` \
             (`http.ambiguous`): the latter applies, but a proxy in between may read them differently",
            "1 connection was closed in `buy` because the server sent unrequested bytes \
             (`http.unsolicited`): none of them was treated as an answer",
        ]
    );
    let usual = Card::grade(&record(&["login", "buy"]), None);
    assert_eq!((card.verdict, card.grade), (usual.verdict, usual.grade));
    assert!(usual.remarks.is_empty());
}

#[test]
fn requests_that_the_client_often_sends_again_are_a_finding() {
    let remarks = |resent| {
        let mut record = record(&["login", "buy"]);
        let buy = &mut record.windows.steady.steps[1];
        (buy.requests, buy.retries, buy.resent) = (1_000, resent, resent);
        Card::grade(&record, None).remarks
    };
    assert_eq!(remarks(10), [""; 0]);
    assert_eq!(
        remarks(11),
        [
            "11 of 1\u{202f}000 requests of `buy` (1.1 %) were sent again by the client, and are in no error rate: the \
             target closed the kept connection while they were sent, or refused their stream; give it a longer keep-alive \
             time than the pauses of users, or more streams"
        ]
    );
}

#[test]
fn connections_are_those_of_the_whole_run_and_attempts_that_failed_are_none() {
    let mut record = record(&["login", "buy"]);
    let steady = &mut record.windows.steady.steps[1];
    steady.connections = 2;
    steady.phases.connect.record_n(ms(1), 600);
    record.windows.ramp.steps = vec![StepTally::default(); 2];
    record.windows.ramp.steps[1].connections = 10;
    let opened = |at: usize| Card::grade(&record, None).steps[at].phases.connections;
    assert_eq!([opened(0), opened(1)], [0, 12]);
}

#[test]
fn time_without_an_answer_is_not_blamed_on_connecting() {
    let mut record = record(&["ping"]);
    let step = &mut record.windows.steady.steps[0];
    *step = StepTally {
        executed: 10,
        failed: 10,
        requests: 10,
        ..StepTally::default()
    };
    step.service.record_n(ms(30_000), 10);
    step.phases.connect.record_n(ms(1), 10);
    step.errors = vec![error(ErrorKind::TimeoutHead, 10)];
    let why = |record: &ScenarioRecord| Card::grade(record, None).bottleneck.unwrap().why;
    assert_eq!(
        why(&record),
        "> 99.9 % of its time is waiting for an answer that did not come in time: 10 of 10 executions \
         timed out."
    );
    record.windows.steady.steps[0]
        .phases
        .connect
        .record_n(ms(20_000), 10);
    assert!(why(&record).starts_with("67 % of its time is opening TCP connections"));
    record.start.definition.client.http = HttpVersion::Http3;
    assert!(why(&record).starts_with("67 % of its time is QUIC handshakes: "));
    let step = &mut record.windows.steady.steps[0];
    step.sent_bytes = 120_000_000;
    step.phases.upload.record_n(ms(50_000), 10);
    assert_eq!(
        why(&record),
        "71 % of its time is sending the request, 12 MB each: size of the upload, and how fast the server reads it."
    );
    let phases = &mut record.windows.steady.steps[0].phases;
    phases.upload = Histogram::default();
    phases.stream_wait.record_n(ms(60_000), 10);
    assert_eq!(
        why(&record),
        "75 % of its time waited for a stream: all shared connections had as many requests in flight as the \
         target allows, which is one until its SETTINGS arrive."
    );
}

#[test]
fn the_time_of_a_stream_that_fell_silent_was_spent_waiting_for_an_event() {
    let mut record = record(&["follow"]);
    let step = &mut record.windows.steady.steps[0];
    *step = StepTally {
        executed: 10,
        failed: 10,
        requests: 10,
        received_bytes: 800,
        ..StepTally::default()
    };
    step.service.record_n(ms(1_000), 10);
    step.phases.first_byte.record_n(ms(1), 10);
    step.phases.body.record_n(ms(999), 10);
    step.errors = vec![error(ErrorKind::TimeoutEvent, 10)];
    let why = |record: &ScenarioRecord| Card::grade(record, None).bottleneck.unwrap().why;
    assert_eq!(
        why(&record),
        "99.9 % of its time is waiting for an event that did not come in time: 10 of 10 executions timed out."
    );
    // A few are not what takes the time.
    let step = &mut record.windows.steady.steps[0];
    (step.ok, step.satisfied, step.failed) = (9, 9, 1);
    step.errors = vec![error(ErrorKind::TimeoutEvent, 1)];
    assert!(why(&record).starts_with("99.9 % of its time is reading the body, 80 B each"));
}

#[test]
fn the_time_of_requests_that_were_lost_and_sent_again_is_told_as_such() {
    let mut record = record(&["ping"]);
    let step = &mut record.windows.steady.steps[0];
    *step = StepTally {
        executed: 10,
        ok: 10,
        requests: 20,
        retries: 10,
        ..StepTally::default()
    };
    step.service.record_n(ms(210), 10);
    step.phases.first_byte.record_n(ms(10), 10);
    assert_eq!(
        Card::grade(&record, None).bottleneck.unwrap().why,
        "95 % of its time is in requests that had no answer and were sent again."
    );
}

#[test]
fn a_step_that_waits_until_the_target_is_done_takes_the_time_of_its_pauses() {
    let mut record = record(&["poll", "read"]);
    for (at, time) in [(0, 4), (1, 100)] {
        let step = &mut record.windows.steady.steps[at];
        *step = StepTally {
            executed: 10,
            ok: 10,
            requests: 10,
            ..StepTally::default()
        };
        step.response.record_n(ms(time), 10);
        step.service.record_n(ms(time), 10);
        step.phases.first_byte.record_n(ms(time), 10);
    }
    let poll = |record: &ScenarioRecord| {
        let card = Card::grade(record, None);
        (card.bottleneck.unwrap(), card.steps[0].done)
    };
    let (bottleneck, done) = poll(&record);
    assert_eq!((&*bottleneck.name, done), ("read", None));
    let times = record.windows.steady.steps[0].done.insert(Box::default());
    times.ok.record_n(ms(400), 9);
    times.failed.record(ms(800));
    let (bottleneck, done) = poll(&record);
    assert_eq!(&*bottleneck.name, "poll");
    assert_eq!(
        bottleneck.why,
        "99 % of its time is the pauses of `until`: the target was not done yet when it was asked."
    );
    // A failure makes no percentile better.
    let done = done.unwrap();
    assert_eq!((done.samples, done.p99), (10, Some(ms(800))));
}

#[test]
fn without_a_request_there_is_no_rate_of_requests() {
    let mut record = record(&["ping"]);
    record.windows.steady.steps[0].requests = 0;
    let card = Card::grade(&record, None);
    assert_eq!(card.headline.achieved_per_second, None);
    assert_eq!(card.steps[0].per_second, None);
    assert_eq!(card.steps[0].received_bytes_per_second, None);
}

#[test]
fn the_rate_of_requests_is_of_those_that_were_sent() {
    let mut record = record(&["ping"]);
    let step = &mut record.windows.steady.steps[0];
    // as many again fail for an invalid value before anything is sent, and some get no connection
    *step = executed(600, ms(10));
    step.failed_response.record_n(ms(1), 50);
    (step.executed, step.failed) = (1_000, 400);
    for scope in [None, Some(0)] {
        require(&mut record, scope, Metric::Rps, Bound::PerSecond(59.0));
    }
    let card = Card::grade(&record, None);
    assert_eq!(card.steps[0].executed, 1_000);
    assert_eq!(card.steps[0].per_second, Some(60.0));
    assert_eq!(card.headline.achieved_per_second, Some(60.0));
    let rates = card
        .thresholds
        .iter()
        .filter(|row| row.metric == Metric::Rps);
    let rates: Vec<_> = rates.map(|row| row.actual).collect();
    assert_eq!(rates, [Some(60.0); 2]);
}

#[test]
fn the_bottleneck_and_the_slow_tail_may_be_different_steps() {
    let mut record = record(&["login", "browse"]);
    record.windows.steady.steps[0] = executed(1_000, ms(30));
    let journey = &mut record.windows.steady.journey;
    for i in 0..100 {
        let tail = if i < 5 { 500 } else { 5 };
        journey.record_shares(ms(30 + tail), 2, [(0, ms(30)), (1, ms(tail))]);
    }
    let card = Card::grade(&record, None);
    let bottleneck = card.bottleneck.unwrap();
    assert_eq!(
        (bottleneck.name.as_str(), bottleneck.share),
        ("login", 0.75)
    );
    assert!(
        bottleneck
            .why
            .starts_with("100 % of its time is waiting for the first byte")
    );
    let tail = card.tail.unwrap();
    assert_eq!((tail.name.as_str(), tail.journeys), ("browse", 5));
}

#[test]
fn a_long_course_is_thinned() {
    let mut record = record(&["login"]);
    for second in 0..600 {
        record.cells.cells.push(Cell {
            second,
            seconds: 1,
            ok: 100,
            ..Cell::default()
        });
    }
    record.end.elapsed_us = 600_000_000;
    let course = Card::grade(&record, None).course;
    assert_eq!((course.width, course.points.len()), (2, 300));
    assert!((course.points[7].finished_per_second - 100.0).abs() < 1e-9);
    assert_eq!(course.points[0].target_per_second, Some(100.0));
    assert_eq!(course.points[299].target_per_second, None);
}

#[test]
fn the_six_slowest_steps_have_a_course_and_one_step_alone_has_none() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let times = [5, 1, 7, 2, 8, 6, 4, 3].map(Duration::from_millis);
    let of = |time: Duration| {
        let mut histogram = Histogram::default();
        (0..100).for_each(|i| histogram.record(time + Duration::from_micros(i)));
        histogram
    };
    let mut record = record(&names);
    let steps = &mut record.windows.steady.steps;
    steps.resize_with(names.len(), StepTally::default);
    for (step, time) in steps.iter_mut().zip(times) {
        step.response = of(time);
    }
    for second in 0..4 {
        let step = |time| CellStep {
            response: CompactHistogram::from_histogram(&of(time * (second + 1))),
            ..CellStep::default()
        };
        record.cells.cells.push(Cell {
            second,
            seconds: 1,
            ok: 100,
            steps: times.map(step).into(),
            ..Cell::default()
        });
    }
    // In this second no step ended.
    record.cells.cells[2].steps.clear();
    record.end.elapsed_us = 4_000_000;
    let course = Card::grade(&record, None).course;
    let shown: Vec<_> = course
        .steps
        .iter()
        .map(|step| (step.step, &*step.name))
        .collect();
    assert_eq!(
        shown,
        [(0, "a"), (2, "c"), (4, "e"), (5, "f"), (6, "g"), (7, "h")]
    );
    let milliseconds = |step: usize| -> Vec<_> {
        let times = course.steps[step].p95_us.iter();
        times.map(|time| time.map(|time| time / 1000)).collect()
    };
    assert_eq!(milliseconds(0), [Some(5), Some(10), None, Some(20)]);
    assert_eq!(milliseconds(2), [Some(8), Some(16), None, Some(32)]);
    record.windows.steady.steps.truncate(1);
    assert_eq!(Card::grade(&record, None).course.steps, []);
}

#[test]
fn rates_of_a_last_point_that_is_not_over_are_of_its_part() {
    let mut record = record(&["login"]);
    for second in 0..11 {
        record.cells.cells.push(Cell {
            second,
            seconds: 1,
            ok: 100,
            ..Cell::default()
        });
    }
    record.end.elapsed_us = 10_020_000;
    assert_eq!(Card::grade(&record, None).course.points.len(), 10);
    record.end.elapsed_us = 10_250_000;
    let points = Card::grade(&record, None).course.points;
    let rates: Vec<_> = points
        .iter()
        .map(|point| point.finished_per_second)
        .collect();
    assert_eq!((rates.len(), rates[9], rates[10]), (11, 100.0, 400.0));
    record.end.elapsed_us = 11_000_000;
    assert_eq!(Card::grade(&record, None).course.points.len(), 11);
    // users leave for four seconds
    record.end.elapsed_us = 7_000_000;
    assert_eq!(Card::grade(&record, None).course.points.len(), 7);
}

#[test]
fn dependency_failures_read_as_sentences() {
    let row = |variable: Option<&str>, upstream: &str, cause, root: &str| {
        DependencyFailure {
            step: "order".to_owned(),
            variable: variable.map(str::to_owned),
            upstream: upstream.to_owned(),
            cause,
            root_step: root.to_owned(),
            count: 1,
            elsewhere: 0,
            example: "out of stock".into(),
        }
        .describe()
    };
    assert_eq!(
        row(Some("buy"), "buy", RootCause::NotDrawn, "buy"),
        "`order` needed the response of `buy`, which was not drawn"
    );
    assert_eq!(
        row(Some("buy.response.id"), "buy", RootCause::Failed, "login"),
        "`order` needed `buy.response.id` of `buy`: `login` failed"
    );
    assert_eq!(
        row(None, "order", RootCause::Declined, "order"),
        "`order` declined: out of stock"
    );
}

#[test]
fn a_name_with_a_backtick_does_not_part_code_from_prose() {
    let mut record = record(&["log`in", "br`owse"]);
    fail(&mut record, 0, ErrorKind::Status, 100);
    skip(&mut record, 1, 0, 100);
    require(&mut record, Some(0), Metric::Errors, Bound::Ratio(0.01));
    let card = Card::grade(&record, None);
    let lost = card.losses.iter().map(|loss| loss.words.clone());
    let broken = card.thresholds.iter().map(ThresholdRow::reason);
    let kept = card.dependency_failures.iter();
    let kept = kept.map(DependencyFailure::describe);
    let reasons = card.reasons.iter().map(|reason| reason.words.clone());
    let all: Vec<String> = lost.chain(broken).chain(kept).chain(reasons).collect();
    assert!(
        all.iter().any(|words| words.contains("`log'in`")),
        "{all:?}"
    );
    assert!(
        all.iter().any(|words| words.contains("`br'owse`")),
        "{all:?}"
    );
    for words in &all {
        assert!(words.matches('`').count().is_multiple_of(2), "{words}");
    }
}
