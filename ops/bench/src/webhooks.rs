//! Events to twenty webhook endpoints, of which one hangs and one fails, compared with a loop that posts the same bodies.

use std::time::{Duration, Instant};

use alloy::primitives::Address;
use futures::future::join_all;
use muniment_activities::platform::Platform;
use tokio::sync::mpsc;
use world::Engine;

use crate::arguments::Arguments;
use crate::bare_post;
use crate::installation::{EMAIL, Installation, PASSWORD};
use crate::pace::paced;
use crate::process;
use crate::receivers::{ENDPOINTS, HEALTHY, Receivers};
use crate::sample::{median, quantile};
use crate::table::{self, Line, Table};

/// Events a second.
const RATE: f64 = 200.0;
const KILLS: usize = 3;
/// Callers that commit events at once.
const CALLERS: usize = 32;
/// A claim of a process that was killed is taken over after a minute.
const PATIENCE: Duration = Duration::from_secs(150);
const GOAL: &str = "p99 commit → delivered ≤ 500 ms";
const GOAL_KILLED: &str = "none lost in three kill -9";

/// One run at a steady rate, and one in which the process is killed, on each database.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    for engine in &arguments.engines {
        table.add(steady(*engine, arguments.either(10_000, 2_000)).await);
        table.add(killed(*engine, arguments.either(4_000, 2_000)).await);
    }
}

async fn steady(engine: Engine, events: usize) -> Line {
    let run = Run::new(engine, events).await;
    let binary = run.site.start("api", None).await;
    run.subscribe(binary.1).await;
    // SQLite belongs to the one process. On PostgreSQL the events come from others, the workers.
    let committed = match engine {
        Engine::Sqlite => run.request(events, binary.1).await,
        Engine::Postgres => run.commit_events(0..events).await,
    };
    let all = run.arrived(&committed).await;
    let (delays, lost) = run.receivers.delays(&committed);
    let (p99, memory) = (quantile(&delays, 0.99), process::peak_megabytes(binary.0.pid()));
    let reached = rate(&committed);
    drop(binary);
    let bodies = run.site.view.texts("select body from webhook_messages order by event_id").await;
    let bare = bare_post::delays(bodies, RATE).await;
    let bare_p99 = quantile(&bare, 0.99);
    Line {
        row: "webhooks",
        on: format!("{}, {events} events, {RATE} /s to {ENDPOINTS}", table::engine(engine)),
        goal: GOAL,
        result: format!(
            "{reached:.0} /s committed; p50 {:.0} ms, p99 {p99:.0} ms at the {HEALTHY} healthy; all {all}; lost {lost}, twice {}; {memory:.0} MB",
            median(&delays),
            run.receivers.repeated()
        ),
        baseline: format!("p50 {:.1} ms, p99 {bare_p99:.1} ms", median(&bare)),
        ratio: format!("× {:.0}", p99 / bare_p99),
        // A slower load is an easier one.
        met: Some(p99 <= 500.0 && lost == 0 && reached >= 0.95 * RATE),
    }
}

async fn killed(engine: Engine, events: usize) -> Line {
    let run = Run::new(engine, events).await;
    let mut binary = run.site.start("api", None).await;
    run.subscribe(binary.1).await;
    let mut memory: f64 = 0.0;
    let part = events / (KILLS + 1);
    let mut committed = run.commit_events(0..part).await;
    for kill in 1..=KILLS {
        memory = memory.max(process::peak_megabytes(binary.0.pid()));
        binary.0.kill();
        // Other processes commit events while it is away.
        let (more, next) = tokio::join!(run.commit_events(kill * part..(kill + 1) * part), run.site.start("api", None));
        committed.extend(more);
        binary = next;
    }
    let all = run.arrived(&committed).await;
    memory = memory.max(process::peak_megabytes(binary.0.pid()));
    let (_, lost) = run.receivers.delays(&committed);
    let again = run.receivers.repeated();
    Line {
        row: "webhooks",
        on: format!("{}, {} events, killed {KILLS} times", table::engine(engine), committed.len()),
        goal: GOAL_KILLED,
        result: format!(
            "lost {lost}; {again} of {} arrived twice; all {all}; {memory:.0} MB",
            committed.len() * HEALTHY
        ),
        baseline: "–".to_owned(),
        ratio: "–".to_owned(),
        met: Some(lost == 0),
    }
}

