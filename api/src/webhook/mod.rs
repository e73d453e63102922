//! `/v1/webhooks/endpoints`: where events are sent, and which. The events are also at `/v1/events`.

pub mod delivery;
pub mod endpoint;
pub mod event;
mod event_name;
pub mod record;
mod routes;
mod signature;
mod stream;
mod waiter;
mod wanted;

pub use routes::routes;
pub use signature::{PREFIX as SECRET_PREFIX, courier, sign};
pub use wanted::{check_offerings, check_types};

use muniment_domain::db::Tx;
use muniment_domain::principal as domain;
use muniment_domain::user::Role;
use muniment_domain::webhook::Owner;

use crate::access::principal::Principal;
use crate::http::error::Result;

/// The owner whose events a caller receives. A caller without an organisation or an investor record receives none.
pub async fn owner(tx: &mut Tx, principal: &Principal) -> Result<Owner> {
    let person = &principal.0;
    if principal.is_staff() {
        return Ok(Owner::Platform);
    }
    if person.has_role(Role::Issuer) {
        return Ok(Owner::Issuer(person.issuer_id.clone().unwrap_or_else(|| person.user_id.as_str().into())));
    }
    let investor = domain::investor_of(tx, &person.user_id).await?;
    Ok(Owner::Investor(investor.unwrap_or_else(|| person.user_id.as_str().into())))
}
