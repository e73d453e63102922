//! The bodies of compliance requests, and the requests to the engine made from them.

use alloy_primitives::Address;
use chrono::{DateTime, Utc};
use muniment_domain::id::{InvestorId, OfferingId};
use muniment_domain::reason::{ForceReason, Reason};
use muniment_workflows::compliance::{
    ALL_OFFERINGS, AddressRequest, ForceTransferRequest, LockRequest, PartitionRequest, RecoverRequest, RedeemRequest,
    ReleaseLockRequest, Request, TokenRequest, UnlockRequest,
};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::field::address::Typed;
use crate::field::cause::{CaseReference, Digest, Partition, cause};
use crate::field::id::check_offering_id;
use crate::http::error::{Problem, Result, check_that};
use crate::http::instant::Instant;

/// The body of a compliance request.
pub trait ComplianceBody {
    /// Refuses a body that is wrong whatever the state of the platform.
    fn check(&self) -> Result<()>;

    /// The request for the engine.
    fn request(&self) -> Request;
}

/// Declares bodies that differ only in their own fields: each is made into its variant of [`Request`].
macro_rules! bodies {
    ($($name:ident => $request:ident { $($(#[$attribute:meta])* $field:ident: $type:ty = $value:expr;)* })*) => { $(
        /// The request body.
        #[derive(Debug, Deserialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            offering_id: OfferingId,
            $($(#[$attribute])* $field: $type,)*
            reason_code: Reason,
            case_reference: Option<CaseReference>,
            document_sha256: Option<Digest>,
        }

        impl ComplianceBody for $name {
            fn check(&self) -> Result<()> {
                check_offering_id(&self.offering_id)
            }

            fn request(&self) -> Request {
                Request::$name($request {
                    offering_id: self.offering_id.clone(),
                    $($field: $value(&self.$field),)*
                    cause: cause(self.reason_code, self.case_reference.as_ref(), self.document_sha256),
                })
            }
        }
    )* };
}

fn address(typed: &Typed) -> Address {
    typed.0
}

fn number(partition: &Partition) -> u32 {
    partition.0
}

fn time(at: &Instant) -> DateTime<Utc> {
    at.0
}

fn time_if_any(at: &Option<Instant>) -> Option<DateTime<Utc>> {
    at.map(|at| at.0)
}

bodies! {
    Freeze => AddressRequest { address: Typed = address; }
    Unfreeze => AddressRequest { address: Typed = address; }
    Reinstate => AddressRequest { address: Typed = address; }
    Lock => LockRequest {
        address: Typed = address;
        partition: Partition = number;
        #[schema(example = "250.00")]
        quantity: String = String::clone;
        release_at: Instant = time;
    }
    Unlock => UnlockRequest {
        address: Typed = address;
        partition: Partition = number;
    }
    ReleaseLock => ReleaseLockRequest {
        address: Typed = address;
        partition: Partition = number;
        #[schema(example = "250.00")]
        quantity: String = String::clone;
        /// The present release time of the lock, exactly as the portfolio shows it.
        release_at: Instant = time;
        /// The earlier release time. Leave it out to release the units now.
        new_release_at: Option<Instant> = time_if_any;
    }
    Restrict => PartitionRequest { partition: Partition = number; }
    Unrestrict => PartitionRequest { partition: Partition = number; }
    Pause => TokenRequest {}
    Unpause => TokenRequest {}
    Redeem => RedeemRequest {
        address: Typed = address;
        partition: Partition = number;
        #[schema(example = "250.00")]
        quantity: String = String::clone;
    }
}

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForceTransfer {
    offering_id: OfferingId,
    from: Typed,
    to: Typed,
    partition: Partition,
    #[schema(example = "250.00")]
    quantity: String,
    reason_code: ForceReason,
    case_reference: Option<CaseReference>,
    document_sha256: Digest,
}

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Recover {
    /// The offering, or `all`.
    offering_id: OfferingId,
    investor_id: InvestorId,
    /// The lost wallet.
    lost_address: Typed,
    /// The new wallet: an unused address, or another wallet of the investor, which may hold units.
    new_address: Typed,
    case_reference: Option<CaseReference>,
    /// The SHA-256 of the evidence document.
    evidence_document_sha256: Digest,
}

impl ComplianceBody for ForceTransfer {
    fn check(&self) -> Result<()> {
        check_offering_id(&self.offering_id)
    }

    fn request(&self) -> Request {
        Request::ForceTransfer(ForceTransferRequest {
            offering_id: self.offering_id.clone(),
            from: self.from.0,
            to: self.to.0,
            partition: self.partition.0,
            quantity: self.quantity.clone(),
            reason_code: self.reason_code,
            case_reference: self.case_reference.as_ref().map(|case| case.0.clone()),
            document_sha256: self.document_sha256.0,
        })
    }
}

impl ComplianceBody for Recover {
    fn check(&self) -> Result<()> {
        let offering = if self.offering_id == ALL_OFFERINGS { Ok(()) } else { check_offering_id(&self.offering_id) };
        let is_id = self.investor_id.is_sound();
        let investor = check_that(is_id, "/investor_id", "id_format", "The id of an investor looks like inv_01k….");
        Problem::all([offering, investor])
    }

    fn request(&self) -> Request {
        Request::Recover(RecoverRequest {
            offering_id: self.offering_id.clone(),
            investor_id: self.investor_id.clone(),
            lost_address: self.lost_address.0,
            new_address: self.new_address.0,
            case_reference: self.case_reference.as_ref().map(|case| case.0.clone()),
            evidence_document_sha256: self.evidence_document_sha256.0,
        })
    }
}
