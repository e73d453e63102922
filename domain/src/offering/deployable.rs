//! An offering with what the deployment of its token depends on, in one read.

use alloy_primitives::Address;

use super::{Offering, missing};
use crate::Result;
use crate::column::Hex;
use crate::contract::{self, Kind, LAST_CONFIGURED};
use crate::db::Tx;
use crate::id::{OfferingId, OperationId};
use crate::operation::Status;
use crate::sql::sql;

/// An offering whose token is to be deployed.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Deployable {
    /// The offering.
    #[sqlx(flatten)]
    pub offering: Offering,
    factory: Option<Hex<Address>>,
    implementation: Option<Hex<Address>>,
    live_id: Option<OperationId>,
    live_status: Option<Status>,
}

impl Deployable {
    /// The factory of its chain.
    pub fn factory(&self) -> Result<Address> {
        let missing = || contract::missing(self.offering.chain_id, Kind::Factory);
        self.factory.map(|factory| factory.0).ok_or_else(missing)
    }

    /// The implementation that all tokens of the factory are clones of, if it is known.
    pub fn implementation(&self) -> Option<Address> {
        self.implementation.map(|implementation| implementation.0)
    }

    /// The unfinished operation with the live key that was asked for.
    pub fn live(&self) -> Option<(&OperationId, Status)> {
        self.live_id.as_ref().zip(self.live_status)
    }
}

/// The offering, the factory of its chain, and the unfinished operation with this live key; `not_found` if the offering does not exist.
pub async fn find_deployable(tx: &mut Tx, id: &OfferingId, live_key: &str) -> Result<Deployable> {
    sql("select o.*, f.address as factory, f.implementation, l.id as live_id, l.status as live_status
         from offerings o
         left join contracts f on f.chain_id = o.chain_id and f.address = (
             select address from contracts where chain_id = o.chain_id and kind = $2 ")
    .push(LAST_CONFIGURED)
    .push(") left join operations l on l.live_key = $3 where o.id = $1")
    .bind((id, Kind::Factory, live_key))
    .optional(tx)
    .await?
    .ok_or_else(|| missing(id))
}
