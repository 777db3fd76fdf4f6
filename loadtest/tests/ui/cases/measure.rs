use loadtest::prelude::*;

fn main() {}

struct Opaque;

#[scenario(reaches = ["db.test:5432"])]
fn without_scheme() {
    #[step]
    async fn ask(vu: &mut Vu) -> Result<(), Error> {
        Ok(vu.measure("ask", async { Ok::<_, Error>(()) }).await?)
    }
}

#[scenario(reaches = ["tcp://db.test"])]
fn without_port() {
    #[step]
    async fn number(vu: &mut Vu) -> Result<(), Error> {
        vu.measure("number", async { 5 }).await;
        Ok(())
    }
    #[step]
    async fn opaque(vu: &mut Vu) -> Result<(), Error> {
        vu.measure("opaque", async { Err::<(), _>(Opaque) }).await.ok();
        Ok(())
    }
}

#[scenario(reaches = "tcp://db.test:5432")]
fn no_list() {
    #[step(get = "/")]
    fn ask();
}

#[scenario]
fn not_lent() {
    #[step]
    fn built(net: &mut Net) -> Request {
        Request::get("/")
    }
    #[step]
    async fn owned(net: Net) -> Result<(), Error> {
        Ok(())
    }
    #[state]
    fn kept(net: &mut Net) -> u64 {
        7
    }
}

#[scenario]
fn taken_name() {
    #[step(get = "/")]
    fn net();
}

#[scenario(reach = ["tcp://db.test:5432"])]
fn near_word() {
    #[step(get = "/")]
    fn ask();
}
