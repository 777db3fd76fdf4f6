//! `cargo loadtest plan`: what a run would send. It sends nothing, and starts nothing but the
//! programs that list their scenarios.

mod destination;
mod human;
mod outlook;

use super::{Project, recorded, run, words};
use crate::cli::{Cli, PlanArgs, ResultFormat};
use destination::Destination;
use loadtest::redact;
use loadtest::targets::Permissions;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_model::definition::ScenarioDef;
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::plan::Plan;
use outlook::Outlook;
use serde_json::{Value, json};

/// Prints what a run of the selected scenarios would send.
///
/// # Errors
/// When they cannot be found or built, or when a run would be refused for its load.
pub(crate) fn plan(args: &PlanArgs, cli: &Cli) -> Result<ExitCode, Error> {
    let given = recorded::read_requests(&args.curl)?;
    let project = Project::open_for(given.as_ref(), &args.project, cli)?;
    let config = project.config()?;
    let load = config.run.load_args(&args.load);
    let overrides = config.overrides(&load)?;
    run::check_overrides(&overrides)?;
    let chosen = match given {
        Some(given) => vec![given.into_scenario(&project)?],
        None => project.selected(&args.selection)?,
    };
    let (overrides, _) = run::shares(&chosen, args.mix, overrides)?;
    let seed = load.seed;
    let plans = run::plan(&chosen, &overrides, &config.grading, seed.unwrap_or(0))?;
    let flag = args.load.base_url.as_deref();
    let prospects: Vec<_> = chosen
        .iter()
        .zip(plans)
        .map(|(found, plan)| {
            let environment = found.binary.base_url_of_environment();
            check_tls(&found.definition, flag, environment.as_deref())?;
            let permissions = Permissions::of_package(&found.binary.package_root, project.offline)
                .map_err(|error| Error::usage(error.to_string()))?;
            Ok(Prospect {
                scenario: &found.definition,
                seed,
                outlook: Outlook::from_plan(&found.definition, &plan),
                destination: Destination::from_definition(
                    &found.definition,
                    flag,
                    environment.as_deref(),
                    &permissions,
                ),
                plan,
            })
        })
        .collect::<Result<_, Error>>()?;
    match args.format {
        ResultFormat::Human => {
            let (width, colour) = (console::result_width(), console::colours_results());
            let shown: Vec<_> = prospects
                .iter()
                .map(|prospect| human::render(prospect, width, colour))
                .collect();
            console::print_result(shown.join("\n").trim_end())?;
        }
        ResultFormat::Json => {
            let all: Value = prospects.iter().map(plan_json).collect();
            console::print_json(format_args!("{all:#}"))?;
        }
    }
    Ok(ExitCode::Passed)
}

/// Refuses a URL without TLS where all requests go over QUIC, as a run does.
fn check_tls(
    scenario: &ScenarioDef,
    flag: Option<&str>,
    environment: Option<&str>,
) -> Result<(), Error> {
    let declared = scenario.base.as_deref().filter(|_| !scenario.starts_target);
    let base = flag.or(environment).or(declared);
    match scenario.url_without_tls(base) {
        None => Ok(()),
        Some(url) => {
            let url = redact::redact_url_template(url);
            Err(Error::usage(display::describe_url_without_tls(&url)))
        }
    }
}

/// A planned run of a scenario.
#[derive(Debug)]
struct Prospect<'a> {
    scenario: &'a ScenarioDef,
    /// `--seed`.
    seed: Option<u64>,
    plan: Plan,
    outlook: Outlook,
    destination: Destination,
}

