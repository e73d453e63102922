//! An offering as the public, its issuer and staff see it. The names of the specification come first.

use muniment_domain::db::Tx;
use muniment_domain::exemption::{self, Exemption};
use muniment_domain::id::{IssuerId, OfferingId};
use muniment_domain::idempotency::Answer;
use muniment_domain::money::Money;
use muniment_domain::offering::choice::{IssuancePolicy, KycRequirement, PaymentMethod, Template, Visibility};
use muniment_domain::offering::{Offering, OfferingDetail, OfferingSummary, Status, document};
use muniment_domain::operation::{self, Filter, Kind};
use muniment_domain::{Error, Result, token};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::token::{Blockchain, TokenDeployment, blockchain, token_deployment};
use super::{Audience, document as paper};
use crate::app::App;
use crate::field::amount::Amount;
use crate::field::cause::Partition;
use crate::http::instant::Instant;

/// An amount of cents as people read it.
fn amount(minor: i64) -> Amount {
    Amount(Money::from_minor(minor))
}

/// An offering as lists show it.
#[derive(Serialize, ToSchema)]
#[schema(as = OfferingItem)]
pub struct Item {
    id: OfferingId,
    #[schema(example = "Solar Park Alentejo")]
    name: String,
    status: Status,
    template: Template,
    minimum_investment: Amount,
    currency: String,
    token_symbol: String,
    target_amount: Amount,
    raised_amount: Amount,
    hard_cap: Amount,
    opens_at: Option<Instant>,
    closes_at: Option<Instant>,
    issuer_name: String,
    cover_image_url: Option<String>,
    visibility: Visibility,
    created_at: Instant,
}

/// An offering as lists show it.
pub fn item(listed: &OfferingSummary) -> Item {
    let o = &listed.offering;
    Item {
        id: o.id.clone(),
        name: o.name.clone(),
        status: o.status,
        template: o.template,
        minimum_investment: amount(o.minimum_investment),
        currency: o.currency.clone(),
        token_symbol: o.token_symbol.clone(),
        target_amount: amount(o.target_amount),
        raised_amount: amount(listed.raised_amount),
        hard_cap: amount(o.hard_cap),
        opens_at: o.opens_at.map(Instant),
        closes_at: o.closes_at.map(Instant),
        issuer_name: listed.issuer_name.clone(),
        cover_image_url: o.cover_image_url.clone(),
        visibility: o.visibility,
        created_at: Instant(o.created_at),
    }
}

/// An offering with the data of its token contract.
#[derive(Serialize, ToSchema)]
#[schema(as = Offering)]
pub struct Full {
    id: OfferingId,
    #[schema(example = "Solar Park Alentejo")]
    name: String,
    /// The token deployment. Null before it was requested.
    #[serde(rename = "tokenDeployment")]
    token_deployment: TokenDeployment,
    /// The token contract. Null before the deployment.
    blockchain: Blockchain,
    status: Status,
    #[serde(flatten)]
    terms: Terms,
    /// The issuer.
    issuer: Issuer,
    /// The total of active subscriptions.
    committed_total: Amount,
    raised_amount: Amount,
    /// The number of investors.
    investor_count: i64,
    documents: Vec<paper::Item>,
    /// When the offering was published. Null if it was not.
    published_at: Option<Instant>,
    /// When the offering was closed. Null if it was not.
    closed_at: Option<Instant>,
    /// The version of the terms.
    terms_version: i64,
    /// The SHA-256 of the terms.
    terms_sha256: Option<String>,
    version: i64,
    created_at: Instant,
    updated_at: Instant,
    /// The reason of the current status.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, extensions(("x-shown-to" = json!(["issuer", "staff"]))))]
    status_reason: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, extensions(("x-shown-to" = json!(["issuer", "staff"]))))]
    submitted_at: Option<Option<Instant>>,
    /// The actions that the current status allows, each by the last part of its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<String>, example = json!(["request-changes", "approve"]), extensions(("x-shown-to" = json!(["issuer", "staff"]))))]
    allowed_transitions: Option<Vec<&'static str>>,
    /// The user who submitted the offering.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, extensions(("x-shown-to" = json!(["staff"]))))]
    submitted_by: Option<Option<String>>,
    /// The user who approved the offering.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, extensions(("x-shown-to" = json!(["staff"]))))]
    approved_by: Option<Option<String>>,
}

