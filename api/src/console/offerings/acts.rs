//! The life of an offering, one act for each move.

use crate::console::act::{Act, ORGANISERS, Touch};
use crate::console::field::{Kind, REASON, REMARK, needed};

/// Every move, in the order of its life.
pub const ACTS: &[Act] = &[
    Act::post(
        "submit",
        "Submit",
        "/v1/offerings/{id}/submit",
        "Asks for a review. The terms stay as they are meanwhile.",
    )
    .by(ORGANISERS)
    .listed("submit")
    .said("Submitted for review."),
    Act::post(
        "approve",
        "Approve",
        "/v1/offerings/{id}/approve",
        "It can be published. Its terms are fixed by their hash.",
    )
    .listed("approve")
    .said("The offering is approved."),
    Act::post(
        "request-changes",
        "Request changes",
        "/v1/offerings/{id}/request-changes",
        "It goes back to its issuer, with your comment.",
    )
    .listed("request-changes")
    .fields(&[needed("comment", "What has to change", Kind::Text)])
    .said("It went back to its issuer."),
    Act::post("publish", "Publish", "/v1/offerings/{id}/publish", "It takes subscriptions from now on.")
        .by(ORGANISERS)
        .listed("publish")
        .fields(&[REMARK])
        .said("The offering is open."),
    Act::post(
        "pause",
        "Pause",
        "/v1/offerings/{id}/pause",
        "It takes no new subscriptions. Those that stand are not touched.",
    )
    .by(ORGANISERS)
    .listed("pause")
    .fields(&[REASON])
    .said("The offering is paused."),
    Act::post("resume", "Resume", "/v1/offerings/{id}/resume", "It takes subscriptions again.")
        .by(ORGANISERS)
        .listed("resume")
        .fields(&[REMARK])
        .said("The offering takes subscriptions again."),
    Act::post(
        "reopen",
        "Reopen",
        "/v1/offerings/{id}/reopen",
        "It closed by its cap, has room again, and takes subscriptions again.",
    )
    .by(ORGANISERS)
    .listed("reopen")
    .fields(&[REMARK])
    .said("The offering is open again."),
    Act::post(
        "close",
        "Close",
        "/v1/offerings/{id}/close",
        "It takes no more subscriptions, and what is accepted can be minted.",
    )
    .by(ORGANISERS)
    .listed("close")
    .fields(&[REMARK])
    .said("The offering is closed."),
    Act::post(
        "cancel",
        "Cancel the offering",
        "/v1/offerings/{id}/cancel",
        "It ends, and every payment is to be refunded. It cannot be taken back.",
    )
    .by(ORGANISERS)
    .listed("cancel")
    .touching(Touch::Two)
    .grave()
    .fields(&[REASON])
    .said("The offering is cancelled."),
    Act::post("archive", "Archive", "/v1/offerings/{id}/archive", "It leaves the lists. Its records stay.")
        .listed("archive")
        .fields(&[REMARK])
        .said("The offering is archived."),
];

/// The deployment of its token.
pub const DEPLOY: Act = Act::post(
    "deploy",
    "Deploy the token",
    "/blockchain/deploy-token",
    "Deploys the contract of the token. Its address is known before anything is sent.",
)
.touching(Touch::Chain)
.about("offering_id")
.said("Accepted. The engine deploys the token.");
