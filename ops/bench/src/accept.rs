//! Accept: requests with an Idempotency-Key at the real binary, beside a loop that inserts the same rows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use alloy::primitives::Address;
use futures::future::join_all;
use muniment_activities::platform::Platform;
use world::Engine;

use crate::arguments::Arguments;
use crate::bare_rows::{self, Rows};
use crate::pace::paced;
use crate::sample::{median, quantile};
use crate::seed;
use crate::stand::{CHAIN_ID, Stand};
use crate::table::{self, Line, Table, percent};

const AT_ONCE: usize = 16;
/// Connections that a paced load may need at once when the server stalls.
const PACED_AT_ONCE: usize = 32;
const GOAL: &str = "≥ 60 % of the bare rate; p99 ≤ 25 ms at half of it";

/// Both kinds of requests on each database.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    for engine in &arguments.engines {
        for rows in [Rows::Deploy, Rows::Mint] {
            table.add(one(*engine, rows, arguments).await);
        }
    }
}

async fn one(engine: Engine, rows: Rows, arguments: &Arguments) -> Line {
    let (rounds, time) = (arguments.either(5, 2), Duration::from_millis(arguments.either(2_000, 600) as u64));
    // More than a run can use up.
    let offerings = arguments.either(60_000, 15_000) as u64;
    let stand = Stand::new(engine, offerings, Platform::of(Address::ZERO)).await;
    seed::subscriptions(&stand.view, stand.series, &stand.series.offering(0), offerings).await;
    seed::pretend_token(&stand.view, &stand.series.offering(0), CHAIN_ID).await;
    // The interface alone: an engine beside it would take its share of the machine, and the bare loop has none.
    let (_binary, port) = stand.start("api", None).await;
    let load = Load { stand: &stand, port, rows, offerings, next: AtomicU64::new(1) };
    load.rate(Duration::from_millis(500)).await;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        bare.push(bare_rows::rate(&stand.view, rows, AT_ONCE, time).await);
        ours.push(load.rate(time).await);
    }
    let (ours, bare) = (median(&ours), median(&bare));
    let late = load.paced(ours / 2.0, time * 2).await;
    let p99 = quantile(&late, 0.99);
    Line {
        row: "accept",
        on: format!("{}, {}", table::engine(engine), if rows == Rows::Mint { "mint of one" } else { "deploy" }),
        goal: GOAL,
        ours: format!("{ours:.0} /s; p50 {:.1} ms, p99 {p99:.1} ms at half", median(&late)),
        bare: format!("{bare:.0} /s"),
        ratio: percent(ours, bare),
        met: Some(ours >= 0.6 * bare && p99 <= 25.0),
    }
}

struct Load<'a> {
    stand: &'a Stand,
    port: u16,
    rows: Rows,
    offerings: u64,
    next: AtomicU64,
}

impl Load<'_> {
    /// As many as it takes, a few at once; how many a second.
    async fn rate(&self, time: Duration) -> f64 {
        let (start, first) = (Instant::now(), self.next.load(Ordering::Relaxed));
        let caller = || async {
            let mut client = self.stand.client(self.port).await;
            while start.elapsed() < time {
                self.request(&mut client).await;
            }
        };
        join_all((0..AT_ONCE).map(|_| caller())).await;
        (self.next.load(Ordering::Relaxed) - first) as f64 / start.elapsed().as_secs_f64()
    }

    /// At this rate: milliseconds from when each request was due.
    async fn paced(&self, rate: f64, time: Duration) -> Vec<f64> {
        let mut clients = join_all((0..PACED_AT_ONCE).map(|_| self.stand.client(self.port))).await;
        paced(rate, time, &mut clients, async |client, _| self.request(client).await).await
    }

    async fn request(&self, client: &mut crate::client::Client) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        assert!(number < self.offerings, "the seeded offerings are used up");
        match self.rows {
            Rows::Deploy => client.deploy(&self.stand.series.offering(number)).await,
            Rows::Mint => {
                let (offering, one) = (self.stand.series.offering(0), self.stand.series.subscription(number));
                let body = format!("{{\"offering_id\":\"{offering}\",\"subscription_ids\":[\"{one}\"]}}");
                let (status, answer) = client.post("/blockchain/trigger-mint", &one, &body).await;
                assert_eq!(status, 202, "{answer}");
            }
        }
    }
}
