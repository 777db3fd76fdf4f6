//! A scenario as data: the published shape, apart from how the library keeps a definition.
//!
//! Every field is always there; what is not declared is null or empty. The program that lists its
//! scenarios has taken out what is secret.

use loadtest_model::definition::{
    Bound, EndMark, GoodCondition, GroupDef, Load, ScenarioDef, Shape, Stage, StepDef, StreamDef,
    Subject, Think, Threshold,
};
use serde_json::{Value, json};
use std::time::Duration;

/// The version of the shape; it grows with every change that a reader could stumble over.
const SCHEMA_VERSION: u32 = 1;

/// Returns the document of a scenario.
pub(super) fn describe_scenario(scenario: &ScenarioDef) -> Value {
    let steps = scenario.steps.iter();
    let steps = steps.map(|step| describe_step(step, &scenario.steps));
    json!({
        "schema_version": SCHEMA_VERSION,
        "identity": scenario.identity(),
        "name": scenario.name,
        "function": scenario.function,
        "module": scenario.module,
        "package": scenario.package,
        "file": scenario.file,
        "line": scenario.line,
        "description": scenario.description,
        "tags": scenario.tags,
        "base": scenario.base,
        "starts_target": scenario.starts_target,
        "keeps_state": scenario.keeps_state,
        "version": scenario.version,
        "fingerprint": scenario.fingerprint,
        "weight": scenario.weight,
        "start_ms": to_ms(scenario.start),
        "load": scenario.load.as_ref().map(describe_load),
        "thresholds": describe_thresholds(&scenario.thresholds),
        "apdex_ms": scenario.apdex.map(to_ms),
        "budget": scenario.budget,
        "grade_weight": scenario.grade_weight,
        "client": scenario.client,
        "feeds": scenario.feeds,
        "secrets": scenario.secrets,
        "groups": scenario.groups.iter().map(describe_group).collect::<Vec<_>>(),
        "steps": steps.collect::<Vec<_>>(),
    })
}

fn describe_load(load: &Load) -> Value {
    let of_ramp = |model: &str, target: (&str, Value), ramp_up, duration| {
        json!({
            "model": model,
            target.0: target.1,
            "ramp_up_ms": to_ms(ramp_up),
            "duration_ms": to_ms(duration),
        })
    };
    let of_stages = |model: &str, stages: &[Stage]| {
        let stages = stages.iter().map(|stage| {
            json!({ "from": stage.from, "to": stage.to, "duration_ms": to_ms(stage.duration) })
        });
        json!({ "model": model, "stages": stages.collect::<Vec<_>>() })
    };
    let mut value = match &load.shape {
        Shape::Rate {
            per_second,
            ramp_up,
            duration,
        } => of_ramp(
            "rate",
            ("per_second", json!(per_second)),
            *ramp_up,
            *duration,
        ),
        Shape::Users {
            users,
            ramp_up,
            duration,
        } => of_ramp("users", ("users", json!(users)), *ramp_up, *duration),
        Shape::Iterations {
            count,
            users,
            per_user,
        } => json!({
            "model": "iterations",
            "count": count,
            "users": users,
            "per_user": per_user,
        }),
        Shape::RateStages { stages } => of_stages("rate_stages", stages),
        Shape::UserStages { stages } => of_stages("user_stages", stages),
    };
    value["warm_up_ms"] = json!(to_ms(load.warm_up));
    value["max_users"] = json!(load.max_users);
    value["pace_ms"] = json!(load.pace.map(to_ms));
    value
}

fn describe_thresholds(thresholds: &[Threshold]) -> Vec<Value> {
    let describe = |threshold: &Threshold| {
        let (key, bound) = match threshold.bound {
            Bound::Time(time) => ("bound_ms", json!(to_ms(time))),
            Bound::Ratio(ratio) => ("bound_ratio", json!(ratio)),
            Bound::PerSecond(rate) => ("bound_per_second", json!(rate)),
            Bound::BytesPerSecond(rate) => ("bound_bytes_per_second", json!(rate)),
            Bound::Count(number) => ("bound_count", json!(number)),
            Bound::Number(number) => ("bound_number", json!(number)),
        };
        let mut value = json!({
            "metric": threshold.metric,
            "comparison": threshold.comparison,
            key: bound,
            "abort_after_ms": threshold.abort_after.map(to_ms),
        });
        match &threshold.subject {
            Subject::Whole => {}
            Subject::Tag(tag) => value["tag"] = json!(tag),
            Subject::Row(row) => value["row"] = json!(row),
        }
        value
    };
    thresholds.iter().map(describe).collect()
}

