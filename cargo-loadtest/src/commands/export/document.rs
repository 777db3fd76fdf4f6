//! A scenario as data: the published shape, apart from how the library keeps a definition.
//!
//! Every field is always there; what is not declared is null or empty. The program that lists its
//! scenarios has taken out what is secret.

use loadtest_model::definition::{
    BodyDef, Bound, Client, Comparator, FeedDef, HeaderDef, Load, Metric, ScenarioDef, Shape,
    Stage, StatusRange, StepDef, Threshold, Trigger,
};
use serde::Serialize;
use std::borrow::Cow;
use std::time::Duration;

/// The version of the shape; it grows with every change that a reader could stumble over.
const SCHEMA_VERSION: u32 = 1;

/// A scenario.
#[derive(Debug, Serialize)]
pub(super) struct Document<'a> {
    schema_version: u32,
    identity: String,
    name: &'a str,
    function: &'a str,
    module: &'a str,
    package: &'a str,
    file: &'a str,
    line: u32,
    description: &'a str,
    tags: &'a [Cow<'static, str>],
    base: Option<&'a str>,
    starts_target: bool,
    keeps_state: bool,
    version: Option<&'a str>,
    fingerprint: &'a str,
    weight: f64,
    load: Option<LoadDocument>,
    thresholds: Vec<ThresholdDocument>,
    apdex_ms: Option<f64>,
    budget: Option<f64>,
    grade_weight: Option<f64>,
    client: &'a Client,
    feeds: &'a [FeedDef],
    secrets: &'a [Cow<'static, str>],
    steps: Vec<StepDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct LoadDocument {
    warm_up_ms: f64,
    max_users: Option<u32>,
    #[serde(flatten)]
    model: Model,
}

#[derive(Debug, Serialize)]
#[serde(tag = "model", rename_all = "snake_case")]
enum Model {
    Rate {
        per_second: f64,
        ramp_up_ms: f64,
        duration_ms: f64,
    },
    Users {
        users: u32,
        ramp_up_ms: f64,
        duration_ms: f64,
    },
    Iterations {
        count: u64,
        users: u32,
    },
    RateStages {
        stages: Vec<StageDocument>,
    },
    UserStages {
        stages: Vec<StageDocument>,
    },
}

#[derive(Debug, Serialize)]
struct StageDocument {
    from: f64,
    to: f64,
    duration_ms: f64,
}

#[derive(Debug, Serialize)]
struct ThresholdDocument {
    metric: Metric,
    comparison: Comparator,
    #[serde(flatten)]
    bound: BoundDocument,
    /// The grace period before a broken threshold ends the run; null if it does not.
    abort_after_ms: Option<f64>,
}

#[derive(Debug, Serialize)]
enum BoundDocument {
    #[serde(rename = "bound_ms")]
    Time(f64),
    #[serde(rename = "bound_ratio")]
    Ratio(f64),
    #[serde(rename = "bound_per_second")]
    PerSecond(f64),
    #[serde(rename = "bound_bytes_per_second")]
    BytesPerSecond(f64),
    #[serde(rename = "bound_count")]
    Count(u64),
}

#[derive(Debug, Serialize)]
struct StepDocument<'a> {
    name: &'a str,
    line: u32,
    description: &'a str,
    method: Option<&'a str>,
    url: Option<&'a str>,
    headers: &'a [HeaderDef],
    body: Option<&'a BodyDef>,
    sends_itself: bool,
    expected_status: &'a [StatusRange],
    weight: f64,
    one_of: Option<&'a str>,
    think: Option<Think>,
    timeout_ms: f64,
    grade_weight: Option<f64>,
    thresholds: Vec<ThresholdDocument>,
    apdex_ms: Option<f64>,
    budget: Option<f64>,
    once: bool,
    last: bool,
    retry: Option<Retry>,
    until: Option<Until<'a>>,
    redirects: u32,
    uses: Vec<Use<'a>>,
    fingerprint: &'a str,
}

#[derive(Debug, Serialize)]
struct Think {
    min_ms: f64,
    max_ms: f64,
}

#[derive(Debug, Serialize)]
struct Retry {
    times: u32,
    backoff_ms: f64,
    on: Vec<Trigger>,
}

