//! What the demo shows beyond its own data: made once, by its people, through the interface that every portal uses.
//!
//! Each part is noted when it is whole. A part that was interrupted is made again with the same idempotency keys, so nothing is made twice.

mod compliance;
mod identity;
mod market;
pub mod payout;

use muniment_domain::db::Db;

use super::saved::{Saved, name};
use super::stage::Stage;
use crate::failure::Failure;

/// Makes what is not there yet.
pub async fn make(db: &Db, saved: &mut Saved) -> Result<(), Failure> {
    if saved.get(name::SINCE).is_none() {
        saved.set(name::SINCE, &db.clock().now().to_rfc3339())?;
    }
    for part in ["market", "identity", "compliance", "payout"] {
        let staged = saved.get(name::STAGED).unwrap_or_default().to_owned();
        if staged.split(' ').any(|done| done == part) {
            continue;
        }
        println!("Preparing the demo, once: {part} …");
        let stage = Stage::of(saved)?;
        match part {
            "market" => {
                let exhibit = market::make(&stage).await?;
                saved.set(name::EXHIBIT, &exhibit)?;
            }
            "identity" => identity::make(&stage).await?,
            "compliance" => compliance::make(&stage).await?,
            _ => payout::make(&stage).await?,
        }
        saved.set(name::STAGED, format!("{staged} {part}").trim())?;
    }
    Ok(())
}
