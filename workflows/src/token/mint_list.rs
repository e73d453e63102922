//! The list of a mint: exactly who gets how much, as it was when it was asked for. A second person allows the list, not the wish.

use alloy_primitives::Address;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::item::Item;
use muniment_domain::money::Money;
use muniment_domain::offering::Offering;
use muniment_domain::{Code, Error, Result, offering};
use serde::{Deserialize, Serialize};

use crate::approval::action::About;
use crate::settings::Settings;
use crate::token::mint::{self, Request};

/// How many changed subscriptions a refusal names.
const NAMED_MAX: usize = 5;

/// The list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MintList {
    /// The offering.
    pub offering_id: String,
    /// Until when the minted units are locked.
    pub lockup_release_at: Option<DateTime<Utc>>,
    /// The sum of the lines.
    pub amount: Money,
    /// Its currency.
    pub currency: String,
    /// Everyone on it.
    pub lines: Vec<ListLine>,
}

/// One subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListLine {
    /// Which.
    pub subscription_id: String,
    /// Who gets the units.
    pub wallet_address: Address,
    /// How many base units.
    pub quantity: String,
    /// What was subscribed.
    pub amount: Money,
}

impl MintList {
    /// Binds what a request comes to now.
    pub fn bind(offering: &Offering, release_at: Option<DateTime<Utc>>, chosen: &mint::Chosen) -> Self {
        let line = |(item, amount): (&Item, &i64)| ListLine {
            subscription_id: item.subject_id.clone(),
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

    /// What it is about.
    pub fn about(&self) -> About {
        About {
            subject_type: "offering",
            subject_id: self.offering_id.clone(),
            offering_id: Some(self.offering_id.clone()),
            amount: Some((self.amount.minor(), self.currency.clone())),
            reason: None,
            live_key: format!("mint:{}", self.offering_id),
        }
    }

    /// The request that this list came of, with everyone named.
    pub fn request(&self) -> Request {
        Request {
            offering_id: self.offering_id.clone(),
            subscription_ids: Some(self.lines.iter().map(|line| line.subscription_id.clone()).collect()),
            lockup_release_at: self.lockup_release_at,
        }
    }

    /// Refuses unless what a request comes to now is this list, to the last unit.
    pub fn must_be(&self, now: &Self) -> Result<()> {
        if self == now {
            return Ok(());
        }
        let known: std::collections::BTreeMap<_, _> = now.lines.iter().map(|l| (&l.subscription_id, l)).collect();
        let changed: Vec<_> = self.lines.iter().filter(|l| known.get(&l.subscription_id) != Some(l)).collect();
        let names: Vec<_> = changed.iter().take(NAMED_MAX).map(|l| l.subscription_id.as_str()).collect();
        let detail = if changed.is_empty() {
            "The terms changed since the list was made. Ask for the mint again.".to_owned()
        } else {
            let more = if changed.len() > NAMED_MAX { " and others" } else { "" };
            format!(
                "{} of the list changed since it was made: {}{more}. Ask for the mint again.",
                changed.len(),
                names.join(", ")
            )
        };
        Err(Error::refused(Code::SnapshotMismatch, detail))
    }
}

/// Refuses a list that could not be minted now, to the last unit.
pub async fn check(tx: &mut Tx, _: &Settings, list: &MintList) -> Result<()> {
    let offering = offering::find(tx, &list.offering_id).await?;
    let (release_at, chosen) = mint::look(tx, &offering, &list.request()).await?;
    list.must_be(&MintList::bind(&offering, release_at, &chosen))
}