#[derive(Debug, Serialize)]
struct Until<'a> {
    condition: &'a str,
    every_ms: f64,
    within_ms: f64,
}

#[derive(Debug, Serialize)]
struct Use<'a> {
    step: &'a str,
    optional: bool,
}

impl<'a> Document<'a> {
    /// Returns the document of `scenario`.
    pub(super) fn from_scenario(scenario: &'a ScenarioDef) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            identity: scenario.identity(),
            name: &scenario.name,
            function: &scenario.function,
            module: &scenario.module,
            package: &scenario.package,
            file: &scenario.file,
            line: scenario.line,
            description: &scenario.description,
            tags: &scenario.tags,
            base: scenario.base.as_deref(),
            starts_target: scenario.starts_target,
            keeps_state: scenario.keeps_state,
            version: scenario.version.as_deref(),
            fingerprint: &scenario.fingerprint,
            weight: scenario.weight,
            load: scenario.load.as_ref().map(LoadDocument::from_load),
            thresholds: threshold_documents(&scenario.thresholds),
            apdex_ms: scenario.apdex.map(to_ms),
            budget: scenario.budget,
            grade_weight: scenario.grade_weight,
            client: &scenario.client,
            feeds: &scenario.feeds,
            secrets: &scenario.secrets,
            steps: scenario
                .steps
                .iter()
                .map(|step| StepDocument::from_step(step, &scenario.steps))
                .collect(),
        }
    }
}

impl LoadDocument {
    fn from_load(load: &Load) -> Self {
        let model = match &load.shape {
            Shape::Rate {
                per_second,
                ramp_up,
                duration,
            } => Model::Rate {
                per_second: *per_second,
                ramp_up_ms: to_ms(*ramp_up),
                duration_ms: to_ms(*duration),
            },
            Shape::Users {
                users,
                ramp_up,
                duration,
            } => Model::Users {
                users: *users,
                ramp_up_ms: to_ms(*ramp_up),
                duration_ms: to_ms(*duration),
            },
            Shape::Iterations { count, users } => Model::Iterations {
                count: *count,
                users: *users,
            },
            Shape::RateStages { stages } => Model::RateStages {
                stages: staged_document(stages),
            },
            Shape::UserStages { stages } => Model::UserStages {
                stages: staged_document(stages),
            },
        };
        Self {
            warm_up_ms: to_ms(load.warm_up),
            max_users: load.max_users,
            model,
        }
    }
}

fn staged_document(stages: &[Stage]) -> Vec<StageDocument> {
    stages
        .iter()
        .map(|stage| StageDocument {
            from: stage.from,
            to: stage.to,
            duration_ms: to_ms(stage.duration),
        })
        .collect()
}

fn threshold_documents(thresholds: &[Threshold]) -> Vec<ThresholdDocument> {
    thresholds
        .iter()
        .map(|threshold| ThresholdDocument {
            metric: threshold.metric.clone(),
            comparison: threshold.comparison,
            bound: match threshold.bound {
                Bound::Time(time) => BoundDocument::Time(to_ms(time)),
                Bound::Ratio(ratio) => BoundDocument::Ratio(ratio),
                Bound::PerSecond(rate) => BoundDocument::PerSecond(rate),
                Bound::BytesPerSecond(rate) => BoundDocument::BytesPerSecond(rate),
                Bound::Count(number) => BoundDocument::Count(number),
            },
            abort_after_ms: threshold.abort_after.map(to_ms),
        })
        .collect()
}

