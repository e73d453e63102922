//! The text that the demo prints. It fits a screen of 80 columns and 24 lines.

use alloy_primitives::Address;

use super::account;
use super::people::{DOMAIN, INVESTORS, NEWCOMERS, STAFF, login_of};

/// The text.
pub fn text(api: &str, chain: &str, folder: &str, key: &str, password: &str) -> String {
    let mut lines = vec![
        String::new(),
        format!("Muniment runs at {api}; its API is described at /docs."),
        // The part after # stays in the browser, so no log contains the password.
        format!("Console: {api}/console#{password}"),
        format!("Its chain is at {chain} (chain id 31337), its data in {folder}/."),
        "Key of an operator, and the password of everybody below:".to_owned(),
        format!("  {key}"),
        format!("  {password}"),
    ];
    let staff = STAFF.map(|(login, ..)| format!("{login}{DOMAIN}"));
    lines.extend(staff.chunks(3).map(|few| format!("  {}", few.join("   "))));
    lines.extend(INVESTORS.iter().zip(account::wallets()).map(|((name, _), wallet)| investor(name, wallet)));
    let newcomers = NEWCOMERS.map(|(name, _)| login_of(name)).join(", ");
    lines.push(format!("  {newcomers} (not approved yet)"));
    lines.push(format!("Mnemonic: {}", account::MNEMONIC));
    lines.extend([
        "README.md has a tour. It begins in a second terminal, in this folder, with".to_owned(),
        format!("  . {folder}/demo.env; curl -sS $API/v1/offerings -H \"Authorization: Bearer $KEY\""),
        "Ctrl-C stops everything; the next start continues. `muniment demo --help`".to_owned(),
    ]);
    lines.join("\n")
}

fn investor(name: &str, wallet: &Address) -> String {
    format!("  {:24} {wallet}", format!("{}{DOMAIN}", login_of(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_invitation_fits_a_small_screen() {
        let key = format!("rap_live_{}", "0".repeat(64));
        let text =
            text("http://127.0.0.1:8080", "http://127.0.0.1:8545", "data", &key, "demo-abcdefghijklmnopqrstuvwxyz");
        assert!(text.lines().count() <= 23, "{text}");
        let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
        assert!(widest.chars().count() <= 80, "{widest}");
        for word in ["/docs", "ada@demo.example", "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC", account::MNEMONIC, &key]
        {
            assert!(text.contains(word), "{word}");
        }
    }
}
