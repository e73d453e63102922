//! Reports: each line once, however many there are, with exact sums.

use std::collections::BTreeSet;

use muniment_domain::db::Tx;
use muniment_domain::point::Point;
use muniment_domain::report::cap_table;
use muniment_domain::sql::sql;
use muniment_domain::user::{self, Role};
use serde_json::{Value, json};
use world::{Database, Mining, on_both_databases};

use crate::installation::{Installation, SubscriptionFixture, Terms, ledger_write, offer, open};

const HOLDERS: i64 = 10_000;
const TIME: &str = "2026-03-01T00:00:00+00:00";
const TOKEN: &str = "0x00000000000000000000000000000000000070ce";
const HASH: &str = "0x00000000000000000000000000000000000000000000000000000000000000aa";
const BLOCK: i64 = 40;
const DISTRIBUTION: &str = "dist_01jc0000000000000000000001";

/// An offering with ten thousand holders of ten units and an entitlement of ten euros each: even ones are paid, odd ones held.
async fn ten_thousand(database: &Database, offering: &str) {
    let (id, numbers) = (
        "cast(100000 + n.i as text)",
        format!("with recursive n(i) as (select 0 union all select i + 1 from n where i < {HOLDERS} - 1)"),
    );
    let wallet = format!("'0x0000000000000000000000000000000000' || {id}");
    let investor = format!("'inv_01jc0000000000000000' || {id}");
    for sql in [
        format!("insert into token_reads (chain_id, block_number, version, read_at) values (1, {BLOCK}, 1, '{TIME}')"),
        format!(
            "insert into token_cursors (offering_id, chain_id, token_address, made_in, block_number, read_at, pace) \
            values ('{offering}', 1, '{TOKEN}', 1, {BLOCK}, '{TIME}', 'chain')"
        ),
        format!(
            "insert into token_partitions (offering_id, partition_id, restricted, supply, block_number) \
            values ('{offering}', 1, false, '{}', {BLOCK})",
            HOLDERS * 1_000
        ),
        format!(
            "insert into distributions (id, offering_id, kind, status, method, currency, total_amount, chain_id, token_address, \
            partition_id, payout_token, payout_symbol, payout_decimals, funding_wallet, record_date, payment_date, entitlements_root, created_by, \
            version, created_at, updated_at) values ('{DISTRIBUTION}', '{offering}', 'rent', 'partially_completed', 'direct_payout', 'EUR', \
            {}, 1, '{TOKEN}', 1, '{TOKEN}', 'EURC', 6, '{TOKEN}', '{TIME}', '{TIME}', '{HASH}', 'usr_x', 1, '{TIME}', '{TIME}')",
            HOLDERS * 1_000
        ),
        format!(
            "{numbers} insert into investors (id, legal_name, country, kyc_status, tax_form, version, created_at, updated_at) \
            select {investor}, '=Holder, ' || {id}, 'PT', 'approved', 'w8ben', 1, '{TIME}', '{TIME}' from n"
        ),
        format!(
            "{numbers} insert into wallets (id, investor_id, address, verified_at, created_at) \
            select 'wal_01jc0000000000000000' || {id}, {investor}, {wallet}, '{TIME}', '{TIME}' from n"
        ),
        format!(
            "{numbers} insert into holdings (offering_id, wallet_address, partition_id, balance, synced_block, version, updated_at) \
            select '{offering}', {wallet}, 1, '1000', 7, 1, '{TIME}' from n"
        ),
        format!(
            "{numbers} insert into entitlements (id, distribution_id, offering_id, investor_id, wallet_address, payee_address, balance_at_record, \
            gross, withholding_rate_basis_points, withholding, net, status, hold_reason, tx_hash, block_number, paid_at, version, created_at, \
            updated_at) select 'ent_01jc0000000000000000' || {id}, '{DISTRIBUTION}', '{offering}', {investor}, {wallet}, {wallet}, '1000', 1000, 1500, \
            150, 850, case when n.i % 2 = 0 then 'paid' else 'held' end, case when n.i % 2 = 0 then null else 'operator' end, \
            case when n.i % 2 = 0 then '{HASH}' end, 9, case when n.i % 2 = 0 then cast('{TIME}' as timestamptz) end, 1, '{TIME}', '{TIME}' from n"
        ),
    ] {
        // In SQLite a time is text.
        let sql =
            if matches!(database, Database::Sqlite(_)) { sql.replace(" as timestamptz)", " as text)") } else { sql };
        ledger_write(database, &sql).await;
    }
}

/// Splits a row of a CSV file; commas occur only within quotes.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            letter => cells.last_mut().unwrap().push(letter),
        }
    }
    cells
}

