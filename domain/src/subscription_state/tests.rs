//! Unit tests of `subscription_state.rs`.

use super::{Move as M, Status as S};
use crate::state_table_test::cells;

fn allowed(has_money: bool) -> Vec<(S, M, S)> {
    cells(S::ALL, M::ALL, |from, by| from.next(by, Some(S::Binding), has_money))
}

#[test]
fn the_state_table_allows_exactly_these_moves() {
    let wanted = [
        (S::Committed, M::Withdraw, S::Cancelled),
        (S::Committed, M::Cancel, S::Cancelled),
        (S::Committed, M::Bind, S::Binding),
        (S::Committed, M::ChangeTerms, S::PendingReconfirmation),
        (S::Committed, M::Expire, S::Expired),
        (S::Committed, M::Reject, S::Rejected),
        (S::Committed, M::End, S::Cancelled),
        (S::PendingReconfirmation, M::Withdraw, S::Cancelled),
        (S::PendingReconfirmation, M::Cancel, S::Cancelled),
        (S::PendingReconfirmation, M::Reconfirm, S::Binding),
        (S::PendingReconfirmation, M::Lapse, S::Cancelled),
        (S::PendingReconfirmation, M::End, S::Cancelled),
        (S::Binding, M::Cancel, S::Cancelled),
        (S::Binding, M::ChangeTerms, S::PendingReconfirmation),
        (S::Binding, M::Accept, S::Accepted),
        (S::Binding, M::Expire, S::Expired),
        (S::Binding, M::Reject, S::Rejected),
        (S::Binding, M::End, S::Cancelled),
        (S::Accepted, M::Cancel, S::Cancelled),
        (S::Accepted, M::Mint, S::Minted),
        (S::Accepted, M::End, S::Cancelled),
        (S::Cancelled, M::Receive, S::RefundPending),
        (S::Rejected, M::Receive, S::RefundPending),
        (S::Expired, M::Receive, S::RefundPending),
        (S::RefundPending, M::Refund, S::Refunded),
        (S::Refunded, M::Receive, S::RefundPending),
    ];
    assert_eq!(allowed(false), wanted);
    let over = [S::Cancelled, S::Rejected, S::Expired];
    let with_money = wanted.map(|(from, by, to)| (from, by, if over.contains(&to) { S::RefundPending } else { to }));
    assert_eq!(allowed(true), with_money);
}

#[test]
fn a_final_subscription_has_no_moves_and_reserves_only_if_minted() {
    for status in S::ALL {
        let over = status.requests().iter().all(|by| *by == "payments");
        assert_eq!(status.is_final(), over, "{status}");
        assert_eq!(status.reserves(), status.is_open() || *status == S::Minted, "{status}");
    }
}
