//! Lists and filters return every object of the caller and none of others.

use std::collections::BTreeSet;

use super::objects::{Asking, Case};
use super::ownership::{Caller, Ownership, Thing};
use super::table::{Line, lines};

/// The lists, their objects, and their queries.
const LISTS: &[(&str, &str, &[&str])] = &[
    ("/v1/offerings", "offerings", &["?limit=100"]),
    ("/v1/subscriptions", "subscriptions", &["?limit=100"]),
    ("/v1/distributions", "distributions", &["?limit=100"]),
    ("/v1/events", "events", &["?limit=100&type=offering.created", "?limit=100&type=subscription.committed"]),
    ("/v1/webhooks/endpoints", "endpoints", &["?limit=100"]),
    ("/v1/api-keys", "api-keys", &["?limit=100"]),
    ("/v1/auth/sessions", "sessions", &[""]),
    ("/v1/investor/wallets", "wallets", &[""]),
    ("/v1/investors", "investors", &["?limit=100"]),
    ("/v1/issuers", "issuers", &["?limit=100"]),
    ("/v1/users", "users", &["?limit=100"]),
    ("/v1/approvals", "approvals", &["?limit=100"]),
    ("/blockchain/operations", "operations", &["?limit=100"]),
    ("/blockchain/signers", "signers", &[""]),
    ("/blockchain/reconciliation-runs", "reconciliation-runs", &["?limit=100"]),
];

/// Filters that may name another's object.
const FILTERS: &[(&str, &str, &str)] = &[
    ("/v1/subscriptions", "offering_id", "offerings"),
    ("/v1/subscriptions", "investor_id", "investors"),
    ("/v1/distributions", "offering_id", "offerings"),
    ("/v1/events", "after", "events"),
    ("/v1/offerings", "q", "offerings"),
    ("/blockchain/operations", "offering_id", "offerings"),
];

fn line(path: &str) -> Line {
    lines().into_iter().find(|line| line.is_read() && line.path == path).unwrap()
}

/// Ids in a response that the caller may not see. Staff sees more than an object's kind says.
pub fn leaks<'a>(all: &'a Ownership, caller: &Caller, line: &Line, text: &str) -> Vec<&'a str> {
    let kept = |thing: &&Thing| match thing.noun {
        // Not hidden: a chain's ledger is public, and an issuer has a list of its holders.
        "balances" | "frozen" | "can-transfer" | "partitions" | "issuers" | "users" | "chains" => false,
        "investors" => caller.letter == 'I',
        _ => !thing.public,
    };
    let hidden = |thing: &&Thing| kept(thing) && !caller.sees(line, &[], thing);
    let told = all.things.iter().filter(hidden).map(|thing| thing.id.as_str()).filter(|id| text.contains(id));
    if "OAU".contains(caller.letter) { Vec::new() } else { told.collect() }
}

/// Reads every list as every caller, and with every filter for another's object.
pub async fn lists(all: &Ownership, asking: &Asking) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, noun, queries) in LISTS {
        for caller in &all.callers {
            let case = Case { line: line(path), caller, things: Vec::new() };
            if caller.is_refused(&case.line) {
                continue;
            }
            let mut text = String::new();
            for query in *queries {
                text += &asking.ask(&case, &format!("{path}{query}")).await.body.to_string();
            }
            let of_kind = || all.things.iter().filter(|thing| thing.noun == *noun);
            let told: BTreeSet<_> = of_kind().filter(|thing| text.contains(&thing.id)).map(|thing| &thing.id).collect();
            let seen = of_kind().filter(|thing| caller.sees(&case.line, &[], thing)).map(|thing| &thing.id).collect();
            if told != seen {
                wrong.push(format!("{path} for {} ({}): {told:?}, not {seen:?}", caller.name, caller.letter));
            }
            let leaks = leaks(all, caller, &case.line, &text);
            wrong.extend(leaks.iter().map(|leak| format!("{path} for {} tells of {leak}", caller.name)));
        }
    }
    wrong.extend(filters(all, asking).await);
    wrong
}

async fn filters(all: &Ownership, asking: &Asking) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, filter, noun) in FILTERS {
        for caller in all.callers.iter().filter(|caller| !caller.is_refused(&line(path))) {
            let case = Case { line: line(path), caller, things: Vec::new() };
            for thing in all.things.iter().filter(|thing| thing.noun == *noun) {
                let answer = asking.ask(&case, &format!("{path}?{filter}={}", thing.id)).await;
                let leaks = leaks(all, caller, &case.line, &answer.body.to_string());
                // The response may repeat the requested id; anything else about that object would be a leak.
                let leaks = leaks.iter().filter(|id| **id != thing.id);
                wrong.extend(
                    leaks.map(|leak| format!("{path}?{filter}={} for {} tells of {leak}", thing.id, caller.name)),
                );
                // A filter that only staff has is refused as such, also to the owner of the object.
                let is_of_staff = answer.problem() == (403, "role_forbidden".to_owned());
                if !matches!(answer.status, 200 | 400) && !is_of_staff {
                    wrong.push(format!("{path}?{filter}={} for {}: {:?}", thing.id, caller.name, answer.problem()));
                }
            }
        }
    }
    wrong
}
