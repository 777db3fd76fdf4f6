//! `cargo loadtest list`: what there is to run.

use super::{Project, weights, words};
use crate::cli::{Cli, ListArgs, ResultFormat};
use crate::export::terminal::table::{TextColumn, TextTable};
use crate::export::terminal::text::{Line, PLAIN};
use crate::selection::Found;
use loadtest_console::console::{self, clean};
use loadtest_console::error::Error;
use loadtest_model::definition::{Load, ScenarioDef};
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Prints the selected scenarios.
///
/// # Errors
/// When they cannot be found or built.
pub(crate) fn list(args: &ListArgs, cli: &Cli) -> Result<ExitCode, Error> {
    let project = Project::open(&args.project, cli)?;
    let found = project.selected(&args.selection)?;
    match args.format {
        ResultFormat::Human => {
            let shown: Vec<_> = found
                .iter()
                .map(|found| render_table(&found.definition))
                .collect();
            console::print_result(shown.join("\n").trim_end())?;
        }
        ResultFormat::Json => console::print_json(render_json(&found)?)?,
    }
    Ok(ExitCode::Passed)
}

fn render_table(scenario: &ScenarioDef) -> String {
    let mut text = words::format_title(scenario);
    text.push('\n');
    for line in scenario.description.lines() {
        let _ = writeln!(text, "    {}", clean(line));
    }
    let load = match &scenario.load {
        Some(load) => display::format_load(load),
        None => format!("{} by default", display::format_load(&Load::DEFAULT)),
    };
    let target = match &scenario.base {
        Some(base) => base.to_string(),
        None if scenario.starts_target => "starts its own".to_owned(),
        None if !scenario.needs_base() => "each step has its own".to_owned(),
        None => "from --base-url or LOADTEST_BASE_URL".to_owned(),
    };
    let version = match &scenario.version {
        Some(version) => format!("{version} ({})", scenario.fingerprint),
        None => scenario.fingerprint.to_string(),
    };
    let mut facts = vec![("load", load), ("target", target)];
    if !scenario.reaches.is_empty() {
        facts.push(("reaches", scenario.reaches.join(", ")));
    }
    if !scenario.thresholds.is_empty() {
        facts.push(("thresholds", words::join_thresholds(&scenario.thresholds)));
    }
    for group in scenario
        .groups
        .iter()
        .filter(|group| !group.thresholds.is_empty())
    {
        let limits = words::join_thresholds(&group.thresholds);
        facts.push(("group", format!("{}: {limits}", group.name)));
    }
    if let Some(client) = words::describe_client(&scenario.client) {
        facts.push(("client", client));
    }
    if !scenario.feeds.is_empty() {
        let names: Vec<_> = scenario.feeds.iter().map(|feed| &*feed.name).collect();
        facts.push(("feeds", names.join(", ")));
    }
    if !scenario.secrets.is_empty() {
        facts.push(("secrets", scenario.secrets.join(", ")));
    }
    if scenario.keeps_state {
        facts.push(("state", words::KEEPS_STATE.to_owned()));
    }
    let mut place = Vec::new();
    if (scenario.weight - 1.0).abs() > f64::EPSILON {
        place.push(format!(
            "weight {} relative to others",
            weights::round_weight(scenario.weight)
        ));
    }
    if !scenario.start.is_zero() {
        place.push(format!(
            "starts {} after it",
            display::format_span(scenario.start)
        ));
    }
    if !place.is_empty() {
        facts.push(("mix", place.join(", ")));
    }
    facts.push(("version", version));
    facts.push(("source", format!("{}:{}", scenario.file, scenario.line)));
    for (name, fact) in facts {
        let _ = writeln!(text, "    {name:10} {}", clean(&fact));
    }
    describe_steps(&mut text, scenario);
    text
}

