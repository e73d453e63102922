//! Changes of an offering: its terms, and its status by moves.

use serde_json::{Value, json};

use super::columns::columns;
use super::{Move, Offering, find};
use crate::db::{Tx, expect_updated};
use crate::recorder::Facts;
use crate::sql::update_table;
use crate::{Error, Result, event};

/// Moves an offering and writes its event, unless the row has changed since it was read. The reason stays on the row.
pub async fn transition(tx: &mut Tx, o: &mut Offering, by: Move, actor: &str, reason: Option<&str>) -> Result<()> {
    let from = o.status;
    o.status = from.next(by).ok_or_else(|| illegal_move(o, by))?;
    o.status_reason = reason.map(str::to_owned);
    let now = tx.now();
    match by {
        Move::Submit => {
            o.submitted_by = Some(actor.to_owned());
            o.submitted_at = Some(now);
        }
        Move::Approve => o.approved_by = Some(actor.to_owned()),
        Move::Publish => o.published_at = Some(now),
        Move::Reopen => o.closed_at = None,
        Move::Close | Move::Fail | Move::Cancel => o.closed_at = Some(now),
        _ => {}
    }
    // Announced with the terms, and counted again when the offering ends earlier or goes on.
    if matches!(by, Move::Close | Move::Reopen) && o.lockup_days.is_some() {
        o.lockup_release_at = o.lockup_end();
    }
    let data = json!({ "from": from, "actor": actor, "reason": reason });
    save(tx, o, by.event(), data).await
}

/// The error for a move that the status does not allow.
pub fn illegal_move(o: &Offering, by: Move) -> Error {
    Error::illegal_move("offering", o.status.as_str(), by.request().unwrap_or(by.as_str()), o.status.requests())
}

/// Writes the changed columns if the version is still the one that was read, and writes the event. The reserved amount is not
/// written here: only subscriptions change it.
pub async fn save(tx: &mut Tx, o: &mut Offering, event_name: &str, mut data: Value) -> Result<()> {
    let (now, before) = (tx.now(), find(tx, &o.id).await?);
    let rows = columns(update_table("offerings"), o)
        .set("calendar_version", o.calendar_version)
        .set("updated_at", now)
        .with(", version = version + 1 where id = ", &o.id)
        .with(" and version = ", o.version)
        .execute(tx)
        .await?;
    expect_updated(rows, "offering", &o.id)?;
    o.version += 1;
    o.updated_at = now;
    tx.recorder().record_change(&o.id, facts(&before), facts(o));
    data["status"] = json!(o.status);
    data["version"] = json!(o.version);
    event::write(tx, event_name, "offering", &o.id, o.version, data).await
}

/// The fields for the audit log. The terms of an offering are public.
fn facts(o: &Offering) -> Facts {
    let mut row = columns(update_table("offerings"), o).to_json();
    row["version"] = json!(o.version);
    Facts::new(row, json!({}))
}
