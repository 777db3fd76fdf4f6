//! The section of the processes that made a load together.

use super::{Block, Column, Form, Section, Table, TableCell};
use loadtest_model::card::Card;
use loadtest_model::display;
use loadtest_model::record::ShardRun;
use std::time::Duration;

/// Builds a row for each shard; nothing where one process made the load.
pub(super) fn build_generators(card: &Card) -> Option<Section> {
    if card.generators.is_empty() {
        return None;
    }
    let columns = vec![
        Column::word("Shard"),
        Column::text("Run", 1.0).leaves(4),
        Column::text("Machine", 1.0).leaves(3),
        Column::text("Began", 1.0).leaves(2),
        Column::figure("Planned"),
        Column::figure("Dropped"),
        Column::figure("Late p99"),
        Column::figure("Busiest worker").leaves(1),
    ];
    let caption =
        "Late is the delay of starts by the generator; the busiest worker is a share of one core";
    let mut table = Table::new(caption, columns);
    for shard in &card.generators {
        table.push(build_cells(shard));
    }
    Some(Section::new("Generators", vec![Block::Table(table)]))
}

fn build_cells(shard: &ShardRun) -> Vec<TableCell> {
    let host = &shard.environment;
    let cpus = display::format_counted(host.cpus as u64, "processor");
    vec![
        TableCell::figure(shard.shard.to_string()),
        TableCell::new(Form::Name, &*shard.run_id),
        TableCell::new(Form::Name, format!("{} {}, {cpus}", host.os, host.arch)),
        TableCell::new(Form::Name, &*shard.started_at),
        TableCell::figure(display::format_count(shard.planned)),
        TableCell::figure(display::format_count(shard.dropped)),
        TableCell::time(shard.late_p99_us.map(Duration::from_micros)),
        TableCell::figure(display::format_whole_percent(shard.busiest_worker)),
    ]
}
