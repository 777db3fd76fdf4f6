use loadtest::prelude::*;

fn main() {}

#[response]
struct Cart {
    id: String,
}

const QUERY: &str = "{ cart { id } }";

#[scenario]
fn documents() {
    #[step(graphql = "query Cart { cart { id }")]
    fn not_closed() -> Cart;
    #[step(graphql = "query A { a } query B { b }")]
    fn two_operations() -> Cart;
    #[step(graphql = "qurey Cart { cart { id } }")]
    fn no_operation() -> Cart;
    #[step(graphql = QUERY)]
    fn no_text() -> Cart;
    #[step(graphql = "{ cart(id: \"{{login.response.id}}\") { id } }")]
    fn placeholder() -> Cart;
}

#[scenario]
fn variables() {
    #[step(graphql = "query Cart { cart(id: $id) { id } }", variables = { "id": 7 })]
    fn not_declared() -> Cart;
    #[step(graphql = "query Cart($cart: ID!) { cart(id: $crat) { id } }", variables = { "cart": 7 })]
    fn misspelt() -> Cart;
    #[step(graphql = "query Cart($id: ID!, $first: Int = 3) { cart(id: $id) { items(first: $first) } }")]
    fn not_given() -> Cart;
    #[step(graphql = "query Cart($id: ID!) { cart(id: $id) { id } }", variables = { "id": 7, "other": 8 })]
    fn too_many() -> Cart;
    #[step(graphql = "{ cart { id } }", variables = { "id": 7 })]
    fn none_declared() -> Cart;
    #[step(graphql = "query Cart($id: ID!) { cart(id: $id) { id } }", variables = [7])]
    fn a_list() -> Cart;
    #[step(graphql = "query Cart($id: ID!) { cart(id: $id) { id } }", variables = "{ \"id\": 7 }")]
    fn a_text() -> Cart;
    #[step(post = "/graphql", variables = { "id": 7 })]
    fn without_a_document() -> Cart;
}

#[scenario]
fn options() {
    #[step(graphql = "{ cart { id } }", json = { "id": 7 })]
    fn two_bodies() -> Cart;
    #[step(put = "/graphql", graphql = "{ cart { id } }")]
    fn by_put() -> Cart;
    #[step(get = "/graphql", graphql = "mutation Empty { empty { id } }")]
    fn mutation_by_get() -> Cart;
    #[step(ws = "/graphql", graphql = "{ cart { id } }")]
    fn by_socket() -> Socket<Cart>;
    #[step(graphql = "{ cart { id } }", partial = true)]
    fn no_place_for_errors() -> Cart;
    #[step(graphql = "{ cart { id } }", partial = true)]
    fn not_read();
    #[step(graphql = "{ cart { id } }", partial)]
    fn how_partial() -> Graph<Cart>;
    #[step(grapql = "{ cart { id } }")]
    fn near_word() -> Cart;
    #[step(graphql = "{ cart { id } }")]
    fn has_a_body() -> Request<Graph<Cart>> {
        Request::graphql(QUERY)
    }
    #[step(partial = true)]
    async fn sends_itself(http: &mut Http) -> Result<(), Error> {
        http.get("/").send().await?;
        Ok(())
    }
}

#[scenario]
fn built() {
    #[step]
    fn not_closed() -> Request<Graph<Cart>> {
        Request::graphql("{ cart { id }")
    }
    #[step]
    fn two_operations() -> Request<Graph<Cart>> {
        Request::graphql("query A { a } query B { b }")
    }
    #[step]
    fn unknown_operation() -> Request<Graph<Cart>> {
        Request::graphql("query CartA { a } query CartB { b }").operation("CartC")
    }
    #[step]
    fn not_given() -> Request<Graph<Cart>> {
        Request::graphql("query Cart($id: ID!) { cart(id: $id) { id } }").bearer_auth("t")
    }
    #[step]
    fn not_declared() -> Request<Graph<Cart>> {
        Request::graphql("query Cart($id: ID!) { cart(id: $id) { id } }")
            .variables(&json!({ "id": 7, "idd": [1, 2] }))
    }
}

#[scenario]
fn types() {
    #[step]
    fn not_graph() -> Request<Cart> {
        Request::graphql(QUERY)
    }
    #[step(graphql = "{ cart { id } }")]
    fn cart() -> Cart;
    #[step(graphql = "{ cart { id } }")]
    fn unreadable() -> std::thread::Thread;
    #[step(get = "/{{cart.response.total}}")]
    fn other_field();
    #[step]
    fn other_type(cart: &Graph<Cart>) -> Request {
        Request::get(&cart.id)
    }
}
