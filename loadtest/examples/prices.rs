//! A shop that speaks gRPC, and load tests of it with the client that is generated for it.
//!
//! ```console
//! $ cargo test -p loadtest --example prices         # each journey once
//! $ cargo loadtest run -p loadtest prices service     # under load
//! ```

use futures_util::stream::{self, BoxStream, StreamExt as _};
use loadtest::prelude::*;
use shop_proto::cart_client::CartClient;
use shop_proto::cart_server::{Cart, CartServer};
use shop_proto::{Item, Price, Total};
use std::time::Duration;
use tonic::transport::server::{Server, TcpIncoming};
use tonic::{Request as Asked, Response as Answer, Status, Streaming};

/// The time from each price to the next.
const TICK: Duration = Duration::from_millis(5);
/// The number of the last product.
const PRODUCTS: u64 = 500;

/// A customer fills a cart, and watches the price of its product.
#[scenario(load = users(20, for = 8s))]
fn prices() {
    #[setup]
    fn server() -> Result<Target, TargetError> {
        serve()
    }

    #[step(apdex = 20ms)]
    async fn add(http: &mut Http, vu: &mut Vu) -> Result<Total, Error> {
        let mut cart = CartClient::new(http.grpc());
        let product = vu.random_range(1..=PRODUCTS);
        let added = cart
            .add(Item {
                product,
                quantity: 2,
            })
            .await?;
        Ok(added.into_inner())
    }

    /// A sold-out product is not a failure of the step.
    #[step]
    async fn miss(http: &mut Http) -> Result<(), Error> {
        let mut cart = CartClient::new(http.grpc());
        let product = PRODUCTS + 1;
        let missing = cart.add(Item {
            product,
            quantity: 1,
        });
        match missing.await {
            Err(status) if status.code() == tonic::Code::NotFound => Ok(()),
            Err(status) => Err(status.into()),
            Ok(_) => Err("it was there".into()),
        }
    }

    /// A server stream: the time to the first price and the gaps are measured without further code.
    #[step(first_event.p95 < 50ms, gap.p99 < 100ms, check = |count| *count == 5)]
    async fn watch(add: &Total, http: &mut Http) -> Result<u32, Error> {
        let item = Item {
            product: add.cart,
            quantity: 5,
        };
        let mut prices = CartClient::new(http.grpc()).watch(item).await?.into_inner();
        let mut count = 0;
        while prices.message().await?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Two calls at once, over one connection.
    #[step(think = 5ms)]
    async fn both(http: &mut Http) -> Result<u64, Error> {
        let (mut one, mut other) = (CartClient::new(http.grpc()), CartClient::new(http.grpc()));
        let all = [1, 2, 3].map(|product| Item {
            product,
            quantity: 1,
        });
        let (first, second) = tokio::join!(one.add(all[0]), other.add_all(stream::iter(all)));
        Ok(first?.into_inner().cents + second?.into_inner().cents)
    }
}

/// Another service calls the shop. The calls of all users go over two connections, as in a real service.
#[scenario(http = 2, connections = 2, load = rate(500/s, ramp_up = 2s, for = 8s))]
fn service() {
    #[setup]
    fn server() -> Result<Target, TargetError> {
        serve()
    }

    #[step(apdex = 20ms, check = |total| total.cents == 2 * (100 + total.cart))]
    async fn add(http: &mut Http, vu: &mut Vu) -> Result<Total, Error> {
        let product = vu.random_range(1..=PRODUCTS);
        let item = Item {
            product,
            quantity: 2,
        };
        let added = CartClient::new(http.grpc()).add(item).await?;
        Ok(added.into_inner())
    }
}

/// Starts the shop on a free port. It is stopped at the end of the run.
fn serve() -> Result<Target, TargetError> {
    Target::serve(|listener| {
        let server = Server::builder().add_service(CartServer::new(Shop));
        // Otherwise each message waits until the previous one is acknowledged.
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        server.serve_with_incoming(incoming)
    })
}

/// The service under test.
struct Shop;

impl Shop {
    fn cents(item: &Item) -> u64 {
        u64::from(item.quantity) * (100 + item.product)
    }
}

#[tonic::async_trait]
impl Cart for Shop {
    async fn add(&self, asked: Asked<Item>) -> Result<Answer<Total>, Status> {
        let item = asked.into_inner();
        if item.product > PRODUCTS {
            return Err(Status::not_found("it is sold out"));
        }
        Ok(Answer::new(Total {
            cart: item.product,
            cents: Self::cents(&item),
        }))
    }

    async fn add_all(&self, asked: Asked<Streaming<Item>>) -> Result<Answer<Total>, Status> {
        let mut items = asked.into_inner();
        let mut total = Total::default();
        while let Some(item) = items.message().await? {
            total.cents += Self::cents(&item);
        }
        Ok(Answer::new(total))
    }

    type WatchStream = BoxStream<'static, Result<Price, Status>>;

    async fn watch(&self, asked: Asked<Item>) -> Result<Answer<Self::WatchStream>, Status> {
        let Item { product, quantity } = asked.into_inner();
        let prices = stream::iter(0..quantity).then(move |number| async move {
            tokio::time::sleep(TICK).await;
            let cents = 100 + product + u64::from(number);
            Ok(Price { product, cents })
        });
        Ok(Answer::new(prices.boxed()))
    }

    type AskStream = BoxStream<'static, Result<Price, Status>>;

    async fn ask(&self, asked: Asked<Streaming<Item>>) -> Result<Answer<Self::AskStream>, Status> {
        let prices = asked.into_inner().map(|item| {
            let item = item?;
            Ok(Price {
                product: item.product,
                cents: Self::cents(&item),
            })
        });
        Ok(Answer::new(prices.boxed()))
    }
}

loadtest::main!();
