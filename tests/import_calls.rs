//! What the chain did with a key since a backup is read and imported over HTTP, while the server runs.

use muniment_domain::user::Role;
use serde_json::json;
use world::on_both_databases;

use crate::restore::restored_before_a_foreign_freeze;

on_both_databases! {
    async fn an_operator_imports_what_the_key_did_and_resumes_it(database: Database) {
        let (site, frozen) = restored_before_a_foreign_freeze(database).await;
        let server = site.start().await;
        let (otto, audrey) = (site.person(&server, "otto", Role::Operator).await, site.person(&server, "audrey", Role::Auditor).await);
        let lane = format!("/blockchain/signers/{}", site.rows("select id from lanes").await[0][0]);
        let (unknown, import) = (format!("{lane}/unknown-calls"), format!("{lane}/import-calls"));
        let shown = audrey.get(&unknown).await;
        assert_eq!((shown.status, shown.body["is_settled"].clone()), (200, json!(false)), "{shown:?}");
        let calls: Vec<_> = shown.body["data"].as_array().unwrap().iter()
            .map(|call| (call["function"].clone(), call["needs_acknowledgement"].clone(), call["lines"].as_array().unwrap().len()))
            .collect();
        assert_eq!(calls, [(json!("mintPage"), json!(false), 3), (json!("freezeAddress"), json!(true), 0)]);
        assert_eq!(shown.text("/data/1/name"), frozen);

        let reason = |names: &[&str]| json!({ "reason": "The backup was restored.", "acknowledge": names });
        assert_eq!(audrey.post(&import, reason(&[])).await.problem(), (403, "role_forbidden".to_owned()));
        let early = otto.post(&format!("{lane}/resume"), json!({ "reason": "Looked at it." })).await;
        assert_eq!(early.problem(), (409, "unknown_calls".to_owned()));
        let page = shown.text("/data/0/name");
        let malformed = otto.post(&import, reason(&[&frozen, "0xab"])).await;
        assert_eq!((malformed.status, malformed.text("/errors/0/pointer")), (422, "/acknowledge/1".to_owned()), "{malformed:?}");
        assert_eq!(otto.post(&import, reason(&[&frozen, &page])).await.status, 422, "the page is no unmatched call");
        assert_eq!(site.count("operations where kind = 'mint'").await, 0, "nothing was written");
        assert_eq!(site.count("events where type = 'lane.call_acknowledged'").await, 0);

        // Without the freeze the mint is imported, and the freeze is left.
        let left = otto.post(&import, reason(&[])).await;
        assert_eq!((left.status, left.body["is_settled"].clone()), (200, json!(false)), "{left:?}");
        assert_eq!((left.text("/data/0/name"), left.body["data"].as_array().unwrap().len()), (frozen.clone(), 1));
        let done = otto.post(&import, reason(&[&frozen])).await;
        assert_eq!((done.status, done.body["is_settled"].clone()), (200, json!(true)), "{done:?}");
        assert_eq!(site.count("subscriptions where status = 'minted'").await, 3);
        assert_eq!(site.count("operations where kind = 'mint' and status = 'confirmed'").await, 1);
        let again = otto.post(&import, reason(&[&frozen])).await;
        assert_eq!((again.status, site.count("operations where kind = 'mint'").await), (200, 1));
        assert_eq!(site.count("events where type = 'lane.call_acknowledged'").await, 1);
        let resumed = otto.post(&format!("{lane}/resume"), json!({ "reason": "Imported." })).await;
        assert_eq!((resumed.status, resumed.text("/lane_state")), (200, "active".to_owned()), "{resumed:?}");
        assert_eq!(server.mint("again", &site.offerings[0]).await.problem(), (409, "nothing_to_mint".to_owned()));
    }
}
