//! Claims of what the distributor withholds: for one holder, or for all of a distribution page by page. The contract pays each account or
//! its successor, so a claim needs no second person. It leaves out whom it cannot pay; they stay held.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::iter::repeat_n;

use alloy_primitives::{Address, Bytes};
use muniment_activities::payout::claim::{self, Claim};
use muniment_activities::payout::distributor::page_of;
use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution};
use muniment_domain::entitlement::{self, Entitlement};
use muniment_domain::id::{BatchId, DistributionId, EntitlementId, OperationId, of};
use muniment_domain::operation::{self, Kind, NewOperation, Operation};
use muniment_domain::{Code, Error, Result, step};
use serde_json::json;

use crate::engine::queue;
use crate::own_record::not_own_entitlement;
use crate::payout::payee::Payees;
use crate::payout::withheld::{Sum, sums};
use crate::payout::{self, payer};
use crate::requester::Requester;
use crate::settings::Settings;

/// The step that claims for one account.
pub const ONE: &str = "claimWithheld";
/// The step that claims for a page of accounts.
pub const PAGE: &str = "batchClaimWithheld";

/// A request to claim.
#[derive(Clone, Debug)]
pub struct Request {
    /// The distribution.
    pub distribution_id: DistributionId,
    /// The entitlements. Without them, all that can be claimed.
    pub entitlement_ids: Option<Vec<EntitlementId>>,
}

/// An account of the distributor with the entitlements that wait for it.
struct Account {
    escrow: Address,
    account: Address,
    lines: Vec<Entitlement>,
}

impl Account {
    fn sum(&self, d: &Distribution) -> Sum {
        Sum::of(self.lines.iter().map(|e| d.units(e.net)))
    }
}

/// Accepts the claim for one holder. Unlike a page, it follows any number of recoveries.
pub async fn one(tx: &mut Tx, d: &Distribution, e: &Entitlement, by: &Requester) -> Result<Operation> {
    let all = accounts(tx, d).await?;
    let Some(found) = all.into_iter().find(|account| account.lines.iter().any(|line| line.id == e.id)) else {
        return Err(unreadable(e, "nothing is kept for it"));
    };
    let data = claim::one(Address::ZERO, found.escrow, d.chain_key(), found.account).data;
    accept(tx, d, ONE, &data, &[found], None, by).await
}

/// Accepts the claim for everybody who can be paid, or for the named ones, as a batch of pages.
pub async fn all(tx: &mut Tx, settings: &Settings, r: &Request, by: &Requester) -> Result<payout::Accepted> {
    let mut d = distribution::lock_row(tx, &r.distribution_id).await?;
    if !d.status.is_executed() {
        let detail = format!("The distribution is {}. Only an executed distribution has withheld money.", d.status);
        return Err(d.illegal(detail));
    }
    let kept = accounts(tx, &d).await?;
    let chosen = choose(tx, r, kept).await?;
    if r.entitlement_ids.is_some() {
        not_own_entitlement(tx, chosen.iter().flat_map(|account| &account.lines), by).await?;
    }
    if chosen.is_empty() {
        let detail = "Nothing that the distributor withholds of this distribution can be claimed now.";
        return Err(Error::refused(Code::NothingToPay, detail));
    }
    payout::resume(tx, &mut d, by).await?;
    // A claim needs up to twice the gas of a payment.
    let page_accounts = (settings.payout_page_holders / 2).clamp(1, payout::LINES_MAX);
    let (batch_id, mut operations) = (tx.new_id::<of::Batch>(), Vec::new());
    for of_escrow in chosen.chunk_by(|a, b| a.escrow == b.escrow) {
        for page in of_escrow.chunks(page_accounts) {
            let accounts = page.iter().map(|account| account.account).collect();
            let data = claim::page(Address::ZERO, of_escrow[0].escrow, d.chain_key(), accounts).data;
            let place = (batch_id.clone(), i64::try_from(operations.len()).unwrap_or(i64::MAX));
            operations.push(accept(tx, &d, PAGE, &data, page, Some(place), by).await?);
        }
    }
    Ok(payout::Accepted { distribution: d, operations })
}

