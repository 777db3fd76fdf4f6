use loadtest::prelude::*;
use std::rc::Rc;

#[response]
pub struct User {
    pub id: u64,
    pub name: String,
}
pub struct NotReadable;

type Users = Feed<User>;

fn main() {}

#[scenario]
fn functions() {
    #[setup]
    fn early() -> u64 { 1 }
    #[state]
    fn cart(_user: &User) -> Vec<u64> { Vec::new() }
    #[feed]
    fn user(_early: &u64) -> Feed<User> { Feed::csv("users.csv") }
    #[feed]
    fn alias() -> Users { Feed::csv("users.csv") }
    #[feed]
    fn rows() -> Vec<User> { Vec::new() }
    #[feed]
    fn nothing() { }
    #[feed]
    fn bare() -> Feed { Feed::csv("users.csv") }
    #[feed]
    fn fallible() -> Result<Vec<User>, String> { Ok(Vec::new()) }
    #[feed]
    fn abstraction() -> Feed<impl Clone> { Feed::iter([1]) }
    #[feed]
    fn later(_late: &u64) -> Feed<User> { Feed::csv("users.csv") }
    #[feed]
    fn of_a_user(vu: &Vu) -> Feed<User> { let _ = vu; Feed::csv("users.csv") }
    #[feed]
    fn of_a_row(_user: &User) -> Feed<User> { Feed::csv("users.csv") }
    #[feed]
    fn of_a_step(_ask: &()) -> Feed<User> { Feed::csv("users.csv") }
    #[feed(order = shuffle)]
    fn options() -> Feed<User> { Feed::csv("users.csv") }
    #[feed]
    fn declared() -> Feed<User>;
    #[feed]
    async fn waits() -> Feed<User> { Feed::csv("users.csv") }
    #[feed]
    fn vu() -> Feed<User> { Feed::csv("users.csv") }
    #[feed]
    fn step1() -> Feed<User> { Feed::csv("users.csv") }
    #[setup]
    fn late(_user: &User) -> u64 { 1 }
    #[step(get = "/")]
    fn ask();
    #[teardown]
    fn end(_user: &User) {}
}

#[scenario]
fn parameters() {
    #[feed]
    fn user() -> Feed<User> { Feed::csv("users.csv") }
    #[step]
    fn owned(_user: User) -> Request { Request::get("/") }
    #[step]
    fn optional(_user: Option<&User>) -> Request { Request::get("/") }
    #[step]
    fn mutable(_user: &mut User) -> Request { Request::get("/") }
    #[step]
    fn forever(_user: &'static User) -> Request { Request::get("/") }
    #[step]
    fn unknown(_usr: &User) -> Request { Request::get("/") }
    #[step]
    fn text() -> Request { Request::get("/{{user.name}}") }
}

#[scenario]
fn templates() {
    #[feed]
    fn user() -> Feed<User> { Feed::csv("users.csv") }
    #[feed]
    fn any() -> Feed<Value> { Feed::csv("users.csv") }
    #[step(get = "/{{usr.name}}")]
    fn unknown();
    #[step(get = "/{{user.response.name}}/{{any.headers['x']}}")]
    fn answer();
    #[step(get = "/{{user.user-name}}")]
    fn name();
    #[step(post = "/", json = { "user": user })]
    fn json();
}

#[scenario]
fn several_rows() {
    #[feed(rows = 1)]
    fn one() -> Feed<User> { Feed::csv("users.csv") }
    #[feed(row = 2)]
    fn misspelt() -> Feed<User> { Feed::csv("users.csv") }
    #[feed(rows = 3)]
    fn user() -> Feed<User> { Feed::csv("users.csv") }
    #[step]
    fn single(user: &User) -> Request { Request::get("/") }
    #[step]
    fn list(user: &[User]) -> Request { Request::get("/") }
    #[step(get = "/{{user.name}}")]
    fn which();
    #[step(get = "/{{user[3].name}}")]
    fn fourth();
}

#[scenario]
fn types() {
    #[feed]
    fn user() -> Feed<User> { Feed::csv("users.csv") }
    #[feed(rows = 2)]
    fn pair() -> Feed<User> { Feed::csv("users.csv") }
    #[step(get = "/{{pair[1].nam}}")]
    fn field_of_second();
    #[step]
    fn three(pair: [&User; 3]) -> Request { let _ = pair; Request::get("/") }
    #[feed]
    fn local() -> Feed<Rc<u8>> { Feed::iter([Rc::new(1)]) }
    #[feed]
    fn unreadable() -> Feed<NotReadable> { Feed::csv("users.csv") }
    #[feed]
    fn words() -> Result<Feed<u8>, NotReadable> { Ok(Feed::iter([1])) }
    #[step(get = "/{{user.nam}}")]
    fn field();
    #[step(get = "/{{user}}", json = { "id": {{user.idd}} })]
    fn whole();
    #[step]
    fn other(user: &String) -> Request { let _ = user; Request::get("/") }
}
