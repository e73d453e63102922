//! Report of distributions with their totals.

use crate::Result;
use crate::db::Tx;
use crate::distribution::Distribution;
use crate::entitlement::{self, Totals};
use crate::sql::sql;

use super::Filter;

/// A distribution with its totals.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Line {
    pub distribution: Distribution,
    pub offering_name: String,
    pub totals: Totals,
}

#[derive(sqlx::FromRow)]
struct Row {
    #[sqlx(flatten)]
    distribution: Distribution,
    offering_name: String,
}

/// The next lines after an id, with a payment date in the period.
pub async fn page(tx: &mut Tx, f: &Filter, after: &str, limit: i64) -> Result<Vec<Line>> {
    let rows = sql("select d.*, o.name as offering_name
        from distributions d join offerings o on o.id = d.offering_id
        where d.id > $1 and ($2 = '' or d.offering_id = $2) and d.payment_date >= $3 and d.payment_date < $4
        order by d.id limit $5")
    .bind((after, f.offering_id.as_deref().unwrap_or_default(), f.from, f.to, limit))
    .rows::<Row>(tx)
    .await?;
    let ids: Vec<_> = rows.iter().map(|row| &row.distribution.id).collect();
    let mut totals = entitlement::totals_of(tx, &ids).await?;
    let line = |Row { distribution, offering_name }| {
        let totals = totals.remove(&distribution.id).unwrap_or_default();
        Line { distribution, offering_name, totals }
    };
    Ok(rows.into_iter().map(line).collect())
}
