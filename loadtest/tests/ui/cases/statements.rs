use loadtest::prelude::*;

fn main() {}

macro_rules! helpers {
    ($($name:ident)*) => { $(fn $name() -> Request { Request::get("/") })* };
}

#[scenario]
fn scenario() {
    helpers! { one two }
    helpers!(three four);
    mod inner {}
    let _x = 1;
    login();
    println!("x");
    println! { "x" }
    if true {}
    vec![1].len();
    return;
    "text";
    (1, 2);
    unsafe { login() };
    const N: u8 = 1;
    loop {
        break;
    }
    #[step(post = "/login")]
    fn login();
    login();
    #[step]
    fn home() -> Request { let _ = (two(), four(), N); one() }
    foo
}

#[scenario]
fn tail() {
    #[step(post = "/login")]
    fn login();
    login()
}

#[scenario]
fn macros() {
    #[step(post = "/login")]
    fn login();
    helpers!(one)
}
