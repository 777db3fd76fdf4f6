//! The load tests of the shop. `cargo loadtest run` runs them under load, `cargo test` runs each
//! journey once.

use loadtest::prelude::*;

/// A shop of our own, on a free port, for as long as a scenario runs.
fn shop() -> Result<Target, TargetError> {
    Target::binary(env!("CARGO_BIN_EXE_shop"))
        .args(["--port", "{port}"])
        .ready("/health")
        .start()
}

/// What a login returns; the rest of the answer is of no interest here.
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

/// Who visits the shop: a row of `data/customers.csv`.
#[response]
struct Customer {
    name: String,
    password: String,
}

/// The database answers, and answers fast.
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

/// A customer logs in, looks around, usually buys something, and looks at the order.
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

    /// Each journey is that of one of them.
    #[feed]
    fn customer() -> Feed<Customer> {
        Feed::csv("data/customers.csv").shuffle()
    }

    #[step(expect = 200, p95 < 100ms)]
    fn login(customer: &Customer) -> Request<Login> {
        Request::post("/login")
            .json(&json!({ "user": customer.name, "password": customer.password }))
    }

    #[step(think = 100ms..300ms)]
    fn browse(login: &Login, vu: &mut Vu) -> Request<Catalog> {
        let page = 1 + (vu.random() * 2.0) as u32;
        Request::get(format!("/products?page={page}")).bearer_auth(&login.token)
    }

    #[check]
    fn something_is_for_sale(browse: &Catalog) -> bool {
        !browse.items.is_empty()
    }

    /// Four of five customers who look also buy.
    #[step(weight = 0.8, expect = 201, think = 50ms)]
    fn buy(login: &Login, browse: &Catalog, vu: &mut Vu) -> Option<Request<Order>> {
        let wanted = (vu.random() * browse.items.len() as f64) as usize;
        let product = browse.items.get(wanted)?;
        Some(
            Request::post("/orders")
                .bearer_auth(&login.token)
                .json(&json!({ "product": product.id, "quantity": 2 })),
        )
    }

    #[step]
    fn order(login: &Login, buy: &Order) -> Request<Order> {
        Request::get(format!("/orders/{}", buy.id)).bearer_auth(&login.token)
    }

    #[check]
    fn the_order_costs_what_was_shown(
        browse: &Catalog,
        buy: &Order,
        order: &Order,
    ) -> Result<(), String> {
        let shown = |product: &Product| product.price_cents * 2 == order.total_cents;
        if order.id == buy.id && browse.items.iter().any(shown) {
            Ok(())
        } else {
            Err(format!("order {} costs {}", order.id, order.total_cents))
        }
    }
}

/// Regulars log in once and then come again and again. This one is told as data: a value that comes
/// from a feed or an earlier answer is a `{{template}}`, and the compiler checks each of them. The
/// token goes with every request after the login.
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

    /// Once per user, and so within the ramp-up: the figures are of what comes after it.
    #[step(
        post = "/login",
        json = { "user": "{{customer.name}}", "password": "{{customer.password}}" },
        expect = 200,
        once,
    )]
    fn login() -> Login;

    /// A shop that cannot keep up says 503, and people try again.
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

    /// Asks until the order is packed.
    #[step(
        get = "{{buy.headers.location}}",
        until = |order| order.status == "packed",
        every = 50ms,
        within = 5s,
    )]
    fn packed() -> Order;

    /// Whoever has bought looks at the orders, everybody else at the next page.
    #[step]
    fn leave(packed: Option<&Order>) -> Request {
        Request::get(match packed {
            Some(_) => "/orders",
            None => "/products?page=2",
        })
    }
}

loadtest::main!();
