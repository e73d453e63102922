//! People: they ask for operations, again when no answer came, trade among themselves, and resolve what waits for them.

use std::collections::BTreeMap;
use std::fmt;

use alloy::consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy::eips::eip2718::Encodable2718;
use alloy::primitives::{Address, B256, Bytes, TxKind, U256, hex};
use alloy::signers::SignerSync;
use alloy::signers::local::PrivateKeySigner;
use alloy::sol;
use alloy::sol_types::SolCall;
use muniment_domain::approval as domain_approval;
use muniment_domain::id::OfferingId;
use muniment_domain::operation::find_by_key;
use muniment_domain::point::Point;
use muniment_domain::reason::{ForceReason, Reason};
use muniment_domain::user::{Role, Roles};
use muniment_domain::{Error, Result, offering};
use muniment_workflows::approval;
use muniment_workflows::approval::action::Action;
use muniment_workflows::compliance::{
    self, AddressRequest, Cause, ForceTransferRequest, LockRequest, PartitionRequest, RecoverRequest, RedeemRequest,
    Request, UnlockRequest,
};
use muniment_workflows::operator::{abandon, cancel, mark_confirmed, retry};
use muniment_workflows::requester::Requester;
use muniment_workflows::token::{deploy, mint};
use serde_json::json;

use crate::life::{Life, Lived};
use crate::stage::{self, CHAIN, HOLDERS, PARTITION, Stage};

/// Who asks.
pub const MAKER: &str = "usr_maker";
/// Who decides about it.
pub const CHECKER: &str = "usr_checker";
const WAITING: &str = "select id from approvals where status = 'pending' order by id";

sol! {
    function safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes data);
}

/// A wish, with the key that it keeps when it is made again.
#[derive(Clone, Debug)]
pub struct Wish {
    pub what: What,
    pub offering: String,
    pub key: String,
}

/// What is wished for.
#[derive(Clone, Debug)]
pub enum What {
    Deploy,
    Mint,
    Freeze(Address),
    Lock(Address, u64),
    Restrict,
    /// What takes a second person.
    Two(Box<Action>),
}

fn draw(life: &mut Life, offering: &str) -> What {
    let offering_id = offering.to_owned();
    let address = wallet(life);
    let cause = Cause { reason_code: Reason::Investigation, case_reference: None, document_sha256: None };
    let (partition, quantity) = (1, (1 + life.seed.below(30)).to_string());
    match life.seed.below(13) {
        0 => What::Deploy,
        1 | 2 => What::Mint,
        3 => What::Freeze(address),
        4 => What::Lock(address, 1 + life.seed.below(8)),
        5 => What::Restrict,
        6 => two(Request::Unfreeze(AddressRequest { offering_id: offering_id.into(), address, cause })),
        7 => two(Request::Unlock(UnlockRequest { offering_id: offering_id.into(), address, partition, cause })),
        8 => two(Request::Unrestrict(PartitionRequest { offering_id: offering_id.into(), partition, cause })),
        9 => {
            let lost = life.seed.below(HOLDERS as u64) as usize;
            // Mostly the owner asks, for a wallet that nobody has; now and then it is somebody else's, or it is taken.
            let owner = if life.seed.chance(0.8) { lost } else { 0 };
            let new = if life.seed.chance(0.8) { HOLDERS + lost } else { life.seed.below(HOLDERS as u64) as usize };
            two(Request::Recover(RecoverRequest {
                offering_id: if life.seed.chance(0.5) { "all".into() } else { offering_id.into() },
                investor_id: life.stage.investors[owner].as_str().into(),
                lost_address: stage::holder(lost),
                new_address: stage::holder(new),
                case_reference: None,
                evidence_document_sha256: B256::repeat_byte(7),
            }))
        }
        10 => {
            two(Request::Redeem(RedeemRequest { offering_id: offering_id.into(), address, partition, quantity, cause }))
        }
        _ => two(Request::ForceTransfer(ForceTransferRequest {
            offering_id: offering_id.into(),
            from: address,
            to: wallet(life),
            partition,
            quantity,
            reason_code: ForceReason::CourtOrder,
            case_reference: None,
            document_sha256: B256::repeat_byte(7),
        })),
    }
}

/// What takes a second person.
fn two(request: Request) -> What {
    What::Two(Box::new(Action::Compliance(request)))
}

/// Any wallet: a holder's, mostly, or one that had nothing at first.
fn wallet(life: &mut Life) -> Address {
    let among = if life.seed.chance(0.8) { HOLDERS } else { 2 * HOLDERS };
    stage::holder(life.seed.below(among as u64) as usize)
}

