//! Operations that a restored database does not know are imported from the chain before its lane signs again: nothing is minted twice.

use std::os::unix::process::ExitStatusExt;

use alloy::primitives::{Address, Bytes};
use muniment_activities::contract::line::Line;
use muniment_activities::token::mint::MintPage;
use muniment_activities::token::mint_page;
use serde_json::json;
use world::{Database, KEYS, Mining, on_both_databases};

use crate::backup::copy;
use crate::foreign_key::send;
use crate::installation::{Installation, PayoutFixture, Terms, signer_of};

/// Runs `muniment admin lane …`; returns whether it succeeded, and its output.
async fn lane(site: &Installation, words: &[&str]) -> (bool, String) {
    let id = site.rows("select id from lanes").await[0][0].clone();
    let words: Vec<&str> = ["admin", "lane", words[0], &id].into_iter().chain(words[1..].iter().copied()).collect();
    let (status, printed) = site.launch(&words).output();
    (status.success(), printed)
}

/// Restores the backup, and waits until the lane is stopped and all transactions of the key are final.
async fn restore(site: &mut Installation, backup: Database) {
    let newest = site.anvil.rpc().number("eth_blockNumber", json!([])).await;
    site.config.database(&backup.url());
    site.database = backup;
    let mut server = site.start().await;
    let there =
        format!("lanes where mode = 'quarantined' and exists (select 1 from chains where final_number >= {newest})");
    site.until("the lane is stopped", async || site.count(&there).await == 1).await;
    server.process.kill();
}

/// Two tokens, then a backup, then a mint of each, a third token and its mint. The work continues from the backup.
async fn restored_before_mints(database: Database) -> Installation {
    let terms = [Terms::locked(2), Terms::free(3), Terms::free(2)];
    let mut site = Installation::new(database, Mining::Quick, &terms).await;
    site.config.engine("mint_page_holders", 2);
    let mut server = site.start().await;
    for (number, offering) in site.offerings.iter().enumerate().take(2) {
        server.deploy(&format!("deploy-{number}"), offering).await;
    }
    site.settled().await;
    server.process.kill();
    let backup = copy(&site).await;
    let mut server = site.start().await;
    server.mint("mint-0", &site.offerings[0]).await;
    server.mint("mint-1", &site.offerings[1]).await;
    server.deploy("deploy-2", &site.offerings[2]).await;
    site.settled().await;
    server.mint("mint-2", &site.offerings[2]).await;
    site.settled().await;
    assert_eq!(site.exactly_once().await.minted, 4);
    server.process.kill();
    restore(&mut site, backup).await;
    site
}

/// A token of three holders, then a backup, then its mint and a freeze that somebody else signed with the key. The work continues from the
/// backup. Returns the hash of the freeze as well.
pub async fn restored_before_a_foreign_freeze(database: Database) -> (Installation, String) {
    let mut site = Installation::new(database, Mining::Quick, &[Terms::free(3)]).await;
    let mut server = site.start().await;
    server.deploy("deploy", &site.offerings[0]).await;
    site.settled().await;
    server.process.kill();
    let backup = copy(&site).await;
    let mut server = site.start().await;
    server.mint("mint", &site.offerings[0]).await;
    site.settled().await;
    let token: Address = site.rows("select token_address from offerings").await[0][0].parse().unwrap();
    let nonce = site.anvil.rpc().number("eth_getTransactionCount", json!([signer_of(KEYS[1]), "latest"])).await;
    let freeze = muniment_activities::token::freeze(Address::ZERO, token, Address::repeat_byte(9), Bytes::new());
    let frozen = send(&site.anvil, KEYS[1], nonce, token, freeze.data).await;
    server.process.kill();
    restore(&mut site, backup).await;
    (site, frozen)
}

