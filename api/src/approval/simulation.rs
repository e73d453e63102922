//! `GET /v1/approvals/{id}/simulation`: what a pending approval would do at the head of its chain.

use alloy_primitives::U256;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use muniment_activities::balance::Balance;
use muniment_domain::approval;
use muniment_domain::money;
use muniment_domain::operation::Kind;
use muniment_workflows::approval::simulation::{self, BalanceChange, ChainTrial, Simulation, Trial, Verdict};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::field::subject::Trouble;
use crate::http::error::Result;
use crate::http::instant::Instant;
use crate::http::pages::Parameters;

/// What a pending approval would do now. Nothing is sent, and nothing is decided by it.
#[derive(Serialize, ToSchema)]
#[schema(as = ApprovalSimulation)]
pub struct View {
    /// `succeeds`, `reverts`, `refused` (by the rules of the platform, before anything is sent), `sends_nothing`, or `unknown` if a chain did
    /// not answer or the action is not tried before its approval.
    #[schema(example = "succeeds")]
    outcome: &'static str,
    /// When it was tried. An answer may be some seconds old.
    tried_at: Instant,
    /// Why it would be refused before anything is sent. Null if it would not.
    refusal: Option<Trouble>,
    /// Why the action is not tried before its approval. Null if it is.
    #[schema(example = "The engine checks the chain when it executes this action, so it is not tried before.")]
    untried_because: Option<&'static str>,
    /// The trial on each chain. Empty if the action sends nothing.
    chains: Vec<OnChain>,
}

/// The trial on one chain.
#[derive(Serialize, ToSchema)]
#[schema(as = ApprovalSimulationOnChain)]
struct OnChain {
    chain_id: i64,
    network: String,
    /// `succeeds`, `reverts`, or `unknown` if the chain did not answer.
    #[schema(example = "succeeds")]
    outcome: &'static str,
    /// Why the outcome is `reverts` or `unknown`.
    #[schema(example = "The chain did not answer within 3 seconds.")]
    detail: Option<String>,
    /// The number of the block on which it was tried. Null if the chain did not name one.
    block_number: Option<u64>,
    /// The hash of that block.
    block_hash: Option<String>,
    /// The number of transactions that the approval would send to this chain.
    transactions_total: usize,
    /// The transactions that were tried, in order: the first ones, where there are many.
    transactions: Vec<Tried>,
    /// The balances that these transactions change, read before and after them on the same block. Empty if one of them reverts before it
    /// changes anything.
    balances: Vec<Changed>,
    /// The number of changed balances that are not listed.
    balances_omitted: usize,
    /// Why the balances are not known. Null if they are.
    #[schema(example = "The node does not offer eth_simulateV1, so the balances after the call are not known.")]
    balances_unknown: Option<String>,
}

/// A transaction that was tried.
#[derive(Serialize, ToSchema)]
#[schema(as = SimulatedTransaction)]
struct Tried {
    /// The kind of its operation.
    kind: Kind,
    /// The function of the contract.
    #[schema(example = "mintPage")]
    function: String,
    /// The signer that would send it.
    #[schema(example = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8")]
    from: String,
    /// The contract that it calls.
    #[schema(example = "0x5FbDB2315678afecb367f032d93F642f64180aa3")]
    to: String,
    /// The gas that it used. Null if the node only said whether it passes.
    gas_used: Option<u64>,
    /// The decoded reason of its revert. Null if it passes.
    #[schema(example = "The address is frozen.")]
    revert: Option<String>,
}

/// A balance before and after the transactions, as decimal quantities.
#[derive(Serialize, ToSchema)]
#[schema(as = SimulatedBalance)]
struct Changed {
    /// `units` of a holder, the `supply` of a partition, or `coins` of an account.
    #[schema(example = "units")]
    kind: &'static str,
    /// The contract that keeps the balance.
    #[schema(example = "0x5FbDB2315678afecb367f032d93F642f64180aa3")]
    contract: String,
    /// The account. Null for a supply.
    #[schema(example = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8")]
    account: Option<String>,
    /// The number of the partition. Null for coins.
    #[schema(example = "1")]
    partition: Option<String>,
    /// The symbol of the token or coin. Null if the platform does not know the contract; the amounts are then base units.
    #[schema(example = "SOLAR")]
    symbol: Option<String>,
    /// Before the transactions.
    #[schema(example = "2000.00")]
    before: String,
    /// After them.
    #[schema(example = "750.00")]
    after: String,
    /// The difference, with its sign.
    #[schema(example = "-1250.00")]
    change: String,
}

