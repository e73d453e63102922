//! Decodes a call of the platform from its calldata. An import after a restore needs it: the database forgot the call.
use alloy::{
    primitives::{Address, Bytes},
    sol_types::SolCall,
};

use crate::{
    contract::{
        bindings::{factory::TokenFactory, token::PlatformSecurityToken7518 as Token},
        line::Line,
    },
    revert::errors,
    token::{
        self,
        factory::{self, Deployment, PartitionTerms},
        mint::MintPage,
    },
};

/// A decoded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// Deployment of a token.
    DeployToken(Deployment),
    /// One page of a mint.
    MintPage(MintPage),
    /// Another call: the function name, or the selector if the function is not ours.
    Other(String),
}

/// Decodes a call, if this program would encode it to the same bytes.
pub fn decode(data: &Bytes) -> Decoded {
    // The round trip proves that no byte is lost: the payload hash covers the exact calldata.
    if let Some(page) = mint_page(data)
        && token::mint_page(Address::ZERO, Address::ZERO, &page).data == *data
    {
        return Decoded::MintPage(page);
    }
    if let Some(deployment) = deployment(data)
        && factory::deploy_token(Address::ZERO, Address::ZERO, &deployment).data == *data
    {
        return Decoded::DeployToken(deployment);
    }
    Decoded::Other(errors::function(&data[..data.len().min(4)]))
}

fn mint_page(data: &[u8]) -> Option<MintPage> {
    let call = Token::mintPageCall::abi_decode_validate(data).ok()?;
    Some(MintPage {
        op_id: call.opId.try_into().ok()?,
        partition: call.partition.try_into().ok()?,
        release_at: call.releaseAt.try_into().ok()?,
        lines: call.lines.into_iter().map(Line::of_word).collect(),
    })
}

fn deployment(data: &[u8]) -> Option<Deployment> {
    let call = TokenFactory::deployTokenCall::abi_decode_validate(data).ok()?;
    let mut partitions = Vec::with_capacity(call.partitions.len());
    for terms in call.partitions {
        let cap = terms.cap.try_into().ok()?;
        partitions.push(PartitionTerms { cap, restricted: terms.restricted, rule144: terms.rule144 });
    }
    let total_cap = call.totalCap.try_into().ok()?;
    Some(Deployment { offering_id: call.offeringId, symbol: call.symbol, total_cap, partitions })
}

#[cfg(test)]
mod tests {
    use alloy::primitives::keccak256;

    use super::*;

    #[test]
    fn an_encoded_call_is_decoded_and_other_bytes_are_not_guessed() {
        let lines =
            vec![Line::new(Address::repeat_byte(7), 12).unwrap(), Line::new(Address::repeat_byte(8), 0).unwrap()];
        let page = MintPage { op_id: 3, partition: 1, release_at: 99, lines };
        let data = token::mint_page(Address::ZERO, Address::ZERO, &page).data;
        assert_eq!(decode(&data), Decoded::MintPage(page));
        let longer = Bytes::from([&data[..], &[0; 32]].concat());
        assert_eq!(decode(&longer), Decoded::Other("mintPage".to_owned()));
        let terms = PartitionTerms { cap: 5, restricted: true, rule144: false };
        let deployment =
            Deployment { offering_id: keccak256("off"), symbol: "S".into(), total_cap: 5, partitions: vec![terms] };
        let data = factory::deploy_token(Address::ZERO, Address::ZERO, &deployment).data;
        assert_eq!(decode(&data), Decoded::DeployToken(deployment));
        assert_eq!(
            decode(&token::freeze(Address::ZERO, Address::ZERO, Address::ZERO, Bytes::new()).data),
            Decoded::Other("freezeAddress".into())
        );
        assert_eq!(decode(&Bytes::from_static(&[1, 2])), Decoded::Other("0x0102".to_owned()));
    }
}
