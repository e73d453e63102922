//! Erasure: who somebody is is forgotten. What they bought, were paid and what was decided stays for as long as the law wants it kept, under
//! ids that name nobody. The audit log names nobody in the first place.

mod obstacle;

use chrono::{DateTime, Utc};
use serde_json::json;

pub use obstacle::in_the_way;

use crate::db::{Tx, touched};
use crate::investor::Investor;
use crate::{Result, event, on, session};

/// What stands where a name was.
pub const NOBODY: &str = "Erased";

/// What is changed of the rows of an investor, each statement by the investor's id.
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

/// The same of their account, by its id.
const OF_USER: [&str; 5] = [
    "delete from recovery_codes where user_id = $1",
    "delete from second_factors where user_id = $1",
    "delete from email_links where user_id = $1",
    "update sessions set ip = '', user_agent = '', device_name = null where user_id = $1",
    "update login_attempts set ip = '', user_agent = '' where user_id = $1",
];

/// Takes the investor for this commit: who subscribes at the same moment comes before it, or finds nobody. False if it was done before.
pub async fn hold(tx: &mut Tx, investor_id: &str) -> Result<bool> {
    let rows = on!(tx, conn => sqlx::query("update investors set version = version where id = $1 and erased_at is null")
        .bind(investor_id).execute(conn).await?.rows_affected());
    Ok(rows == 1)
}

/// Forgets who an investor is, and the account with it. Its address can be registered anew.
pub async fn erase(tx: &mut Tx, i: &Investor) -> Result<()> {
    let now = tx.now();
    if let Some(user_id) = &i.user_id {
        session::revoke_all(tx, user_id, None, "erased").await?;
        erase_user(tx, user_id, now).await?;
    }
    run(tx, &OF_INVESTOR, &i.id).await?;
    forget_answers(tx, &i.id).await?;
    let rows = on!(tx, conn => sqlx::query(
        "update investors set legal_name = $3, country = 'ZZ', tax_residency = null, tax_form = 'none', treaty_country = null, \
         annual_income = null, net_worth = null, accreditation_basis = null, erased_at = $4, version = version + 1, updated_at = $4 \
         where id = $1 and version = $2 and erased_at is null")
        .bind(&i.id).bind(i.version).bind(NOBODY).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "investor", &i.id)?;
    let data = json!({ "user_id": i.user_id, "erased_at": now });
    event::write(tx, "investor.erased", "investor", &i.id, i.version + 1, data).await
}

async fn erase_user(tx: &mut Tx, user_id: &str, now: DateTime<Utc>) -> Result<()> {
    run(tx, &OF_USER, user_id).await?;
    forget_answers(tx, user_id).await?;
    on!(tx, conn => sqlx::query(
        "update api_keys set name = '', allowed_cidrs = '', revoked_at = coalesce(revoked_at, $2) where user_id = $1")
        .bind(user_id).bind(now).execute(conn).await?.rows_affected());
    // Nobody can register an address of this name: there are no such hosts.
    let nowhere = format!("{user_id}@erased.invalid");
    let rows = on!(tx, conn => sqlx::query(
        "update users set email = $2, name = $3, status = 'erased', password_hash = null, email_verified_at = null, locale = null, \
         notification_prefs = '{}', version = version + 1, updated_at = $4 where id = $1")
        .bind(user_id).bind(nowhere).bind(NOBODY).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "user", user_id)
}

async fn run(tx: &mut Tx, statements: &[&'static str], id: &str) -> Result<()> {
    for sql in statements {
        on!(tx, conn => sqlx::query(*sql).bind(id).execute(conn).await?.rows_affected());
    }
    Ok(())
}

/// Answers that are kept to be given again show whoever they are about, also those that others got.
async fn forget_answers(tx: &mut Tx, id: &str) -> Result<()> {
    let named = format!("%{id}%");
    on!(tx, conn => sqlx::query("delete from idempotency_keys where principal = $1 or path like $2 or body like $2")
        .bind(id).bind(named).execute(conn).await?.rows_affected());
    Ok(())
}
