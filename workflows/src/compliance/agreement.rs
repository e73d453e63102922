//! Whether the chain still says, at its final block, what the proof of an operation shows: a freeze that was undone since proves nothing.

use alloy_primitives::Address;
use muniment_activities::chain::Chain;
use muniment_activities::fault::Fault;
use muniment_activities::simulate::At;
use muniment_activities::token;

use super::Done;

/// The state that contradicts the proof, or none. What has an operation id is executed once and cannot be undone under it.
pub async fn contradicted(chain: &Chain, contract: Address, done: &Done, at: At) -> Result<Option<String>, Fault> {
    let (expected, found, what) = match done {
        Done::Frozen(call) => (true, token::is_frozen(chain, contract, call.account, at).await?, "frozen"),
        Done::Unfrozen(call) => (false, token::is_frozen(chain, contract, call.account, at).await?, "frozen"),
        Done::Restricted(call) => {
            (true, token::partition(chain, contract, call.partition, at).await?.restricted, "restricted")
        }
        Done::Unrestricted(call) => {
            (false, token::partition(chain, contract, call.partition, at).await?.restricted, "restricted")
        }
        Done::Locked(_) | Done::Unlocked(_) | Done::Forced(_) | Done::Recovered(_) => return Ok(None),
    };
    Ok((expected != found).then(|| format!("{what} at the final block: {found}, the proof says {expected}")))
}
