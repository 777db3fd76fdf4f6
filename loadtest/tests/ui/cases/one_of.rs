use loadtest::prelude::*;

fn main() {}

const MOST: f64 = 0.8;

#[scenario]
fn options() {
    #[step(get = "/", weight = 0.5, one_of = "view")]
    fn quoted();
    #[step(get = "/", weight = 0.5, one_of = "a view")]
    fn no_name();
    #[step(get = "/", weight = 0.5, one_of)]
    fn no_value();
    #[step(get = "/", weight = 0.5, one_of(view))]
    fn in_parentheses();
    #[step(get = "/", weight = 0.5, one_of = )]
    fn half_written();
    #[step(get = "/", weight = 0.5, branch = view)]
    fn other_word();
    #[step(get = "/", weight = 0.5, oneof = view)]
    fn typo();
}

#[scenario]
fn weights() {
    #[step(get = "/", one_of = view)]
    fn missing();
    #[step(get = "/", weight = 0.7, one_of = view)]
    fn grid();
    #[step(get = "/", weight = 20%, one_of = view)]
    fn rows();
    #[step(get = "/", weight = 0.2, one_of = view)]
    fn one_too_many();
    #[step(get = "/", weight = 2, one_of = zoom)]
    fn out_of_range();
    #[step(get = "/", weight = 0.5, one_of = zoom)]
    fn in_range();
    #[step(get = "/", weight = 1, one_of = all)]
    fn always();
    #[step(get = "/", weight = 0.1, once, one_of = all)]
    fn once();
}

#[scenario]
fn constants() {
    #[step(get = "/", weight = MOST, one_of = view)]
    fn grid();
    #[step(get = "/", weight = 0.3, one_of = view)]
    fn rows();
}

#[scenario]
fn alone() {
    #[step(get = "/", weight = 0.5, one_of = view)]
    fn grid();
    #[step(get = "/", weight = 0.2, one_of = veiw)]
    fn rows();
    #[step(get = "/", weight = 0.2, one_of = view)]
    fn cards();
    #[step(get = "/", weight = 0.5, one_of = checkout)]
    fn pay();
}

#[scenario]
fn never() {
    #[step(get = "/", weight = 0.5, one_of = view)]
    fn grid() -> Value;
    #[step(get = "/", weight = 0.5, one_of = view)]
    fn rows() -> Value;
    #[step(get = "/{{grid.response.id}}")]
    fn zoom() -> Value;
    #[step]
    fn both(grid: &Value, rows: &Value) -> Request { Request::get("/") }
    #[step(get = "/{{grid.response.id}}/{{rows.response.id}}")]
    fn in_a_template();
    #[step]
    fn either(grid: Option<&Value>, rows: Option<&Value>, zoom: &Value) -> Request { Request::get("/") }
    #[check]
    fn same(grid: &Value, rows: &Value) -> bool { grid == rows }
}

#[scenario]
fn never_after_another() {
    #[step(get = "/", weight = 0.5, one_of = view)]
    fn grid() -> Value;
    #[step(get = "/{{grid.response.id}}", weight = 0.5, one_of = view)]
    fn rows() -> Value;
}

#[scenario]
fn follows() {
    #[feed]
    fn user() -> Feed<Value> { Feed::generate(|n| json!(n)) }
    #[state]
    fn seen() -> usize { 0 }
    #[step(get = "/")]
    fn grid() -> Value;
    #[step(get = "/")]
    fn rows(grid: Option<&Value>);
    #[step(get = "/")]
    fn cards(user: &Value);
    #[step(get = "/")]
    fn list(seen: &usize);
    #[step(get = "/")]
    fn tiles(vu: &Vu);
    #[step(get = "/")]
    fn stacks(gird: &Value, grid: Value, #[from(seen)] _: &usize);
}

#[scenario]
fn follows_types() {
    #[step(get = "/")]
    fn grid() -> Value;
    #[step(get = "/")]
    fn rows();
    #[step(get = "/")]
    fn cards(grid: &String, rows: &Response);
}
