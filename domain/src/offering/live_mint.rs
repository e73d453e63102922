//! The unfinished mint of an offering, on which its own moves depend.

use crate::Result;
use crate::db::Tx;
use crate::id::{OfferingId, OperationId};
use crate::operation::Status;
use crate::sql::sql;

/// A mint of this offering that is unfinished or waits for an operator.
pub async fn live_mint(tx: &mut Tx, offering_id: &OfferingId) -> Result<Option<OperationId>> {
    sql("select id from operations
         where offering_id = $1 and kind = 'mint' and (status in :live
             or (status in :attention and resolution is null))
         order by id limit 1")
    .words(":live", &Status::LIVE)
    .words(":attention", &Status::ATTENTION)
    .bind(offering_id)
    .optional_scalar(tx)
    .await
}