fn describe_steps(text: &mut String, scenario: &ScenarioDef) {
    let effective = weights::effective_weights(&scenario.steps);
    let columns = ["", "", "", ""].map(TextColumn::left);
    let mut table = TextTable::new(columns.into());
    for (i, step) in scenario.steps.iter().enumerate() {
        let mut notes = vec![format!("weight {}", weights::round_weight(step.weight))];
        if (effective[i] - step.weight).abs() > f64::EPSILON {
            let _ = write!(
                notes[0],
                " (effective {})",
                weights::round_weight(effective[i])
            );
        }
        let needed: Vec<_> = step
            .dependencies
            .iter()
            .filter_map(|dependency| {
                let name = &scenario.steps.get(dependency.step)?.name;
                let or_without = if dependency.optional { "?" } else { "" };
                Some(format!("{name}{or_without}"))
            })
            .collect();
        if !needed.is_empty() {
            notes.push(format!("uses {}", needed.join(", ")));
        }
        notes.extend(words::list_marks(step));
        if !step.thresholds.is_empty() {
            notes.push(words::join_thresholds(&step.thresholds));
        }
        let cells = [
            format!("{:>2}. {}", i + 1, step.name),
            step.method.as_deref().unwrap_or("*").to_owned(),
            step.url
                .as_deref()
                .unwrap_or("(computed by its code)")
                .to_owned(),
            notes.join("; "),
        ];
        table.row(cells.map(|cell| (PLAIN, cell)).into(), None);
    }
    for line in table.lines(usize::MAX) {
        Line::new().to(6).join(line).print(text, usize::MAX, false);
    }
}

