use loadtest::prelude::*;

fn main() {}

#[scenario(think = poisson(2s))]
fn unknown() {
    #[step(get = "/")]
    fn step();
}

#[scenario]
fn parts() {
    #[step(get = "/", think = normal(2s))]
    fn one_missing();

    #[step(get = "/", think = lognormal(2s, 1s, 1s))]
    fn one_too_many();

    #[step(get = "/", think = exponential(2s, 1s))]
    fn deviation();

    #[step(get = "/", think = normal)]
    fn no_parts();

    #[step(get = "/", think = lognormal(0s, 1s))]
    fn no_mean();

    #[step(get = "/", think = normal(2, 1s))]
    fn no_unit();
}
