use loadtest::prelude::*;
use std::cell::Cell;
use std::rc::Rc;

fn main() {}

#[scenario]
fn states() {
    #[state]
    fn local() -> std::rc::Rc<u64> { std::rc::Rc::new(1) }
    #[step]
    fn step(local: &std::rc::Rc<u64>) -> Request { let _ = local; Request::get("/") }
}

#[scenario]
fn setups() {
    #[setup]
    fn local() -> Rc<u8> { Rc::new(1) }
    #[setup]
    fn cell(local: &Rc<u8>) -> Result<Cell<u8>, String> { Ok(Cell::new(**local)) }
    #[step]
    fn step(local: &Rc<u8>, cell: &Cell<u8>) -> Request { let _ = (local, cell); Request::get("/") }
}
