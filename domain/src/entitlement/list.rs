//! Reading entitlements: those that can be paid, a page of them, their sums.

use std::collections::BTreeMap;

use alloy_primitives::Address;
use serde::Serialize;
use sqlx::QueryBuilder;

use super::{Entitlement, Status};
use crate::column::Hex;
use crate::db::Tx;
use crate::rows::portions;
use crate::{Result, narrow, on};

/// Everything of a distribution that nothing stands in the way of, in the order of the wallets.
pub async fn payable(tx: &mut Tx, distribution_id: &str) -> Result<Vec<Entitlement>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Entitlement>(
        "select * from entitlements where distribution_id = $1 and status = 'calculated' order by wallet_address")
        .bind(distribution_id).fetch_all(conn).await?))
}

/// Everything of a distribution that is neither paid nor excluded, in the order of the wallets.
pub async fn unpaid(tx: &mut Tx, distribution_id: &str) -> Result<Vec<Entitlement>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Entitlement>(
        "select * from entitlements where distribution_id = $1 and status not in ('paid', 'excluded') order by wallet_address")
        .bind(distribution_id).fetch_all(conn).await?))
}

/// What of a distribution an investor could be paid now.
pub async fn calculated_of(tx: &mut Tx, distribution_id: &str, investor_id: &str) -> Result<Vec<Entitlement>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Entitlement>(
        "select * from entitlements where distribution_id = $1 and investor_id = $2 and status = 'calculated' order by wallet_address")
        .bind(distribution_id).bind(investor_id).fetch_all(conn).await?))
}

/// The entitlements that an operation has, in the order of its lines.
pub async fn of_operation(tx: &mut Tx, operation_id: &str) -> Result<Vec<Entitlement>> {
    Ok(
        on!(tx, conn => sqlx::query_as::<_, Entitlement>("select * from entitlements where operation_id = $1 order by line_index")
        .bind(operation_id).fetch_all(conn).await?),
    )
}

/// What the distributor keeps for a payee.
pub async fn withheld_of(tx: &mut Tx, distribution_id: &str, payee: Address) -> Result<Vec<Entitlement>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Entitlement>(
        "select * from entitlements where distribution_id = $1 and payee_address = $2 and status = 'held' \
         and hold_reason in ('withheld_frozen', 'withheld_transfer_failed') order by wallet_address")
        .bind(distribution_id).bind(Hex(payee)).fetch_all(conn).await?))
}

/// What is still to be paid to a payee on a chain, whichever distribution it is of.
pub async fn unpaid_to(tx: &mut Tx, chain_id: i64, payee: Address) -> Result<Vec<Entitlement>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Entitlement>(
        "select e.* from entitlements e join distributions d on d.id = e.distribution_id where d.chain_id = $1 and e.payee_address = $2 \
         and e.status in ('calculated', 'held', 'queued', 'failed') and d.status <> 'cancelled' order by e.id")
        .bind(chain_id).bind(Hex(payee)).fetch_all(conn).await?))
}

/// Whether any entitlement of a distribution is in an operation that is not over.
pub async fn any_queued(tx: &mut Tx, distribution_id: &str) -> Result<bool> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, bool>(
        "select exists (select 1 from entitlements where distribution_id = $1 and status = 'queued')")
        .bind(distribution_id).fetch_one(conn).await?))
}

/// One line of a list: the entitlement with whom it is for.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Listed {
    #[sqlx(flatten)]
    pub entitlement: Entitlement,
    pub legal_name: Option<String>,
    pub country: Option<String>,
}

/// A page of a distribution's entitlements, in the order of the wallets, and how many there are.
pub async fn list(
    tx: &mut Tx,
    distribution_id: &str,
    statuses: &[Status],
    limit: i64,
    offset: i64,
) -> Result<(Vec<Listed>, i64)> {
    let words = || statuses.iter().map(|status| status.as_str());
    let rows = on!(tx, conn => {
        let mut query = QueryBuilder::new("select e.*, i.legal_name, i.country from entitlements e left join investors i \
            on i.id = e.investor_id where e.distribution_id = ");
        query.push_bind(distribution_id.to_owned());
        narrow::words(&mut query, "e.status", words());
        query.push(" order by e.wallet_address limit ").push_bind(limit).push(" offset ").push_bind(offset);
        query.build_query_as::<Listed>().fetch_all(conn).await?
    });
    let total = on!(tx, conn => {
        let mut query = QueryBuilder::new("select count(*) from entitlements e where e.distribution_id = ");
        query.push_bind(distribution_id.to_owned());
        narrow::words(&mut query, "e.status", words());
        query.build_query_scalar::<i64>().fetch_one(conn).await?
    });
    Ok((rows, total))
}

/// The entitlements of one person in a distribution, as that person may see them.
pub async fn of_user(tx: &mut Tx, distribution_id: &str, user_id: &str) -> Result<Vec<Entitlement>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Entitlement>(
        "select e.* from entitlements e join investors i on i.id = e.investor_id where e.distribution_id = $1 and i.user_id = $2 \
         order by e.wallet_address")
        .bind(distribution_id).bind(user_id).fetch_all(conn).await?))
}

/// One line of a report: the entitlement with its receipt.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Reported {
    #[sqlx(flatten)]
    pub entitlement: Entitlement,
    pub legal_name: Option<String>,
    pub paid_to: Option<String>,
    pub units: Option<String>,
}

/// Everything of a distribution with its receipts, in the order of the wallets.
pub async fn report(tx: &mut Tx, distribution_id: &str) -> Result<Vec<Reported>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Reported>(
        "select e.*, i.legal_name, r.payee_address as paid_to, r.units from entitlements e left join investors i on i.id = e.investor_id \
         left join payout_receipts r on r.entitlement_id = e.id where e.distribution_id = $1 order by e.wallet_address")
        .bind(distribution_id).fetch_all(conn).await?))
}

/// The sums of a distribution, in cents.
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
    /// Net of what is calculated or queued.
    pub open: i64,
    /// How many entitlements are neither paid nor excluded.
    pub left: i64,
}

/// The sums of a distribution's entitlements.
pub async fn totals(tx: &mut Tx, distribution_id: &str) -> Result<Totals> {
    Ok(totals_of(tx, &[distribution_id]).await?.remove(distribution_id).unwrap_or_default())
}

/// The sums of several ones, by their ids; none where nothing is calculated.
pub async fn totals_of(tx: &mut Tx, distribution_ids: &[&str]) -> Result<BTreeMap<String, Totals>> {
    let mut all = BTreeMap::<String, Totals>::new();
    for portion in portions(distribution_ids) {
        let sums = on!(tx, conn => {
            let mut query = QueryBuilder::new(
                "select distribution_id, status, count(*), cast(sum(gross) as bigint), cast(sum(withholding) as bigint), \
                 cast(sum(net) as bigint) from entitlements where distribution_id in (");
            let mut list = query.separated(", ");
            portion.iter().for_each(|id| _ = list.push_bind((*id).to_owned()));
            query.push(") group by distribution_id, status");
            query.build_query_as::<(String, Status, i64, i64, i64, i64)>().fetch_all(conn).await?
        });
        for (id, status, count, gross, withholding, net) in sums {
            all.entry(id).or_default().add(status, [count, gross, withholding, net]);
        }
    }
    Ok(all)
}

impl Totals {
    /// Adds those of another distribution.
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

    /// Adds what has one status.
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
