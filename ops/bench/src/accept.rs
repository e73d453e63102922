//! Accepted requests in a second at the real binary, compared with a loop that inserts the same rows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use alloy::primitives::Address;
use futures::future::join_all;
use muniment_activities::platform::Platform;
use world::Engine;

use crate::arguments::Arguments;
use crate::bare_rows::{self, Rows};
use crate::cost::usage;
use crate::installation::{CHAIN_ID, Installation};
use crate::pace::paced;
use crate::sample::{median, quantile, spread};
use crate::seed;
use crate::table::{self, Line, Table};

const AT_ONCE: usize = 16;
/// Connections that a paced load may need at once when the server stalls.
const PACED_AT_ONCE: usize = 32;
const GOAL: &str = "≥ 60 % of the baseline; p99 ≤ 25 ms at half the rate";

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
    // More than a run can use.
    let offerings = arguments.either(60_000, 15_000) as u64;
    let site = Installation::new(engine, offerings, Platform::of(Address::ZERO)).await;
    seed::subscriptions(&site.view, site.series, &site.series.offering(0), offerings).await;
    seed::pretend_token(&site.view, &site.series.offering(0), CHAIN_ID).await;
    // The API alone, because the baseline runs without an engine as well.
    let (binary, port) = site.start("api", None).await;
    let pid = binary.pid();
    let load = Load { site: &site, port, rows, offerings, next: AtomicU64::new(1) };
    load.rate(Duration::from_millis(500)).await;
    if engine == Engine::Postgres {
        // As autovacuum does within a minute. Until then the plans are those of empty tables.
        site.view.execute("analyze").await;
    }
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        bare.push(Round::of(&site, std::process::id(), bare_rows::rate(&site.view, rows, AT_ONCE, time)).await);
        ours.push(Round::of(&site, pid, load.rate(time)).await);
    }
    let rate = median(&rates(&ours));
    let (mut middle, mut p99, mut p99_bare) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        p99_bare.push(quantile(&bare_rows::paced(&site.view, rows, rate / 2.0, PACED_AT_ONCE, time).await, 0.99));
        let late = load.paced(rate / 2.0, time).await;
        middle.push(median(&late));
        p99.push(quantile(&late, 0.99));
    }
    let ratios: Vec<f64> = ours.iter().zip(&bare).map(|(ours, bare)| ours.rate * 100.0 / bare.rate).collect();
    Line {
        row: "accept",
        on: format!("{}, {}", table::engine(engine), if rows == Rows::Mint { "mint of one" } else { "deploy" }),
        goal: GOAL,
        result: format!("{}; p50 {} ms, p99 {} ms at half", text(&ours), spread(&middle, 1), spread(&p99, 1)),
        baseline: format!("{}; p99 {} ms at the same rate", text(&bare), spread(&p99_bare, 1)),
        ratio: format!("{} %", spread(&ratios, 0)),
        met: Some(median(&ratios) >= 60.0 && median(&p99) <= 25.0),
    }
}

/// Requests in a second, and the milliseconds of processor that each cost the process that sent the statements, and the server.
struct Round {
    rate: f64,
    process: f64,
    server: f64,
}

impl Round {
    async fn of(site: &Installation, pid: u32, run: impl Future<Output = f64>) -> Self {
        let (before, start) = (usage(site, pid).await, Instant::now());
        let rate = run.await;
        let count = rate * start.elapsed().as_secs_f64();
        let after = usage(site, pid).await;
        let each = |i: usize| (after[i] - before[i]) * 1_000.0 / count;
        Self { rate, process: each(0), server: each(1) }
    }
}

fn rates(rounds: &[Round]) -> Vec<f64> {
    rounds.iter().map(|round| round.rate).collect()
}

fn text(rounds: &[Round]) -> String {
    let of = |value: fn(&Round) -> f64| median(&rounds.iter().map(value).collect::<Vec<_>>());
    let server = of(|round| round.server);
    let of_server = if server > 0.0 { format!(" and {server:.2} of the server's") } else { String::new() };
    format!("{} /s at {:.2} ms of processor each{of_server}", spread(&rates(rounds), 0), of(|round| round.process))
}

struct Load<'a> {
    site: &'a Installation,
    port: u16,
    rows: Rows,
    offerings: u64,
    next: AtomicU64,
}

impl Load<'_> {
    /// Sends requests as fast as they are answered. Returns the requests in a second.
    async fn rate(&self, time: Duration) -> f64 {
        let (start, first) = (Instant::now(), self.next.load(Ordering::Relaxed));
        let caller = || async {
            let mut client = self.site.client(self.port).await;
            while start.elapsed() < time {
                self.request(&mut client).await;
            }
        };
        join_all((0..AT_ONCE).map(|_| caller())).await;
        (self.next.load(Ordering::Relaxed) - first) as f64 / start.elapsed().as_secs_f64()
    }

    /// Sends requests at this rate. Returns the milliseconds from the time when each was due.
    async fn paced(&self, rate: f64, time: Duration) -> Vec<f64> {
        let mut clients = join_all((0..PACED_AT_ONCE).map(|_| self.site.client(self.port))).await;
        paced(rate, time, &mut clients, async |client, _| self.request(client).await).await
    }

    async fn request(&self, client: &mut crate::client::Client) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        assert!(number < self.offerings, "the seeded offerings are used up");
        match self.rows {
            Rows::Deploy => client.deploy(&self.site.series.offering(number)).await,
            Rows::Mint => {
                let (offering, one) = (self.site.series.offering(0), self.site.series.subscription(number));
                let body = format!("{{\"offering_id\":\"{offering}\",\"subscription_ids\":[\"{one}\"]}}");
                let (status, answer) = client.post("/blockchain/trigger-mint", &one, &body).await;
                assert_eq!(status, 202, "{answer}");
            }
        }
    }
}
