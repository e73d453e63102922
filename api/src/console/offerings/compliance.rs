//! What the law can ask of a token: each act becomes an operation, and most of them take a second person.

use crate::console::act::{Act, Touch};
use crate::console::field::{Field, Kind, needed, optional};

const CAUSES: Kind = Kind::Choice(&[
    ("investigation", "Investigation"),
    ("sanctions", "Sanctions"),
    ("court_order", "Court order"),
    ("identity_expired", "Identity expired"),
    ("holder_request", "Request of the holder"),
    ("lost_wallet", "Lost wallet"),
    ("offering_terms", "Terms of the offering"),
    ("error_correction", "Correction of an error"),
    ("resolved", "Resolved"),
]);
const FORCE: Kind = Kind::Choice(&[
    ("court_order", "Court order"),
    ("recovery", "Recovery"),
    ("error_correction", "Correction of an error"),
    ("sanctions", "Sanctions"),
]);
const CAUSE: Field = needed("reason_code", "Cause", CAUSES);
const CASE: Field = optional("case_reference", "Case", Kind::Line).hint("the number of the case");
const PAPER: Field = optional("document_sha256", "SHA-256 of the document", Kind::Line).hint("64 hexadecimal digits");
const WALLET: Field = needed("address", "Wallet", Kind::Line).hint("0x");
const PARTITION: Field = needed("partition", "Partition", Kind::Line).hint("1");
const QUANTITY: Field = needed("quantity", "Quantity", Kind::Line).hint("in tokens, such as 1250.00");
const RELEASE: Field = needed("release_at", "Locked until", Kind::Moment);

const fn act(word: &'static str, name: &'static str, path: &'static str, does: &'static str) -> Act {
    Act::post(word, name, path, does)
        .about("offering_id")
        .touching(Touch::Two)
        .said("Accepted. The engine takes it from here.")
}

/// Every act, the harmless ones first.
pub const ACTS: &[Act] = &[
    act("freeze", "Freeze a wallet", "/blockchain/freeze", "The wallet can neither send nor receive.")
        .touching(Touch::Chain)
        .fields(&[WALLET, CAUSE, CASE, PAPER]),
    act("unfreeze", "Unfreeze a wallet", "/blockchain/unfreeze", "The wallet can send and receive again.")
        .fields(&[WALLET, CAUSE, CASE, PAPER]),
    act("lock", "Lock units", "/blockchain/lock", "Units of a wallet cannot be moved until a day.")
        .touching(Touch::Chain)
        .fields(&[WALLET, PARTITION, QUANTITY, RELEASE, CAUSE, CASE, PAPER]),
    act("unlock", "Remove expired locks", "/blockchain/unlock", "Removes locks of a wallet whose day has come.")
        .fields(&[WALLET, PARTITION, CAUSE, CASE, PAPER]),
    act(
        "release-lock",
        "End a lock early",
        "/blockchain/release-lock",
        "Units can be moved before their day, or from another day on.",
    )
    .fields(&[
        WALLET,
        PARTITION,
        QUANTITY,
        RELEASE,
        optional("new_release_at", "Locked until, from now on", Kind::Moment),
        CAUSE,
        CASE,
        PAPER,
    ]),
    act("restrict", "Restrict a partition", "/blockchain/restrict", "Nobody can move units of the partition.")
        .touching(Touch::Chain)
        .fields(&[PARTITION, CAUSE, CASE, PAPER]),
    act("unrestrict", "Lift a restriction", "/blockchain/unrestrict", "Units of the partition can be moved again.")
        .fields(&[PARTITION, CAUSE, CASE, PAPER]),
    act("pause-token", "Pause the token", "/blockchain/pause", "Stops every transfer and every mint of the token.")
        .touching(Touch::Chain)
        .grave()
        .fields(&[CAUSE, CASE, PAPER]),
    act("unpause-token", "End the pause", "/blockchain/unpause", "Transfers and mints of the token go on.")
        .fields(&[CAUSE, CASE, PAPER]),
    act(
        "force-transfer",
        "Force a transfer",
        "/blockchain/force-transfer",
        "Moves units without the consent of their holder.",
    )
    .grave()
    .fields(&[
        needed("from", "From", Kind::Line).hint("0x"),
        needed("to", "To", Kind::Line).hint("0x"),
        PARTITION,
        QUANTITY,
        needed("reason_code", "Cause", FORCE),
        needed("document_sha256", "SHA-256 of the order", Kind::Line).hint("64 hexadecimal digits"),
        CASE,
    ]),
    act(
        "recover",
        "Recover a wallet",
        "/blockchain/recover",
        "Moves everything of a lost wallet to a new one of the same investor.",
    )
    .grave()
    .fields(&[
        needed("investor_id", "Investor", Kind::Line).hint("inv_"),
        needed("lost_address", "Lost wallet", Kind::Line).hint("0x"),
        needed("new_address", "New wallet", Kind::Line).hint("0x"),
        needed("evidence_document_sha256", "SHA-256 of the evidence", Kind::Line).hint("64 hexadecimal digits"),
        CASE,
    ]),
    act(
        "reinstate",
        "Reinstate a wallet",
        "/blockchain/reinstate",
        "Takes a mistyped recovery back: the wallet counts again.",
    )
    .fields(&[WALLET, CAUSE, CASE, PAPER]),
    act("redeem", "Redeem units", "/blockchain/redeem", "Burns units of a holder. It cannot be taken back.")
        .grave()
        .fields(&[WALLET, PARTITION, QUANTITY, CAUSE, CASE, PAPER]),
];
