//! Redemption: two people burn units of a holder, once, past locks and freeze.

use alloy::primitives::U256;
use serde_json::{Value, json};
use world::{Mining, on_both_databases};

use crate::installation::{Installation, Terms, wallet};

const PATH: &str = "/blockchain/redeem";

fn redemption(site: &Installation, quantity: &str) -> Value {
    site.about(json!({ "address": wallet(0).to_checksum(None), "partition": "1", "quantity": quantity }))
}

on_both_databases! {
    async fn two_people_burn_units_of_a_holder_once(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let second = site.second_person(&server).await;
        let token = site.minted(&server).await;
        // Everything of the holder is locked, and the holder is frozen: neither keeps an authority from taking units.
        let lock = json!({ "address": wallet(0).to_checksum(None), "partition": "1", "quantity": "1000", "release_at": "2045-01-01T00:00:00Z" });
        assert_eq!(server.post("/blockchain/lock", "lock", site.about(lock)).await.status, 202);
        site.settled().await;
        assert_eq!(site.freeze(&server, "freeze", 0).await.status, 202);
        site.settled().await;
        let requested = server.post(PATH, "redeem", redemption(&site, "250.50")).await;
        assert_eq!((requested.status, requested.text("/approval/action")), (202, "redeem".into()), "{requested:?}");
        assert_eq!(site.count("operations where kind = 'redeem'").await, 0, "nothing happens before the second person");
        let approved = server.approve(&second, &requested).await;
        assert_eq!((approved.status, approved.text("/status")), (202, "executed".into()), "{approved:?}");
        site.settled().await;
        let shown = server.get(approved.headers["location"].to_str().unwrap()).await;
        assert_eq!((shown.text("/status"), shown.text("/steps/0/function")), ("confirmed".into(), "redeem".into()), "{shown:?}");
        assert_eq!(site.balance_of(token, wallet(0)).await, U256::from(74_950));
        assert_eq!(site.locked_of(token, wallet(0)).await, U256::from(74_950), "the latest locks were cut");
        assert_eq!(site.count(&format!("holdings where wallet_address = '{:#x}' and balance = '74950'", wallet(0))).await, 1);
        // The supply falls with the units, in the ledger as on the chain.
        let run = server.post("/blockchain/reconciliation-runs", "run", json!({ "offering_id": site.offerings[0] })).await;
        assert_eq!(run.status, 202, "{run:?}");
        let path = run.headers["location"].to_str().unwrap().to_owned();
        site.until("the run is done", async || server.get(&path).await.text("/status") == "completed").await;
        let found = server.get(&path).await.body["findings"]["data"].as_array().unwrap().clone();
        assert!(found.iter().all(|found| found["kind"] == "agent_unknown"), "{found:?}");
        assert_eq!(site.exactly_once().await.attention, 0);
    }

    async fn a_redemption_that_cannot_be_is_refused(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        site.minted(&server).await;
        for (field, value, code) in [
            ("quantity", json!("1000.01"), "insufficient_balance"),
            ("quantity", json!("0"), "below_minimum"),
            ("quantity", json!("1.001"), "quantity_format"),
            ("partition", json!("2"), "partition_unknown"),
            ("address", json!("0x0000000000000000000000000000000000000000"), "address_forbidden"),
        ] {
            let mut body = redemption(&site, "1");
            body[field] = value;
            let refused = server.post(PATH, &format!("{field}-{code}"), body).await;
            assert_eq!((refused.status, refused.text("/errors/0/pointer"), refused.text("/errors/0/code")),
                (422, format!("/{field}"), code.to_owned()), "{refused:?}");
        }
        assert_eq!((site.count("approvals").await, site.count("operations where kind = 'redeem'").await), (0, 0));
    }
}
