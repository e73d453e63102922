//! Reading subscriptions: one, a page, each with what has to be known beside it.

use chrono::{DateTime, Utc};

use super::{Status, Subscription};
use crate::db::Tx;
use crate::narrow::{self, Created};
use crate::offering::{self, Offering};
use crate::total::Total;
use crate::{Code, Error, Result, on, operation};

/// Whose subscriptions a caller sees. Every read names one, so that none can forget it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    All,
    /// Those of this person as an investor, and those in offerings of this organisation.
    Own {
        /// The person, if an investor.
        user_id: Option<String>,
        /// The organisation, if a member of one.
        issuer_id: Option<String>,
    },
}

/// What a list shows. What is empty or none restricts nothing.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub id: Option<String>,
    pub statuses: Vec<Status>,
    pub offering_id: Option<String>,
    pub investor_id: Option<String>,
    pub created: Created,
}

/// A subscription with its offering's terms, its investor's standing, and the operation that it is in while that is not finished.
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
    pub kyc_status: String,
    pub wallet_verified_at: Option<DateTime<Utc>>,
    pub live_operation_id: Option<String>,
    pub live_operation_status: Option<operation::Status>,
}

const COLUMNS: &str = "select s.*, f.name as offering_name, f.currency, f.unit_price, f.token_decimals, f.accreditation_required, \
    i.kyc_status, w.verified_at as wallet_verified_at, m.operation_id as live_operation_id, o.status as live_operation_status from ";
const BESIDE: &str = " join offerings f on f.id = s.offering_id join investors i on i.id = s.investor_id \
    left join wallets w on w.address = s.wallet_address and w.investor_id = s.investor_id \
    left join operation_items m on m.subject_type = 'subscription' and m.subject_id = s.id and m.live \
    left join operations o on o.id = m.operation_id";
const OF_PERSON: &str = "investor_id = (select id from investors where user_id = ";
const OF_ISSUER: &str = "offering_id in (select id from offerings where issuer_id = ";

/// Each condition stands only where it is asked for, so that the planner sees which index fits. All are about the row itself: a page is
/// found before anything is joined to it.
macro_rules! conditions {
    ($query:expr, $scope:expr, $f:expr) => {{
        let (query, f): (&mut sqlx::QueryBuilder<_>, &Filter) = ($query, $f);
        query.push(" where 1 = 1");
        match $scope {
            Scope::All => {}
            Scope::Own { user_id: None, issuer_id: None } => _ = query.push(" and 1 = 0"),
            Scope::Own { user_id: Some(user), issuer_id: None } => {
                _ = query.push(" and s.").push(OF_PERSON).push_bind(user.clone()).push(")");
            }
            Scope::Own { user_id: None, issuer_id: Some(issuer) } => {
                _ = query.push(" and s.").push(OF_ISSUER).push_bind(issuer.clone()).push(")");
            }
            // Each half has an index; with a mere "or" between them every row would be looked at.
            Scope::Own { user_id: Some(user), issuer_id: Some(issuer) } => {
                query.push(" and s.id in (select id from subscriptions where ").push(OF_PERSON).push_bind(user.clone());
                query.push(") union all select id from subscriptions where ").push(OF_ISSUER).push_bind(issuer.clone());
                query.push("))");
            }
        }
        for (column, value) in [("s.id", &f.id), ("s.offering_id", &f.offering_id), ("s.investor_id", &f.investor_id)] {
            if let Some(value) = value {
                query.push(format!(" and {column} = ")).push_bind(value.clone());
            }
        }
        narrow::words(query, "s.status", f.statuses.iter().map(|status| status.as_str()));
        f.created.narrow(query, "s.", "sub");
    }};
}

/// A page of subscriptions, newest first, and how many there are.
pub async fn list(
    tx: &mut Tx,
    scope: &Scope,
    filter: &Filter,
    limit: i64,
    offset: i64,
) -> Result<(Vec<Listed>, Total)> {
    let rows = on!(tx, conn => {
        let mut query = sqlx::QueryBuilder::new(COLUMNS);
        query.push("(select s.id as paged from subscriptions s");
        conditions!(&mut query, scope, filter);
        // In the text, where the planner sees it: for a page of unknown size it would plan anew each time.
        query.push(format!(" order by s.id desc limit {limit}"));
        if offset > 0 {
            query.push(" offset ").push_bind(offset);
        }
        query.push(") as page join subscriptions s on s.id = page.paged").push(BESIDE).push(" order by s.id desc");
        query.build_query_as::<Listed>().fetch_all(conn).await?
    });
    if let Some(total) = Total::told(rows.len(), limit, offset) {
        return Ok((rows, total));
    }
    let count = on!(tx, conn => {
        let mut query = sqlx::QueryBuilder::new("select count(*) from (select 1 from subscriptions s");
        conditions!(&mut query, scope, filter);
        query.push(" limit ").push_bind(Total::bound(offset)).push(") as counted");
        query.build_query_scalar::<i64>().fetch_one(conn).await?
    });
    Ok((rows, Total::counted(count, offset)))
}

/// One subscription as a list shows it; `not_found` if there is none, or it is not yours to see.
pub async fn listed(tx: &mut Tx, scope: &Scope, id: &str) -> Result<Listed> {
    let filter = Filter { id: Some(id.to_owned()), ..Filter::default() };
    let found = on!(tx, conn => {
        let mut query = sqlx::QueryBuilder::new(COLUMNS);
        query.push("subscriptions s").push(BESIDE);
        conditions!(&mut query, scope, &filter);
        query.build_query_as::<Listed>().fetch_optional(conn).await?
    });
    found.ok_or_else(|| missing(id))
}

fn missing(id: &str) -> Error {
    Error::refused(Code::NotFound, format!("There is no subscription {id}."))
}

/// One subscription; `not_found` if there is none, or it is not yours to see.
pub async fn find(tx: &mut Tx, scope: &Scope, id: &str) -> Result<Subscription> {
    listed(tx, scope, id).await.map(|row| row.subscription)
}

/// One subscription to be moved, with its offering held until the commit: two who move subscriptions of one offering take turns.
pub async fn hold(tx: &mut Tx, scope: &Scope, id: &str) -> Result<(Offering, Subscription)> {
    let seen = find(tx, scope, id).await?;
    let offering = offering::hold(tx, &seen.offering_id).await?;
    // Read again: whoever held the offering before may have moved it.
    Ok((offering, find(tx, scope, id).await?))
}
