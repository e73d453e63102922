//! Unit tests of `payout.rs`.

use muniment_domain::column::{Dec, Hex};

use super::*;

const COIN: Address = Address::repeat_byte(0xc0);
const DISTRIBUTOR: Address = Address::repeat_byte(0xd0);
const SENT: B256 = B256::repeat_byte(7);

/// A receipt of the first distribution: its entitlement, its payee and its units.
fn receipt(entitlement: &str, payee: u8, units: u64) -> Payment {
    Payment {
        distribution_id: "dis_1".into(),
        entitlement_id: entitlement.into(),
        tx_hash: Hex(SENT),
        payout_token: Hex(COIN),
        payee_address: Hex(Address::repeat_byte(payee)),
        units: Dec(U256::from(units)),
        distributor: Some(Hex(DISTRIBUTOR)),
        claimed: false,
    }
}

fn claimed(entitlement: &str, payee: u8, units: u64) -> Payment {
    Payment { claimed: true, ..receipt(entitlement, payee, units) }
}

/// The subjects of what is found beside these payments of the distributor.
fn found(recorded: &[Payment], paid: &[(u8, u64)]) -> Vec<String> {
    let mut payments = Payments::new();
    for (payee, units) in paid {
        *payments.entry((Address::repeat_byte(*payee), U256::from(*units))).or_default() += 1;
    }
    let shown = BTreeMap::from([((COIN, (SENT, Some(DISTRIBUTOR))), payments)]);
    receipts(recorded, shown).into_iter().map(|finding| finding.subject).collect()
}

const NOTHING: [&str; 0] = [];

#[test]
fn two_lines_of_one_account_are_claimed_in_one_payment() {
    let two = [claimed("ent_a", 1, 5), claimed("ent_b", 1, 6)];
    assert_eq!(found(&two, &[(1, 11)]), NOTHING);
    assert_eq!(found(&two, &[(1, 10)]), ["ent_a", "ent_b", "dis_1"]);
    assert_eq!(found(&two, &[(1, 5)]), ["ent_b", "dis_1"]);
    // Two accounts with one successor, each with two lines.
    let four = [two.to_vec(), vec![claimed("ent_c", 1, 7), claimed("ent_d", 1, 8)]].concat();
    assert_eq!(found(&four, &[(1, 11), (1, 15)]), NOTHING);
}

#[test]
fn a_transaction_may_claim_for_others_and_from_another_list() {
    let two = [claimed("ent_a", 1, 5), claimed("ent_b", 1, 6)];
    assert_eq!(found(&two, &[(1, 11), (2, 9)]), NOTHING);
    assert_eq!(found(&two, &[(1, 11), (1, 9)]), NOTHING);
    let other = Payment { distribution_id: "dis_2".into(), ..claimed("ent_c", 1, 9) };
    let lists = [two.to_vec(), vec![other]].concat();
    assert_eq!(found(&lists, &[(1, 11), (1, 9)]), NOTHING);
    assert_eq!(found(&lists, &[(1, 11)]), ["ent_c", "dis_2"]);
}

#[test]
fn a_page_pays_its_lines_and_nobody_else() {
    let page = [receipt("ent_a", 1, 5), receipt("ent_b", 1, 5), receipt("ent_c", 2, 6)];
    assert_eq!(found(&page, &[(1, 5), (1, 5), (2, 6)]), NOTHING);
    assert_eq!(found(&page, &[(1, 5), (1, 5), (2, 6), (3, 1)]), ["dis_1"]);
    assert_eq!(found(&page, &[(1, 5), (2, 6), (3, 5)]), ["ent_b"]);
    assert_eq!(found(&page, &[(1, 5), (1, 4), (2, 6)]), ["ent_b", "dis_1"]);
}

#[test]
fn a_transaction_that_the_chain_does_not_show_paid_nothing() {
    let findings = receipts(&[claimed("ent_a", 1, 5)], BTreeMap::new());
    let kinds: Vec<_> = findings.into_iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::PayoutMissing, FindingKind::PayoutTotal]);
}
