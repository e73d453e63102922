//! `/v1/offerings`: what is offered, and what its issuer and the platform's people do with it.

pub mod act;
mod body;
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
use muniment_domain::offering::{self, Offering, Scope};
use muniment_domain::user::Role;
use muniment_domain::{Code, Error, id};

use crate::access::principal::Principal;
use crate::http::error::Result;

/// The offering with this id, for whoever runs it: staff, and its own organisation. To everybody else there is none.
pub async fn find_run_by(tx: &mut Tx, principal: &Principal, id: &str) -> muniment_domain::Result<Offering> {
    offering::see(tx, &running(principal), id).await
}

/// What a caller sees.
pub fn seeing(principal: Option<&Principal>) -> Scope {
    let Some(principal) = principal else { return Scope::Anybody };
    match &principal.0.issuer_id {
        _ if principal.is_staff() => Scope::All,
        Some(issuer) if principal.0.has_role(Role::Issuer) => Scope::Org(issuer.clone()),
        _ => Scope::Member(principal.0.user_id.clone()),
    }
}

/// What a caller runs. Somebody without an organisation runs nothing.
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
    /// Of this caller, for this offering.
    pub fn of(principal: Option<&Principal>, offering: &Offering) -> Self {
        match principal {
            Some(principal) if principal.is_staff() => Self::Staff,
            Some(principal) if principal.0.issuer_id.as_ref() == Some(&offering.issuer_id) => Self::Org,
            _ => Self::Public,
        }
    }
}

/// The id in a path, for a move that its body is stored with.
fn checked(Path(id): Path<String>) -> Result<String> {
    id::check("off", &id).map_err(|_| Error::refused(Code::NotFound, format!("The offering {id} was not found.")))?;
    Ok(id)
}
