//! What the requests to an endpoint are signed with.

use chrono::{DateTime, Utc};

use super::Endpoint;
use crate::db::{Tx, touched};
use crate::{Result, event, on};

/// A secret, sealed.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Secret {
    pub id: String,
    pub endpoint_id: String,
    pub secret_sealed: String,
    /// When it stops to sign; none for the newest.
    pub expires_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

/// Stores a secret.
pub async fn insert(tx: &mut Tx, id: &str, endpoint_id: &str, sealed: &str) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query("insert into webhook_secrets (id, endpoint_id, secret_sealed, created_at) values ($1, $2, $3, $4)")
        .bind(id).bind(endpoint_id).bind(sealed).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// Puts a new secret beside the one that signs now, which goes on until then. One that was on its way out is out. Of two at once on one version
/// only one does: the other would leave a secret that never ends.
pub async fn rotate(tx: &mut Tx, endpoint: &Endpoint, id: &str, sealed: &str, until: DateTime<Utc>) -> Result<()> {
    let (now, version) = (tx.now(), endpoint.version + 1);
    let rows = on!(tx, conn => sqlx::query("update webhook_endpoints set version = $3, updated_at = $4 where id = $1 and version = $2")
        .bind(&endpoint.id).bind(endpoint.version).bind(version).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "webhook endpoint", &endpoint.id)?;
    on!(tx, conn => sqlx::query("delete from webhook_secrets where endpoint_id = $1 and expires_at is not null")
        .bind(&endpoint.id).execute(conn).await?.rows_affected());
    on!(tx, conn => sqlx::query("update webhook_secrets set expires_at = $2 where endpoint_id = $1").bind(&endpoint.id).bind(until)
        .execute(conn).await?.rows_affected());
    insert(tx, id, &endpoint.id, sealed).await?;
    let data = serde_json::json!({});
    event::write(tx, "endpoint.secret_rotated", "webhook_endpoint", &endpoint.id, version, data).await
}

/// The secrets that sign at this time, the newest first.
pub async fn live(tx: &mut Tx, endpoint_id: &str) -> Result<Vec<Secret>> {
    let now = tx.now();
    Ok(on!(tx, conn => sqlx::query_as::<_, Secret>(
        "select * from webhook_secrets where endpoint_id = $1 and (expires_at is null or expires_at > $2) order by id desc")
        .bind(endpoint_id).bind(now).fetch_all(conn).await?))
}
