//! The money that a call moves, decoded from its calldata. The policy gate counts it against the daily limit.
use alloy::{
    primitives::{Address, U256},
    sol,
    sol_types::{Error, SolCall},
};

use crate::contract::line;

sol! {
    function payout(uint256 opId, address asset, address to, uint256 amount) external returns (bool);
    function batchPayout(uint256 opId, address asset, bytes32[] calldata lines) external returns (bool);
    function createDistribution(bytes32 id, address token, address asset, uint256 total, uint256 count, bytes32 commitment, bytes32 auditHash) external;
    function approve(address spender, uint256 amount) external returns (bool);
}

/// The asset and the units that leave the signer with this call; none for a call that moves no money.
///
/// `createDistribution` counts with its full total, which it pulls into escrow. Its pages move escrow only and count nothing.
pub fn money_moved(data: &[u8]) -> Result<Option<(Address, U256)>, Error> {
    let (asset, amount) = match data.first_chunk::<4>() {
        Some(&payoutCall::SELECTOR) => {
            let call = payoutCall::abi_decode_validate(data)?;
            (call.asset, call.amount)
        }
        Some(&createDistributionCall::SELECTOR) => {
            let call = createDistributionCall::abi_decode_validate(data)?;
            (call.asset, call.total)
        }
        Some(&batchPayoutCall::SELECTOR) => {
            let call = batchPayoutCall::abi_decode_validate(data)?;
            (call.asset, call.lines.iter().map(|word| line::units(*word)).fold(U256::ZERO, U256::saturating_add))
        }
        _ => return Ok(None),
    };
    Ok(Some((asset, amount)))
}

/// The units that leave the signer with this call, of any asset.
pub fn amount(data: &[u8]) -> Result<U256, Error> {
    Ok(money_moved(data)?.map_or(U256::ZERO, |(_, amount)| amount))
}

/// The spender of an `approve` call.
pub fn spender(data: &[u8]) -> Option<Address> {
    approveCall::abi_decode_validate(data).ok().map(|call| call.spender)
}
