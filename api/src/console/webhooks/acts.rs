//! What can be done about endpoints and deliveries.

use crate::console::act::{Act, ORGANISERS, Touch};
use crate::console::field::{Field, Kind, fixed, needed, optional};

const TYPES: Field =
    needed("event_types", "Events", Kind::Lines).hint("one a line, such as operation.confirmed, or * for all");

/// A new endpoint.
pub const CREATE: Act = Act::post(
    "create",
    "New endpoint",
    "/v1/webhooks/endpoints",
    "Events are sent to this URL from now on. The secret is shown once.",
)
.by(ORGANISERS)
.touching(Touch::Outside)
.shows("secret")
.fields(&[
    needed("url", "URL", Kind::Line).hint("https://"),
    TYPES,
    optional("description", "Description", Kind::Line),
    optional("rate_limit_per_minute", "Requests a minute", Kind::Number),
])
.said("The endpoint is made.");

/// What can be done about an endpoint.
pub const ENDPOINT: &[Act] = &[
    Act::post("test", "Send a test", "/v1/webhooks/endpoints/{id}/test", "Sends one event that means nothing.")
        .by(ORGANISERS)
        .touching(Touch::Outside)
        .from(&["enabled"])
        .said("The test is on its way."),
    Act::post(
        "redeliver-failed",
        "Send what failed",
        "/v1/webhooks/endpoints/{id}/redeliver-failed",
        "Sends every failed delivery again, with the same id and bytes.",
    )
    .by(ORGANISERS)
    .touching(Touch::Outside)
    .from(&["enabled"])
    .said("What failed is sent again."),
    Act::post(
        "recover",
        "Send what was missed",
        "/v1/webhooks/endpoints/{id}/recover",
        "Sends the events of a time in which the endpoint was disabled.",
    )
    .by(ORGANISERS)
    .touching(Touch::Outside)
    .from(&["enabled"])
    .fields(&[needed("since", "From", Kind::Moment), optional("until", "To", Kind::Moment)])
    .said("What was missed is on its way."),
    Act::post("enable", "Enable", "/v1/webhooks/endpoints/{id}", "Events are sent again from now on.")
        .by(ORGANISERS)
        .patch()
        .touching(Touch::Outside)
        .from(&["disabled"])
        .fields(&[fixed("status", "enabled")])
        .said("The endpoint is enabled."),
    Act::post("disable", "Disable", "/v1/webhooks/endpoints/{id}", "Nothing is sent until it is enabled again.")
        .by(ORGANISERS)
        .patch()
        .from(&["enabled"])
        .fields(&[fixed("status", "disabled")])
        .said("The endpoint is disabled."),
    Act::post(
        "rotate-secret",
        "New secret",
        "/v1/webhooks/endpoints/{id}/rotate-secret",
        "Deliveries are signed with both secrets for a while. The new one is shown once.",
    )
    .by(ORGANISERS)
    .shows("secret")
    .fields(&[optional("overlap_hours", "Hours with both secrets", Kind::Number)])
    .said("The new secret signs from now on."),
    Act::post("remove", "Remove", "/v1/webhooks/endpoints/{id}", "The endpoint and what waits for it are gone.")
        .by(ORGANISERS)
        .delete()
        .grave()
        .said("The endpoint is removed."),
];

/// What can be done about a delivery.
pub const DELIVERY: &[Act] = &[Act::post(
    "redeliver",
    "Send again",
    "/v1/webhooks/deliveries/{id}/redeliver",
    "Sends the same id and bytes once more. A portal that took it knows the id.",
)
.by(ORGANISERS)
.touching(Touch::Outside)
.said("It is sent again.")];