impl<'a> StepDocument<'a> {
    fn from_step(step: &'a StepDef, all: &'a [StepDef]) -> Self {
        Self {
            name: &step.name,
            line: step.line,
            description: &step.description,
            method: step.method.as_deref(),
            url: step.url.as_deref(),
            headers: &step.headers,
            body: step.body.as_ref(),
            sends_itself: step.sends_itself,
            expected_status: &step.expect.0,
            weight: step.weight,
            one_of: step.one_of.as_deref(),
            think: step.think.map(|think| Think {
                min_ms: to_ms(think.min),
                max_ms: to_ms(think.max),
            }),
            timeout_ms: to_ms(step.timeout),
            grade_weight: step.grade_weight,
            thresholds: threshold_documents(&step.thresholds),
            apdex_ms: step.apdex.map(to_ms),
            budget: step.budget,
            once: step.once,
            last: step.last,
            retry: step.retry.as_ref().map(|retry| Retry {
                times: retry.times,
                backoff_ms: to_ms(retry.backoff),
                on: retry.on.to_vec(),
            }),
            until: step.until.as_ref().map(|until| Until {
                condition: &until.condition,
                every_ms: to_ms(until.every),
                within_ms: to_ms(until.within),
            }),
            redirects: step.redirects,
            uses: step
                .dependencies
                .iter()
                .filter_map(|dependency| {
                    Some(Use {
                        step: &all.get(dependency.step)?.name,
                        optional: dependency.optional,
                    })
                })
                .collect(),
            fingerprint: &step.fingerprint,
        }
    }
}

