//! The section of streams of events, and of executions that count as good.

use super::{Block, Column, Section, Table, TableCell, TableRow};
use loadtest_model::card::{Card, StepRow, StreamRow};
use loadtest_model::display;

/// Explains the times of streams.
const TIMES: &str = "First event: from the due time of the request to the first event that counts; gap: from each of these \
                     events to the next; per unit: mean time for each unit after the first";

/// Builds a row for each step that reads streams, or that says what a good execution is.
pub(super) fn build_streams(card: &Card) -> Option<Section> {
    let own = |step: &StepRow| step.inner.iter().any(|row| row.stream.is_some());
    let has_streams = (card.steps.iter()).any(|step| step.stream.is_some() || own(step));
    let has_good = card.steps.iter().any(|step| step.good.is_some());
    if !has_streams && !has_good {
        return None;
    }
    let mut columns = vec![Column::text("Step", 1.0)];
    if has_streams {
        columns.extend([
            Column::figure("First event p50").leaves(2),
            Column::figure("First event p95"),
            Column::figure("Gap p95").leaves(1),
            Column::figure("Per unit p95"),
            Column::figure("Units/s").leaves(3),
        ]);
    }
    if has_good {
        columns.push(Column::figure("Good"));
    }
    let caption = if has_streams { TIMES } else { "" };
    let mut table = Table::new(caption, columns);
    for step in &card.steps {
        if step.stream.is_none() && step.good.is_none() && !own(step) {
            continue;
        }
        let mut cells = vec![TableCell::name(&*step.name)];
        if has_streams {
            cells.extend(stream_cells(step.stream.as_ref()));
        }
        if has_good {
            cells.push(good_cell(step));
        }
        table.rows.push(TableRow {
            cells,
            ..TableRow::default()
        });
        for row in step.inner.iter().filter(|row| row.stream.is_some()) {
            let mut cells = vec![TableCell::name(&*row.name)];
            cells.extend(stream_cells(row.stream.as_ref()));
            cells.extend(has_good.then(TableCell::default));
            table.rows.push(TableRow {
                cells,
                is_inner: true,
                ..TableRow::default()
            });
        }
    }
    let title = if has_streams {
        "Streams"
    } else {
        "Good executions"
    };
    Some(Section::new(title, vec![Block::Table(table)]).essential())
}

fn stream_cells(stream: Option<&StreamRow>) -> [TableCell; 5] {
    let time = |time: fn(&StreamRow) -> Option<std::time::Duration>| {
        TableCell::time(stream.and_then(time))
    };
    let units = stream.and_then(|stream| stream.units_per_second);
    [
        time(|stream| stream.first_event.p50),
        time(|stream| stream.first_event.p95),
        time(|stream| stream.gap.p95),
        time(|stream| stream.per_unit.p95),
        TableCell::optional(units, display::format_number),
    ]
}

fn good_cell(step: &StepRow) -> TableCell {
    TableCell::optional(step.good, display::format_percent)
}
