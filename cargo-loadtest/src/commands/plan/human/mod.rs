//! A plan for people.

mod tables;

use super::destination::{AddressOrigin, Destination, Permission};
use super::outlook::{Bound, RequestOutlook};
use super::{Prospect, words};
use crate::commands::weights::round_weight;
use crate::export::terminal::text::{BAD, BOLD, DIM, FAIR, GOOD, Line, PLAIN};
use crate::export::terminal::{Extent, Screen};
use loadtest_model::definition::Shape;
use loadtest_model::display;
use tables::{bound_mark, format_figure, render_course, render_steps};

/// The plan in at most `width` columns, with ANSI colours or as plain text.
pub(super) fn render(prospect: &Prospect<'_>, width: usize, colour: bool) -> String {
    let mut page = Screen::new(width, colour, Extent::Full);
    let title = words::format_title(prospect.scenario);
    let title = Line::new().add(BOLD, title);
    title.print(&mut page.out, width, colour);
    render_facts(&mut page, prospect);
    render_course(&mut page, prospect);
    render_steps(&mut page, prospect);
    render_notes(&mut page, prospect);
    page.out
}

fn render_facts(page: &mut Screen, prospect: &Prospect<'_>) {
    let plan = &prospect.plan;
    let mut load = display::format_planned_load(plan);
    if plan.default_load {
        load.push_str(", since none is declared");
    }
    page.fact("load", PLAIN, &load);
    let seed = match prospect.seed {
        Some(seed) => format!("{seed}: the same steps, pauses and data each time"),
        None => "a new one for each run; `--seed` with the seed of a run repeats it".to_owned(),
    };
    page.fact("seed", PLAIN, &seed);
    render_target(page, &prospect.destination);
    if let Some(client) = words::describe_client(&prospect.scenario.client) {
        let style = if prospect.scenario.client.insecure {
            FAIR
        } else {
            PLAIN
        };
        page.fact("client", style, &client);
    }
    let users = display::format_counted(u64::from(plan.max_users), "user");
    let users = if plan.load.is_open() {
        format!("{users} at most, as arrivals need them")
    } else {
        users
    };
    page.fact("users", PLAIN, &users);
    page.fact("iterations", PLAIN, &render_iterations(prospect));
    page.fact("requests", PLAIN, &all_requests(&prospect.outlook.requests));
    let thresholds: Vec<_> = plan
        .thresholds
        .iter()
        .filter(|scoped| scoped.step.is_none())
        .map(|scoped| {
            let words = display::format_declared_threshold(&scoped.threshold);
            let group = scoped
                .group
                .and_then(|group| prospect.scenario.groups.get(group));
            let words =
                group.map_or_else(|| words.clone(), |group| format!("{}: {words}", group.name));
            if scoped.implied {
                format!("{words} (applies unless errors have a threshold)")
            } else {
                words
            }
        })
        .collect();
    if !thresholds.is_empty() {
        page.fact("thresholds", PLAIN, &thresholds.join(", "));
    }
    if prospect.scenario.keeps_state {
        page.fact("state", PLAIN, words::KEEPS_STATE);
    }
}

