//! Recovery: everything of a lost wallet moves to a new wallet of the same investor, with locks and freeze, and so does the ledger.

use alloy::primitives::{Address, U256};
use serde_json::{Value, json};
use world::{Database, Mining, on_both_databases};

use crate::installation::{Installation, Server, Terms, wallet};

pub const PATH: &str = "/blockchain/recover";
pub const NEW: Address = Address::repeat_byte(0x5e);

pub async fn recovery(site: &Installation, offering: &str, new: Address) -> Value {
    let owner = site.rows(&format!("select investor_id from wallets where address = '{:#x}'", wallet(0))).await;
    json!({ "offering_id": offering, "investor_id": owner[0][0], "lost_address": wallet(0).to_checksum(None),
        "new_address": new.to_checksum(None), "evidence_document_sha256": "cd".repeat(32) })
}

/// Adds an accepted subscription of the first investor.
async fn subscribe(site: &Installation, id: &str, offering: &str) {
    let columns = "investor_id, amount, quantity, wallet_address, cooling_off_expires_at, created_at, updated_at";
    let of =
        format!("offering_id = '{}' and wallet_address = '{:#x}' order by id limit 1", site.offerings[0], wallet(0));
    let sql = format!(
        "insert into subscriptions (id, offering_id, status, version, {columns}) select '{id}', '{offering}', 'accepted', 1, {columns} \
         from subscriptions where {of}"
    );
    assert_eq!(site.write(&sql).await, 1);
}

/// Locks units of a holder, in a partition and until the beginning of a year.
async fn lock(site: &Installation, server: &Server, holder: usize, (partition, year): (&str, u16), quantity: &str) {
    let body = site
        .about(json!({ "address": wallet(holder).to_checksum(None), "partition": partition, "quantity": quantity,
        "release_at": format!("{year}-01-01T00:00:00Z") }));
    let accepted = server.post("/blockchain/lock", &format!("lock-{holder}-{partition}-{year}"), body).await;
    assert_eq!(accepted.status, 202, "{accepted:?}");
    site.settled().await;
}

/// Units and locks of a wallet in each partition.
async fn held(site: &Installation, token: Address, account: Address) -> Vec<(U256, Vec<(U256, u64)>)> {
    let mut held = Vec::new();
    for partition in [1, 2] {
        held.push((
            site.balance_in(token, account, partition).await,
            site.tranches_of(token, account, partition).await,
        ));
    }
    held
}

