//! Signing secrets of webhook endpoints.

use chrono::{DateTime, Utc};

use super::Endpoint;
use crate::db::{Tx, expect_updated};
use crate::id::{EndpointId, SecretId};
use crate::sql::sql;
use crate::{Result, event};

/// An encrypted signing secret.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Secret {
    pub id: SecretId,
    pub endpoint_id: EndpointId,
    pub secret_sealed: String,
    /// When it stops signing; none for the newest.
    pub expires_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

/// Stores a secret.
pub async fn insert(tx: &mut Tx, id: &SecretId, endpoint_id: &EndpointId, sealed: &str) -> Result<()> {
    let now = tx.now();
    sql("insert into webhook_secrets (id, endpoint_id, secret_sealed, created_at) values ($1, $2, $3, $4)")
        .bind((id, endpoint_id, sealed, now))
        .execute(tx)
        .await?;
    Ok(())
}

/// Adds a new secret; the present one signs until `until`, and an older one is deleted. Of two parallel rotations of one version one
/// succeeds: otherwise a secret without an expiry would remain.
pub async fn rotate(tx: &mut Tx, endpoint: &Endpoint, id: &SecretId, sealed: &str, until: DateTime<Utc>) -> Result<()> {
    let (now, version) = (tx.now(), endpoint.version + 1);
    let rows = sql("update webhook_endpoints set version = $3, updated_at = $4 where id = $1 and version = $2")
        .bind((&endpoint.id, endpoint.version, version, now))
        .execute(tx)
        .await?;
    expect_updated(rows, "webhook endpoint", &endpoint.id)?;
    sql("delete from webhook_secrets where endpoint_id = $1 and expires_at is not null")
        .bind(&endpoint.id)
        .execute(tx)
        .await?;
    sql("update webhook_secrets set expires_at = $2 where endpoint_id = $1")
        .bind((&endpoint.id, until))
        .execute(tx)
        .await?;
    insert(tx, id, &endpoint.id, sealed).await?;
    let data = serde_json::json!({});
    event::write(tx, "endpoint.secret_rotated", "webhook_endpoint", &endpoint.id, version, data).await
}

/// The secrets that sign now, newest first.
pub async fn live(tx: &mut Tx, endpoint_id: &EndpointId) -> Result<Vec<Secret>> {
    let now = tx.now();
    sql("select * from webhook_secrets
         where endpoint_id = $1 and (expires_at is null or expires_at > $2) order by id desc")
    .bind((endpoint_id, now))
    .rows(tx)
    .await
}