/// Both offerings get their tokens, so that there is something to do.
pub async fn begin(life: &mut Life) -> Lived {
    life.round().await?;
    for (n, offering) in life.stage.offerings.clone().into_iter().enumerate() {
        answer(life, Wish { what: What::Deploy, offering, key: format!("begin-{n}") }).await?;
    }
    for _ in 0..4 {
        life.round().await?;
    }
    for (n, offering) in life.stage.offerings.clone().into_iter().enumerate() {
        answer(life, Wish { what: What::Mint, offering, key: format!("first-{n}") }).await?;
    }
    for _ in 0..4 {
        life.round().await?;
    }
    Ok(())
}

/// Somebody asks for something, new or once more.
pub async fn ask(life: &mut Life) -> Lived {
    let wish = match life.unanswered.pop() {
        Some(wish) => wish,
        None => {
            let offering = life.seed.pick(&life.stage.offerings).clone();
            life.asked += 1;
            let what = draw(life, &offering);
            Wish { what, offering, key: format!("key-{}", life.asked) }
        }
    };
    answer(life, wish).await
}

/// Makes a wish; one that was lost with its answer is remembered.
pub async fn answer(life: &mut Life, wish: Wish) -> Lived {
    let said = make(life, &wish).await;
    if matches!(said, Err(Error::Crashed(_))) {
        life.unanswered.push(wish.clone());
    }
    let label = format!("{wish:?}");
    match said {
        Ok(said) => life.note(format!("{label} -> {said}")),
        Err(error) => life.judge(&label, Err(error))?,
    }
    Ok(())
}

/// As the API does: one transaction, and the key first.
async fn make(life: &Life, wish: &Wish) -> Result<String> {
    let mut tx = life.stage.db.begin().await?;
    if let Some(id) = find_by_key(&mut tx, MAKER, &wish.key).await? {
        return Ok(format!("was accepted as {id}"));
    }
    let by = Requester { actor: MAKER.to_owned(), request_id: None, idempotency_key: Some(wish.key.clone()) };
    let offering_id: OfferingId = wish.offering.as_str().into();
    let settings = &life.settings;
    let cause = Cause { reason_code: Reason::CourtOrder, case_reference: None, document_sha256: None };
    let said = match wish.what.clone() {
        What::Deploy => deploy::request(&mut tx, settings, deploy::Request::of(offering_id), &by).await?.id.into(),
        What::Mint => {
            let request = mint::Request { offering_id, subscription_ids: None, lockup_release_at: None };
            let mint::Requested::Accepted(accepted) = mint::ask(&mut tx, settings, request, &by).await? else {
                panic!("no amount reaches the threshold");
            };
            format!("{} pages", accepted.pages.len())
        }
        What::Freeze(address) => {
            let request = Request::Freeze(AddressRequest { offering_id, address, cause });
            compliance::request(&mut tx, &request, &by).await?.id.into()
        }
        What::Lock(address, units) => {
            let release_at = tx.now() + chrono::Duration::minutes(4);
            let quantity = units.to_string();
            let request = LockRequest { offering_id, address, partition: 1, quantity, release_at, cause };
            compliance::request(&mut tx, &Request::Lock(request), &by).await?.id.into()
        }
        What::Restrict => {
            let request = Request::Restrict(PartitionRequest { offering_id, partition: 1, cause });
            compliance::request(&mut tx, &request, &by).await?.id.into()
        }
        What::Two(action) => approval::request(&mut tx, settings, *action, &by).await?.id.into(),
    };
    tx.commit(Point::Accept).await?;
    Ok(said)
}

/// A second person allows what waits, mostly.
pub async fn decide(life: &mut Life, most: usize) -> Lived {
    for id in life.ids(WAITING).await.into_iter().take(most) {
        let allows = life.seed.chance(0.8);
        let decided = decide_one(life, &id, allows).await;
        life.judge(&format!("{} {id}", if allows { "allow" } else { "refuse" }), decided)?;
    }
    Ok(())
}

async fn decide_one(life: &Life, id: &str, allows: bool) -> Result<()> {
    let mut tx = life.stage.db.begin().await?;
    let a = domain_approval::find(&mut tx, &id.into()).await?;
    let by = Requester { actor: CHECKER.to_owned(), request_id: None, idempotency_key: None };
    let decision = approval::Decision {
        approval_id: a.id.clone(),
        version: a.version,
        by,
        roles: Roles::only(Role::Admin),
        comment: None,
    };
    if allows {
        approval::approve(&mut tx, &life.settings, &a.payload_sha256, decision).await?;
    } else {
        approval::reject(&mut tx, decision).await?;
    }
    tx.commit(Point::Accept).await
}

/// An operator does something about any operation, wise or not.
pub async fn operate(life: &mut Life) -> Lived {
    decide(life, 2).await?;
    let open = life.ids("select id from operations where status <> 'confirmed' order by id").await;
    if open.is_empty() {
        return Ok(());
    }
    let id = life.seed.pick(&open).clone();
    let choice = life.seed.below(4);
    resolve(life, &id, choice).await
}