/// The accounts that are claimed for. Only an account whose every line can be paid is: the contract pays them together.
async fn choose(tx: &mut Tx, r: &Request, mut all: Vec<Account>) -> Result<Vec<Account>> {
    let lines: Vec<Entitlement> = all.iter().flat_map(|account| account.lines.clone()).collect();
    let payees = Payees::of(tx, &lines).await?;
    let Some(ids) = &r.entitlement_ids else {
        all.retain_mut(|account| account.lines.iter_mut().all(|e| payees.admit(e).is_ok()));
        return Ok(all);
    };
    let mut named: BTreeSet<&EntitlementId> = ids.iter().collect();
    if let Some(unknown) = named.iter().find(|id| lines.iter().all(|e| e.id != **id)) {
        let detail = format!("The distributor withholds nothing for {unknown} in this distribution.");
        return Err(Error::field("/entitlement_ids", "not_found", detail));
    }
    all.retain(|account| account.lines.iter().filter(|e| named.remove(&e.id)).count() > 0);
    all.iter_mut().flat_map(|account| &mut account.lines).try_for_each(|e| payees.admit(e))?;
    Ok(all)
}

/// What is withheld of a distribution, by contract and account. Later recoveries do not change the account of a declared line.
async fn accounts(tx: &mut Tx, d: &Distribution) -> Result<Vec<Account>> {
    let mut keepers: HashMap<OperationId, Declared> = HashMap::new();
    let mut found: BTreeMap<(Address, Address), Vec<Entitlement>> = BTreeMap::new();
    for e in entitlement::withheld(tx, &d.id).await? {
        let keeper = e.operation_id.clone().ok_or_else(|| unreadable(&e, "no operation declared it"))?;
        if !keepers.contains_key(&keeper) {
            keepers.insert(keeper.clone(), declared(tx, &keeper).await?);
        }
        let place = e.line_index.and_then(|line| keepers[&keeper].get(&line).copied());
        found.entry(place.ok_or_else(|| unreadable(&e, "no line of it was declared"))?).or_default().push(e);
    }
    Ok(found.into_iter().map(|((escrow, account), lines)| Account { escrow, account, lines }).collect())
}

/// The contract and the account of each line.
type Declared = HashMap<i64, (Address, Address)>;

/// The lines that an operation declared, or claimed before.
async fn declared(tx: &mut Tx, operation_id: &OperationId) -> Result<Declared> {
    let op = operation::find(tx, operation_id).await?;
    if op.kind != Kind::DistributorPayout {
        return Err(Error::refused(Code::InvalidState, "The entitlement was not paid through the distributor."));
    }
    let mut lines = Declared::new();
    for step in step::of_operation(tx, operation_id).await? {
        let escrow = step.target.0;
        if let Some(claim) = Claim::of(&step.calldata) {
            let sums = sums(&op)?;
            let accounts = claim.accounts.iter().zip(&sums).flat_map(|(account, sum)| repeat_n(*account, sum.lines));
            lines.extend((0i64..).zip(accounts).map(|(line, account)| (line, (escrow, account))));
        } else if let Some(page) = page_of(&step.calldata) {
            let first = i64::try_from(page.from).unwrap_or(i64::MAX);
            lines.extend((first..).zip(&page.lines).map(|(line, of)| (line, (escrow, of.holder()))));
        }
    }
    Ok(lines)
}

async fn accept(
    tx: &mut Tx,
    d: &Distribution,
    name: &'static str,
    data: &Bytes,
    accounts: &[Account],
    batch: Option<(BatchId, i64)>,
    by: &Requester,
) -> Result<Operation> {
    let lane = payer::lane_of(tx, d.chain_id, d.funding_wallet.0).await?;
    let lines: Vec<Entitlement> = accounts.iter().flat_map(|account| account.lines.clone()).collect();
    let mut payload = payout::payload(d);
    payload["withheld"] = json!(lines.iter().map(|e| e.hold_reason).collect::<Vec<_>>());
    payload["units"] = json!(lines.iter().map(|e| d.units(e.net)).sum::<u128>().to_string());
    payload["claims"] = json!(accounts.iter().map(|account| account.sum(d)).collect::<Vec<_>>());
    let escrow = accounts.first().map(|account| account.escrow).unwrap_or_default();
    let steps = vec![payout::step(name, escrow, data)];
    let new = payout::new_operation(d, &lane, Kind::DistributorPayout, payload, steps, by);
    let op = payout::insert(tx, d, NewOperation { batch, ..new }, &lines).await?;
    queue::first_wake(tx, &op).await?;
    Ok(op)
}

fn unreadable(e: &Entitlement, why: &str) -> Error {
    Error::Unreadable { what: "entitlement", id: e.id.to_string(), why: why.to_owned() }
}
