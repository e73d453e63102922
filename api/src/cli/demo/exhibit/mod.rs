//! The exhibits of the demo, made once by its people over the API.
//!
//! Each part is recorded when it is complete. An interrupted part is repeated with the same idempotency keys, so nothing is made twice.

mod compliance;
mod identity;
mod market;
pub mod payout;

use muniment_domain::db::Db;

use super::running_demo::RunningDemo;
use super::saved::{Saved, name};
use crate::failure::Failure;

/// Makes the missing exhibits.
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
        let demo = RunningDemo::of(saved)?;
        match part {
            "market" => {
                let exhibit = market::make(&demo).await?;
                saved.set(name::EXHIBIT, &exhibit)?;
            }
            "identity" => identity::make(&demo).await?,
            "compliance" => compliance::make(&demo).await?,
            _ => payout::make(&demo).await?,
        }
        saved.set(name::STAGED, format!("{staged} {part}").trim())?;
    }
    Ok(())
}