/// Whatever waits for a person is retried, then proved, then cancelled, then given up.
pub async fn tidy_up(life: &mut Life, attempt: u64) -> Lived {
    decide(life, usize::MAX).await?;
    let waiting =
        "select id from operations where status in ('failed', 'dead_letter') and resolution is null order by id";
    for id in life.ids(waiting).await {
        resolve(life, &id, attempt % 4).await?;
    }
    Ok(())
}

async fn resolve(life: &mut Life, id: &str, choice: u64) -> Lived {
    let Some(engine) = life.engine.clone() else { return Ok(()) };
    let (what, ended) = match choice {
        0 => ("retry", retry::retry(&engine, &id.into(), MAKER, "try again").await.map(|_| ())),
        1 => {
            let hash =
                life.ids("select tx_hash from attempts where block_number is not null order by tx_hash limit 1").await;
            let Some(hash) = hash.first().and_then(|h| h.parse::<B256>().ok()) else { return Ok(()) };
            (
                "mark_confirmed",
                mark_confirmed::mark_confirmed(&engine, &id.into(), hash, MAKER, "seen").await.map(|_| ()),
            )
        }
        2 => ("cancel", cancel::cancel(&engine, &id.into(), MAKER, "not wanted").await.map(|_| ())),
        _ => ("abandon", abandon::abandon(&engine, &id.into(), MAKER, "no more").await),
    };
    let label = format!("{what} {id}");
    if ended.is_ok() {
        life.note(&label);
    }
    life.judge(&label, ended)
}

/// A holder sends some of its tokens to another wallet, past the platform.
pub async fn trade(life: &mut Life) -> Lived {
    let which = life.seed.pick(&life.stage.offerings).clone();
    let mut tx = life.stage.db.read().await.map_err(|e| e.to_string())?;
    let token = offering::find(&mut tx, &which.as_str().into()).await.map_err(|e| e.to_string())?.token_address;
    drop(tx);
    let Some(token) = token else { return Ok(()) };
    let (from, to) = (life.seed.below(HOLDERS as u64) as usize, life.seed.below(HOLDERS as u64) as usize);
    let call = safeTransferFromCall {
        from: stage::holder(from),
        to: stage::holder(to),
        id: U256::from(PARTITION),
        amount: U256::from(1 + life.seed.below(5)),
        data: Bytes::new(),
    };
    let said = send(&life.stage, stage::holder_key(from), token.0, call.abi_encode().into());
    life.note(format!("holder {from} sends to {to}: {said}"));
    Ok(())
}

/// A transaction of somebody who is not the platform.
pub fn send(stage: &Stage, key: B256, to: Address, input: Bytes) -> String {
    let wallet = PrivateKeySigner::from_bytes(&key).unwrap();
    let count = stage.chain.handle(json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_getTransactionCount",
        "params": [wallet.address(), "latest"] }));
    let nonce = u64::from_str_radix(count["result"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
    let transaction = TxEip1559 {
        chain_id: CHAIN.cast_unsigned(),
        nonce,
        gas_limit: 500_000,
        max_fee_per_gas: 50_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        to: TxKind::Call(to),
        input,
        ..TxEip1559::default()
    };
    let signature = wallet.sign_hash_sync(&transaction.signature_hash()).unwrap();
    let raw = hex::encode_prefixed(TxEnvelope::from(transaction.into_signed(signature)).encoded_2718());
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": [raw] });
    stage.chain.handle(request)["result"].as_str().unwrap_or("refused").to_owned()
}

/// Whether no person's word is waited for.
pub async fn nothing_waits(life: &Life) -> bool {
    life.ids(WAITING).await.is_empty()
}

/// What all lives together have done.
#[derive(Default)]
pub struct Done(BTreeMap<String, u64>);

/// What must have happened at least once.
const MUST: &[&str] = &[
    "deploy_token confirmed",
    "mint confirmed",
    "freeze confirmed",
    "unfreeze confirmed",
    "lock confirmed",
    "unlock confirmed",
    "restrict_partition confirmed",
    "unrestrict_partition confirmed",
    "force_transfer confirmed",
    "recover confirmed",
    "redeem confirmed",
    "payout confirmed",
    "distributor_payout confirmed",
];

impl Done {
    pub fn read(&mut self, story: &str) {
        for end in story.lines().filter_map(|line| line.split_once("s  end: ")) {
            *self.0.entry(end.1.trim().to_owned()).or_default() += 1;
        }
    }

    pub fn never(&self) -> Vec<&'static str> {
        MUST.iter().copied().filter(|what| !self.0.contains_key(*what)).collect()
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(what, count)| writeln!(f, "{count:6}  {what}"))
    }
}
