//! Mint: one transaction whitelists a page of holders, mints their units and locks them, under one operation number. Ten thousand holders
//! are fifty operations of one batch, and each of them succeeds or fails by itself.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, B256, Bytes};
use chrono::{DateTime, TimeDelta, Utc};
use muniment_activities::chain::gas::{self, GasModel};
use muniment_activities::contract::line::{Line, UNITS_MAX};
use muniment_activities::contract::operation::payload_hash;
use muniment_activities::token;
use muniment_activities::token::mint::MintPage;
use muniment_domain::approval::Approval;
use muniment_domain::contract;
use muniment_domain::daily_unapproved::{self, Addition, Thresholds};
use muniment_domain::db::Tx;
use muniment_domain::id::{BatchId, InvestorId, OfferingId, SubscriptionId, of};
use muniment_domain::offering::{self, Offering};
use muniment_domain::operation::{self, Kind, NewOperation, NewStep, Operation};
use muniment_domain::operation_item::{self, Item};
use muniment_domain::subscription::eligibility::{self, Check};
use muniment_domain::subscription::{self, Candidate, FinalMint, Status};
use muniment_domain::token::{self as token_terms, MintLimits};
use muniment_domain::{Code, Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::approval_request::{self, NewRequest};
use crate::engine::queue;
use crate::limits;
use crate::requester::Requester;
use crate::settings::Settings;
use crate::token::mint_list::{self, MintList};

/// A request to mint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The offering.
    pub offering_id: OfferingId,
    /// The subscriptions. Without them, all accepted ones.
    pub subscription_ids: Option<Vec<SubscriptionId>>,
    /// The end of the lockup, not before the offering's own date. Without it, that date.
    pub lockup_release_at: Option<DateTime<Utc>>,
}

/// The result of a request.
#[derive(Clone, Debug)]
pub enum Requested {
    /// The operations are accepted.
    Accepted(Accepted),
    /// A second person must approve it first. The skipped subscriptions are not part of it.
    Approval(Box<Approval>, Vec<Skipped>),
}

/// The subscriptions of a mint, and the skipped ones with the reason.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The subscriptions that are minted.
    pub items: Vec<Item>,
    /// The amount of each of them, in minor units.
    pub amounts: Vec<i64>,
    /// The skipped subscriptions.
    pub skipped: Vec<Skipped>,
    /// The rules that all of them passed.
    pub checks: Value,
    /// The gas limit of one transaction, if known.
    gas_cap: Option<i64>,
}

impl Selection {
    /// The total amount, in minor units.
    pub fn amount(&self) -> i64 {
        self.amounts.iter().fold(0, |sum, amount| sum.saturating_add(*amount))
    }
}

/// An accepted mint.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// The id that all pages share.
    pub batch_id: BatchId,
    /// The pages, each an operation.
    pub pages: Vec<Page>,
    /// The skipped subscriptions.
    pub skipped: Vec<Skipped>,
}

/// A page of the batch.
#[derive(Clone, Debug)]
pub struct Page {
    /// The operation.
    pub operation: Operation,
    /// The subscriptions that it mints.
    pub subscription_ids: Vec<SubscriptionId>,
}

/// A subscription that is not minted now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The subscription.
    pub subscription_id: SubscriptionId,
    /// The reason, as a stable code.
    pub code: &'static str,
}

/// Requests a mint. While the amounts of a day stay below the threshold it is accepted at once. From the threshold on, a second person must
/// approve exactly this list.
pub async fn ask(tx: &mut Tx, settings: &Settings, r: Request, by: &Requester) -> Result<Requested> {
    // Before the lock, because other mints of the offering wait for it.
    let limits = limits::current(tx, settings).await?.1;
    let (offerings, platform) = (limits.mint_dual_control_threshold, limits.mint_platform_dual_control_threshold);
    let offering = offering::lock_row(tx, &r.offering_id).await?;
    let (release_at, chosen) = evaluate(tx, &offering, &r).await?;
    let below = Thresholds { offering: offerings, platform };
    let more = Addition { offering_id: &offering.id, action: "mint", amount: chosen.amount(), below };
    if daily_unapproved::stays_below(tx, more).await? {
        let accepted = accept(tx, settings, &offering, release_at, chosen, by).await?;
        // Last, because mints of all offerings wait for the platform's sum.
        daily_unapproved::add(tx, more).await?;
        return Ok(Requested::Accepted(accepted));
    }
    let list = MintList::bind(&offering, release_at, &chosen);
    mint_list::check(tx, settings, &list).await?;
    let request = NewRequest::new(mint_list::ACTION, list.about(), &list)?;
    let approval = approval_request::store(tx, settings, request, by).await?;
    Ok(Requested::Approval(Box::new(approval), chosen.skipped))
}

