//! Reads subscriptions: one or a page, with data of the offering, the investor and the wallet.

use alloy_primitives::Address;
use chrono::{DateTime, Utc};

use super::{Status, Subscription};
use crate::column::Hex;
use crate::db::Tx;
use crate::filter::CreatedBetween;
use crate::id::{InvestorId, IssuerId, OfferingId, OperationId, SubscriptionId, UserId, of};
use crate::investor::Status as KycStatus;
use crate::offering::{self, Offering};
use crate::sql::{Sql, sql};
use crate::total::Total;
use crate::{Code, Error, Result, operation};

/// The subscriptions that a caller may see. Every read takes a scope, so that none can forget it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All subscriptions.
    All,
    /// Subscriptions of this user as an investor, and subscriptions to this issuer's offerings.
    Own {
        /// The user, if an investor.
        user_id: Option<UserId>,
        /// The issuer, if the user is its member.
        issuer_id: Option<IssuerId>,
    },
}

/// The filter of a list. Empty and none mean no restriction.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub id: Option<SubscriptionId>,
    pub statuses: Vec<Status>,
    pub offering_id: Option<OfferingId>,
    pub investor_id: Option<InvestorId>,
    pub wallet_address: Option<Address>,
    pub created: CreatedBetween,
    /// Only subscriptions older than this id, for the next page.
    pub after: Option<SubscriptionId>,
}

/// A subscription with its offering's terms, its investor's status and its live operation.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Listed {
    #[sqlx(flatten)]
    pub subscription: Subscription,
    pub offering_name: String,
    pub currency: String,
    pub unit_price: i64,
    pub token_decimals: i64,
    pub accreditation_required: bool,
    pub kyc_status: KycStatus,
    pub wallet_verified_at: Option<DateTime<Utc>>,
    pub live_operation_id: Option<OperationId>,
    pub live_operation_status: Option<operation::Status>,
}

const COLUMNS: &str = "select s.*, f.name as offering_name, f.currency, f.unit_price, f.token_decimals,
    f.accreditation_required, i.kyc_status, w.verified_at as wallet_verified_at, m.operation_id as live_operation_id,
    o.status as live_operation_status
    from ";
const BESIDE: &str = "
    join offerings f on f.id = s.offering_id
    join investors i on i.id = s.investor_id
    left join wallets w on w.address = s.wallet_address and w.investor_id = s.investor_id
    left join operation_items m on m.subject_type = 'subscription' and m.subject_id = s.id and m.live
    left join operations o on o.id = m.operation_id";
const OF_PERSON: &str = "investor_id = (select id from investors where user_id = ";
const OF_ISSUER: &str = "offering_id in (select id from offerings where issuer_id = ";

/// Adds only the conditions that are asked for, so that the planner sees which index fits. All are about the row itself: a
/// page is found before anything is joined to it.
fn matching(query: Sql, scope: &Scope, f: &Filter) -> Sql {
    let query = query.push(" where 1 = 1");
    let query = match scope {
        Scope::All => query,
        Scope::Own { user_id: None, issuer_id: None } => query.push(" and 1 = 0"),
        Scope::Own { user_id: Some(user), issuer_id: None } => query.push(" and s.").with(OF_PERSON, user).push(")"),
        Scope::Own { user_id: None, issuer_id: Some(issuer) } => {
            query.push(" and s.").with(OF_ISSUER, issuer).push(")")
        }
        // Each half has an index. With "or" between them the database would read every row.
        Scope::Own { user_id: Some(user), issuer_id: Some(issuer) } => query
            .push(" and s.id in (select id from subscriptions where ")
            .with(OF_PERSON, user)
            .push(") union all select id from subscriptions where ")
            .with(OF_ISSUER, issuer)
            .push("))"),
    };
    query
        .with_some(" and s.id = ", f.id.as_ref())
        .with_some(" and s.offering_id = ", f.offering_id.as_ref())
        .with_some(" and s.investor_id = ", f.investor_id.as_ref())
        .with_some(" and s.wallet_address = ", f.wallet_address.map(Hex))
        .with_some(" and s.id < ", f.after.as_ref())
        .one_of("s.status", &f.statuses)
        .created::<of::Subscription>(f.created, "s.")
}

/// A page of subscriptions, newest first.
pub async fn list(tx: &mut Tx, scope: &Scope, filter: &Filter, limit: i64, offset: i64) -> Result<Vec<Listed>> {
    // PostgreSQL assumes that the subscriptions of an issuer are spread evenly over all: for the newest of them it would read the newest of
    // all, one after the other. So all of the issuer's are found first, where nothing narrower is asked for.
    let of_issuer = matches!(scope, Scope::Own { user_id: None, issuer_id: Some(_) });
    let is_narrow = filter.id.is_some()
        || filter.offering_id.is_some()
        || filter.investor_id.is_some()
        || filter.wallet_address.is_some();
    let (begin, end) = match of_issuer && !is_narrow {
        true => ("(with found as materialized (select s.id from subscriptions s", ") select id as paged from found"),
        false => ("(select s.id as paged from subscriptions s", ""),
    };
    matching(sql(COLUMNS).push(begin), scope, filter)
        .push(end)
        // The limit is part of the text: for a page of unknown size the planner would plan anew each time.
        .push(format!(" order by paged desc limit {limit}"))
        .with_some(" offset ", (offset > 0).then_some(offset))
        .push(") as page join subscriptions s on s.id = page.paged")
        .push(BESIDE)
        .push(" order by s.id desc")
        .rows(tx)
        .await
}

/// The number of matching subscriptions, counted up to a bound after the start of the page.
pub async fn count(tx: &mut Tx, scope: &Scope, filter: &Filter, offset: i64) -> Result<Total> {
    let counted = sql("select count(*) from (select 1 from subscriptions s");
    Total::count(tx, matching(counted, scope, filter), offset).await
}

/// One subscription as a list shows it; `not_found` if it does not exist or the caller may not see it.
pub async fn listed(tx: &mut Tx, scope: &Scope, id: &SubscriptionId) -> Result<Listed> {
    let filter = Filter { id: Some(id.to_owned()), ..Filter::default() };
    let found = matching(sql(COLUMNS).push("subscriptions s").push(BESIDE), scope, &filter);
    found.optional(tx).await?.ok_or_else(|| missing(id))
}

fn missing(id: &SubscriptionId) -> Error {
    Error::refused(Code::NotFound, format!("There is no subscription {id}."))
}

/// One subscription; `not_found` if it does not exist or the caller may not see it.
pub async fn find(tx: &mut Tx, scope: &Scope, id: &SubscriptionId) -> Result<Subscription> {
    listed(tx, scope, id).await.map(|row| row.subscription)
}

/// The offerings with a subscription of an investor that can lead to a mint.
pub async fn offerings_to_mint(tx: &mut Tx, investor_id: &InvestorId) -> Result<Vec<OfferingId>> {
    sql("select distinct offering_id from subscriptions where investor_id = $1 and status in :open
         order by offering_id")
    .words(":open", &Status::OPEN)
    .bind(investor_id)
    .scalars(tx)
    .await
}

/// One subscription and its offering, which is locked until the commit. Moves of subscriptions of one offering happen one after the other.
pub async fn lock_row(tx: &mut Tx, scope: &Scope, id: &SubscriptionId) -> Result<(Offering, Subscription)> {
    let seen = find(tx, scope, id).await?;
    let offering = offering::lock_row(tx, &seen.offering_id).await?;
    // Read again, because the previous holder of the lock can have changed it.
    Ok((offering, find(tx, scope, id).await?))
}
