//! Compliance operations: freeze, lock, restrict and pause, their ends, forced transfer, redemption and recovery. They are the rows of one
//! table; this file does for all of them what one row needs. Read `table` first, then `request` (the bodies), `rule` (the checks)
//! and `call` (the contract calls and their effects).
//!
//! # A freeze and its end
//!
//! 1. `POST /blockchain/freeze` (`api/src/compliance/`) checks the rules of its row: forbidden addresses, the reason, and that no operation
//!    on the same subject is under way. The last rule keeps an unfreeze in one lane from overtaking a freeze in another. An operation that
//!    failed never blocks a freeze or a pause: it takes the subject over, and the failed one can no longer be retried (`takeover`).
//! 2. A freeze, a lock, a restriction and a pause take one person, because speed counts. The operation is accepted in the same commit.
//! 3. Their ends, a forced transfer, a redemption and a recovery take two people. The handler stores an approval; the operation exists only
//!    after it.
//! 4. The engine takes the operation to the chain. The settlement writes the event about the wallet.
//! 5. A restriction pauses the offering of its partition, and a pause the offering of its token, also when the ledger shows that somebody
//!    else did it.
//! 6. A recovery moves balances, locks and freeze of every partition in one contract transaction. Its settlement points the investor's
//!    wallet, open subscriptions and unpaid entitlements to the new address. A reinstatement takes back only the retirement.

mod call;
mod context;
mod kind;
mod recovery;
mod request;
mod rule;
pub(crate) mod table;
mod takeover;

use muniment_activities::contract::operation::payload_hash;
use muniment_domain::db::Tx;
use muniment_domain::id::{BatchId, of};
use muniment_domain::operation::{self, NewOperation, NewStep, Operation};
use muniment_domain::{Code, Error, Result, wallet};

pub use call::Call;
pub use context::{Subject, TokenContext};
pub use request::{
    ALL_OFFERINGS, AddressRequest, Cause, ForceTransferRequest, LockRequest, PartitionRequest, RecoverRequest,
    RedeemRequest, ReleaseLockRequest, Request, TokenRequest, UnlockRequest,
};
pub use table::{People, Row, Subjects};

use self::rule::Rule;
use crate::approval_request::About;
use crate::engine::queue;
use crate::requester::Requester;

/// Refuses a request that violates a rule. It does not ask the chain.
pub async fn check(tx: &mut Tx, request: &Request) -> Result<()> {
    validate(tx, request).await.map(drop)
}

async fn validate(tx: &mut Tx, request: &Request) -> Result<Vec<TokenContext>> {
    let contexts = match request {
        Request::Recover(r) => recovery::tokens(tx, r).await?,
        other => vec![TokenContext::find(tx, other.offering_id()).await?],
    };
    if contexts.is_empty() {
        return Err(no_token(request));
    }
    let (terms, subjects) = (request.terms(), request.subjects());
    for context in &contexts {
        for rule in request.row().rules {
            context.check(tx, *rule, &terms, &subjects).await?;
        }
    }
    Ok(contexts)
}

/// Accepts a request: its operation with its step, subjects and wake. A recovery can have several operations, one on each token; they share
/// a batch, and the first one is returned. A freeze of a frozen address and a restriction of a restricted partition are accepted too: the
/// token repeats its event, and nothing changes.
pub async fn request(tx: &mut Tx, request: &Request, by: &Requester) -> Result<Operation> {
    let contexts = validate(tx, request).await?;
    let batch_id = matches!(request, Request::Recover(_)).then(|| tx.new_id::<of::Batch>());
    let mut first = None;
    for (index, context) in (0i64..).zip(&contexts) {
        let call = Call::build(tx, request, context).await?;
        let batch = batch_id.clone().map(|id| (id, index));
        let op = accept(tx, context, request, &call, batch, by).await?;
        if let Request::Recover(r) = request {
            // From now on nobody else can claim the new wallet.
            wallet::reserve(tx, &r.investor_id, r.new_address, &op.id).await?;
        }
        first.get_or_insert(op);
    }
    first.ok_or_else(|| no_token(request))
}

fn no_token(request: &Request) -> Error {
    let wallet = request.terms().holder.1.to_checksum(None);
    Error::refused(Code::InvalidState, format!("No token knows {wallet}. There is nothing to recover."))
}

async fn accept(
    tx: &mut Tx,
    context: &TokenContext,
    request: &Request,
    call: &Call,
    batch: Option<(BatchId, i64)>,
    by: &Requester,
) -> Result<Operation> {
    let (row, calldata) = (request.row(), call.calldata(context.token));
    let (subject_type, subject_id) = request.subject().type_and_id(&context.offering.id);
    let step = NewStep {
        name: row.function,
        target: context.token,
        payload_hash: Some(payload_hash(&calldata)),
        calldata: calldata.to_vec(),
        op_number: call.operation_number().map(u64::cast_signed),
    };
    let takes_over = row.rules.contains(&Rule::OnlyFailedOperations);
    let lane_id = if takes_over { takeover::lane_behind(tx, context, &request.subjects()).await? } else { None };
    let new = NewOperation {
        kind: row.kind,
        subject_type,
        subject_id,
        offering_id: Some(context.offering.id.clone()),
        batch,
        chain_id: context.offering.chain_id,
        lane_id,
        payload: call.payload(&request.cause())?,
        live_key: None,
        requested_by: by.actor.clone(),
        request_id: by.request_id.clone(),
        idempotency_key: by.idempotency_key.clone(),
        steps: vec![step],
    };
    let op = operation::insert(tx, new).await?;
    if takes_over {
        takeover::take_over(tx, context, &request.subjects(), &op).await?;
    }
    context.insert_items(tx, &op.id, &request.subjects()).await?;
    queue::first_wake(tx, &op).await?;
    Ok(op)
}

impl Request {
    /// What the operation is about.
    pub fn subject(&self) -> Subject {
        let terms = self.terms();
        match self.row().subject {
            Subjects::Partition => Subject::Partition(terms.partition),
            Subjects::Token => Subject::Token,
            Subjects::Holder | Subjects::HolderAndRecipient => Subject::Address(terms.holder.1),
        }
    }

    /// Everything that must have no other unfinished operation meanwhile: the subject first.
    fn subjects(&self) -> Vec<Subject> {
        let mut subjects = vec![self.subject()];
        if self.row().subject == Subjects::HolderAndRecipient {
            subjects.push(Subject::Address(self.terms().recipient.1));
        }
        subjects
    }

    /// What an approval shows, and the key that lets the same request wait only once.
    pub fn about(&self) -> About {
        let (offering_id, terms) = (self.offering_id(), self.terms());
        let (subject_type, subject_id) = self.subject().type_and_id(offering_id);
        let case = terms.case_reference.map(|case| format!(" ({case})")).unwrap_or_default();
        About {
            subject_type,
            live_key: format!("compliance:{offering_id}:{subject_type}:{subject_id}"),
            subject_id,
            offering_id: (offering_id != ALL_OFFERINGS).then(|| offering_id.clone()),
            amount: None,
            reason: Some(format!("{}{case}", terms.reason)),
        }
    }
}
