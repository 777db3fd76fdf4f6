//! What is in force, for people.

use super::{
    InForce, View, describe_place, event_names, format_name, place_in_file, place_of_sink,
    webhook_host,
};
use crate::config::{AccessConfig, FigureConfig, ObserveConfig, Organisation, SinkConfig};
use crate::export::terminal::table::{TextColumn, TextTable};
use crate::export::terminal::text::{ACCENT, BOLD, DIM, Line, PLAIN};
use loadtest_console::units;
use loadtest_model::display;
use loadtest_model::plan::{IterationCount, Overrides};

/// The widest a page gets.
const WIDEST: usize = 132;
/// The narrowest a page is laid out for.
const NARROWEST: usize = 60;

/// A name, a value, and where it stands.
#[derive(Debug)]
pub(crate) struct ConfigRow {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) place: String,
    pub(crate) is_set: bool,
}

/// Rows under a title.
#[derive(Debug)]
pub(crate) struct ConfigTable {
    pub(crate) title: String,
    pub(crate) note: &'static str,
    pub(crate) rows: Vec<ConfigRow>,
}

/// Renders the effective configuration in at most `limit` columns, with ANSI colours or as plain text.
pub(super) fn render(view: &View<'_>, limit: usize, colour: bool) -> String {
    let columns = ["key", "from", "value"].map(TextColumn::left);
    let mut text = TextTable::new(columns.into()).wrap_last();
    for table in render_tables(view) {
        let title = (BOLD, format!("{}{}", table.title, table.note));
        for title in [(PLAIN, String::new()), title] {
            text.row(vec![title, Default::default(), Default::default()], None);
        }
        for row in table.rows {
            let (value, place) = if row.is_set {
                (ACCENT, PLAIN)
            } else {
                (PLAIN, DIM)
            };
            let cells = vec![
                (PLAIN, format!("  {}", row.name)),
                (place, row.place),
                (value, row.value),
            ];
            text.row(cells, None);
        }
    }
    let file = match view.file() {
        Some(path) => path.display().to_string(),
        None => format!("none from here up to {}", view.config.folder.display()),
    };
    let mut out = String::new();
    // A path is not cut: somebody may want to open it.
    let file = Line::new().add(DIM, "file  ").add(PLAIN, file);
    file.print(&mut out, usize::MAX, colour);
    for line in text.lines(limit.clamp(NARROWEST, WIDEST)) {
        line.print(&mut out, limit, colour);
    }
    out
}

pub(super) fn render_tables(view: &View<'_>) -> Vec<ConfigTable> {
    let mut tables: Vec<ConfigTable> = Vec::new();
    let mut section = "";
    for key in InForce::all(view) {
        if key.known.section != section {
            section = key.known.section;
            tables.push(ConfigTable {
                title: format!("[{section}]"),
                note: match section {
                    "ci" => "  with --ci, and [run] where it says nothing",
                    _ => "",
                },
                rows: Vec::new(),
            });
        }
        if let Some(table) = tables.last_mut() {
            table.rows.push(ConfigRow {
                name: key.known.name.to_owned(),
                value: key.describe(),
                place: describe_place(key.origin.as_ref()),
                is_set: key.origin.is_some(),
            });
        }
    }
    tables.extend(render_lists(view));
    tables
}

