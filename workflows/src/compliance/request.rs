//! The requests: one body for each set of fields, and the fields that the rules check.

use alloy_primitives::{Address, B256, Bytes};
use chrono::{DateTime, Utc};
use muniment_domain::id::{InvestorId, OfferingId};
use muniment_domain::reason::{ForceReason, Reason};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use super::table::{self, People, Row};

/// Stands for every offering whose token knows the lost wallet.
pub const ALL_OFFERINGS: &str = "all";

/// A request for a compliance operation. An approval stores it in this form.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Request {
    /// Freezes an address.
    Freeze(AddressRequest),
    /// Ends a freeze.
    Unfreeze(AddressRequest),
    /// Locks units of a holder.
    Lock(LockRequest),
    /// Removes a holder's expired locks.
    Unlock(UnlockRequest),
    /// Restricts a partition.
    Restrict(PartitionRequest),
    /// Lifts the restriction of a partition.
    Unrestrict(PartitionRequest),
    /// Moves units of a frozen holder.
    ForceTransfer(ForceTransferRequest),
    /// Moves a lost wallet to a new one.
    Recover(RecoverRequest),
    /// Takes the retirement of a recovered wallet back.
    Reinstate(AddressRequest),
    /// Burns units of a holder.
    Redeem(RedeemRequest),
    /// Frees locked units before their time.
    ReleaseLock(ReleaseLockRequest),
    /// Pauses the token.
    Pause(TokenRequest),
    /// Ends the pause of the token.
    Unpause(TokenRequest),
}

/// The reason for an operation. It is stored with the operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The reason, from a fixed list.
    pub reason_code: Reason,
    /// The case in the operator's own files.
    pub case_reference: Option<String>,
    /// The SHA-256 of the supporting document.
    #[serde(serialize_with = "optional_digits")]
    pub document_sha256: Option<B256>,
}

impl Cause {
    /// The public part on the chain: the document's hash, and nothing about a person.
    pub fn reference(&self) -> Bytes {
        self.document_sha256.map(Bytes::from).unwrap_or_default()
    }
}

/// The body of a freeze, an unfreeze or a reinstatement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AddressRequest {
    /// The offering.
    pub offering_id: OfferingId,
    /// The address that is frozen, unfrozen or reinstated.
    pub address: Address,
    /// The reason.
    #[serde(flatten)]
    pub cause: Cause,
}

/// The body of a lock.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LockRequest {
    /// The offering.
    pub offering_id: OfferingId,
    /// The holder.
    pub address: Address,
    /// The partition of the units.
    pub partition: u32,
    /// The quantity, in the token's decimals.
    pub quantity: String,
    /// The time at which the lock ends.
    pub release_at: DateTime<Utc>,
    /// The reason.
    #[serde(flatten)]
    pub cause: Cause,
}

/// The body of an unlock.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UnlockRequest {
    /// The offering.
    pub offering_id: OfferingId,
    /// The holder.
    pub address: Address,
    /// The partition of the locks.
    pub partition: u32,
    /// The reason.
    #[serde(flatten)]
    pub cause: Cause,
}

/// The body of a release of a lock.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReleaseLockRequest {
    /// The offering.
    pub offering_id: OfferingId,
    /// The holder.
    pub address: Address,
    /// The partition of the units.
    pub partition: u32,
    /// The quantity, in the token's decimals.
    pub quantity: String,
    /// The time at which the lock ends now.
    pub release_at: DateTime<Utc>,
    /// The earlier time at which it shall end; none for at once.
    pub new_release_at: Option<DateTime<Utc>>,
    /// The reason.
    #[serde(flatten)]
    pub cause: Cause,
}

/// The body of a redemption.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RedeemRequest {
    /// The offering.
    pub offering_id: OfferingId,
    /// The holder.
    pub address: Address,
    /// The partition of the units.
    pub partition: u32,
    /// The quantity, in the token's decimals.
    pub quantity: String,
    /// The reason.
    #[serde(flatten)]
    pub cause: Cause,
}

/// The body of a pause, and of its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TokenRequest {
    /// The offering.
    pub offering_id: OfferingId,
    /// The reason.
    #[serde(flatten)]
    pub cause: Cause,
}

/// The body of a restriction, and of its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartitionRequest {
    /// The offering.
    pub offering_id: OfferingId,
    /// The partition.
    pub partition: u32,
    /// The reason.
    #[serde(flatten)]
    pub cause: Cause,
}

