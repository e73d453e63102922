//! `/v1/offerings`: offerings and the actions of their issuers and of staff.

pub mod act;
mod body;
pub mod brief;
pub mod detail;
pub mod document;
pub mod holder;
mod list;
mod record;
mod routes;
mod terms;
pub mod timeline;
mod token;
pub mod write;

pub use routes::routes;

use axum::extract::Path;
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::offering::{self, Offering, Scope};
use muniment_domain::user::Role;
use muniment_domain::{Code, Error};

use crate::access::principal::Principal;
use crate::http::error::Result;

/// The offering with this id, for staff and its issuer. For everybody else it is not found.
pub async fn find_run_by(tx: &mut Tx, principal: &Principal, id: &OfferingId) -> muniment_domain::Result<Offering> {
    offering::find_visible(tx, &running(principal), id).await
}

/// The objects that a caller sees.
pub fn seeing(principal: Option<&Principal>) -> Scope {
    let Some(principal) = principal else { return Scope::Anybody };
    match &principal.0.issuer_id {
        _ if principal.is_staff() => Scope::All,
        Some(issuer) if principal.0.has_role(Role::Issuer) => Scope::Org(issuer.clone()),
        _ => Scope::Member(principal.0.user_id.clone()),
    }
}

/// The offerings that a caller manages. A caller without an issuer manages none.
pub fn running(principal: &Principal) -> Scope {
    match &principal.0.issuer_id {
        _ if principal.is_staff() => Scope::All,
        issuer => Scope::Within(issuer.clone().unwrap_or_default()),
    }
}

/// As whom a caller is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// The platform's people.
    Staff,
    /// The issuer's.
    Org,
    /// Everybody else.
    Public,
}

impl Audience {
    /// The audience of this caller for this offering.
    pub fn of(principal: Option<&Principal>, offering: &Offering) -> Self {
        match principal {
            Some(principal) if principal.is_staff() => Self::Staff,
            Some(principal) if principal.0.issuer_id.as_ref() == Some(&offering.issuer_id) => Self::Org,
            _ => Self::Public,
        }
    }
}

/// The id in a path, for a move that its body is stored with.
fn checked(Path(id): Path<OfferingId>) -> Result<OfferingId> {
    id.check().map_err(|_| Error::refused(Code::NotFound, format!("The offering {id} was not found.")))?;
    Ok(id)
}
