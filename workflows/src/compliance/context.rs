//! The offering and the token that an operation acts on, and the subjects that have at most one unfinished operation there.

use alloy_primitives::Address;
use muniment_activities::contract::line;
use muniment_domain::column::{Dec, Hex};
use muniment_domain::db::Tx;
use muniment_domain::id::{OfferingId, OperationId};
use muniment_domain::offering::{self, Offering};
use muniment_domain::operation_item::{self, Item};
use muniment_domain::{Code, Error, Result, contract, money};

/// The type of the items that hold the live keys of compliance operations.
const ITEM_TYPE: &str = "compliance";

/// An offering with its token.
#[derive(Clone, Debug)]
pub struct TokenContext {
    /// The offering.
    pub offering: Offering,
    /// Its token.
    pub token: Address,
}

/// What an operation is about. A subject has at most one unfinished operation of its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A holder, or an address that may become one.
    Address(Address),
    /// A partition.
    Partition(u32),
    /// The whole token.
    Token,
}

impl Subject {
    /// The type and the id that API responses show.
    pub fn type_and_id(self, offering_id: &OfferingId) -> (&'static str, String) {
        match self {
            Self::Token => ("offering", offering_id.to_string()),
            Self::Partition(number) => ("partition", number.to_string()),
            Self::Address(address) => ("address", address.to_checksum(None)),
        }
    }
}

impl TokenContext {
    /// Finds an offering, which must have a token.
    pub async fn find(tx: &mut Tx, offering_id: &OfferingId) -> Result<Self> {
        let offering = offering::find(tx, offering_id).await?;
        match offering.token_address {
            Some(token) => Ok(Self { token: token.0, offering }),
            None => Err(Error::refused(Code::InvalidState, "The offering has no token yet. Deploy it first.")),
        }
    }

    /// The base units of a quantity in the token's decimals.
    pub fn units(&self, quantity: &str) -> Result<u128> {
        let decimals = self.offering.decimals();
        match money::units(quantity, decimals) {
            Some(0) => Err(Error::field("/quantity", "below_minimum", "The quantity must be above zero.")),
            Some(units) if units > line::UNITS_MAX => {
                Err(Error::field("/quantity", "above_maximum", "The quantity is larger than the token can hold."))
            }
            Some(units) => Ok(units),
            None => {
                let detail = format!("The quantity must be a decimal string with at most {decimals} decimals.");
                Err(Error::field("/quantity", "quantity_format", detail))
            }
        }
    }

    /// The quantity of base units, as people read it.
    pub fn quantity(&self, units: u128) -> String {
        money::quantity(units, self.offering.decimals())
    }

    /// A new operation number on the token.
    pub async fn operation_number(&self, tx: &mut Tx) -> Result<u64> {
        Ok(contract::reserve_op_numbers(tx, self.offering.chain_id, self.token, 1).await?.cast_unsigned())
    }

    /// The id of the unfinished operation of a subject.
    pub async fn unfinished_operation(&self, tx: &mut Tx, subject: Subject) -> Result<Option<OperationId>> {
        operation_item::live_operation(tx, ITEM_TYPE, &self.key(subject)).await
    }

    /// Writes the subjects as items of an operation. Their live keys refuse another operation meanwhile.
    pub async fn insert_items(&self, tx: &mut Tx, operation_id: &OperationId, subjects: &[Subject]) -> Result<()> {
        let item = |subject: &Subject| Item {
            subject_id: self.key(*subject),
            wallet_address: Hex(match subject {
                Subject::Address(address) => *address,
                Subject::Partition(_) | Subject::Token => self.token,
            }),
            quantity: Dec(0),
        };
        operation_item::insert(tx, operation_id, ITEM_TYPE, &subjects.iter().map(item).collect::<Vec<_>>()).await
    }

    /// Frees one subject of an operation.
    pub async fn release_item(&self, tx: &mut Tx, operation_id: &OperationId, subject: Subject) -> Result<()> {
        operation_item::release_subject(tx, operation_id, ITEM_TYPE, &self.key(subject)).await
    }

    fn key(&self, subject: Subject) -> String {
        let (chain, token) = (self.offering.chain_id, Hex(self.token));
        match subject {
            Subject::Address(address) => format!("{chain}:{token}:{}", Hex(address)),
            Subject::Partition(number) => format!("{chain}:{token}:partition:{number}"),
            Subject::Token => format!("{chain}:{token}"),
        }
    }
}
