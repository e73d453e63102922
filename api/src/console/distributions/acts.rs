//! The life of a distribution, one act for each move, and what can be decided about one holder.

use crate::console::act::{Act, ORGANISERS, Touch};
use crate::console::field::{Kind, REASON, REMARK, needed, optional};

/// A new distribution.
pub const CREATE: Act =
    Act::post("create", "New distribution", "/v1/distributions", "A draft. Nothing is read and nobody is paid.")
        .by(ORGANISERS)
        .opens()
        .fields(&[
            needed("offering_id", "Offering", Kind::Line).hint("off_"),
            needed(
                "type",
                "Kind",
                Kind::Choice(&[
                    ("dividend", "Dividend"),
                    ("interest", "Interest"),
                    ("rent", "Rent"),
                    ("principal", "Principal"),
                    ("other", "Other"),
                ]),
            ),
            needed(
                "method",
                "Method",
                Kind::Choice(&[
                    ("direct_payout", "Paid straight to the holders"),
                    ("distributor", "Through the distributor"),
                ]),
            ),
            optional("total_amount", "Total amount", Kind::Line).hint("12000.00"),
            optional("per_unit_amount", "Or the amount for one token", Kind::Line).hint("0.25"),
            needed("record_date", "Record date", Kind::Day)
                .hint("It ends at midnight in the time zone of the offering."),
            needed("payment_date", "Payment date", Kind::Day),
            optional("memo", "Note for the investors", Kind::Text),
            optional("excluded_addresses", "Wallets that are not paid", Kind::Lines).hint("one a line"),
        ])
        .said("The draft is made. Read the balances next.");

/// Every move, in the order of its life.
pub const ACTS: &[Act] = &[
    Act::post(
        "snapshot",
        "Read the balances",
        "/v1/distributions/{id}/snapshot",
        "Reads who held what at the record date, from final blocks.",
    )
    .by(ORGANISERS)
    .from(&["draft"])
    .said("Accepted. The balances are being read."),
    Act::post(
        "calculate",
        "Calculate",
        "/v1/distributions/{id}/calculate",
        "Fixes the amount of each holder. Nobody is paid.",
    )
    .by(ORGANISERS)
    .from(&["snapshotted"])
    .said("The amounts are calculated."),
    Act::post(
        "submit",
        "Submit",
        "/v1/distributions/{id}/submit",
        "Binds the list by its hash. From the threshold on a second person decides.",
    )
    .by(ORGANISERS)
    .touching(Touch::Two)
    .from(&["calculated"])
    .said("Submitted."),
    Act::post(
        "execute",
        "Execute",
        "/v1/distributions/{id}/execute",
        "Pays exactly the approved list, page by page. It cannot be taken back.",
    )
    .touching(Touch::Chain)
    .grave()
    .from(&["approved"])
    .said("Accepted. The engine pays page by page."),
    Act::post(
        "reissue",
        "Pay what failed again",
        "/v1/distributions/{id}/reissue",
        "Pays those again whose payment failed for certain.",
    )
    .touching(Touch::Two)
    .from(&["partially_completed"])
    .fields(&[REASON]),
    Act::post(
        "claim-withheld",
        "Pay what is withheld",
        "/v1/distributions/{id}/claim-withheld",
        "Pays every holder for whom the distributor keeps money and who can be paid now.",
    )
    .touching(Touch::Chain)
    .from(&["executing", "partially_completed"])
    .fields(&[REASON])
    .said("Accepted. The engine claims page by page."),
    Act::post(
        "reclaim",
        "Reclaim",
        "/v1/distributions/{id}/reclaim",
        "Takes unclaimed money back from the distributor.",
    )
    .touching(Touch::Two)
    .from(&["executing", "partially_completed", "completed"])
    .fields(&[REASON]),
    Act::post(
        "declare-audit",
        "Declare an audit",
        "/v1/distributions/{id}/declare-audit",
        "Writes the hash of the audit report to the chain.",
    )
    .touching(Touch::Chain)
    .from(&["executing", "partially_completed", "completed"])
    .fields(&[needed("report_sha256", "SHA-256 of the report", Kind::Line).hint("64 hexadecimal digits"), REMARK])
    .said("Accepted. The engine declares it."),
    Act::post("cancel", "Cancel", "/v1/distributions/{id}/cancel", "Ends it before anybody is paid.")
        .by(ORGANISERS)
        .grave()
        .from(&["draft", "snapshotting", "snapshotted", "calculated", "awaiting_approval", "approved"])
        .fields(&[REASON])
        .said("The distribution is cancelled."),
];

/// What can be decided about one holder. Their id is part of the form.
pub const HOLDER: &[Act] = &[
    Act::post(
        "hold",
        "Hold",
        "/v1/distributions/{id}/entitlements/{of}/hold",
        "This holder is not paid until somebody releases it.",
    )
    .fields(&[REASON])
    .said("The holder is held."),
    Act::post(
        "release",
        "Release",
        "/v1/distributions/{id}/entitlements/{of}/release",
        "This holder is paid with the others, or at once if they were paid already.",
    )
    .touching(Touch::Chain)
    .fields(&[REASON])
    .said("The holder is released."),
    Act::post(
        "exclude",
        "Exclude",
        "/v1/distributions/{id}/entitlements/{of}/exclude",
        "This holder is never paid by this distribution.",
    )
    .touching(Touch::Two)
    .grave()
    .fields(&[REASON]),
    Act::post(
        "pay-again",
        "Pay again",
        "/v1/distributions/{id}/entitlements/{of}/reissue",
        "Pays this holder again, whose payment failed for certain.",
    )
    .touching(Touch::Two)
    .fields(&[REASON]),
];