fn render_target(page: &mut Screen, destination: &Destination) {
    let base = destination.base.as_deref().unwrap_or_default();
    let replaced = if destination.starts_target {
        "; the setup that starts a target does not run"
    } else {
        ""
    };
    let words = match destination.from {
        AddressOrigin::CommandLine => format!("{base} from `--base-url`{replaced}"),
        AddressOrigin::Environment => format!("{base} from LOADTEST_BASE_URL{replaced}"),
        AddressOrigin::Declared => format!("{base} as declared"),
        AddressOrigin::Setup => "started by the scenario on this machine: permitted".to_owned(),
        AddressOrigin::NotNeeded => "each step has its own".to_owned(),
        AddressOrigin::Missing => {
            "none: a run is refused; give `--base-url`, set LOADTEST_BASE_URL, or declare `base`"
                .to_owned()
        }
    };
    let style = match destination.from {
        AddressOrigin::Missing => BAD,
        AddressOrigin::Setup => GOOD,
        _ => PLAIN,
    };
    page.fact("target", style, &words);
    for host in &destination.hosts {
        let listed;
        let (style, words) = match host.permission {
            Permission::Permitted => (GOOD, "permitted: loopback"),
            Permission::Listed => {
                listed = format!(
                    "permitted: `loadtest.toml` lists it, owned by {}",
                    host.owner.as_deref().unwrap_or_default()
                );
                (GOOD, listed.as_str())
            }
            Permission::Refused => (
                BAD,
                "NOT permitted: a run is refused. Load may go to this machine, to targets that the scenario starts, \
                 and to hosts listed in `loadtest.toml`",
            ),
            Permission::ByAddress => (
                FAIR,
                "permitted only if the hosts file (`/etc/hosts`) says that it is loopback; it is not listed",
            ),
            Permission::WhenSent => (
                FAIR,
                "only known from an answer; forbidden requests are not sent",
            ),
        };
        page.fact("", style, &format!("{}: {words}", host.name));
    }
}

fn render_iterations(prospect: &Prospect<'_>) -> String {
    let iterations = prospect.outlook.iterations;
    let load = &prospect.plan.load;
    if let Shape::Iterations { count, .. } = load.shape {
        let count = display::format_count(count);
        let paced = iterations.most_per_second.filter(|_| load.pace.is_some());
        return match paced.map(display::format_rate) {
            Some(rate) => format!("{count}; the pace allows {rate} at most"),
            None => format!("{count}; how fast depends on the target"),
        };
    }
    let Some(total) = iterations.total else {
        let bound = iterations.most_per_second.map_or(String::new(), |rate| {
            format!(
                "; {} {} at most",
                if load.pace.is_some() {
                    "the pace allows"
                } else {
                    "the think times allow"
                },
                display::format_rate(rate)
            )
        });
        return format!("as many as the target allows{bound}");
    };
    let time = load.warm_up + load.duration().unwrap_or_default();
    let steady = iterations.per_second.map_or(String::new(), |rate| {
        format!("; {} when steady", display::format_rate(rate))
    });
    format!(
        "{} in {}{steady}",
        display::format_count(total),
        display::format_span(time)
    )
}

fn all_requests(requests: &RequestOutlook) -> String {
    let mark = bound_mark(requests.bound);
    let mut words = Vec::new();
    if let Some(figure) = requests.per_iteration {
        words.push(format!("{mark}{} per iteration", round_weight(figure)));
    }
    if let Some(rate) = requests.per_second {
        words.push(format!("{mark}{} when steady", display::format_rate(rate)));
    }
    if let Some(total) = requests.total {
        words.push(format!("{mark}{} in all", format_figure(total)));
    }
    if let Some(figure) = requests.per_user {
        words.push(format!("{} more per user", round_weight(figure)));
    }
    words.join("; ")
}

fn render_notes(page: &mut Screen, prospect: &Prospect<'_>) {
    let outlook = &prospect.outlook;
    let mut notes = Vec::new();
    let unused_start = words::describe_unused_start(prospect.scenario, &prospect.plan);
    notes.extend(unused_start.as_deref());
    if prospect.plan.load.pace.is_some() {
        notes.push("Users keep their pace as long as the target is fast enough.");
    } else if !prospect.plan.load.is_open() {
        notes.push(
            "Users start an iteration when the last one has ended, so the rate depends on the target.",
        );
    }
    notes.push("Expected if no request fails: steps that need a failed step are not sent.");
    let bounds = || outlook.steps.iter().map(|step| step.requests.bound);
    if bounds().any(|bound| bound == Bound::AtLeast) {
        notes.push("≥: retries, repetitions, redirects and async steps may send more.");
    }
    if bounds().any(|bound| bound == Bound::AtMost) {
        notes.push("≤: once per user, and fewer users may be needed.");
    }
    page.gap();
    for note in notes {
        page.text(Line::new(), DIM, note);
    }
}
