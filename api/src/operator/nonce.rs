//! `GET /blockchain/signers/{id}/nonces`: the nonces around the next one, in the database and on the chain.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use muniment_domain::id::{LaneId, OperationId};
use muniment_domain::lane::{self, Lane};
use muniment_domain::nonce::{self, Foreign, Signed};
use muniment_domain::operation;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::http::error::Result;
use crate::http::instant::Instant;
use crate::http::pages::Parameters;
use crate::operation::row::{self, Row};

/// Used nonces that are shown before the first open one.
const USED: i64 = 8;
/// The maximum number of nonces that are shown. A lane has fewer in flight.
const NONCES_MAX: i64 = 128;

/// The nonces of a signer around the next one.
#[derive(Serialize, ToSchema)]
pub struct SignerNonces {
    /// One line for each nonce, lowest first. The last is the next nonce.
    data: Vec<Nonce>,
    /// The operations of these nonces.
    operations: Vec<Row>,
}

/// A nonce of a signer.
#[derive(Serialize, ToSchema)]
#[schema(as = SignerNonce)]
struct Nonce {
    nonce: i64,
    /// Its state.
    state: NonceState,
    /// The operation that uses it. Null if there is none.
    operation_id: Option<OperationId>,
    /// The number of transactions that we signed with it. At most one of them is ever included.
    transactions: i64,
    /// When the first of them was signed.
    signed_at: Option<Instant>,
    /// When one of them was sent last.
    sent_at: Option<Instant>,
    /// The foreign transaction that used it.
    #[schema(example = "0xabababababababababababababababababababababababababababababababab")]
    foreign_tx_hash: Option<String>,
}

/// The state of a nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = SignerNonceState)]
#[serde(rename_all = "snake_case")]
enum NonceState {
    /// It is used in a final block.
    Final,
    /// It is used in a block that is not final.
    Included,
    /// A node shows it as pending.
    Pending,
    /// It is signed, and no node knows it.
    Signed,
    /// It was sent, and no node knows it. No higher nonce can be included.
    Gap,
    /// A foreign transaction used it.
    Foreign,
    /// It is used on the chain, and the database does not know by which transaction.
    Unknown,
    /// It is free: the next transaction is signed with it.
    Next,
}

/// List the nonces of a signer around the next one.
///
/// Shows the open nonces and some before them. The request does not ask the chain.
#[utoipa::path(
    get,
    path = "/blockchain/signers/{id}/nonces",
    responses((status = 200, body = SignerNonces)),
)]
pub async fn list(State(app): State<App>, Path(id): Path<LaneId>, uri: Uri) -> Result<Json<SignerNonces>> {
    id.check()?;
    Parameters::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    let lane = lane::find(&mut tx, &id).await?;
    let next = lane.next_nonce.max(lane.chain_nonce_latest.unwrap_or_default());
    let first_open = nonce::lowest_open(&mut tx, &id).await?.unwrap_or(lane.next_nonce).min(lane.next_nonce);
    let from = (first_open - USED).max(next - NONCES_MAX).max(0);
    let signed = nonce::signed(&mut tx, &id, (from, next)).await?;
    let foreign = nonce::foreign(&mut tx, &lane, (from, next)).await?;
    let ids: BTreeSet<&OperationId> = signed.iter().map(|nonce| &nonce.operation_id).collect();
    let ops = operation::find_all(&mut tx, &ids.into_iter().collect::<Vec<_>>()).await?;
    let operations = row::rows(&app, &mut tx, &ops).await?;
    // A lane that was never used has no nonces.
    let known = signed.first().map(|nonce| nonce.nonce).into_iter().chain(foreign.first().map(|nonce| nonce.nonce));
    let first = known.min().unwrap_or(lane.next_nonce);
    let data = (first..=next).map(|nonce| item(&lane, nonce, &signed, &foreign)).collect();
    Ok(Json(SignerNonces { data, operations }))
}

