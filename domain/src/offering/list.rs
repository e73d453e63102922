//! Reads offerings: one or a page, as far as the caller may see them.

use super::choice::{Template, Visibility};
use super::{Offering, Status};
use crate::db::Tx;
use crate::filter::{self, CreatedBetween};
use crate::id::{IssuerId, OfferingId, UserId, of};
use crate::sql::{Sql, sql, word_set};
use crate::total::Total;
use crate::{Code, Error, Result, subscription_state};

/// The offerings that a caller may see. Every read takes a scope, so that none can forget it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All offerings.
    All,
    /// Offerings of this issuer, in any status.
    Within(IssuerId),
    /// Offerings of this issuer, and what members see of the others.
    Org(IssuerId),
    /// What members see, and offerings that this user subscribed to, even cancelled ones, because a refund can be due.
    Member(UserId),
    /// What everybody sees.
    Anybody,
}

/// An offering as a list shows it.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct OfferingSummary {
    #[sqlx(flatten)]
    pub offering: Offering,
    pub issuer_name: String,
    /// Money of subscriptions that can no longer be withdrawn.
    pub raised_amount: i64,
}

/// An offering with its totals.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct OfferingDetail {
    #[sqlx(flatten)]
    pub listed: OfferingSummary,
    pub investor_count: i64,
}

/// The filter of a list.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub statuses: Vec<Status>,
    pub issuer_id: Option<IssuerId>,
    pub template: Option<Template>,
    pub created: CreatedBetween,
    /// Part of the name or of the symbol.
    pub words: Option<String>,
    pub order: Order,
}

crate::words! {
    /// The order of a list. A minus sign means descending.
    #[derive(Default)]
    Order {
        /// Newest first.
        #[default]
        Newest = "-created_at",
        /// Oldest first.
        Oldest = "created_at",
        /// By name.
        Name = "name",
        /// By name, descending.
        NameBackwards = "-name",
        /// By end of the offering, soonest first.
        ClosingSoonest = "closes_at",
        /// By end of the offering, latest first.
        ClosingLast = "-closes_at",
    }
}

impl Order {
    const fn sql(self) -> &'static str {
        match self {
            Self::Newest => "o.id desc",
            Self::Oldest => "o.id",
            Self::Name => "o.name, o.id",
            Self::NameBackwards => "o.name desc, o.id desc",
            // An offering without an end comes last in both orders, on both databases.
            Self::ClosingSoonest => "case when o.closes_at is null then 1 else 0 end, o.closes_at, o.id",
            Self::ClosingLast => "case when o.closes_at is null then 1 else 0 end, o.closes_at desc, o.id desc",
        }
    }
}

const COLUMNS: &str = "select o.*, i.name as issuer_name,
    (select cast(coalesce(sum(s.amount), 0) as bigint) from subscriptions s
        where s.offering_id = o.id and s.status in :raised) as raised_amount";
const COUNTED: &str = ",
    (select count(distinct s.investor_id) from subscriptions s
        where s.offering_id = o.id and s.status in :reserving) as investor_count";
const BESIDE: &str = " join issuers i on i.id = o.issuer_id";
// A negative condition, because almost all offerings are public: an index on status would find them all and not give the order.
const PUBLIC: &str = "o.status not in :hidden";

/// The beginning of a statement that reads offerings as a list shows them.
fn summaries() -> Sql {
    sql(COLUMNS).words(":raised", &subscription_state::Status::RAISED)
}

/// The condition that every member may see an offering `o`.
pub fn listed_condition() -> String {
    format!("o.visibility in {} and o.status not in {}", word_set(&Visibility::LISTED), word_set(&Status::HIDDEN))
}

/// Adds the condition of a scope.
fn within(query: Sql, scope: &Scope) -> Sql {
    let listed = listed_condition();
    let query = match scope {
        Scope::All => query.push("1 = 1"),
        Scope::Within(issuer) => query.with("o.issuer_id = ", issuer),
        Scope::Org(issuer) => query.with("(o.issuer_id = ", issuer).push(format!(" or ({listed}))")),
        Scope::Member(user_id) => query
            .push(format!(
                "(({listed})
                or (({PUBLIC} or o.status = 'cancelled') and exists (
                    select 1 from subscriptions s join investors v on v.id = s.investor_id
                    where s.offering_id = o.id and v.user_id = "
            ))
            .value(user_id)
            .push(")))"),
        Scope::Anybody => query.push(format!("o.visibility = 'public' and {PUBLIC}")),
    };
    query.words(":hidden", &Status::HIDDEN)
}

fn matching(query: Sql, scope: &Scope, filter: &Filter) -> Sql {
    let query = within(query, scope)
        .one_of("o.status", &filter.statuses)
        .with_some(" and o.issuer_id = ", filter.issuer_id.as_ref())
        .with_some(" and o.template = ", filter.template)
        .created::<of::Offering>(filter.created, "o.");
    let Some(words) = &filter.words else { return query };
    let part = filter::escaped(&words.to_lowercase());
    query
        .with(" and (lower(o.name) like ", format!("%{part}%"))
        .with(" escape '\\' or lower(o.token_symbol) like ", format!("%{part}%"))
        .push(" escape '\\')")
}

/// One offering; `not_found` if it does not exist or the caller may not see it. The id can be malformed.
pub async fn find_visible(tx: &mut Tx, scope: &Scope, id: &OfferingId) -> Result<Offering> {
    id.check().map_err(|_| missing(id))?;
    let offering = within(sql("select o.* from offerings o where "), scope).with(" and o.id = ", id);
    offering.optional(tx).await?.ok_or_else(|| missing(id))
}

/// One offering with the totals over its subscriptions.
pub async fn find_detail(tx: &mut Tx, scope: &Scope, id: &OfferingId) -> Result<OfferingDetail> {
    id.check().map_err(|_| missing(id))?;
    let detail = summaries().push(COUNTED).words(":reserving", &subscription_state::Status::RESERVING);
    within(detail.push(" from offerings o").push(BESIDE).push(" where "), scope)
        .with(" and o.id = ", id)
        .optional(tx)
        .await?
        .ok_or_else(|| missing(id))
}

fn missing(id: &OfferingId) -> Error {
    Error::refused(Code::NotFound, format!("There is no offering {id}."))
}

/// A page of offerings, and their number. The ids of the page are found first and joined afterwards.
pub async fn page(
    tx: &mut Tx,
    scope: &Scope,
    by: &Filter,
    limit: i64,
    offset: i64,
) -> Result<(Vec<OfferingSummary>, Total)> {
    let order = by.order.sql();
    let page = summaries().push(" from (select o.id as paged from offerings o where ");
    let rows = matching(page, scope, by)
        // The limit is part of the text, as in the list of subscriptions.
        .push(format!(" order by {order} limit {limit}"))
        .with_some(" offset ", (offset > 0).then_some(offset))
        .push(") as page join offerings o on o.id = page.paged")
        .push(BESIDE)
        .push(format!(" order by {order}"))
        .rows(tx)
        .await?;
    if let Some(total) = Total::from_page(rows.len(), limit, offset) {
        return Ok((rows, total));
    }
    let counted = sql("select count(*) from (select 1 from offerings o where ");
    let total = Total::count(tx, matching(counted, scope, by), offset).await?;
    Ok((rows, total))
}
