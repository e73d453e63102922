//! No page reads a table that grows with the platform from end to end. SQLite is asked how it would run each statement of each page;
//! PostgreSQL counts what it read for them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use muniment_domain::user::Role;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Row};
use world::{Database, Engine, Mining};

use super::acts::PAGES;
use super::visitor::Visitor;
use crate::installation::{CHAIN_ID, Installation, PATIENCE, Server, Terms};

/// As the queue library acknowledges jobs. A worker's name stays in its finished jobs.
const ACKNOWLEDGE: &str = "update Jobs set status = j.status
    from (select value ->> 'task_id' as id, value ->> 'status' as status from json_each('[]')) as j
    where Jobs.id = j.id and Jobs.lock_by = 'worker'";

/// What grows with each operation, event, investor or visitor. Everything else is made by hand, or belongs to one thing.
const GROWING: &[&str] = &[
    "attempts",
    "audit_log",
    "email_links",
    "entitlements",
    "events",
    "holdings",
    "idempotency_keys",
    "investors",
    "login_attempts",
    "offerings",
    "operation_history",
    "operation_items",
    "operation_steps",
    "operations",
    "payments",
    "sessions",
    "subscriptions",
    "token_events",
    "users",
    "wallets",
    "webhook_attempts",
    "webhook_deliveries",
    "webhook_messages",
];
/// Finished operations, more than all pages together may read.
const MANY: i64 = 50_000;
/// Statements for which two indexes fit, each with the one that holds fewer rows.
const NARROW: &[(&str, &str)] = &[
    ("select nonce from attempts where lane_id = $1 and open order by nonce limit 1", "attempts_open"),
    ("select * from attempts where lane_id = $1 and open order by nonce, number", "attempts_open"),
    (
        "select 1 from attempts a where lane_id = $1 and open and block_number is null \
         and substr(last_answer, 1, 18) = 'insufficient_funds' \
         and exists (select 1 from operation_steps s where s.lane_id = a.lane_id and s.nonce = a.nonce and s.state = 'signed')",
        "attempts_unfunded",
    ),
    (
        "select * from operations where next_action_at is not null and (next_action_at <= $1 or next_action_at > $2) \
         and status || '' in ('pending', 'submitted') order by next_action_at limit $3",
        "operations_due",
    ),
    (PARKED, "operations_parked_for_lane"),
    (
        "select * from operations where status = 'pending' and status in ('pending', 'submitted') and chain_id = $1 \
         and blocked_reason = $2 order by id",
        "operations_unfinished",
    ),
    (
        "select * from operations where kind in ('mint') and offering_id = $1 order by id desc limit 5",
        "operations_by_offering",
    ),
    (
        "select * from operations where subject_id = $1 and kind in ('mint') order by id desc limit 5",
        "operations_by_subject",
    ),
];
/// What is parked for a lane, or for any lane.
const PARKED: &str = "select id from operations where status = 'pending' and next_action_at is null and chain_id = $1 \
                      and blocked_reason = $2 and coalesce(lane_id, '') = $3 order by id limit $4";
const LONG_AGO: &str = "2026-01-01T00:00:00+00:00";

/// Opens each page of the navigation, the filters of the list, and one page of each kind of thing. Reading the whole audit log is what its
/// verification is for.
async fn visit(site: &Installation, server: &Server) {
    let mut olga = Visitor::with_role(site, server, "olga", Role::Operator).await;
    let first = async |select: &str| site.rows(select).await.concat()[0].clone();
    let operation = first("select id from operations order by id limit 1").await;
    let investor = first("select id from investors order by id limit 1").await;
    let mut paths: Vec<String> =
        PAGES.iter().filter(|path| !path.ends_with("/verify")).map(|path| (*path).to_owned()).collect();
    paths.extend(
        [
            "status=attention",
            "status=confirmed",
            "type=deploy_token&status=confirmed",
            "age=24h",
            "error_code=reverts",
            "status=failed",
        ]
        .map(|query| format!("/console/operations?{query}")),
    );
    paths.push(format!("/console/operations?after={operation}"));
    paths.push(format!("/console/operations?q=0x{}", "5e".repeat(32)));
    paths.push(format!("/console/operations?offering_id={}", site.offerings[0]));
    paths.push(format!("/console/operations/{operation}"));
    paths.push(format!("/console/offerings/{}", site.offerings[0]));
    paths.push(format!("/console/investors/{investor}"));
    paths.push("/console/investors?q=holder".to_owned());
    for path in paths {
        let seen = olga.get(&path).await;
        assert_eq!(seen.status, 200, "{path}: {}", seen.text);
    }
}

