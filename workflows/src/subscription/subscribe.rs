//! A commitment by an investor, or by an operator on behalf of an investor who signed a consent.

use alloy_primitives::Address;
use chrono::{DateTime, Duration, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::{DocumentId, InvestorId, OfferingId};
use muniment_domain::investor::{self, document};
use muniment_domain::money::Money;
use muniment_domain::offering::choice::Visibility;
use muniment_domain::offering::{self, Offering, Status as Offered};
use muniment_domain::subscription::eligibility::{self, Check, Facts, Investor, Relation, Stage};
use muniment_domain::subscription::{self, New, Subscription};
use muniment_domain::user::{self, Role};
use muniment_domain::{Code, Error, Result, issuer};

use super::wallet;
use crate::engine::timer;
use crate::limits;
use crate::own_record::not_own;
use crate::requester::Requester;
use crate::settings::Settings;

/// A request to subscribe.
#[derive(Clone, Debug)]
pub struct SubscribeRequest {
    /// The offering.
    pub offering_id: OfferingId,
    /// The amount.
    pub amount: Money,
    /// The wallet that receives the units. Without it, the investor's own wallet.
    pub wallet_address: Option<Address>,
    /// The investor's own reference.
    pub reference: Option<String>,
    /// The documents and warnings that the investor acknowledged.
    pub acknowledgements: Vec<String>,
    /// The investor, if an operator subscribes on behalf of one.
    pub investor_id: Option<InvestorId>,
    /// The investor's signed consent, if an operator subscribes.
    pub consent_document_id: Option<DocumentId>,
}

/// The result that a request would have.
#[derive(Debug)]
pub struct Preview {
    /// The offering.
    pub offering: Offering,
    /// The result of each rule.
    pub checks: Vec<Check>,
    /// The wallet that would receive the units.
    pub wallet_address: Option<Address>,
    /// The end of the cooling-off period.
    pub cooling_off_expires_at: DateTime<Utc>,
    /// The payment deadline.
    pub payment_due_at: DateTime<Utc>,
}

/// Creates a subscription and reserves its amount, in the same commit.
pub async fn subscribe(
    tx: &mut Tx,
    settings: &Settings,
    asked: &SubscribeRequest,
    by: &Requester,
) -> Result<(Offering, Subscription)> {
    let investor_id = investor(tx, asked, by).await?;
    let offering = offering::lock_row(tx, &asked.offering_id).await?;
    must_be_shown(&offering, asked)?;
    let investor = Investor::lock_row(tx, &investor_id).await?;
    if let Some(consent) = &asked.consent_document_id {
        // Again under the lock: another request may have used it meanwhile.
        document::check_consent(tx, &investor.id, consent).await?;
    }
    let record = eligibility::verdict(checks(tx, settings, &offering, &investor, asked).await?)?;
    let wallet = wallet::choose(tx, &offering, &investor.id, asked.wallet_address).await?;
    if let Some(new) = wallet.filter(|wallet| wallet.is_new) {
        muniment_domain::wallet::insert_unverified(tx, &investor.id, new.address).await?;
    }
    let now = tx.now();
    let cooling_off_expires_at = offering.cooling_off_expires_at(now);
    let payment_due_at = payment_due_at(tx, settings, cooling_off_expires_at).await?;
    let hours = limits::current(tx, settings).await?.1.unverified_hours;
    let verify_by = (investor.kyc_status != investor::Status::Approved).then_some(now + Duration::hours(hours.into()));
    let new = New {
        offering: &offering,
        investor_id: &investor.id,
        amount: asked.amount.minor(),
        wallet: wallet.map(|wallet| wallet.address),
        cooling_off_expires_at,
        payment_due_at,
        verify_by,
        payment_method: offering.payment_methods.first(),
        reference: asked.reference.as_deref(),
        consent_document_id: asked.consent_document_id.as_ref(),
        created_by: &by.actor,
        idempotency_key: by.idempotency_key.as_deref(),
    };
    let s = subscription::insert(tx, &new).await?;
    subscription::store_checks(tx, &s.id, "commit", &record, &asked.acknowledgements).await?;
    timer::set(tx, &s.id, s.next_due()).await?;
    Ok((offering, s))
}

/// Evaluates a request without making it, and returns the result of every rule. Changes nothing.
pub async fn preview(tx: &mut Tx, settings: &Settings, asked: &SubscribeRequest, by: &Requester) -> Result<Preview> {
    let investor_id = investor(tx, asked, by).await?;
    let investor = Investor::find(tx, &investor_id).await?;
    let offering = offering::find(tx, &asked.offering_id).await?;
    must_be_shown(&offering, asked)?;
    let mut checks = checks(tx, settings, &offering, &investor, asked).await?;
    let wallet = match wallet::choose(tx, &offering, &investor.id, asked.wallet_address).await {
        Ok(wallet) => wallet,
        Err(refused) if refused.refusal().is_some() => {
            checks.push(Check { rule: "wallet", refused: Some(refused) });
            None
        }
        Err(error) => return Err(error),
    };
    if checks.last().is_none_or(|check| check.rule != "wallet") {
        checks.push(Check { rule: "wallet", refused: None });
    }
    let cooling_off_expires_at = offering.cooling_off_expires_at(tx.now());
    Ok(Preview {
        checks,
        wallet_address: wallet.map(|wallet| wallet.address),
        cooling_off_expires_at,
        payment_due_at: payment_due_at(tx, settings, cooling_off_expires_at).await?,
        offering,
    })
}

/// Records that the investor saw the risk warning. The reflection period starts now.
pub async fn warn(tx: &mut Tx, asked: &SubscribeRequest, by: &Requester) -> Result<()> {
    let investor_id = investor(tx, asked, by).await?;
    investor::record_risk_warning(tx, &investor_id).await
}

/// The payment deadline. It is counted from the end of the cooling-off period, because nobody pays while withdrawal is possible.
pub async fn payment_due_at(tx: &mut Tx, settings: &Settings, from: DateTime<Utc>) -> Result<DateTime<Utc>> {
    let days = limits::current(tx, settings).await?.1.payment_due_days;
    Ok(from + Duration::days(days.into()))
}

async fn checks(
    tx: &mut Tx,
    settings: &Settings,
    offering: &Offering,
    investor: &Investor,
    asked: &SubscribeRequest,
) -> Result<Vec<Check>> {
    let limits = limits::current(tx, settings).await?.1;
    let reservation_limit = Some(eligibility::read_reservation_limit(tx, offering, investor, &limits).await?);
    let relation: Relation = eligibility::read_relation(tx, offering, &investor.id, None).await?;
    let amount = asked.amount.minor();
    let mut checks = eligibility::evaluate(&Facts {
        stage: Stage::Commit,
        offering,
        investor,
        amount,
        held: 0,
        relation,
        reservation_limit,
        acknowledged: &asked.acknowledgements,
        now: tx.now(),
    });
    let suspended = issuer::find(tx, &offering.issuer_id).await?.status == issuer::Status::Suspended;
    let detail = "The issuer is suspended. The offering accepts no subscriptions now.";
    checks.push(Check {
        rule: "issuer_active",
        refused: suspended.then(|| Error::refused(Code::OfferingNotOpen, detail)),
    });
    Ok(checks)
}

/// The investor of a request. The role of the caller decides: a record as an investor stays when its person becomes an operator, and a
/// former operator has none. Nobody is both.
async fn investor(tx: &mut Tx, asked: &SubscribeRequest, by: &Requester) -> Result<InvestorId> {
    let caller = user::find(tx, &by.user_id()).await?;
    match &asked.investor_id {
        _ if caller.roles.has(Role::Operator) => on_behalf(tx, asked, by).await,
        _ if !caller.roles.has(Role::Investor) => {
            Err(Error::refused(Code::RoleForbidden, "Only investors and operators can subscribe."))
        }
        Some(_) => Err(Error::field(
            "/investor_id",
            "unknown_field",
            "An investor can only subscribe for themselves. Leave this field out.",
        )),
        None => Ok(investor::of_user(tx, &caller.id).await?.id),
    }
}

/// The investor whom an operator names together with a signed consent.
async fn on_behalf(tx: &mut Tx, asked: &SubscribeRequest, by: &Requester) -> Result<InvestorId> {
    let required = |pointer| {
        let detail = "A subscription on behalf of an investor needs the investor and the signed consent document.";
        Error::field(pointer, "required", detail)
    };
    let named = asked.investor_id.as_ref().ok_or_else(|| required("/investor_id"))?;
    let consent = asked.consent_document_id.as_ref().ok_or_else(|| required("/consent_document_id"))?;
    Investor::find(tx, named).await.map_err(|error| match error {
        Error::Refused { code: Code::NotFound, detail } => Error::field("/investor_id", "not_found", detail),
        other => other,
    })?;
    not_own(tx, named, by).await?;
    document::check_consent(tx, named, consent).await?;
    Ok(named.clone())
}

/// Refuses an offering that investors cannot see, as if it did not exist.
fn must_be_shown(offering: &Offering, asked: &SubscribeRequest) -> Result<()> {
    let hidden = matches!(offering.status, Offered::Draft | Offered::InReview | Offered::Approved | Offered::Cancelled)
        || offering.visibility == Visibility::Private;
    if hidden && asked.investor_id.is_none() {
        return Err(Error::refused(Code::NotFound, format!("There is no offering {}.", offering.id)));
    }
    Ok(())
}
