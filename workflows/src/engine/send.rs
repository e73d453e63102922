//! Sending stored bytes. A node's answer is noted and decides nothing.

use std::sync::atomic::Ordering;

use alloy_primitives::Bytes;
use chrono::Duration as Span;
use muniment_activities::chain::send::SendResult;
use muniment_activities::rpc::classify::SendClass;
use muniment_domain::attempt::{self, Attempt, SendAnswer};
use muniment_domain::id::LaneId;
use muniment_domain::point::{self, Point, When};
use muniment_domain::{Result, lane_state};

use crate::engine::{Engine, Network};
use crate::engine::{lane, queue, used_nonce};

/// Sends stored transactions and records the answers. No answer decides anything.
pub async fn send(engine: &Engine, network: &Network, attempts: Vec<&Attempt>) -> Result<()> {
    let sent = broadcast(engine, network, attempts).await?;
    record_answers(engine, network, &sent).await
}

/// Sends stored transactions that wait for too long to every endpoint, and records the answers.
pub async fn send_to_all(engine: &Engine, network: &Network, attempts: Vec<&Attempt>) -> Result<()> {
    let sent = broadcast_by(engine, network, attempts, true).await?;
    record_answers(engine, network, &sent).await
}

/// The answers to a send, and whether the chain reported a nonce as already used.
pub struct Broadcast {
    /// One answer for each transaction.
    pub answers: Vec<SendAnswer>,
    /// Whether every transaction was accepted. Then it does not matter when the answers are recorded.
    pub all_taken: bool,
    doubted: Option<LaneId>,
}

impl Broadcast {
    /// Answers to transactions that were all accepted.
    pub fn taken(answers: Vec<SendAnswer>) -> Self {
        Self { answers, all_taken: true, doubted: None }
    }

    /// Nothing was sent.
    pub fn nothing() -> Self {
        Self::taken(Vec::new())
    }
}

/// Sends stored transactions, lowest nonce first.
pub async fn broadcast(engine: &Engine, network: &Network, attempts: Vec<&Attempt>) -> Result<Broadcast> {
    broadcast_by(engine, network, attempts, false).await
}

async fn broadcast_by(
    engine: &Engine,
    network: &Network,
    mut attempts: Vec<&Attempt>,
    to_all: bool,
) -> Result<Broadcast> {
    let mut sent = Broadcast::nothing();
    if attempts.is_empty() {
        return Ok(sent);
    }
    attempts.sort_by_key(|a| a.nonce);
    let raws: Vec<Bytes> = attempts.iter().map(|a| Bytes::from(a.raw.clone())).collect();
    point::pass(Point::Send, When::Before)?;
    for attempt in &attempts {
        network.heads_since(attempt.tx_hash.0);
    }
    let answers = if to_all { network.chain.send_to_all(&raws).await } else { network.chain.send(&raws).await };
    point::pass(Point::Send, When::After)?;
    network.sent.notify_one();
    let at = engine.db.clock().now();
    for (attempt, answer) in attempts.iter().zip(&answers) {
        let text = in_words(answer);
        let is_refused = !matches!(answer, SendResult::Accepted(_) | SendResult::AlreadyKnown);
        sent.all_taken &= !is_refused;
        if matches!(answer, SendResult::Refused(r) if r.class == SendClass::NonceTooLow) {
            // Most often a block has just taken it. The explanation of used nonces tells if it was something else.
            sent.doubted = Some(attempt.lane_id.clone());
            tracing::info!(operation.id = %attempt.operation_id, tx.hash = %attempt.tx_hash, "the nonce is used already: {text}");
        } else if is_refused {
            tracing::warn!(operation.id = %attempt.operation_id, tx.hash = %attempt.tx_hash, "a node did not accept the transaction: {text}");
        }
        sent.answers.push(SendAnswer { tx_hash: attempt.tx_hash.0, at, answer: text });
    }
    Ok(sent)
}

/// Records the answers, and checks a lane whose nonce the chain reports as too low.
pub async fn record_answers(engine: &Engine, network: &Network, sent: &Broadcast) -> Result<()> {
    if sent.answers.is_empty() {
        return Ok(());
    }
    let mut tx = engine.db.begin().await?;
    let unfunded = lane_state::newly_unfunded(&mut tx, network.id(), &sent.answers).await?;
    attempt::record_sends(&mut tx, network.id(), &sent.answers).await?;
    for lane_id in unfunded {
        muniment_domain::lane::report_low_funds(&mut tx, &lane_id).await?;
    }
    if !network.followed_here.load(Ordering::Relaxed) {
        tx.notify_others_after_commit(queue::SENT, network.id().to_string());
    }
    tx.commit(Point::Answer).await?;
    if let Some(lane_id) = &sent.doubted {
        // Either the transaction is included and the follower will find it, or it was missed, or the key is used elsewhere, or the database
        // was restored.
        lane::check(engine, network, lane_id).await?;
        used_nonce::reconcile_lane(engine, network, lane_id).await?;
    }
    Ok(())
}

fn in_words(answer: &SendResult) -> String {
    match answer {
        SendResult::Accepted(_) => "accepted".to_owned(),
        SendResult::AlreadyKnown => "already_known".to_owned(),
        SendResult::Refused(refusal) if refusal.class == SendClass::InsufficientFunds => {
            format!("{}: {}", attempt::UNFUNDED, refusal.text)
        }
        SendResult::Refused(refusal) => format!("refused ({:?}): {}", refusal.class, refusal.text),
        SendResult::Unknown(text) => format!("unknown: {text}"),
    }
}

/// Whether the last send of an attempt is long enough ago to send it again. Without an answer its lane may be about to send what it has
/// signed. A time in the future comes from a clock that was set back since; it says nothing.
pub fn is_silent(attempt: &Attempt, now: chrono::DateTime<chrono::Utc>, seconds: u64) -> bool {
    let pause = Span::zero()..Span::seconds(seconds.cast_signed());
    !pause.contains(&(now - attempt.sent_at.unwrap_or(attempt.signed_at)))
}