fn cents(amount: &str) -> i64 {
    amount.replace('.', "").parse().unwrap()
}

on_both_databases! {
    async fn ten_thousand_holders_appear_once_with_exact_sums(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        ten_thousand(&fixture.api.database, &fixture.offering).await;
        let auditor = fixture.api.person(&fixture.server, "aude", Role::Auditor).await;
        let of = format!("offering_id={}", fixture.offering);

        let table = fixture.operator.get(&format!("/v1/reports/cap-table?{of}&format=csv")).await;
        assert_eq!(table.headers["content-disposition"], "attachment; filename=\"cap-table.csv\"");
        let text = table.body.as_str().unwrap();
        let lines: Vec<_> = text.trim_end().split("\r\n").map(cells).collect();
        assert_eq!(lines.len() as i64, HOLDERS + 2);
        assert_eq!(lines[1], ["0x0000000000000000000000000000000000100000", "1", "inv_01jc0000000000000000100000", "'=Holder, 100000", "PT", "10.00", "1000", "0.0100", "false"]);
        assert_eq!(lines.last().unwrap()[..2], ["total".to_owned(), "1".to_owned()]);
        assert_eq!(lines.last().unwrap()[5..7], ["100000.00".to_owned(), "10000000".to_owned()]);
        let wallets: BTreeSet<_> = lines[1..lines.len() - 1].iter().map(|line| &line[0]).collect();
        assert_eq!(wallets.len() as i64, HOLDERS);
        let shown = auditor.get(&format!("/v1/reports/cap-table?{of}")).await;
        assert_eq!((&shown.body["block_number"], shown.body["lines"].as_array().unwrap().len() as i64), (&json!(BLOCK), HOLDERS));
        assert_eq!(shown.text("/lines/0/legal_name"), "=… 1…", "an auditor gets no names");
        assert_eq!(shown.body["totals"], json!([{ "partition": "1", "quantity": "100000.00", "base_units": "10000000", "holders": HOLDERS }]));

        let paid = fixture.operator.get("/v1/reports/distributions?year=2026").await;
        assert_eq!((paid.text("/lines/0/distribution_id"), paid.text("/from")), (DISTRIBUTION.to_owned(), "2026-01-01T00:00:00.000Z".to_owned()));
        let sums = |at: &str| ["gross", "withholding", "net", "paid", "held", "open"].map(|field| paid.text(&format!("/{at}/0/{field}")));
        assert_eq!(sums("totals"), ["100000.00", "15000.00", "85000.00", "42500.00", "42500.00", "0.00"]);
        assert_eq!(sums("lines"), sums("totals"));
        assert_eq!(fixture.operator.get("/v1/reports/distributions?year=2025").await.body["lines"], json!([]));

        let text = fixture.operator.get(&format!("/v1/reports/tax?year=2026&{of}&format=csv")).await;
        let lines: Vec<_> = text.body.as_str().unwrap().trim_end().split("\r\n").map(cells).collect();
        assert_eq!(lines[1][2..], ["PT", "", "w8ben", "", "EUR", "15.00", "1", "10.00", "1.50", "8.50"]);
        let (rows, total) = (&lines[1..lines.len() - 1], lines.last().unwrap());
        assert_eq!((rows.len() as i64, total[8].as_str(), total[9].as_str()), (HOLDERS / 2, "5000", "50000.00"));
        for column in 9..12 {
            assert_eq!(rows.iter().map(|line| cents(&line[column])).sum::<i64>(), cents(&total[column]));
        }
        assert_eq!(fixture.operator.get("/v1/reports/tax?year=2027").await.body["totals"], json!([]));
    }

    async fn an_invalid_report_request_explains_itself(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        for (path, status, code) in [
            ("cap-table", 400, "invalid_parameter"),
            ("cap-table?offering_id=sub_1", 400, "invalid_parameter"),
            ("cap-table?offering_id=off_01jc0000000000000000000000", 404, "not_found"),
            ("tax?offering_id=off_01jc0000000000000000000000", 404, "not_found"),
            ("tax?year=0", 400, "invalid_parameter"),
            ("tax?format=pdf", 400, "invalid_parameter"),
            ("transactions?page=2", 400, "unknown_parameter"),
        ] {
            assert_eq!(fixture.operator.get(&format!("/v1/reports/{path}")).await.problem(), (status, code.to_owned()), "{path}");
        }
        // No event of this token is indexed yet.
        let empty = fixture.operator.get(&format!("/v1/reports/cap-table?offering_id={}", fixture.offering)).await;
        assert_eq!((&empty.body["block_number"], &empty.body["lines"], &empty.body["totals"]), (&Value::Null, &json!([]), &json!([])));
    }

    async fn an_export_sees_the_moment_at_which_it_began(database: Database) {
        let db = open(&database.url()).await;
        let count = async |tx: &mut Tx| sql("select count(*) from users").scalar::<i64>(tx).await.unwrap();
        let mut export = db.read_one_moment().await.unwrap();
        let before = count(&mut export).await;
        let mut tx = db.begin().await.unwrap();
        user::insert(&mut tx, "ada@people.example", "Ada", Role::Investor).await.unwrap();
        tx.commit(Point::Housekeeping).await.unwrap();
        assert_eq!(count(&mut export).await, before, "what is written meanwhile is not in it");
        drop(export);
        assert_eq!(count(&mut db.read().await.unwrap()).await, before + 1);
        db.close().await;
    }

    async fn a_cap_table_is_read_at_one_moment(database: Database) {
        let (_, offering) = offer(&database.url(), |_| {}).await;
        ten_thousand(&database, &offering).await;
        let wallet = |n: i64| format!("0x0000000000000000000000000000000000{}", 100_000 + n);
        let (first, last) = (wallet(0), wallet(HOLDERS - 1));
        let db = open(&database.url()).await;
        let mut tx = db.read().await.unwrap();
        let place = cap_table::block_state(&mut tx, &offering.as_str().into()).await.unwrap().unwrap();
        let (lines, mut after) = cap_table::page(&mut tx, &offering.as_str().into(), place.block_number, &(String::new(), -1), 500).await.unwrap();
        let mut sum: u128 = lines.iter().map(|line| line.balance.0).sum();
        drop(tx);
        // In later blocks the last holder gives all units to the first, and a new holder at the end gets some.
        let stranger = "0xff00000000000000000000000000000000000000";
        for (block, to, units) in [(BLOCK + 1, first.as_str(), 900), (BLOCK + 2, stranger, 100)] {
            ledger_write(&database, &format!(
                "insert into token_events (chain_id, block_number, log_index, line, block_hash, block_at, tx_hash, offering_id, kind, partition_id, from_address, \
                 to_address, quantity) values (1, {block}, 0, 0, '0x01', '{TIME}', '0x01', '{offering}', 'transfer', 1, '{last}', '{to}', '{units}')")).await;
        }
        for (who, balance) in [(first.as_str(), 1_900), (last.as_str(), 0), (stranger, 100)] {
            ledger_write(&database, &format!(
                "insert into holdings (offering_id, wallet_address, partition_id, balance, synced_block, version, updated_at) \
                 values ('{offering}', '{who}', 1, '{balance}', {}, 1, '{TIME}') on conflict (offering_id, wallet_address, partition_id) do update \
                 set balance = excluded.balance, synced_block = excluded.synced_block", BLOCK + 2)).await;
        }
        let mut count = lines.len() as i64;
        while let Some(key) = after {
            let mut tx = db.read().await.unwrap();
            let (lines, next) = cap_table::page(&mut tx, &offering.as_str().into(), place.block_number, &key, 500).await.unwrap();
            sum += lines.iter().map(|line| line.balance.0).sum::<u128>();
            count += lines.len() as i64;
            after = next;
        }
        assert_eq!((count, sum, place.supplies[&1]), (HOLDERS, 10_000_000, 10_000_000));
        db.close().await;
    }

    async fn every_confirmed_transaction_is_reported_with_its_gas(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(3)]).await;
        let server = site.start().await;
        site.minted(&server).await;
        let auditor = site.person(&server, "aude", Role::Auditor).await;
        let report = auditor.get(&format!("/v1/reports/transactions?offering_id={}", site.offerings[0])).await;
        let lines = report.body["lines"].as_array().unwrap();
        let kinds: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["deploy_token", "mint"], "{report:?}");
        for line in lines {
            let known = "select cast(block_number as text) from attempts where tx_hash = ";
            let block = site.rows(&format!("{known}'{}'", line["tx_hash"].as_str().unwrap())).await.concat();
            assert_eq!(line["block_number"].to_string(), block[0]);
            let (gas, price) = (line["gas_used"].as_u64().unwrap(), line["effective_gas_price"].as_u64().unwrap());
            assert!(gas > 21_000);
            assert_eq!(line["fee"].as_str().unwrap(), (u128::from(gas) * u128::from(price)).to_string());
        }
        let gas: u64 = lines.iter().map(|line| line["gas_used"].as_u64().unwrap()).sum();
        assert_eq!((&report.body["totals"][0]["transactions"], &report.body["totals"][0]["gas_used"]), (&json!(2), &json!(gas)));
        let other = auditor.get("/v1/reports/transactions?year=1999&format=csv").await;
        assert_eq!(other.body.as_str().unwrap().lines().count(), 1, "column names");
    }
}
