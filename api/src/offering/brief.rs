//! `expand=offering`: the offering beside a subscription or a distribution.

use std::collections::{BTreeMap, BTreeSet};

use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::money::Money;
use muniment_domain::offering::Status;
use muniment_domain::offering::brief::{Brief, briefs};
use muniment_domain::offering::choice::Template;
use serde::Serialize;
use utoipa::ToSchema;

use crate::field::amount::Amount;
use crate::http::error::Result;
use crate::http::instant::Instant;
use crate::http::pages::Parameters;

/// The offering, if it was asked for with `expand=offering`.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = OfferingBrief)]
pub struct View {
    id: OfferingId,
    #[schema(example = "Solar Park Alentejo")]
    name: String,
    status: Status,
    template: Template,
    minimum_investment: Amount,
    currency: String,
    token_symbol: String,
    opens_at: Option<Instant>,
    closes_at: Option<Instant>,
    issuer_name: String,
    cover_image_url: Option<String>,
}

impl From<Brief> for View {
    fn from(o: Brief) -> Self {
        Self {
            id: o.id,
            name: o.name,
            status: o.status,
            template: o.template,
            minimum_investment: Amount(Money::from_minor(o.minimum_investment)),
            currency: o.currency,
            token_symbol: o.token_symbol,
            opens_at: o.opens_at.map(Instant),
            closes_at: o.closes_at.map(Instant),
            issuer_name: o.issuer_name,
            cover_image_url: o.cover_image_url,
        }
    }
}

/// The offerings of these objects, by id; none without `expand=offering`.
pub async fn expanded<'a>(
    tx: &mut Tx,
    parameters: &Parameters,
    ids: impl Iterator<Item = &'a OfferingId>,
) -> Result<BTreeMap<OfferingId, View>> {
    if !parameters.expands("offering")? {
        return Ok(BTreeMap::new());
    }
    let ids: Vec<_> = ids.collect::<BTreeSet<_>>().into_iter().collect();
    Ok(briefs(tx, &ids).await?.into_iter().map(|brief| (brief.id.clone(), brief.into())).collect())
}
