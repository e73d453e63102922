//! Requests of portals, 500 in a second, on a large market and during logins; and a flood of requests.

use std::cell::Cell;
use std::time::Duration;

use alloy::primitives::Address;
use futures::future::{join, join_all};
use muniment_activities::platform::Platform;
use world::{Binary, Engine};

use crate::arguments::Arguments;
use crate::client::Client;
use crate::finished::finished;
use crate::installation::{Installation, PASSWORD};
use crate::market::Market;
use crate::pace::paced;
use crate::portal_load::PortalLoad;
use crate::sample::{median, quantile};
use crate::seed::Series;
use crate::table::{Line, Table};
use crate::view::View;
use crate::{bare_portal, flood, process};

/// Requests in a second.
const RATE: f64 = 500.0;
/// Connections that may be needed at once when the server stalls.
const AT_ONCE: usize = 32;
const FEW: u64 = 1_000;
const NO_LIMITS: &str = "key_per_minute = 0\nwrite_per_minute = 0\nread_per_minute = 0\nsubscribe_per_minute = 0\n\
     anonymous_per_minute = 0\nlogin_per_minute = 0\n";
/// Offerings whose committed total is not the sum of their subscriptions.
const WRONG_SUMS: &str = "select count(*) from offerings o left join (select offering_id, sum(amount) as total from subscriptions \
     where status in ('committed', 'pending_reconfirmation', 'binding', 'accepted', 'minted') group by offering_id) s \
     on s.offering_id = o.id where o.committed_total <> coalesce(s.total, 0)";

/// On PostgreSQL alone, because a large market runs on it.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    if !arguments.engines.iter().any(|engine| matches!(engine, Engine::Postgres)) {
        return;
    }
    let time = Duration::from_secs(arguments.either(15, 4) as u64);
    let (offerings, subscriptions) =
        (arguments.either(100_000, 10_000) as u64, arguments.either(1_000_000, 100_000) as u64);
    let mut site = Installation::new(Engine::Postgres, 1, Platform::of(Address::ZERO)).await;
    site.rates = NO_LIMITS;
    let few = {
        let portal = Portal::open(&site, FEW, FEW, FEW).await;
        portal.reads(time).await
    };
    let portal = Portal::open(&site, offerings, subscriptions, offerings).await;
    let alone = portal.reads(time).await;
    let (bare_reads, bare_writes) = portal.baseline(time / 2).await;
    let on = format!("PostgreSQL, {offerings} offerings, {subscriptions} subscriptions");
    table.add(line("portal reads", &on, "p99 ≤ 30 ms at 500 a second", &alone, &bare_reads, alone.p99 <= 30.0));
    let ratio = (alone.p50 / few.p50).max(alone.p99 / few.p99);
    let mut beside = line("portal reads, how many rows", &on, "≤ 1.5 × at a thousand", &alone, &few, ratio <= 1.5);
    beside.baseline = format!("at {FEW} and {FEW}: {}", beside.baseline);
    table.add(beside);
    table.add(portal.logins(&on, time).await);
    let ours = portal.subscriptions(time).await;
    let wrong = site.view.number(WRONG_SUMS).await;
    let (goal, met) = ("p99 ≤ 50 ms at 500 a second, every sum right", ours.p99 <= 50.0 && wrong == 0);
    let mut subscribed = line("subscribe", &on, goal, &ours, &bare_writes, met);
    subscribed.result += &format!("; {wrong} wrong sums");
    table.add(subscribed);
    drop(portal);
    site.rates = "";
    table.add(flood::measure(&site, time).await);
}

/// The result of a load.
struct LoadResult {
    p50: f64,
    p99: f64,
    /// The processor time of the server, the database and this program, as text.
    shares: String,
}

/// A process that serves a market.
struct Portal<'a> {
    site: &'a Installation,
    binary: Binary,
    port: u16,
    load: PortalLoad,
}

impl<'a> Portal<'a> {
    async fn open(site: &'a Installation, offerings: u64, subscriptions: u64, operations: u64) -> Self {
        let market = Market::new(&site.view, offerings, subscriptions).await;
        finished(&site.view, Series::fresh(), operations).await;
        let (binary, port) = site.start("api", None).await;
        let load = PortalLoad::new(site, port, market).await;
        Self { site, binary, port, load }
    }

    /// New connections for each load, because the server closes idle ones after ten seconds.
    async fn clients(&self, port: u16) -> Vec<Client> {
        join_all((0..AT_ONCE).map(|_| self.site.client(port))).await
    }

