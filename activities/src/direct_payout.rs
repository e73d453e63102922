//! Payouts from the payer straight to the holders, by the token: one holder, or a page of them.
use alloy::{
    primitives::{Address, B256, U256},
    sol_types::SolCall,
};

use crate::{
    coin::{self, compare, paid_by, payments},
    line::{self, Line},
    operation::{MissingEffect, executed_effect},
    payout::{batchPayoutCall, payoutCall},
    receipt::Receipt,
    simulate::Call,
};

/// What one transaction pays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutPage {
    /// The operation id of the page on its token.
    pub op_id: u64,
    /// The coin.
    pub asset: Address,
    /// Who gets how much of it.
    pub lines: Vec<Line>,
}

/// Pays a page; one holder alone is paid by `payout`, several by `batchPayout`.
pub fn pay(from: Address, token: Address, page: &PayoutPage) -> Call {
    let (op_id, asset) = (U256::from(page.op_id), page.asset);
    let data = match page.lines.as_slice() {
        [only] => payoutCall { opId: op_id, asset, to: only.holder(), amount: U256::from(only.units()) }.abi_encode(),
        lines => batchPayoutCall { opId: op_id, asset, lines: words(lines) }.abi_encode(),
    };
    Call { from, to: Some(token), data: data.into() }
}

/// The name of the function that pays so many holders.
pub const fn function(lines: usize) -> &'static str {
    if lines == 1 { "payout" } else { "batchPayout" }
}

/// The page that stands in a call.
pub fn page_of(data: &[u8]) -> Option<PayoutPage> {
    if let Ok(call) = payoutCall::abi_decode_validate(data) {
        let line = Line::new(call.to, call.amount.try_into().ok()?).ok()?;
        return Some(PayoutPage { op_id: call.opId.try_into().ok()?, asset: call.asset, lines: vec![line] });
    }
    let call = batchPayoutCall::abi_decode_validate(data).ok()?;
    let lines = call.lines.into_iter().map(line::of_word).collect();
    Some(PayoutPage { op_id: call.opId.try_into().ok()?, asset: call.asset, lines })
}

pub(crate) fn words(lines: &[Line]) -> Vec<B256> {
    lines.iter().map(|line| line.word()).collect()
}

/// Whether the receipt shows the page's operation id with its payload, and for each line one transfer of exactly its units from the
/// payer. What the token says of a payout proves nothing: the coin's own word counts.
pub fn page_effect(receipt: &Receipt, token: Address, payer: Address, page: &PayoutPage) -> Result<(), MissingEffect> {
    if !receipt.success {
        return Err(MissingEffect("the transaction reverted".into()));
    }
    executed_effect(receipt, token, page.op_id, &pay(receipt.from, token, page).data)?;
    let wanted = payments(page.lines.iter().map(|line| (line.holder(), U256::from(line.units()))));
    let mut found = paid_by(receipt, page.asset, payer);
    if found.is_empty() && receipt.from != payer {
        // Another agent executed our operation id out of its own pocket: the holders have their money all the same.
        found = coin::paid_by(receipt, page.asset, receipt.from);
    }
    compare(&wanted, &found)
}

#[cfg(test)]
mod tests {
    use alloy::{primitives::Bytes, sol_types::SolEvent};

    use super::*;
    use crate::bindings::{coin::DemoCoin::Transfer, token::PlatformSecurityToken7518::OperationExecuted};
    use crate::operation::payload_hash;
    use crate::receipt::Log;

    const TOKEN: Address = Address::repeat_byte(0x70);
    const COIN: Address = Address::repeat_byte(0xc0);
    const PAYER: Address = Address::repeat_byte(0xaa);

    fn page(lines: &[(u8, u128)]) -> PayoutPage {
        let lines = lines.iter().map(|(who, units)| Line::new(Address::repeat_byte(*who), *units).unwrap()).collect();
        PayoutPage { op_id: 7, asset: COIN, lines }
    }

    fn log(address: Address, event: &impl SolEvent) -> Log {
        let data = event.encode_log_data();
        Log { address, topics: data.topics().to_vec(), data: data.data }
    }

    fn receipt(page: &PayoutPage, transfers: &[(u8, u128)]) -> Receipt {
        let data: Bytes = pay(PAYER, TOKEN, page).data;
        let executed = OperationExecuted { opId: U256::from(7), kind: B256::ZERO, payloadHash: payload_hash(&data) };
        let mut logs = vec![log(TOKEN, &executed)];
        logs.extend(transfers.iter().map(|(to, value)| {
            log(COIN, &Transfer { from: PAYER, to: Address::repeat_byte(*to), value: U256::from(*value) })
        }));
        Receipt {
            tx_hash: B256::ZERO,
            block_number: 1,
            block_hash: B256::ZERO,
            from: PAYER,
            to: Some(TOKEN),
            contract_address: None,
            success: true,
            gas_used: 0,
            effective_gas_price: 0,
            logs,
        }
    }

    #[test]
    fn a_call_is_read_as_it_was_written() {
        for lines in [&[(1, 5)][..], &[(1, 5), (2, 6)], &[(1, 5), (1, 5)]] {
            let page = page(lines);
            assert_eq!(page_of(&pay(PAYER, TOKEN, &page).data), Some(page));
        }
        assert_eq!(page_of(&[1, 2, 3]), None);
    }

    #[test]
    fn only_transfers_of_exactly_the_amounts_prove_a_page() {
        let lines = [(1, 5), (2, 6), (2, 6)];
        let page = page(&lines);
        let shown = |transfers: &[(u8, u128)]| page_effect(&receipt(&page, transfers), TOKEN, PAYER, &page);
        assert_eq!(shown(&lines), Ok(()));
        assert_eq!(shown(&[(2, 6), (1, 5), (2, 6)]), Ok(()));
        for wrong in [
            &[(1, 5), (2, 6)][..],
            &[(1, 5), (2, 12)],
            &[(1, 4), (2, 6), (2, 6)],
            &[(1, 5), (2, 6), (2, 6), (9, 1)],
            &[],
        ] {
            assert!(shown(wrong).is_err(), "{wrong:?}");
        }
        let mut reverted = receipt(&page, &lines);
        reverted.success = false;
        assert!(page_effect(&reverted, TOKEN, PAYER, &page).is_err());
        let mut unsaid = receipt(&page, &lines);
        unsaid.logs.remove(0);
        assert!(page_effect(&unsaid, TOKEN, PAYER, &page).is_err(), "the token did not say that it was this operation");
    }
}
