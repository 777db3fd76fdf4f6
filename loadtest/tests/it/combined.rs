//! The options of streams, WebSockets, calls, GraphQL and clients of one's own beside those of all steps.

use crate::completion::Chunk;
use loadtest::Stream;
use loadtest::prelude::*;
use loadtest_model::definition::{EndMark, Part, StepDef};
use serde::Serialize;
use shop_proto::Item;
use shop_proto::cart_client::CartClient;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

#[response]
struct Prompt {
    text: String,
    max_tokens: u32,
}

/// Tokens that the server counted; else one for each event with output.
fn tokens(answer: &Events<Chunk>) -> u64 {
    let counted = answer.last().and_then(|chunk| chunk.usage.as_ref());
    let outputs = || answer.iter().filter(|chunk| chunk.output().is_some());
    counted.map_or_else(|| outputs().count() as u64, |usage| usage.completion_tokens)
}

#[scenario(
    base = "http://127.0.0.1:8000",
    bearer = "{{secret.LLM_KEY}}",
    load = rate(4/s, ramp_up = 30s, for = 5m, max_users = 400),
    thresholds(errors < 1%),
    grace = 2m,
)]
fn assistant() {
    #[feed]
    fn prompt() -> Feed<Prompt> {
        Feed::json_lines("data/prompts.jsonl").shuffle()
    }

    #[step(
        first = |chunk| chunk.output().is_some(),
        end = "[DONE]",
        units = tokens,
        first_event.p95 < 800ms,
        per_unit.p95 < 50ms,
        good(first_event < 800ms, per_unit < 50ms) > 95%,
        check = |answer| answer.iter().any(|chunk| chunk.choices.iter().any(|c| c.finish_reason.is_some())),
        think = 2s..8s,
    )]
    fn ask(prompt: &Prompt) -> Request<Events<Chunk>> {
        Request::post("/v1/chat/completions").json(&json!({
            "model": "any", "stream": true, "stream_options": { "include_usage": true },
            "max_tokens": prompt.max_tokens,
            "messages": [{ "role": "user", "content": prompt.text }],
        }))
    }

    #[step(first = |chunk| chunk.output().is_some(), end = "[DONE]", units = tokens, first_event.p95 < 800ms)]
    fn follow_up(prompt: &Prompt, ask: &Events<Chunk>) -> Request<Events<Chunk>> {
        let said: String = ask.iter().filter_map(|chunk| chunk.output()).collect();
        Request::post("/v1/chat/completions").json(&json!({
            "model": "any", "stream": true,
            "messages": [
                { "role": "user", "content": prompt.text },
                { "role": "assistant", "content": said },
                { "role": "user", "content": "Shorter, please." },
            ],
        }))
    }
}

#[response]
struct Login {
    token: String,
    cart: String,
}

#[response]
struct Order {
    id: u64,
}

#[response]
struct Notice {
    order: u64,
    state: String,
}