/// Simulate a pending approval at the head of its chain.
///
/// Runs exactly the calls that an approval would send, one after another on the newest block, and reads the balances that they change before
/// and after them. A chain that does not answer gives the outcome `unknown` with the reason. Staff only.
#[utoipa::path(
    get,
    path = "/v1/approvals/{id}/simulation",
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["approval_not_pending"]))),
)]
pub async fn simulation(State(app): State<App>, Path(id): Path<String>, uri: Uri) -> Result<Json<View>> {
    Parameters::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    let found = approval::find_visible(&mut tx, None, &id).await?;
    drop(tx);
    let simulated = app.simulations.simulate(&app.desk, &app.token_views, &found).await?;
    Ok(Json(view(&app, simulated)))
}

fn view(app: &App, simulated: Simulation) -> View {
    let chains: Vec<OnChain> = simulated.trials.into_iter().map(|trial| on_chain(app, trial)).collect();
    let any = |outcome| chains.iter().any(|chain| chain.outcome == outcome);
    let outcome = match &simulated.refused {
        Some(_) => "refused",
        None if simulated.untried.is_some() => "unknown",
        None if chains.is_empty() => "sends_nothing",
        None if any("reverts") => "reverts",
        None if any("unknown") => "unknown",
        None => "succeeds",
    };
    let refusal = simulated.refused.map(|(code, detail)| Trouble { code: code.to_owned(), detail: Some(detail) });
    View { outcome, tried_at: Instant(simulated.tried_at), refusal, untried_because: simulated.untried, chains }
}

fn on_chain(app: &App, tried: ChainTrial) -> OnChain {
    let (network, block) = (app.network(tried.chain_id), tried.block);
    let mut shown = OnChain {
        chain_id: tried.chain_id,
        network,
        outcome: "unknown",
        detail: None,
        block_number: block.as_ref().map(|block| block.number),
        block_hash: block.as_ref().map(|block| block.hash.to_string()),
        transactions_total: tried.calls_total,
        transactions: Vec::new(),
        balances: Vec::new(),
        balances_omitted: 0,
        balances_unknown: None,
    };
    match tried.result {
        Ok(trial) => show(&mut shown, trial),
        Err(why) => shown.detail = Some(why),
    }
    shown
}

fn show(shown: &mut OnChain, trial: Trial) {
    shown.outcome = match trial.verdict {
        Verdict::Succeeds => "succeeds",
        Verdict::Reverts => "reverts",
    };
    shown.detail = trial.transactions.iter().find_map(|one| one.revert.as_ref().map(|revert| revert.sentence.clone()));
    shown.transactions = trial.transactions.into_iter().map(tried).collect();
    shown.balances = trial.balances.iter().map(changed).collect();
    shown.balances_omitted = trial.balances_omitted;
    shown.balances_unknown = trial.balances_unknown;
}

fn tried(one: simulation::Transaction) -> Tried {
    Tried {
        kind: one.kind,
        function: one.function,
        from: one.from.to_checksum(None),
        to: one.to.to_checksum(None),
        gas_used: one.gas_used,
        revert: one.revert.map(|revert| revert.sentence),
    }
}

fn changed(one: &BalanceChange) -> Changed {
    let (kind, partition) = match one.balance {
        Balance::Units { partition, .. } => ("units", Some(partition.to_string())),
        Balance::Supply { partition, .. } => ("supply", Some(partition.to_string())),
        Balance::Coins { .. } => ("coins", None),
    };
    let quantity = |units: U256| money::quantity(units.saturating_to(), one.decimals);
    let sign = if one.after < one.before { "-" } else { "" };
    Changed {
        kind,
        contract: one.balance.contract().to_checksum(None),
        account: one.balance.account().map(|account| account.to_checksum(None)),
        partition,
        symbol: one.symbol.clone(),
        before: quantity(one.before),
        after: quantity(one.after),
        change: format!("{sign}{}", quantity(one.before.abs_diff(one.after))),
    }
}
