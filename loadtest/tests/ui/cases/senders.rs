//! Steps that send for themselves.

use loadtest::prelude::*;

#[response]
struct Login {
    token: String,
}

struct Silent;

#[scenario]
fn signatures() {
    #[step]
    async fn nothing(http: &mut Http) {}

    #[step]
    async fn plain(http: &mut Http) -> Login {}

    #[step]
    async fn builds() -> Result<Request<Login>, Error> {}

    #[step(get = "/login")]
    async fn declared() -> Login;

    #[step]
    async fn shared(http: &Http) -> Result<(), Error> {}

    #[step]
    async fn owned(http: Http) -> Result<(), Error> {}


    #[step]
    async fn typo(htp: &mut Http) -> Result<(), Error> {}
}

#[scenario]
fn options() {
    #[step(
        expect = 200,
        get = "/",
        header("x-a", "b"),
        bearer = "t",
        json = {},
        weight = 0.5,
        think = 1s,
        timeout = 2s,
        apdex = 100ms,
        p95 < 1s,
        name = "all",
        check = |r| r.token.is_empty(),
    )]
    async fn sends(http: &mut Http) -> Result<Login, Error> {
        Err(Error::msg(""))
    }
}

#[scenario]
fn elsewhere() {
    #[state]
    fn kept(http: &mut Http) -> u8 {
        0
    }

    #[step]
    fn login(http: &mut Http) -> Request<Login> {
        Request::get("/")
    }

    #[check]
    fn checked(login: &Login, http: &mut Http) -> bool {
        true
    }
}

#[scenario]
fn names() {
    #[step(get = "/")]
    fn http();
}

#[scenario]
fn unread() {
    #[step]
    async fn sends(http: &mut Http) -> Result<(), Error> {
        Ok(())
    }

    #[step]
    fn uses(sends: &Login) -> Request {
        Request::get("/")
    }
}

#[scenario]
fn types() {
    #[step]
    async fn fails(http: &mut Http) -> Result<Login, Silent> {
        Err(Silent)
    }

    #[step]
    async fn lends(fails: &String, http: &mut Vec<u8>) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {}
