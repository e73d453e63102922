//! The promises: what the database says against what the chain will never take back.

use std::collections::{BTreeMap, BTreeSet};

use crate::block::Receipt;
use crate::facts::Facts;
pub use crate::facts::facts;
use crate::ledger::AGENT;
use crate::net::Net;

type Broken = Result<(), String>;

/// Looks after moves; a thorough one after every move.
pub struct Oracle {
    pub draining: bool,
    thorough: bool,
    passed: u64,
}

impl Oracle {
    pub fn new(thorough: bool) -> Self {
        Self { draining: false, thorough, passed: 0 }
    }

    /// Rows that are wrong stay wrong, so a look now and then finds as much as one after every move.
    pub fn wants_to_look(&mut self) -> bool {
        self.passed += 1;
        self.thorough || self.passed.is_multiple_of(8)
    }

    /// What holds at every moment.
    pub fn judge(&self, facts: &Facts, net: &Net) -> Broken {
        nothing_sleeps(facts)?;
        one_operation_a_nonce(facts)?;
        no_gap(facts, net)?;
        steps_in_order(facts)?;
        included_where_followed(facts)?;
        legal_history(facts)?;
        confirmed_is_executed(facts, net)?;
        reverted_is_reverted(facts, net)?;
        sent_once(net)?;
        domain_follows(facts)?;
        held_is_issued(facts, net)
    }

    /// What holds besides when everything has come to rest.
    pub fn judge_end(&self, facts: &Facts, net: &Net) -> Broken {
        self.must_be_quiet(facts)?;
        executed_is_confirmed(facts, net)?;
        let held = held(facts, net);
        if held != facts.holdings {
            return Err(format!("holdings are {:?}, the chain has {held:?}", facts.holdings));
        }
        let confirmed: BTreeSet<&str> =
            facts.operations.iter().filter(|o| o.status == "confirmed").map(|o| o.id.as_str()).collect();
        for item in &facts.items {
            let minted = item.minted_by.as_deref() == Some(item.operation.as_str());
            if confirmed.contains(item.operation.as_str()) != minted {
                return Err(format!("{} of {}: minted is {minted}", item.subject, item.operation));
            }
        }
        Ok(())
    }

    pub fn must_be_quiet(&self, facts: &Facts) -> Broken {
        match facts.restless() {
            None => Ok(()),
            Some(what) => Err(format!("stuck: {what}")),
        }
    }
}

/// The engine has a reason to come back to every unfinished operation: a time, a cause whose end wakes it, or a transaction on the chain.
fn nothing_sleeps(facts: &Facts) -> Broken {
    let on_chain: BTreeSet<&str> = facts
        .steps
        .iter()
        .filter(|s| s.state == "signed" || s.state == "included")
        .map(|s| s.operation.as_str())
        .collect();
    for op in facts.operations.iter().filter(|o| o.status == "pending" || o.status == "submitted") {
        let is_awake = op.waits || op.status == "submitted" && on_chain.contains(op.id.as_str());
        if !is_awake {
            return Err(format!("{} is {} and sleeps for ever: {}", op.id, op.status, op.note));
        }
    }
    Ok(())
}

fn one_operation_a_nonce(facts: &Facts) -> Broken {
    let mut owners: BTreeMap<(&str, i64), (&str, i64)> = BTreeMap::new();
    for a in &facts.attempts {
        let owner = (a.operation.as_str(), a.position);
        if *owners.entry((&a.lane, a.nonce)).or_insert(owner) != owner {
            return Err(format!("nonce {} of {} is of {owner:?} and of another", a.nonce, a.lane));
        }
    }
    Ok(())
}

