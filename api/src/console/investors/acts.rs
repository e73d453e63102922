//! What a reviewer and an operator can do about an investor.

use muniment_domain::investor::Move;

use crate::console::act::{Act, Touch};
use crate::console::field::{EVIDENCE, Field, Kind, REASON, fixed, needed, optional};

const DECISION: &str = "/v1/investors/{id}/kyc/decision";
const SCREENING: Kind = Kind::Choice(&[("clear", "Clear"), ("hit", "Hit")]);
const LEVEL: Field = optional("level", "Level", Kind::Choice(&[("basic", "Basic"), ("enhanced", "Enhanced")]));
const CODE: Field =
    needed("reason_code", "Reason, which the investor sees", Kind::Line).hint("a word such as document_unreadable");
const EXPIRES: Field = optional("expires_at", "Ends early", Kind::Moment);
const RISK: Field = optional("high_risk", "High risk", Kind::Flag);
const SCREENED: Field = needed("screening", "Sanctions screening", SCREENING);
const CAUSES: Kind = Kind::Choice(&[
    ("sanctions_hit", "Sanctions hit"),
    ("pep_hit", "Politically exposed"),
    ("court_order", "Court order"),
    ("fraud", "Fraud"),
    ("operator", "Decision of an operator"),
]);

/// Every act, in the order of a review. The domain says from which statuses a move of the identity check is possible.
pub const ACTS: &[Act] = &[
    Act::post("start-review", "Start the review", DECISION, "Tells others that you look at it.")
        .listed(Move::StartReview.as_str())
        .fields(&[fixed("decision", "start_review")])
        .said("The review has begun."),
    Act::post("approve", "Approve", DECISION, "The investor can subscribe, and verified wallets can be minted to.")
        .listed(Move::Approve.as_str())
        .fields(&[fixed("decision", "approve"), LEVEL, SCREENED, EVIDENCE, EXPIRES, RISK])
        .said("The identity is approved."),
    Act::post("ask", "Ask for more", DECISION, "The investor is asked for more papers, and sees the reason.")
        .listed(Move::NeedsInformation.as_str())
        .fields(&[fixed("decision", "needs_information"), CODE])
        .said("The investor was asked for more."),
    Act::post("reject", "Reject", DECISION, "The investor cannot subscribe, and sees the reason.")
        .listed(Move::Reject.as_str())
        .fields(&[fixed("decision", "reject"), CODE])
        .grave()
        .said("The identity is rejected."),
    Act::post("renew", "Renew", DECISION, "The approval is good for another term.")
        .listed(Move::Renew.as_str())
        .fields(&[fixed("decision", "renew"), LEVEL, SCREENED, EVIDENCE, EXPIRES, RISK])
        .said("The approval is renewed."),
    Act::post("reset", "Let them begin again", DECISION, "The investor can hand in papers anew.")
        .listed(Move::Reset.as_str())
        .fields(&[fixed("decision", "reset")])
        .said("The investor can begin again."),
    Act::post(
        "accredit",
        "Accreditation",
        "/v1/investors/{id}/accreditation",
        "Records whether the investor is accredited, and why.",
    )
    .fields(&[
        needed("status", "Status", Kind::Choice(&[("verified", "Verified"), ("none", "None")])),
        needed("basis", "Basis", Kind::Line).hint("a word such as net_worth"),
        EVIDENCE,
        EXPIRES,
    ])
    .said("The accreditation is recorded."),
    Act::post(
        "tax",
        "Withholding tax",
        "/v1/investors/{id}/tax",
        "Sets the rate that is withheld from the next payouts.",
    )
    .fields(&[
        needed("withholding_rate", "Rate in percent", Kind::Line).hint("26.38"),
        needed("basis", "Basis", Kind::Line).hint("a word such as treaty"),
        EVIDENCE,
    ])
    .said("The rate is recorded."),
    Act::post(
        "suspend",
        "Suspend",
        "/v1/investors/{id}/suspend",
        "Stops every subscription and mint, and proposes to freeze the wallets.",
    )
    .listed(Move::Suspend.as_str())
    .fields(&[
        needed("reason_code", "Cause", CAUSES),
        optional("evidence_sha256", "SHA-256 of the evidence", Kind::Line),
    ])
    .grave()
    .said("The investor is suspended. Freezes are proposed below."),
    Act::post("reinstate", "Reinstate", "/v1/investors/{id}/reinstate", "Ends the suspension.")
        .listed(Move::Reinstate.as_str())
        .touching(Touch::Two)
        .fields(&[REASON, EVIDENCE, optional("screening", "Sanctions screening", SCREENING)]),
    Act::post(
        "erase",
        "Erase personal data",
        "/v1/investors/{id}/erase",
        "Erases what the law lets us erase. It cannot be taken back.",
    )
    .touching(Touch::Two)
    .grave()
    .fields(&[REASON]),
];
