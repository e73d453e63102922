//! The database's payouts of an offering up to one final block.

use alloy_primitives::{Address, B256, U256};

use crate::Result;
use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::id::{DistributionId, EntitlementId, OfferingId, OperationId};
use crate::operation::Status;
use crate::sql::sql;
use crate::step::Outcome;

/// A payment with a receipt.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Payment {
    pub distribution_id: DistributionId,
    pub entitlement_id: EntitlementId,
    pub tx_hash: Hex<B256>,
    pub payout_token: Hex<Address>,
    pub payee_address: Hex<Address>,
    pub units: Dec<U256>,
    /// The contract that paid it; none for a payment from the payer.
    pub distributor: Option<Hex<Address>>,
    /// Whether it was withheld first. A transaction can claim for others as well.
    pub claimed: bool,
}

/// All receipts of an offering's distributions, by transaction.
pub async fn payments(tx: &mut Tx, offering_id: &OfferingId, block_number: i64) -> Result<Vec<Payment>> {
    sql("select r.distribution_id, r.entitlement_id, r.tx_hash, r.payout_token, r.payee_address, r.units, p.distributor,
             coalesce(p.name <> 'payoutForDistribution', false) as claimed
         from payout_receipts r join distributions d on d.id = r.distribution_id
         left join (
             select s.operation_id, min(s.target) as distributor, min(s.name) as name
             from operations o join operation_steps s on s.operation_id = o.id
             where o.offering_id = $1 and o.kind = 'distributor_payout'
                 and s.name in ('payoutForDistribution', 'claimWithheld', 'batchClaimWithheld')
             group by s.operation_id
         ) p on p.operation_id = r.operation_id
         where d.offering_id = $1 and r.block_number <= $2
         order by r.distribution_id, r.tx_hash, r.entitlement_id")
    .bind((offering_id, block_number))
    .rows(tx)
    .await
}

/// A step on the distributor contract, as the database knows it.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct DistributorStep {
    pub operation_id: OperationId,
    pub target: Hex<Address>,
    pub calldata: Vec<u8>,
    pub outcome: Option<Outcome>,
    pub block_number: Option<i64>,
    pub status: Status,
}

/// The steps that declare lists of an offering and pay their pages.
pub async fn declared(tx: &mut Tx, offering_id: &OfferingId) -> Result<Vec<DistributorStep>> {
    sql("select s.operation_id, s.target, s.calldata, s.outcome, s.block_number, o.status
         from operations o join operation_steps s on s.operation_id = o.id
         where o.offering_id = $1 and o.kind = 'distributor_payout'
             and s.name in ('createDistribution', 'payoutForDistribution')
         order by s.operation_id, s.position")
    .bind(offering_id)
    .rows(tx)
    .await
}
