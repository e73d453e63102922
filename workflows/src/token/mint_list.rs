//! The list of a mint: each holder and quantity at the time of the request. A second person approves this list.

use alloy_primitives::Address;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::{OfferingId, SubscriptionId};
use muniment_domain::money::Money;
use muniment_domain::offering::Offering;
use muniment_domain::operation_item::Item;
use muniment_domain::{Code, Error, Result, offering};
use serde::{Deserialize, Serialize};

use crate::approval_request::About;
use crate::settings::Settings;
use crate::token::mint::{self, Request};

/// The name of the action that an approval of a mint executes.
pub const ACTION: &str = "mint";

/// Changed subscriptions that a refusal names.
const NAMED_MAX: usize = 5;

/// The list that a second person approves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MintList {
    /// The offering.
    pub offering_id: OfferingId,
    /// The end of the lockup.
    pub lockup_release_at: Option<DateTime<Utc>>,
    /// The total amount of the lines.
    pub amount: Money,
    /// The currency.
    pub currency: String,
    /// The subscriptions.
    pub lines: Vec<ListLine>,
}

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListLine {
    /// The subscription.
    pub subscription_id: SubscriptionId,
    /// The wallet that receives the units.
    pub wallet_address: Address,
    /// The quantity, in base units.
    pub quantity: String,
    /// The subscribed amount.
    pub amount: Money,
}

impl MintList {
    /// The list of the current selection.
    pub fn bind(offering: &Offering, release_at: Option<DateTime<Utc>>, chosen: &mint::Selection) -> Self {
        let line = |(item, amount): (&Item, &i64)| ListLine {
            subscription_id: item.subject(),
            wallet_address: item.wallet_address.0,
            quantity: item.quantity.to_string(),
            amount: Money::from_minor(*amount),
        };
        Self {
            offering_id: offering.id.clone(),
            lockup_release_at: release_at,
            amount: Money::from_minor(chosen.amount()),
            currency: offering.currency.clone(),
            lines: chosen.items.iter().zip(&chosen.amounts).map(line).collect(),
        }
    }

    /// What the approval shows.
    pub fn about(&self) -> About {
        About {
            subject_type: "offering",
            subject_id: self.offering_id.to_string(),
            offering_id: Some(self.offering_id.clone()),
            amount: Some((self.amount.minor(), self.currency.clone())),
            reason: None,
            live_key: format!("mint:{}", self.offering_id),
        }
    }

    /// A request that names exactly the subscriptions of this list.
    pub fn request(&self) -> Request {
        Request {
            offering_id: self.offering_id.clone(),
            subscription_ids: Some(self.lines.iter().map(|line| line.subscription_id.clone()).collect()),
            lockup_release_at: self.lockup_release_at,
        }
    }

    /// Refuses if the current list differs from this one.
    pub fn must_be(&self, now: &Self) -> Result<()> {
        if self == now {
            return Ok(());
        }
        let known: std::collections::BTreeMap<_, _> = now.lines.iter().map(|l| (&l.subscription_id, l)).collect();
        let changed: Vec<_> = self.lines.iter().filter(|l| known.get(&l.subscription_id) != Some(l)).collect();
        let names: Vec<_> = changed.iter().take(NAMED_MAX).map(|l| l.subscription_id.as_str()).collect();
        let detail = if changed.is_empty() {
            "The terms changed after the request. Request the mint again.".to_owned()
        } else {
            let more = if changed.len() > NAMED_MAX { " and others" } else { "" };
            format!(
                "{} subscriptions of the list changed after the request: {}{more}. Request the mint again.",
                changed.len(),
                names.join(", ")
            )
        };
        Err(Error::refused(Code::SnapshotMismatch, detail))
    }
}

/// Refuses a list that could not be minted exactly now.
pub async fn check(tx: &mut Tx, _: &Settings, list: &MintList) -> Result<()> {
    let offering = offering::find(tx, &list.offering_id).await?;
    let (release_at, chosen) = mint::evaluate(tx, &offering, &list.request()).await?;
    list.must_be(&MintList::bind(&offering, release_at, &chosen))
}
