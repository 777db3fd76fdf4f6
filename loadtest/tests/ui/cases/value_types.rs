use loadtest::prelude::*;
use std::cell::Cell;
use std::rc::Rc;

fn main() {}

type Io = Result<Target, TargetError>;
type Server = Target;
type Res = Result<u8, String>;

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

#[scenario]
fn alias() {
    #[setup]
    fn io() -> Io { todo!() }
    #[setup]
    fn server() -> Server { todo!() }
    #[setup]
    fn fallible() -> Result<Server, TargetError> { todo!() }
    #[setup]
    fn option() -> Option<Target> { todo!() }
    #[setup]
    fn pair() -> (Target, u8) { todo!() }
    #[setup]
    fn number() -> Res { Ok(1) }
    #[setup]
    fn fine(number: &Res) -> Vec<u8> { vec![number.clone().unwrap()] }
    #[step(get = "/")]
    fn step();
}