    async fn reads(&self, time: Duration) -> LoadResult {
        let (load, clients) = (&self.load, &mut self.clients(self.port).await);
        // Warm up: the first reads prepare statements and read pages from disk.
        paced(RATE, time / 4, clients, async |client, turn| load.read(client, turn).await).await;
        let before = spent(self.site, &self.binary).await;
        let late = paced(RATE, time, clients, async |client, turn| load.read(client, turn).await).await;
        load_result(&late, time, before, spent(self.site, &self.binary).await)
    }

    /// The same reads and subscriptions at a handler that runs one statement for each.
    async fn baseline(&self, time: Duration) -> (LoadResult, LoadResult) {
        let View::Postgres(pool) = &self.site.view else { unreachable!("the database is a server") };
        let port = bare_portal::serve(pool).await;
        let (load, clients) = (&self.load, &mut self.clients(port).await);
        let nothing = [0.0; 3];
        let reads = paced(RATE, time, clients, async |client, turn| load.read(client, turn).await).await;
        let writes = paced(RATE, time, clients, async |client, turn| load.subscribe(client, turn).await).await;
        (load_result(&reads, time, nothing, nothing), load_result(&writes, time, nothing, nothing))
    }

    /// Reads alone, and the same reads while people log in as fast as the limits allow.
    async fn logins(&self, on: &str, time: Duration) -> Line {
        let alone = self.reads(time).await;
        let (done, count) = (&Cell::new(false), &Cell::new(0_u32));
        let emails = self.load.visitors();
        let mut stormers = join_all(emails.iter().map(|_| self.site.client(self.port))).await;
        let storm = join_all(stormers.iter_mut().zip(&emails).map(|(client, email)| async move {
            while !done.get() {
                let (status, answer) = client.open_session(email, PASSWORD).await;
                assert_eq!(status, 200, "{answer}");
                count.set(count.get() + 1);
            }
        }));
        let reads = async {
            let sample = self.reads(time).await;
            done.set(true);
            sample
        };
        let (beside, _) = join(reads, storm).await;
        // They also log in while the reads warm up.
        let logins = f64::from(count.get()) / time.mul_f64(1.25).as_secs_f64();
        let mut line =
            line("reads beside logins", on, "p99 ≤ 2 × without", &beside, &alone, beside.p99 <= 2.0 * alone.p99);
        line.result = format!("{}; {logins:.0} logins a second", line.result);
        line.baseline = format!("without: {}", line.baseline);
        line
    }

    async fn subscriptions(&self, time: Duration) -> LoadResult {
        let (load, clients) = (&self.load, &mut self.clients(self.port).await);
        paced(RATE / 2.0, time / 4, clients, async |client, turn| load.subscribe(client, turn).await).await;
        let before = spent(self.site, &self.binary).await;
        let late = paced(RATE, time, clients, async |client, turn| load.subscribe(client, turn).await).await;
        load_result(&late, time, before, spent(self.site, &self.binary).await)
    }
}

/// Processor seconds so far of the server, of its database and of this program.
async fn spent(site: &Installation, binary: &Binary) -> [f64; 3] {
    let sessions = "select cast(pid as bigint) from pg_stat_activity where datname = current_database()";
    let database = site.view.numbers(sessions).await.into_iter().filter_map(|pid| u32::try_from(pid).ok());
    [process::seconds(binary.pid()), database.map(process::seconds).sum(), process::seconds(std::process::id())]
}

fn load_result(late: &[f64], time: Duration, before: [f64; 3], after: [f64; 3]) -> LoadResult {
    let share = |i: usize| (after[i] - before[i]) / time.as_secs_f64() * 100.0;
    let shares = format!("server {:.0} %, database {:.0} %, client {:.0} % of a core", share(0), share(1), share(2));
    LoadResult { p50: median(late), p99: quantile(late, 0.99), shares }
}

fn line(row: &'static str, on: &str, goal: &'static str, ours: &LoadResult, bare: &LoadResult, met: bool) -> Line {
    Line {
        row,
        on: on.to_owned(),
        goal,
        result: format!("p50 {:.1} ms, p99 {:.1} ms; {}", ours.p50, ours.p99, ours.shares),
        baseline: format!("p50 {:.1} ms, p99 {:.1} ms", bare.p50, bare.p99),
        ratio: format!("p50 × {:.2}, p99 × {:.2}", ours.p50 / bare.p50, ours.p99 / bare.p99),
        met: Some(met),
    }
}
