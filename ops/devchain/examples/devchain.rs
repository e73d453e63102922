//! Serves a development chain: `devchain [address] [folder]`; without a folder in memory.

use muniment_devchain::{Config, Devchain};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8545".to_owned());
    let chain = Devchain::open(Config { dir: arguments.next().map(Into::into), ..Config::default() })?;
    let listener = TcpListener::bind(address).await?;
    println!("http://{}", listener.local_addr()?);
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    tokio::spawn(async move {
        let _ = tokio::signal::ctrl_c().await;
        stop.cancel();
    });
    Ok(chain.serve(listener, shutdown).await?)
}
