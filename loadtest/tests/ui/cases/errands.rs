//! Setups and teardowns that send.

use loadtest::prelude::*;

struct Silent;

#[scenario]
fn not_async() {
    #[setup]
    fn items(http: &mut Http) -> Vec<u64> {
        Vec::new()
    }

    #[step(get = "/")]
    fn ask();

    #[teardown]
    fn delete(items: &Vec<u64>, http: &mut Http) {}
}

#[scenario]
fn lent() {
    #[setup]
    async fn shared(http: &Http) -> u64 {
        1
    }

    #[setup]
    async fn typo(htp: &mut Http) -> u64 {
        1
    }

    #[step(get = "/")]
    fn ask();
}

#[scenario]
fn types() {
    #[setup]
    async fn fails(http: &mut Http) -> Result<u64, Silent> {
        Err(Silent)
    }

    #[setup]
    async fn local(http: &mut Http) -> std::rc::Rc<u64> {
        std::rc::Rc::new(1)
    }

    #[step(get = "/")]
    fn ask();

    #[teardown]
    async fn counts(http: &mut Http) -> u64 {
        1
    }

    #[teardown]
    fn hides() -> Result<(), Silent> {
        Ok(())
    }
}

fn main() {}
