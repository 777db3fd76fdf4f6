use loadtest::prelude::*;

fn main() {}

#[response]
struct Chunk {
    text: Option<String>,
}

#[scenario]
fn scenario() {
    #[step(get = "/", first = |chunk| chunk.text.is_some())]
    fn no_stream() -> Chunk;
    #[step(get = "/", lasts = 5s)]
    fn not_read();
    #[step(get = "/", ens = "[DONE]")]
    fn near_word() -> Events<Chunk>;
    #[step(get = "/", end = 5)]
    fn no_mark() -> Events<Chunk>;
    #[step(get = "/", first = true)]
    fn no_closure() -> Events<Chunk>;
    #[step(get = "/", events = 0)]
    fn none() -> Events<Chunk>;
    #[step(get = "/", format = json)]
    fn other_format() -> Events<Chunk>;
    #[step(get = "/", graded = service)]
    fn other_grade() -> Events<Chunk>;
    #[step(get = "/", units = 5)]
    fn a_number() -> Events<Chunk>;
    #[step(get = "/", idle = 0s)]
    fn no_time() -> Events<Chunk>;
    #[step(get = "/", idle(comments) = 5s)]
    fn other_life() -> Events<Chunk>;
    #[step(get = "/", good(first_event < 800ms) < 95%)]
    fn upside_down() -> Events<Chunk>;
    #[step(get = "/", good(first_evnt < 800ms) > 95%)]
    fn near_time() -> Events<Chunk>;
    #[step(get = "/", good(gap > 800ms))]
    fn long_is_good() -> Events<Chunk>;
    #[step(get = "/", good())]
    fn nothing_is_good() -> Events<Chunk>;
    #[step(get = "/", good > 95%)]
    fn what_is_good() -> Events<Chunk>;
    #[step(get = "/", first_event.p95 < 800ms)]
    fn limit_of_streams() -> Chunk;
    #[step(get = "/", units > 5/s)]
    fn units_of_nothing();
    #[step(first = |chunk| true)]
    async fn sends_itself(http: &mut Http) -> Result<(), Error> {
        http.get("/").events::<Chunk>().await?;
        Ok(())
    }
}

#[scenario]
fn journey() {
    #[step(get = "/")]
    fn a() -> Events<Chunk>;
    #[step(get = "/{{a.response[0].txt}}")]
    fn misspelt();
}

#[scenario]
fn closures() {
    #[step(get = "/", first = |chunk| chunk.txt.is_some())]
    fn no_field() -> Events<Chunk>;
    #[step(get = "/", units = |answer| answer.length())]
    fn no_method() -> Events<Chunk>;
}