/// Accepts the mint of exactly this list, or refuses it.
pub async fn request_list(tx: &mut Tx, settings: &Settings, list: MintList, by: &Requester) -> Result<Accepted> {
    let offering = offering::lock_row(tx, &list.offering_id).await?;
    let (release_at, chosen) = evaluate(tx, &offering, &list.request()).await?;
    list.must_be(&MintList::bind(&offering, release_at, &chosen))?;
    accept(tx, settings, &offering, release_at, chosen, by).await
}

/// Evaluates a request: the end of the lockup, and the subscriptions that can be minted now. Changes nothing.
pub async fn evaluate(tx: &mut Tx, offering: &Offering, r: &Request) -> Result<(Option<DateTime<Utc>>, Selection)> {
    if offering.token_address.is_none() {
        return Err(Error::refused(Code::InvalidState, "The offering has no token yet. Deploy it first."));
    }
    let limits = token_terms::mint_limits(tx, offering).await?;
    if limits.paused {
        return Err(Error::refused(
            Code::InvalidState,
            "The token is paused, so nothing can be minted. End the pause first.",
        ));
    }
    if !offering.may_mint() {
        let detail = format!(
            "The offering is {}. Subscriptions are minted when it is closed, or while it is open with the issuance policy rolling.",
            offering.status
        );
        return Err(Error::refused(Code::InvalidState, detail));
    }
    if offering.status == offering::Status::Open
        && subscription::totals(tx, &offering.id).await?.paid < offering.soft_cap.unwrap_or(0)
    {
        let detail = "The soft cap is not paid yet. If the offering misses it, everybody gets the money back, so nothing is minted before.";
        return Err(Error::refused(Code::InvalidState, detail));
    }
    if r.lockup_release_at.is_some_and(|at| at <= tx.now()) {
        return Err(Error::field("/lockup/release_at", "below_minimum", "A lock must end in the future."));
    }
    // The terms announce this lock. The chain counts whole seconds, and so does this comparison.
    if let (Some(at), Some(least)) = (r.lockup_release_at, offering.lockup_release_at)
        && at.timestamp() < least.timestamp()
    {
        let detail =
            format!("The terms lock the units until {}. A mint can only lock them for longer.", least.to_rfc3339());
        let params = json!({ "minimum": least });
        return Err(Error::field("/lockup/release_at", "below_minimum", detail).with_params(params));
    }
    // A day less: the block that includes the mint can be older than this clock.
    let latest = tx.now() + TimeDelta::days(token_terms::LOCK_DAYS_MAX - 1);
    if r.lockup_release_at.is_some_and(|at| at > latest) {
        return Err(Error::field("/lockup/release_at", "above_maximum", "A lock can last 20 years at most."));
    }
    let chosen = choose(tx, offering, limits, r.subscription_ids.as_deref()).await?;
    if chosen.items.is_empty() {
        return Err(Error::refused(Code::NothingToMint, nothing_to_mint(&chosen.skipped)));
    }
    // The contract refuses a lock that ends before the mint.
    let release_at = r.lockup_release_at.or(offering.lockup_release_at).filter(|at| *at > tx.now());
    Ok((release_at, chosen))
}

/// Why nothing can be minted: each reason with its number of subscriptions and one of them.
fn nothing_to_mint(skipped: &[Skipped]) -> String {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in skipped {
        reasons.entry(one.code).or_default().push(&one.subscription_id);
    }
    let reason = |(code, ids): (&&str, &Vec<&str>)| format!("{} {code} (such as {})", ids.len(), ids[0]);
    let reasons: Vec<_> = reasons.iter().map(reason).collect();
    if reasons.is_empty() {
        return "The offering has no subscription that can be minted.".to_owned();
    }
    format!("No subscription of this offering can be minted now. Skipped: {}.", reasons.join(", "))
}

