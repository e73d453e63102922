//! Writing the entitlements of a distribution, all of them at once.

use alloy_primitives::Address;

use super::{HoldReason, Status};
use crate::Result;
use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::distribution::Distribution;
use crate::on;

const ROWS_PER_STATEMENT: usize = 500;

/// What a holder is to get, as it was calculated.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct New {
    pub investor_id: Option<String>,
    pub wallet: Address,
    pub payee: Address,
    pub balance: u128,
    pub gross: i64,
    pub rate_basis_points: i64,
    pub withholding: i64,
    pub hold_reason: Option<HoldReason>,
}

impl New {
    /// What is left to be paid.
    pub const fn net(&self) -> i64 {
        self.gross - self.withholding
    }
}

/// Stores them.
pub async fn insert_all(tx: &mut Tx, d: &Distribution, all: &[New]) -> Result<()> {
    let now = tx.now();
    for chunk in all.chunks(ROWS_PER_STATEMENT) {
        let rows: Vec<(String, &New)> = chunk.iter().map(|n| (tx.new_id("ent"), n)).collect();
        on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(
                "insert into entitlements (id, distribution_id, offering_id, investor_id, wallet_address, payee_address, \
                 balance_at_record, gross, withholding_rate_basis_points, withholding, net, status, hold_reason, version, created_at, \
                 updated_at) ");
            query.push_values(&rows, |mut row, (id, n)| {
                let status = if n.hold_reason.is_some() { Status::Held } else { Status::Calculated };
                row.push_bind(id).push_bind(&d.id).push_bind(&d.offering_id).push_bind(&n.investor_id).push_bind(Hex(n.wallet))
                    .push_bind(Hex(n.payee)).push_bind(Dec(n.balance)).push_bind(n.gross).push_bind(n.rate_basis_points)
                    .push_bind(n.withholding).push_bind(n.net()).push_bind(status).push_bind(n.hold_reason).push_bind(1i64)
                    .push_bind(now).push_bind(now);
            });
            query.build().execute(conn).await?.rows_affected()
        });
    }
    Ok(())
}