/// Commits a second, from the first to the last.
fn rate(committed: &[Instant]) -> f64 {
    let (first, last) = (committed.iter().min(), committed.iter().max());
    let seconds = first.zip(last).map_or(0.0, |(first, last)| last.duration_since(*first).as_secs_f64());
    (committed.len() as f64 - 1.0) / seconds
}

/// Commits as many events at the rate. Returns the time when each commit ended.
async fn timed<C>(count: usize, callers: &mut [C], commit: impl AsyncFn(&mut C, usize)) -> Vec<Instant> {
    let time = Duration::from_secs_f64(count as f64 / RATE);
    let (sender, mut receiver) = mpsc::unbounded_channel();
    paced(RATE, time, callers, async |caller, turn| {
        commit(caller, turn).await;
        let _ = sender.send((turn, Instant::now()));
    })
    .await;
    let mut committed = vec![Instant::now(); count];
    while let Ok((turn, at)) = receiver.try_recv() {
        committed[turn] = at;
    }
    committed
}

struct Run {
    site: Installation,
    receivers: Receivers,
}

impl Run {
    async fn new(engine: Engine, events: usize) -> Self {
        let site = Installation::new(engine, events as u64, Platform::of(Address::ZERO)).await;
        Self { site, receivers: Receivers::start(events).await }
    }

    async fn subscribe(&self, port: u16) {
        let mut client = self.site.client(port).await;
        client.log_in(EMAIL, PASSWORD).await;
        for number in 0..ENDPOINTS {
            let url = format!("http://127.0.0.1:{}/{number}", self.receivers.port);
            let body = format!("{{\"url\":\"{url}\",\"event_types\":[\"operation.*\"]}}");
            let (status, answer) = client.post("/v1/webhooks/endpoints", &number.to_string(), &body).await;
            assert_eq!(status, 201, "{answer}");
        }
    }

    /// Requests as many deployments, at the rate. Each is an event: `operation.pending`. Returns the time of each answer.
    async fn request(&self, count: usize, port: u16) -> Vec<Instant> {
        let mut clients = join_all((0..CALLERS).map(|_| self.site.client(port))).await;
        timed(count, &mut clients, async |client, turn| client.deploy(&self.site.series.offering(turn as u64)).await)
            .await
    }

    /// Commits these events past the process, at the rate. Returns the time when each commit ended.
    async fn commit_events(&self, numbers: std::ops::Range<usize>) -> Vec<Instant> {
        let first = numbers.start;
        timed(numbers.len(), &mut [(); CALLERS], async |(), turn| {
            self.site.view.execute(&self.event(first + turn)).await;
        })
        .await
    }

    fn event(&self, number: usize) -> String {
        let (series, now) = (self.site.series, chrono::Utc::now().to_rfc3339());
        let (id, operation) = (series.event(number as u64), series.operation(number as u64));
        format!(
            "insert into events (id, type, subject_type, subject_id, sequence, data, created_at) values ('{id}', 'operation.failed', \
             'operation', '{operation}', 1, '{{\"from\":\"submitted\",\"status\":\"failed\",\"type\":\"mint\",\"subject\":\
             {{\"type\":\"offering\",\"id\":\"{}\"}},\"tx_hash\":null,\"error\":{{\"code\":\"reverted\"}}}}', '{now}')",
            series.offering(number as u64)
        )
    }

    /// Waits until every event is at every healthy endpoint. Returns the time after the last commit, as text.
    async fn arrived(&self, committed: &[Instant]) -> String {
        let (last, start) = (committed.last().copied().unwrap_or_else(Instant::now), Instant::now());
        while start.elapsed() < PATIENCE {
            if self.receivers.delays(committed).1 == 0 {
                return format!("{:.1} s after the last", last.elapsed().as_secs_f64());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        format!("not after {PATIENCE:?}")
    }
}
