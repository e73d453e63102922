//! The baseline of `webhooks`: a loop that posts the bodies and neither stores nor signs anything.

use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::sync::mpsc;

use crate::client::Client;
use crate::receivers::{HEALTHY, Receivers};

/// Connections to each endpoint.
const CONNECTIONS: usize = 4;

/// Posts these bodies to the healthy endpoints at this rate. Returns the milliseconds from the time when each was due.
pub async fn delays(bodies: Vec<String>, rate: f64) -> Vec<f64> {
    let receivers = Receivers::start(bodies.len()).await;
    let (mut lanes, mut tasks) = (Vec::new(), Vec::new());
    for endpoint in 0..HEALTHY {
        for _ in 0..CONNECTIONS {
            let (sender, mut bodies) = mpsc::unbounded_channel::<String>();
            let mut client = Client::connect(receivers.port, "").await;
            lanes.push(sender);
            tasks.push(tokio::spawn(async move {
                while let Some(body) = bodies.recv().await {
                    client.post(&format!("/{endpoint}"), "bare", &body).await;
                }
            }));
        }
    }
    let start = Instant::now();
    let mut due = Vec::with_capacity(bodies.len());
    for (turn, body) in bodies.iter().enumerate() {
        let at = start + Duration::from_secs_f64(turn as f64 / rate);
        tokio::time::sleep_until(at.into()).await;
        due.push(at);
        for endpoint in 0..HEALTHY {
            let _ = lanes[endpoint * CONNECTIONS + turn % CONNECTIONS].send(body.clone());
        }
    }
    drop(lanes);
    join_all(tasks).await;
    receivers.delays(&due).0
}