/// Splits the list into pages, each an operation. The live key of a subscription keeps it out of two operations at once.
async fn accept(
    tx: &mut Tx,
    settings: &Settings,
    offering: &Offering,
    release_at: Option<DateTime<Utc>>,
    chosen: Selection,
    by: &Requester,
) -> Result<Accepted> {
    let token = offering.token_address.map(|a| a.0).unwrap_or_default();
    let release = release_at.map_or(0, |at| at.timestamp());
    let batch_id = tx.new_id::<of::Batch>();
    let pages: Vec<&[Item]> = chosen.items.chunks(page_holders(settings, chosen.gas_cap)).collect();
    let first =
        contract::reserve_op_numbers(tx, offering.chain_id, token, i64::try_from(pages.len()).unwrap_or(i64::MAX))
            .await?;
    let mut wanted = Vec::with_capacity(pages.len());
    for (index, lines) in (0i64..).zip(&pages) {
        let page = mint_page(offering, first + index, release, lines)?;
        wanted.push(new_page(offering, token, &batch_id, index, &page, by));
    }
    let operations = operation::insert_all(tx, wanted).await?;
    let items = operations.iter().zip(&pages).flat_map(|(op, lines)| lines.iter().map(|line| (&op.id, line)));
    operation_item::insert_all(tx, "subscription", &items.collect::<Vec<_>>()).await?;
    subscription::store_mint_checks(tx, &batch_id, &chosen.checks).await?;
    queue::first_wakes(tx, &operations).await?;
    let page = |(operation, lines): (Operation, &[Item])| Page {
        operation,
        subscription_ids: lines.iter().map(|line| line.subject()).collect(),
    };
    let pages = operations.into_iter().zip(pages).map(page).collect();
    Ok(Accepted { batch_id, pages, skipped: chosen.skipped })
}

/// The number of holders in a page: limited by the settings and by the chain's gas cap.
fn page_holders(settings: &Settings, gas_cap: Option<i64>) -> usize {
    let model = GasModel { base: settings.mint_page_gas, per_holder: settings.mint_holder_gas };
    let cap = gas_cap.map_or(u64::MAX, i64::cast_unsigned);
    settings.mint_page_holders.min(gas::page_holders_max(model, cap)).max(1)
}

/// Selects the subscriptions that can be minted now, and gives the reason for each skipped one.
async fn choose(
    tx: &mut Tx,
    offering: &Offering,
    limits: MintLimits,
    named: Option<&[SubscriptionId]>,
) -> Result<Selection> {
    let candidates = match named {
        None => subscription::candidates(tx, &offering.id).await?,
        Some(ids) => subscription::candidates_of(tx, &offering.id, ids).await?,
    };
    let mut holder_limit = HolderLimit::of(tx, &offering.id, limits.holder_cap).await?;
    let mut chosen = Selection { gas_cap: limits.gas_cap, ..Selection::default() };
    // A set holds each subscription once, in the order of the pages.
    let mut unknown: BTreeSet<&SubscriptionId> = named.unwrap_or_default().iter().collect();
    for candidate in candidates {
        unknown.remove(&candidate.id);
        let checks = candidate.checks(offering, tx.now());
        let passed =
            gate(&candidate, &checks).and_then(|item| holder_limit.take(&candidate.investor_id).map(|()| item));
        match passed {
            Ok(item) => {
                // Every selected subscription passed the same rules, so one record serves all of them.
                if chosen.items.is_empty() {
                    chosen.checks = eligibility::to_json(&checks);
                }
                chosen.items.push(item);
                chosen.amounts.push(candidate.amount);
            }
            Err(code) => chosen.skipped.push(Skipped { subscription_id: candidate.id, code }),
        }
    }
    chosen.skipped.extend(unknown.into_iter().map(|id| Skipped { subscription_id: id.clone(), code: "not_found" }));
    Ok(chosen)
}

/// The holders of a token, and their limit.
struct HolderLimit {
    holders: BTreeSet<String>,
    cap: Option<usize>,
}