/// The issuer of the offering.
#[derive(Serialize, ToSchema)]
#[schema(as = OfferingIssuer)]
struct Issuer {
    id: IssuerId,
    #[schema(example = "Solar Park Alentejo Lda")]
    name: String,
}

/// The terms of an offering.
#[derive(Serialize, ToSchema)]
#[schema(as = OfferingTerms)]
struct Terms {
    template: Template,
    description: String,
    cover_image_url: Option<String>,
    currency: String,
    minimum_investment: Amount,
    maximum_investment: Option<Amount>,
    target_amount: Amount,
    soft_cap: Option<Amount>,
    hard_cap: Amount,
    unit_price: Amount,
    token_symbol: String,
    token_decimals: i64,
    #[schema(value_type = Partition)]
    partition: String,
    /// The key of the chain in the configuration. Null if the chain is no longer configured.
    network: Option<String>,
    visibility: Visibility,
    opens_at: Option<Instant>,
    closes_at: Option<Instant>,
    auto_open: bool,
    /// The time zone of the offering as minutes ahead of UTC. A record date ends at midnight in this zone.
    utc_offset_minutes: i64,
    exemption: Exemption,
    cooling_off: CoolingOff,
    lockup: Lockup,
    /// When the lockup period ends. Null if unknown.
    lockup_release_at: Option<Instant>,
    kyc_requirement: KycRequirement,
    issuance_policy: IssuancePolicy,
    accreditation_required: bool,
    allowed_countries: Vec<String>,
    blocked_countries: Vec<String>,
    holder_cap: Option<i64>,
    one_subscription_per_investor: bool,
    payment_methods: Vec<PaymentMethod>,
}

/// The cooling-off period of subscriptions.
#[derive(Serialize, ToSchema)]
#[schema(as = OfferingCoolingOff)]
struct CoolingOff {
    mode: CoolingOffMode,
    hours: i64,
}

/// The start of the cooling-off period.
#[derive(Serialize, ToSchema)]
#[schema(as = OfferingCoolingOffMode)]
#[serde(rename_all = "snake_case")]
enum CoolingOffMode {
    BeforeClose,
    AfterCommitment,
}

/// The lockup period of the tokens.
#[derive(Serialize, ToSchema)]
#[schema(as = OfferingLockup)]
struct Lockup {
    enabled: bool,
    rule: Option<LockupRule>,
    days: Option<i64>,
}

/// The start of the lockup period.
#[derive(Serialize, ToSchema)]
#[schema(as = OfferingLockupRule)]
#[serde(rename_all = "snake_case")]
enum LockupRule {
    AfterClose,
    FixedDate,
}

/// The whole of it for an audience.
pub async fn full(app: &App, tx: &mut Tx, shown: &OfferingDetail, audience: Audience) -> Result<Full> {
    let OfferingDetail { listed: OfferingSummary { offering: o, issuer_name, raised_amount }, investor_count } = shown;
    let filter = Filter { kinds: vec![Kind::DeployToken], offering_id: Some(o.id.clone()), ..Filter::default() };
    let deployment = operation::list(tx, &filter, 1, 0).await?.pop();
    let token = token::find(tx, &o.id).await?;
    let documents = document::list(tx, &o.id).await?;
    let (inner, staff) = (audience != Audience::Public, audience == Audience::Staff);
    Ok(Full {
        id: o.id.clone(),
        name: o.name.clone(),
        token_deployment: token_deployment(o, deployment.as_ref()),
        blockchain: blockchain(app, o, token.as_ref()),
        status: o.status,
        terms: terms(app, o),
        issuer: Issuer { id: o.issuer_id.clone(), name: issuer_name.clone() },
        committed_total: amount(o.committed_total),
        raised_amount: amount(*raised_amount),
        investor_count: *investor_count,
        documents: documents.iter().map(paper::item).collect(),
        published_at: o.published_at.map(Instant),
        closed_at: o.closed_at.map(Instant),
        terms_version: o.terms_version,
        terms_sha256: o.terms_sha256.clone(),
        version: o.version,
        created_at: Instant(o.created_at),
        updated_at: Instant(o.updated_at),
        status_reason: inner.then(|| o.status_reason.clone()),
        submitted_at: inner.then(|| o.submitted_at.map(Instant)),
        allowed_transitions: inner.then(|| o.status.requests()),
        submitted_by: staff.then(|| o.submitted_by.clone()),
        approved_by: staff.then(|| o.approved_by.clone()),
    })
}

