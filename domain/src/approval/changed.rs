//! What has changed since an approval was requested.

use std::cmp::Reverse;

use alloy_primitives::Address;
use chrono::{DateTime, Utc};

use super::Approval;
use crate::Result;
use crate::column::Hex;
use crate::db::Tx;
use crate::id::OfferingId;
use crate::sql::sql;
use crate::wallet;

/// The changes that are named.
const CHANGES_MAX: usize = 20;

/// A change after the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The type of the event, or `balance`.
    pub what: String,
    /// The account whose balance changed.
    pub account: Option<Address>,
    /// When it changed.
    pub at: DateTime<Utc>,
}

/// The changes since the request, newest first: events of its subject and of its offering, and balances of these accounts in the ledger of
/// the offering's token.
pub async fn changes(tx: &mut Tx, a: &Approval, accounts: &[Address]) -> Result<Vec<Change>> {
    let mut found = events(tx, a).await?;
    if let Some(offering_id) = a.offering_id.as_ref().filter(|_| !accounts.is_empty()) {
        found.extend(balances(tx, offering_id, accounts, a.created_at).await?);
    }
    found.sort_by_key(|change| Reverse(change.at));
    found.truncate(CHANGES_MAX);
    Ok(found)
}

async fn events(tx: &mut Tx, a: &Approval) -> Result<Vec<Change>> {
    // The events of a known wallet have its id.
    let wallet = match a.subject_id.parse::<Address>() {
        Ok(address) => wallet::find(tx, address).await?,
        Err(_) => None,
    };
    let wallet_id = wallet.as_ref().map(|wallet| wallet.id.as_str());
    let subjects = [Some(a.subject_id.as_str()), a.offering_id.as_deref(), wallet_id];
    let rows = sql("select type, created_at from events where subject_id in (")
        .list(subjects.into_iter().flatten())
        .with(") and created_at > ", a.created_at)
        .push(" order by created_at desc")
        .with(" limit ", CHANGES_MAX as i64)
        .rows::<(String, DateTime<Utc>)>(tx)
        .await?;
    Ok(rows.into_iter().map(|(what, at)| Change { what, account: None, at }).collect())
}

async fn balances(
    tx: &mut Tx,
    offering_id: &OfferingId,
    accounts: &[Address],
    since: DateTime<Utc>,
) -> Result<Vec<Change>> {
    let rows = sql("select wallet_address, max(updated_at) from holdings where offering_id = ")
        .value(offering_id)
        .push(" and wallet_address in (")
        .list(accounts.iter().copied().map(Hex))
        .with(") and updated_at > ", since)
        .push(" group by wallet_address")
        .rows::<(Hex<Address>, DateTime<Utc>)>(tx)
        .await?;
    let change = |(account, at): (Hex<Address>, _)| Change { what: "balance".to_owned(), account: Some(account.0), at };
    Ok(rows.into_iter().map(change).collect())
}
