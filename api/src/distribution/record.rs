//! A distribution as staff, its issuer and its investors see it.

use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution, Kind, Method, Status};
use muniment_domain::entitlement::{self, Entitlement, HoldReason, Listed, Totals};
use muniment_domain::id::{ApprovalId, DistributionId, EntitlementId, InvestorId, OfferingId, OperationId, UserId};
use muniment_domain::money::{self, Money};
use muniment_domain::offering::Offering;
use muniment_domain::snapshot::{self, Snapshot};
use muniment_domain::{Result, approval, operation};
use serde::Serialize;
use utoipa::ToSchema;

use crate::field::address::Typed;
use crate::field::amount::Amount;
use crate::field::subject::Trouble;
use crate::http::instant::Instant;
use crate::offering::brief;

/// Operations that a distribution shows.
const OPERATIONS_MAX: i64 = 100;

/// The facts of a distribution that every reader sees.
#[derive(Serialize, ToSchema)]
#[schema(as = DistributionFacts)]
pub struct Facts {
    id: DistributionId,
    pub offering_id: OfferingId,
    offering_name: String,
    /// The offering. Only with `expand=offering`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub offering: Option<brief::View>,
    #[serde(rename = "type")]
    kind: Kind,
    status: Status,
    currency: String,
    per_unit_amount: Option<Amount>,
    payout_token: PayoutToken,
    partition: String,
    record_date: Instant,
    /// The block whose balances count. Null until it is known.
    record_block: Option<Block>,
    payment_date: Instant,
    expires_at: Option<Instant>,
    created_at: Instant,
    updated_at: Instant,
    executed_at: Option<Instant>,
    completed_at: Option<Instant>,
    version: i64,
}

/// The token in which payouts are made.
#[derive(Serialize, ToSchema)]
#[schema(as = PayoutToken)]
struct PayoutToken {
    address: Typed,
    #[schema(example = "EURC")]
    symbol: String,
    /// The number of decimals.
    decimals: i64,
    chain_id: i64,
}

/// The block whose balances count.
#[derive(Serialize, ToSchema)]
#[schema(as = RecordBlock)]
struct Block {
    number: i64,
    #[schema(example = "0x5c3a7e1d9b2f4860a1c5e7d9b3f8264051c3a7e1d9b2f4860a1c5e7d9b3f8264")]
    hash: String,
    /// The time of the block.
    mined_at: Instant,
}

/// The accounts of a distribution, for its issuer and for staff.
#[derive(Serialize, ToSchema)]
#[schema(as = DistributionAccount)]
pub struct Account {
    #[serde(flatten)]
    pub facts: Facts,
    total_amount: Option<Amount>,
    method: Method,
    memo: Option<String>,
    /// Wallets that are not paid.
    excluded_addresses: Vec<Typed>,
    holder_count: Option<i64>,
    #[schema(example = "1000000")]
    total_supply: Option<String>,
    /// The SHA-256 of the snapshot.
    snapshot_sha256: Option<String>,
    /// The Merkle root of the entitlements.
    entitlements_root: Option<String>,
    totals: DistributionTotals,
    /// The problem that stopped the distribution. Null if there is none.
    problem: Option<Trouble>,
    approval: Option<PendingApproval>,
    /// The audit report recorded on the chain. Null if there is none.
    audit_declaration: Option<Declaration>,
}

/// A distribution as staff see it.
#[derive(Serialize, ToSchema)]
#[schema(as = Distribution)]
pub struct Full {
    #[serde(flatten)]
    pub account: Account,
    /// The wallet that pays.
    funding_wallet: Typed,
    /// The newest 100 operations of the payout. `GET /blockchain/operations?subject_id=` lists all of them.
    operations: Vec<PayoutOperation>,
    created_by: String,
}

/// A distribution as its issuer sees it, without transactions and funding wallet.
#[derive(Serialize, ToSchema)]
#[schema(as = OrgDistribution)]
pub struct Org {
    #[serde(flatten)]
    pub account: Account,
    /// The number of operations of the payout.
    operation_count: i64,
}

/// The totals of the distribution.
#[derive(Serialize, ToSchema)]
#[schema(as = DistributionTotals)]
struct DistributionTotals {
    gross: Amount,
    withholding: Amount,
    net: Amount,
    paid: Amount,
    held: Amount,
    excluded: Amount,
    failed: Amount,
    open: Amount,
    /// The total of the entitlements minus the exact total, because amounts are rounded to cents.
    #[schema(example = "0.00")]
    rounding_adjustments: String,
}

/// An operation of the payout.
#[derive(Serialize, ToSchema)]
#[schema(as = PayoutOperation)]
struct PayoutOperation {
    id: OperationId,
    status: operation::Status,
    /// The number of payees.
    recipient_count: i64,
}