#[scenario(base = "http://127.0.0.1:3000")]
fn notified() {
    #[step(post = "/login")]
    fn login() -> Login;

    #[step(post = "/orders", bearer = "{{login.response.token}}")]
    fn buy() -> Order;

    #[step(
        get = "/orders/{{buy.response.id}}/events",
        bearer = "{{login.response.token}}",
        events = 5,
        lasts = 20s,
        idle = 10s,
        gap.p95 < 2s,
    )]
    fn follow() -> Events<Notice>;

    #[step(get = "/orders/{{follow.response[0].order}}")]
    fn order();

    #[step(first_event.p99 < 1s)]
    async fn watch(buy: &Order, http: &mut Http) -> Result<Notice, Error> {
        let url = format!("/orders/{}/events", buy.id);
        let mut events = http.get(url).events::<Notice>().await?;
        while let Some(notice) = events.next().await? {
            if notice.state == "shipped" {
                return Ok(notice.into_data());
            }
        }
        Err("the stream ended before the order was shipped".into())
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Say<'a> {
    Join { room: u64 },
    Text { id: u64, text: &'a str },
}

#[response]
#[serde(tag = "type", rename_all = "snake_case")]
enum Heard {
    Joined { members: u32 },
    Ack { id: u64 },
    Text { from: String, text: String },
    Error { message: String },
}

#[response]
struct User {
    name: String,
    room: u64,
}

#[scenario(base = "https://chat.staging.example.com", load = users(2000, ramp_up = 60s, for = 10m))]
fn chat() {
    #[feed]
    fn user() -> Feed<User> {
        Feed::csv("data/users.csv").unique()
    }

    #[step(post = "/login", json = { "name": "{{user.name}}", "password": {{secret.CHAT_PASSWORD}} })]
    fn login() -> Login;

    #[step(ws = "/socket?room={{user.room}}", bearer = "{{login.response.token}}", protocol = "chat.v2", p95 < 200ms)]
    fn socket() -> Socket<Heard>;

    #[step(p95 < 50ms)]
    async fn join(socket: &Socket<Heard>, user: &User) -> Result<u32, Error> {
        let join = Say::Join { room: user.room };
        let is_answer = |heard: &Heard| matches!(heard, Heard::Joined { .. } | Heard::Error { .. });
        match socket.ask(&join).until(is_answer).await? {
            Heard::Joined { members } => Ok(members),
            Heard::Error { message } => Err(message.into()),
            _ => unreachable!("`until` says so"),
        }
    }

    #[step(p99 < 100ms, think = 1s..5s)]
    async fn talk(_join: &u32, socket: &Socket<Heard>, vu: &mut Vu) -> Result<(), Error> {
        for turn in 0..vu.random_range(1..=5) {
            let id = vu.iteration() << 8 | turn;
            let say = Say::Text { id, text: "hello" };
            let is_own = |heard: &Heard| matches!(heard, Heard::Ack { id: it } if *it == id);
            socket.ask(&say).name("say").until(is_own).await?;
            socket.pause(Duration::from_millis(300)).await;
        }
        for heard in socket.heard() {
            if let Heard::Text { from, text } = heard.data()
                && let Some(sent) = Stamp::parse(text)
                && !from.is_empty()
            {
                vu.time("fan-out", heard.since(sent));
            }
        }
        Ok(())
    }
}

#[response]
struct Tick {
    symbol: String,
    price: f64,
}

#[scenario(base = "http://127.0.0.1:3000", load = rate(1000/s, ramp_up = 20s, for = 5m, max_users = 500))]
fn ticks() {
    #[step(ws = "/feed", once)]
    fn feed() -> Socket<Tick>;

    #[step(p99 < 20ms, check = |tick| tick.price > 0.0)]
    async fn quote(feed: &Socket<Tick>, vu: &mut Vu) -> Result<Tick, Error> {
        let symbol = *vu.choose(&["AAA", "BBB", "CCC"]).ok_or("no symbol")?;
        let get = json!({ "get": symbol });
        feed.ask(&get).until(|tick| tick.symbol == symbol).await
    }

    #[step(last)]
    async fn leave(feed: &Socket<Tick>) -> Result<(), Error> {
        feed.close(1000).await
    }
}

#[scenario(
    base = "http://127.0.0.1:50051",
    http = 2,
    connections = 8,
    header("x-tenant", "load")
)]
fn calls() {
    #[step(p95 < 20ms)]
    async fn add(http: &mut Http, vu: &mut Vu) -> Result<u64, Error> {
        let mut cart = CartClient::new(http.grpc());
        let product = vu.random_range(1..=500);
        let added = cart.add(Item {
            product,
            quantity: 1,
        });
        Ok(added.await?.into_inner().cart)
    }

    #[step(first_event.p95 < 50ms, gap.p99 < 200ms, think = 1s)]
    async fn prices(add: &u64, http: &mut Http) -> Result<(), Error> {
        let item = Item {
            product: *add,
            quantity: 20,
        };
        let mut prices = CartClient::new(http.grpc()).watch(item).await?.into_inner();
        while prices.message().await?.is_some() {}
        Ok(())
    }

    #[step]
    async fn both(add: &u64, http: &mut Http) -> Result<(), Error> {
        let (mut one, mut other) = (CartClient::new(http.grpc()), CartClient::new(http.grpc()));
        let item = Item {
            product: *add,
            quantity: 1,
        };
        let (a, b) = tokio::join!(one.add(item), other.add(item));
        a?;
        b?;
        Ok(())
    }
}

#[response]
struct Cart {
    cart: CartBody,
}

#[response]
struct CartBody {
    id: String,
    total: f64,
}

#[response]
struct Added {
    add: Value,
}

#[scenario(base = "http://127.0.0.1:3000")]
fn graphs() {
    #[step(post = "/login")]
    fn login() -> Login;

    #[step(
        graphql = "query Cart($id: ID!) { cart(id: $id) { id total } }",
        variables = { "id": {{login.response.cart}} },
        bearer = "{{login.response.token}}",
        check = |answer| answer.cart.total >= 0.0,
    )]
    fn cart() -> Cart;

    #[step(check = |answer| answer.add.is_object())]
    fn add(cart: &Cart) -> Request<Graph<Added>> {
        Request::graphql("mutation Add($id: ID!) { add(cart: $id, product: 7) { total } }")
            .variables(&json!({ "id": cart.cart.id }))
    }
}

/// A client that connects by itself, and has an error of its own.
struct Producer(SocketAddr);

