//! The contracts as their compiler describes them: `contracts/artifacts/*.json`, the same files that are deployed.
#![allow(missing_docs, reason = "the words stand in the interfaces under contracts/src/interfaces")]
#![allow(clippy::too_many_arguments, reason = "a function has as many arguments as its contract gives it")]

/// One module each, because contracts share the names of structs.
macro_rules! contract {
    ($module:ident, $name:ident, $path:literal) => {
        pub mod $module {
            alloy::sol!(
                #[sol(all_derives)]
                $name,
                $path
            );
        }
    };
}

contract!(registry, AgentRegistry, "../contracts/artifacts/AgentRegistry.json");
contract!(coin, DemoCoin, "../contracts/artifacts/DemoCoin.json");
contract!(token, PlatformSecurityToken7518, "../contracts/artifacts/PlatformSecurityToken7518.json");
contract!(distributor, PlatformYieldDistributor, "../contracts/artifacts/PlatformYieldDistributor.json");
contract!(rule144, Rule144, "../contracts/artifacts/Rule144.json");
contract!(factory, TokenFactory, "../contracts/artifacts/TokenFactory.json");
contract!(desk, TransferAgent, "../contracts/artifacts/TransferAgent.json");
