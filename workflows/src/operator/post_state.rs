//! The last check of a confirmation proof: the current state must not contradict the effect. Nodes prune old state, so the ledger, which is
//! read from final events, decides. The chain is asked only about effects that can be undone, such as a freeze.

use muniment_activities::chain::receipt::Receipt;
use muniment_activities::chain::simulate::At;
use muniment_domain::operation::Operation;
use muniment_domain::step::Step;
use muniment_domain::{Result, chain};

use crate::engine::effect::Effect;
use crate::engine::execution::unavailable;
use crate::engine::known_events::{self, Known};
use crate::engine::{Engine, Network};

/// The contradiction of a proof that is final and on which the endpoints agree, if any. An endpoint may have hidden its events from the
/// ledger, and a foreign transaction's receipt is read here for the first time.
pub async fn contradiction(
    engine: &Engine,
    network: &Network,
    op: &Operation,
    step: &Step,
    effect: &dyn Effect,
    receipt: &Receipt,
) -> Result<Option<String>> {
    let mut tx = engine.db.read().await?;
    let at = chain::find(&mut tx, network.id()).await?.map_or(At::Latest, |c| At::Hash(c.final_hash.0));
    let mut known = Known::default();
    known.read(&mut tx, network, &[receipt]).await?;
    let by_records = effect.contradicted_by_records(&mut tx, op, step).await?;
    drop(tx);
    if !known_events::has_read(engine, &mut known, receipt).await? {
        return Ok(Some(format!(
            "the ledger lacked events of {}. The token is being read again. Try again later",
            receipt.tx_hash
        )));
    }
    if by_records.is_some() {
        return Ok(by_records);
    }
    effect.contradicted_by_chain(network, step, at).await.map_err(|fault| unavailable(&fault))
}
