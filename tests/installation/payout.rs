//! A token with holders and a payer with money, for distributions from draft to last receipt.

use alloy::primitives::{Address, U256, hex};
use alloy::sol_types::SolCall;
use chrono::{DateTime, SecondsFormat};
use muniment_activities::payout::coin;
use serde_json::{Value, json};
use world::{Database, KEYS, Mining};

use super::server::Answer;
use super::{Installation, Person, Server, Terms, signer_of};

alloy::sol! {
    function balanceOf(address account) returns (uint256);
}

/// Units of the coin in a cent; the coin has six decimals.
pub const UNITS_OF_A_CENT: u64 = 10_000;

/// An installation that can pay holders.
pub struct PayoutFixture {
    pub site: Installation,
    pub server: Server,
    pub token: Address,
    pub colleague: Person,
}

impl PayoutFixture {
    /// Creates one offering minted to this many holders, and a payer with a million of the coin.
    pub async fn new(database: Database, holders: usize) -> Self {
        Self::with(database, holders, |_| {}).await
    }

    /// Creates the fixture with a changed configuration.
    pub async fn with(database: Database, holders: usize, change: impl Fn(&mut Installation)) -> Self {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(holders)]).await;
        site.config.pays_in(&site.platform, signer_of(KEYS[1]));
        site.config.engine("payout_page_holders", 2);
        change(&mut site);
        let server = site.start().await;
        let colleague = site.second_person(&server).await;
        let token = site.minted(&server).await;
        let this = Self { site, server, token, colleague };
        this.fund(signer_of(KEYS[1]), 1_000_000).await;
        this
    }

    /// Gives an account whole coins.
    pub async fn fund(&self, whom: Address, whole: u64) {
        let amount = U256::from(whole) * U256::from(100 * UNITS_OF_A_CENT);
        self.send_foreign(coin::mint_play_money(Address::ZERO, self.site.platform.coin, whom, amount)).await;
    }

    /// Sends a call as another agent, with a key that the platform does not use.
    pub async fn send_foreign(&self, call: muniment_activities::chain::simulate::Call) {
        self.send_as(KEYS[3], call).await;
    }

    /// Executes a call with a known key, past the platform; returns its hash.
    pub async fn send_as(&self, key: &str, call: muniment_activities::chain::simulate::Call) -> String {
        let hash = self.sent_as(key, call).await;
        self.site.mined(&hash).await;
        hash
    }

    /// Sends a call with a known key, past the platform, whether it will succeed or revert; returns its hash.
    pub async fn sent_as(&self, key: &str, call: muniment_activities::chain::simulate::Call) -> String {
        self.site.sent_as(key, call.to.unwrap(), call.data).await
    }

    /// Coin balance of an account, in cents.
    pub async fn cents(&self, account: Address) -> u64 {
        let data = hex::encode_prefixed(balanceOfCall { account }.abi_encode());
        let call = json!([{ "to": self.site.platform.coin, "data": data }, "latest"]);
        let answer = self.site.anvil.rpc().call("eth_call", call).await;
        let units = U256::from_be_slice(&hex::decode(answer.as_str().unwrap()).unwrap());
        (units / U256::from(UNITS_OF_A_CENT)).to()
    }

    /// Time of the newest block.
    pub async fn chain_time(&self) -> String {
        let head = self.site.anvil.rpc().call("eth_getBlockByNumber", json!(["latest", false])).await;
        let seconds = i64::from_str_radix(head["timestamp"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
        DateTime::from_timestamp(seconds, 0).unwrap().to_rfc3339_opts(SecondsFormat::Secs, true)
    }

    /// The body of a draft that can be paid at once.
    pub async fn body(&self, method: &str, total: &str) -> Value {
        self.body_of(&self.site.offerings[0], method, total).await
    }

    async fn body_of(&self, offering: &str, method: &str, total: &str) -> Value {
        let now = self.chain_time().await;
        json!({ "offering_id": offering, "type": "dividend", "method": method, "total_amount": total,
            "record_date": now, "payment_date": now })
    }

    /// Performs an action on a distribution.
    pub async fn act(&self, key: &str, id: &str, verb: &str) -> Answer {
        self.server.post(&format!("/v1/distributions/{id}/{verb}"), key, json!({})).await
    }

    /// Performs an action on an entitlement.
    pub async fn decide(&self, key: &str, id: &str, entitlement: &str, verb: &str) -> Answer {
        let path = format!("/v1/distributions/{id}/entitlements/{entitlement}/{verb}");
        self.server.post(&path, key, json!({ "reason": "a test" })).await
    }

    /// Creates a distribution with its snapshot.
    pub async fn snapshotted(&self, method: &str, total: &str) -> String {
        self.snapshotted_of(&self.site.offerings[0], method, total).await
    }

    async fn snapshotted_of(&self, offering: &str, method: &str, total: &str) -> String {
        let body = self.body_of(offering, method, total).await;
        let key = format!("draft-{offering}-{method}-{total}");
        let drafted = self.server.post("/v1/distributions", &key, body).await;
        assert_eq!(drafted.status, 201, "{drafted:?}");
        let id = drafted.text("/id");
        let asked = self.act(&format!("snapshot-{id}"), &id, "snapshot").await;
        assert_eq!((asked.status, asked.text("/status")), (202, "snapshotting".to_owned()), "{asked:?}");
        self.reaches(&id, "snapshotted").await;
        id
    }

    /// Creates a distribution with calculated entitlements.
    pub async fn calculated(&self, method: &str, total: &str) -> String {
        self.calculated_of(&self.site.offerings[0], method, total).await
    }

    /// Creates a calculated distribution of any offering.
    pub async fn calculated_of(&self, offering: &str, method: &str, total: &str) -> String {
        let id = self.snapshotted_of(offering, method, total).await;
        let done = self.act(&format!("calculate-{id}"), &id, "calculate").await;
        assert_eq!((done.status, done.text("/status")), (200, "calculated".to_owned()), "{done:?}");
        id
    }

    /// Submits the distribution, with an approver where one is needed.
    pub async fn submitted(&self, id: &str) {
        let submitted = self.act(&format!("submit-{id}"), id, "submit").await;
        if submitted.status == 202 {
            self.approve(&submitted).await;
        } else {
            assert_eq!((submitted.status, submitted.text("/status")), (200, "approved".to_owned()), "{submitted:?}");
        }
    }

    /// Submits and executes the distribution.
    pub async fn executed(&self, id: &str) -> Answer {
        self.submitted(id).await;
        let executed = self.act(&format!("execute-{id}"), id, "execute").await;
        assert_eq!((executed.status, executed.text("/status")), (202, "executing".to_owned()), "{executed:?}");
        executed
    }

    /// Approves the request as the colleague.
    pub async fn approve(&self, asked: &Answer) -> Answer {
        self.server.approve(&self.colleague, asked).await
    }

    /// Reads the distribution.
    pub async fn shown(&self, id: &str) -> Answer {
        self.server.get(&format!("/v1/distributions/{id}")).await
    }

    /// Waits until a distribution has a status.
    pub async fn reaches(&self, id: &str, status: &str) {
        let what = format!("{id} is {status}");
        self.site.until(&what, async || self.shown(id).await.text("/status") == status).await;
    }

    /// The entitlements: id, wallet, cents, status, hold reason.
    pub async fn parts(&self, id: &str) -> Vec<(String, Address, u64, String, String)> {
        let sql = format!(
            "select id, wallet_address, cast(net as text), status, hold_reason from entitlements where distribution_id = '{id}' \
             order by wallet_address"
        );
        let part = |row: Vec<String>| {
            let [id, wallet, net, status, reason] = row.try_into().unwrap();
            (id, wallet.parse().unwrap(), net.parse().unwrap(), status, reason)
        };
        self.site.rows(&sql).await.into_iter().map(part).collect()
    }

    /// Checks that each holder has exactly the coin marked as paid, with one receipt, and that the entitlements sum to the total.
    pub async fn sums_agree(&self) -> usize {
        let paid = "select payee_address, cast(sum(cast(units as bigint)) as text) from payout_receipts group by payee_address";
        for row in self.site.rows(paid).await {
            let [payee, units] = row.try_into().unwrap();
            let cents: u64 = units.parse::<u64>().unwrap() / UNITS_OF_A_CENT;
            assert_eq!(self.cents(payee.parse().unwrap()).await, cents, "{payee}");
        }
        let unpaid = "select distinct wallet_address from entitlements e where not exists (select 1 from payout_receipts r where \
                      r.payee_address = e.payee_address)";
        for row in self.site.rows(unpaid).await {
            assert_eq!(self.cents(row[0].parse().unwrap()).await, 0, "{} has money without a receipt", row[0]);
        }
        let receipts = self.site.count("payout_receipts").await;
        assert_eq!(self.site.count("entitlements where status = 'paid'").await, receipts);
        assert_eq!(self.site.count("events where type = 'distribution.entitlement_paid'").await, receipts);
        let wrong = "distributions d where d.entitlements_root is not null and d.total_amount <> (select sum(gross) from entitlements e \
                     where e.distribution_id = d.id)";
        assert_eq!(self.site.count(wrong).await, 0, "parts that are not the whole");
        usize::try_from(receipts).unwrap()
    }
}
