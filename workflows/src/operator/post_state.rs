//! The last check of a proof: what it shows must not be contradicted by what stands now, on the chain and in the books. Nodes drop old
//! state, so the books, which are read from events, have the word for everything but what can be undone again.

use muniment_activities::direct_payout;
use muniment_activities::distributor::{self, Outcome};
use muniment_activities::line::Line;
use muniment_activities::receipt::Receipt;
use muniment_activities::simulate::At;
use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Scope};
use muniment_domain::entitlement::{self, Status};
use muniment_domain::operation::Operation;
use muniment_domain::step::Step;
use muniment_domain::{Result, chain};

use crate::compliance;
use crate::engine::effect::{Effect, payload};
use crate::engine::{Engine, Network};
use crate::ledger::index::{self, Known};
use crate::operator::retry::unavailable;
use crate::payout::distribution::last_successor;

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
    let unlike = match effect {
        Effect::LinesPaid(first, outcomes) => not_to_be_paid(&mut tx, op, step, *first, outcomes).await?,
        _ => None,
    };
    drop(tx);
    if !index::has_read(engine, &mut books, receipt).await? {
        return Ok(Some(format!("the books lacked events of {}; the token is read again, ask then", receipt.tx_hash)));
    }
    if unlike.is_some() {
        return Ok(unlike);
    }
    let Effect::Compliance(done) = effect else { return Ok(None) };
    compliance::contradicted(&network.chain, step.target.0, done, at).await.map_err(|fault| unavailable(&fault))
}

/// Why what the coin shows is not what the books have to be paid by these lines: each must still be this operation's and unpaid, for
/// exactly its units, and for whom the call names or who followed them.
async fn not_to_be_paid(
    tx: &mut Tx,
    op: &Operation,
    step: &Step,
    first: i64,
    outcomes: &[Outcome],
) -> Result<Option<String>> {
    let d = distribution::find(tx, &Scope::All, &op.subject_id).await?;
    let list = entitlement::of_operation(tx, &op.id).await?;
    let mut due = Vec::with_capacity(outcomes.len());
    for (line, _) in (first..).zip(outcomes) {
        match list.iter().find(|e| e.line_index == Some(line)) {
            Some(e) if e.status == Status::Queued => due.push(e),
            Some(e) => return Ok(Some(format!("{}, its line {line}, is {}", e.id, e.status))),
            None => return Ok(Some(format!("its line {line} is in another operation by now"))),
        }
    }
    let Some(called) = called(&step.calldata) else {
        // A claim names no line: the contract pays what it kept for all of them together.
        let (claimed, sum): (String, u128) = (payload(op, "units")?, due.iter().map(|e| d.units(e.net)).sum());
        return Ok((claimed != sum.to_string()).then(|| format!("{claimed} units were claimed, {sum} are to be paid")));
    };
    for (e, line) in due.into_iter().zip(called) {
        let (units, payee, holder) = (d.units(e.net), e.payee_address.0, line.holder());
        if line.units() != units {
            return Ok(Some(format!("{} is to get {units} units, and the call pays {}", e.id, line.units())));
        }
        if holder != payee && last_successor(tx, holder).await? != payee {
            return Ok(Some(format!("{} is to be paid to {payee}, and the call pays {holder}", e.id)));
        }
    }
    Ok(None)
}

/// The lines that a call pays; none where it names none.
fn called(calldata: &[u8]) -> Option<Vec<Line>> {
    let page = direct_payout::page_of(calldata).map(|page| page.lines);
    page.or_else(|| distributor::page_of(calldata).map(|page| page.lines))
}
