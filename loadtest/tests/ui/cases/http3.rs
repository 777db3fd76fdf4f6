use loadtest::prelude::*;

fn main() {}

#[scenario(base = "https://127.0.0.1:8443", http = 3)]
fn without_the_feature() {
    #[step(get = "/")]
    fn step();
}
