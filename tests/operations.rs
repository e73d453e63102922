//! The list, record and overview of operations: every filter works, and unknown filters are refused.

use muniment_activities::contract::registry::Roles;
use serde_json::{Value, json};
use world::{KEYS, Mining, on_both_databases};

use crate::installation::{Installation, Server, Terms, signer_of};

const PATH: &str = "/blockchain/operations";

async fn ids(server: &Server, query: &str) -> Vec<String> {
    let answer = server.get(&format!("{PATH}?{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    answer.body["data"].as_array().unwrap().iter().map(|op| op["id"].as_str().unwrap().to_owned()).collect()
}

on_both_databases! {
    async fn each_filter_finds_matching_operations(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(3), Terms::free(1)]).await;
        site.config.engine("mint_page_holders", 1);
        let server = site.start().await;
        let other = server.deploy("deploy-1", &site.offerings[1]).await.text("/id");
        site.settled().await;
        let mint = site.mint_refused(&server, 0).await;
        let all = ids(&server, "limit=100").await;
        assert_eq!(all.len(), 5);
        let shown = server.get(&format!("{PATH}/{mint}")).await;
        let (offering, batch) = (&site.offerings[0], shown.text("/batch_id"));
        let hash = server.get(&format!("{PATH}/{other}")).await.text("/tx_hash");
        let signer = signer_of(KEYS[1]);
        let created = server.get(&format!("{PATH}/{other}")).await.text("/created_at");
        for (query, found) in [
            ("status=failed".to_owned(), 3),
            ("error_code=nothing".to_owned(), 0),
            ("error_code=reverts".to_owned(), 3),
            ("status=failed,confirmed".to_owned(), 5),
            ("status=pending".to_owned(), 0),
            ("type=mint".to_owned(), 3),
            ("type=mint,deploy_token".to_owned(), 5),
            ("needs_attention=true".to_owned(), 3),
            ("needs_attention=false".to_owned(), 2),
            (format!("offering_id={offering}"), 4),
            (format!("subject_id={offering}&type=mint"), 3),
            (format!("batch_id={batch}"), 3),
            (format!("signer={}", signer.to_checksum(None)), 2),
            (format!("signer={}", signer_of(KEYS[3])), 0),
            (format!("q={hash}"), 1),
            (format!("q=0x{}", "1".repeat(64)), 0),
            (format!("created_to={created}"), 0),
            (format!("created_from={created}"), 5),
            ("created_from=2099-01-01T00:00:00Z".to_owned(), 0),
        ] {
            assert_eq!(ids(&server, &query).await.len(), found, "{query}");
        }
        assert_eq!(ids(&server, &format!("q={hash}")).await.concat(), other);
        // Pages by number and by cursor return the same rows, each once.
        let mut pages = Vec::new();
        for page in 1..=3 {
            let answer = server.get(&format!("{PATH}?limit=2&page={page}")).await;
            let pagination = json!({ "page": page, "limit": 2, "total": 5, "total_pages": 3, "total_is_exact": true,
                "next_after": answer.body["pagination"]["next_after"] });
            assert_eq!(answer.body["pagination"], pagination);
            pages.extend(answer.body["data"].as_array().unwrap().iter().map(|op| op["id"].as_str().unwrap().to_owned()));
        }
        assert_eq!(pages, all);
        let (mut after, mut walked) = (String::new(), Vec::new());
        loop {
            let answer = server.get(&format!("{PATH}?limit=2{after}")).await;
            walked.extend(answer.body["data"].as_array().unwrap().iter().map(|op| op["id"].as_str().unwrap().to_owned()));
            match answer.body["pagination"]["next_after"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        assert_eq!(walked, all);
        assert_eq!(ids(&server, "page=9").await.len(), 0, "a page past the end is empty, not an error");
        overview(&site, &server).await;
    }

    async fn an_unknown_filter_is_refused(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        let server = site.start().await;
        for query in [
            "status=lost", "status=failed,", "type=gift", "needs_attention=maybe", "offering_id=off_7", "signer=0x12", "q=0x12", "q=7",
            "created_from=yesterday", "created_from=2026-01-02T00:00:00Z&created_to=2026-01-01T00:00:00Z", "page=0", "limit=0", "limit=101",
            "page=5002", "after=op_7", "after=off_01jc0000000000000000000000", "page=1&page=2",
        ] {
            assert_eq!(server.get(&format!("{PATH}?{query}")).await.problem(), (400, "invalid_parameter".to_owned()), "{query}");
        }
        let lost = server.get(&format!("{PATH}?status=lost")).await.text("/detail");
        assert!(lost.contains("dead_letter") && !lost.contains("Status"), "it names the words, and no type: {lost}");
        assert_eq!(server.get(&format!("{PATH}?lane=7")).await.problem(), (400, "unknown_parameter".to_owned()));
        assert_eq!(server.get(&format!("{PATH}/stats?status=failed")).await.problem(), (400, "unknown_parameter".to_owned()));
        let empty = server.get(PATH).await.body;
        assert_eq!(empty["pagination"], json!({ "page": 1, "limit": 20, "total": 0, "total_pages": 0, "total_is_exact": true, "next_after": null }));
    }

    async fn the_record_explains_the_operation(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::locked(2)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        site.set_roles(Roles::ALL).await;
        site.followed().await;
        server.retry("retry", &mint).await;
        site.settled().await;
        let record = server.get(&format!("{PATH}/{mint}")).await.body;
        let step = &record["steps"][0];
        assert_eq!((&step["function"], &step["status"], &step["outcome"]), (&json!("mintPage"), &json!("final"), &json!("success")));
        assert_eq!(step["args_summary"]["page"]["lines"]["count"], 2);
        assert!(step["gas_used"].as_u64() > Some(21_000) && step["block_hash"].is_string(), "{step}");
        assert_eq!(record["candidates"].as_array().unwrap().len(), 1);
        assert_eq!((&record["candidates"][0]["state"], &record["finality"]["mode"]), (&json!("mined"), &json!("finalized_tag")));
        assert!(record["confirmations"].as_i64() >= Some(1));
        let moves: Vec<_> = record["history"].as_array().unwrap().iter().map(|line| line["to"].clone()).collect();
        assert_eq!(moves, ["pending", "failed", "pending", "submitted", "confirmed"]);
        for field in ["error", "suggested_action", "approval_id", "blocked_reason", "resolution"] {
            assert_eq!(record[field], Value::Null, "{field}");
        }
    }
}

/// The overview counts unfinished and waiting operations and measures the time to finality.
async fn overview(site: &Installation, server: &Server) {
    let stats = server.get(&format!("{PATH}/stats")).await.body;
    assert_eq!(
        (&stats["needs_attention"], &stats["unfinished"]["failed"], &stats["by_type"]["mint"]["failed"]),
        (&json!(3), &json!(3), &json!(3))
    );
    assert_eq!(stats["oldest_pending_seconds"], Value::Null);
    let times = &stats["submitted_to_final"];
    assert_eq!(times["sample"], 2);
    let (median, most) = (times["p50_milliseconds"].as_i64(), times["p95_milliseconds"].as_i64());
    assert!(median > Some(0) && most >= median, "{times}");
    site.write("update operations set submitted_at = confirmed_at where status = 'confirmed'").await;
    let times = server.get(&format!("{PATH}/stats")).await.body["submitted_to_final"].clone();
    assert_eq!((&times["p50_milliseconds"], &times["p95_milliseconds"]), (&json!(0), &json!(0)));
}
