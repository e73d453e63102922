//! Reading offerings: one, or a page, of those that a caller may see.

use chrono::{DateTime, Utc};
use sqlx::{Database, Encode, QueryBuilder, Type};

use super::{Offering, Status};
use crate::db::Tx;
use crate::narrow::{self, Created};
use crate::total::Total;
use crate::{Code, Error, Result, on};

/// Whose offerings a reader sees. Every read names one, so that none can forget it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    All,
    /// Those of this organisation, in whatever state.
    Within(String),
    /// Those of this organisation, and of the others what members see.
    Org(String),
    /// What members see, and what this person has subscribed to, also where it was called off: there is money to come back.
    Member(String),
    /// What everybody sees.
    Anybody,
}

/// An offering with what a list says beside it.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Listed {
    #[sqlx(flatten)]
    pub offering: Offering,
    pub issuer_name: String,
    /// The money that nobody can withdraw any more.
    pub raised_amount: i64,
}

/// An offering with all that is said beside it.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Shown {
    #[sqlx(flatten)]
    pub listed: Listed,
    pub investor_count: i64,
}

/// Which offerings are asked for.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub statuses: Vec<Status>,
    pub created: Created,
    /// A part of the name or of the symbol.
    pub words: Option<String>,
    pub order: Order,
}

crate::words! {
    /// In which order. A minus means the last one first.
    #[derive(Default)]
    Order {
        /// The newest first.
        #[default]
        Newest = "-created_at",
        /// The oldest first.
        Oldest = "created_at",
        /// By name.
        Name = "name",
        /// By name, backwards.
        NameBackwards = "-name",
        /// What closes soonest first.
        ClosingSoonest = "closes_at",
        /// What closes last first.
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
            // None is no end: it stands last either way, on both engines.
            Self::ClosingSoonest => "case when o.closes_at is null then 1 else 0 end, o.closes_at, o.id",
            Self::ClosingLast => "case when o.closes_at is null then 1 else 0 end, o.closes_at desc, o.id desc",
        }
    }
}

const COLUMNS: &str = "select o.*, i.name as issuer_name, (select cast(coalesce(sum(s.amount), 0) as bigint) from subscriptions s \
    where s.offering_id = o.id and s.status in ('binding', 'accepted', 'minted')) as raised_amount";
const COUNTED: &str = ", (select count(distinct s.investor_id) from subscriptions s where s.offering_id = o.id and s.status in \
    ('committed', 'pending_reconfirmation', 'binding', 'accepted', 'minted')) as investor_count";
const BESIDE: &str = " join issuers i on i.id = o.issuer_id";
// What it is not, because almost all are public: an index of statuses would find them all and leave the order to be made.
const PUBLIC: &str = "o.status not in ('draft', 'in_review', 'approved', 'cancelled')";

/// The condition of a scope.
fn within<DB: Database>(query: &mut QueryBuilder<DB>, scope: &Scope)
where
    for<'q> &'q str: Encode<'q, DB> + Type<DB>,
{
    match scope {
        Scope::All => query.push("1 = 1"),
        Scope::Within(issuer) => query.push("o.issuer_id = ").push_bind(issuer.as_str()),
        Scope::Org(issuer) => {
            query.push("(o.issuer_id = ").push_bind(issuer.as_str());
            query.push(format!(" or (o.visibility in ('public', 'members') and {PUBLIC}))"))
        }
        Scope::Member(user_id) => {
            query.push(format!(
                "(({PUBLIC} and o.visibility in ('public', 'members')) or (({PUBLIC} or o.status = 'cancelled') and exists (select 1 \
                 from subscriptions s join investors v on v.id = s.investor_id where s.offering_id = o.id and v.user_id = "
            ));
            query.push_bind(user_id.as_str()).push(")))")
        }
        Scope::Anybody => query.push(format!("o.visibility = 'public' and {PUBLIC}")),
    };
}

fn filter<DB: Database>(query: &mut QueryBuilder<DB>, filter: &Filter)
where
    for<'q> String: Encode<'q, DB> + Type<DB>,
    for<'q> DateTime<Utc>: Encode<'q, DB> + Type<DB>,
{
    narrow::words(query, "o.status", filter.statuses.iter().map(|status| status.as_str()));
    filter.created.narrow(query, "o.", "off");
    if let Some(words) = &filter.words {
        let escaped = words.to_lowercase().replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        query.push(" and (lower(o.name) like ").push_bind(format!("%{escaped}%"));
        query
            .push(" escape '\\' or lower(o.token_symbol) like ")
            .push_bind(format!("%{escaped}%"))
            .push(" escape '\\')");
    }
}

/// One offering; `not_found` if there is none, or it is not yours to see. The id may be malformed.
pub async fn see(tx: &mut Tx, scope: &Scope, id: &str) -> Result<Offering> {
    crate::id::check("off", id).map_err(|_| missing(id))?;
    on!(tx, conn => {
        let mut query = QueryBuilder::new("select o.* from offerings o where ");
        within(&mut query, scope);
        query.push(" and o.id = ").push_bind(id);
        query.build_query_as::<Offering>().fetch_optional(conn).await?
    })
    .ok_or_else(|| missing(id))
}

/// The same with all that is said beside it, which is summed up over its subscriptions.
pub async fn show(tx: &mut Tx, scope: &Scope, id: &str) -> Result<Shown> {
    crate::id::check("off", id).map_err(|_| missing(id))?;
    on!(tx, conn => {
        let mut query = QueryBuilder::new(COLUMNS);
        query.push(COUNTED).push(" from offerings o").push(BESIDE).push(" where ");
        within(&mut query, scope);
        query.push(" and o.id = ").push_bind(id);
        query.build_query_as::<Shown>().fetch_optional(conn).await?
    })
    .ok_or_else(|| missing(id))
}

fn missing(id: &str) -> Error {
    Error::refused(Code::NotFound, format!("There is no offering {id}."))
}

/// A page of offerings, and how many there are. Which ones is found before anything is said beside them.
pub async fn page(tx: &mut Tx, scope: &Scope, by: &Filter, limit: i64, offset: i64) -> Result<(Vec<Listed>, Total)> {
    let rows = on!(tx, conn => {
        let mut query = QueryBuilder::new(COLUMNS);
        query.push(" from (select o.id as paged from offerings o where ");
        within(&mut query, scope);
        filter(&mut query, by);
        // In the text, as in the list of subscriptions.
        query.push(format!(" order by {} limit {limit}", by.order.sql()));
        if offset > 0 {
            query.push(" offset ").push_bind(offset);
        }
        query.push(") as page join offerings o on o.id = page.paged").push(BESIDE).push(" order by ").push(by.order.sql());
        query.build_query_as::<Listed>().fetch_all(conn).await?
    });
    if let Some(total) = Total::told(rows.len(), limit, offset) {
        return Ok((rows, total));
    }
    let count = on!(tx, conn => {
        let mut query = QueryBuilder::new("select count(*) from (select 1 from offerings o where ");
        within(&mut query, scope);
        filter(&mut query, by);
        query.push(" limit ").push_bind(Total::bound(offset)).push(") as counted");
        query.build_query_scalar::<i64>().fetch_one(conn).await?
    });
    Ok((rows, Total::counted(count, offset)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_status_is_shown_that_is_not_public() {
        for status in Status::ALL {
            assert_eq!(PUBLIC.contains(&format!("'{status}'")), !status.is_public(), "{status}");
        }
    }
}
