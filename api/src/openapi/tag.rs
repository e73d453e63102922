//! The tags: the nouns of the paths, with what each of them is.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// The description of each tag.
const TAGS: [(&str, &str); 23] = [
    ("api-keys", "Keys with which programs call, each for its owner and within its scopes."),
    ("approvals", "Actions that one person requests and another one approves."),
    ("audit-log", "Who did what, in a chain of hashes."),
    ("auth", "Registration, login, sessions, second factor and the caller's own account."),
    ("blockchain", "Requests for an effect on the chain. Each makes an operation, or an approval that makes one."),
    ("distributions", "Payouts to the holders of a token: snapshot, calculation, approval and payment."),
    ("events", "What happened, in order, for portals to follow."),
    ("investor", "What the calling investor owns: profile, identity, wallets, data."),
    ("investors", "Investors as staff see them, and the decisions on them."),
    ("issuers", "Organisations that offer, and their members."),
    ("networks", "The chains of this installation."),
    ("offerings", "What investors can subscribe to, from the draft to the token."),
    (
        "operations",
        "Durable requests for one effect on a chain: their steps, transactions and history, and an operator's moves.",
    ),
    ("payments", "Money that was received and paid back."),
    ("policies", "The limits of the platform."),
    ("reconciliation-runs", "Comparisons of the chain with the database."),
    ("reports", "Cap table, distributions, taxes and transactions."),
    ("signers", "The platform's signing accounts and their lanes."),
    ("subscriptions", "What investors subscribed, from the commitment to the mint or the refund."),
    ("system", "Health, version, this document and the pages of the errors."),
    ("test-clock", "The clock of a development installation, which can be moved forward."),
    ("users", "People who can log in."),
    ("webhooks", "Endpoints of portals, to which events are delivered."),
];

/// The tag of a path: its first meaningful word.
pub fn of(path: &str) -> &str {
    let mut words = path.split('/').filter(|word| !word.is_empty());
    match (words.next(), words.next()) {
        (Some("v1"), Some("csrf-token")) => "auth",
        (Some("v1"), Some(noun)) => noun,
        (Some("blockchain"), Some(noun @ ("operations" | "signers" | "reconciliation-runs"))) => noun,
        (Some("blockchain"), _) => "blockchain",
        _ => "system",
    }
}

/// The tags that the document uses. A test finds one without a description.
pub fn used(document: &Value) -> Value {
    let paths = document["paths"].as_object().into_iter().flatten();
    let operations = paths.flat_map(|(_, operations)| operations.as_object().into_iter().flatten());
    let tags: BTreeSet<_> = operations.filter_map(|(_, operation)| operation["tags"][0].as_str()).collect();
    let of = |tag: &str| {
        let known = TAGS.iter().find(|(name, _)| *name == tag);
        json!({ "name": tag, "description": known.map_or("", |(_, text)| text) })
    };
    tags.into_iter().map(of).collect()
}