/// Every nonce below the counter has stored bytes, or was used by a stranger.
fn no_gap(facts: &Facts, net: &Net) -> Broken {
    for lane in &facts.lanes {
        let stored: BTreeSet<i64> = facts.attempts.iter().filter(|a| a.lane == lane.id).map(|a| a.nonce).collect();
        let strange = net.seen.values().filter(|t| !t.ours && format!("{:#x}", t.from) == lane.signer);
        let strange: BTreeSet<i64> = strange.map(|t| t.nonce.cast_signed()).collect();
        if let Some(gap) = (0..lane.next_nonce).find(|n| !stored.contains(n) && !strange.contains(n)) {
            return Err(format!("lane {} counts to {}, and {gap} has no attempt", lane.id, lane.next_nonce));
        }
        if stored.last().is_some_and(|highest| *highest >= lane.next_nonce) {
            return Err(format!("lane {} counts to {}, and more is stored", lane.id, lane.next_nonce));
        }
    }
    Ok(())
}

/// Within a cycle a later step has a higher nonce of the same lane.
fn steps_in_order(facts: &Facts) -> Broken {
    for first in facts.attempts.iter().filter(|a| a.position == 0) {
        let later =
            |a: &&crate::facts::Attempt| a.operation == first.operation && a.position == 1 && a.cycle == first.cycle;
        if let Some(second) = facts.attempts.iter().find(later)
            && (second.lane != first.lane || second.nonce <= first.nonce)
        {
            return Err(format!("steps of {} have nonces {} and {}", first.operation, first.nonce, second.nonce));
        }
    }
    Ok(())
}

/// A reorganisation takes back every inclusion in the blocks that it replaces.
fn included_where_followed(facts: &Facts) -> Broken {
    match &facts.misplaced {
        Some(operation) => Err(format!("a step of {operation} is included in a block that is not followed")),
        None => Ok(()),
    }
}

fn legal_history(facts: &Facts) -> Broken {
    for op in &facts.operations {
        let mut stands: Option<&str> = None;
        for line in facts.history.iter().filter(|h| h.operation == op.id) {
            let (from, to) = (line.from.as_deref(), line.to.as_str());
            if from != stands || !line.is_legal() {
                return Err(format!("{} went from {from:?} to {to} by {}, and stood at {stands:?}", op.id, line.actor));
            }
            if line.events != 1 {
                return Err(format!("{} events tell that {} became {to}", line.events, op.id));
            }
            stands = Some(to);
        }
        if stands != Some(op.status.as_str()) {
            return Err(format!("{} is {}, its history ends with {stands:?}", op.id, op.status));
        }
    }
    Ok(())
}

/// Nothing is confirmed that the chain could take back, or does not have.
fn confirmed_is_executed(facts: &Facts, net: &Net) -> Broken {
    for step in facts.steps.iter().filter(|s| facts.status(&s.operation) == "confirmed") {
        if !step.is_executed(net.settled()) {
            return Err(format!("{} is confirmed, and its step {} is not final", step.operation, step.position));
        }
    }
    Ok(())
}

/// No step counts as reverted whose own transaction had its effect, was refused because another one had it before, or is a cancel.
fn reverted_is_reverted(facts: &Facts, net: &Net) -> Broken {
    for step in facts.steps.iter().filter(|s| s.outcome.as_deref() == Some("reverted")) {
        let own = final_calls(net).find(|r| step.tx_hash.as_ref() == Some(&format!("{:#x}", r.tx.hash)));
        if own.is_some_and(|r| r.tx.data.is_empty()) {
            return Err(format!("step {} of {} counts as reverted, and was cancelled", step.position, step.operation));
        }
        if own.is_some_and(|r| r.success || is_replayed(r)) && step.is_executed(net.settled()) {
            return Err(format!("step {} of {} counts as reverted, and it is executed", step.position, step.operation));
        }
    }
    Ok(())
}