/// The body of a forced transfer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ForceTransferRequest {
    /// The offering.
    pub offering_id: OfferingId,
    /// The holder, who must be frozen.
    pub from: Address,
    /// The recipient.
    pub to: Address,
    /// The partition of the units.
    pub partition: u32,
    /// The quantity, in the token's decimals.
    pub quantity: String,
    /// The reason, from a shorter list.
    pub reason_code: ForceReason,
    /// The case in the operator's own files.
    pub case_reference: Option<String>,
    /// The SHA-256 of the legal document.
    #[serde(serialize_with = "digits")]
    pub document_sha256: B256,
}

/// The body of a recovery.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecoverRequest {
    /// The offering, or `all`.
    pub offering_id: OfferingId,
    /// The owner of both wallets.
    pub investor_id: InvestorId,
    /// The wallet that is lost.
    pub lost_address: Address,
    /// The wallet that replaces it.
    pub new_address: Address,
    /// The case in the operator's own files.
    pub case_reference: Option<String>,
    /// The SHA-256 of the proof of the investor's identity.
    #[serde(serialize_with = "digits")]
    pub evidence_document_sha256: B256,
}

/// A SHA-256 as the API takes it: 64 hexadecimal digits.
fn digits<S: Serializer>(digest: &B256, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{digest:x}"))
}

fn optional_digits<S: Serializer>(digest: &Option<B256>, serializer: S) -> Result<S::Ok, S::Error> {
    digest.map(|digest| format!("{digest:x}")).serialize(serializer)
}

/// An address with the JSON pointer of its field.
pub type AddressField = (&'static str, Address);

/// The fields that rules read, taken from any request. A field that the request does not have keeps a default that every rule refuses.
#[derive(Debug, Default)]
pub struct Terms<'a> {
    /// The address that the operation is about.
    pub holder: AddressField,
    /// The address that receives units.
    pub recipient: AddressField,
    /// The partition.
    pub partition: u32,
    /// The quantity, as the request wrote it.
    pub quantity: &'a str,
    /// The end of a lock.
    pub release_at: DateTime<Utc>,
    /// The end to which a lock is brought forward.
    pub new_release_at: Option<DateTime<Utc>>,
    /// The reason, as an approval shows it.
    pub reason: &'static str,
    /// The case, as an approval shows it.
    pub case_reference: Option<&'a str>,
}

