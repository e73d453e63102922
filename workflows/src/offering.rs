//! The life of an offering, as far as the calendar moves it.

use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::{Result, offering};

/// Does what the calendar asks for; when it has to be looked at next.
pub async fn on_timer(tx: &mut Tx, id: &str) -> Result<Option<DateTime<Utc>>> {
    let offered = offering::hold(tx, id).await?;
    let now = tx.now();
    Ok(offered.closes_at.filter(|at| *at > now))
}
