//! Restricting a partition: at once by one person, once at a time, and only a partition that there is.

use muniment_domain::user::Role;
use serde_json::json;
use world::{Mining, on_both_databases};

use crate::installation::{Installation, Terms};

on_both_databases! {
    async fn a_partition_is_restricted_by_one_and_freed_by_two(database: Database) {
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
        // Nothing of it is sold meanwhile, and nobody opens it again before the restriction is gone.
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
        let lifted = server.two(&second, "/blockchain/unrestrict", "unrestrict", body.clone()).await;
        assert_eq!((lifted.text("/type"), lifted.text("/steps/0/function")), ("unrestrict_partition".into(), "removeRestriction".into()));
        site.settled().await;
        assert!(!site.is_restricted(token, 1).await);
        assert_eq!(resume().await.text("/status"), "open");
        let free = server.post("/blockchain/unrestrict", "unrestrict-again", body).await;
        assert_eq!(free.problem(), (409, "invalid_state".to_owned()), "it is restricted no more");
        assert_eq!(site.exactly_once().await.attention, 0);
    }
}