struct Undelivered(&'static str);

impl Producer {
    async fn send(&self, _key: &str) -> Result<(), (Undelivered, String)> {
        let reason = format!("no broker at {}", self.0);
        std::future::ready(Err((Undelivered("no broker"), reason))).await
    }
}

#[scenario(
    reaches = ["tcp://db.staging.example.com:5432", "tcp://kafka.staging.example.com:9092", "udp://127.0.0.1:5353"],
    load = rate(300/s, ramp_up = 10s, for = 2m, max_users = 50),
)]
fn clients() {
    #[step(once)]
    async fn line(net: &mut Net) -> Result<BufReader<Stream>, Error> {
        let stream = net.connect("tcp://db.staging.example.com:5432").await?;
        Ok(BufReader::new(stream))
    }

    #[step(once)]
    async fn producer(net: &mut Net) -> Result<Producer, Error> {
        let brokers = net.permitted("tcp://kafka.staging.example.com:9092")?;
        Ok(Producer(brokers))
    }

    #[step(p99 < 100ms)]
    async fn publish(producer: &Producer, vu: &mut Vu) -> Result<(), Error> {
        let key = vu.uuid();
        vu.measure("produce", producer.send(&key))
            .timeout(Duration::from_secs(2))
            .reason(|(error, _)| error.0.to_owned())
            .await?;
        Ok(())
    }

    #[step(p95 < 5ms, apdex = 1ms)]
    async fn echo(line: &mut BufReader<Stream>, vu: &mut Vu) -> Result<String, Error> {
        let answer = vu.measure("echo", async {
            line.write_all(b"ping\n").await?;
            let mut answer = String::new();
            line.take(64).read_line(&mut answer).await?;
            Ok::<_, io::Error>(answer)
        });
        Ok(answer.await?)
    }

    #[step]
    async fn query(net: &mut Net, vu: &mut Vu) -> Result<(), Error> {
        let socket = net.udp("udp://127.0.0.1:5353").await?;
        let id = vu.random_range(0..=u64::from(u16::MAX)) as u16;
        let question = id.to_be_bytes();
        let answer = socket.ask(&question, |answer| answer.starts_with(&question));
        let answered = vu.measure("A record", answer);
        answered.timeout(Duration::from_millis(500)).await?;
        Ok(())
    }
}

#[cfg(feature = "http3")]
#[scenario(base = "https://edge.staging.example.com", http = 3)]
fn page() {
    #[step(get = "/", expect = 200)]
    fn home();
}

#[cfg(feature = "http3")]
#[test]
fn a_version_of_http_is_declared_as_any() {
    use loadtest_model::definition::HttpVersion;
    assert_eq!(page().definition.client.http, HttpVersion::Http3);
}

fn step(steps: &'static [StepDef], name: &str) -> &'static StepDef {
    let found = steps.iter().find(|step| step.name == name);
    found.expect(name)
}

#[test]
fn a_stream_keeps_its_options_beside_those_of_all_steps() {
    let definition = &assistant().definition;
    let ask = step(&definition.steps, "ask");
    let stream = ask.stream.as_ref().unwrap();
    assert_eq!(stream.end, Some(EndMark::Data("[DONE]".into())));
    assert_eq!(stream.units.as_deref(), Some("tokens"));
    let parts: Vec<_> = ask.good.iter().map(|condition| condition.part).collect();
    assert_eq!(parts, [Part::FirstEvent, Part::PerUnit]);
    let limits: Vec<_> = ask.thresholds.iter().map(ToString::to_string).collect();
    assert_eq!(
        limits,
        [
            "first_event.p95 < 800ms",
            "per_unit.p95 < 50ms",
            "good > 95%"
        ]
    );
    assert_eq!(definition.grace, Some(Duration::from_secs(120)));
    let follow = step(&notified().definition.steps, "follow").stream.as_ref();
    let follow = follow.unwrap();
    assert_eq!(
        (follow.events, follow.lasts, follow.idle),
        (
            Some(5),
            Some(Duration::from_secs(20)),
            Duration::from_secs(10)
        )
    );
}

#[test]
fn steps_of_all_protocols_keep_their_names_and_urls() {
    let socket = step(&chat().definition.steps, "socket");
    let websocket = socket.websocket.as_ref().unwrap();
    assert_eq!(websocket.protocol.as_deref(), Some("chat.v2"));
    assert!(step(&ticks().definition.steps, "feed").once);
    assert_eq!(calls().definition.client.connections, Some(8));
    let cart = step(&graphs().definition.steps, "cart");
    let graphql = cart.graphql.as_ref().unwrap();
    assert_eq!(graphql.operation.as_deref(), Some("query Cart"));
    assert_eq!(
        *clients().definition.reaches,
        [
            "tcp://db.staging.example.com:5432",
            "tcp://kafka.staging.example.com:9092",
            "udp://127.0.0.1:5353"
        ]
    );
}
