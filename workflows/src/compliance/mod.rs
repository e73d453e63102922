//! What every compliance operation shares: the offering and its token, the addresses that no holder has, the reason, and the rule that
//! a subject is in one live operation, so that an unfreeze never overtakes a freeze.

mod agreement;
mod done;
pub mod force_transfer;
pub mod freeze;
mod known;
pub mod lock;
pub mod recover;
pub mod restrict;
pub mod unfreeze;
pub mod unlock;
pub mod unrestrict;

use alloy_primitives::{Address, B256, Bytes};
use muniment_activities::operation::payload_hash;
use muniment_domain::column::{Dec, Hex};
use muniment_domain::db::Tx;
use muniment_domain::item::{self, Item};
use muniment_domain::offering::{self, Offering};
use muniment_domain::operation::{self, Kind, NewOperation, NewStep, Operation};
use muniment_domain::reason::Reason;
use muniment_domain::{Code, Error, Result, contract, money, wallet_claim};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use agreement::contradicted;
pub use done::{Done, settle, shown};

use crate::approval::action::About;
use crate::engine::queue;
use crate::requester::Requester;

/// Whose subjects the items of these operations are.
const SUBJECT: &str = "compliance";
/// The most units that the contract holds.
const UNITS_MAX: u128 = muniment_activities::line::UNITS_MAX;

/// Why it is done, as the operations log keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// One of the list.
    pub reason_code: Reason,
    /// The case, in the words of whoever keeps it.
    pub case_reference: Option<String>,
    /// The document that it rests on.
    pub document_sha256: Option<B256>,
}

impl Cause {
    /// What goes on the chain of it: the document's hash, and no word about a person.
    pub fn reference(&self) -> Bytes {
        self.document_sha256.map(Bytes::from).unwrap_or_default()
    }
}

/// What an approval of a compliance operation shows, and the key under which the same waits only once.
pub fn about(offering_id: &str, subject: Subject, why: &str, case_reference: Option<&str>) -> About {
    let (subject_type, subject_id) = subject.shown();
    let case = case_reference.map(|case| format!(" ({case})")).unwrap_or_default();
    About {
        subject_type,
        live_key: format!("compliance:{offering_id}:{subject_type}:{subject_id}"),
        subject_id,
        // Every offering at once is no offering.
        offering_id: offering_id.starts_with("off_").then(|| offering_id.to_owned()),
        amount: None,
        reason: Some(format!("{why}{case}")),
    }
}

/// What an operation is about; it is in one live operation of its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A holder, or who may become one.
    Address(Address),
    /// A partition.
    Partition(u32),
}

impl Subject {
    /// As answers show it.
    fn shown(self) -> (&'static str, String) {
        match self {
            Self::Partition(number) => ("partition", number.to_string()),
            Self::Address(address) => ("address", address.to_checksum(None)),
        }
    }
}

/// The offering that is acted on, with its token.
#[derive(Clone, Debug)]
pub struct Ground {
    /// The offering.
    pub offering: Offering,
    /// Its token.
    pub token: Address,
}

/// One call of the token, ready to be accepted as an operation.
pub struct Deed {
    /// What kind of operation it is.
    pub kind: Kind,
    /// The function's name.
    pub step: &'static str,
    /// The call.
    pub calldata: Bytes,
    /// Its operation id on the token, where the function takes one.
    pub op_id: Option<u64>,
    /// Its arguments and why it is done.
    pub payload: Value,
    /// Whom it is about.
    pub subject: Subject,
    /// Who else may be in no other operation meanwhile.
    pub beside: Option<Subject>,
    /// The batch that it is part of.
    pub batch: Option<(String, i64)>,
}

/// Finds the offering. Without a token there is nothing to act on.
pub async fn ground(tx: &mut Tx, offering_id: &str) -> Result<Ground> {
    let offering = offering::find(tx, offering_id).await?;
    match offering.token_address {
        Some(token) => Ok(Ground { token: token.0, offering }),
        None => Err(Error::refused(Code::InvalidState, "The offering has no token yet. Deploy it first.")),
    }
}

