//! Restricting a partition: one person at once, one operation at a time, and only an existing partition.

use alloy::primitives::Bytes;
use muniment_activities::token;
use muniment_domain::user::Role;
use serde_json::json;
use world::{KEYS, Mining, on_both_databases};

use crate::installation::{Installation, Terms, signer_of};

on_both_databases! {
    async fn one_person_restricts_a_partition_and_two_unrestrict_it(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let second = site.second_person(&server).await;
        let token = site.minted(&server).await;
        site.lanes("paused").await;
        let restrict = async |key: &str| server.post("/blockchain/restrict", key, site.about(json!({ "partition": "1" }))).await;
        let accepted = restrict("restrict-1").await;
        assert_eq!((accepted.status, accepted.text("/type")), (202, "restrict_partition".into()), "{accepted:?}");
        assert_eq!(accepted.body["subject"], json!({ "type": "partition", "id": "1" }));
        let refused = restrict("restrict-2").await;
        assert_eq!(refused.problem(), (409, "operation_in_progress".to_owned()));
        assert!(refused.text("/detail").contains(&accepted.text("/id")), "{refused:?}");
        site.lanes("active").await;
        site.settled().await;
        assert!(site.is_restricted(token, 1).await);
        // Meanwhile the partition is not sold, and the offering cannot be reopened before the restriction ends.
        let operator = site.person(&server, "olga", Role::Operator).await;
        let offering = format!("/v1/offerings/{}", site.offerings[0]);
        let shown = operator.get(&offering).await;
        assert_eq!((shown.text("/status"), shown.text("/status_reason")), ("paused".to_owned(), "partition_restricted".to_owned()), "{shown:?}");
        let resume = async || operator.post(&format!("{offering}/resume"), json!({})).await;
        assert_eq!(resume().await.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(restrict("restrict-3").await.status, 202);
        site.settled().await;
        let unknown = server.post("/blockchain/restrict", "other", site.about(json!({ "partition": "2" }))).await;
        assert_eq!((unknown.text("/errors/0/pointer"), unknown.text("/errors/0/code")), ("/partition".into(), "partition_unknown".into()));
        assert_eq!(site.count("operations where kind = 'restrict_partition' and status = 'confirmed'").await, 2);
        let body = site.about(json!({ "partition": "1" }));
        let lifted = server.request_and_approve(&second, "/blockchain/unrestrict", "unrestrict", body.clone()).await;
        assert_eq!((lifted.text("/type"), lifted.text("/steps/0/function")), ("unrestrict_partition".into(), "removeRestriction".into()));
        site.settled().await;
        assert!(!site.is_restricted(token, 1).await);
        assert_eq!(resume().await.text("/status"), "open");
        let free = server.post("/blockchain/unrestrict", "unrestrict-again", body).await;
        assert_eq!(free.problem(), (409, "invalid_state".to_owned()), "the restriction has ended");
        assert_eq!(site.exactly_once().await.attention, 0);
    }

    async fn a_foreign_restriction_pauses_the_offering(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let address = site.minted(&server).await;
        let operator = site.person(&server, "olga", Role::Operator).await;
        let offering = format!("/v1/offerings/{}", site.offerings[0]);
        site.write("update offerings set status = 'open'").await;
        let agent = signer_of(KEYS[2]);
        let elsewhere = async |data: Bytes| site.sent_as(KEYS[2], address, data).await;
        elsewhere(token::restrict(agent, address, 1).data).await;
        let paused = async || operator.get(&offering).await.text("/status") == "paused";
        site.until("the offering is paused", paused).await;
        assert_eq!(operator.get(&offering).await.text("/status_reason"), "partition_restricted");
        let timeline = operator.get(&format!("{offering}/timeline?limit=100")).await;
        assert!(format!("{timeline:?}").contains("partition_restricted"), "{timeline:?}");
        let line = format!("audit_log where actor_kind = 'engine' and action = 'index' and object_id = '{}'", site.offerings[0]);
        assert_eq!(site.count(&line).await, 1);
        let resume = async || operator.post(&format!("{offering}/resume"), json!({})).await;
        assert_eq!(resume().await.problem(), (409, "invalid_state".to_owned()));
        // Whatever the earlier reason of the pause.
        site.write("update offerings set status_reason = 'storm'").await;
        assert_eq!(resume().await.problem(), (409, "invalid_state".to_owned()));
        elsewhere(token::unrestrict(agent, address, 1).data).await;
        site.until("the partition is unrestricted", async || site.count("token_partitions where restricted").await == 0).await;
        assert_eq!(operator.get(&offering).await.text("/status"), "paused", "only a person resumes it");
        assert_eq!(resume().await.text("/status"), "open");
    }
}
