//! The custom errors of the contracts, read from the deployed ABI, and a sentence for each.
use std::{collections::HashMap, sync::LazyLock};

use alloy::primitives::{hex, keccak256};
use serde::Deserialize;

/// A custom error of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomError {
    /// Name of the error.
    pub name: String,
    /// Name and ABI type of each operand.
    pub inputs: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Artifact {
    abi: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    inputs: Vec<Input>,
}

#[derive(Deserialize)]
struct Input {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    components: Vec<Input>,
}

const ARTIFACTS: [&str; 7] = [
    include_str!("../../../contracts/artifacts/AgentRegistry.json"),
    include_str!("../../../contracts/artifacts/DemoCoin.json"),
    include_str!("../../../contracts/artifacts/PlatformSecurityToken7518.json"),
    include_str!("../../../contracts/artifacts/PlatformYieldDistributor.json"),
    include_str!("../../../contracts/artifacts/Rule144.json"),
    include_str!("../../../contracts/artifacts/TokenFactory.json"),
    include_str!("../../../contracts/artifacts/TransferAgent.json"),
];

static ERRORS: LazyLock<HashMap<[u8; 4], CustomError>> = LazyLock::new(|| {
    let error = |entry: Entry| (selector(&entry), CustomError { name: entry.name, inputs: named(entry.inputs) });
    entries("error").map(error).collect()
});

static FUNCTIONS: LazyLock<HashMap<[u8; 4], String>> =
    LazyLock::new(|| entries("function").map(|entry| (selector(&entry), entry.name)).collect());

// A test parses every artifact, so a broken one cannot be skipped silently here.
fn entries(kind: &str) -> impl Iterator<Item = Entry> {
    let artifacts = ARTIFACTS.iter().filter_map(|text| serde_json::from_str::<Artifact>(text).ok());
    artifacts.flat_map(|artifact| artifact.abi).filter(move |entry| entry.kind == kind)
}

/// The name of the function with this selector, or the selector if the function is not ours.
pub(crate) fn function(selector: &[u8]) -> String {
    let known = <[u8; 4]>::try_from(selector).ok().and_then(|selector| FUNCTIONS.get(&selector));
    known.cloned().unwrap_or_else(|| hex::encode_prefixed(selector))
}

/// The error with this selector, if it is one of ours.
pub fn by_selector(selector: [u8; 4]) -> Option<&'static CustomError> {
    ERRORS.get(&selector)
}

/// The sentence for an error, with its operands filled in.
pub(crate) fn sentence(name: &str, operands: &[(String, String)]) -> String {
    let template = SENTENCES.iter().find(|(known, _)| *known == name).map(|(_, template)| *template);
    let fits = |template: &&str| operands.iter().all(|(operand, _)| template.contains(&format!("{{{operand}}}")));
    match template.filter(fits) {
        Some(template) => operands.iter().fold(template.to_owned(), |text, (operand, value)| {
            let value = match operand.as_str() {
                "rolesNeeded" => roles(value),
                "selector" => hex::decode(value).map_or_else(|_| value.clone(), |bytes| function(&bytes)),
                _ => value.clone(),
            };
            text.replace(&format!("{{{operand}}}"), &value)
        }),
        None => {
            let shown: Vec<String> = operands.iter().map(|(operand, value)| format!("{operand} = {value}")).collect();
            format!("The contract rejected the call with {name}({}).", shown.join(", "))
        }
    }
}

fn roles(mask: &str) -> String {
    let mask: u64 = mask.parse().unwrap_or_default();
    let names = [(1, "issuer"), (2, "custody"), (4, "payout"), (8, "compliance")];
    let held: Vec<&str> = names.iter().filter(|(bit, _)| mask & bit != 0).map(|(_, name)| *name).collect();
    held.join(" or ")
}

/// The type as a signature has it: a tuple is the list of its parts.
fn canonical(input: &Input) -> String {
    match input.kind.strip_prefix("tuple") {
        Some(list) => format!("({}){list}", input.components.iter().map(canonical).collect::<Vec<_>>().join(",")),
        None => input.kind.clone(),
    }
}

fn selector(entry: &Entry) -> [u8; 4] {
    let kinds: Vec<String> = entry.inputs.iter().map(canonical).collect();
    let hash = keccak256(format!("{}({})", entry.name, kinds.join(",")));
    [hash[0], hash[1], hash[2], hash[3]]
}

fn named(inputs: Vec<Input>) -> Vec<(String, String)> {
    inputs.into_iter().map(|input| (input.name, input.kind)).collect()
}