on_both_databases! {
    async fn recovery_moves_locks_freeze_and_all_partitions(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2), Terms::free(0)]).await;
        let offering = site.offerings[0].clone();
        let (in_one, later, elsewhere) = ("sub_01jc0000000000000000000001", "sub_01jc0000000000000000000002", "sub_01jc0000000000000000000003");
        // The token has two partitions; the first mint goes to the second one.
        site.write("update offerings set partition_id = 2").await;
        let server = site.start().await;
        let second = site.second_person(&server).await;
        let token = site.minted(&server).await;
        site.write("update offerings set partition_id = 1").await;
        subscribe(&site, in_one, &offering).await;
        assert_eq!(server.mint("mint-one", &offering).await.status, 202);
        site.settled().await;
        site.write("update offerings set partition_id = 2").await;
        subscribe(&site, later, &offering).await;
        subscribe(&site, elsewhere, &site.offerings[1]).await;
        lock(&site, &server, 0, ("2", 2044), "100").await;
        lock(&site, &server, 0, ("2", 2045), "50").await;
        lock(&site, &server, 0, ("1", 2045), "70.50").await;
        assert_eq!(site.freeze(&server, "freeze", 0).await.status, 202);
        site.settled().await;
        let before = held(&site, token, wallet(0)).await;
        assert_eq!((before[0].1.len(), before[1].1.len()), (1, 2));

        let requested = server.post(PATH, "recover", recovery(&site, "all", NEW).await).await;
        assert_eq!((requested.status, requested.text("/approval/action")), (202, "recover".into()), "{requested:?}");
        let approved = server.approve(&second, &requested).await;
        assert_eq!((approved.status, approved.text("/status")), (202, "executed".into()), "{approved:?}");
        site.settled().await;
        let batch = server.get(approved.headers["location"].to_str().unwrap()).await;
        assert_eq!(batch.body["data"].as_array().unwrap().len(), 1, "one token has units in the wallet");
        assert_eq!(batch.text("/data/0/status"), "confirmed", "{batch:?}");
        let approval = server.get(&format!("/v1/approvals/{}", approved.text("/id"))).await;
        assert_eq!(approval.body["operations"][0]["id"], batch.body["data"][0]["id"], "{approval:?}");
        assert_eq!(held(&site, token, NEW).await, before);
        assert_eq!(held(&site, token, wallet(0)).await, [(U256::ZERO, vec![]), (U256::ZERO, vec![])]);
        assert!(site.is_frozen(token, wallet(0)).await && site.is_frozen(token, NEW).await, "a recovery does not remove a freeze");
        assert_eq!(site.successor_of(token, wallet(0)).await, NEW);

        let wallets = "select address, coalesce(successor, ''), cast(retired_at is not null as text), cast(verified_at is not null as text)";
        let owner = recovery(&site, "all", NEW).await["investor_id"].as_str().unwrap().to_owned();
        let kept = site.rows(&format!("{wallets} from wallets where investor_id = '{owner}' order by created_at")).await;
        let (yes, no) = if matches!(site.database, Database::Sqlite(_)) { ("1", "0") } else { ("true", "false") };
        let (old, new) = (format!("{:#x}", wallet(0)), format!("{NEW:#x}"));
        assert_eq!(kept, [[old.as_str(), new.as_str(), yes, yes], [new.as_str(), "", no, yes]]);
        let followed = site.rows(&format!("select id from subscriptions where wallet_address = '{new}' order by id")).await.concat();
        assert_eq!(followed, [later, elsewhere], "unminted units go to the new wallet");
        assert_eq!(site.count("events where type = 'wallet.recovered'").await, 1);
        let holders = server.get(&format!("/v1/offerings/{offering}/holders?limit=50")).await;
        let of_owner = holders.body["data"].as_array().unwrap().iter().filter(|h| h["investor_id"] == json!(owner));
        let shown: Vec<_> = of_owner.map(|h| (h["wallet_address"].clone(), h["base_units"].as_str().unwrap().parse::<U256>().unwrap())).collect();
        assert_eq!(shown, [(json!(NEW.to_checksum(None)), before[0].0), (json!(NEW.to_checksum(None)), before[1].0)], "{holders:?}");

        // The lost wallet cannot be unfrozen, with or without frozen units, nor recovered again.
        let body = site.about(json!({ "address": wallet(0).to_checksum(None) }));
        let refused = server.post("/blockchain/unfreeze", "unfreeze", body).await;
        assert_eq!((refused.text("/errors/0/pointer"), refused.text("/errors/0/code")), ("/address".into(), "address_retired".into()), "{refused:?}");
        let again = server.post(PATH, "again", recovery(&site, &offering, Address::repeat_byte(0x77)).await).await;
        assert_eq!((again.text("/errors/0/pointer"), again.text("/errors/0/code")), ("/lost_address".into(), "address_retired".into()), "{again:?}");
        assert_eq!(site.exactly_once().await.attention, 0);
    }

    async fn two_lost_wallets_become_one_that_already_holds_units(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(3)]).await;
        let server = site.start().await;
        let second = site.second_person(&server).await;
        let token = site.minted(&server).await;
        let mut body = recovery(&site, &site.offerings[0], wallet(2)).await;
        let owner = body["investor_id"].as_str().unwrap().to_owned();
        let other = format!("address in ('{:#x}', '{:#x}')", wallet(1), wallet(2));
        assert_eq!(site.write(&format!("update wallets set investor_id = '{owner}', is_default = false where {other}")).await, 2);
        for (holder, year, quantity) in [(0, 2044, "100"), (1, 2044, "50"), (2, 2045, "25")] {
            lock(&site, &server, holder, ("1", year), quantity).await;
        }
        let mut sum = site.balance_of(token, wallet(2)).await;
        for lost in [0, 1] {
            sum += site.balance_of(token, wallet(lost)).await;
            body["lost_address"] = json!(wallet(lost).to_checksum(None));
            server.request_and_approve(&second, PATH, &format!("recover-{lost}"), body.clone()).await;
            site.settled().await;
        }
        assert_eq!(site.balance_of(token, wallet(2)).await, sum);
        let units: Vec<u64> = site.tranches_of(token, wallet(2), 1).await.iter().map(|(units, _)| units.to()).collect();
        assert_eq!(units, [15_000, 2_500], "locks of one time are added");
        let ledger = "select quantity from tranches where quantity <> '0' order by release_at";
        assert_eq!(site.rows(ledger).await.concat(), ["15000", "2500"], "the ledger follows");
        let held = site.rows("select wallet_address, balance from holdings where balance <> '0'").await;
        assert_eq!(held, [[format!("{:#x}", wallet(2)), sum.to_string()]]);
        assert_eq!(site.exactly_once().await.attention, 0);
    }

    async fn a_recovery_of_the_wrong_wallet_is_taken_back(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let second = site.second_person(&server).await;
        let token = site.minted(&server).await;
        let about = site.about(json!({ "address": wallet(0).to_checksum(None) }));
        let early = server.post("/blockchain/reinstate", "early", about.clone()).await;
        assert_eq!((early.text("/errors/0/pointer"), early.text("/errors/0/code")), ("/address".into(), "address_not_recovered".into()), "{early:?}");
        server.request_and_approve(&second, PATH, "recover", recovery(&site, &site.offerings[0], NEW).await).await;
        site.settled().await;
        server.request_and_approve(&second, "/blockchain/reinstate", "reinstate", about.clone()).await;
        site.settled().await;
        assert_eq!(site.successor_of(token, wallet(0)).await, Address::ZERO);
        let back = format!("wallets where address = '{:#x}' and retired_at is null and successor is null", wallet(0));
        assert_eq!((site.count(&back).await, site.count("events where type = 'wallet.reinstated'").await), (1, 1));
        // Units stay with the successor, and the wallet stays frozen until two people end that, too.
        assert_eq!(site.balance_of(token, wallet(0)).await, U256::ZERO);
        assert!(site.is_frozen(token, wallet(0)).await);
        server.request_and_approve(&second, "/blockchain/unfreeze", "unfreeze", about).await;
        site.settled().await;
        assert!(!site.is_frozen(token, wallet(0)).await);
        assert_eq!(site.exactly_once().await.attention, 0);
    }

    async fn a_wallet_under_recovery_has_no_other_operation(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let second = site.second_person(&server).await;
        let token = site.minted(&server).await;
        site.lanes("paused").await;
        // Another investor claimed the new wallet but did not prove it.
        site.write(&format!("insert into wallets (id, investor_id, address, created_at) select 'wal_01jc0000000000000000000099', investor_id, \
            '{NEW:#x}', created_at from wallets where address = '{:#x}'", wallet(1))).await;
        let id = server.request_and_approve(&second, PATH, "recover", recovery(&site, &site.offerings[0], NEW).await).await;
        let busy = (409, "operation_in_progress".to_owned());
        assert_eq!(site.freeze(&server, "freeze", 0).await.problem(), busy);
        let freeze = site.about(json!({ "address": NEW.to_checksum(None) }));
        assert_eq!(server.post("/blockchain/freeze", "freeze-new", freeze).await.problem(), busy);
        let mut other = recovery(&site, &site.offerings[0], NEW).await;
        let owner = site.rows(&format!("select investor_id from wallets where address = '{:#x}'", wallet(1))).await;
        (other["investor_id"], other["lost_address"]) = (json!(owner[0][0]), json!(wallet(1).to_checksum(None)));
        assert_eq!(server.post(PATH, "other", other).await.problem(), (409, "wallet_in_use".to_owned()));
        let verified = format!("wallets where address = '{NEW:#x}' and verified_at is not null");
        assert_eq!(site.count(&verified).await, 0, "no change before it is final: {id:?}");
        site.lanes("active").await;
        site.settled().await;
        assert_eq!((site.count(&verified).await, site.successor_of(token, wallet(0)).await), (1, NEW));
        assert_eq!(site.count("events where type = 'wallet.removed'").await, 1);
        assert_eq!(site.exactly_once().await.attention, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_with_its_code_and_its_pointer_and_changes_nothing() {
    let database = Database::fresh(world::Engine::Sqlite).await;
    let site = Installation::new(database, Mining::Quick, &[Terms::free(3)]).await;
    let server = site.start().await;
    site.minted(&server).await;
    let good = recovery(&site, &site.offerings[0], NEW).await;
    let nobody = Address::repeat_byte(0x99).to_checksum(None);
    for (number, (key, value, code)) in [
        ("lost_address", json!(nobody), "wallet_unknown"),
        ("investor_id", json!("inv_01jc0000000000000000000000"), "wallet_unknown"),
        ("investor_id", json!("inv_1"), "id_format"),
        ("new_address", json!(wallet(0).to_checksum(None)), "address_forbidden"),
        ("new_address", json!(site.platform.factory.to_checksum(None)), "address_forbidden"),
        ("evidence_document_sha256", json!("no"), "digest_format"),
        ("offering_id", json!("every"), "id_format"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = good.clone();
        body[key] = value;
        let refused = server.post(PATH, &format!("key-{number}"), body).await;
        let pointer = if code == "wallet_unknown" { "/lost_address".to_owned() } else { format!("/{key}") };
        assert_eq!(refused.problem(), (422, "validation_failed".to_owned()), "{refused:?}");
        assert_eq!(
            (refused.text("/errors/0/pointer"), refused.text("/errors/0/code")),
            (pointer, code.into()),
            "{refused:?}"
        );
    }
    let mut taken = good.clone();
    taken["new_address"] = json!(wallet(1).to_checksum(None));
    assert_eq!(server.post(PATH, "taken", taken.clone()).await.problem(), (409, "wallet_in_use".to_owned()));
    // The investor only claimed an address that holds units. It is probably somebody else's.
    let owner = good["investor_id"].as_str().unwrap();
    site.write(&format!(
        "update wallets set is_default = false, verified_at = null, investor_id = '{owner}' where address = '{:#x}'",
        wallet(1)
    ))
    .await;
    let full = server.post(PATH, "full", taken).await;
    assert_eq!(
        (full.text("/errors/0/pointer"), full.text("/errors/0/code")),
        ("/new_address".into(), "wallet_not_empty".into()),
        "{full:?}"
    );
    assert_eq!((site.count("approvals").await, site.count("operations where kind = 'recover'").await), (0, 0));
}