impl Request {
    /// The row of the table that describes this request.
    pub const fn row(&self) -> &'static Row {
        match self {
            Self::Freeze(_) => &table::FREEZE,
            Self::Unfreeze(_) => &table::UNFREEZE,
            Self::Lock(_) => &table::LOCK,
            Self::Unlock(_) => &table::UNLOCK,
            Self::Restrict(_) => &table::RESTRICT,
            Self::Unrestrict(_) => &table::UNRESTRICT,
            Self::ForceTransfer(_) => &table::FORCE_TRANSFER,
            Self::Recover(_) => &table::RECOVER,
            Self::Reinstate(_) => &table::REINSTATE,
            Self::Redeem(_) => &table::REDEEM,
            Self::ReleaseLock(_) => &table::RELEASE_LOCK,
            Self::Pause(_) => &table::PAUSE,
            Self::Unpause(_) => &table::UNPAUSE,
        }
    }

    /// Whether a second person must approve it.
    pub fn needs_approval(&self) -> bool {
        self.row().people == People::Two
    }

    /// The offering, or [`ALL_OFFERINGS`] for a recovery.
    pub fn offering_id(&self) -> &OfferingId {
        match self {
            Self::Freeze(r) | Self::Unfreeze(r) | Self::Reinstate(r) => &r.offering_id,
            Self::Lock(r) => &r.offering_id,
            Self::ReleaseLock(r) => &r.offering_id,
            Self::Redeem(r) => &r.offering_id,
            Self::Pause(r) | Self::Unpause(r) => &r.offering_id,
            Self::Unlock(r) => &r.offering_id,
            Self::Restrict(r) | Self::Unrestrict(r) => &r.offering_id,
            Self::ForceTransfer(r) => &r.offering_id,
            Self::Recover(r) => &r.offering_id,
        }
    }

    /// The fields that rules and approvals read.
    pub fn terms(&self) -> Terms<'_> {
        match self {
            Self::Freeze(r) | Self::Unfreeze(r) | Self::Reinstate(r) => {
                Terms { holder: ("/address", r.address), ..Terms::of_cause(&r.cause) }
            }
            Self::Lock(r) => Terms {
                holder: ("/address", r.address),
                partition: r.partition,
                quantity: &r.quantity,
                release_at: r.release_at,
                ..Terms::of_cause(&r.cause)
            },
            Self::ReleaseLock(r) => Terms {
                holder: ("/address", r.address),
                partition: r.partition,
                quantity: &r.quantity,
                release_at: r.release_at,
                new_release_at: r.new_release_at,
                ..Terms::of_cause(&r.cause)
            },
            Self::Redeem(r) => Terms {
                holder: ("/address", r.address),
                partition: r.partition,
                quantity: &r.quantity,
                ..Terms::of_cause(&r.cause)
            },
            Self::Pause(r) | Self::Unpause(r) => Terms::of_cause(&r.cause),
            Self::Unlock(r) => {
                Terms { holder: ("/address", r.address), partition: r.partition, ..Terms::of_cause(&r.cause) }
            }
            Self::Restrict(r) | Self::Unrestrict(r) => Terms { partition: r.partition, ..Terms::of_cause(&r.cause) },
            Self::ForceTransfer(r) => Terms {
                holder: ("/from", r.from),
                recipient: ("/to", r.to),
                partition: r.partition,
                quantity: &r.quantity,
                reason: r.reason_code.as_str(),
                case_reference: r.case_reference.as_deref(),
                ..Terms::default()
            },
            Self::Recover(r) => Terms {
                holder: ("/lost_address", r.lost_address),
                recipient: ("/new_address", r.new_address),
                reason: Reason::LostWallet.as_str(),
                case_reference: r.case_reference.as_deref(),
                ..Terms::default()
            },
        }
    }

    /// The reason, as the operation's payload keeps it.
    pub fn cause(&self) -> Value {
        match self {
            Self::Freeze(AddressRequest { cause, .. })
            | Self::Unfreeze(AddressRequest { cause, .. })
            | Self::Reinstate(AddressRequest { cause, .. })
            | Self::Redeem(RedeemRequest { cause, .. })
            | Self::ReleaseLock(ReleaseLockRequest { cause, .. })
            | Self::Pause(TokenRequest { cause, .. })
            | Self::Unpause(TokenRequest { cause, .. })
            | Self::Lock(LockRequest { cause, .. })
            | Self::Unlock(UnlockRequest { cause, .. })
            | Self::Restrict(PartitionRequest { cause, .. })
            | Self::Unrestrict(PartitionRequest { cause, .. }) => json!(cause),
            Self::ForceTransfer(r) => json!({ "reason_code": r.reason_code, "case_reference": r.case_reference,
                "document_sha256": format!("{:x}", r.document_sha256) }),
            Self::Recover(r) => json!({ "investor_id": r.investor_id, "case_reference": r.case_reference,
                "evidence_document_sha256": format!("{:x}", r.evidence_document_sha256) }),
        }
    }
}

impl<'a> Terms<'a> {
    fn of_cause(cause: &'a Cause) -> Self {
        Self { reason: cause.reason_code.as_str(), case_reference: cause.case_reference.as_deref(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::approval::action::Action;

    #[test]
    fn an_approval_stores_the_request_under_the_action_of_its_row() {
        let cause = Cause { reason_code: Reason::Resolved, case_reference: None, document_sha256: None };
        let body = AddressRequest { offering_id: "off_1".into(), address: Address::repeat_byte(1), cause };
        let action = Action::Compliance(Request::Unfreeze(body));
        let payload = action.payload().unwrap();
        let expected = json!({ "action": "unfreeze", "offering_id": "off_1", "address": Address::repeat_byte(1),
            "reason_code": "resolved", "case_reference": null, "document_sha256": null });
        assert_eq!(payload, expected);
        assert_eq!(action.word(), "unfreeze");
        let read = Action::read(&"apr_1".into(), payload.clone()).unwrap();
        assert!(matches!(read, Action::Compliance(Request::Unfreeze(_))), "{read:?}");
        assert_eq!(read.payload().unwrap(), payload);
    }

    #[test]
    fn a_payload_that_no_action_has_is_refused() {
        assert!(Action::read(&"apr_1".into(), json!({ "action": "unfreeze" })).is_err());
        assert!(Action::read(&"apr_1".into(), json!({ "action": "melt", "offering_id": "off_1" })).is_err());
    }
}
