//! The section of the processes that made a load together.

use super::{Block, Column, Form, Section, Table, TableCell};
use crate::export::chart::draw_delays;
use loadtest_model::card::Card;
use loadtest_model::display;
use loadtest_model::record::ShardRun;
use std::fmt::Write as _;
use std::time::Duration;

/// Builds a row for each shard; nothing where one process made the load.
pub(super) fn build_generators(card: &Card) -> Option<Section> {
    if card.generators.is_empty() {
        return None;
    }
    let are_agents = card.generators.iter().all(|shard| shard.agent.is_some());
    let columns = vec![
        Column::word("Shard"),
        Column::text(if are_agents { "Agent" } else { "Run" }, 1.0).leaves(4),
        Column::text("Machine", 1.0).leaves(3),
        Column::figure("Started after").leaves(2),
        Column::figure("Planned"),
        Column::figure("Dropped"),
        Column::figure("Late p99"),
        Column::figure("Busiest worker").leaves(1),
        Column::word("Validity"),
    ];
    let mut caption =
        "Late: start delay caused by the generator; busiest worker: share of one core".to_owned();
    if let Some(spread) = find_start_spread(&card.generators) {
        let spread = display::format_duration(spread);
        write!(caption, ". All started within {spread}, by their clocks").expect("a string");
    }
    let mut table = Table::new(&caption, columns);
    for shard in &card.generators {
        table.push(build_cells(shard));
    }
    let charts = draw_delays(card).map(|chart| Block::Charts(vec![chart]));
    let blocks = charts.into_iter().chain([Block::Table(table)]);
    Some(Section::new("Generators", blocks.collect()))
}

/// Returns the time within which the agents of a run began, with the errors of their clocks.
fn find_start_spread(shards: &[ShardRun]) -> Option<Duration> {
    let times = shards.iter().map(|shard| {
        let error = i128::from(shard.agent.as_ref()?.clock_error_us);
        let began = i128::from(shard.began_after_us);
        Some((began - error, began + error))
    });
    let times: Option<Vec<_>> = times.collect();
    let times = times?;
    let first = times.iter().map(|(earliest, _)| *earliest).min()?;
    let last = times.iter().map(|(_, latest)| *latest).max()?;
    u64::try_from(last - first).ok().map(Duration::from_micros)
}

/// Formats the machine of a shard: `one: linux x86_64, 4 processors, clock +1.20 ms ± 35 µs`.
fn describe_machine(shard: &ShardRun) -> String {
    let machine = &shard.environment;
    let cpus = display::format_counted(machine.cpus as u64, "processor");
    let system = format!("{} {}, {cpus}", machine.os, machine.arch);
    let Some(agent) = &shard.agent else {
        return system;
    };
    let clock = display::format_clock_offset(agent.clock_offset_us, agent.clock_error_us);
    format!("{}: {system}, clock {clock}", agent.host)
}

fn build_cells(shard: &ShardRun) -> Vec<TableCell> {
    vec![
        TableCell::figure(shard.shard.to_string()),
        TableCell::new(Form::Name, &*shard.run_id),
        TableCell::new(Form::Name, describe_machine(shard)),
        TableCell::time(Some(Duration::from_micros(shard.began_after_us))),
        TableCell::figure(display::format_count(shard.planned)),
        TableCell::figure(display::format_count(shard.dropped)),
        TableCell::time(shard.late_p99_us.map(Duration::from_micros)),
        TableCell::figure(display::format_whole_percent(shard.busiest_worker)),
        TableCell::figure(shard.state()),
    ]
}
