//! The balances that events change: units of a holder, the supply of a partition, and coins of an account.
use alloy::{
    primitives::{Address, U256},
    sol_types::{SolCall, SolEvent},
};

use crate::{
    chain::{receipt::Log, simulate::Call},
    contract::{
        bindings::{
            coin::DemoCoin::{Transfer, balanceOfCall as coinsOfCall},
            token::PlatformSecurityToken7518::{TransferBatch, TransferSingle, balanceOfCall, totalSupply_1Call},
        },
        operation::read,
    },
};

/// A balance at a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Balance {
    /// Units of a partition of a token, of a holder.
    Units {
        /// The token.
        token: Address,
        /// The partition.
        partition: U256,
        /// The holder.
        holder: Address,
    },
    /// All units of a partition of a token.
    Supply {
        /// The token.
        token: Address,
        /// The partition.
        partition: U256,
    },
    /// Coins of an account.
    Coins {
        /// The coin.
        coin: Address,
        /// The account.
        account: Address,
    },
}

impl Balance {
    /// The contract that keeps it.
    pub const fn contract(self) -> Address {
        match self {
            Self::Units { token, .. } | Self::Supply { token, .. } => token,
            Self::Coins { coin, .. } => coin,
        }
    }

    /// The account whose balance it is; none for a supply.
    pub const fn account(self) -> Option<Address> {
        match self {
            Self::Units { holder, .. } => Some(holder),
            Self::Supply { .. } => None,
            Self::Coins { account, .. } => Some(account),
        }
    }

    /// The call that reads it.
    pub fn read(self) -> Call {
        match self {
            Self::Units { token, partition: id, holder: account } => read(token, &balanceOfCall { account, id }),
            Self::Supply { token, partition } => read(token, &totalSupply_1Call { partition }),
            Self::Coins { coin, account } => read(coin, &coinsOfCall { account }),
        }
    }

    /// Decodes what [`Balance::read`] returned.
    pub fn decode(self, data: &[u8]) -> Option<U256> {
        match self {
            Self::Units { .. } => balanceOfCall::abi_decode_returns_validate(data).ok(),
            Self::Supply { .. } => totalSupply_1Call::abi_decode_returns_validate(data).ok(),
            Self::Coins { .. } => coinsOfCall::abi_decode_returns_validate(data).ok(),
        }
    }
}

/// The balances that an event changes, in the order sender, recipient, supply. The zero address holds nothing.
pub fn changed(log: &Log) -> Vec<Balance> {
    let units = |from, to, partition| {
        let (token, holders) = (log.address, [from, to].into_iter().filter(|holder: &Address| !holder.is_zero()));
        let held = holders.map(move |holder| Balance::Units { token, partition, holder });
        held.chain([Balance::Supply { token, partition }]).collect::<Vec<_>>()
    };
    match log.topics.first() {
        Some(&TransferSingle::SIGNATURE_HASH) => decoded::<TransferSingle>(log).map(|e| units(e.from, e.to, e.id)),
        Some(&TransferBatch::SIGNATURE_HASH) => decoded::<TransferBatch>(log)
            .map(|e| e.ids.iter().flat_map(|partition| units(e.from, e.to, *partition)).collect()),
        Some(&Transfer::SIGNATURE_HASH) => decoded::<Transfer>(log).map(|e| {
            let accounts = [e.from, e.to].into_iter().filter(|account| !account.is_zero());
            accounts.map(|account| Balance::Coins { coin: log.address, account }).collect()
        }),
        _ => None,
    }
    .unwrap_or_default()
}

fn decoded<E: SolEvent>(log: &Log) -> Option<E> {
    E::decode_raw_log_validate(&log.topics, &log.data).ok()
}
