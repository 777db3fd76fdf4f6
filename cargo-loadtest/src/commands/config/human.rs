//! What is in force, for people.

use super::{InForce, View, describe_place, event_names, format_name, place_in_file, webhook_host};
use crate::config::Organisation;
use crate::export::terminal::text::{ACCENT, BOLD, DIM, Line, PLAIN, clean, width};
use crate::units;
use loadtest::targets::Listed;
use loadtest_model::display;
use loadtest_model::plan::Overrides;

/// The column of names.
const NAMES: usize = 2;
/// The column of values.
const VALUES: usize = 18;
/// The widest a page gets.
const WIDEST: usize = 132;
/// The narrowest a page is laid out for.
const NARROWEST: usize = 60;
/// The least a value gets.
const LEAST: usize = 16;

/// A name, a value, and where it stands.
struct ConfigRow {
    name: String,
    value: String,
    place: String,
    is_set: bool,
}

/// Rows under a title.
struct ConfigTable {
    title: String,
    note: &'static str,
    rows: Vec<ConfigRow>,
}

/// Renders the effective configuration in at most `limit` columns, with ANSI colours or as plain text.
pub(super) fn render(view: &View<'_>, limit: usize, colour: bool) -> String {
    let tables = render_tables(view);
    let limit = limit.clamp(NARROWEST, WIDEST);
    let rows = || tables.iter().flat_map(|table| &table.rows);
    let widest = |of: fn(&ConfigRow) -> &str| rows().map(|row| width(of(row))).max().unwrap_or(0);
    let places = (VALUES + widest(|row| &row.value) + 2)
        .min(limit.saturating_sub(widest(|row| &row.place)))
        .max(VALUES + LEAST);
    let mut out = String::new();
    let file = match view.file() {
        Some(path) => path.display().to_string(),
        None => format!("none from here up to {}", view.config.folder.display()),
    };
    // A path is not cut: somebody may want to open it.
    Line::new()
        .add(DIM, "file")
        .to(VALUES)
        .add(PLAIN, clean(&file))
        .print(&mut out, usize::MAX, colour);
    for table in &tables {
        out.push('\n');
        let title = Line::new().add(BOLD, clean(&table.title));
        title.add(DIM, table.note).print(&mut out, limit, colour);
        for row in &table.rows {
            let mut lines = wrap_words(&clean(&row.value), places - VALUES - 2).into_iter();
            let (value, place) = if row.is_set {
                (ACCENT, PLAIN)
            } else {
                (PLAIN, DIM)
            };
            let name = Line::new().to(NAMES).add(PLAIN, clean(&row.name));
            name.to(VALUES)
                .add(value, lines.next().unwrap_or_default())
                .to(places)
                .add(place, clean(&row.place))
                .print(&mut out, limit, colour);
            for line in lines {
                let line = Line::new().to(VALUES).add(value, line);
                line.print(&mut out, limit, colour);
            }
        }
    }
    out
}

fn render_tables(view: &View<'_>) -> Vec<ConfigTable> {
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
    let targets = config
        .targets
        .iter()
        .map(|one| row("", target_rows(one), one.line));
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
    let tables: [(&str, &'static str, Vec<ConfigRow>); 4] = [
        ("[load]", "  chosen by --load NAME", presets.collect()),
        ("[[notify]]", "", notify.collect()),
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

fn caller(view: &View<'_>, organisation: &Organisation) -> Option<ConfigRow> {
    if organisation.members.is_empty() {
        return None;
    }
    let (value, place) = match &view.caller {
        None => ("nobody knows who".to_owned(), String::new()),
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
        load.iterations
            .map(|count| display::format_counted(count, "iteration")),
        load.users
            .map(|users| display::format_counted(u64::from(users), "user")),
        time("for", load.duration),
        time("ramp-up", load.ramp_up),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

fn target_rows(target: &Listed) -> String {
    let place = target.origin();
    let parts = [
        Some(format!("{place} of {}", target.owner)),
        target
            .max_rate
            .map(|rate| format!("at most {}", display::format_exact_rate(rate))),
        target.max_in_flight.map(|most| format!("{most} in flight")),
        target
            .max_duration
            .map(|time| format!("for {}", units::show(time))),
        (!target.addresses.is_empty()).then(|| {
            let all: Vec<_> = target.addresses.iter().map(ToString::to_string).collect();
            format!("at {}", all.join(", "))
        }),
        target.proof.then(|| "if it says so itself".to_owned()),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

/// Breaks a text into lines of at most `limit` columns: at spaces, else within a word.
fn wrap_words(text: &str, limit: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is always a line");
        if !last.is_empty() && width(last) + 1 + width(word) > limit {
            lines.push(String::new());
        } else if !last.is_empty() {
            last.push(' ');
        }
        for letter in word.chars() {
            let last = lines.last_mut().expect("there is always a line");
            let mut with = last.clone();
            with.push(letter);
            if width(&with) > limit && !last.is_empty() {
                lines.push(letter.to_string());
            } else {
                *last = with;
            }
        }
    }
    lines
}
