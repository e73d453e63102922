//! An offering beside another object, such as a subscription. Everybody who sees that object may see this part of its offering.

use chrono::{DateTime, Utc};

use super::Status;
use super::choice::Template;
use crate::Result;
use crate::db::Tx;
use crate::id::OfferingId;
use crate::rows::portions;
use crate::sql::sql;

/// The fields of the offering.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Brief {
    pub id: OfferingId,
    pub name: String,
    pub status: Status,
    pub template: Template,
    pub minimum_investment: i64,
    pub currency: String,
    pub token_symbol: String,
    pub opens_at: Option<DateTime<Utc>>,
    pub closes_at: Option<DateTime<Utc>>,
    pub cover_image_url: Option<String>,
    pub issuer_name: String,
}

/// These offerings.
pub async fn briefs(tx: &mut Tx, ids: &[&OfferingId]) -> Result<Vec<Brief>> {
    let mut found = Vec::with_capacity(ids.len());
    for portion in portions(tx, ids) {
        found.extend(
            sql("select o.id, o.name, o.status, o.template, o.minimum_investment, o.currency, o.token_symbol,
                    o.opens_at, o.closes_at, o.cover_image_url, i.name as issuer_name
                from offerings o join issuers i on i.id = o.issuer_id
                where o.id in (")
            .list(portion)
            .push(")")
            .rows::<Brief>(tx)
            .await?,
        );
    }
    Ok(found)
}
