//! The section of traces: sampled journeys that were slow or failed, with the addresses of their traces.

use super::{Block, Column, Form, Section, Table, TableCell};
use loadtest_model::card::{Card, TraceRow, TraceSubject};
use loadtest_model::display;
use loadtest_model::metrics::status_label;

/// Builds the traces that are worth a look.
pub(super) fn build_traces(card: &Card) -> Option<Section> {
    let columns = vec![
        Column::text("Sampled", 1.0),
        Column::figure("After").leaves(1),
        Column::figure("Time"),
        Column::text("Trace", 2.0),
    ];
    let mut table = Table::list(
        "Sampled journeys and steps, with links to their traces",
        columns,
    );
    for row in &card.traces {
        table.push(vec![
            TableCell::prose(describe_subject(&row.what)),
            TableCell::figure(display::format_micros(row.begin_us)),
            TableCell::figure(display::format_micros(row.time_us)),
            trace_cell(row),
        ]);
    }
    (!table.rows.is_empty()).then(|| Section::new("Traces", vec![Block::Table(table)]).folded())
}

fn trace_cell(row: &TraceRow) -> TableCell {
    TableCell {
        address: row.link.clone(),
        ..TableCell::new(Form::Code, row.trace_id.to_string())
    }
}

fn describe_subject(what: &TraceSubject) -> String {
    match what {
        TraceSubject::SlowJourney { number } => format!("iteration {number}, of the slowest"),
        TraceSubject::SlowStep { step } => {
            format!("the slowest {}", display::quote_name(step))
        }
        TraceSubject::FirstFailure { step, kind, status } => {
            let status =
                status.map_or_else(String::new, |status| format!(" {}", status_label(status)));
            let step = display::quote_name(step);
            format!("the first failure of {step}: `{kind}`{status}")
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::export::{html, markdown, sample, terminal};
    use loadtest_model::card::{TraceRow, TraceSubject};
    use loadtest_model::trace::RunIds;

    #[test]
    fn every_format_leads_to_the_trace_and_a_hostile_address_ends_nothing() {
        let trace_id = RunIds::new("r", "s", 1).trace(4);
        let mut report = sample::passed();
        report.cards[0].traces = vec![TraceRow {
            what: TraceSubject::SlowStep {
                step: "login".to_owned(),
            },
            begin_us: 2_000_000,
            time_us: 812_000,
            trace_id,
            span_id: trace_id.step(0),
            link: Some(format!("http://127.0.0.1:16686/t/{trace_id}?a=(b)&c='|`")),
        }];
        let page = html::render(&report);
        let address = format!("http://127.0.0.1:16686/t/{trace_id}");
        let link = format!(
            "<a href=\"{address}?a=(b)&amp;c=&#x27;|`\" rel=\"noreferrer\"><code>{trace_id}</code></a>"
        );
        assert!(page.contains(&link), "{page}");
        let text = markdown::render(&report);
        let link = format!("[`{trace_id}`](<{address}?a=(b)&c='%7C%60>)");
        assert!(
            text.contains(&link) && text.contains("the slowest `login`"),
            "{text}"
        );
        let text = terminal::render(&report, 200, false, terminal::Extent::Full);
        assert!(text.contains(&trace_id.to_string()), "{text}");
    }
}
