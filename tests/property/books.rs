//! The two books: what the chain says and what the database says, compared line by line.

use std::collections::BTreeMap;

use alloy::primitives::{Address, U256, hex};
use alloy::sol;
use alloy::sol_types::SolCall;
use muniment_domain::{holding, offering};
use serde_json::json;

use crate::life::{Life, Lived};
use crate::payday;
use crate::stage::{self, HOLDERS, PARTITION};

sol! {
    function balanceOf(address account, uint256 id) returns (uint256);
    function lockedBalanceOf(address account, uint256 id) returns (uint256);
    function totalSupply(uint256 id) returns (uint256);
    function isFrozen(address account) returns (uint256);
    function isRestricted(uint256 id) returns (uint256);
}

/// Refuses a life that ends with two truths.
pub async fn compare(life: &Life) -> Lived {
    // A lock that is due since the newest block is over for us; for the chain it is with the next one.
    life.stage.chain.handle(json!({ "jsonrpc": "2.0", "id": 1, "method": "evm_mine", "params": [] }));
    for id in &life.stage.offerings {
        let mut tx = life.stage.db.read().await.map_err(|e| e.to_string())?;
        let offered = offering::find(&mut tx, &id.as_str().into()).await.map_err(|e| e.to_string())?;
        let holdings = holding::of_offering(&mut tx, &id.as_str().into()).await.map_err(|e| e.to_string())?;
        let frozen = holding::frozen(&mut tx, &id.as_str().into()).await.map_err(|e| e.to_string())?;
        let restricted =
            holding::is_restricted(&mut tx, &id.as_str().into(), PARTITION).await.map_err(|e| e.to_string())?;
        drop(tx);
        let Some(token) = offered.token_address.map(|a| a.0) else { continue };
        let mut ours: BTreeMap<Address, (u128, u128)> = BTreeMap::new();
        for held in holdings.iter().filter(|h| h.balance.0 > 0) {
            ours.insert(held.wallet_address.0, (held.balance.0, held.locked.0));
        }
        let theirs: BTreeMap<Address, (u128, u128)> = (0..2 * HOLDERS)
            .map(stage::holder)
            .map(|wallet| (wallet, (balance(life, token, wallet), locked(life, token, wallet))))
            .filter(|(_, (balance, _))| *balance > 0)
            .collect();
        same(&format!("balances and locks of {id}"), &ours, &theirs)?;
        let theirs = (0..2 * HOLDERS).map(stage::holder).filter(|w| flag(life, token, &isFrozenCall { account: *w }));
        same(&format!("the frozen of {id}"), &frozen, &theirs.collect())?;
        let theirs = flag(life, token, &isRestrictedCall { id: U256::from(PARTITION) });
        same(&format!("the restriction of {id}"), &restricted, &theirs)?;
        let supply = view(life, token, &totalSupplyCall { id: U256::from(PARTITION) });
        same(&format!("the supply of {id}"), &ours.values().map(|(b, _)| b).sum::<u128>(), &supply.to())?;
    }
    minted_once(life).await?;
    payday::compare(life).await
}

/// Every subscription that is minted was minted by exactly one confirmed operation, and the sums are the supply's.
async fn minted_once(life: &Life) -> Lived {
    let twice = "select i.subject_id from operation_items i join operations o on o.id = i.operation_id \
                 where o.status = 'confirmed' and o.kind = 'mint' group by i.subject_id having count(*) > 1";
    same("subscriptions minted twice", &life.ids(twice).await, &Vec::new())?;
    let apart = "select o.id from offerings o where o.committed_total <> (select cast(coalesce(sum(s.amount), 0) as bigint) \
                 from subscriptions s where s.offering_id = o.id \
                 and s.status in ('committed', 'pending_reconfirmation', 'binding', 'accepted', 'minted'))";
    same("offerings that reserved something else", &life.ids(apart).await, &Vec::new())
}

pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, ours: &T, theirs: &T) -> Lived {
    if ours == theirs { Ok(()) } else { Err(format!("{what}: the database says {ours:?}, the chain {theirs:?}")) }
}

fn balance(life: &Life, token: Address, account: Address) -> u128 {
    view(life, token, &balanceOfCall { account, id: U256::from(PARTITION) }).to()
}

fn locked(life: &Life, token: Address, account: Address) -> u128 {
    view(life, token, &lockedBalanceOfCall { account, id: U256::from(PARTITION) }).to()
}

fn flag(life: &Life, token: Address, call: &impl SolCall<Return = U256>) -> bool {
    !view(life, token, call).is_zero()
}

pub fn view(life: &Life, to: Address, call: &impl SolCall<Return = U256>) -> U256 {
    let call = json!([{ "to": to, "data": hex::encode_prefixed(call.abi_encode()) }, "latest"]);
    let answer = life.stage.chain.handle(json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": call }));
    U256::from_be_slice(&hex::decode(answer["result"].as_str().unwrap()).unwrap())
}
