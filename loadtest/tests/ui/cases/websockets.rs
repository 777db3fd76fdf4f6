use loadtest::prelude::*;

fn main() {}

#[response]
struct Tick {
    symbol: String,
}

#[scenario]
fn scenario() {
    #[step(ws = "/feed")]
    fn not_read();
    #[step(ws = "/feed")]
    fn no_socket() -> Tick;
    #[step(get = "/feed")]
    fn no_ws() -> Socket<Tick>;
    #[step(ws = "http://127.0.0.1/feed")]
    fn other_scheme() -> Socket<Tick>;
    #[step(get = "ws://127.0.0.1/feed")]
    fn no_http() -> Tick;
    #[step(ws = "/feed", get = "/feed")]
    fn two_methods() -> Socket<Tick>;
    #[step(ws = "/feed", json = { "a": 1 })]
    fn with_a_body() -> Socket<Tick>;
    #[step(ws = "/feed", until = |socket| true)]
    fn polled() -> Socket<Tick>;
    #[step(ws = "/feed", protocol = "two words")]
    fn no_protocol() -> Socket<Tick>;
    #[step(ws = "/feed", protocol = 2)]
    fn a_number() -> Socket<Tick>;
    #[step(ws = "/feed", compress)]
    fn how_compressed() -> Socket<Tick>;
    #[step(ws = "/feed", heartbeat = "ping")]
    fn how_often() -> Socket<Tick>;
    #[step(ws = "/feed", heartbeat("ping", answer = "pong"))]
    fn never() -> Socket<Tick>;
    #[step(ws = "/feed", heartbeat("ping", every = 1ms))]
    fn too_often() -> Socket<Tick>;
    #[step(ws = "/feed", heartbeat("ping", each = 1s))]
    fn no_such_parameter() -> Socket<Tick>;
    #[step(ws = "/feed", reply("2", "3"), reply("2", "4"))]
    fn two_replies() -> Socket<Tick>;
    #[step(ws = "/feed", reply = "3")]
    fn reply_to_what() -> Socket<Tick>;
    #[step(get = "/", reply("2", "3"))]
    fn nothing_to_reply_to() -> Tick;
    #[step(ws = "/feed", protokol = "chat")]
    fn near_word() -> Socket<Tick>;
    #[step(get = "/", compress = true)]
    fn other_answer() -> Tick;
    #[step(protocol = "chat")]
    async fn sends_itself(http: &mut Http) -> Result<(), Error> {
        http.get("/").send().await?;
        Ok(())
    }
}

#[scenario]
fn journey() {
    #[step(ws = "/feed")]
    fn socket() -> Socket<Tick>;
    #[step]
    fn not_async(socket: &Socket<Tick>) -> Request {
        Request::get("/")
    }
    #[step(get = "/{{socket.response.symbol}}")]
    fn declared();
}

#[scenario]
fn types() {
    #[step(ws = "/feed")]
    fn socket() -> Socket<Tick>;
    #[step]
    async fn no_message(socket: &Socket<Tick>) -> Result<(), Error> {
        socket.ask(5).await?;
        Ok(())
    }
    #[step]
    async fn other_type(socket: &Socket<Tick>) -> Result<String, Error> {
        socket.next().await
    }
}