/// Sentences for errors that an operation can meet. Other errors are shown by name and operands.
const SENTENCES: &[(&str, &str)] = &[
    ("AddressIsFrozen", "{holder} is frozen; unfreeze it first."),
    ("AddressNotFrozen", "{holder} is not frozen; freeze it before a forced transfer."),
    ("AddressRetired", "{account} was recovered to {successor} and stays frozen permanently."),
    ("AddressNotRetired", "{account} was not recovered, so there is nothing to take back."),
    ("AmountTooLarge", "The amount {amount} is too large for the contract."),
    (
        "AssetUnavailable",
        "The payout asset refuses every payment from line {from} of {id} on, and a transfer of the distributor to itself.",
    ),
    ("BalanceTooLow", "{holder} has {balance} units in partition {partition}; {needed} are needed."),
    ("CapBelowSupply", "The cap {cap} of partition {partition} is below the issued supply of {supply} units."),
    ("CapExceeded", "Partition {partition} would hold {supplyAfter} units, above its cap of {cap}."),
    (
        "CountMismatch",
        "The list of {id} ends at another line than its declared count of {count}; this page ends at {end}.",
    ),
    ("DistributionClosed", "The distribution {id} is completed or cancelled."),
    ("DistributionExists", "The distribution {id} already exists."),
    (
        "ERC20InsufficientAllowance",
        "{spender} may spend {allowance} units of the payer; {needed} are needed; approve them first.",
    ),
    ("ERC20InsufficientBalance", "{sender} owns {balance} units of the payout asset; {needed} are needed."),
    ("EmptyPage", "The page has no lines."),
    ("HolderNotWhitelisted", "{holder} is not on the whitelist of partition {partition}."),
    ("InsufficientGas", "{available} gas is left; {required} is needed; use a smaller page."),
    ("LockTooSmall", "{holder} has {held} units locked until {releaseAt} in partition {partition}."),
    ("LockExceedsBalance", "{holder} has {balance} units in partition {partition} and would have {locked} locked."),
    (
        "NotAuthorized",
        "{caller} lacks the role {rolesNeeded}, which the function {selector} requires; grant it in the AgentRegistry.",
    ),
    ("NotAContract", "{account} is not a contract."),
    ("NotRestricted", "Partition {partition} is not restricted."),
    ("NothingClaimed", "None of the accounts has withheld units of {id} that can be paid now."),
    ("NothingToUnlock", "{holder} has no expired lock in partition {partition}."),
    ("OfferingParamsDiffer", "The offering {offeringId} was deployed with other parameters ({deployed}, now {given})."),
    ("OperationReplayed", "The operation {opId} was already executed."),
    ("PageAlreadyPaid", "Line {from} of the distribution {id} was already accepted; line {next} is next."),
    (
        "PageNotDeclared",
        "The page from line {from} of {id} hashes to {actual}; {declared} was declared. Nothing was paid.",
    ),
    ("PageOutOfOrder", "Line {from} of the distribution {id} is out of order; line {next} is next."),
    ("PayeeIsToken", "The token itself cannot be paid: the money would stay there."),
    ("PartitionOutOfOrder", "Partition {given} is out of order; partition {expected} is next."),
    ("PayeesReceiveLess", "No payee of {id} received its whole amount; the asset takes a fee or moves nothing."),
    ("ReceivedDiffers", "{expected} units were sent but {received} arrived; the asset takes a fee or rebases."),
    ("RecoveryOutOfOrder", "{account} was recovered by the operation {last}; {given} is not later."),
    ("RecoveryToItself", "{wallet} cannot be recovered to itself."),
    ("ReleaseTimeOutOfRange", "The release time {releaseAt} is in the past or more than 20 years ahead."),
    ("RedemptionNotAllowed", "The issuer does not allow holders to redeem."),
    ("SafeERC20FailedOperation", "The payout asset {token} refused the transfer."),
    ("TokenPaused", "The token is paused."),
    ("TooManyLocks", "{holder} has reached the limit of locks in partition {partition}."),
    ("TotalMismatch", "The pages of {id} add up to {actual} units; {expected} were declared."),
    ("TransferRefused", "{amount} units of partition {partition} may not go from {from} to {to}: {reason}."),
    ("UnknownDistribution", "There is no distribution {id}."),
    ("UnknownPartition", "The token has no partition {partition}."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_artifact_parses_and_every_operand_is_one_word() {
        for text in ARTIFACTS {
            serde_json::from_str::<Artifact>(text).unwrap();
        }
        assert!(ERRORS.len() > 60, "{}", ERRORS.len());
        for error in ERRORS.values() {
            for (operand, kind) in &error.inputs {
                let word = ["uint", "int", "bytes", "address", "bool"].iter().any(|prefix| kind.starts_with(prefix));
                assert!(word && kind != "bytes" && !kind.contains('['), "{}.{operand}: {kind}", error.name);
            }
        }
    }

    #[test]
    fn a_refusal_names_the_function_and_not_its_selector() {
        let words = |selector: &str| {
            let operands = [("caller", "0x7"), ("rolesNeeded", "8"), ("selector", selector)];
            sentence("NotAuthorized", &operands.map(|(name, value)| (name.to_owned(), value.to_owned())))
        };
        let freeze = hex::encode_prefixed(&keccak256("freezeAddress(address,bytes)")[..4]);
        assert!(words(&freeze).contains("the function freezeAddress requires"), "{}", words(&freeze));
        assert!(words("0x00000000").contains("0x00000000"));
        let deploy = &keccak256("deployToken(bytes32,string,uint256,(uint256,bool,bool)[])")[..4];
        assert_eq!(function(deploy), "deployToken");
    }

    #[test]
    fn every_sentence_belongs_to_an_error_and_uses_all_its_operands() {
        for (name, template) in SENTENCES {
            // Two contracts can share an error name; the sentence uses the operands that both have.
            let named = ERRORS.values().filter(|error| error.name == *name);
            let error = named.min_by_key(|error| error.inputs.len());
            let error = error.unwrap_or_else(|| panic!("no contract has the error {name}"));
            let operands: Vec<(String, String)> =
                error.inputs.iter().map(|(operand, _)| (operand.clone(), "7".into())).collect();
            for (operand, _) in &operands {
                assert!(template.contains(&format!("{{{operand}}}")), "{name} leaves out {operand}");
            }
            assert!(!sentence(name, &operands).contains(['{', '}']), "{name}: {template}");
        }
    }
}