/// What is final has its confirmed operation; what a person gave up has no effect of ours.
fn executed_is_confirmed(facts: &Facts, net: &Net) -> Broken {
    let by_agent: BTreeSet<_> =
        final_calls(net).filter(|r| r.tx.from == AGENT && r.success).map(|r| &r.tx.data).collect();
    let has_token = |offering: &str| facts.tokens.iter().any(|(id, token)| id == offering && token.is_some());
    for step in &facts.steps {
        // All deployments of an offering are one call, and whichever of them was confirmed gave it its token.
        if step.op_number.is_none() && has_token(&step.subject) {
            continue;
        }
        let (status, executed) = (facts.status(&step.operation), step.is_executed(net.settled()));
        if executed && status != "confirmed" && !by_agent.iter().any(|data| data[..] == step.calldata[..]) {
            return Err(format!("step {} of {} is executed, the operation is {status}", step.position, step.operation));
        }
    }
    let known: BTreeSet<_> = facts.steps.iter().filter_map(|s| s.key()).collect();
    for (token, issued) in &net.settled().tokens {
        for (id, payload) in &issued.executed {
            let ours = known.contains(&(format!("{token:#x}"), id.cast_signed(), format!("{payload:#x}")));
            let theirs = by_agent.iter().any(|data| alloy::primitives::keccak256(data) == *payload);
            if !ours && !theirs {
                return Err(format!("{token} executed operation id {id}, which nobody asked for"));
            }
        }
    }
    Ok(())
}

/// The nonce alone keeps a call from being executed twice: the contract's own lock is never what saved us.
fn sent_once(net: &Net) -> Broken {
    let call = |r: &Receipt| (r.tx.to, r.tx.data.clone());
    let by_agent: BTreeSet<_> = final_calls(net).filter(|r| r.tx.from == AGENT).map(call).collect();
    let mut done = BTreeSet::new();
    for receipt in final_calls(net).filter(|r| r.tx.ours && !r.tx.data.is_empty()) {
        let counts = receipt.success || is_replayed(receipt);
        if counts && !by_agent.contains(&call(receipt)) && !done.insert(call(receipt)) {
            return Err(format!("{} executes a second time what was executed before", receipt.tx.hash));
        }
    }
    Ok(())
}

/// Whether the contract refused it because its operation id was executed before.
fn is_replayed(receipt: &Receipt) -> bool {
    !receipt.success && muniment_activities::revert::decode(&receipt.revert).name == "OperationReplayed"
}

fn final_calls(net: &Net) -> impl Iterator<Item = &Receipt> {
    net.blocks.iter().take(net.last as usize + 1).flat_map(|b| &b.receipts)
}

/// Tokens and subscriptions say what confirmed steps did, and nothing else.
fn domain_follows(facts: &Facts) -> Broken {
    for (offering, token) in &facts.tokens {
        let deployed = facts
            .operations
            .iter()
            .any(|o| o.kind == "deploy_token" && o.subject == *offering && o.status == "confirmed");
        if token.is_some() != deployed {
            return Err(format!("{offering} has the token {token:?}, a confirmed deployment: {deployed}"));
        }
    }
    for item in facts.items.iter().filter(|i| i.minted_by.as_deref() == Some(i.operation.as_str())) {
        let succeeded =
            facts.steps.iter().any(|s| s.operation == item.operation && s.outcome.as_deref() == Some("success"));
        if !succeeded {
            return Err(format!("{} is minted by {}, of which no step succeeded", item.subject, item.operation));
        }
    }
    Ok(())
}

/// What each holder of each offering has on the chain, also by a colleague's hand.
fn held(facts: &Facts, net: &Net) -> BTreeMap<(String, String), u128> {
    let tokens = facts.tokens.iter().filter_map(|(offering, token)| Some((offering, token.as_ref()?)));
    let issued = tokens.filter_map(|(offering, token)| {
        Some((offering, net.settled().tokens.get(&token.parse::<alloy::primitives::Address>().ok()?)?))
    });
    let lines = issued.flat_map(|(offering, issued)| {
        issued
            .balances
            .iter()
            .filter(|(holder, _)| !holder.is_zero())
            .map(move |(holder, units)| ((offering.clone(), format!("{holder:#x}")), units.to::<u128>()))
    });
    lines.collect()
}

/// Nobody holds what was not issued, finally. It may be less for a while: the books are read again after an endpoint hid something.
fn held_is_issued(facts: &Facts, net: &Net) -> Broken {
    let issued: u128 = net.settled().tokens.values().map(|token| token.supply.to::<u128>()).sum();
    let held: u128 = facts.holdings.values().sum();
    if held > issued { Err(format!("{held} units are held, {issued} were issued")) } else { Ok(()) }
}
