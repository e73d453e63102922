//! Unit tests of `direct_payout.rs`.

use alloy::{
    primitives::{B256, Bytes},
    sol_types::SolEvent,
};

use super::*;
use crate::chain::receipt::Log;
use crate::contract::bindings::{coin::DemoCoin::Transfer, token::PlatformSecurityToken7518::OperationExecuted};
use crate::contract::operation::{kind_of, payload_hash};

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
fn an_encoded_call_decodes_to_the_same_page() {
    for lines in [&[(1, 5)][..], &[(1, 5), (2, 6)], &[(1, 5), (1, 5)]] {
        let page = page(lines);
        assert_eq!(page_of(&pay(PAYER, TOKEN, &page).data), Some(page));
    }
    assert_eq!(page_of(&[1, 2, 3]), None);
}

#[test]
fn a_page_has_the_kind_that_the_contract_names_in_its_event() {
    let kind = |lines: &[(u8, u128)]| kind_of(&pay(PAYER, TOKEN, &page(lines)).data);
    let named = |name: &str| Some(B256::right_padding_from(name.as_bytes()));
    assert_eq!(kind(&[(1, 5)]), named("payout"));
    assert_eq!(kind(&[(1, 5), (2, 6)]), named("payout_page"));
}

#[test]
fn only_transfers_of_the_exact_amounts_prove_a_page() {
    let lines = [(1, 5), (2, 6), (2, 6)];
    let page = page(&lines);
    let shown = |transfers: &[(u8, u128)]| page_effect(&receipt(&page, transfers), TOKEN, PAYER, &page);
    assert_eq!(shown(&lines), Ok(()));
    assert_eq!(shown(&[(2, 6), (1, 5), (2, 6)]), Ok(()));
    for wrong in
        [&[(1, 5), (2, 6)][..], &[(1, 5), (2, 12)], &[(1, 4), (2, 6), (2, 6)], &[(1, 5), (2, 6), (2, 6), (9, 1)], &[]]
    {
        assert!(shown(wrong).is_err(), "{wrong:?}");
    }
    let mut reverted = receipt(&page, &lines);
    reverted.success = false;
    assert!(page_effect(&reverted, TOKEN, PAYER, &page).is_err());
    let mut unsaid = receipt(&page, &lines);
    unsaid.logs.remove(0);
    assert!(page_effect(&unsaid, TOKEN, PAYER, &page).is_err(), "the event of the operation is missing");
}

#[test]
fn missing_transfers_are_reported_line_by_line() {
    let page = page(&[(1, 5), (2, 6), (2, 6), (3, 7)]);
    let said = |transfers: &[(u8, u128)]| line_transfers(&receipt(&page, transfers), PAYER, &page);
    assert_eq!(
        said(&[(1, 5), (2, 6)]),
        [LineTransfer::Exact, LineTransfer::Exact, LineTransfer::Missing, LineTransfer::Missing]
    );
    assert_eq!(
        said(&[(3, 6), (2, 6), (2, 1)]),
        [
            LineTransfer::Missing,
            LineTransfer::Exact,
            LineTransfer::OtherAmount(U256::from(1)),
            LineTransfer::OtherAmount(U256::from(6))
        ]
    );
    let mut elsewhere = receipt(&page, &[(1, 5)]);
    let gift = Transfer { from: TOKEN, to: Address::repeat_byte(3), value: U256::from(7) };
    elsewhere.logs.push(log(COIN, &gift));
    let wanted =
        [LineTransfer::Exact, LineTransfer::Missing, LineTransfer::Missing, LineTransfer::OtherAmount(U256::from(7))];
    assert_eq!(line_transfers(&elsewhere, PAYER, &page), wanted, "a transfer from another account is reported");
}
