use super::*;
use crate::export::sample;
use loadtest_model::metrics::MessageCounts;
use std::fmt::Write as _;
use std::time::Duration;

/// Writes a page in plain text: all that it says, and what decides how a format shows it.
fn outline(page: &Page) -> String {
    let mut out = format!("{} · {} · {}\n", page.title, page.about, page.outcome);
    if !page.is_alone && !page.is_search {
        write_table(&mut out, &page.scenarios);
    }
    for sheet in &page.sheets {
        let _ = writeln!(
            out,
            "\n# {:?} {:?} {}: {} · {}",
            sheet.kind, sheet.tone, sheet.verdict, sheet.name, sheet.about
        );
        let _ = writeln!(out, "{} {:?}", sheet.description, sheet.tags);
        if let Some(badge) = &sheet.badge {
            let _ = writeln!(
                out,
                "{} {} {:?} {:?}",
                badge.title, badge.label, badge.tone, badge.notes
            );
        }
        write_sentences(&mut out, &sheet.remarks);
        for tile in &sheet.tiles {
            let alarm = if tile.is_alarming { " !" } else { "" };
            let _ = writeln!(
                out,
                "[{}: {} {}{alarm}]",
                tile.title, tile.figure, tile.note
            );
        }
        let _ = writeln!(out, "{}", sheet.tiles_note);
        for section in &sheet.sections {
            let _ = writeln!(out, "\n## {}", section.title);
            write_blocks(&mut out, &section.blocks);
        }
    }
    let _ = writeln!(out, "\n{}", page.footer());
    let lines: Vec<&str> = out.lines().map(str::trim_end).collect();
    lines.join("\n")
}

fn write_blocks(out: &mut String, blocks: &[Block]) {
    for block in blocks {
        match block {
            Block::Table(table) => write_table(out, table),
            Block::Sentences(sentences) => write_sentences(out, sentences),
            Block::Facts(facts) => {
                for fact in facts {
                    let copy = fact.copy.iter().map(|copy| format!(" [copy {copy}]"));
                    let copy: String = copy.collect();
                    let _ = writeln!(out, "{}: {}{copy}", fact.label, fact.value);
                }
            }
            Block::Charts(charts) => {
                for chart in charts {
                    let _ = writeln!(out, "<{}>", chart.title);
                }
            }
            Block::Strip(chart, table) => {
                let _ = writeln!(out, "<{}> or", chart.title);
                write_table(out, table);
            }
        }
    }
}

fn write_sentences(out: &mut String, sentences: &[Sentence]) {
    for sentence in sentences {
        let mark = sentence.tone.mark().filter(|_| sentence.is_marked);
        let mark = mark.map_or(String::new(), |mark| format!("{mark} "));
        let small = if sentence.is_small { "· " } else { "" };
        let help = sentence
            .help
            .as_ref()
            .map_or(String::new(), |help| format!(" → {help}"));
        let _ = writeln!(
            out,
            "{mark}{small}{} {}{help}",
            sentence.lead, sentence.words
        );
    }
}

fn write_table(out: &mut String, table: &Table) {
    let titles: Vec<&str> = table.columns.iter().map(|column| &*column.title).collect();
    let _ = writeln!(out, "({})\n| {}", table.caption, titles.join(" | "));
    for row in &table.rows {
        let cells = row.cells.iter().map(|cell| {
            let tone = match cell.tone {
                Tone::Bad => "!",
                Tone::Fair => "~",
                _ => "",
            };
            let notes = cell.notes.iter().map(|(_, note)| format!(" / {note}"));
            format!("{tone}{}{}", cell.text, notes.collect::<String>())
        });
        let inner = match row.level() {
            0 => "|".to_owned(),
            level => "↳".repeat(level),
        };
        let flag = row.flag.map_or(String::new(), |flag| format!(" ({flag})"));
        let _ = writeln!(
            out,
            "{inner} {}{flag}",
            cells.collect::<Vec<_>>().join(" | ")
        );
    }
}

#[test]
fn golden_pages() {
    for (name, report) in sample::all() {
        if !["long", "huge"].contains(&name) {
            insta::assert_snapshot!(name, outline(&Page::new(&report)));
        }
    }
}

fn tables(page: &Page) -> Vec<&Table> {
    let mut all = vec![&page.scenarios];
    for section in page.sheets.iter().flat_map(|sheet| &sheet.sections) {
        all.extend(section.blocks.iter().filter_map(|block| match block {
            Block::Table(table) | Block::Strip(_, table) => Some(table),
            _ => None,
        }));
    }
    all
}