fn item(lane: &Lane, nonce: i64, signed: &[Signed], foreign: &[Foreign]) -> Nonce {
    let ours = signed.iter().find(|signed| signed.nonce == nonce);
    let foreign = foreign.iter().find(|foreign| foreign.nonce == nonce);
    Nonce {
        nonce,
        state: state(lane, nonce, ours, foreign.is_some()),
        operation_id: ours.map(|ours| ours.operation_id.clone()),
        transactions: ours.map_or(0, |ours| ours.transactions),
        signed_at: ours.map(|ours| Instant(ours.signed_at)),
        sent_at: ours.and_then(|ours| ours.sent_at).map(Instant),
        foreign_tx_hash: foreign.map(|foreign| foreign.tx_hash.to_string()),
    }
}

fn state(lane: &Lane, nonce: i64, ours: Option<&Signed>, is_foreign: bool) -> NonceState {
    let pending = lane.chain_nonce_pending.unwrap_or_default();
    let Some(ours) = ours else {
        return match () {
            () if is_foreign => NonceState::Foreign,
            () if nonce < lane.chain_nonce_latest.unwrap_or_default() => NonceState::Unknown,
            () => NonceState::Next,
        };
    };
    // The chain was read after the send, so a node could have shown it.
    let looked = ours.sent_at.is_some_and(|sent| lane.observed_at.is_some_and(|seen| sent < seen));
    match () {
        () if is_foreign => NonceState::Foreign,
        () if ours.open == 0 => NonceState::Final,
        () if ours.block_number.is_some() => NonceState::Included,
        () if nonce < pending => NonceState::Pending,
        () if nonce == pending && looked && nonce + 1 < lane.next_nonce => NonceState::Gap,
        () => NonceState::Signed,
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Address;
    use chrono::{DateTime, Duration};
    use muniment_domain::column::Hex;
    use muniment_domain::lane::Mode;

    use super::*;

    const NOW: DateTime<chrono::Utc> = DateTime::UNIX_EPOCH;

    fn lane() -> Lane {
        Lane {
            id: LaneId::default(),
            chain_id: 1,
            signer: Hex(Address::ZERO),
            next_nonce: 9,
            mode: Mode::Active,
            mode_reason: None,
            balance_wei: None,
            unknown_from: None,
            chain_nonce_latest: Some(4),
            chain_nonce_pending: Some(6),
            chain_nonce_finalized: Some(3),
            is_agent: None,
            roles: None,
            observed_at: Some(NOW),
            spent_wei: None,
            spent_since: None,
            version: 1,
            created_at: NOW,
            updated_at: NOW,
        }
    }

    fn at(nonce: i64, sent_seconds_ago: i64, block_number: Option<i64>, open: i64) -> NonceState {
        let (signed_at, sent_at) = (NOW, Some(NOW - Duration::seconds(sent_seconds_ago)));
        let ours = Signed {
            nonce,
            operation_id: OperationId::default(),
            transactions: 1,
            signed_at,
            sent_at,
            block_number,
            open,
        };
        state(&lane(), nonce, Some(&ours), false)
    }

    #[test]
    fn a_nonce_is_what_books_and_chain_say_of_it() {
        assert_eq!(at(2, 9, Some(1), 0), NonceState::Final);
        assert_eq!(at(3, 9, Some(7), 1), NonceState::Included);
        assert_eq!(at(5, 9, None, 1), NonceState::Pending);
        assert_eq!(at(6, 9, None, 1), NonceState::Gap);
        assert_eq!(at(6, -1, None, 1), NonceState::Signed, "the chain was not read since");
        assert_eq!(at(8, 9, None, 1), NonceState::Signed);
        assert_eq!(state(&lane(), 3, None, false), NonceState::Unknown);
        assert_eq!(state(&lane(), 3, None, true), NonceState::Foreign);
        assert_eq!(state(&lane(), 9, None, false), NonceState::Next);
    }
}
