//! Lock: `lockTokens` keeps units of a holder from moving until a time. One person may do it.

use alloy_primitives::Address;
use chrono::{DateTime, Utc};
use muniment_activities::line::Line;
use muniment_activities::lock::Lock;
use muniment_domain::db::Tx;
use muniment_domain::operation::{Kind, Operation};
use muniment_domain::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::compliance;
use crate::compliance::{Cause, Deed, Ground, Subject};
use crate::requester::Requester;
use crate::settings::Settings;

/// The function of the token.
pub const STEP: &str = "lockTokens";
/// The token keeps a release time in 40 bits, and the last of them means never.
const RELEASE_SECONDS_MAX: i64 = (1 << 40) - 2;

/// What is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The offering.
    pub offering_id: String,
    /// Whose units.
    pub address: Address,
    /// Of which partition.
    pub partition: u32,
    /// How many, in the token's decimals.
    pub quantity: String,
    /// Until when.
    pub release_at: DateTime<Utc>,
    /// Why.
    #[serde(flatten)]
    pub cause: Cause,
}

/// Refuses what can be refused without asking the chain.
pub async fn check(tx: &mut Tx, _: &Settings, r: &Request) -> Result<()> {
    look(tx, r).await.map(drop)
}

async fn look(tx: &mut Tx, r: &Request) -> Result<(Ground, u128)> {
    let ground = compliance::ground(tx, &r.offering_id).await?;
    ground.allow(tx, "/address", r.address).await?;
    ground.partition(tx, r.partition).await?;
    let units = ground.units(&r.quantity)?;
    if r.release_at <= tx.now() {
        return Err(Error::field("/release_at", "below_minimum", "A lock must end in the future."));
    }
    if r.release_at.timestamp() > RELEASE_SECONDS_MAX {
        return Err(Error::field("/release_at", "above_maximum", "The token cannot keep a time so far ahead."));
    }
    ground.free(tx, &[Subject::Address(r.address)]).await?;
    let (balance, locked) = ground.held(tx, r.address, r.partition).await?;
    ground.enough(units, balance.saturating_sub(locked), "are held and not locked")?;
    Ok((ground, units))
}

/// Accepts a lock.
pub async fn request(tx: &mut Tx, _: &Settings, r: Request, by: &Requester) -> Result<Operation> {
    let (ground, units) = look(tx, &r).await?;
    let line = Line::new(r.address, units).map_err(|e| Error::field("/quantity", "above_maximum", e.to_string()))?;
    let lock = Lock {
        op_id: ground.op_id(tx).await?,
        partition: r.partition,
        line,
        release_at: r.release_at.timestamp().cast_unsigned(),
    };
    let deed = Deed {
        kind: Kind::Lock,
        step: STEP,
        calldata: lock.calldata(ground.token),
        op_id: Some(lock.op_id),
        payload: compliance::payload("lock", &lock, &r.cause),
        subject: Subject::Address(r.address),
        beside: None,
        batch: None,
    };
    ground.accept(tx, deed, by).await
}
