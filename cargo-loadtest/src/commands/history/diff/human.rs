//! The difference for people.

use super::super::entry::short;
use super::Diff;
use super::change::{FieldChange, ScenarioChange, StepChange};
use super::side::Side;
use crate::export::terminal::text::{
    ACCENT, BAD, BOLD, DIM, FAIR, GOOD, Line, PLAIN, clean, shorten, width, wrap,
};
use anstyle::Style;

pub(super) fn render(diff: &Diff, limit: usize, colour: bool) -> String {
    let mut lines = vec![
        Line::new().add(DIM, "- ").join(side(&diff.base)),
        Line::new().add(DIM, "+ ").join(side(&diff.new)),
    ];
    for change in &diff.scenarios {
        lines.push(Line::new());
        scenario(change, limit, &mut lines);
    }
    for (sign, style, only) in [
        ("-", BAD, &diff.only_in_base),
        ("+", GOOD, &diff.only_in_new),
    ] {
        for identity in only {
            lines.push(Line::new());
            let line = Line::new().add(style, format!("{sign} "));
            lines.push(line.add(BOLD, clean(identity)).add(DIM, ": only there"));
        }
    }
    lines.push(Line::new());
    if let Some(note) = &diff.sources.note {
        let note = wrap(&clean(note), limit);
        lines.extend(note.into_iter().map(|line| Line::new().add(DIM, line)));
    }
    let mut text = String::new();
    for line in lines {
        line.print(&mut text, limit, colour);
    }
    if let Some(command) = &diff.sources.command {
        // Never cut, so that it can be copied.
        text.push_str(&clean(command));
        text.push('\n');
    }
    text
}

/// `20261121-143005-k3f9, 2026-11-21 14:30, commit 1a2b3c4*`
fn side(side: &Side) -> Line {
    let minute: String = clean(&side.started_at).chars().take(16).collect();
    let mut words = format!("{}, {}", clean(&side.run_id), minute.replace('T', " "));
    if let Some(commit) = &side.commit {
        let star = if side.uncommitted_changes == Some(true) {
            "*"
        } else {
            ""
        };
        words = format!("{words}, commit {}{star}", clean(short(commit)));
    }
    Line::new().add(PLAIN, words)
}

fn scenario(change: &ScenarioChange, limit: usize, lines: &mut Vec<Line>) {
    let mut title = Line::new().add(BOLD, clean(&change.base));
    if change.base != change.new {
        title = title.add(DIM, " → ").add(BOLD, clean(&change.new));
    }
    lines.push(title);
    let name = |fingerprint: &str, version: &Option<String>| {
        let words = version.as_ref().map(|words| format!(" {words:?}"));
        clean(&format!(
            "{}{}",
            short(fingerprint),
            words.unwrap_or_default()
        ))
    };
    let base = name(&change.base_fingerprint, &change.base_version);
    let new = name(&change.new_fingerprint, &change.new_version);
    let line = Line::new().add(PLAIN, "  ");
    lines.push(if change.same_version {
        line.add(GOOD, "the same version ").add(ACCENT, new)
    } else {
        let line = line.add(PLAIN, "version ").add(ACCENT, base);
        line.add(DIM, " → ").add(ACCENT, new)
    });
    if change.code_changed {
        let words = "  no step changed; its code outside of steps did: a check, a setup, a feed";
        lines.push(Line::new().add(PLAIN, words));
    }
    fields(&change.fields, "  ", limit, lines);
    for one in &change.steps {
        step(one, limit, lines);
    }
    if !change.run.is_empty() {
        lines.push(Line::new().add(PLAIN, "  the runs differ too:"));
        fields(&change.run, "    ", limit, lines);
    }
}

fn step(change: &StepChange, limit: usize, lines: &mut Vec<Line>) {
    let mut notes = Vec::new();
    let (sign, style): (&str, Style) = match (change.base_number, change.new_number) {
        (None, Some(number)) => {
            notes.push(format!("added as step {number}"));
            ("+", GOOD)
        }
        (Some(number), None) => {
            notes.push(format!("removed, it was step {number}"));
            ("-", BAD)
        }
        (base, new) => {
            if let (Some(base), Some(new)) = (base.filter(|_| change.moved), new) {
                notes.push(format!("moved from step {base} to step {new}"));
            }
            ("~", FAIR)
        }
    };
    if change.code_changed {
        notes.push("its code changed".to_owned());
    }
    let mut line = Line::new()
        .add(style, format!("  {sign} "))
        .add(BOLD, clean(&change.step));
    if !notes.is_empty() {
        line = line.add(PLAIN, format!(": {}", notes.join("; ")));
    }
    lines.push(line);
    fields(&change.fields, "      ", limit, lines);
}

/// `weight  1 → 0.8`; values that are too long for that stand below one another.
fn fields(changes: &[FieldChange], indent: &str, limit: usize, lines: &mut Vec<Line>) {
    const NONE: &str = "(none)";
    let names: Vec<String> = changes.iter().map(|change| clean(&change.field)).collect();
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    for (name, change) in names.iter().zip(changes) {
        let value =
            |value: &Option<String>| value.as_deref().map_or_else(|| NONE.to_owned(), clean);
        let (base, new) = (value(&change.base), value(&change.new));
        let begin = Line::new()
            .add(PLAIN, indent)
            .add(DIM, name.clone())
            .to(width(indent) + widest + 2);
        let room = limit.saturating_sub(begin.width());
        if width(&base) + width(&new) + 3 <= room {
            let line = begin.add(BAD, base).add(DIM, " → ").add(GOOD, new);
            lines.push(line);
            continue;
        }
        let (base, new) = apart(&base, &new, room.saturating_sub(2));
        lines.push(begin.clone().add(BAD, format!("- {base}")));
        let below = Line::new().to(begin.width());
        lines.push(below.add(GOOD, format!("+ {new}")));
    }
}

/// Both texts cut to `room`, so that where they begin to differ is seen.
fn apart(base: &str, new: &str, room: usize) -> (String, String) {
    const BEFORE: usize = 12;
    let same = base.chars().zip(new.chars());
    let same = same.take_while(|(one, other)| one == other).count();
    let skipped = same.saturating_sub(BEFORE);
    let cut = |text: &str| {
        if width(text) <= room || skipped == 0 {
            return shorten(text, room);
        }
        let rest: String = text.chars().skip(skipped).collect();
        shorten(&format!("…{rest}"), room)
    };
    (cut(base), cut(new))
}
