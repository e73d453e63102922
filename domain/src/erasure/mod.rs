//! Erasure: removes personal data of an investor. Purchases, payments and decisions stay as long as the law requires, under ids
//! without a name. The audit log contains no personal data in the first place.

mod obstacle;

use chrono::{DateTime, Utc};
use serde_json::json;

pub use obstacle::obstacles;

use crate::db::{Tx, expect_updated};
use crate::id::{InvestorId, UserId};
use crate::investor::Investor;
use crate::sql::{sql, update_table};
use crate::{Result, delivery, event, session};

/// Replaces an erased name.
pub const NOBODY: &str = "Erased";

/// Statements on the rows of an investor, each with the investor's id.
const OF_INVESTOR: [&str; 6] = [
    "update kyc_cases set provider_reference = case when provider_reference is null then null else 'erased' end, \
     data_sealed = case when data_sealed is null then null else '' end where investor_id = $1",
    "update subscriptions set reference = null where investor_id = $1",
    "update wallets set label = null where investor_id = $1",
    "delete from wallet_challenges where investor_id = $1",
    "delete from webhook_secrets where endpoint_id in (select id from webhook_endpoints where owner = $1)",
    "update webhook_endpoints set url = '', description = '', headers_sealed = null, status = 'deleted', slot = null, \
     disabled_reason = null where owner = $1",
];

/// Statements on the rows of the investor's user account, each with the user's id.
const OF_USER: [&str; 5] = [
    "delete from recovery_codes where user_id = $1",
    "delete from second_factors where user_id = $1",
    "delete from email_links where user_id = $1",
    "update sessions set ip = '', user_agent = '', device_name = null where user_id = $1",
    "update login_attempts set ip = '', user_agent = '' where user_id = $1",
];

/// Locks the investor until the commit, so that a parallel subscription comes first or finds nobody. False if already erased.
pub async fn lock_row(tx: &mut Tx, investor_id: &InvestorId) -> Result<bool> {
    let rows = sql("update investors set version = version where id = $1 and erased_at is null")
        .bind(investor_id)
        .execute(tx)
        .await?;
    Ok(rows == 1)
}

/// Erases the personal data of an investor and of the user account. The e-mail address can be registered again.
pub async fn erase(tx: &mut Tx, i: &Investor) -> Result<()> {
    let now = tx.now();
    if let Some(user_id) = &i.user_id {
        // The person must not act with an old session after the erasure.
        session::revoke_all(tx, user_id, None, "erased").await?;
        erase_user(tx, user_id, now).await?;
    }
    run(tx, &OF_INVESTOR, &i.id).await?;
    delivery::skip_ended(tx).await?;
    forget_answers(tx, &i.id).await?;
    let rows = update_table("investors")
        .set("legal_name", NOBODY)
        .set("country", "ZZ")
        .set("tax_form", "none")
        .set("erased_at", now)
        .set("updated_at", now)
        .with(
            ", tax_residency = null, treaty_country = null, annual_income = null, net_worth = null, means_raised_at = null,
                accreditation_basis = null, version = version + 1 where id = ",
            &i.id,
        )
        .with(" and version = ", i.version)
        .push(" and erased_at is null")
        .execute(tx)
        .await?;
    expect_updated(rows, "investor", &i.id)?;
    let data = json!({ "user_id": i.user_id, "erased_at": now });
    event::write(tx, "investor.erased", "investor", &i.id, i.version + 1, data).await
}

async fn erase_user(tx: &mut Tx, user_id: &UserId, now: DateTime<Utc>) -> Result<()> {
    run(tx, &OF_USER, user_id).await?;
    forget_answers(tx, user_id).await?;
    for table in ["alert_mails", "alert_settings"] {
        sql("delete from ").push(table).with(" where user_id = ", user_id).execute(tx).await?;
    }
    sql("update api_keys set name = '', allowed_cidrs = '', revoked_at = coalesce(revoked_at, $2)
         where user_id = $1")
    .bind((user_id, now))
    .execute(tx)
    .await?;
    // The top-level domain `invalid` does not exist, so nobody can register this address.
    let nowhere = format!("{user_id}@erased.invalid");
    let rows = update_table("users")
        .set("email", nowhere)
        .set("name", NOBODY)
        .set("status", "erased")
        .set("updated_at", now)
        .with(
            ", notification_prefs = '{}', password_hash = null, email_verified_at = null, locale = null,
                version = version + 1 where id = ",
            user_id,
        )
        .execute(tx)
        .await?;
    expect_updated(rows, "user", user_id)
}

async fn run(tx: &mut Tx, statements: &[&'static str], id: &str) -> Result<()> {
    for statement in statements {
        sql(statement).bind(id).execute(tx).await?;
    }
    Ok(())
}

/// Deletes stored answers that name the person, including answers to other callers.
async fn forget_answers(tx: &mut Tx, id: &str) -> Result<()> {
    let named = format!("%{id}%");
    sql("delete from idempotency_keys where principal = $1 or path like $2 or body like $2")
        .bind((id, named))
        .execute(tx)
        .await?;
    Ok(())
}