fn render_json(found: &[Found]) -> Result<String, Error> {
    let not_encoded = Error::encode("the scenarios");
    let mut all = Vec::new();
    for found in found {
        let definition = &found.definition;
        let mut value = serde_json::to_value(definition).map_err(&not_encoded)?;
        value["identity"] = Value::from(definition.identity());
        for (i, weight) in weights::effective_weights(&definition.steps)
            .into_iter()
            .enumerate()
        {
            value["steps"][i]["effective_weight"] = json!(weight);
        }
        all.push(value);
    }
    serde_json::to_string_pretty(&all).map_err(&not_encoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use crate::workspace::Binary;
    use loadtest_model::definition::{
        AutomaticReply, Client, Cookies, Dns, EndMark, Expect, FeedDef, GraphqlDef, Heartbeat,
        HttpVersion, Renewal, Retry, StatusRange, StreamDef, StreamFormat, Until, WebSocketDef,
    };
    use std::path::PathBuf;
    use std::time::Duration;

    fn binary() -> Binary {
        Binary {
            package: "shop".to_owned(),
            package_root: PathBuf::new(),
            target: "test `load`".to_owned(),
            executable: PathBuf::new(),
            script: None,
            packages: None,
        }
    }

    #[test]
    fn people_see_load_target_steps_and_source() {
        let definition = sample::definition("checkout", &["critical".to_owned()]);
        insta::assert_snapshot!(render_table(&definition), @r"
        shop::load::checkout [critical]
            A visit.
            load       20/s for 1 min, ramp-up 2 s (open model)
            target     from --base-url or LOADTEST_BASE_URL
            version    f1
            source     tests/load.rs:7
               1. login  GET  /login  weight 0.8
               2. buy    GET  /buy    weight 0.5 (effective 0.4); uses login
        ");
    }

    #[test]
    fn people_see_how_a_stream_is_read() {
        let mut definition = sample::definition("assistant", &[]);
        let steps = definition.steps.to_mut();
        steps[0] = sample::streamed(steps[0].clone());
        let stream = steps[0].stream.clone();
        steps[1].stream = stream.map(|stream| StreamDef {
            format: StreamFormat::Events,
            first: None,
            end: Some(EndMark::Condition("|event| event.is_last".into())),
            units: None,
            events: None,
            lasts: None,
            graded_by_response: true,
            ..stream
        });
        let text = render_table(&definition);
        let steps: Vec<_> = text
            .lines()
            .skip_while(|line| !line.contains("1. "))
            .collect();
        insta::assert_snapshot!(steps.join("\n"));
    }

    #[test]
    fn people_see_how_a_websocket_is_opened() {
        let mut definition = sample::definition("chat", &[]);
        let steps = definition.steps.to_mut();
        steps[0].websocket = Some(WebSocketDef {
            protocol: Some("chat.v2".into()),
            compress: true,
            heartbeat: Some(Heartbeat {
                message: "ping".into(),
                every: Duration::from_secs(25),
                answer: None,
            }),
            replies: vec![AutomaticReply {
                to: "2".into(),
                with: "3".into(),
            }]
            .into(),
        });
        let text = render_table(&definition);
        let words = "a WebSocket with the protocol `chat.v2`, compressed, with a heartbeat every 25 s, with a reply to 1 text";
        assert!(text.contains(words), "{text}");
    }

    #[test]
    fn people_see_which_graphql_operation_runs() {
        let mut definition = sample::definition("shop", &[]);
        let steps = definition.steps.to_mut();
        steps[0].graphql = Some(GraphqlDef {
            operation: Some("query Cart".into()),
            partial: true,
        });
        let text = render_table(&definition);
        let words = "GraphQL `query Cart`, accepting errors together with data";
        assert!(text.contains(words), "{text}");
    }

    #[test]
    fn people_see_what_is_not_as_usual() {
        let mut definition = sample::definition("checkout", &[]);
        definition.client = Client {
            http: HttpVersion::Http2,
            connections: Some(8),
            new_connections: false,
            cookies: Cookies::User,
            dns: Dns::Ttl,
            insecure: true,
            ca: Some("certs/ca.pem".into()),
            identity: None,
        };
        definition.version = Some("3".into());
        definition.keeps_state = true;
        definition.weight = 2.5;
        let feed = |name: &'static str| FeedDef {
            name: name.into(),
            line: 1,
        };
        definition.feeds = vec![feed("user"), feed("product")].into();
        definition.secrets = vec!["API_TOKEN".into(), "SHOP_PASSWORD".into()].into();
        let steps = definition.steps.to_mut();
        steps[0].once = true;
        steps[0].renewal = Some(Renewal {
            after: Some(Duration::from_secs(50 * 60)),
            on: Expect(vec![StatusRange { from: 401, to: 401 }].into()),
        });
        steps[0].sends_itself = true;
        steps[1].last = true;
        steps[1].redirects = 5;
        steps[1].retry = Some(Retry {
            times: 3,
            backoff: Retry::BACKOFF,
            on: Retry::ON.into(),
        });
        steps[1].until = Some(Until {
            condition: "|r| r.done".into(),
            every: Until::EVERY,
            within: Until::WITHIN,
        });
        insta::assert_snapshot!(render_table(&definition));
    }

    #[test]
    fn nothing_of_a_scenario_drives_a_terminal() {
        let mut definition = sample::definition("visit", &["\x1b]0;tag\x07".to_owned()]);
        definition.name = "\x1b[31mred \"and\" \\more".into();
        definition.description = "one\x1b[2J\ntwo".into();
        let step = &mut definition.steps.to_mut()[0];
        step.name = "a\x1b[8m".into();
        step.url = Some("/\u{9b}x".into());
        let text = render_table(&definition);
        let harmless = |letter: char| letter == '\n' || !letter.is_control();
        assert!(text.chars().all(harmless), "{text:?}");
        let title = r#"shop::load::visit "\u{1b}[31mred \"and\" \\more" [␛]0;tag␇]"#;
        assert_eq!(text.lines().next(), Some(title));
        assert!(text.contains("    one␛[2J\n    two\n"), "{text}");
    }

    #[test]
    fn programs_read_names_and_descriptions_back_as_they_are() {
        let odd = "a \"quoted\" \\ name\n\x1b[31m\u{202e}\u{9b}\0";
        let mut definition = sample::definition("visit", &[odd.to_owned()]);
        definition.name = odd.to_owned().into();
        definition.description = odd.to_owned().into();
        definition.steps.to_mut()[0].name = odd.to_owned().into();
        let found = Found {
            definition,
            binary: binary(),
            also_in: Vec::new(),
        };
        let text = render_json(&[found]).unwrap();
        assert!(!text.contains(['\x1b', '\0']), "{text:?}");
        let value: Value = serde_json::from_str(&text).unwrap();
        let scenario = &value[0];
        for place in ["/name", "/description", "/tags/0", "/steps/0/name"] {
            assert_eq!(scenario.pointer(place), Some(&odd.into()), "{place}");
        }
    }

    #[test]
    fn programs_see_the_definition_and_what_follows_from_it() {
        let found = Found {
            definition: sample::definition("checkout", &[]),
            binary: binary(),
            also_in: Vec::new(),
        };
        let value: Value = serde_json::from_str(&render_json(&[found]).unwrap()).unwrap();
        assert_eq!(value[0]["identity"], "shop::load::checkout");
        assert_eq!(value[0]["steps"][1]["effective_weight"], 0.4);
        assert_eq!(value[0]["load"]["shape"]["model"], "rate");
    }
}
