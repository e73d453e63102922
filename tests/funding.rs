//! A payout is accepted only if its payer has enough coin, allowance and gas on the chain; a refusal changes nothing.

use std::sync::OnceLock;

use alloy::primitives::{Address, B256, U256, keccak256};
use serde_json::json;
use world::{Fault, FaultProxy, KEYS, Rule, on_both_databases};

use crate::installation::{PayoutFixture, UNITS_OF_A_CENT, signer_of};

/// Storage slots of balances and allowances in the coin.
const BALANCES: u8 = 0;
const ALLOWANCES: u8 = 1;

fn mapping_slot(slot: B256, key: Address) -> B256 {
    keccak256([key.into_word().0, slot.0].concat())
}

/// Changes the payer's storage in the coin without a transaction of the payer's key.
async fn set_storage(fixture: &PayoutFixture, slot: B256, units: U256) {
    let rpc = fixture.site.anvil.rpc();
    rpc.call("anvil_setStorageAt", json!([fixture.site.platform.coin, slot, B256::from(units)])).await;
}

fn payer() -> Address {
    signer_of(KEYS[1])
}

/// Sets the coin balance of the payer.
pub async fn set_coin(fixture: &PayoutFixture, cents: u64) {
    let slot = mapping_slot(B256::with_last_byte(BALANCES), payer());
    set_storage(fixture, slot, U256::from(cents * UNITS_OF_A_CENT)).await;
}

async fn set_allowance(fixture: &PayoutFixture, spender: Address, units: U256) {
    let slot = mapping_slot(mapping_slot(B256::with_last_byte(ALLOWANCES), payer()), spender);
    set_storage(fixture, slot, units).await;
}

async fn set_ether(fixture: &PayoutFixture, wei: u64) {
    fixture.site.anvil.set_balance(&payer().to_string(), wei).await;
}

/// Everything that an execution would change.
async fn state(fixture: &PayoutFixture, id: &str) -> Vec<Vec<String>> {
    let sql = format!(
        "select status, cast(version as text), cast((select count(*) from operations) as text), \
         cast((select count(*) from entitlements where status = 'calculated') as text), \
         cast((select count(*) from events where type like 'distribution.%') as text) from distributions where id = '{id}'"
    );
    fixture.site.rows(&sql).await
}

on_both_databases! {
    async fn a_payer_without_coin_allowance_or_gas_is_refused_until_funded(database: Database) {
        let fixture = PayoutFixture::new(database, 3).await;
        let (plenty, ether) = (1_000_000, 10_000_000_000_000_000_000);
        for (method, spender) in [("direct_payout", fixture.token), ("distributor", fixture.site.platform.distributor)] {
            // The first operation sets the allowance, so no allowance is needed before it.
            let first = fixture.calculated(method, "3.00").await;
            fixture.executed(&first).await;
            fixture.reaches(&first, "completed").await;
            let id = fixture.calculated(method, "30.00").await;
            assert_eq!(fixture.act(&format!("submit-{id}"), &id, "submit").await.status, 200);
            let (key, before) = (format!("execute-{id}"), state(&fixture, &id).await);
            let refused = async |what: &str, words: &[&str]| {
                let answer = fixture.act(&key, &id, "execute").await;
                assert_eq!(answer.problem(), (409, "payer_unfunded".to_owned()), "{what}: {answer:?}");
                for word in words {
                    assert!(answer.text("/detail").contains(word), "{what}: {word}: {answer:?}");
                }
                assert_eq!(answer.body["retryable"], true);
                assert_eq!(state(&fixture, &id).await, before, "{what} changed the state");
            };
            set_coin(&fixture, 2_999).await;
            refused("coin", &["has 29.990000", "of the 30.000000", "0.010000"]).await;
            set_allowance(&fixture, spender, U256::from(1_000 * UNITS_OF_A_CENT)).await;
            refused("coin and allowance", &["has 29.990000", "pull 10.000000", "20.000000", &spender.to_checksum(None)]).await;
            set_coin(&fixture, plenty).await;
            refused("allowance", &["pull 10.000000"]).await;
            set_allowance(&fixture, spender, U256::MAX).await;
            set_ether(&fixture, 1_000).await;
            refused("gas", &["has 0.000000000000001000 for gas"]).await;
            set_ether(&fixture, ether).await;
            let executed = fixture.act(&key, &id, "execute").await;
            assert_eq!((executed.status, executed.text("/status")), (202, "executing".to_owned()), "{executed:?}");
            fixture.reaches(&id, "completed").await;
            // A repeated request gets the stored response, whatever the payer has now.
            set_coin(&fixture, 0).await;
            let again = fixture.act(&key, &id, "execute").await;
            assert_eq!((again.status, again.headers.contains_key("idempotent-replayed")), (202, true), "{again:?}");
            set_coin(&fixture, plenty).await;
        }
        assert_eq!(fixture.sums_agree().await, 12);
    }

    async fn nothing_is_executed_while_the_chain_does_not_answer(database: Database) {
        let proxy = OnceLock::new();
        let fixture = PayoutFixture::with(database, 2, |site| {
            site.config.node(proxy.get_or_init(|| FaultProxy::start(site.anvil.url(), 7)).url());
        })
        .await;
        let (proxy, id) = (proxy.get().unwrap(), fixture.calculated("direct_payout", "20.00").await);
        assert_eq!(fixture.act("submit", &id, "submit").await.status, 200);
        let before = state(&fixture, &id).await;
        let silence = proxy.add(Rule::new(Fault::DropRequest).on(&["eth_call"]));
        let silent = fixture.act("execute", &id, "execute").await;
        assert_eq!(silent.problem(), (503, "chain_unavailable".to_owned()), "{silent:?}");
        assert!(silent.headers.contains_key("retry-after") && proxy.hits(silence) > 0);
        assert_eq!(state(&fixture, &id).await, before);
        proxy.heal();
        assert_eq!(fixture.act("execute", &id, "execute").await.status, 202);
        fixture.reaches(&id, "completed").await;
        assert_eq!(fixture.sums_agree().await, 2);
    }
}
