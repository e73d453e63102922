//! Stores all entitlements of a distribution.

use alloy_primitives::Address;

use super::{HoldReason, Status};
use crate::Result;
use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::distribution::Distribution;
use crate::id::{EntitlementId, InvestorId};
use crate::sql::sql;

const ROWS_PER_STATEMENT: usize = 500;

/// A calculated entitlement.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct New {
    pub investor_id: Option<InvestorId>,
    pub wallet: Address,
    pub payee: Address,
    pub balance: u128,
    pub gross: i64,
    pub rate_basis_points: i64,
    pub withholding: i64,
    pub hold_reason: Option<HoldReason>,
}

impl New {
    /// The net amount.
    pub const fn net(&self) -> i64 {
        self.gross - self.withholding
    }
}

/// Stores the entitlements.
pub async fn insert_all(tx: &mut Tx, d: &Distribution, all: &[New]) -> Result<()> {
    let now = tx.now();
    for chunk in all.chunks(ROWS_PER_STATEMENT) {
        let rows: Vec<(EntitlementId, &New)> = chunk.iter().map(|n| (tx.new_id(), n)).collect();
        sql("insert into entitlements (id, distribution_id, offering_id, investor_id, wallet_address, payee_address,
                balance_at_record, gross, withholding_rate_basis_points, withholding, net, status, hold_reason, version,
                created_at, updated_at)")
        .values(&rows, |(id, n)| {
            let status = if n.hold_reason.is_some() { Status::Held } else { Status::Calculated };
            (
                id,
                &d.id,
                &d.offering_id,
                &n.investor_id,
                Hex(n.wallet),
                Hex(n.payee),
                Dec(n.balance),
                n.gross,
                n.rate_basis_points,
                n.withholding,
                n.net(),
                status,
                n.hold_reason,
                1,
                now,
                now,
            )
        })
        .execute(tx)
        .await?;
    }
    Ok(())
}
