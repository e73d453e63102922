//! The bodies of compliance requests, and the requests to the engine made from them.

use muniment_domain::id;
use muniment_domain::reason::{ForceReason, Reason};
use muniment_workflows::compliance::{
    ALL_OFFERINGS, AddressRequest, ForceTransferRequest, LockRequest, PartitionRequest, RecoverRequest, Request,
    UnlockRequest,
};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::field::address::Typed;
use crate::field::cause::{CaseReference, Digest, Partition, cause};
use crate::field::id::check_offering_id;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;

/// The body of a compliance request.
pub trait Ask {
    /// Refuses a body that is wrong whatever the state of the platform.
    fn check(&self) -> Result<()>;

    /// The request for the engine.
    fn request(&self) -> Request;
}

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Freeze {
    offering_id: String,
    address: Typed,
    reason_code: Reason,
    case_reference: Option<CaseReference>,
    document_sha256: Option<Digest>,
}

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Unfreeze {
    offering_id: String,
    address: Typed,
    reason_code: Reason,
    case_reference: Option<CaseReference>,
    document_sha256: Option<Digest>,
}

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    offering_id: String,
    address: Typed,
    partition: Partition,
    #[schema(example = "250.00")]
    quantity: String,
    release_at: Instant,
    reason_code: Reason,
    case_reference: Option<CaseReference>,
    document_sha256: Option<Digest>,
}

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Unlock {
    offering_id: String,
    address: Typed,
    partition: Partition,
    reason_code: Reason,
    case_reference: Option<CaseReference>,
    document_sha256: Option<Digest>,
}

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Restrict {
    offering_id: String,
    partition: Partition,
    reason_code: Reason,
    case_reference: Option<CaseReference>,
    document_sha256: Option<Digest>,
}

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Unrestrict {
    offering_id: String,
    partition: Partition,
    reason_code: Reason,
    case_reference: Option<CaseReference>,
    document_sha256: Option<Digest>,
}

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForceTransfer {
    offering_id: String,
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
    offering_id: String,
    investor_id: String,
    /// The lost wallet.
    lost_address: Typed,
    /// The new wallet.
    new_address: Typed,
    case_reference: Option<CaseReference>,
    /// The SHA-256 of the evidence document.
    evidence_document_sha256: Digest,
}

impl Ask for Freeze {
    fn check(&self) -> Result<()> {
        check_offering_id(&self.offering_id)
    }

    fn request(&self) -> Request {
        Request::Freeze(AddressRequest {
            offering_id: self.offering_id.clone(),
            address: self.address.0,
            cause: cause(self.reason_code, self.case_reference.as_ref(), self.document_sha256),
        })
    }
}

impl Ask for Unfreeze {
    fn check(&self) -> Result<()> {
        check_offering_id(&self.offering_id)
    }

    fn request(&self) -> Request {
        Request::Unfreeze(AddressRequest {
            offering_id: self.offering_id.clone(),
            address: self.address.0,
            cause: cause(self.reason_code, self.case_reference.as_ref(), self.document_sha256),
        })
    }
}

impl Ask for Lock {
    fn check(&self) -> Result<()> {
        check_offering_id(&self.offering_id)
    }

    fn request(&self) -> Request {
        Request::Lock(LockRequest {
            offering_id: self.offering_id.clone(),
            address: self.address.0,
            partition: self.partition.0,
            quantity: self.quantity.clone(),
            release_at: self.release_at.0,
            cause: cause(self.reason_code, self.case_reference.as_ref(), self.document_sha256),
        })
    }
}

impl Ask for Unlock {
    fn check(&self) -> Result<()> {
        check_offering_id(&self.offering_id)
    }

    fn request(&self) -> Request {
        Request::Unlock(UnlockRequest {
            offering_id: self.offering_id.clone(),
            address: self.address.0,
            partition: self.partition.0,
            cause: cause(self.reason_code, self.case_reference.as_ref(), self.document_sha256),
        })
    }
}

impl Ask for Restrict {
    fn check(&self) -> Result<()> {
        check_offering_id(&self.offering_id)
    }

    fn request(&self) -> Request {
        Request::Restrict(PartitionRequest {
            offering_id: self.offering_id.clone(),
            partition: self.partition.0,
            cause: cause(self.reason_code, self.case_reference.as_ref(), self.document_sha256),
        })
    }
}

impl Ask for Unrestrict {
    fn check(&self) -> Result<()> {
        check_offering_id(&self.offering_id)
    }

    fn request(&self) -> Request {
        Request::Unrestrict(PartitionRequest {
            offering_id: self.offering_id.clone(),
            partition: self.partition.0,
            cause: cause(self.reason_code, self.case_reference.as_ref(), self.document_sha256),
        })
    }
}

impl Ask for ForceTransfer {
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

impl Ask for Recover {
    fn check(&self) -> Result<()> {
        if self.offering_id != ALL_OFFERINGS {
            check_offering_id(&self.offering_id)?;
        }
        id::check("inv", &self.investor_id)
            .map_err(|_| Problem::field("/investor_id", "id_format", "The id of an investor looks like inv_01k…."))
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
