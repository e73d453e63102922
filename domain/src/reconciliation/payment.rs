//! What the database believes of the payouts of an offering up to one final block.

use alloy_primitives::{Address, B256, U256};

use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::operation::Status;
use crate::step::Outcome;
use crate::{Result, on};

/// A payment that has a receipt.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Payment {
    pub distribution_id: String,
    pub entitlement_id: String,
    pub tx_hash: Hex<B256>,
    pub payout_token: Hex<Address>,
    pub payee_address: Hex<Address>,
    pub units: Dec<U256>,
}

/// Every receipt of an offering's distributions, transaction by transaction.
pub async fn payments(tx: &mut Tx, offering_id: &str, block_number: i64) -> Result<Vec<Payment>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Payment>(
        "select r.distribution_id, r.entitlement_id, r.tx_hash, r.payout_token, r.payee_address, r.units from payout_receipts r \
         join distributions d on d.id = r.distribution_id where d.offering_id = $1 and r.block_number <= $2 \
         order by r.distribution_id, r.tx_hash, r.entitlement_id")
        .bind(offering_id).bind(block_number).fetch_all(conn).await?))
}

/// A step of the distributor, as the database knows it.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Declared {
    pub operation_id: String,
    pub target: Hex<Address>,
    pub calldata: Vec<u8>,
    pub outcome: Option<Outcome>,
    pub block_number: Option<i64>,
    pub status: Status,
}

/// The lists that were declared for an offering, and their pages.
pub async fn declared(tx: &mut Tx, offering_id: &str) -> Result<Vec<Declared>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Declared>(
        "select s.operation_id, s.target, s.calldata, s.outcome, s.block_number, o.status from operations o \
         join operation_steps s on s.operation_id = o.id where o.offering_id = $1 and o.kind = 'distributor_payout' \
         and s.name in ('createDistribution', 'payoutForDistribution') order by s.operation_id, s.position")
        .bind(offering_id).fetch_all(conn).await?))
}
