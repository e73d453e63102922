//! Objects of an issuer, and of the platform.

use muniment_domain::user::Role;
use serde_json::json;

use super::ownership::{Ownership, sound};
use crate::installation::{OfferingFixture, Person};

const TIME: &str = "2026-01-01T00:00:00+00:00";
const CHAIN_ID: i64 = 31337;
const HASH: &str = "0x00000000000000000000000000000000000000000000000000000000000000aa";

async fn subscribe(investor: &Person, offering: &str) -> String {
    sound(&investor.post(&format!("/v1/offerings/{offering}/subscribe"), json!({ "amount": "1000.00" })).await, 201)
}

type Members<'a> = [(&'static str, &'a Person)];

impl Ownership {
    /// Staff, and objects that only staff sees.
    pub async fn of_the_platform(&mut self) {
        for sql in [
            format!(
                "insert into chains (chain_id, genesis_hash, head_number, head_hash, final_number, final_hash, version, updated_at) \
                values ({CHAIN_ID}, '{HASH}', 9, '{HASH}', 9, '{HASH}', 1, '{TIME}')"
            ),
            format!(
                "insert into contracts (chain_id, address, kind, next_op_number, created_at) \
                values ({CHAIN_ID}, '0x{:040x}', 'factory', 1, '{TIME}')",
                0xfac
            ),
            format!(
                "insert into payout_tokens (chain_id, address, symbol, decimals, payer, updated_at) \
                values ({CHAIN_ID}, '0x{:040x}', 'EURC', 6, '0x{:040x}', '{TIME}')",
                0xc0, 0xfa
            ),
            format!(
                "insert into lanes (id, chain_id, signer, next_nonce, mode, version, created_at, updated_at) \
                values ('lan_01jc0000000000000000000001', {CHAIN_ID}, '0x{:040x}', 0, 'active', 1, '{TIME}', '{TIME}')",
                0xfa
            ),
        ] {
            self.fixture.api.write(&sql).await;
        }
        self.put("signers", "lan_01jc0000000000000000000001".to_owned(), "", &[]);
        self.put("chains", CHAIN_ID.to_string(), "", &[]);
        self.put("partitions", "1".to_owned(), "", &[]);
        let api = &self.fixture.api;
        let adam = api.person(self.server(), "adam", Role::Admin).await;
        let anna = api.person(self.server(), "anna", Role::Admin).await;
        let aude = api.person(self.server(), "aude", Role::Auditor).await;
        let (olga, oleg) = (self.fixture.olga.clone(), self.fixture.oleg.clone());
        for (name, letter, who) in [
            ("olga", 'O', &olga),
            ("oleg", 'O', &oleg),
            ("adam", 'A', &adam),
            ("anna", 'A', &anna),
            ("aude", 'U', &aude),
        ] {
            self.of_everybody(name, "staff", who, name == "oleg").await;
            if letter == 'A' {
                self.key(name, "", who, if name == "adam" { &anna } else { &adam }).await;
            }
            if ["olga", "adam", "aude"].contains(&name) {
                self.calls(name, letter, "", who);
            }
        }
        self.keyed("adam", 'A', "", &adam, &anna).await;
        let invited = json!({ "email": "new@people.example", "name": "New", "roles": ["auditor"], "reason": "x" });
        let asked = adam.client().post("/v1/users", "invite", invited).await.unwrap();
        self.put("approvals", asked.text("/approval/id"), "", &["adam"]);
    }

    /// Offerings in every state, and the results of one of them; each member requests something that another must approve.
    pub async fn of_an_organisation(&mut self, org: &'static str, members: &Members<'_>, investors: &Members<'_>) {
        let (first, mut symbols) = (members[0].1, 0);
        let mut symbol = || {
            symbols += 1;
            format!("{}{symbols}", org.to_uppercase())
        };
        // Without a document it stays a draft.
        let terms = OfferingFixture::terms(json!({ "token_symbol": symbol() }));
        let drafted = sound(&first.post("/v1/offerings", terms).await, 201);
        self.event(&drafted, org, &[]).await;
        self.put("offerings", drafted, org, &[]);
        let private = self.fixture.open_by(first, json!({ "visibility": "private", "token_symbol": symbol() })).await;
        let olga = self.fixture.olga.client();
        let deployed =
            olga.post("/blockchain/deploy-token", &private, json!({ "offering_id": private })).await.unwrap();
        self.put("operations", sound(&deployed, 202), org, &[]);
        let compared = olga.post("/blockchain/reconciliation-runs", &private, json!({ "offering_id": private })).await;
        self.put("reconciliation-runs", sound(&compared.unwrap(), 202), org, &[]);
        self.put("offerings", private, org, &[]);
        let mut shown = Vec::new();
        for (name, member) in members {
            let id = self.fixture.open_by(member, json!({ "token_symbol": symbol() })).await;
            for (investor, who) in investors {
                let subscription = subscribe(who, &id).await;
                self.event(&subscription, org, &[*investor]).await;
                self.put("subscriptions", subscription, org, &[*investor]);
            }
            let asked = self.fixture.act(member, &id, "cancel", json!({ "reason": "x" })).await;
            assert_eq!(asked.status, 202, "{asked:?}");
            self.put("approvals", asked.text("/approval/id"), "", &[*name]);
            self.put("offerings", id.clone(), org, &[]).public = true;
            shown.push(id);
        }
        self.distributed(&shown[0], org, investors).await;
    }

    /// A token with two distributions, with an entitlement for each investor.
    async fn distributed(&mut self, offering: &str, org: &'static str, investors: &Members<'_>) {
        let token = format!("0x{:040x}", 0x70_0000 + self.things.len());
        let api = &self.fixture.api;
        api.write(&format!(
            "update offerings set token_status = 'deployed', token_address = '{token}', token_tx_hash = '{HASH}' where id = '{offering}'"
        ))
        .await;
        for number in 0..2 {
            let body = json!({ "offering_id": offering, "type": "rent", "method": "direct_payout", "total_amount": "100.00",
                "record_date": "2026-01-01", "payment_date": "2026-01-02" });
            let asked =
                self.fixture.olga.client().post("/v1/distributions", &format!("{offering}-{number}"), body).await;
            let distribution = sound(&asked.unwrap(), 201);
            let people: Vec<_> = investors.iter().map(|(name, _)| *name).collect();
            for name in &people {
                let id = format!("ent_01jc00000000000000{:08}", self.things.len());
                let (investor, wallet) = (self.of("investors", name), self.of("balances", name));
                self.fixture
                    .api
                    .write(&format!(
                        "insert into entitlements (id, distribution_id, offering_id, investor_id, wallet_address, payee_address, \
                         balance_at_record, gross, withholding_rate_basis_points, withholding, net, status, version, created_at, updated_at) \
                         values ('{id}', '{distribution}', '{offering}', '{investor}', '{wallet}', '{wallet}', '1', 1, 0, 0, 1, 'calculated', 1, \
                         '{TIME}', '{TIME}')"
                    ))
                    .await;
                self.put("entitlements", id, org, &[*name]).within = Some(distribution.clone());
            }
            self.put("distributions", distribution, org, &people);
        }
    }
}
