use loadtest::prelude::*;

fn main() {}

#[response]
pub struct Login {
    pub token: String,
}

/// A mistake in it is shown once, whoever uses it.
#[group]
fn sign_in() {
    #[step(get = "/", check = |page| page.len() > "1")]
    fn page() -> String;

    #[step]
    fn login(page: &str) -> Request<Login> {
        let number: u64 = page;
        Request::get(page)
    }
}

#[scenario]
fn one() {
    #[group]
    use sign_in;
}

#[scenario]
fn two() {
    #[group]
    use sign_in;

    #[step]
    fn read(login: &u64) -> Request {
        Request::get("/")
    }
}
