//! The description of an operation as a sentence for people.

use alloy_primitives::utils::format_units;
use muniment_domain::offering::Named;
use muniment_domain::operation::{Kind, Operation};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The description of an operation: `Mint 12500.00 ACME to 3 holders`.
#[derive(Serialize, ToSchema)]
#[schema(as = OperationInWords)]
pub struct Description {
    /// The verb with its object.
    #[schema(example = "Mint")]
    verb: &'static str,
    /// The quantity as a decimal. Null if the operation has none.
    #[schema(example = "12500.00")]
    quantity: Option<String>,
    /// The symbol of the token.
    #[schema(example = "ACME")]
    symbol: Option<String>,
    /// The rest of the sentence.
    #[schema(example = "to 3 holders")]
    rest: String,
    /// The number of lines or subjects that it touches.
    subjects: i64,
}

/// The sentence of an operation. `items` is the number of its subjects.
pub fn of(op: &Operation, offering: Option<&Named>, items: i64) -> Description {
    let payload = &op.payload.0;
    let symbol = offering.map(|offering| offering.token_symbol.clone());
    let decimals = offering.and_then(|offering| u8::try_from(offering.token_decimals).ok()).unwrap_or_default();
    let amount = |units: u128| format_units(alloy_primitives::U256::from(units), decimals).ok();
    let text = |path: &str| payload.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |path: &str| payload.pointer(path).and_then(Value::as_i64).unwrap_or_default();
    let moved = |path: &str| text(&format!("{path}/line/units")).parse().ok().and_then(amount);
    let token = symbol.clone().unwrap_or_else(|| "the token".to_owned());
    let (verb, quantity, rest) = match op.kind {
        Kind::DeployToken => ("Deploy the token", None, token),
        Kind::Mint => ("Mint", total(&payload["page"]["lines"]).and_then(amount), to_holders(items)),
        Kind::Freeze => ("Freeze", None, format!("{} on {token}", text("/freeze/account"))),
        Kind::Unfreeze => ("Unfreeze", None, format!("{} on {token}", text("/unfreeze/account"))),
        Kind::Lock => ("Lock", moved("/lock"), format!("of {}", text("/lock/line/holder"))),
        Kind::Unlock => ("Remove expired locks of", None, format!("{} on {token}", text("/unlock/account"))),
        Kind::RestrictPartition => {
            ("Restrict partition", None, format!("{} of {token}", number("/restrict/partition")))
        }
        Kind::UnrestrictPartition => {
            ("Lift the restriction of partition", None, format!("{} of {token}", number("/unrestrict/partition")))
        }
        Kind::ForceTransfer => {
            let (from, to) = (text("/force_transfer/from"), text("/force_transfer/line/holder"));
            ("Force a transfer of", moved("/force_transfer"), format!("from {from} to {to}"))
        }
        Kind::Recover => ("Recover", None, format!("{} to {}", text("/recovery/lost"), text("/recovery/replacement"))),
        Kind::Reinstate => ("Reinstate", None, format!("{} on {token}", text("/reinstate/account"))),
        Kind::Redeem => ("Redeem", moved("/redeem"), format!("of {}", text("/redeem/line/holder"))),
        Kind::ReleaseLock => {
            ("Release the lock of", moved("/release_lock"), format!("of {}", text("/release_lock/line/holder")))
        }
        Kind::Pause => ("Pause", None, token),
        Kind::Unpause => ("End the pause of", None, token),
        Kind::Payout if items == 0 => ("Allow the distributor to take the money of", None, token),
        Kind::Payout => ("Pay", None, to_holders(items)[3..].to_owned() + " of " + &token),
        Kind::DistributorPayout => {
            ("Pay by the distributor", None, to_holders(items)[3..].to_owned() + " of " + &token)
        }
        Kind::AuditDeclaration => ("Declare the audit report of a payout of", None, token),
    };
    let symbol = symbol.filter(|_| quantity.is_some());
    Description { verb, quantity, symbol, rest, subjects: items }
}

fn to_holders(count: i64) -> String {
    format!("to {count} holder{}", if count == 1 { "" } else { "s" })
}

/// The sum of all lines. A sum that leaves out a line would be worse than none.
fn total(lines: &Value) -> Option<u128> {
    let units = |line: &Value| line.get("units")?.as_str()?.parse::<u128>().ok();
    lines.as_array()?.iter().try_fold(0u128, |sum, line| sum.checked_add(units(line)?))
}
