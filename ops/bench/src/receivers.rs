//! Webhook endpoints on loopback that record arrivals. They are cheap, because they share the machine with the sender.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::seed::NUMBERS_FROM;

/// Endpoints that accept. The next one never answers, the one after it answers 500.
pub const HEALTHY: usize = 18;
/// All endpoints.
pub const ENDPOINTS: usize = HEALTHY + 2;

/// A server with all endpoints, each at the path of its number.
pub struct Receivers {
    /// The port of the server.
    pub port: u16,
    arrivals: Arc<Mutex<Arrivals>>,
}

struct Arrivals {
    /// For each healthy endpoint, the first arrival of each event.
    first: Vec<Vec<Option<Instant>>>,
    repeated: usize,
}

impl Receivers {
    /// Starts the endpoints for this number of events.
    pub async fn start(events: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("the listener has an address").port();
        let arrivals = Arc::new(Mutex::new(Arrivals { first: vec![vec![None; events]; HEALTHY], repeated: 0 }));
        let shared = arrivals.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, shared.clone()));
            }
        });
        Self { port, arrivals }
    }

    /// Milliseconds from these moments to the first arrival of each event at each healthy endpoint, and how many never arrived.
    pub fn delays(&self, committed: &[Instant]) -> (Vec<f64>, usize) {
        let arrivals = self.arrivals.lock().expect("the lock is not poisoned");
        let each = arrivals.first.iter().flat_map(|endpoint| endpoint.iter().zip(committed));
        let delays = each
            .filter_map(|(at, from)| Some(crate::sample::milliseconds(at.as_ref()?.saturating_duration_since(*from))));
        let delays: Vec<f64> = delays.collect();
        let lost = HEALTHY * committed.len() - delays.len();
        (delays, lost)
    }

    /// Arrivals of an event that had arrived before.
    pub fn repeated(&self) -> usize {
        self.arrivals.lock().expect("the lock is not poisoned").repeated
    }
}

/// Answers the requests of one connection until it ends.
async fn serve(stream: TcpStream, arrivals: Arc<Mutex<Arrivals>>) {
    let _ = stream.set_nodelay(true);
    let mut stream = BufReader::new(stream);
    while let Ok(Some((endpoint, number))) = request(&mut stream).await {
        if endpoint == HEALTHY {
            std::future::pending::<()>().await;
        }
        if let Ok(mut arrivals) = arrivals.lock()
            && endpoint < HEALTHY
        {
            let first = &mut arrivals.first[endpoint][number];
            let repeated = usize::from(first.is_some());
            first.get_or_insert_with(Instant::now);
            arrivals.repeated += repeated;
        }
        let status = if endpoint < HEALTHY { "200 OK" } else { "500 Internal Server Error" };
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The endpoint and the number of the event. None at the end of the connection.
async fn request(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<(usize, usize)>> {
    let (mut line, mut length) = (String::new(), 0);
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let endpoint = line.split(['/', ' ']).nth(2).and_then(|path| path.parse().ok()).unwrap_or_default();
    while !line.trim_end().is_empty() {
        line.clear();
        stream.read_line(&mut line).await?;
        if let Some((name, value)) = line.trim_end().split_once(": ")
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.parse().unwrap_or_default();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    // Each event concerns an offering of its own, whose id ends with the number.
    let body = String::from_utf8_lossy(&body);
    let id = body.split('"').find(|text| text.starts_with("off_")).unwrap_or_default();
    let number = id.len().checked_sub(10).and_then(|at| id[at..].parse::<usize>().ok()).unwrap_or_default();
    Ok(Some((endpoint, number.saturating_sub(NUMBERS_FROM as usize))))
}
