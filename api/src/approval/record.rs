//! An approval in answers.

use muniment_domain::Result;
use muniment_domain::approval::{Approval, Status, Transition};
use muniment_domain::db::Tx;
use muniment_domain::id::{ApprovalId, BatchId, OfferingId, OperationId};
use muniment_domain::money::Money;
use muniment_domain::operation;
use muniment_workflows::approval::action::Action;
use muniment_workflows::settings::Settings;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::field::amount::Amount;
use crate::field::name::{masked_email, masked_name};
use crate::field::subject::{Subject, Trouble};
use crate::http::instant::Instant;
use crate::http::pages::LIMIT_MAX;

/// An approval as lists show it, without its payload.
#[derive(Serialize, ToSchema)]
#[schema(as = Approval)]
pub struct Short {
    id: ApprovalId,
    status: Status,
    #[schema(example = "force_transfer")]
    action: String,
    subject: Subject,
    offering_id: Option<OfferingId>,
    amount: Option<Amount>,
    currency: Option<String>,
    payload_sha256: String,
    /// The person who requested it.
    maker: String,
    reason: Option<String>,
    /// The person who decided, or `break_glass`. Null for an issuer, like the operations that execute it.
    checker: Option<String>,
    decision_reason: Option<String>,
    operation_id: Option<OperationId>,
    batch_id: Option<BatchId>,
    /// The reason why the approved action could not be executed.
    error: Option<Trouble>,
    created_at: Instant,
    decided_at: Option<Instant>,
    expires_at: Instant,
    /// The time from which the requester may approve it while there is no other admin. Null if another person must approve.
    alone_from: Option<Instant>,
    updated_at: Instant,
    version: i64,
}

/// An approval with its payload, its outlook and its history.
#[derive(Serialize, ToSchema)]
#[schema(as = ApprovalInFull)]
pub struct Full {
    #[serde(flatten)]
    short: Short,
    /// Exactly what will be executed; its hash is `payload_sha256`. Null for an issuer.
    #[schema(value_type = Option<Object>, example = json!({ "offering_id": "off_01jc8yq3k5e9v8w2m4n6p7r9st" }))]
    payload: Option<Value>,
    /// The operations that carry it out. `executed` means that they were accepted: their effect is there when they are `confirmed`. Empty for
    /// an issuer, and for an action without an operation.
    operations: Vec<Carried>,
    /// Whether the action could be executed now. Null if the approval is not pending, and for an issuer.
    outlook: Option<Outlook>,
    history: Vec<TransitionView>,
}

/// Whether a pending action could be executed now, according to the database.
#[derive(Serialize, ToSchema)]
pub struct Outlook {
    ok: bool,
    #[schema(example = "invalid_state")]
    code: Option<&'static str>,
    detail: Option<String>,
}

/// A change of the status of the approval.
#[derive(Serialize, ToSchema)]
#[schema(as = ApprovalTransition)]
pub struct TransitionView {
    from: Option<Status>,
    to: Status,
    created_at: Instant,
    /// The person who changed the status. An issuer does not see staff.
    actor: Option<String>,
    reason: String,
    version: i64,
}

/// An operation that carries out an approved action.
#[derive(Serialize, ToSchema)]
#[schema(as = ApprovalOperation)]
pub struct Carried {
    id: OperationId,
    status: operation::Status,
}

/// The operations of an approval, up to a page of them.
pub async fn carried(tx: &mut Tx, a: &Approval) -> Result<Vec<Carried>> {
    let found = match (&a.operation_id, &a.batch_id) {
        (Some(id), None) => vec![operation::find(tx, id).await?],
        (_, Some(batch_id)) => {
            let filter = operation::Filter { batch_id: Some(batch_id.clone()), ..operation::Filter::default() };
            operation::list(tx, &filter, LIMIT_MAX, 0).await?
        }
        (None, None) => Vec::new(),
    };
    Ok(found.into_iter().map(|op| Carried { id: op.id, status: op.status }).collect())
}

/// In short.
pub fn short(a: &Approval) -> Short {
    Short {
        id: a.id.clone(),
        status: a.status,
        action: a.action.clone(),
        subject: Subject { kind: a.subject_type.clone(), id: a.subject_id.clone() },
        offering_id: a.offering_id.clone(),
        amount: a.amount.map(|minor| Amount(Money::from_minor(minor))),
        currency: a.currency.clone(),
        payload_sha256: a.payload_sha256.clone(),
        maker: a.maker.clone(),
        reason: a.reason.clone(),
        checker: a.checker.clone(),
        decision_reason: a.decision_reason.clone(),
        operation_id: a.operation_id.clone(),
        batch_id: a.batch_id.clone(),
        error: a.error_code.as_ref().map(|code| Trouble { code: code.clone(), detail: a.error_message.clone() }),
        created_at: Instant(a.created_at),
        decided_at: a.decided_at.map(Instant),
        expires_at: Instant(a.expires_at),
        alone_from: a.alone_from.map(Instant),
        updated_at: Instant(a.updated_at),
        version: a.version,
    }
}

/// The short record for a requester who is not staff, without the approver and the operations.
pub fn for_maker(a: &Approval) -> Short {
    Short { checker: None, operation_id: None, batch_id: None, ..short(a) }
}

/// The full record. Personal data is masked for auditors.
pub fn full(
    a: &Approval,
    history: &[Transition],
    operations: Vec<Carried>,
    outlook: Option<Outlook>,
    masked: bool,
) -> Full {
    let mut payload = a.payload.0.clone();
    if masked && a.action == "invite" {
        for (field, mask) in [("email", masked_email as fn(&str) -> String), ("name", masked_name)] {
            if let Some(text) = payload[field].as_str().map(mask) {
                payload[field] = Value::String(text);
            }
        }
    }
    let history = history.iter().map(|t| transition(t, Some(t.actor.clone()))).collect();
    Full { short: short(a), payload: Some(payload), operations, outlook, history }
}

/// The full record for a requester who is not staff. The payload is hidden, because it names wallets of the platform.
pub fn full_for_maker(a: &Approval, history: &[Transition]) -> Full {
    let own = |t: &Transition| transition(t, (t.actor == a.maker).then(|| a.maker.clone()));
    Full {
        short: for_maker(a),
        payload: None,
        operations: Vec::new(),
        outlook: None,
        history: history.iter().map(own).collect(),
    }
}

fn transition(t: &Transition, actor: Option<String>) -> TransitionView {
    let (from, to, created_at) = (t.from_status, t.to_status, Instant(t.at));
    TransitionView { from, to, created_at, actor, reason: t.reason.clone(), version: t.version }
}

/// Whether what waits could be done now, as far as the database knows. Null when nothing waits any more.
pub async fn outlook(tx: &mut Tx, settings: &Settings, a: &Approval) -> Result<Option<Outlook>> {
    if a.status != Status::Pending {
        return Ok(None);
    }
    let checked = match a.verified_payload() {
        Ok(payload) => Action::read(&a.id, payload)?.check(tx, settings).await,
        Err(error) => Err(error),
    };
    match checked {
        Ok(()) => Ok(Some(Outlook { ok: true, code: None, detail: None })),
        Err(error) => match error.refusal() {
            Some((code, detail)) => Ok(Some(Outlook { ok: false, code: Some(code), detail: Some(detail.to_owned()) })),
            None => Err(error),
        },
    }
}
