//! Reads entitlements: payable ones, pages and totals.

use std::collections::BTreeMap;

use alloy_primitives::Address;
use serde::Serialize;

use super::{Entitlement, HoldReason, Status};
use crate::Result;
use crate::column::Hex;
use crate::db::Tx;
use crate::id::{DistributionId, EntitlementId, InvestorId, OperationId, UserId};
use crate::rows::portions;
use crate::sql::{Sql, sql};

/// The entitlements of a distribution that can be paid, in the order of wallets.
pub async fn payable(tx: &mut Tx, distribution_id: &DistributionId) -> Result<Vec<Entitlement>> {
    sql("select * from entitlements where distribution_id = $1 and status = 'calculated' order by wallet_address")
        .bind(distribution_id)
        .rows(tx)
        .await
}

/// The entitlements of a distribution that are neither paid nor excluded, in the order of wallets.
pub async fn unpaid(tx: &mut Tx, distribution_id: &DistributionId) -> Result<Vec<Entitlement>> {
    sql("select * from entitlements
         where distribution_id = $1 and status in :unpaid order by wallet_address")
    .words(":unpaid", &Status::UNPAID)
    .bind(distribution_id)
    .rows(tx)
    .await
}

/// The entitlements of an investor in a distribution that can be paid now.
pub async fn calculated_of(
    tx: &mut Tx,
    distribution_id: &DistributionId,
    investor_id: &InvestorId,
) -> Result<Vec<Entitlement>> {
    sql("select * from entitlements
         where distribution_id = $1 and investor_id = $2 and status = 'calculated'
         order by wallet_address")
    .bind((distribution_id, investor_id))
    .rows(tx)
    .await
}

/// The entitlements of an investor in a distribution that are in an operation.
pub async fn queued_of(
    tx: &mut Tx,
    distribution_id: &DistributionId,
    investor_id: &InvestorId,
) -> Result<Vec<Entitlement>> {
    sql("select * from entitlements where distribution_id = $1 and investor_id = $2 and status = 'queued'
         order by wallet_address")
    .bind((distribution_id, investor_id))
    .rows(tx)
    .await
}

/// The entitlements of an operation, in the order of its lines.
pub async fn of_operation(tx: &mut Tx, operation_id: &OperationId) -> Result<Vec<Entitlement>> {
    sql("select * from entitlements where operation_id = $1 order by line_index").bind(operation_id).rows(tx).await
}

/// The entitlements whose money the distributor contract withholds.
pub async fn withheld(tx: &mut Tx, distribution_id: &DistributionId) -> Result<Vec<Entitlement>> {
    sql("select * from entitlements
         where distribution_id = $1 and status = 'held' and hold_reason in :withheld
         order by wallet_address")
    .words(":withheld", &HoldReason::WITHHELD)
    .bind(distribution_id)
    .rows(tx)
    .await
}

/// Unpaid entitlements of a payee on a chain, in all distributions.
pub async fn unpaid_to(tx: &mut Tx, chain_id: i64, payee: Address) -> Result<Vec<Entitlement>> {
    sql("select e.* from entitlements e join distributions d on d.id = e.distribution_id
         where d.chain_id = $1 and e.payee_address = $2 and e.status in :unpaid
             and d.status <> 'cancelled'
         order by e.id")
    .words(":unpaid", &Status::UNPAID)
    .bind((chain_id, Hex(payee)))
    .rows(tx)
    .await
}

/// Whether an entitlement of the distribution is in an unfinished operation.
pub async fn any_queued(tx: &mut Tx, distribution_id: &DistributionId) -> Result<bool> {
    sql("select exists (select 1 from entitlements where distribution_id = $1 and status = 'queued')")
        .bind(distribution_id)
        .scalar(tx)
        .await
}

/// An entitlement with its investor, for a list.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Listed {
    #[sqlx(flatten)]
    pub entitlement: Entitlement,
    pub legal_name: Option<String>,
    pub country: Option<String>,
}

/// The filter of a list. Empty and none mean no restriction.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub id: Option<EntitlementId>,
    pub statuses: Vec<Status>,
}

/// A page of a distribution's entitlements in the order of wallets, and their number.
pub async fn list(
    tx: &mut Tx,
    distribution_id: &DistributionId,
    filter: &Filter,
    limit: i64,
    offset: i64,
) -> Result<(Vec<Listed>, i64)> {
    let of = |select: Sql| {
        select
            .with(" where e.distribution_id = ", distribution_id)
            .with_some(" and e.id = ", filter.id.as_ref())
            .one_of("e.status", &filter.statuses)
    };
    let rows = of(sql("select e.*, i.legal_name, i.country
         from entitlements e left join investors i on i.id = e.investor_id"))
    .push(" order by e.wallet_address")
    .page(limit, offset)
    .rows(tx)
    .await?;
    let total = of(sql("select count(*) from entitlements e")).scalar(tx).await?;
    Ok((rows, total))
}

/// The entitlements of one user in a distribution.
pub async fn of_user(tx: &mut Tx, distribution_id: &DistributionId, user_id: &UserId) -> Result<Vec<Entitlement>> {
    sql("select e.* from entitlements e join investors i on i.id = e.investor_id
         where e.distribution_id = $1 and i.user_id = $2 order by e.wallet_address")
    .bind((distribution_id, user_id))
    .rows(tx)
    .await
}

/// An entitlement with its receipt, for a report.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Reported {
    #[sqlx(flatten)]
    pub entitlement: Entitlement,
    pub legal_name: Option<String>,
    pub paid_to: Option<Hex<Address>>,
    pub units: Option<String>,
}

/// All entitlements of a distribution with their receipts, in the order of wallets.
pub async fn report(tx: &mut Tx, distribution_id: &DistributionId) -> Result<Vec<Reported>> {
    sql("select e.*, i.legal_name, r.payee_address as paid_to, r.units
         from entitlements e left join investors i on i.id = e.investor_id
             left join payout_receipts r on r.entitlement_id = e.id
         where e.distribution_id = $1 order by e.wallet_address")
    .bind(distribution_id)
    .rows(tx)
    .await
}

/// The totals of a distribution, in cents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Totals {
    pub count: i64,
    pub gross: i64,
    pub withholding: i64,
    pub net: i64,
    pub paid: i64,
    pub held: i64,
    pub excluded: i64,
    pub failed: i64,
    /// Net amount that is calculated or queued.
    pub open: i64,
    /// Number of entitlements that are neither paid nor excluded.
    pub left: i64,
}

/// The totals of a distribution.
pub async fn totals(tx: &mut Tx, distribution_id: &DistributionId) -> Result<Totals> {
    Ok(totals_of(tx, &[distribution_id]).await?.remove(distribution_id).unwrap_or_default())
}

/// The totals of several distributions by id. Distributions without entitlements are left out.
pub async fn totals_of(tx: &mut Tx, distribution_ids: &[&DistributionId]) -> Result<BTreeMap<DistributionId, Totals>> {
    let mut all = BTreeMap::<DistributionId, Totals>::new();
    for portion in portions(tx, distribution_ids) {
        let sums = sql("select distribution_id, status, count(*), cast(sum(gross) as bigint),
                cast(sum(withholding) as bigint), cast(sum(net) as bigint)
             from entitlements where distribution_id in (")
        .list(portion)
        .push(") group by distribution_id, status")
        .rows::<(DistributionId, Status, i64, i64, i64, i64)>(tx)
        .await?;
        for (id, status, count, gross, withholding, net) in sums {
            all.entry(id).or_default().add(status, [count, gross, withholding, net]);
        }
    }
    Ok(all)
}

impl Totals {
    /// Adds the totals of another distribution.
    pub fn add_all(&mut self, more: &Self) {
        self.count += more.count;
        self.gross += more.gross;
        self.withholding += more.withholding;
        self.net += more.net;
        self.paid += more.paid;
        self.held += more.held;
        self.excluded += more.excluded;
        self.failed += more.failed;
        self.open += more.open;
        self.left += more.left;
    }

    /// Adds the entitlements of one status.
    fn add(&mut self, status: Status, [count, gross, withholding, net]: [i64; 4]) {
        self.count += count;
        self.gross += gross;
        self.withholding += withholding;
        self.net += net;
        match status {
            Status::Paid => self.paid += net,
            Status::Held => self.held += net,
            Status::Excluded => self.excluded += net,
            Status::Failed => self.failed += net,
            Status::Calculated | Status::Queued => self.open += net,
        }
        if !matches!(status, Status::Paid | Status::Excluded) {
            self.left += count;
        }
    }
}
