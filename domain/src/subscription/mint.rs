//! Selects the subscriptions for a mint, and records a final mint.

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use sqlx::types::Json;

use super::eligibility::{Check, Facts, Investor, RULES_VERSION, Relation, Stage, evaluate};
use super::{Status, Subscription, new_event, write_event};
use crate::column::{Dec, Hex};
use crate::db::{Tx, expect_all_updated};
use crate::id::{BatchId, InvestorId, OfferingId, OperationId, SubscriptionId};
use crate::investment_limit::{self, Finances};
use crate::investor::{Accreditation, Screening, Status as KycStatus};
use crate::offering::Offering;
use crate::rows::portions;
use crate::sql::{insert_into, sql};
use crate::{Result, event, offering};

/// A subscription that is a candidate for a mint, with its live operation.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Candidate {
    pub id: SubscriptionId,
    pub investor_id: InvestorId,
    pub status: Status,
    pub amount: i64,
    pub quantity: Option<Dec<u128>>,
    pub wallet_address: Option<Hex<Address>>,
    pub wallet_frozen: bool,
    #[sqlx(flatten)]
    pub facts: CandidateFacts,
    pub live_operation_id: Option<OperationId>,
}

/// The facts about the investor and the wallet.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct CandidateFacts {
    pub country: String,
    pub kyc_status: KycStatus,
    pub sanctions_status: Screening,
    pub accreditation_status: Accreditation,
    pub accreditation_expires_at: Option<DateTime<Utc>>,
    #[sqlx(flatten)]
    pub means: Finances,
    /// What the investor already uses of the exemption's investment limit.
    pub used: i64,
    pub wallet_verified_at: Option<DateTime<Utc>>,
    pub wallet_retired_at: Option<DateTime<Utc>>,
}

impl Candidate {
    /// The results of the rules for a mint.
    pub fn checks(&self, offering: &Offering, now: DateTime<Utc>) -> Vec<Check> {
        let known = &self.facts;
        let investor = Investor {
            id: self.investor_id.clone(),
            country: known.country.clone(),
            kyc_status: known.kyc_status,
            sanctions_status: known.sanctions_status,
            accreditation_status: known.accreditation_status,
            accreditation_expires_at: known.accreditation_expires_at,
            means: known.means,
            risk_warned_at: None,
        };
        let relation = Relation {
            used: known.used,
            wallet_verified: self.wallet_address.map(|_| known.wallet_verified_at.is_some()),
            wallet_retired: known.wallet_retired_at.is_some(),
            ..Relation::default()
        };
        let (stage, investor, amount) = (Stage::Mint, &investor, self.amount);
        evaluate(&Facts {
            stage,
            offering,
            investor,
            amount,
            held: amount,
            relation,
            reservation_limit: None,
            acknowledged: &[],
            now,
        })
    }
}

const IDS_PER_STATEMENT: usize = 500;

const CANDIDATES: &str = "select s.id, s.investor_id, s.status, s.amount, s.quantity, s.wallet_address, i.country,
        i.kyc_status, i.sanctions_status, i.accreditation_status, i.accreditation_expires_at, i.annual_income, i.net_worth,
        w.verified_at as wallet_verified_at, w.retired_at as wallet_retired_at,
        coalesce(a.frozen, false) as wallet_frozen, m.operation_id as live_operation_id,
        case o.exemption
            when 'reg_cf' then (
                select cast(coalesce(sum(x.amount), 0) as bigint)
                from subscriptions x join offerings p on p.id = x.offering_id
                where x.investor_id = s.investor_id and x.id <> s.id and p.exemption = 'reg_cf' and x.created_at > $1
                    and x.status in :reserving)
            when 'reg_a_t2' then (
                select cast(coalesce(sum(x.amount), 0) as bigint) from subscriptions x
                where x.investor_id = s.investor_id and x.offering_id = s.offering_id and x.id <> s.id
                    and x.status in :reserving)
            else 0 end as used
    from subscriptions s
        join offerings o on o.id = s.offering_id
        join investors i on i.id = s.investor_id
        left join wallets w on w.address = s.wallet_address and w.investor_id = s.investor_id
        left join token_accounts a on a.offering_id = s.offering_id and a.wallet_address = s.wallet_address
        left join operation_items m on m.subject_type = 'subscription' and m.subject_id = s.id and m.live
    where s.offering_id = $2";

/// The accepted subscriptions of an offering, oldest first: the candidates of "mint all".
pub async fn candidates(tx: &mut Tx, offering_id: &OfferingId) -> Result<Vec<Candidate>> {
    let counted_from = investment_limit::crowdfunding_start(tx.now());
    sql(CANDIDATES)
        .words(":reserving", &Status::RESERVING)
        .bind((counted_from, offering_id))
        .push(" and s.status = 'accepted' order by s.id")
        .rows(tx)
        .await
}