fn plan_json(prospect: &Prospect<'_>) -> Value {
    let Prospect {
        scenario,
        seed,
        plan,
        outlook,
        destination,
    } = prospect;
    let mut value = json!({
        "identity": scenario.identity(),
        "name": scenario.name,
        "tags": scenario.tags,
        "seed": seed,
        "load": plan.load,
        "start_us": u64::try_from(plan.start.as_micros()).unwrap_or(u64::MAX),
        "load_in_words": display::format_planned_load(plan).replace('\u{202f}', " "),
        "default_load": plan.default_load,
        "max_users": plan.max_users,
        "graceful_stop_us": u64::try_from(plan.graceful_stop.as_micros()).unwrap_or(u64::MAX),
        "target": destination,
        "thresholds": plan.thresholds,
        "keeps_state": scenario.keeps_state,
        "client": scenario.client,
        "phases": outlook.phases,
        "iterations": outlook.iterations,
        "requests": outlook.requests,
        "steps": outlook.steps,
    });
    for (i, step) in scenario.steps.iter().enumerate() {
        let shown = &mut value["steps"][i];
        shown["method"] = json!(step.method);
        shown["url"] = json!(step.url);
        shown["once"] = json!(step.once);
        shown["last"] = json!(step.last);
        shown["stop_on_failure"] = json!(step.stop_on_failure);
        shown["retry"] = json!(step.retry);
        shown["until"] = json!(step.until);
        shown["sends_itself"] = json!(step.sends_itself);
        shown["redirects"] = json!(step.redirects);
        shown["rendezvous"] = json!(step.rendezvous);
        shown["think"] = json!(step.think);
        shown["timeout_us"] = json!(u64::try_from(step.timeout.as_micros()).unwrap_or(u64::MAX));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest_model::definition::{
        Client, HttpVersion, Load, Rate, Retry, Shape, Stage, Think, Threshold, Until,
    };
    use loadtest_model::plan::{GradingDefaults, Overrides};
    use std::time::Duration;

    fn prospect(
        scenario: &ScenarioDef,
        seed: Option<u64>,
        base: Option<&str>,
    ) -> Prospect<'static> {
        let scenario: &'static ScenarioDef = Box::leak(Box::new(scenario.clone()));
        let plan = Plan::new(
            scenario,
            &Overrides::default(),
            &GradingDefaults::default(),
            seed.unwrap_or(0),
        )
        .unwrap();
        Prospect {
            scenario,
            seed,
            outlook: Outlook::from_plan(scenario, &plan),
            destination: Destination::from_definition(
                scenario,
                base,
                None,
                &Permissions::default(),
            ),
            plan,
        }
    }

    /// A scenario with everything that changes what is sent.
    fn full() -> ScenarioDef {
        let mut scenario = sample::definition("checkout", &["critical".to_owned()]);
        let second = Duration::from_secs(1);
        scenario.keeps_state = true;
        scenario.client = Client {
            http: HttpVersion::Http2,
            connections: Some(8),
            new_connections: false,
            insecure: true,
            ..Client::DEFAULT
        };
        let steps = scenario.steps.to_mut();
        steps[0].once = true;
        steps[0].weight = 1.0;
        steps[0].thresholds = vec![Threshold::new(
            loadtest_model::definition::Metric::P95,
            loadtest_model::definition::Comparator::Less,
            loadtest_model::definition::Bound::Time(second / 10),
        )]
        .into();
        steps[1].think = Some(Think::Uniform {
            min: second / 2,
            max: second * 2,
        });
        steps[1].retry = Some(Retry {
            times: 3,
            backoff: Retry::BACKOFF,
            on: Retry::ON.into(),
        });
        let mut third = steps[1].clone();
        third.name = "a_rather_long_name_of_a_step_that_does_not_fit".into();
        third.url = Some("/a/rather/long/path/with/{{buy.response.items[0].id}}/and/more/of/it/that/goes/on?page=7".into());
        third.retry = None;
        third.until = Some(Until {
            condition: "|r| r.done".into(),
            every: Until::EVERY,
            within: Until::WITHIN,
        });
        steps.push(third);
        scenario
    }

    #[test]
    fn people_see_what_an_open_load_sends() {
        let text = human::render(
            &prospect(&full(), Some(7), Some("http://127.0.0.1:8080")),
            80,
            false,
        );
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_url_without_tls_is_refused_where_requests_go_over_quic() {
        let mut scenario = sample::definition("visit", &[]);
        scenario.base = Some("http://127.0.0.1:8080/a?token=pw".into());
        assert!(check_tls(&scenario, None, None).is_ok());
        scenario.client.http = HttpVersion::Http3;
        let refused = |scenario: &ScenarioDef, flag, environment| {
            let refused = check_tls(scenario, flag, environment);
            refused
                .err()
                .map(|error| (error.exit_code().number(), error.to_string()))
        };
        let (code, words) = refused(&scenario, None, None).unwrap();
        assert_eq!(code, 2);
        assert!(
            words.starts_with("`http://127.0.0.1:8080/a?token="),
            "{words}"
        );
        assert!(
            words.ends_with("is not for `http = 3`: QUIC is always encrypted; write `https://`")
        );
        assert!(!words.contains("pw"), "{words}");
        assert_eq!(
            refused(&scenario, Some("https://h"), Some("http://h")),
            None
        );
        assert!(refused(&scenario, None, Some("http://h")).is_some());
        scenario.starts_target = true;
        assert_eq!(refused(&scenario, None, None), None);
    }

    #[test]
    fn people_see_how_a_stream_is_read() {
        let mut scenario = sample::definition("assistant", &[]);
        let steps = scenario.steps.to_mut();
        steps[0] = sample::streamed(steps[0].clone());
        let text = human::render(&prospect(&scenario, None, None), 80, false);
        let steps: Vec<_> = (text.lines())
            .skip_while(|line| !line.contains("Steps"))
            .take_while(|line| !line.is_empty())
            .collect();
        insta::assert_snapshot!(steps.join("\n"));
    }

    #[test]
    fn people_see_that_a_closed_load_has_no_rate_of_its_own() {
        let mut scenario = sample::definition("visit", &[]);
        scenario.load = Some(Load::new(Shape::Users {
            users: 50,
            ramp_up: Duration::from_secs(10),
            duration: Duration::from_secs(300),
        }));
        scenario.steps.to_mut()[0].think = Some(Think::Uniform {
            min: Duration::from_secs(1),
            max: Duration::from_secs(1),
        });
        scenario.starts_target = true;
        insta::assert_snapshot!(human::render(&prospect(&scenario, None, None), 80, false));
    }

    #[test]
    fn people_see_stages_and_fixed_work() {
        let mut scenario = sample::definition("visit", &[]);
        let stage = |from, to, seconds| Stage {
            from,
            to,
            duration: Duration::from_secs(seconds),
        };
        let stages = vec![stage(0.0, 2_000.0, 10), stage(2_000.0, 2_000.0, 60)];
        scenario.load = Some(Load {
            warm_up: Duration::from_secs(5),
            ..Load::new(Shape::RateStages {
                stages: stages.into(),
            })
        });
        let in_stages = human::render(&prospect(&scenario, None, None), 80, false);
        scenario.load = Some(Load::iterations(1_000, 10));
        let fixed = human::render(
            &prospect(&scenario, None, Some("http://shop.example")),
            80,
            false,
        );
        scenario.load = None;
        let base = Some("http://10.0.0.1");
        let default = human::render(&prospect(&scenario, None, base), 80, false);
        insta::assert_snapshot!([in_stages, fixed, default].join("\n"));
    }

    #[test]
    fn the_rate_of_a_load_is_written_the_same_everywhere() {
        let mut scenario = sample::definition("visit", &[]);
        for step in scenario.steps.to_mut() {
            step.weight = 1.0;
        }
        scenario.load = Some(Load::rate(Rate::per_second(7.5), Duration::from_secs(60)));
        let text = human::render(&prospect(&scenario, None, None), 80, false);
        let rates: Vec<_> = text
            .split_whitespace()
            .filter(|word| word.ends_with("/s") && word.starts_with('7'))
            .collect();
        assert_eq!(rates, ["7.5/s"; 4], "{text}");
    }

    #[test]
    fn nothing_is_wider_than_the_terminal_or_drives_it() {
        let mut scenario = full();
        scenario.name = "\x1b[31mred".into();
        scenario.steps.to_mut()[1].name = "a\x1b[8m".into();
        for width in [40, 60, 80, 132] {
            let text = human::render(&prospect(&scenario, None, None), width, false);
            for line in text.lines() {
                let wide = unicode_width::UnicodeWidthStr::width(line);
                assert!(wide <= width, "{width}: {line:?}");
            }
            assert!(!text.contains('\x1b'));
        }
        let coloured = human::render(&prospect(&scenario, None, None), 80, true);
        assert!(coloured.contains("\x1b["));
    }

    #[test]
    fn programs_see_the_same_in_units() {
        let value = plan_json(&prospect(&full(), Some(7), Some("http://127.0.0.1:8080")));
        insta::assert_json_snapshot!(value);
    }
}
