use loadtest::prelude::*;

#[response]
struct Login {
    token: String,
    any: Value,
}

fn main() {}

#[scenario]
fn roles() {
    #[step()]
    struct Shop {
        id: u8,
    }

    #[check]
    pub enum Kind {
        One,
    }

    #[step = "/"]
    fn assigned() -> Request {
        Request::get("/")
    }

    #[step[get = "/"]]
    fn brackets();

    #[step(get = "/")]
    fn braces() -> Login {}

    #[setp(get = "/{{login.response.token}}")]
    fn misspelt();

    #[allow(dead_code)]
    #[chek]
    fn also(misspelt: &Value) -> bool { true }
}

#[scenario]
fn types() {
    #[step(get = "/")]
    fn login() -> Response<Login>;

    #[step(get = "/")]
    fn result() -> Result<Login, String>;

    #[step]
    fn lifetime<'a>(login: &'a Login) -> Request {
        Request::get(login.token.clone())
    }

    #[step]
    fn fallible(login: Result<&Login, String>) -> Request {
        Request::get("/")
    }

    #[step]
    fn user(self, login: &Login) -> Request {
        Request::get(login.token.clone())
    }
}

#[scenario]
fn waiting() {
    #[step]
    fn login() -> Request<Login> {
        Request::get("/")
    }

    #[step]
    fn later() -> Request {
        let login = login().await;
        Request::get(login.token)
    }
}

#[scenario]
#[test]
fn tested() {
    #[step(get = "/")]
    fn health();
}