/// The approval that the distribution waits for.
#[derive(Serialize, ToSchema)]
#[schema(as = DistributionApproval)]
struct PendingApproval {
    id: ApprovalId,
    status: approval::Status,
}

/// The hash of an audit report that is recorded on the chain.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditDeclaration)]
struct Declaration {
    tx_hash: String,
    /// The SHA-256 of the audit report.
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    report_sha256: String,
}

/// Everything about one.
pub async fn full(tx: &mut Tx, d: &Distribution, of: &Offering) -> Result<Full> {
    let operations = distribution::operations_of(tx, &d.id, OPERATIONS_MAX).await?.into_iter();
    Ok(Full {
        account: account(tx, d, of).await?,
        funding_wallet: Typed(d.funding_wallet.0),
        operations: operations
            .map(|(id, status, recipient_count)| PayoutOperation { id, status, recipient_count })
            .collect(),
        created_by: d.created_by.clone(),
    })
}

/// One for its issuer.
pub async fn org(tx: &mut Tx, d: &Distribution, of: &Offering) -> Result<Org> {
    let operation_count = distribution::operation_count(tx, &d.id).await?;
    Ok(Org { account: account(tx, d, of).await?, operation_count })
}

async fn account(tx: &mut Tx, d: &Distribution, of: &Offering) -> Result<Account> {
    let (snapshot, totals) = (snapshot::find(tx, &d.id).await?, entitlement::totals(tx, &d.id).await?);
    let asked = match &d.approval_id {
        Some(id) => Some(approval::find(tx, id).await?),
        None => None,
    };
    let declared = d.audit_report_sha256.zip(d.audit_tx_hash);
    Ok(Account {
        facts: facts(d, &of.name, snapshot.as_ref()),
        total_amount: d.total_amount.map(cents),
        method: d.method,
        memo: d.memo.clone(),
        excluded_addresses: d.excluded_addresses.0.iter().filter_map(|text| text.parse().ok().map(Typed)).collect(),
        holder_count: snapshot.as_ref().map(|s| s.holder_count),
        total_supply: snapshot.as_ref().map(|s| s.total_supply.to_string()),
        snapshot_sha256: snapshot.map(|s| s.sha256),
        entitlements_root: d.entitlements_root.map(|root| root.to_string()),
        totals: sums(d, &totals),
        problem: d.problem_code.as_ref().map(|code| Trouble { code: code.clone(), detail: d.problem_detail.clone() }),
        approval: asked.map(|a| PendingApproval { id: a.id, status: a.status }),
        audit_declaration: declared.map(|(report, tx_hash)| Declaration {
            tx_hash: tx_hash.to_string(),
            report_sha256: format!("{:x}", report.0),
        }),
    })
}

/// A distribution as one of its investors sees it: their own entitlements only.
#[derive(Serialize, ToSchema)]
#[schema(as = OwnDistribution)]
pub struct Own {
    #[serde(flatten)]
    pub facts: Facts,
    /// The first of `my_entitlements`.
    my_entitlement: Option<Part>,
    /// The investor's entitlements, one for each wallet.
    my_entitlements: Vec<Part>,
}

/// The part of one investor.
pub async fn own(tx: &mut Tx, d: &Distribution, of: &Offering, user_id: &UserId) -> Result<Own> {
    let snapshot = snapshot::find(tx, &d.id).await?;
    let found = entitlement::of_user(tx, &d.id, user_id).await?;
    Ok(Own {
        facts: facts(d, &of.name, snapshot.as_ref()),
        my_entitlement: found.first().map(|e| part(e, of.token_decimals)),
        my_entitlements: found.iter().map(|e| part(e, of.token_decimals)).collect(),
    })
}

fn facts(d: &Distribution, offering_name: &str, snapshot: Option<&Snapshot>) -> Facts {
    Facts {
        id: d.id.clone(),
        offering_id: d.offering_id.clone(),
        offering_name: offering_name.to_owned(),
        offering: None,
        kind: d.kind,
        status: d.status,
        currency: d.currency.clone(),
        per_unit_amount: d.per_unit_amount.map(cents),
        payout_token: PayoutToken {
            address: Typed(d.payout_token.0),
            symbol: d.payout_symbol.clone(),
            decimals: d.payout_decimals,
            chain_id: d.chain_id,
        },
        partition: d.partition_id.to_string(),
        record_date: Instant(d.record_date),
        record_block: snapshot.map(|s| Block {
            number: s.block_number,
            hash: s.block_hash.to_string(),
            mined_at: Instant(s.block_time),
        }),
        payment_date: Instant(d.payment_date),
        expires_at: None,
        created_at: Instant(d.created_at),
        updated_at: Instant(d.updated_at),
        executed_at: d.executed_at.map(Instant),
        completed_at: d.completed_at.map(Instant),
        version: d.version,
    }
}

