//! Positional parameters, quantities and the blocks that they name.

use std::sync::Arc;

use alloy::eips::{BlockId, BlockNumberOrTag};
use alloy::primitives::U256;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::block::Block;
use crate::chain::Chain;
use crate::fault::Fault;
use crate::view::View;

/// The `params` array of a call.
pub(crate) struct Params<'a>(&'a [Value]);

impl<'a> Params<'a> {
    /// Takes the array; a call without one has no parameters.
    pub fn new(value: &'a Value) -> Result<Self, Fault> {
        match value {
            Value::Null => Ok(Self(&[])),
            Value::Array(params) => Ok(Self(params)),
            _ => Err(Fault::params("params must be an array")),
        }
    }

    /// The parameter at `index`, which must be there.
    pub fn get<T: DeserializeOwned>(&self, index: usize) -> Result<T, Fault> {
        self.find(index)?.ok_or_else(|| Fault::params(format!("missing value for required argument {index}")))
    }

    /// The parameter at `index`, if it is there and not null.
    pub fn find<T: DeserializeOwned>(&self, index: usize) -> Result<Option<T>, Fault> {
        match self.0.get(index) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => T::deserialize(value)
                .map(Some)
                .map_err(|error| Fault::params(format!("invalid argument {index}: {error}"))),
        }
    }

    /// A number in hex, in decimal digits or as a JSON number.
    pub fn number(&self, index: usize) -> Result<u64, Fault> {
        self.find_number(index)?.ok_or_else(|| Fault::params(format!("missing value for required argument {index}")))
    }

    /// Like [`Self::number`], for a parameter that may be left out.
    pub fn find_number(&self, index: usize) -> Result<Option<u64>, Fault> {
        let number: Option<U256> = self.find(index)?;
        number
            .map(|number| u64::try_from(number).map_err(|_| Fault::params(format!("argument {index} is too large"))))
            .transpose()
    }

    /// The block that the parameter at `index` names, `latest` if it is left out.
    pub fn block_id(&self, index: usize) -> Result<BlockId, Fault> {
        Ok(self.find(index)?.unwrap_or_default())
    }
}

/// A number as JSON-RPC writes it.
pub(crate) fn quantity(number: u64) -> Value {
    json!(format!("{number:#x}"))
}

/// The block with this number or tag. The head is final, so four tags mean the same.
pub(crate) fn numbered(chain: &Chain, tag: BlockNumberOrTag) -> Option<&Arc<Block>> {
    match tag {
        BlockNumberOrTag::Number(number) => chain.block(number),
        BlockNumberOrTag::Earliest => chain.block(0),
        _ => Some(chain.head()),
    }
}

/// The block that an EIP-1898 parameter names.
pub(crate) fn block<'a>(chain: &'a Chain, id: &BlockId) -> Option<&'a Arc<Block>> {
    match id {
        BlockId::Hash(hash) => chain.block_by_hash(&hash.block_hash),
        BlockId::Number(tag) => numbered(chain, *tag),
    }
}

/// The state at the block that a parameter names.
pub(crate) fn view<'a>(chain: &'a Chain, id: &BlockId) -> Result<View<'a>, Fault> {
    let head = chain.head().header.number;
    let Some(block) = block(chain, id) else {
        return Err(match id {
            BlockId::Number(BlockNumberOrTag::Number(number)) => Fault::beyond(head, *number),
            _ => Fault::server("header not found"),
        });
    };
    let number = block.header.number;
    chain.view(number).ok_or_else(|| {
        Fault::server(format!("state pruned: block {number} is too far behind the head, which is {head}"))
    })
}
