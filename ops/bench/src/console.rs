//! The operator console: what its pages cost beside a long past, how soon a change is seen, and what open pages cost while nothing happens.

use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::time::sleep;
use world::Mining;

use crate::arguments::Arguments;
use crate::finished::finished;
use crate::installation::{EMAIL, Installation, Link};
use crate::network::Network;
use crate::node::NodeKind;
use crate::process;
use crate::reader::Reader;
use crate::sample::{median, milliseconds, quantile};
use crate::seed::Series;
use crate::table::{self, Line, Table};

const PAGES: [&str; 16] = [
    "/console",
    "/console/operations",
    "/console/operations?status=attention",
    "/console/operations?type=deploy_token&status=confirmed",
    "/console/approvals",
    "/console/signers",
    "/console/offerings",
    "/console/distributions",
    "/console/investors",
    "/console/webhooks",
    "/console/reconciliation",
    "/console/audit",
    "/console/queue",
    "/console/users",
    "/console/settings",
    "/console/account",
];
/// People who have open pages, and how many each of them may have.
const PEOPLE: u64 = 10;
const OPEN_PAGES: usize = 20;
const CHANGES: u64 = 20;
const SETTLE: Duration = Duration::from_secs(4);
const WIRE_KILOBYTES: f64 = 60.0;
/// Nobody is told to come more slowly.
const NO_LIMITS: &str = "key_per_minute = 0\nwrite_per_minute = 0\nread_per_minute = 0\nlogin_per_minute = 0\n";

/// Four lines for each database.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    let operations = arguments.either(1_000_000, 50_000) as u64;
    let offerings = arguments.either(100_000, 10_000) as u64;
    let (looks, span) = (arguments.either(200, 40), Duration::from_secs(arguments.either(20, 6) as u64));
    for engine in &arguments.engines {
        let network = Network::new(NodeKind::Devchain, Mining::Instant).await;
        let mut site = Installation::new(*engine, offerings, network.platform).await;
        site.rates = NO_LIMITS;
        let past = Series::fresh();
        finished(&site.view, past, operations).await;
        colleagues(&site).await;
        let link = Link { poll_milliseconds: 250, block_seconds: 1, ..network.link(1) };
        let (mut binary, port) = site.start("run", Some(&link)).await;
        let mut reader = Reader::sign_in(port, EMAIL).await;
        sleep(SETTLE).await;
        let on = format!("{}, {operations} operations, {offerings} offerings", table::engine(*engine));
        table.add(pages(&mut reader, &site, past.operation(operations / 2), looks, &on).await);
        table.add(first_view(&mut reader, &on).await);
        table.add(changes(&mut reader, &site, port, &on).await);
        table.add(open_pages(&site, port, binary.pid(), span, table::engine(*engine)).await);
        binary.terminate(SETTLE);
    }
}

/// Other operators, with the password of the first.
async fn colleagues(site: &Installation) {
    let columns = "name, status, version, created_at, updated_at, roles, password_hash";
    let insert = format!("insert into users (id, email, {columns})");
    for number in 0..PEOPLE {
        let (id, email) = (site.series.user(number), site.series.email("operator", number));
        let select = format!("select '{id}', '{email}', {columns} from users where email = '{EMAIL}'");
        site.view.execute(&format!("{insert} {select}")).await;
    }
}

/// Each page by itself, over loopback: the slowest decides.
async fn pages(reader: &mut Reader, site: &Installation, operation: String, looks: usize, on: &str) -> Line {
    let mut paths: Vec<String> = PAGES.map(str::to_owned).into();
    paths.push(format!("/console/operations/{operation}"));
    paths.push(format!("/console/operations?after={operation}"));
    paths.push(format!("/console/offerings/{}", site.series.offering(7)));
    let mut costs = Vec::new();
    for path in &paths {
        // What a first look costs is not what is asked for: statements are prepared, and rows come from the disk.
        reader.page(path).await;
        let mut times = Vec::with_capacity(looks);
        for _ in 0..looks {
            let asked = Instant::now();
            reader.page(path).await;
            times.push(milliseconds(asked.elapsed()));
        }
        costs.push((quantile(&times, 0.99), median(&times), path));
    }
    costs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let slowest: Vec<_> = costs.iter().take(4).map(|(p99, p50, path)| format!("{path} {p99:.1} ({p50:.1})")).collect();
    Line {
        row: "console pages",
        on: on.to_owned(),
        goal: "p99 ≤ 50 ms for each page",
        result: format!("{} pages, {looks} looks each; slowest p99 (p50) in ms: {}", paths.len(), slowest.join(", ")),
        baseline: "–".to_owned(),
        ratio: "–".to_owned(),
        met: Some(costs[0].0 <= 50.0),
    }
}

