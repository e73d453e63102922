//! `GET /v1/approvals/{id}/simulation`: what a pending approval would do at the head of its chain.

use std::collections::HashMap;

use alloy_primitives::{Address, U256};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use muniment_activities::balance::Balance;
use muniment_domain::approval::{self, Change};
use muniment_domain::id::{ApprovalId, InvestorId};
use muniment_domain::investor::{self, Owner};
use muniment_domain::money;
use muniment_domain::operation::Kind;
use muniment_workflows::approval::simulation::{self, BalanceChange, ChainTrial, Simulation, Trial, Verdict};
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::principal::Principal;
use crate::app::App;
use crate::field::name::masked_name;
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
    /// What has changed since the approval was requested, newest first: events of its subject and offering, and balances of the accounts
    /// above in the ledger of the offering's token. At most 20. Empty if nothing has.
    changes: Vec<Since>,
}

/// A change after the request of an approval.
#[derive(Serialize, ToSchema)]
#[schema(as = ChangeSinceRequest)]
struct Since {
    /// The type of the event, or `balance`.
    #[schema(example = "balance")]
    what: String,
    /// The account whose balance changed. Null for an event.
    #[schema(example = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8")]
    account: Option<String>,
    /// The legal name of its investor. Masked for auditors. Null if the platform knows none.
    #[schema(example = "Ada Almeida")]
    display_name: Option<String>,
    /// When it changed.
    changed_at: Instant,
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
    /// What the gas of the transactions that were tried would cost now, in the smallest unit of the chain's coin: at the base fee of the
    /// next block and the usual tip. Null if the gas or the fees are not known.
    #[schema(example = "1700000000000000")]
    cost_wei: Option<String>,
    /// The symbol of the coin in which gas is paid.
    #[schema(example = "ETH")]
    coin: Option<String>,
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
    /// The investor whose verified wallet the account is. Null if the platform knows none.
    investor_id: Option<InvestorId>,
    /// The legal name of that investor. Masked for auditors.
    #[schema(example = "Ada Almeida")]
    display_name: Option<String>,
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
pub async fn simulation(
    State(app): State<App>,
    Path(id): Path<ApprovalId>,
    principal: Principal,
    uri: Uri,
) -> Result<Json<View>> {
    Parameters::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    let found = approval::find_visible(&mut tx, None, &id).await?;
    drop(tx);
    let simulated = app.simulations.simulate(&app.desk, &app.token_views, &found).await?;
    let accounts = accounts(&simulated);
    let mut tx = app.db.read().await?;
    let holders = Holders { known: investor::of_wallets(&mut tx, &accounts).await?, masked: principal.0.is_masked() };
    let changes = approval::changes(&mut tx, &found, &accounts).await?;
    let changes = changes.into_iter().map(|change| since(change, &holders)).collect();
    Ok(Json(view(&app, simulated, changes, &holders)))
}

/// The investors of accounts, as the caller may see them.
struct Holders {
    known: HashMap<Address, Owner>,
    masked: bool,
}

impl Holders {
    /// The id and the name.
    fn of(&self, account: Option<Address>) -> (Option<InvestorId>, Option<String>) {
        let known = account.and_then(|account| self.known.get(&account).cloned());
        known.map(|o| (o.id, if self.masked { masked_name(&o.legal_name) } else { o.legal_name })).unzip()
    }
}

fn accounts(simulated: &Simulation) -> Vec<Address> {
    let trials = simulated.trials.iter().filter_map(|chain| chain.result.as_ref().ok());
    let mut accounts: Vec<_> =
        trials.flat_map(|trial| &trial.balances).filter_map(|one| one.balance.account()).collect();
    accounts.sort_unstable();
    accounts.dedup();
    accounts
}

fn since(change: Change, holders: &Holders) -> Since {
    let (_, display_name) = holders.of(change.account);
    let account = change.account.map(|account| account.to_checksum(None));
    Since { what: change.what, account, display_name, changed_at: Instant(change.at) }
}

fn view(app: &App, simulated: Simulation, changes: Vec<Since>, holders: &Holders) -> View {
    let chains: Vec<OnChain> = simulated.trials.into_iter().map(|trial| on_chain(app, trial, holders)).collect();
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
    let (tried_at, untried_because) = (Instant(simulated.tried_at), simulated.untried);
    View { outcome, tried_at, refusal, untried_because, chains, changes }
}

fn on_chain(app: &App, tried: ChainTrial, holders: &Holders) -> OnChain {
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
        cost_wei: None,
        coin: app.chain(tried.chain_id).map(|config| config.coin.clone()),
        balances: Vec::new(),
        balances_omitted: 0,
        balances_unknown: None,
    };
    match tried.result {
        Ok(trial) => show(&mut shown, trial, holders),
        Err(why) => shown.detail = Some(why),
    }
    shown
}

fn show(shown: &mut OnChain, trial: Trial, holders: &Holders) {
    shown.cost_wei = trial.cost().map(|wei| wei.to_string());
    shown.outcome = match trial.verdict {
        Verdict::Succeeds => "succeeds",
        Verdict::Reverts => "reverts",
    };
    shown.detail = trial.transactions.iter().find_map(|one| one.revert.as_ref().map(|revert| revert.sentence.clone()));
    shown.transactions = trial.transactions.into_iter().map(tried).collect();
    shown.balances = trial.balances.iter().map(|one| changed(one, holders)).collect();
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

fn changed(one: &BalanceChange, holders: &Holders) -> Changed {
    let (investor_id, display_name) = holders.of(one.balance.account());
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
        investor_id,
        display_name,
        partition,
        symbol: one.symbol.clone(),
        before: quantity(one.before),
        after: quantity(one.after),
        change: format!("{sign}{}", quantity(one.before.abs_diff(one.after))),
    }
}
