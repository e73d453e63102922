//! How far a run of the engine is.

use crate::installation::Installation;
use crate::node::NodeKind;
use crate::stall::Progress;

/// Steps whose transaction is with the node, or in a block that is not final.
const WITH_THE_NODE: &str = "select count(*) from operation_steps where state in ('signed', 'included')";

/// What a stalled run shows of the engine's steps.
const STEPS: &str = "select cast(count(*) as text) || ' ' || state || coalesce(' from nonce ' || min(nonce), '') \
    from operation_steps group by state order by state";

/// A run of the engine.
pub struct EngineRun<'a> {
    /// Where they are stored.
    pub site: &'a Installation,
    /// Their chain.
    pub kind: NodeKind,
    /// Counts what is done.
    pub done: &'a str,
}

impl Progress for EngineRun<'_> {
    fn who(&self) -> &'static str {
        "the engine"
    }

    async fn done(&self) -> usize {
        usize::try_from(self.site.view.number(self.done).await).unwrap_or_default()
    }

    /// Anvil makes blocks at a timer, and those in a block wait for it. The embedded chain makes a block for each transaction.
    async fn node_has_work(&self) -> bool {
        self.kind == NodeKind::Anvil && self.site.view.number(WITH_THE_NODE).await > 0
    }

    async fn details(&self) -> String {
        format!("; steps: {}", self.site.view.texts(STEPS).await.join(", "))
    }
}
