//! The load tests of the shop. `cargo loadtest run` runs them under load, `cargo test` runs each
//! journey once.

use loadtest::prelude::*;

#[response]
struct Login {
    token: String,
}

#[response]
struct Catalog {
    items: Vec<Product>,
}

#[response]
struct Product {
    id: u64,
    price_cents: u64,
}

#[response]
struct Order {
    id: u64,
    status: String,
    total_cents: u64,
}

/// A customer logs in, looks around, usually buys two of something, and looks at the order.
#[scenario(
    tags = ["critical"],
    load = rate(50/s, ramp_up = 2s, for = 8s),
    thresholds(p95 < 300ms, errors < 1%),
)]
fn checkout() {
    #[setup]
    fn server() -> Result<Target, TargetError> {
        shop()
    }

    #[step(expect = 200, p95 < 100ms)]
    fn login() -> Request<Login> {
        Request::post("/login").json(&json!({ "user": "ada", "password": "lovelace" }))
    }

    #[step(think = 100ms..300ms)]
    fn browse(login: &Login) -> Request<Catalog> {
        Request::get("/products?page=2").bearer_auth(&login.token)
    }

    #[step(weight = 0.8, expect = 201, think = 50ms)]
    fn buy(login: &Login, browse: &Catalog) -> Option<Request<Order>> {
        let order = json!({ "product": browse.items.first()?.id, "quantity": 2 });
        Some(
            Request::post("/orders")
                .bearer_auth(&login.token)
                .json(&order),
        )
    }

    #[step]
    fn order(login: &Login, buy: &Order) -> Request<Order> {
        Request::get(format!("/orders/{}", buy.id)).bearer_auth(&login.token)
    }

    #[check]
    fn the_order_costs_what_was_shown(browse: &Catalog, order: &Order) -> bool {
        browse.items[0].price_cents * 2 == order.total_cents
    }
}

/// Starts a shop on a free port. It is stopped at the end of the run.
fn shop() -> Result<Target, TargetError> {
    Target::binary(env!("CARGO_BIN_EXE_shop"))
        .args(["--port", "{port}"])
        .ready("/health")
        .start()
}

/// The shop answers fast.
#[scenario(
    tags = ["smoke"],
    load = rate(500/s, ramp_up = 1s, for = 6s),
    thresholds(p99 < 100ms, errors < 0.1%),
)]
fn health() {
    #[setup]
    fn server() -> Result<Target, TargetError> {
        shop()
    }

    #[step(get = "/health", expect = 200)]
    fn health();
}

/// A visitor of the shop: a row of `data/customers.csv`.
#[response]
struct Customer {
    name: String,
    password: String,
}

/// Regulars log in once and then visit the shop again and again. This scenario is declared as data:
/// a value from a feed or an earlier answer is a `{{template}}`, and the compiler checks each
/// template. Every request after the login carries the token.
#[scenario(
    tags = ["catalog"],
    bearer = "{{login.response.token}}",
    load = users(10, ramp_up = 2s, for = 8s),
    apdex = 100ms,
)]
fn browse_catalog() {
    #[setup]
    fn server() -> Result<Target, TargetError> {
        shop()
    }

    /// A virtual user is the same customer for all of its journeys.
    #[feed]
    fn customer() -> Feed<Customer> {
        Feed::csv("data/customers.csv").unique().cycle()
    }

    /// Runs once per user, during the ramp-up. The figures cover the time after the ramp-up.
    #[step(
        post = "/login",
        json = { "user": "{{customer.name}}", "password": "{{customer.password}}" },
        expect = 200,
        once,
    )]
    fn login() -> Login;

    /// An overloaded shop answers 503, and people try again.
    #[step(get = "/products", retry(2, on = 503), think = 50ms..150ms)]
    fn browse() -> Catalog;

    #[step(get = "/products/{{browse.response.items[0].id}}", think = 50ms)]
    fn product();

    #[step(
        post = "/orders",
        json = { "product": {{browse.response.items[0].id}}, "quantity": 1 },
        expect = 201,
        weight = 0.5,
    )]
    fn buy() -> Order;

    /// Polls until the order is packed.
    #[step(
        get = "{{buy.headers.location}}",
        until = |order| order.status == "packed",
        every = 50ms,
        within = 5s,
    )]
    fn packed() -> Order;

    /// Buyers look at their orders, all other visitors at the next page.
    #[step]
    fn leave(packed: Option<&Order>) -> Request {
        Request::get(match packed {
            Some(_) => "/orders",
            None => "/products?page=2",
        })
    }
}

loadtest::main!();