#[test]
fn every_row_of_a_table_has_its_columns() {
    for (name, report) in sample::all() {
        let page = Page::new(&report);
        for table in tables(&page) {
            for row in &table.rows {
                assert_eq!(
                    row.cells.len(),
                    table.columns.len(),
                    "{name}: {}",
                    table.caption
                );
            }
        }
    }
}

/// Returns the text of a section, empty where there is none.
fn section(report: &Report, title: &str) -> String {
    let page = Page::new(report);
    let sections = page.sheets.iter().flat_map(|sheet| &sheet.sections);
    let mut out = String::new();
    for section in sections.filter(|section| section.title == title) {
        write_blocks(&mut out, &section.blocks);
    }
    out
}

#[test]
fn executions_account_for_every_iteration_that_reached_a_step() {
    assert_eq!(section(&sample::single(), "Executions by step"), "");
    let mut report = sample::failed();
    let titles = |report: &Report| {
        let accounts = section(report, "Executions by step");
        accounts.lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(
        titles(&report),
        "| Step | Planned | Executed | Failed | Skipped | Not drawn | Weight | Observed | 95 % interval"
    );
    let step = &mut report.cards[0].steps[1];
    (step.left_out, step.skipped_not_drawn) = (1, 2);
    (step.kept, step.cancelled) = (4, 8);
    step.planned += 15;
    assert_eq!(titles(&report).matches('|').count(), 13);
    let page = Page::new(&report);
    let tables = tables(&page);
    let table = tables
        .iter()
        .find(|table| table.columns[1].title == "Planned")
        .unwrap();
    let counts = table
        .columns
        .iter()
        .take_while(|column| column.title != "Weight");
    let counts = counts.count();
    for row in &table.rows {
        let counts = row.cells[1..counts]
            .iter()
            .map(|cell| cell.text.replace('\u{202f}', "").parse::<u64>());
        let counts: Vec<u64> = counts.map(Result::unwrap).collect();
        // `failed` is a part of `executed`.
        assert_eq!(
            counts[0],
            counts[1] + counts[3..].iter().sum::<u64>(),
            "{counts:?}"
        );
    }
}

#[test]
fn executions_are_shown_where_steps_did_not_run_or_were_tried_again() {
    let mut report = sample::passed();
    for step in &mut report.cards[0].steps {
        (step.skipped, step.not_drawn, step.retries) = (0, 0, 0);
    }
    report.cards[0].weights.clear();
    assert_eq!(section(&report, "Executions by step"), "");
    let step = &mut report.cards[0].steps[0];
    (step.cancelled, step.planned) = (7, step.planned + 7);
    (step.requests, step.retries) = (12_000, 2_000);
    let accounts = section(&report, "Executions by step");
    let rows: Vec<&str> = accounts.lines().skip(1).take(2).collect();
    assert_eq!(
        rows,
        [
            "| Step | Planned | Executed | Failed | Cut off | Requests",
            "| login | 10\u{202f}007 | 10\u{202f}000 | 0 | 7 | 12\u{202f}000",
        ]
    );
}

#[test]
fn requests_bytes_and_connections_of_all_steps_are_summed_up() {
    let mut report = sample::passed();
    let sum = |report: &Report| {
        let steps = section(report, "Steps");
        let last = steps.lines().last().unwrap_or_default();
        last.trim_start_matches("·  ").to_owned()
    };
    let steps = &mut report.cards[0].steps;
    for step in steps.iter_mut() {
        (step.requests, step.sent_bytes, step.received_bytes) = (1_000, 2_000, 3_000_000);
        (step.retries, step.resent, step.phases.connections) = (0, 0, 0);
    }
    steps.truncate(2);
    assert_eq!(
        sum(&report),
        "2\u{202f}000 requests: 4.0 kB sent, 6.0 MB received."
    );
    report.cards[0].steps[0].phases.connections = 1;
    assert_eq!(
        sum(&report),
        "2\u{202f}000 requests: 4.0 kB sent, 6.0 MB received. Whole run: 1 connection."
    );
    report.cards[0].steps[0].phases.connections = 0;
    let steps = &mut report.cards[0].steps;
    (steps[0].retries, steps[0].resent) = (12, 2);
    (steps[1].retries, steps[1].resent) = (1, 1);
    let again = "; 3 sent again by the client: the target had not started them; 10 sent again by `retry` or `until`.";
    assert!(sum(&report).ends_with(again), "{}", sum(&report));
    for step in &mut report.cards[0].steps {
        step.requests = 0;
    }
    assert!(sum(&report).starts_with('|'), "{}", sum(&report));
}

#[test]
fn grpc_calls_are_shown_with_their_codes_by_name_and_their_messages() {
    let mut report = sample::sender();
    assert_eq!(section(&report, "gRPC calls"), "");
    let row = &mut report.cards[0].steps[4].inner[0];
    "shop.Cart/Add".clone_into(&mut row.name);
    row.statuses = [(0, 1_200), (5, 3), (42, 1)].into();
    row.messages = Some(MessageCounts {
        sent: 1_204,
        received: 1_200,
    });
    let calls = section(&report, "gRPC calls");
    let rows: Vec<&str> = calls.lines().skip(1).collect();
    assert_eq!(
        rows,
        [
            "| Call | Calls | Status | Messages sent | Messages received",
            "| get_order |  |  |  | ",
            "\u{21b3} shop.Cart/Add | 200 | OK 1\u{202f}200 \u{b7} NOT_FOUND 3 \u{b7} 42 1 | 1\u{202f}204 | 1\u{202f}200",
        ]
    );
}

#[test]
fn a_weight_outside_its_interval_is_marked() {
    let mut report = sample::failed();
    assert!(!section(&report, "Executions by step").contains("(outside)"));
    report.cards[0].weights[0].plausible = false;
    assert!(section(&report, "Executions by step").contains("78.9 % – 80.5 % (outside)"));
}

#[test]
fn a_declared_version_is_called_one() {
    let mut report = sample::failed();
    assert!(section(&report, "Environment").contains("fingerprint: 9c1d5a20b7e4\n"));
    report.cards[0].setting.version = Some("spring-sale-2026".to_owned());
    let facts = section(&report, "Environment");
    assert!(
        facts.contains("version: spring-sale-2026 (9c1d5a20b7e4)\n"),
        "{facts}"
    );
    assert!(!facts.contains("fingerprint"), "{facts}");
}

#[test]
fn the_slowest_journey_names_what_took_long_and_can_be_run_again() {
    let mut report = sample::passed();
    let journey = &mut report.cards[0].slowest[0];
    (journey.delay_us, journey.time_us, journey.ok) = (300_000, 1_000_000, false);
    journey.own_us = 200_000;
    for (step, ms) in journey.steps.iter_mut().zip([20, 10, 30, 400, 40]) {
        step.time_us = ms * 1_000;
    }
    journey.steps[3].ok = false;
    let number = journey.number.clone();
    let slowest = section(&report, "Slowest journeys");
    let words = format!(
        "Iteration {number} took 1.00 s, failed: 300 ms late, `create_order` 400 ms (failed), 4 other steps 100 ms, 200 ms outside of requests: in \
         the scenario's own code, or waiting for a thread of the generator."
    );
    let again = format!(
        "`cargo loadtest debug shop::load::checkout_flow --seed 1729 --iteration {number}`"
    );
    assert!(
        slowest.contains(&words) && slowest.contains(&again),
        "{slowest}"
    );
    // All parts that can be seen are said, and a single step has its name.
    let journey = &mut report.cards[0].slowest[0];
    journey.steps.truncate(1);
    (journey.delay_us, journey.own_us) = (500_000, 480_000);
    let slowest = section(&report, "Slowest journeys");
    let words = "failed: 500 ms late, `login` 20.0 ms, 480 ms outside of requests: in the";
    assert!(slowest.contains(words), "{slowest}");
    report.cards[0].identity = "curl::get_orders".to_owned();
    let slowest = section(&report, "Slowest journeys");
    assert!(
        slowest.contains("`cargo loadtest debug -- curl ..` shows them"),
        "{slowest}"
    );
}

#[test]
fn all_formats_show_the_same_digits() {
    use crate::export::{html, markdown, terminal};
    let mut report = sample::failed();
    // Halves of a microsecond are where roundings part.
    for ns in [82_500, 372_500, 9_994_500, 99_949_500] {
        let time = Some(Duration::from_nanos(ns));
        let card = &mut report.cards[0];
        for times in [&mut card.headline.time, &mut card.steps[0].response] {
            for quantile in [
                &mut times.p50,
                &mut times.p90,
                &mut times.p95,
                &mut times.p99,
                &mut times.p99_9,
                &mut times.max,
            ] {
                *quantile = time;
            }
        }
        let words = display::format_duration(Duration::from_nanos(ns));
        for text in [
            terminal::render(&report, 200, false, terminal::Extent::Full),
            markdown::render(&report).replace('\u{a0}', " "),
            html::render(&report),
        ] {
            assert!(text.matches(&words).count() >= 2, "{words}\n{text}");
        }
    }
}