impl Ground {
    /// Refuses an address that no holder has.
    pub async fn allow(&self, tx: &mut Tx, pointer: &'static str, address: Address) -> Result<()> {
        wallet_claim::allow(tx, pointer, address).await
    }

    /// The base units of a quantity in the token's own decimals.
    pub fn units(&self, quantity: &str) -> Result<u128> {
        let decimals = self.offering.decimals();
        let detail = || format!("A quantity of this token is a decimal string with at most {decimals} decimals.");
        match money::units(quantity, decimals) {
            Some(0) => Err(Error::field("/quantity", "below_minimum", "The quantity must be above zero.")),
            Some(units) if units > UNITS_MAX => {
                Err(Error::field("/quantity", "above_maximum", "The quantity is larger than the token can hold."))
            }
            Some(units) => Ok(units),
            None => Err(Error::field("/quantity", "quantity_format", detail())),
        }
    }

    /// Units as people read them.
    pub fn quantity(&self, units: u128) -> String {
        money::quantity(units, self.offering.decimals())
    }

    /// Refuses while an operation on one of the subjects is not finished: the next one waits for its finality.
    pub async fn free(&self, tx: &mut Tx, subjects: &[Subject]) -> Result<()> {
        for subject in subjects {
            if let Some(id) = item::live_operation(tx, SUBJECT, &self.key(*subject)).await? {
                let live = operation::find(tx, &id).await?;
                let detail = format!("{id} ({}) is {} and has the same subject.", live.kind, live.status);
                return Err(Error::refused(Code::OperationInProgress, detail));
            }
        }
        Ok(())
    }

    /// A number for an operation on the token.
    pub async fn op_id(&self, tx: &mut Tx) -> Result<u64> {
        Ok(contract::take_op_numbers(tx, self.offering.chain_id, self.token, 1).await?.cast_unsigned())
    }

    /// Accepts a deed: its operation, its step, its subjects and its wake.
    pub async fn accept(&self, tx: &mut Tx, deed: Deed, by: &Requester) -> Result<Operation> {
        let (subject_type, subject_id) = deed.subject.shown();
        let step = NewStep {
            name: deed.step,
            target: self.token,
            payload_hash: Some(payload_hash(&deed.calldata)),
            calldata: deed.calldata.to_vec(),
            op_number: deed.op_id.map(u64::cast_signed),
        };
        let new = NewOperation {
            kind: deed.kind,
            subject_type,
            subject_id,
            offering_id: Some(self.offering.id.clone()),
            batch: deed.batch,
            chain_id: self.offering.chain_id,
            lane_id: None,
            payload: deed.payload,
            live_key: None,
            requested_by: by.actor.clone(),
            request_id: by.request_id.clone(),
            idempotency_key: by.idempotency_key.clone(),
            steps: vec![step],
        };
        let op = operation::insert(tx, new).await?;
        item::insert(tx, &op.id, SUBJECT, &self.items(deed.subject, deed.beside)).await?;
        queue::first_wake(tx, &op).await?;
        Ok(op)
    }

    fn items(&self, subject: Subject, beside: Option<Subject>) -> Vec<Item> {
        let item = |subject: Subject| Item {
            subject_id: self.key(subject),
            wallet_address: Hex(match subject {
                Subject::Address(address) => address,
                Subject::Partition(_) => self.token,
            }),
            quantity: Dec(0),
        };
        [Some(subject), beside].into_iter().flatten().map(item).collect()
    }

    fn key(&self, subject: Subject) -> String {
        let (chain, token) = (self.offering.chain_id, Hex(self.token));
        match subject {
            Subject::Address(address) => format!("{chain}:{token}:{}", Hex(address)),
            Subject::Partition(number) => format!("{chain}:{token}:partition:{number}"),
        }
    }
}

/// The payload of an operation: the call's arguments under its name, and why.
pub fn payload(name: &str, call: &impl Serialize, cause: &impl Serialize) -> Value {
    json!({ name: call, "cause": cause })
}
