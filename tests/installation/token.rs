//! The contracts on the chain, read by plain calls and logs past the platform's code.

use alloy::primitives::{Address, B256, Bytes, U256, hex, keccak256};
use alloy::sol;
use alloy::sol_types::{SolCall, SolEvent};
use serde_json::{Value, json};
use world::Rpc;

use super::Installation;

sol! {
    event TokenDeployed(bytes32 indexed offeringId, address indexed token, bytes32 payloadHash, bool created);
    event OperationExecuted(uint256 indexed opId, bytes32 indexed kind, bytes32 payloadHash);
    function balanceOf(address account, uint256 id) returns (uint256);
    function lockedBalanceOf(address account, uint256 id) returns (uint256);
    function tokenSymbol() returns (string);
    function isFrozen(address holder) returns (bool);
    function isRestricted(uint256 partition) returns (bool);
    function paused() returns (bool);
    function successorOf(address lost) returns (address);
    struct Tranche { uint256 units; uint256 releaseAt; }
    function tranchesOf(address holder, uint256 partition) returns (Tranche[] memory);
}

/// A token in the factory's events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub address: Address,
    /// Whether this call created it.
    pub created: bool,
    /// The transaction of the event.
    pub tx_hash: String,
}

/// An operation in a token's events.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Executed {
    pub token: String,
    pub number: String,
    pub tx_hash: String,
}

impl Installation {
    /// Returns the factory's events about an offering's token: the first call created it, a repeated call found it.
    pub async fn tokens_of(&self, offering_id: &str) -> Vec<Token> {
        let topics = json!([TokenDeployed::SIGNATURE_HASH, keccak256(offering_id)]);
        let logs = logs(&self.anvil.rpc(), self.platform.factory, topics).await;
        let told = logs.iter().map(|log| {
            let event = decoded::<TokenDeployed>(log);
            Token { address: event.token, created: event.created, tx_hash: text(&log["transactionHash"]) }
        });
        told.collect()
    }

    /// Returns every operation that a token executed.
    pub async fn executed_by(&self, token: Address) -> Vec<Executed> {
        let logs = logs(&self.anvil.rpc(), token, json!([OperationExecuted::SIGNATURE_HASH])).await;
        let executed = logs.iter().map(|log| Executed {
            token: token.to_string().to_lowercase(),
            number: decoded::<OperationExecuted>(log).opId.to_string(),
            tx_hash: text(&log["transactionHash"]),
        });
        executed.collect()
    }

    /// Returns a holder's units.
    pub async fn balance_of(&self, token: Address, account: Address) -> U256 {
        self.view(token, &balanceOfCall { account, id: U256::from(1) }).await
    }

    /// Returns a holder's locked units.
    pub async fn locked_of(&self, token: Address, account: Address) -> U256 {
        self.locked_in(token, account, 1).await
    }

    /// Returns a holder's locked units in a partition.
    pub async fn locked_in(&self, token: Address, account: Address, partition: u64) -> U256 {
        self.view(token, &lockedBalanceOfCall { account, id: U256::from(partition) }).await
    }

    /// Whether an address is frozen.
    pub async fn is_frozen(&self, token: Address, holder: Address) -> bool {
        self.view(token, &isFrozenCall { holder }).await
    }

    /// Whether a partition is restricted.
    pub async fn is_restricted(&self, token: Address, partition: u64) -> bool {
        self.view(token, &isRestrictedCall { partition: U256::from(partition) }).await
    }

    /// Returns whether the token is paused.
    pub async fn is_paused(&self, token: Address) -> bool {
        self.view(token, &pausedCall {}).await
    }

    /// Returns the wallet that replaced a lost one.
    pub async fn successor_of(&self, token: Address, lost: Address) -> Address {
        self.view(token, &successorOfCall { lost }).await
    }

    /// Returns a holder's units in a partition.
    pub async fn balance_in(&self, token: Address, account: Address, partition: u64) -> U256 {
        self.view(token, &balanceOfCall { account, id: U256::from(partition) }).await
    }

    /// Returns a holder's locks in a partition: units, and the release time in seconds.
    pub async fn tranches_of(&self, token: Address, holder: Address, partition: u64) -> Vec<(U256, u64)> {
        let tranches = self.view(token, &tranchesOfCall { holder, partition: U256::from(partition) }).await;
        tranches.into_iter().map(|tranche| (tranche.units, tranche.releaseAt.to())).collect()
    }

    /// Returns the token's symbol.
    pub async fn symbol_of(&self, token: Address) -> String {
        self.view(token, &tokenSymbolCall {}).await
    }

    async fn view<C: SolCall>(&self, to: Address, call: &C) -> C::Return {
        let call = json!([{ "to": to, "data": hex::encode_prefixed(call.abi_encode()) }, "latest"]);
        let answer = self.anvil.rpc().call("eth_call", call).await;
        C::abi_decode_returns(&hex::decode(answer.as_str().unwrap()).unwrap()).unwrap()
    }
}

async fn logs(rpc: &Rpc, address: Address, topics: Value) -> Vec<Value> {
    let filter = json!([{ "address": address, "topics": topics, "fromBlock": "0x0", "toBlock": "latest" }]);
    rpc.call("eth_getLogs", filter).await.as_array().unwrap().clone()
}

fn decoded<E: SolEvent>(log: &Value) -> E {
    let topics = log["topics"].as_array().unwrap().iter().map(|topic| topic.as_str().unwrap().parse::<B256>().unwrap());
    E::decode_raw_log_validate(topics, &text(&log["data"]).parse::<Bytes>().unwrap()).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
