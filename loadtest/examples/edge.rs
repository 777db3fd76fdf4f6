//! A server of HTTP/3, and a load test of it.
//!
//! ```console
//! $ cargo test -p loadtest --features http3 --example edge       # the journey once
//! $ cargo loadtest run -p loadtest --features http3 edge         # under load
//! ```

use bytes::Bytes;
use loadtest::prelude::*;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, Incoming, ServerConfig};
use std::error::Error as StdError;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::thread;
use tokio::runtime::Builder;

/// An error of the server or of a connection.
type Failure = Box<dyn StdError + Send + Sync>;

#[response]
struct Page {
    title: String,
    pictures: Vec<String>,
}

/// A visitor opens the page, and then its first picture over the same connection. The certificate is created when
/// the server starts, so no authority signed it.
#[scenario(http = 3, insecure = true, load = users(20, ramp_up = 2s, for = 8s))]
fn edge() {
    #[setup]
    fn server() -> Result<Target, Failure> {
        serve().map(Target::external)
    }

    #[step(get = "/", expect = 200, check = |page| page.title == "The shop")]
    fn home() -> Page;

    #[step(get = "{{home.response.pictures[0]}}", expect = 200, think = 5ms)]
    fn picture();
}

/// Starts the server on a free port, and returns its URL. It ends with the process.
fn serve() -> Result<String, Failure> {
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(
        rustls::crypto::ring::default_provider(),
    ))
    .with_protocol_versions(&[&rustls::version::TLS13])?
    .with_no_client_auth()
    .with_single_cert(vec![certified.cert.der().clone()], key)?;
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let endpoint = {
        let _inside = runtime.enter();
        Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into())?
    };
    let url = format!("https://{}", endpoint.local_addr()?);
    thread::spawn(move || {
        runtime.block_on(async move {
            while let Some(incoming) = endpoint.accept().await {
                // The client notices a broken connection by itself.
                tokio::spawn(async move { drop(answer(incoming).await) });
            }
        });
    });
    Ok(url)
}

/// Answers the requests of one connection.
async fn answer(incoming: Incoming) -> Result<(), Failure> {
    let quic = h3_quinn::Connection::new(incoming.await?);
    let mut connection = h3::server::Connection::<_, Bytes>::new(quic).await?;
    while let Some(resolver) = connection.accept().await? {
        tokio::spawn(async move {
            let (request, mut stream) = resolver.resolve_request().await?;
            let (status, kind, body) = match request.uri().path() {
                "/" => (200, "application/json", PAGE),
                "/pictures/7" => (200, "image/svg+xml", "<svg/>"),
                _ => (404, "text/plain", "there is no such page"),
            };
            let head = http::Response::builder()
                .status(status)
                .header("content-type", kind);
            stream.send_response(head.body(())?).await?;
            stream
                .send_data(Bytes::from_static(body.as_bytes()))
                .await?;
            stream.finish().await?;
            Ok::<(), Failure>(())
        });
    }
    Ok(())
}

const PAGE: &str = r#"{ "title": "The shop", "pictures": ["/pictures/7"] }"#;

loadtest::main!();