on_both_databases! {
    async fn mints_after_the_backup_are_imported_and_not_repeated(database: Database) {
        let site = restored_before_mints(database).await;
        let operations = site.count("operations").await;
        let (resumed, why) = lane(&site, &["resume", "looked at it"]).await;
        assert!(!resumed && why.contains("does not know: 5.") && why.contains("unknown-calls"), "{why}");
        let (shown, text) = lane(&site, &["import"]).await;
        assert!(shown && text.contains("Nothing was written"), "{text}");
        for subscription in site.rows("select id from subscriptions").await {
            assert!(text.contains(&subscription[0]), "{} is not shown\n{text}", subscription[0]);
        }
        assert_eq!(site.count("operations").await, operations);

        for plan in ["adopt.before:2", "adopt.after:3"] {
            let id = site.rows("select id from lanes").await[0][0].clone();
            let ends = site.launch(&["admin", "lane", "import", &id, "--apply"]).env("MUNIMENT_CRASH", plan);
            assert_eq!(ends.output().0.signal(), Some(6), "{plan} was not reached");
        }
        let (imported, text) = lane(&site, &["import", "--apply"]).await;
        assert!(imported, "{text}");
        let (again, text) = lane(&site, &["import", "--apply"]).await;
        assert!(again && !text.contains("imported as"), "{text}");
        assert_eq!(site.count("operations").await, operations + 5);
        let imported = "operation_history where reason = 'imported after a restore' and actor = 'command line'";
        assert_eq!(site.count(imported).await, 10);
        let (resumed, why) = lane(&site, &["resume", "imported"]).await;
        assert!(resumed, "{why}");

        let server = site.start().await;
        for (number, offering) in site.offerings.iter().enumerate() {
            let again = server.mint(&format!("again-{number}"), offering).await;
            assert_eq!(again.problem(), (409, "nothing_to_mint".to_owned()));
        }
        let again = server.deploy("again", &site.offerings[2]).await;
        assert_eq!(again.problem(), (409, "token_already_deployed".to_owned()));
        assert_eq!(site.executed_once_and_held_once().await, 4);
        // A new mint gets an operation number that the chain has not used.
        site.write("insert into subscriptions (id, offering_id, investor_id, status, amount, quantity, wallet_address, \
            cooling_off_expires_at, version, created_at, updated_at) select 'sub_01jc000000000000000000000a', offering_id, investor_id, \
            'accepted', amount, '7', wallet_address, cooling_off_expires_at, 1, created_at, updated_at from subscriptions \
            where mint_operation_id is not null limit 1").await;

        for (number, offering) in site.offerings.iter().enumerate() {
            server.mint(&format!("more-{number}"), offering).await;
        }
        site.settled().await;
        assert_eq!(site.executed_once_and_held_once().await, 5);
    }

    async fn an_unknown_call_is_acknowledged_by_name_and_not_dropped(database: Database) {
        let (site, frozen) = restored_before_a_foreign_freeze(database).await;
        // The backup is from before one investor cancelled.
        let changed = "update subscriptions set quantity = '1' where id = (select max(id) from subscriptions)";
        assert_eq!(site.write(changed).await, 1);

        let (imported, text) = lane(&site, &["import", "--apply"]).await;
        assert!(!imported && text.contains("freezeAddress") && text.contains(&frozen), "{text}");
        let page = text.lines().find(|line| line.contains("mintPage")).unwrap().to_owned();
        let page = page.split_whitespace().find(|word| word.starts_with("0x")).unwrap();
        let (missing, _) = text.split_once(&format!(": --acknowledge {page}:")).unwrap();
        let index = text[missing.len()..].trim_start_matches(&format!(": --acknowledge {page}:"))[..1].to_owned();
        assert_eq!(site.count("operations where kind = 'mint'").await, 0, "nothing is written in part");
        let fitting = (0..3).find(|line| line.to_string() != index).unwrap();
        for name in [page.to_owned(), format!("{page}:{fitting}"), format!("{page}:3"), format!("{frozen}:0")] {
            let (taken, why) = lane(&site, &["import", "--apply", "--acknowledge", &name]).await;
            assert!(!taken && why.contains("is not one of the unmatched calls"), "{name}: {why}");
        }
        let (resumed, why) = lane(&site, &["resume", "looked at it"]).await;
        assert!(!resumed && why.contains("does not know: 2."), "{why}");

        let line = format!("{page}:{index}");
        let (imported, text) = lane(&site, &["import", "--apply", "--acknowledge", &line, "--acknowledge", &frozen]).await;
        assert!(imported && text.contains("acknowledged"), "{text}");
        assert_eq!(site.count("subscriptions where status = 'minted'").await, 2);
        assert_eq!(site.count("operations where kind = 'mint' and status = 'confirmed'").await, 1);
        assert_eq!(site.count("events where type = 'lane.call_acknowledged'").await, 2);
        // Another agent's number is a text. The platform goes on above its own.
        let token: Address = site.rows("select token_address from offerings").await[0][0].parse().unwrap();
        let lines = vec![Line::new(Address::repeat_byte(7), 1).unwrap()];
        let mut call = mint_page(Address::ZERO, token, &MintPage { op_id: 1, partition: 1, release_at: 0, lines }).data.to_vec();
        call[4..36].copy_from_slice(b"Judgment of 3 May, court of Riga");
        site.mined(&site.sent_as(KEYS[2], token, call.into()).await).await;
        let (resumed, why) = lane(&site, &["resume", "seen"]).await;
        assert!(resumed, "{why}");
        assert_eq!(site.count("contracts where kind = 'token' and next_op_number = 2").await, 1);
    }

    async fn a_payout_after_the_backup_is_not_repeated(database: Database) {
        let mut fixture = PayoutFixture::new(database, 2).await;
        let id = fixture.calculated("direct_payout", "20.00").await;
        assert_eq!(fixture.act("submit", &id, "submit").await.status, 200);
        fixture.server.process.kill();
        let backup = copy(&fixture.site).await;
        fixture.server = fixture.site.start().await;
        assert_eq!(fixture.act("execute", &id, "execute").await.status, 202);
        fixture.reaches(&id, "completed").await;
        let page = fixture.site.rows("select tx_hash from payout_receipts limit 1").await[0][0].clone();
        fixture.server.process.kill();
        restore(&mut fixture.site, backup).await;
        let parts = fixture.parts(&id).await;
        let (imported, text) = lane(&fixture.site, &["import", "--apply"]).await;
        assert!(!imported && text.contains("batchPayout") && parts.iter().all(|part| text.contains(&part.0)), "{text}");
        let approve = text.lines().find(|line| line.contains("approve of")).unwrap();
        let approve = approve.split_whitespace().find(|word| word.starts_with("0x")).unwrap();
        let named = ["import", "--apply", "--acknowledge", &page, "--acknowledge", approve];
        let (taken, why) = lane(&fixture.site, &named).await;
        assert!(!taken && why.contains("would be paid twice"), "{why}");
        fixture.server = fixture.site.start().await;
        for part in &parts {
            let requested = fixture.decide(&format!("exclude-{}", part.0), &id, &part.0, "exclude").await;
            assert_eq!(fixture.approve(&requested).await.text("/status"), "executed");
        }
        fixture.server.process.kill();
        let (imported, text) = lane(&fixture.site, &named).await;
        assert!(imported, "{text}");
        let (resumed, why) = lane(&fixture.site, &["resume", "seen"]).await;
        assert!(resumed, "{why}");
        fixture.server = fixture.site.start().await;
        assert_ne!(fixture.act("submit-2", &id, "submit").await.status, 202);
        _ = fixture.act("execute-2", &id, "execute").await;
        fixture.site.settled().await;
        for part in parts {
            assert_eq!(fixture.cents(part.1).await, part.2, "once");
        }
    }

    async fn a_subscription_requested_again_is_released_first(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let mut server = site.start().await;
        server.deploy("deploy", &site.offerings[0]).await;
        site.settled().await;
        server.process.kill();
        let backup = copy(&site).await;
        let mut server = site.start().await;
        server.mint("mint", &site.offerings[0]).await;
        site.settled().await;
        server.process.kill();
        restore(&mut site, backup).await;
        // One of the two is requested while the lane is stopped: another page with the same operation number.
        let one = site.rows("select min(id) from subscriptions").await[0][0].clone();
        let mut server = site.start().await;
        let body = json!({ "offering_id": site.offerings[0], "subscription_ids": [one] });
        let held = server.post("/blockchain/trigger-mint", "again", body).await.text("/operations/0/id");
        server.process.kill();
        let (imported, text) = lane(&site, &["import", "--apply"]).await;
        assert!(!imported && text.contains(&format!(" is in {held}: cancel that first")), "{text}");
        let fixture = site.engine_fixture(|_| {}).await;
        // The engine examines it too from time to time, and may change it in between.
        site.until("it is cancelled", async || {
            muniment_workflows::operator::cancel::cancel(&fixture.engine, &held.as_str().into(), "operator", "the move was made before").await.is_ok()
        })
        .await;
        fixture.close().await;
        let (imported, text) = lane(&site, &["import", "--apply"]).await;
        assert!(imported, "{text}");
        let (resumed, why) = lane(&site, &["resume", "imported"]).await;
        assert!(resumed, "{why}");
        assert_eq!(site.executed_once_and_held_once().await, 1);
        assert_eq!(site.count("subscriptions where status = 'minted'").await, 2);
    }
}
