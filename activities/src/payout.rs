//! What money a call would move, read from its arguments. The gate counts it against the day's ceiling.
use alloy::{
    primitives::{Address, U256},
    sol,
    sol_types::{Error, SolCall},
};

use crate::line;

sol! {
    function payout(uint256 opId, address asset, address to, uint256 amount) external returns (bool);
    function batchPayout(uint256 opId, address asset, bytes32[] calldata lines) external returns (bool);
    function createDistribution(bytes32 id, address token, address asset, uint256 total, uint256 count, bytes32 commitment, bytes32 auditHash) external;
    function approve(address spender, uint256 amount) external returns (bool);
}

/// The units of the asset that leave the signer with this call; zero for a call that moves none.
///
/// A distribution leaves with `createDistribution`, which pulls the full sum; its pages move escrow only.
pub fn amount(data: &[u8]) -> Result<U256, Error> {
    match data.first_chunk::<4>() {
        Some(&payoutCall::SELECTOR) => payoutCall::abi_decode_validate(data).map(|call| call.amount),
        Some(&createDistributionCall::SELECTOR) => {
            createDistributionCall::abi_decode_validate(data).map(|call| call.total)
        }
        Some(&batchPayoutCall::SELECTOR) => {
            let call = batchPayoutCall::abi_decode_validate(data)?;
            Ok(call.lines.iter().map(|word| line::units(*word)).fold(U256::ZERO, U256::saturating_add))
        }
        _ => Ok(U256::ZERO),
    }
}

/// Who is given an allowance by an `approve`.
pub fn spender(data: &[u8]) -> Option<Address> {
    approveCall::abi_decode_validate(data).ok().map(|call| call.spender)
}