#[tokio::test]
async fn no_statement_of_a_page_scans_a_growing_table_of_sqlite() {
    let site = Installation::new(Database::fresh(Engine::Sqlite).await, Mining::Quick, &[Terms::free(2)]).await;
    let launch = site.launch(&["run"]).env("MUNIMENT_LOG", "info,sqlx::query=debug");
    let server = site.serve(launch).await;
    assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
    site.settled().await;
    visit(&site, &server).await;
    let statements: BTreeSet<String> = server.process.log().lines().filter_map(statement).collect();
    let selects = statements.iter().filter(|text| text.starts_with("select") || text.starts_with("with"));
    let (mut seen, mut scans) = (0, Vec::new());
    for select in selects {
        seen += 1;
        scans.extend(scans_of(&site, select).await.into_iter().map(|scan| format!("{scan}: {select}")));
    }
    assert!(seen > 60, "only {seen} statements were seen");
    assert!(
        statements.iter().any(|text| text.contains("from investors")),
        "the statements of the pages are among them"
    );
    let fan_out = statements.iter().find(|text| text.starts_with("update events set position")).expect("it runs here");
    let steps = plan(&site, fan_out).await;
    let sorts = steps.iter().any(|(_, step)| step.contains("FOR ORDER BY"));
    assert!(!sorts, "the fan-out of a page sorts all new events: {steps:?}");
    assert!(scans.is_empty(), "{} of {seen} statements scan:\n{}", scans.len(), scans.join("\n"));
    // The look at the plans finds what it is for.
    assert_eq!(scans_of(&site, "select count(*) from operations o where o.faults > 3").await, ["SCAN o"]);
}