fn describe_think(think: Think) -> Value {
    match think {
        Think::Uniform { min, max } => json!({ "min_ms": to_ms(min), "max_ms": to_ms(max) }),
        Think::Random {
            law,
            mean,
            deviation,
        } => json!({
            "law": law,
            "mean_ms": to_ms(mean),
            "deviation_ms": to_ms(deviation),
        }),
    }
}

fn describe_group(group: &GroupDef) -> Value {
    json!({
        "name": group.name,
        "line": group.line,
        "description": group.description,
        "thresholds": describe_thresholds(&group.thresholds),
    })
}

fn describe_step(step: &StepDef, all: &[StepDef]) -> Value {
    let uses = step.dependencies.iter().filter_map(|dependency| {
        let used = all.get(dependency.step)?;
        Some(json!({ "step": used.name, "optional": dependency.optional }))
    });
    json!({
        "name": step.name,
        "line": step.line,
        "description": step.description,
        "tags": step.tags,
        "method": step.method,
        "url": step.url,
        "headers": step.headers,
        "body": step.body,
        "sends_itself": step.sends_itself,
        "expected_status": step.expect.0,
        "weight": step.weight,
        "one_of": step.one_of,
        "group": step.group,
        "rendezvous": step.rendezvous.map(|rendezvous| json!({
            "users": rendezvous.users,
            "within_ms": to_ms(rendezvous.within),
        })),
        "think": step.think.map(describe_think),
        "timeout_ms": to_ms(step.timeout),
        "grade_weight": step.grade_weight,
        "thresholds": describe_thresholds(&step.thresholds),
        "apdex_ms": step.apdex.map(to_ms),
        "budget": step.budget,
        "once": step.once,
        "renewal": step.renewal.as_ref().map(|renewal| json!({
            "after_ms": renewal.after.map(to_ms),
            "on": renewal.on.0,
        })),
        "last": step.last,
        "stop_on_failure": step.stop_on_failure,
        "retry": step.retry.as_ref().map(|retry| json!({
            "times": retry.times,
            "backoff_ms": to_ms(retry.backoff),
            "on": retry.on,
        })),
        "until": step.until.as_ref().map(|until| json!({
            "condition": until.condition,
            "every_ms": to_ms(until.every),
            "within_ms": to_ms(until.within),
        })),
        "redirects": step.redirects,
        "new_connections": step.new_connections,
        "stream": step.stream.as_ref().map(describe_stream),
        "websocket": step.websocket.as_ref().map(|websocket| json!({
            "protocol": websocket.protocol,
            "compress": websocket.compress,
            "heartbeat": websocket.heartbeat.as_ref().map(|heartbeat| json!({
                "message": heartbeat.message,
                "every_ms": to_ms(heartbeat.every),
                "answer": heartbeat.answer,
            })),
            "replies": websocket.replies,
        })),
        "graphql": step.graphql.as_ref().map(|graphql| json!({
            "operation": graphql.operation,
            "partial": graphql.partial,
        })),
        "good": step.good.iter().map(|condition| json!({
            "time": GoodCondition::part_name(condition.part),
            "at_most_ms": to_ms(condition.at_most),
        })).collect::<Vec<_>>(),
        "uses": uses.collect::<Vec<_>>(),
        "fingerprint": step.fingerprint,
    })
}

