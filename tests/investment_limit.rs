//! The crowdfunding investment limit: by income and net worth, over a year and all offerings, at every check.

use muniment_domain::exemption::Exemption;
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{Answer, OfferingFixture, Person, SubscriptionFixture};

fn crowdfunded() -> Value {
    json!({ "exemption": "reg_cf", "lockup": { "enabled": true, "days": 365 }, "minimum_investment": "100.00" })
}

pub fn subscription_body(amount: &str) -> Value {
    json!({ "amount": amount, "acknowledgements": ["risk_warning"] })
}

pub async fn subscribe(person: &Person, offering: &str, amount: &str) -> Answer {
    person.post(&format!("/v1/offerings/{offering}/subscribe"), subscription_body(amount)).await
}

pub async fn declare(person: &Person, income: &str, worth: &str) -> Answer {
    let body = json!({ "annual_income": income, "net_worth": worth });
    person.change("PATCH", "/v1/investor/profile", Some(body)).await
}

async fn remaining(person: &Person) -> Value {
    person.get("/v1/investor/profile").await.body["limits"]["reg_cf_remaining"].clone()
}

pub fn above_limit() -> (u16, String, String) {
    (422, "/amount".to_owned(), "investor_limit_exceeded".to_owned())
}

on_both_databases! {
    async fn crowdfunding_is_limited_per_year_by_income_and_wealth(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let (a, b) = (fixture.open(crowdfunded()).await, fixture.open(crowdfunded()).await);
        let ada = &fixture.investor;
        assert_eq!(remaining(ada).await, json!("2500.00"), "nothing was declared");
        let first = subscribe(ada, &a, "2000.00").await;
        assert_eq!(first.status, 201, "{first:?}");
        let refused = subscribe(ada, &b, "500.01").await;
        assert_eq!(refused.field(), above_limit(), "{refused:?}");
        assert_eq!(refused.body["errors"][0]["params"], json!({ "limit": "2500.00", "used": "2000.00", "remaining": "500.00" }));
        let preview = ada.post(&format!("/v1/offerings/{b}/subscribe?dry_run=true"), subscription_body("500.01")).await;
        let checks = preview.body["checks"].as_array().unwrap().iter();
        let failed: Vec<_> = checks.filter(|check| check["passed"] == false).map(|check| &check["code"]).collect();
        assert_eq!((preview.status, failed), (200, vec![&json!("investor_limit_exceeded")]), "{preview:?}");
        assert_eq!(subscribe(ada, &b, "500.00").await.status, 201);
        assert_eq!(remaining(ada).await, json!("0.00"));
        let declared = declare(ada, "100000.00", "60000.00").await;
        assert_eq!((declared.status, declared.text("/annual_income"), declared.text("/net_worth")), (200, "100000.00".to_owned(), "60000.00".to_owned()), "{declared:?}");
        assert_eq!(declared.body["limits"]["reg_cf_remaining"], json!("2500.00"));
        // Cancelled subscriptions and those older than a year do not count.
        let cancelled = ada.post(&format!("/v1/subscriptions/{}/cancel", first.text("/id")), json!({})).await;
        assert_eq!((cancelled.status, remaining(ada).await), (200, json!("4500.00")), "{cancelled:?}");
        fixture.api.write("update subscriptions set created_at = '2020-01-01T00:00:00+00:00'").await;
        assert_eq!(remaining(ada).await, json!("5000.00"));
        assert_eq!(subscribe(ada, &a, "5000.01").await.field(), above_limit());
        fixture.api.write("update investors set accreditation_status = 'verified'").await;
        assert_eq!(remaining(ada).await, Value::Null);
        assert_eq!(subscribe(ada, &a, "20000.00").await.status, 201);
    }

    async fn concurrent_commitments_do_not_exceed_the_investment_limit(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let offerings = [fixture.open(crowdfunded()).await, fixture.open(crowdfunded()).await];
        let requested = (0..8).map(|number| {
            let (client, path) = (fixture.investor.client(), format!("/v1/offerings/{}/subscribe", offerings[number % 2]));
            async move { client.change("POST", &path, Some(subscription_body("2000.00"))).await.unwrap() }
        });
        let answers = futures::future::join_all(requested).await;
        let made = answers.iter().filter(|answer| answer.status == 201).count();
        let refused = answers.iter().filter(|answer| answer.field() == above_limit()).count();
        assert_eq!((made, refused), (1, 7), "{answers:?}");
        assert_eq!((fixture.api.count("subscriptions").await, remaining(&fixture.investor).await), (1, json!("500.00")));
    }

    async fn declared_figures_are_private_and_invalid_ones_change_nothing(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let server = fixture.server.as_ref().unwrap();
        let auditor = fixture.api.person(server, "aude", Role::Auditor).await;
        let ada = &fixture.investor;
        for (income, code) in [(json!("-1.00"), "amount_format"), (json!("1.0"), "amount_format"), (json!(5), "type_mismatch")] {
            let refused = ada.change("PATCH", "/v1/investor/profile", Some(json!({ "annual_income": income }))).await;
            assert_eq!(refused.field(), (422, "/annual_income".to_owned(), code.to_owned()), "{refused:?}");
        }
        assert_eq!(ada.get("/v1/investor/profile").await.body["annual_income"], Value::Null);
        assert_eq!(declare(ada, "765432.10", "0.00").await.status, 200);
        let id = ada.get("/v1/auth/me").await.text("/investor_id");
        let path = format!("/v1/investors/{id}");
        assert_eq!(fixture.olga.get(&path).await.text("/annual_income"), "765432.10");
        let masked = auditor.get(&path).await;
        assert_eq!((masked.status, &masked.body["annual_income"], &masked.body["net_worth"], &masked.body["limits"]["reg_cf_remaining"]), (200, &Value::Null, &Value::Null, &Value::Null));
        let texts = "select cast(data as text) from events union all select cast(detail as text) from audit_log";
        let texts = fixture.api.rows(texts).await.concat().concat();
        assert!(texts.contains("annual_income") && !texts.contains("76543210"), "the field name without its value");
        let offering = fixture.open(json!({})).await;
        assert_eq!(subscribe(ada, &offering, "1000.00").await.status, 201);
        let seen = fixture.issuer.get(&format!("/v1/offerings/{offering}/subscriptions")).await;
        assert!(seen.status == 200 && !format!("{seen:?}").contains("765432"), "{seen:?}");
    }

    async fn declared_figures_are_raised_once_in_a_while(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let server = fixture.server.as_ref().unwrap();
        let ada = &fixture.investor;
        assert_eq!(declare(ada, "50000.00", "10000.00").await.status, 200, "the first declaration is free");
        assert_eq!(declare(ada, "60000.00", "10000.00").await.status, 200, "a first correction, too");
        let refused = declare(ada, "70000.00", "20000.00").await;
        let fields: Vec<_> = refused.body["errors"].as_array().unwrap().iter().map(|error| (&error["pointer"], &error["code"])).collect();
        let early = json!("too_early");
        assert_eq!((refused.status, fields), (422, vec![(&json!("/annual_income"), &early), (&json!("/net_worth"), &early)]), "{refused:?}");
        assert_eq!(ada.get("/v1/investor/profile").await.text("/annual_income"), "60000.00");
        assert_eq!(declare(ada, "40000.00", "10000.00").await.status, 200, "a lower figure is welcome at any time");
        assert_eq!(declare(ada, "60000.00", "10000.00").await.field().2, "too_early", "and cannot be taken back at once");
        fixture.api.write("update investors set means_raised_at = '2026-01-01T00:00:00+00:00'").await;
        assert_eq!(declare(ada, "60000.00", "10000.00").await.status, 200);
        // The wait is a policy.
        let (a, b) = (fixture.api.person(server, "a", Role::Admin).await, fixture.api.person(server, "b", Role::Admin).await);
        let mut limits = a.get("/v1/policies").await.body["limits"].clone();
        assert_eq!(limits["means_raise_days"], json!(30));
        limits["means_raise_days"] = json!(0);
        let body = json!({ "limits": limits, "reason": "Our reviewers ask for evidence." });
        let asked = a.client().on_version(0).change("PUT", "/v1/policies", Some(body)).await.unwrap();
        assert_eq!(b.approve(&asked).await.text("/status"), "executed");
        assert_eq!(declare(ada, "90000.00", "10000.00").await.status, 200);
    }

    async fn newly_declared_figures_count_at_acceptance_and_mint(database: Database) {
        let fixture = SubscriptionFixture::new(database, |o| o.exemption = Exemption::RegCf).await;
        assert_eq!(declare(&fixture.investor, "100000.00", "0.00").await.status, 200);
        let made = fixture.investor.post(&fixture.path(), subscription_body("4000.00")).await;
        let id = made.text("/id");
        assert_eq!(made.status, 201, "{made:?}");
        fixture.write("update subscriptions set status = 'binding'").await;
        assert_eq!(fixture.pay(&id, "4000.00", "bank-1").await.status, 201);
        let accept = async || fixture.act(&fixture.issuer, &id, "accept", json!({})).await;
        assert_eq!(declare(&fixture.investor, "10000.00", "0.00").await.status, 200);
        assert_eq!(accept().await.field(), above_limit());
        assert_eq!(declare(&fixture.investor, "80000.00", "0.00").await.status, 200);
        assert_eq!(accept().await.status, 200);
        // A month later the figures can be raised again.
        fixture.write("update investors set means_raised_at = '2026-01-01T00:00:00+00:00'").await;
        assert_eq!(declare(&fixture.investor, "10000.00", "0.00").await.status, 200);
        let token = "0x00000000000000000000000000000000000000aa";
        for sql in [
            format!("update offerings set status = 'closed', token_status = 'deployed', token_address = '{token}', token_tx_hash = '0x{}'", "7".repeat(64)),
            format!("insert into contracts (chain_id, address, kind, offering_id, next_op_number, created_at) select chain_id, '{token}', 'token', id, 1, created_at from offerings"),
        ] {
            fixture.write(&sql).await;
        }
        let mint = async |key: &str| {
            let body = json!({ "offering_id": fixture.offering });
            fixture.operator.client().post("/blockchain/trigger-mint", key, body).await.unwrap().problem()
        };
        assert_eq!(mint("poor").await, (409, "nothing_to_mint".to_owned()));
        assert_eq!(declare(&fixture.investor, "80000.00", "0.00").await.status, 200);
        assert_ne!(mint("rich").await.1, "nothing_to_mint", "the limit was the only obstacle");
    }
}
