//! Only the accepted payload is signed: a row changed past the platform is not signed, and an operator is notified.

use serde_json::json;
use world::{Mining, on_both_databases};

use crate::installation::{Installation, PATIENCE, Terms};

on_both_databases! {
    async fn a_call_or_payload_changed_after_acceptance_is_not_signed(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(3)]).await;
        let mut server = site.start().await;
        server.deploy("deploy", &site.offerings[0]).await;
        site.settled().await;
        site.lanes("paused").await;
        let mut mints = Vec::new();
        for subscription in site.rows("select id from subscriptions order by id").await.concat() {
            let body = json!({ "offering_id": site.offerings[0], "subscription_ids": [subscription] });
            mints.push(server.post("/blockchain/trigger-mint", &subscription, body).await.text("/operations/0/id"));
        }
        let [sound, redirected, rewritten] = mints.try_into().unwrap();
        let freeze = site.freeze(&server, "freeze", 50).await.text("/id");
        let kept = site.rows(&format!("select cast(payload as text) from operations where id = '{rewritten}'")).await[0][0].clone();
        // A running process could have read the rows before, and would sign what was accepted.
        server.process.terminate(PATIENCE);
        // The call of another operation, which the contract would accept; and a payload that differs from the call.
        let of_freeze = format!("(select calldata from operation_steps where operation_id = '{freeze}')");
        site.write(&format!("update operation_steps set calldata = {of_freeze} where operation_id = '{redirected}'")).await;
        let other = format!("(select payload from operations where id = '{sound}')");
        site.write(&format!("update operations set payload = {other} where id = '{rewritten}'")).await;
        site.lanes("active").await;
        let server = site.start().await;
        site.settled().await;
        assert_eq!(server.state(&sound).await.0, "confirmed");
        for changed in [&redirected, &rewritten] {
            assert_eq!(server.state(changed).await, ("dead_letter".to_owned(), "payload_changed".to_owned()));
        }
        assert_eq!(site.count("attempts").await, 3, "neither was signed");
        assert_eq!(site.count("subscriptions where status = 'minted'").await, 1);
        // The restored operation continues.
        site.write(&format!("update operations set payload = '{kept}' where id = '{rewritten}'")).await;
        assert_eq!(server.retry("retry", &rewritten).await.status, 202);
        site.settled().await;
        assert_eq!(server.state(&rewritten).await.0, "confirmed");
    }
}