/// The subscriptions of this list that belong to the offering, in any status, oldest first and without duplicates.
pub async fn candidates_of(tx: &mut Tx, offering_id: &OfferingId, ids: &[SubscriptionId]) -> Result<Vec<Candidate>> {
    let mut ids: Vec<_> = ids.iter().collect();
    ids.sort_unstable();
    ids.dedup();
    let counted_from = investment_limit::crowdfunding_start(tx.now());
    let mut found = Vec::with_capacity(ids.len());
    for some in ids.chunks(IDS_PER_STATEMENT) {
        found.extend(
            sql(CANDIDATES)
                .words(":reserving", &Status::RESERVING)
                .bind((counted_from, offering_id))
                .push(" and s.id in (")
                .list(some)
                .push(") order by s.id")
                .rows::<Candidate>(tx)
                .await?,
        );
    }
    Ok(found)
}

/// Stores the results of the rules for a mint, which all of its subscriptions passed.
pub async fn store_mint_checks(tx: &mut Tx, batch_id: &BatchId, checks: &Value) -> Result<()> {
    let now = tx.now();
    insert_into("mint_checks")
        .set("batch_id", batch_id)
        .set("rules_version", RULES_VERSION)
        .set("checks", Json(checks))
        .set("created_at", now)
        .execute(tx)
        .await?;
    Ok(())
}

/// The total of an offering's active subscriptions, in minor units.
pub async fn amount_sum(tx: &mut Tx, offering_id: &OfferingId) -> Result<i64> {
    sql("select cast(coalesce(sum(amount), 0) as bigint) from subscriptions
         where offering_id = $1
             and status in :reserving")
    .words(":reserving", &Status::RESERVING)
    .bind(offering_id)
    .scalar(tx)
    .await
}

/// The data of a final mint.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct FinalMint<'a> {
    pub operation_id: &'a OperationId,
    pub tx_hash: B256,
    pub block_number: i64,
    pub lock_release_at: Option<DateTime<Utc>>,
    pub currency: &'a str,
}

/// Marks the subscriptions of a page as minted. Only the commit that confirms the mint calls it.
pub async fn set_minted(tx: &mut Tx, ids: &[&SubscriptionId], m: &FinalMint<'_>) -> Result<()> {
    let now = tx.now();
    for portion in portions(tx, ids) {
        let minted = sql("update subscriptions set status = 'minted', version = version + 1, mint_operation_id = ")
            .value(m.operation_id)
            .with(", mint_tx_hash = ", Hex(m.tx_hash))
            .with(", mint_block_number = ", m.block_number)
            .with(", minted_at = ", now)
            .with(", updated_at = ", now)
            .with(", lock_release_at = ", m.lock_release_at)
            .push(" where status = 'accepted' and id in (")
            .list(portion)
            .push(") returning *")
            .rows::<Subscription>(tx)
            .await?;
        expect_all_updated(minted.len() as u64, portion.len(), "subscription", portion[0])?;
        let beside =
            json!({ "from": Status::Accepted, "operation_id": m.operation_id, "tx_hash": m.tx_hash.to_string() });
        let events: Vec<_> = minted.iter().map(|s| new_event(m.currency, s, "minted", beside.clone())).collect();
        event::write_all(tx, &events).await?;
    }
    Ok(())
}

/// Redirects unminted subscriptions of a recovered wallet to its replacement. In other offerings where the lost wallet still holds units
/// or is frozen, they wait for the recovery of that token: units that arrive first would block it, and the freeze must move with them.
pub async fn follow_wallet(tx: &mut Tx, offering_id: &OfferingId, lost: Address, successor: Address) -> Result<u64> {
    let now = tx.now();
    let moved = sql("update subscriptions set wallet_address = $3, version = version + 1, updated_at = $4
        where wallet_address = $2 and status in :open
            and (offering_id = $1 or offering_id not in (
                select h.offering_id from holdings h where h.wallet_address = $2 and h.balance <> '0'
                union
                select a.offering_id from token_accounts a
                where a.wallet_address = $2 and a.frozen and a.successor_address is null))
        returning *")
    .words(":open", &Status::OPEN)
    .bind((offering_id, Hex(lost), Hex(successor), now))
    .rows::<Subscription>(tx)
    .await?;
    for s in &moved {
        let offering = offering::find(tx, &s.offering_id).await?;
        let wallets = json!({ "wallet_address": successor.to_checksum(None), "lost_address": lost.to_checksum(None) });
        write_event(tx, &offering, s, "wallet_changed", wallets).await?;
    }
    Ok(moved.len() as u64)
}
