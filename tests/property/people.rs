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
use muniment_domain::operation::key_spent;
use muniment_domain::point::Point;
use muniment_domain::{Error, Result, offering};
use muniment_workflows::requester::Requester;
use muniment_workflows::{abandon, cancel, deploy, mark_confirmed, mint, retry};
use serde_json::json;

use crate::life::{Life, Lived};
use crate::stage::{self, CHAIN, HOLDERS, PARTITION};

/// Who asks, and who decides.
const MAKER: &str = "usr_maker";

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
}

/// Both offerings get their tokens, so that there is something to do.
pub async fn begin(life: &mut Life) -> Lived {
    for (n, offering) in life.stage.offerings.clone().into_iter().enumerate() {
        answer(life, Wish { what: What::Deploy, offering, key: format!("begin-{n}") }).await?;
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
            let offering = life.stage.offerings[life.seed.below(2) as usize].clone();
            life.asked += 1;
            let what = match life.seed.below(4) {
                0 => What::Deploy,
                _ => What::Mint,
            };
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
    if let Some(id) = key_spent(&mut tx, MAKER, &wish.key).await? {
        return Ok(format!("was accepted as {id}"));
    }
    let by = Requester { actor: MAKER.to_owned(), request_id: None, idempotency_key: Some(wish.key.clone()) };
    let offering_id = wish.offering.clone();
    let said = match wish.what {
        What::Deploy => deploy::request(&mut tx, &life.settings, deploy::Request::of(offering_id), &by).await?.id,
        What::Mint => {
            let request = mint::Request { offering_id, subscription_ids: None, lockup_release_at: None };
            format!("{} pages", mint::request(&mut tx, &life.settings, request, &by).await?.pages.len())
        }
    };
    tx.commit(Point::Accept).await?;
    Ok(said)
}

/// An operator does something about any operation, wise or not.
pub async fn operate(life: &mut Life) -> Lived {
    let open = life.ids("select id from operations where status <> 'confirmed' order by id").await;
    if open.is_empty() {
        return Ok(());
    }
    let id = open[life.seed.below(open.len() as u64) as usize].clone();
    let choice = life.seed.below(4);
    resolve(life, &id, choice).await
}

/// Whatever waits for a person is retried, then proved, then cancelled, then given up.
pub async fn tidy_up(life: &mut Life, attempt: u64) -> Lived {
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
        0 => ("retry", retry::retry(&engine, id, MAKER, "try again").await.map(|_| ())),
        1 => {
            let hash =
                life.ids("select tx_hash from attempts where block_number is not null order by tx_hash limit 1").await;
            let Some(hash) = hash.first().and_then(|h| h.parse::<B256>().ok()) else { return Ok(()) };
            ("mark_confirmed", mark_confirmed::mark_confirmed(&engine, id, hash, MAKER, "seen").await.map(|_| ()))
        }
        2 => ("cancel", cancel::cancel(&engine, id, MAKER, "not wanted").await.map(|_| ())),
        _ => ("abandon", abandon::abandon(&engine, id, MAKER, "no more").await),
    };
    let label = format!("{what} {id}");
    if ended.is_ok() {
        life.note(&label);
    }
    life.judge(&label, ended)
}

/// A holder sends some of its tokens to another wallet, past the platform.
pub async fn trade(life: &mut Life) -> Lived {
    let which = life.stage.offerings[life.seed.below(2) as usize].clone();
    let mut tx = life.stage.db.read().await.map_err(|e| e.to_string())?;
    let token = offering::find(&mut tx, &which).await.map_err(|e| e.to_string())?.token_address;
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
    let said = send(life, stage::holder_key(from), token.0, call.abi_encode().into());
    life.note(format!("holder {from} sends to {to}: {said}"));
    Ok(())
}

/// A transaction of somebody who is not the platform.
pub fn send(life: &Life, key: B256, to: Address, input: Bytes) -> String {
    let wallet = PrivateKeySigner::from_bytes(&key).unwrap();
    let count = life.stage.chain.handle(json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_getTransactionCount",
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
    life.stage.chain.handle(request)["result"].as_str().unwrap_or("refused").to_owned()
}

/// Whether no person's word is waited for.
pub async fn nothing_waits(_: &Life) -> bool {
    true
}

/// What all lives together have done.
#[derive(Default)]
pub struct Done(BTreeMap<String, u64>);

/// What must have happened at least once.
const MUST: &[&str] = &["deploy_token confirmed", "mint confirmed"];

impl Done {
    pub fn read(&mut self, story: &str) {
        for end in story.lines().filter_map(|line| line.split_once("end: ")) {
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
