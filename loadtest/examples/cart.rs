//! A cart that is kept in Redis, and a load test of it with a client of Redis.
//!
//! ```console
//! $ cargo test -p loadtest --example cart     # the journey once
//! $ cargo loadtest run -p loadtest cart      # under load
//! ```
//!
//! It needs the program `redis-server`; without it the steps are skipped.

use loadtest::prelude::*;
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands as _, AsyncConnectionConfig, RedisConnectionInfo};
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// A Redis only for this run, which stores nothing on disk.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    /// Starts it, if it is installed.
    fn start() -> io::Result<Option<Self>> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port();
        let mut command = Command::new("redis-server");
        command.args([
            "--bind",
            "127.0.0.1",
            "--port",
            &port.to_string(),
            "--save",
            "",
        ]);
        let process = match command.stdout(Stdio::null()).spawn() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            process => process?,
        };
        let server = Self { process, port };
        for _ in 0..2_400 {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Ok(Some(server));
            }
            thread::sleep(Duration::from_millis(25));
        }
        Err(io::Error::other("redis-server does not answer"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A customer puts products into a cart and looks at it.
#[scenario(load = users(20, for = 8s))]
fn cart() {
    #[setup]
    fn server() -> io::Result<Option<Server>> {
        Server::start()
    }

    #[step(once)]
    async fn redis(server: &Option<Server>, net: &mut Net) -> Result<MultiplexedConnection, Error> {
        let missing = || Skip::because("the program `redis-server` is not installed");
        let port = server.as_ref().ok_or_else(missing)?.port;
        let stream = net.connect(format!("tcp://127.0.0.1:{port}")).await?;
        let info = RedisConnectionInfo::default();
        let config = AsyncConnectionConfig::new();
        let opened = MultiplexedConnection::new_with_config(&info, stream, config);
        let (redis, connection) = opened.await?;
        net.drive(connection);
        Ok(redis)
    }

    #[step(apdex = 5ms)]
    async fn fill(redis: &mut MultiplexedConnection, vu: &mut Vu) -> Result<String, Error> {
        let cart = format!("cart:{}", vu.unique());
        for _ in 0..vu.random_range(1..=3) {
            let product = vu.random_range(1..=500);
            let _: u64 = vu
                .measure("HINCRBY", redis.hincr(&cart, product, 1))
                .await?;
        }
        let _: bool = vu.measure("EXPIRE", redis.expire(&cart, 60)).await?;
        Ok(cart)
    }

    #[step(apdex = 5ms, check = |products| products.values().sum::<u64>() > 0, think = 5ms)]
    async fn look(
        fill: &str,
        redis: &mut MultiplexedConnection,
        vu: &mut Vu,
    ) -> Result<BTreeMap<u64, u64>, Error> {
        Ok(vu.measure("HGETALL", redis.hgetall(fill)).await?)
    }
}

loadtest::main!();
