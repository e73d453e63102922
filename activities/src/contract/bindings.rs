//! Rust bindings of the contracts, generated from `contracts/artifacts/*.json`: the same files that are deployed.
#![allow(missing_docs, reason = "the interfaces under contracts/src/interfaces are documented")]
#![allow(clippy::too_many_arguments, reason = "the arguments are those of the contract")]

/// One module for each contract, because contracts share names of structs.
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
contract!(transfer_agent, TransferAgent, "../contracts/artifacts/TransferAgent.json");