fn to_ms(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest_model::definition;
    use loadtest_model::definition::{BodyKind, Cookies, Dependency, Dns, HttpVersion, Statistic};
    use serde_json::Value;

    fn schema() -> Value {
        let text = include_str!("../../../../docs/scenario.schema.json");
        serde_json::from_str(text).unwrap()
    }

    fn value(scenario: &ScenarioDef) -> Value {
        serde_json::to_value(Document::from_scenario(scenario)).unwrap()
    }

    #[track_caller]
    fn assert_valid(value: &Value) {
        let validator = jsonschema::draft202012::new(&schema()).unwrap();
        let mistakes: Vec<_> = validator
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(mistakes.is_empty(), "{mistakes:#?}\n{value:#}");
    }

    /// A scenario that declares everything there is.
    fn full() -> ScenarioDef {
        let mut scenario = sample::definition("checkout", &["critical".to_owned()]);
        let seconds = Duration::from_secs;
        let limit = Threshold::new;
        scenario.base = Some("https://127.0.0.1".into());
        scenario.version = Some("3".into());
        scenario.client = Client {
            http: HttpVersion::Http2,
            cookies: Cookies::Off,
            dns: Dns::Ttl,
            insecure: true,
            ca: Some("ca.pem".into()),
            identity: Some("id.pem".into()),
        };
        scenario.thresholds = vec![
            limit(
                Metric::P95,
                Comparator::Less,
                Bound::Time(Duration::from_micros(1_500)),
            ),
            limit(Metric::Errors, Comparator::LessOrEqual, Bound::Ratio(0.01)),
            limit(Metric::Rps, Comparator::Greater, Bound::PerSecond(19.0)),
            limit(
                Metric::Throughput,
                Comparator::Greater,
                Bound::BytesPerSecond(1e6),
            ),
            Threshold {
                abort_after: Some(seconds(30)),
                ..limit(
                    Metric::Count("sold out".into()),
                    Comparator::Less,
                    Bound::Count(10),
                )
            },
            limit(
                Metric::Timing("queued".into(), Statistic::P999),
                Comparator::Less,
                Bound::Time(seconds(1)),
            ),
        ]
        .into();
        scenario.apdex = Some(seconds(1));
        scenario.budget = Some(0.005);
        scenario.grade_weight = Some(1.0);
        scenario.feeds = vec![FeedDef {
            name: "user".into(),
            line: 8,
        }]
        .into();
        scenario.secrets = vec!["API_TOKEN".into()].into();
        let header = |name: &'static str, value: &'static str| HeaderDef {
            name: name.into(),
            value: value.into(),
        };
        let step = &mut scenario.steps.to_mut()[1];
        step.url = Some("/buy?api_key=[redacted]&token={{login.response.token}}".into());
        step.headers = vec![
            header("authorization", "Bearer {{login.response.token}}"),
            header("x-api-key", "[redacted]"),
            header("accept", "text/plain"),
        ]
        .into();
        step.body = Some(BodyDef {
            kind: BodyKind::Json,
            template: "{\"password\":\"[redacted]\",\"product\":{{login.response.id}}}".into(),
        });
        step.think = Some(definition::Think {
            min: seconds(1),
            max: seconds(2),
        });
        step.retry = Some(definition::Retry {
            times: 3,
            backoff: definition::Retry::BACKOFF,
            on: definition::Retry::ON.into(),
        });
        step.until = Some(definition::Until {
            condition: "|r| r.done".into(),
            every: definition::Until::EVERY,
            within: definition::Until::WITHIN,
        });
        step.once = true;
        step.last = true;
        step.one_of = Some("view".into());
        step.redirects = 4;
        step.grade_weight = Some(2.0);
        step.apdex = Some(seconds(1));
        step.budget = Some(0.1);
        step.dependencies = vec![Dependency {
            step: 0,
            optional: true,
        }]
        .into();
        scenario
    }

    #[test]
    fn the_schema_is_a_schema_that_describes_every_field() {
        let schema = schema();
        jsonschema::meta::validate(&schema).unwrap();
        assert_eq!(
            schema["$id"],
            format!("urn:loadtest:scenario:{SCHEMA_VERSION}")
        );
        let mut undescribed = Vec::new();
        let mut open = Vec::new();
        visit(&schema, "", &mut |path, part| {
            if let Some(properties) = part.get("properties").and_then(Value::as_object) {
                if part["additionalProperties"] != false && part["unevaluatedProperties"] != false {
                    open.push(path.to_owned());
                }
                for (name, property) in properties {
                    if property["description"].as_str().is_none_or(str::is_empty) {
                        undescribed.push(format!("{path}/{name}"));
                    }
                }
            }
        });
        assert!(undescribed.is_empty(), "{undescribed:#?}");
        assert!(open.is_empty(), "{open:#?}");
    }

    fn visit(part: &Value, path: &str, see: &mut impl FnMut(&str, &Value)) {
        match part {
            Value::Object(fields) => {
                see(path, part);
                for (name, field) in fields {
                    visit(field, &format!("{path}/{name}"), see);
                }
            }
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    visit(item, &format!("{path}/{i}"), see);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn every_declaration_has_its_place_in_the_schema() {
        assert_valid(&value(&full()));
        assert_valid(&value(&sample::definition("visit", &[])));
        let second = Duration::from_secs(1);
        let stages = vec![Stage {
            from: 0.0,
            to: 5.0,
            duration: second,
        }];
        for shape in [
            Shape::Users {
                users: 5,
                ramp_up: second,
                duration: second * 2,
            },
            Shape::Iterations { count: 9, users: 3 },
            Shape::RateStages {
                stages: stages.clone().into(),
            },
            Shape::UserStages {
                stages: stages.into(),
            },
        ] {
            let mut scenario = sample::definition("visit", &[]);
            scenario.load = Some(Load::new(shape));
            assert_valid(&value(&scenario));
            scenario.load = None;
            assert_valid(&value(&scenario));
        }
    }

    #[test]
    fn the_schema_refuses_what_is_not_in_it() {
        let schema = schema();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let whole = value(&full());
        for (path, change) in [
            ("/schema_version", Value::from(2)),
            ("/steps", Value::Array(Vec::new())),
            ("/steps/0/weight", Value::from(1.5)),
            ("/steps/1/one_of", Value::from("")),
            ("/load/model", Value::from("bursts")),
            ("/thresholds/0/bound_ms", Value::Null),
            ("/steps/1/retry/on/0", Value::from("sometimes")),
        ] {
            let mut value = whole.clone();
            *value.pointer_mut(path).unwrap() = change;
            assert!(!validator.is_valid(&value), "{path}");
        }
        for (path, object) in [("", &whole), ("/steps/1", &whole["steps"][1])] {
            for name in object.as_object().unwrap().keys() {
                let mut value = whole.clone();
                let place = value.pointer_mut(path).unwrap().as_object_mut().unwrap();
                place.remove(name);
                assert!(!validator.is_valid(&value), "without {path}/{name}");
                let place = value.pointer_mut(path).unwrap().as_object_mut().unwrap();
                place.insert(name.clone(), object[name].clone());
                place.insert("more".to_owned(), Value::Null);
                assert!(!validator.is_valid(&value), "with more in {path:?}");
            }
        }
    }

    #[test]
    fn a_document_says_everything_in_units_and_names() {
        insta::assert_json_snapshot!(value(&full()));
    }
}