/// The statement in a line of the log, on one line.
fn statement(line: &str) -> Option<String> {
    let (_, fields) = line.split_once("sqlx::query: summary=\"")?;
    let (summary, rest) = fields.split_once("\" db.statement=\"")?;
    let (whole, _) = rest.split_once("\" rows_affected=")?;
    let text = if whole.is_empty() { summary } else { whole };
    let text = text.replace("\\n", " ").replace("\\\"", "\"");
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The steps of SQLite's plan that read a whole growing table. Reading along an index until a page is full is no scan, and neither is a
/// partial index, which holds what is open.
async fn scans_of(site: &Installation, select: &str) -> Vec<String> {
    let partial = "select name from sqlite_master where type = 'index' and sql like '% where %'";
    let partial = site.rows(partial).await.concat();
    let steps = plan(site, select).await;
    // Rows are sorted before the page is cut where both are parts of the same query.
    let sorts = |of: i64| steps.iter().any(|(parent, step)| *parent == of && step.contains("FOR ORDER BY"));
    let is_paged = |of: i64| select.contains(" limit ") && !sorts(of);
    let grows = |name: &str| {
        GROWING.contains(&name)
            || GROWING
                .iter()
                .any(|table| [" ", " as "].iter().any(|by| select.contains(&format!("{table}{by}{name} "))))
    };
    let reads_all = |(parent, step): &&(i64, String)| {
        let mut words = step.split(' ');
        let is_scan = words.next() == Some("SCAN") && words.next().is_some_and(grows);
        let by_index = step.split(" INDEX ").nth(1);
        is_scan && !by_index.is_some_and(|index| is_paged(*parent) || partial.iter().any(|known| known == index))
    };
    steps.iter().filter(reads_all).map(|(_, step)| step.clone()).collect()
}

/// SQLite's plan of a statement: the step that each step belongs to, and its words.
async fn plan(site: &Installation, select: &str) -> Vec<(i64, String)> {
    let Database::Sqlite(file) = &site.database else { panic!("not a file") };
    let options = SqliteConnectOptions::new().filename(file.path()).busy_timeout(PATIENCE);
    let mut connection = options.connect().await.unwrap();
    let plan = sqlx::query(AssertSqlSafe(format!("explain query plan {select}"))).fetch_all(&mut connection).await;
    let plan = plan.unwrap_or_else(|error| panic!("{error}: {select}"));
    plan.iter().map(|step| (step.get("parent"), step.get("detail"))).collect()
}

#[tokio::test]
async fn of_two_indexes_sqlite_takes_the_one_with_fewer_rows() {
    let site = Installation::new(Database::fresh(Engine::Sqlite).await, Mining::Quick, &[Terms::free(1)]).await;
    for (select, index) in NARROW {
        let (_, step) = plan(&site, select).await.remove(0);
        assert!(step.contains(&format!(" INDEX {index} (")), "{step}: {select}");
    }
}

#[tokio::test]
async fn postgres_reads_what_is_parked_in_its_order_before_it_has_statistics() {
    let site = Installation::new(Database::fresh(Engine::Postgres).await, Mining::Quick, &[Terms::free(1)]).await;
    for lane in ["''", "'lan_1'"] {
        let values = ["1", "'lane_full'", lane, "16"];
        let select =
            (1..).zip(values).fold(PARKED.to_owned(), |text, (at, value)| text.replace(&format!("${at}"), value));
        let plan = site.rows(&format!("explain {select}")).await.concat().join("\n");
        assert!(plan.contains(" using operations_parked_for_lane on ") && !plan.contains("Sort"), "{plan}");
    }
}

#[tokio::test]
async fn sqlite_finds_a_finished_job_by_its_id() {
    let site = Installation::new(Database::fresh(Engine::Sqlite).await, Mining::Quick, &[Terms::free(1)]).await;
    let steps = plan(&site, ACKNOWLEDGE).await;
    let by_id = |(_, step): &(i64, String)| step.contains("SEARCH Jobs USING INDEX sqlite_autoindex_Jobs_1 (id=?)");
    assert!(steps.iter().any(by_id), "{steps:?}");
}

#[tokio::test]
async fn no_page_reads_a_growing_table_of_postgres_from_end_to_end() {
    let site = Installation::new(Database::fresh(Engine::Postgres).await, Mining::Quick, &[Terms::free(2)]).await;
    finished_operations(&site).await;
    // Each process reports what it read when it ends.
    let mut server = site.start().await;
    server.process.terminate(PATIENCE);
    let before = tuples_read(&site).await;
    let mut server = site.start().await;
    visit(&site, &server).await;
    server.process.terminate(PATIENCE);
    let after = tuples_read(&site).await;
    let read = |table: &&str| after[*table] - before.get(*table).copied().unwrap_or_default();
    let much: Vec<_> =
        GROWING.iter().filter(|table| read(table) >= MANY).map(|table| format!("{table}: {}", read(table))).collect();
    assert!(read(&"operations") > 0 && read(&"investors") > 0, "nothing was counted");
    assert!(much.is_empty(), "rows that all pages together read: {much:?}");
    // The count sees a scan.
    site.count("operations where faults > 3").await;
    site.until("a scan is counted", async || tuples_read(&site).await["operations"] >= after["operations"] + MANY)
        .await;
}

/// How many rows and index entries of each table were read so far.
async fn tuples_read(site: &Installation) -> BTreeMap<String, i64> {
    // Connections that ended report a moment later.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let rows = site
        .rows(
            "select cast(t.relname as text), cast(t.seq_tup_read + coalesce(sum(i.idx_tup_read), 0) as text)
             from pg_stat_user_tables t left join pg_stat_user_indexes i on i.relid = t.relid group by t.relname, t.seq_tup_read",
        )
        .await;
    rows.into_iter().map(|row| (row[0].clone(), row[1].parse().unwrap())).collect()
}

/// Writes deployments that were confirmed long ago, with their steps, attempts and events, and lets the planner know of them.
async fn finished_operations(site: &Installation) {
    let lane = "lan_01000000000000000000000001";
    let chain = CHAIN_ID;
    let (numbers, id) =
        (format!("from generate_series(1, {MANY}) i"), "'op_0100000000000000' || lpad(i::text, 10, '0')");
    let hash = "'0x' || lpad(i::text, 64, '0')";
    let zero = "0".repeat(40);
    for statement in [
        format!(
            "insert into lanes (id, chain_id, signer, next_nonce, mode, version, created_at, updated_at)
             values ('{lane}', {chain}, '0x{zero}', {MANY}, 'paused', 1, '{LONG_AGO}', '{LONG_AGO}')"
        ),
        format!(
            "insert into operations (id, kind, status, subject_type, subject_id, offering_id, batch_index, chain_id, payload,
                 payload_sha256, cycle, faults, tx_hash, requested_by, idempotency_key, version, created_at, submitted_at, confirmed_at,
                 updated_at)
             select {id}, 'deploy_token', 'confirmed', 'offering', '{}', '{0}', 0, {chain}, '{{}}', '7', 1, 0, {hash}, 'usr_old', {id}, 3,
                 '{LONG_AGO}', '{LONG_AGO}', '{LONG_AGO}', '{LONG_AGO}' {numbers}",
            site.offerings[0]
        ),
        format!(
            "insert into operation_steps (operation_id, position, name, target, calldata, state, outcome, chain_id, lane_id, nonce, gas_limit,
                 tx_hash, block_number, block_hash, signed_at, final_at)
             select {id}, 0, 'deployToken', '0x{zero}', '\\x07', 'final', 'success', {chain}, '{lane}', i, 500000, {hash}, 1, {hash},
                 '{LONG_AGO}', '{LONG_AGO}' {numbers}"
        ),
        format!(
            "insert into attempts (chain_id, tx_hash, operation_id, position, cycle, number, kind, lane_id, nonce, raw, gas_limit,
                 max_fee_per_gas, max_priority_fee_per_gas, open, signed_at, sent_at, sends, block_number, block_hash, receipt)
             select {chain}, {hash}, {id}, 0, 1, 1, 'original', '{lane}', i, '\\x07', 500000, '1', '1', false, '{LONG_AGO}', '{LONG_AGO}', 1,
                 1, {hash}, '{{}}' {numbers}"
        ),
        "vacuum analyze".to_owned(),
    ] {
        site.write(&statement).await;
    }
}