fn sums(d: &Distribution, t: &Totals) -> DistributionTotals {
    let rounding = d.total_amount.filter(|_| t.count > 0).map_or(0, |total| total - t.gross);
    DistributionTotals {
        gross: cents(t.gross),
        withholding: cents(t.withholding),
        net: cents(t.net),
        paid: cents(t.paid),
        held: cents(t.held),
        excluded: cents(t.excluded),
        failed: cents(t.failed),
        open: cents(t.open),
        rounding_adjustments: amount(rounding),
    }
}

/// An entitlement as its investor sees it, without internal decisions.
#[derive(Serialize, ToSchema)]
#[schema(as = OwnEntitlement)]
pub struct Part {
    id: EntitlementId,
    distribution_id: DistributionId,
    wallet_address: Typed,
    /// The address that is paid. It differs from the wallet after a recovery.
    payee_address: Typed,
    /// The balance at the record date.
    #[schema(example = "250.00")]
    balance_at_record: String,
    base_units: String,
    gross_amount: Amount,
    /// The withholding rate in percent.
    #[schema(example = "15.00")]
    withholding_rate: String,
    withholding_amount: Amount,
    net_amount: Amount,
    status: entitlement::Status,
    hold_reason: Option<HoldReason>,
    tx_hash: Option<String>,
    block_number: Option<i64>,
    paid_at: Option<Instant>,
    created_at: Instant,
    updated_at: Instant,
}

/// An entitlement as staff see it.
#[derive(Serialize, ToSchema)]
#[schema(as = Entitlement)]
pub struct Line {
    #[serde(flatten)]
    part: Part,
    investor_id: Option<InvestorId>,
    /// A note of the operator.
    #[schema(example = "The bank asks for the tax form.")]
    note: Option<String>,
    operation_id: Option<OperationId>,
    version: i64,
}

/// An entitlement as the issuer sees it, without internal decisions.
#[derive(Serialize, ToSchema)]
#[schema(as = OrgEntitlement)]
pub struct OrgLine {
    #[serde(flatten)]
    part: Part,
    /// The holder.
    holder: Holder,
}

/// The owner of a wallet. The fields are null if the owner is unknown.
#[derive(Serialize, ToSchema)]
#[schema(as = EntitledHolder)]
struct Holder {
    investor_id: Option<InvestorId>,
    /// The name of the holder.
    #[schema(example = "Ada Almeida")]
    display_name: Option<String>,
    #[schema(example = "DE")]
    country: Option<String>,
}

/// One entitlement for the issuer.
pub fn org_line(row: &Listed, token_decimals: i64) -> OrgLine {
    let (investor_id, display_name) = (row.entitlement.investor_id.clone(), row.legal_name.clone());
    let holder = Holder { investor_id, display_name, country: row.country.clone() };
    OrgLine { part: part(&row.entitlement, token_decimals), holder }
}

/// One entitlement.
pub fn line(e: &Entitlement, token_decimals: i64) -> Line {
    Line {
        part: part(e, token_decimals),
        investor_id: e.investor_id.clone(),
        note: e.note.clone(),
        operation_id: e.operation_id.clone(),
        version: e.version,
    }
}

fn part(e: &Entitlement, token_decimals: i64) -> Part {
    let decimals = u32::try_from(token_decimals).unwrap_or(0);
    Part {
        id: e.id.clone(),
        distribution_id: e.distribution_id.clone(),
        wallet_address: Typed(e.wallet_address.0),
        payee_address: Typed(e.payee_address.0),
        balance_at_record: money::quantity(e.balance_at_record.0, decimals),
        base_units: e.balance_at_record.to_string(),
        gross_amount: cents(e.gross),
        withholding_rate: amount(e.withholding_rate_basis_points),
        withholding_amount: cents(e.withholding),
        net_amount: cents(e.net),
        status: e.status,
        hold_reason: e.hold_reason,
        tx_hash: e.tx_hash.map(|hash| hash.to_string()),
        block_number: e.block_number,
        paid_at: e.paid_at.map(Instant),
        created_at: Instant(e.created_at),
        updated_at: Instant(e.updated_at),
    }
}

/// An amount of cents, or a rate in hundredths of a percent, as people read it.
pub fn amount(minor: i64) -> String {
    Money::from_minor(minor).to_string()
}

const fn cents(minor: i64) -> Amount {
    Amount(Money::from_minor(minor))
}
