use loadtest::prelude::*;

fn main() {}

#[scenario]
fn scenario() {
    #[state]
    fn local() -> std::rc::Rc<u64> { std::rc::Rc::new(1) }
    #[step(get = "/")]
    fn step();
}
