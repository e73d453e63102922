//! What people ask for: deployments, mints, and mints in two dependent steps, each under a key so that asking twice starts one thing.

use alloy::primitives::{Address, Bytes};
use muniment_activities::contract::line::Line;
use muniment_activities::contract::operation::payload_hash;
use muniment_activities::token;
use muniment_activities::token::mint::MintPage;
use muniment_domain::db::{Db, Tx};
use muniment_domain::id::{OfferingId, SubscriptionId};
use muniment_domain::operation::{self, Kind, NewOperation, NewStep, find_by_key};
use muniment_domain::operation_item::{self, Item};
use muniment_domain::point::Point;
use muniment_domain::subscription::{self, Status};
use muniment_domain::{Code, Error, Result, contract, offering};
use muniment_workflows::engine::queue;
use muniment_workflows::requester::Requester;
use muniment_workflows::settings::Settings;
use muniment_workflows::token::{deploy, mint};
use serde_json::json;

use crate::endpoint::Shared;
use crate::stage::CHAIN;

/// Who asks.
const ASKER: &str = "usr_issuer";

/// A request, with the key that it keeps when it is made again.
#[derive(Clone, Debug)]
pub struct Request {
    pub what: What,
    pub offering: String,
    pub key: String,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Deploy,
    MintAll,
    /// The first so many subscriptions that may be minted.
    MintSome(usize),
    /// Two pages as two steps of one operation.
    MintInTwo,
}

/// Makes a request as the API does: one transaction, and the key first.
pub async fn make(db: &Db, settings: &Settings, shared: &Shared, r: &Request) -> Result<String> {
    let mut tx = db.begin().await?;
    if let Some(id) = find_by_key(&mut tx, ASKER, &r.key).await? {
        return Ok(format!("was accepted as {id}"));
    }
    let by = Requester { actor: ASKER.to_owned(), request_id: None, idempotency_key: Some(r.key.clone()) };
    let offering_id: OfferingId = r.offering.as_str().into();
    let said = match r.what {
        What::Deploy => deploy::request(&mut tx, settings, deploy::Request::of(offering_id), &by).await?.id.into(),
        What::MintAll | What::MintSome(_) => {
            let subscription_ids = match r.what {
                What::MintSome(count) => Some(some(&mut tx, &offering_id, count).await?),
                _ => None,
            };
            let request = mint::Request { offering_id, subscription_ids, lockup_release_at: None };
            let mint::Requested::Accepted(accepted) = mint::ask(&mut tx, settings, request, &by).await? else {
                panic!("no amount reaches the threshold");
            };
            format!("{} pages", accepted.pages.len())
        }
        What::MintInTwo => mint_in_two(&mut tx, shared, &offering_id, &by).await?,
    };
    tx.commit(Point::Accept).await?;
    Ok(said)
}

async fn some(tx: &mut Tx, offering_id: &OfferingId, count: usize) -> Result<Vec<SubscriptionId>> {
    let candidates = subscription::candidates(tx, offering_id).await?;
    Ok(candidates.into_iter().take(count).map(|c| c.id).collect())
}

/// An operation whose second page is refused by the contract until the first was executed.
async fn mint_in_two(tx: &mut Tx, shared: &Shared, offering_id: &str, by: &Requester) -> Result<String> {
    let offered = offering::find(tx, &offering_id.into()).await?;
    let none = || Error::refused(Code::NothingToMint, "Two holders and a token are needed.");
    let token = offered.token_address.ok_or_else(none)?.0;
    let mut items: Vec<Item> = Vec::new();
    for c in subscription::candidates(tx, &offering_id.into()).await? {
        let (Some(wallet_address), Some(quantity)) = (c.wallet_address, c.quantity) else { continue };
        let free = c.status == Status::Accepted && c.live_operation_id.is_none();
        if free && items.iter().all(|i| i.wallet_address != wallet_address) {
            items.push(Item { subject_id: c.id.into(), wallet_address, quantity });
        }
    }
    items.truncate(2);
    if items.len() < 2 {
        return Err(none());
    }
    let first = contract::reserve_op_numbers(tx, CHAIN, token, 2).await?;
    let release_at = offered.lockup_release_at.map_or(0, |at| at.timestamp().cast_unsigned());
    let page = |n: usize| MintPage {
        op_id: first.cast_unsigned() + n as u64,
        partition: 1,
        release_at,
        lines: vec![Line::new(items[n].wallet_address.0, items[n].quantity.0).expect("small units")],
    };
    let pages = [page(0), page(1)];
    let new = NewOperation {
        kind: Kind::Mint,
        subject_type: "offering",
        subject_id: offering_id.to_owned(),
        offering_id: Some(offering_id.into()),
        batch: None,
        chain_id: CHAIN,
        lane_id: None,
        payload: json!({ "pages": pages }),
        live_key: None,
        requested_by: by.actor.clone(),
        request_id: None,
        idempotency_key: by.idempotency_key.clone(),
        steps: pages.iter().map(|page| step(token, page)).collect(),
    };
    let op = operation::insert(tx, new).await?;
    operation_item::insert(tx, &op.id, "subscription", &items).await?;
    queue::first_wake(tx, &op).await?;
    // By the payload, not by the number: numbers come back when a commit does not happen.
    let payload = |page| step(token, page).payload_hash.unwrap_or_default();
    shared.net().require((payload(&pages[0]), pages[0].op_id), payload(&pages[1]));
    Ok(op.id.into())
}

fn step(token: Address, page: &MintPage) -> NewStep {
    let calldata: Bytes = token::mint_page(Address::ZERO, token, page).data;
    NewStep {
        name: "mintPage",
        target: token,
        payload_hash: Some(payload_hash(&calldata)),
        calldata: calldata.to_vec(),
        op_number: Some(page.op_id.cast_signed()),
    }
}
