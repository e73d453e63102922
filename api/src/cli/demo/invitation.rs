//! The text that the demo prints: its address, its users and three commands to try.

use std::net::SocketAddr;

use muniment_domain::offering::TokenStatus;

use super::account;
use super::data::Demo;

/// The text.
pub fn text(api: SocketAddr, chain_url: &str, demo: &Demo, password: &str) -> String {
    let base = format!("http://{api}");
    let mut lines = vec![
        format!("\nMuniment runs at {base}, its development chain at {chain_url} (chain id 31337)."),
        format!("API key of an operator, valid while this process runs: {}", demo.key),
        format!("Users, with the password {password} while this process runs"),
    ];
    lines.extend(demo.people.iter().map(|(email, role)| format!("  {email:26} {role}")));
    lines.push("\nOfferings:".to_owned());
    for offering in &demo.offerings {
        let lockup = match offering.lockup_release_at {
            Some(at) => format!("locked until {}", at.format("%Y-%m-%d")),
            None => "no lockup".to_owned(),
        };
        lines.push(format!("  {}  {:14} {} {lockup}", offering.id, offering.name, offering.token_status));
    }
    lines.push("\nWallets of the investors (keys of the mnemonic `test test … junk`):".to_owned());
    lines.extend(account::wallets().iter().take(6).map(|wallet| format!("  {wallet}")));
    let without_token = demo.offerings.iter().find(|offering| offering.token_status != TokenStatus::Deployed);
    if let Some(offering) = without_token.or(demo.offerings.first()) {
        lines.push("\nDeploy the token, mint every accepted subscription, read the result:".to_owned());
        lines.extend(commands(&base, &demo.key, &offering.id).map(|command| format!("\n{command}")));
    }
    lines.push("\nCtrl-C stops everything. The next start continues from here.\n".to_owned());
    lines.join("\n")
}

// Each key of idempotency holds the second of its request, so that a command can be given again. The pauses let the first two become
// final, for whoever pastes all three at once.
fn commands(base: &str, key: &str, offering_id: &str) -> [String; 3] {
    let post = |path: &str, name: &str| {
        format!(
            "curl -sS {base}{path} -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' \\\n  \
             -H \"Idempotency-Key: {name}-$(date +%s)\" -d '{{\"offering_id\":\"{offering_id}\"}}'; echo; sleep 2"
        )
    };
    [
        post("/blockchain/deploy-token", "deploy"),
        post("/blockchain/trigger-mint", "mint"),
        format!("curl -sS '{base}/v1/offerings/{offering_id}/subscriptions' -H 'Authorization: Bearer {key}'; echo"),
    ]
}