impl HolderLimit {
    async fn of(tx: &mut Tx, offering_id: &OfferingId, cap: Option<i64>) -> Result<Self> {
        let Some(cap) = cap else { return Ok(Self { holders: BTreeSet::new(), cap: None }) };
        let holders = token_terms::holders(tx, offering_id).await?.into_iter().collect();
        Ok(Self { holders, cap: usize::try_from(cap).ok() })
    }

    /// Adds a holder, unless the investor is one already.
    fn take(&mut self, investor_id: &InvestorId) -> Result<(), &'static str> {
        let Some(cap) = self.cap else { return Ok(()) };
        if !self.holders.contains(investor_id.as_str()) && self.holders.len() >= cap {
            return Err("holder_cap_reached");
        }
        self.holders.insert(investor_id.to_string());
        Ok(())
    }
}

fn gate(c: &Candidate, checks: &[Check]) -> Result<Item, &'static str> {
    if c.status == Status::Minted {
        return Err("already_minted");
    }
    if c.status != Status::Accepted {
        return Err("not_accepted");
    }
    if c.live_operation_id.is_some() {
        return Err("operation_in_progress");
    }
    if let Some((code, _)) = checks.iter().find_map(|check| check.refused.as_ref()?.refusal()) {
        return Err(code);
    }
    let wallet_address = c.wallet_address.ok_or("wallet_required")?;
    if c.wallet_frozen {
        return Err("address_frozen");
    }
    let quantity = c.quantity.filter(|q| q.0 > 0).ok_or("quantity_missing")?;
    if quantity.0 > UNITS_MAX {
        return Err("quantity_out_of_range");
    }
    Ok(Item { subject_id: c.id.to_string(), wallet_address, quantity })
}

fn mint_page(offering: &Offering, op_number: i64, release_at: i64, items: &[Item]) -> Result<MintPage> {
    let lines = items.iter().map(|i| Line::new(i.wallet_address.0, i.quantity.0));
    Ok(MintPage {
        op_id: op_number.cast_unsigned(),
        partition: u32::try_from(offering.partition_id).unwrap_or(u32::MAX),
        release_at: release_at.cast_unsigned(),
        lines: lines.collect::<Result<_, _>>().map_err(|e| Error::refused(Code::ValidationFailed, e.to_string()))?,
    })
}

fn new_page(
    offering: &Offering,
    token: Address,
    batch_id: &BatchId,
    index: i64,
    page: &MintPage,
    by: &Requester,
) -> NewOperation {
    let calldata: Bytes = token::mint_page(Address::ZERO, token, page).data;
    let step = NewStep {
        name: "mintPage",
        target: token,
        payload_hash: Some(payload_hash(&calldata)),
        calldata: calldata.to_vec(),
        op_number: Some(page.op_id.cast_signed()),
    };
    NewOperation {
        kind: Kind::Mint,
        subject_type: "offering",
        subject_id: offering.id.to_string(),
        offering_id: Some(offering.id.clone()),
        batch: Some((batch_id.clone(), index)),
        chain_id: offering.chain_id,
        lane_id: None,
        payload: json!({ "page": page }),
        live_key: None,
        requested_by: by.actor.clone(),
        request_id: by.request_id.clone(),
        idempotency_key: by.idempotency_key.clone(),
        steps: vec![step],
    }
}

/// Marks the subscriptions of a final page as minted. The balances are already read from the token's events.
pub async fn settle(tx: &mut Tx, op: &Operation, page: &MintPage, tx_hash: B256, block_number: i64) -> Result<()> {
    let release = i64::try_from(page.release_at).ok().filter(|at| *at > 0);
    let lock_release_at = release.and_then(|at| DateTime::from_timestamp(at, 0));
    // A step settles only its own page, because an operation with several pages has the items of all of them.
    let on_page = |i: &Item| page.lines.iter().any(|l| (l.holder(), l.units()) == (i.wallet_address.0, i.quantity.0));
    let items: Vec<Item> = operation_item::of_operation(tx, &op.id).await?.into_iter().filter(on_page).collect();
    let offering = offering::find(tx, &op.subject()).await?;
    let currency = &offering.currency;
    let minted = FinalMint { operation_id: &op.id, tx_hash, block_number, lock_release_at, currency };
    let ids: Vec<SubscriptionId> = items.iter().map(|item| item.subject()).collect();
    subscription::set_minted(tx, &ids.iter().collect::<Vec<_>>(), &minted).await
}
