use loadtest::prelude::*;

fn main() {}

#[scenario(base = "http://127.0.0.1:3000")]
fn meetings() {
    #[step(get = "/", rendezvous)]
    fn alone();

    #[step(get = "/", rendezvous = 1)]
    fn of_one();

    #[step(get = "/", rendezvous(50, for = 10s))]
    fn misspelt();

    #[step(get = "/", rendezvous(50, within = 0s))]
    fn no_time();

    #[step(get = "/", rendezvous(50, 10s))]
    fn unnamed();

    #[step(get = "/", rendezvous = 5, last)]
    fn at_the_end();
}
