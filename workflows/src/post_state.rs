//! The last check of a proof: what it shows must not be contradicted by what stands now, on the chain and in the books. Nodes drop old
//! state, so the books, which are read from events, have the word for everything but what can be undone again.

use alloy_primitives::B256;
use muniment_activities::receipt::Receipt;
use muniment_activities::simulate::At;
use muniment_domain::entitlement::{self, Status};
use muniment_domain::operation::Operation;
use muniment_domain::step::Step;
use muniment_domain::{Result, chain};

use crate::compliance;
use crate::effect::Effect;
use crate::engine::{Engine, Network};
use crate::index::{self, Known};
use crate::retry::unavailable;

/// What contradicts a proof that is final and that the endpoints agree on, or none. An endpoint may have hidden its events from the books,
/// and where nobody here sent the transaction, this is the first look at its receipt.
pub async fn contradiction(
    engine: &Engine,
    network: &Network,
    op: &Operation,
    step: &Step,
    effect: &Effect,
    receipt: &Receipt,
) -> Result<Option<String>> {
    let mut tx = engine.db.read().await?;
    let at = chain::find(&mut tx, network.id()).await?.map_or(At::Latest, |c| At::Hash(c.final_hash.0));
    let mut books = Known::of(&mut tx, network, &[receipt]).await?;
    let paid = match effect {
        Effect::LinesPaid(..) => entitlement::of_operation(&mut tx, &op.id).await?,
        _ => Vec::new(),
    };
    drop(tx);
    if !index::has_read(engine, &mut books, receipt).await? {
        return Ok(Some(format!("the books lacked events of {}; the token is read again, ask then", receipt.tx_hash)));
    }
    let elsewhere = |hash: Option<B256>| hash.is_some_and(|hash| hash != receipt.tx_hash);
    if let Some(e) = paid.iter().find(|e| e.status == Status::Paid && elsewhere(e.tx_hash.map(|h| h.0))) {
        return Ok(Some(format!("{} was paid by another transaction", e.id)));
    }
    let Effect::Compliance(done) = effect else { return Ok(None) };
    compliance::contradicted(&network.chain, step.target.0, done, at).await.map_err(|fault| unavailable(&fault))
}
