//! Report of payments to investors and taxes withheld.

use super::Filter;
use crate::Result;
use crate::db::Tx;
use crate::id::InvestorId;
use crate::investor::TaxForm;
use crate::sql::sql;

/// Payments to an investor in one currency at one rate, in cents.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Line {
    pub investor_id: InvestorId,
    pub legal_name: String,
    pub country: String,
    pub tax_residency: Option<String>,
    pub tax_form: TaxForm,
    pub treaty_country: Option<String>,
    pub currency: String,
    pub rate_basis_points: i64,
    pub payments: i64,
    pub gross: i64,
    pub withholding: i64,
    pub net: i64,
}

/// The lines of the next `window` investors after an id, and the last of their ids; none at the end. Investors without payments count
/// towards the window.
pub async fn page(tx: &mut Tx, f: &Filter, after: &str, window: i64) -> Result<(Vec<Line>, Option<String>)> {
    let last = sql("select max(id) from (select id from investors where id > $1 order by id limit $2) as looked_at")
        .bind((after, window))
        .scalar::<Option<String>>(tx)
        .await?;
    let Some(last) = last else { return Ok((Vec::new(), None)) };
    let lines = sql("select i.id as investor_id, i.legal_name, i.country, i.tax_residency, i.tax_form, i.treaty_country, p.currency,
            p.rate_basis_points, p.payments, p.gross, p.withholding, p.net
        from investors i join (
            select e.investor_id, d.currency, e.withholding_rate_basis_points as rate_basis_points, count(*) as payments,
                cast(sum(e.gross) as bigint) as gross, cast(sum(e.withholding) as bigint) as withholding,
                cast(sum(e.net) as bigint) as net
            from entitlements e join distributions d on d.id = e.distribution_id
            where e.investor_id > $1 and e.investor_id <= $2 and e.status = 'paid' and e.paid_at >= $3 and e.paid_at < $4
                and ($5 = '' or e.offering_id = $5)
            group by e.investor_id, d.currency, e.withholding_rate_basis_points
        ) as p on p.investor_id = i.id
        order by i.id, p.currency, p.rate_basis_points")
    .bind((after, &last, f.from, f.to, f.offering_id.as_deref().unwrap_or_default()))
    .rows::<Line>(tx)
    .await?;
    Ok((lines, Some(last)))
}