fn render_lists(view: &View<'_>) -> Vec<ConfigTable> {
    let config = view.config;
    let row = |name: &str, value: String, line: usize| ConfigRow {
        name: name.to_owned(),
        value,
        place: place_in_file(line),
        is_set: true,
    };
    let presets = config
        .presets
        .iter()
        .map(|preset| row(&preset.name, load_rows(&preset.overrides), preset.line));
    let notify = config.notify.iter().zip(&config.notify_lines);
    let notify = notify.map(|(notify, line)| {
        let key = match &notify.secret_env {
            None => "not signed".to_owned(),
            Some(name) if (view.is_set)(name) => format!("signed by ${name}"),
            Some(name) => format!("${name} is not set"),
        };
        let words = format!(
            "{} on {}; {key}",
            webhook_host(notify),
            event_names(notify).join(", ")
        );
        row(format_name(notify), words, *line)
    });
    let sinks = config.telemetry.sinks.iter().zip(&config.telemetry.lines);
    let sinks = sinks.map(|(sink, line)| row(sink.format.word(), describe_sink(view, sink), *line));
    let observed = config.observe.iter().zip(&config.observe_lines);
    let observed =
        observed.map(|(source, line)| row(&source.name(), describe_source(view, source), *line));
    let targets = config
        .targets
        .iter()
        .map(|one| row("", one.to_string(), one.line));
    let organisation = config.organisation.iter().flat_map(|organisation| {
        let plan = row(
            "plan",
            organisation.plan.word().to_owned(),
            organisation.line,
        );
        let members = organisation.members.iter();
        let members =
            members.map(|member| row(member.level.word(), member.name.clone(), member.line));
        std::iter::once(plan)
            .chain(members)
            .chain(caller(view, organisation))
    });
    let tables: [(&str, &'static str, Vec<ConfigRow>); 6] = [
        ("[load]", "  selected by --load NAME", presets.collect()),
        ("[[notify]]", "", notify.collect()),
        ("[[telemetry.to]]", "", sinks.collect()),
        ("[[observe]]", "", observed.collect()),
        ("[[targets]]", "", targets.collect()),
        ("[organisation]", "", organisation.collect()),
    ];
    tables
        .into_iter()
        .filter(|(_, _, rows)| !rows.is_empty())
        .map(|(title, note, rows)| ConfigTable {
            title: title.to_owned(),
            note,
            rows,
        })
        .collect()
}

/// `https://mimir.example.com; interval 5s; with $MIMIR_TOKEN`.
fn describe_sink(view: &View<'_>, sink: &SinkConfig) -> String {
    let place = match place_of_sink(view, sink) {
        place if place.is_empty() => "$OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(),
        place => place,
    };
    join_access(view, place, sink.options(), &sink.access)
}

/// `prometheus http://127.0.0.1:9090; db cpu in cores, max < 3.5 cores; interval 5s`.
fn describe_source(view: &View<'_>, source: &ObserveConfig) -> String {
    let place = format!("{} {}", source.kind(), source.place());
    let figures = source.figures();
    let figures = figures.iter().map(FigureConfig::describe);
    let place: Vec<_> = std::iter::once(place).chain(figures).collect();
    join_access(view, place.join("; "), source.options(), &source.access)
}

fn join_access<'a>(
    view: &View<'_>,
    place: String,
    options: impl Iterator<Item = (&'a str, &'a str)>,
    access: &AccessConfig,
) -> String {
    let options = options.map(|(name, value)| format!("{name} {value}"));
    let variables = access.secret_variables().map(|name| {
        if (view.is_set)(name) {
            format!("with ${name}")
        } else {
            format!("${name} is not set")
        }
    });
    let parts: Vec<_> = std::iter::once(place)
        .chain(options)
        .chain(variables)
        .collect();
    parts.join("; ")
}

fn caller(view: &View<'_>, organisation: &Organisation) -> Option<ConfigRow> {
    if organisation.members.is_empty() {
        return None;
    }
    let (value, place) = match &view.caller {
        None => ("unknown user".to_owned(), String::new()),
        Some(caller) => {
            let level = caller.level(view.config);
            let level = level.map_or("no member", crate::config::Level::word);
            let names = caller.names.join(", ");
            (format!("{names}: {level}"), caller.source.to_owned())
        }
    };
    Some(ConfigRow {
        name: "you".to_owned(),
        value,
        place,
        is_set: false,
    })
}

fn load_rows(load: &Overrides) -> String {
    let time = |name: &str, time: Option<std::time::Duration>| {
        time.map(|time| format!("{name} {}", units::show(time)))
    };
    let parts = [
        load.rate_per_second.map(display::format_exact_rate),
        load.iterations.map(|iterations| match iterations {
            IterationCount::Total(count) => display::format_counted(count, "iteration"),
            IterationCount::PerUser { per_user } => {
                format!(
                    "{} per user",
                    display::format_counted(per_user, "iteration")
                )
            }
        }),
        load.users
            .map(|users| display::format_counted(u64::from(users), "user")),
        time("for", load.duration),
        time("ramp-up", load.ramp_up),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    parts.join(", ")
}