/// The page and all files that it names, as a browser without anything in its cache gets them.
async fn first_view(reader: &mut Reader, on: &str) -> Line {
    let mut heaviest = (0.0, "");
    for path in PAGES {
        let page = reader.page(path).await;
        let mut bytes = reader.bytes(path).await;
        let named = page.split('"').filter(|text| text.starts_with("/console/assets/"));
        let files: std::collections::BTreeSet<&str> = named.collect();
        assert!(files.len() >= 4, "{path} names {files:?}");
        for file in files {
            bytes += reader.bytes(file).await;
        }
        heaviest = if bytes as f64 > heaviest.0 { (bytes as f64, path) } else { heaviest };
    }
    let kilobytes = heaviest.0 / 1_024.0;
    Line {
        row: "console, first view",
        on: on.to_owned(),
        goal: "≤ 60 KB over the wire",
        result: format!("{kilobytes:.1} KB with all files, the heaviest: {}", heaviest.1),
        baseline: "–".to_owned(),
        ratio: "–".to_owned(),
        met: Some(kilobytes <= WIRE_KILOBYTES),
    }
}

/// From the answer that says that an operation is accepted until the list of another person has it, by way of the stream.
async fn changes(reader: &mut Reader, site: &Installation, port: u16, on: &str) -> Line {
    let (mut stream, mut client, mut times) = (reader.again().await, site.client(port).await, Vec::new());
    stream.listen().await;
    for number in 0..CHANGES {
        let offering = site.series.offering(1_000 + number);
        client.deploy(&offering).await;
        let committed = Instant::now();
        let count = "select count(*) from operations where offering_id = ";
        while !reader
            .page(&format!("/console/operations?offering_id={offering}"))
            .await
            .contains("/console/operations/op_")
        {
            stream.hear("event: change").await;
        }
        times.push(milliseconds(committed.elapsed()));
        assert_eq!(site.view.number(&format!("{count}'{offering}'")).await, 1, "it was accepted once");
        // The rest of its changes are over before the next one.
        sleep(Duration::from_millis(1_500)).await;
    }
    Line {
        row: "console, a change is seen",
        on: on.to_owned(),
        goal: "≤ 500 ms after its commit",
        result: format!("median {:.0} ms, at most {:.0} ms, of {CHANGES}", median(&times), quantile(&times, 1.0)),
        baseline: "–".to_owned(),
        ratio: "–".to_owned(),
        met: Some(quantile(&times, 1.0) <= 500.0),
    }
}

/// What the process takes beside many open pages while nothing happens, and what it takes without them.
async fn open_pages(site: &Installation, port: u16, pid: u32, span: Duration, engine: &str) -> Line {
    let share = async || {
        sleep(SETTLE).await;
        let before = process::seconds(pid);
        sleep(span).await;
        (process::seconds(pid) - before) / span.as_secs_f64() * 100.0
    };
    let without = share().await;
    let open = |number| async move {
        let reader = &Reader::sign_in(port, &site.series.email("operator", number)).await;
        let listening = |_| async move {
            let mut stream = reader.again().await;
            stream.listen().await;
            stream
        };
        join_all((0..OPEN_PAGES).map(listening)).await
    };
    let streams: Vec<Reader> = join_all((0..PEOPLE).map(open)).await.into_iter().flatten().collect();
    let with = share().await;
    Line {
        row: "console, open pages",
        on: format!("{engine}, {} streams", streams.len()),
        goal: "< 10 % of a core when nothing happens",
        result: format!("{with:.2} % of a core"),
        baseline: format!("no page open: {without:.2} %"),
        ratio: "–".to_owned(),
        met: Some(with < 10.0),
    }
}
