//! Investor rules of the other exemptions: a tenth of income or wealth, a limited number of investors, or a day to reflect.

use muniment_domain::exemption::Exemption;
use serde_json::json;
use world::on_both_databases;

use crate::installation::{OfferingFixture, SubscriptionFixture};
use crate::investment_limit::{above_limit, declare, subscribe, subscription_body};

on_both_databases! {
    async fn regulation_a_limits_each_offering_to_a_tenth_of_the_greater(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let terms = || json!({ "exemption": "reg_a_t2", "minimum_investment": "100.00" });
        let (a, b) = (fixture.open(terms()).await, fixture.open(terms()).await);
        let unknown = subscribe(&fixture.investor, &a, "100.00").await;
        assert_eq!((unknown.field(), unknown.text("/errors/0/params/limit")), (above_limit(), "0.00".to_owned()));
        assert_eq!(declare(&fixture.investor, "20000.00", "50000.00").await.status, 200);
        let limits = fixture.investor.get("/v1/investor/profile").await.body["limits"].clone();
        assert_eq!(limits["reg_a_t2_per_offering"], json!("5000.00"), "{limits}");
        assert_eq!(subscribe(&fixture.investor, &a, "4000.00").await.status, 201);
        assert_eq!(subscribe(&fixture.investor, &a, "1000.01").await.field(), above_limit());
        assert_eq!(subscribe(&fixture.investor, &b, "5000.00").await.status, 201, "each offering counts by itself");
        let left = fixture.investor.get("/v1/investor/profile").await.body["limits"]["reg_a_t2_remaining"].clone();
        let of = |id: &str| left.as_array().unwrap().iter().find(|one| one["offering_id"] == id).unwrap()["remaining"].clone();
        assert_eq!((of(&a), of(&b)), (json!("1000.00"), json!("0.00")), "{left}");
    }

    async fn a_private_placement_takes_thirty_five_non_accredited_investors(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let terms = json!({ "exemption": "reg_d_506b", "visibility": "members", "lockup": { "enabled": true, "days": 365 } });
        let id = fixture.open(terms).await;
        let columns = "user_id, legal_name, country, kyc_status, version, created_at, updated_at";
        for sql in [
            format!(
                "with recursive n(i) as (select 1 union all select i + 1 from n where i < 35) insert into investors (id, {columns}) \
                 select 'inv_' || cast(1000 + n.i as text), null, 'Somebody', 'US', 'approved', 1, o.created_at, o.created_at from offerings o, n"
            ),
            "insert into subscriptions (id, offering_id, investor_id, status, amount, cooling_off_expires_at, version, created_at, updated_at) \
             select 'sub_' || i.id, o.id, i.id, 'binding', 100000, o.created_at, 1, o.created_at, o.created_at from offerings o, investors i \
             where i.user_id is null"
                .to_owned(),
        ] {
            fixture.api.write(&sql).await;
        }
        let full = subscribe(&fixture.investor, &id, "1000.00").await;
        assert_eq!(full.field(), (422, String::new(), "accreditation_required".to_owned()), "{full:?}");
        fixture.api.write("update investors set accreditation_status = 'verified' where id = 'inv_1001'").await;
        assert_eq!(subscribe(&fixture.investor, &id, "1000.00").await.status, 201, "one of them is accredited");
    }

    async fn an_investor_without_a_risk_warning_waits_a_day(database: Database) {
        let fixture = SubscriptionFixture::new(database, |o| o.exemption = Exemption::UkRmmi).await;
        let thinks = (409, "cooling_off_active".to_owned());
        let ask = async || fixture.investor.client().post(&fixture.path(), "once", subscription_body("1500.00")).await.unwrap();
        let silent = fixture.subscribe(&fixture.investor, "1500.00").await;
        assert_eq!(silent.text("/errors/0/code"), "acknowledgement_required", "{silent:?}");
        assert_eq!(fixture.api.count("investors where risk_warned_at is not null").await, 0);
        assert_eq!(ask().await.problem(), thinks);
        assert_eq!(ask().await.problem(), thinks);
        let warned = "events where type = 'investor.risk_warned'";
        assert_eq!((fixture.api.count(warned).await, fixture.reserved().await), (1, "0.00".to_owned()));
        let preview = fixture.investor.post(&format!("{}?dry_run=true", fixture.path()), subscription_body("1500.00")).await;
        assert_eq!((preview.status, &preview.body["eligible"]), (200, &json!(false)), "{preview:?}");
        let earlier = "update investors set risk_warned_at = '2026-01-01T00:00:00+00:00' where risk_warned_at is not null";
        fixture.write(earlier).await;
        let taken = ask().await;
        assert_eq!((taken.status, fixture.api.count(warned).await), (201, 1), "{taken:?}");
    }
}