fn describe_stream(stream: &StreamDef) -> Value {
    let (end, end_condition) = match &stream.end {
        Some(EndMark::Data(mark)) => (Some(mark), None),
        Some(EndMark::Condition(condition)) => (None, Some(condition)),
        None => (None, None),
    };
    json!({
        "format": stream.format,
        "first": stream.first,
        "end": end,
        "end_condition": end_condition,
        "units": stream.units,
        "events": stream.events,
        "lasts_ms": stream.lasts.map(to_ms),
        "idle_ms": to_ms(stream.idle),
        "idle_counts": if stream.idle_counts_bytes { "bytes" } else { "events" },
        "graded_by": if stream.graded_by_response { "response" } else { "first_event" },
    })
}

fn to_ms(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest_model::definition;
    use loadtest_model::definition::{
        BodyDef, BodyKind, Client, Comparator, Cookies, Dependency, Dns, FeedDef, GaugeFigure,
        HeaderDef, HttpVersion, Metric, Statistic, ThinkLaw,
    };

    fn schema() -> Value {
        let text = include_str!("../../../../docs/scenario.schema.json");
        serde_json::from_str(text).unwrap()
    }

    fn value(scenario: &ScenarioDef) -> Value {
        describe_scenario(scenario)
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

    fn group(thresholds: &[Threshold]) -> GroupDef {
        GroupDef {
            name: "sign in".into(),
            line: 9,
            description: "How they come in.".into(),
            thresholds: thresholds.to_vec().into(),
        }
    }

    /// A limit of each kind.
    fn limits() -> Vec<Threshold> {
        let seconds = Duration::from_secs;
        let limit = Threshold::new;
        vec![
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
                Metric::Gauge("queue".into(), GaugeFigure::Max),
                Comparator::Less,
                Bound::Number(-2.5),
            ),
            limit(
                Metric::Timing("queued".into(), Statistic::P999),
                Comparator::Less,
                Bound::Time(seconds(1)),
            ),
        ]
    }

    /// A scenario that declares everything there is.
    fn full() -> ScenarioDef {
        let mut scenario = sample::definition("checkout", &["critical".to_owned()]);
        let seconds = Duration::from_secs;
        scenario.base = Some("https://127.0.0.1".into());
        scenario.version = Some("3".into());
        scenario.client = Client {
            http: HttpVersion::Http2,
            connections: Some(8),
            new_connections: false,
            cookies: Cookies::Off,
            dns: Dns::Ttl,
            insecure: true,
            ca: Some("ca.pem".into()),
            identity: Some("id.pem".into()),
        };
        scenario.thresholds = limits().into();
        scenario.apdex = Some(seconds(1));
        scenario.budget = Some(0.005);
        scenario.grade_weight = Some(1.0);
        scenario.feeds = vec![FeedDef {
            name: "user".into(),
            line: 8,
        }]
        .into();
        scenario.secrets = vec!["API_TOKEN".into()].into();
        scenario.groups = vec![group(&scenario.thresholds[..2])].into();
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
        step.think = Some(Think::Uniform {
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
        step.rendezvous = Some(definition::Rendezvous {
            users: 50,
            within: definition::Rendezvous::WITHIN,
        });
        *step = sample::streamed(step.clone());
        step.websocket = Some(definition::WebSocketDef {
            protocol: Some("chat.v2".into()),
            compress: true,
            heartbeat: Some(definition::Heartbeat {
                message: "ping".into(),
                every: seconds(25),
                answer: Some("pong".into()),
            }),
            replies: vec![definition::AutomaticReply {
                to: "2".into(),
                with: "3".into(),
            }]
            .into(),
        });
        step.graphql = Some(definition::GraphqlDef {
            operation: Some("query Buy".into()),
            partial: true,
        });
        step.once = true;
        step.renewal = Some(definition::Renewal {
            after: Some(seconds(3000)),
            on: definition::Expect(vec![definition::StatusRange { from: 401, to: 401 }].into()),
        });
        step.last = true;
        step.one_of = Some("view".into());
        step.group = Some("sign in".into());
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
        let mut thinking = full();
        thinking.steps.to_mut()[1].think = Some(Think::Random {
            law: ThinkLaw::Normal,
            mean: Duration::from_secs(2),
            deviation: Duration::from_millis(500),
        });
        assert_valid(&value(&thinking));
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
            Load::iterations(9, 3).shape,
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