/// The JSON text, with the names in the order of the specification.
pub fn text(full: &Full) -> Result<String> {
    let unreadable =
        |e: serde_json::Error| Error::Unreadable { what: "offering", id: full.id.to_string(), why: e.to_string() };
    serde_json::to_string(full).map_err(unreadable)
}

/// The ETag of that text. The text also depends on the deployment, the payments and the audience, so the version alone is not enough.
pub fn tag(version: i64, text: &str) -> String {
    let hash = Sha256::digest(text);
    let number = hash.iter().take(size_of::<u64>()).fold(0_u64, |sum, byte| sum << u8::BITS | u64::from(*byte));
    format!("\"v{version}-{number}\"")
}

/// The tag of a stored answer that holds an offering.
pub fn tag_of(answer: &Answer) -> Option<String> {
    #[derive(Deserialize)]
    struct Versioned {
        version: i64,
    }
    let Versioned { version } = serde_json::from_str(&answer.body).ok()?;
    Some(tag(version, &answer.body))
}

fn terms(app: &App, o: &Offering) -> Terms {
    let list = |text: &str| text.split_ascii_whitespace().map(str::to_owned).collect();
    Terms {
        template: o.template,
        description: o.description.clone(),
        cover_image_url: o.cover_image_url.clone(),
        currency: o.currency.clone(),
        minimum_investment: amount(o.minimum_investment),
        maximum_investment: o.maximum_investment.map(amount),
        target_amount: amount(o.target_amount),
        soft_cap: o.soft_cap.map(amount),
        hard_cap: amount(o.hard_cap),
        unit_price: amount(o.unit_price),
        token_symbol: o.token_symbol.clone(),
        token_decimals: o.token_decimals,
        partition: o.partition_id.to_string(),
        network: app.chain(o.chain_id).map(|chain| chain.key.clone()),
        visibility: o.visibility,
        opens_at: o.opens_at.map(Instant),
        closes_at: o.closes_at.map(Instant),
        auto_open: o.auto_open,
        utc_offset_minutes: o.utc_offset_minutes,
        exemption: o.exemption,
        cooling_off: cooling_off(o),
        lockup: lockup(o),
        lockup_release_at: o.lockup_release_at.map(Instant),
        kyc_requirement: o.kyc_requirement,
        issuance_policy: o.issuance_policy,
        accreditation_required: o.accreditation_required,
        allowed_countries: list(&o.allowed_countries),
        blocked_countries: list(&o.blocked_countries),
        holder_cap: o.holder_cap,
        one_subscription_per_investor: o.one_subscription_per_investor,
        payment_methods: o.payment_methods.0.clone(),
    }
}

fn cooling_off(o: &Offering) -> CoolingOff {
    match o.exemption.profile().cooling_off {
        exemption::CoolingOff::BeforeClose(hours) => CoolingOff { mode: CoolingOffMode::BeforeClose, hours },
        exemption::CoolingOff::After(least) | exemption::CoolingOff::AfterWithin(least) => {
            let hours = o.cooling_off_hours.unwrap_or(least).max(least);
            CoolingOff { mode: CoolingOffMode::AfterCommitment, hours }
        }
    }
}

fn lockup(o: &Offering) -> Lockup {
    let days = o.lockup_days.filter(|days| *days > 0);
    let enabled = days.is_some() || o.lockup_release_at.is_some();
    let rule = if days.is_some() { LockupRule::AfterClose } else { LockupRule::FixedDate };
    Lockup { enabled, rule: enabled.then_some(rule), days }
}
