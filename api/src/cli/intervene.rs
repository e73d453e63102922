//! `muniment admin lane` and `muniment admin chain`. On SQLite the server must be stopped first; on PostgreSQL it can keep running.

use muniment_domain::audit::{Act, acting};
use muniment_domain::db::Db;
use muniment_domain::id::LaneId;
use muniment_domain::point::Point;
use muniment_domain::{chain, lane as lanes};
use muniment_workflows::engine::{Engine, Network, queue};
use muniment_workflows::operator::lane;

use crate::cli::arguments::{ChainCommand, LaneCommand, LaneReason};
use crate::cli::import;
use crate::cli::run::chains;
use crate::config::{Config, database};
use crate::failure::Failure;

/// The actor in the audit log.
const ACTOR: &str = "command line";

/// Runs a command on lanes.
pub async fn lanes(config: &Config, command: &LaneCommand) -> Result<(), Failure> {
    let db = database::open_current(config).await?;
    match command {
        LaneCommand::List => list(&db).await,
        LaneCommand::Pause(LaneReason { lane_id, reason }) => {
            let engine = Engine::start(db, config.engine.clone(), Vec::new()).await?;
            let reason = reason.text();
            let paused = lane::pause(&engine, lane_id, ACTOR, &reason);
            acting(Act::host_command("muniment admin lane pause"), paused).await?;
            println!("The lane {lane_id} is paused. Signed transactions are still followed.");
            Ok(())
        }
        LaneCommand::Resume(LaneReason { lane_id, reason }) => resume(config, db, lane_id, &reason.text()).await,
        LaneCommand::Import(asked) => {
            let (engine, chain_id) = engine_of(config, db, &asked.lane).await?;
            let done = import::run(&engine, network_of(&engine, chain_id)?, asked, ACTOR);
            acting(Act::host_command("muniment admin lane import"), done).await
        }
    }
}

/// Runs a command on chains.
pub async fn chain(config: &Config, command: &ChainCommand) -> Result<(), Failure> {
    let ChainCommand::Clear { chain_id, reason } = command;
    let db = database::open_current(config).await?;
    acting(Act::host_command("muniment admin chain clear"), clear(&db, *chain_id, &reason.text())).await
}

async fn list(db: &Db) -> Result<(), Failure> {
    let mut tx = db.read().await?;
    for chain in chain::all(&mut tx).await? {
        let halted = chain.halted_reason.map(|reason| format!("  HALTED: {reason}")).unwrap_or_default();
        println!("chain {}  final block {}{halted}", chain.chain_id, chain.final_number);
        for lane in lanes::of_chain(&mut tx, chain.chain_id).await? {
            let reason = lane.mode_reason.unwrap_or_default();
            println!("  {}  {}  next nonce {}  {}  {reason}", lane.id, lane.signer, lane.next_nonce, lane.mode);
        }
    }
    Ok(())
}

async fn resume(config: &Config, db: Db, lane_id: &LaneId, reason: &str) -> Result<(), Failure> {
    let (engine, chain_id) = engine_of(config, db, lane_id).await?;
    network_of(&engine, chain_id)?;
    acting(Act::host_command("muniment admin lane resume"), lane::resume(&engine, lane_id, ACTOR, reason)).await?;
    println!("The lane {lane_id} signs again, above every nonce that is final on its chain.");
    Ok(())
}

/// An engine that only asks, and the chain of a lane.
async fn engine_of(config: &Config, db: Db, lane_id: &LaneId) -> Result<(Engine, i64), Failure> {
    let chain_id = lanes::find(&mut db.read().await?, lane_id).await?.chain_id;
    Ok((Engine::start(db, config.engine.clone(), chains(config)?).await?, chain_id))
}

fn network_of(engine: &Engine, chain_id: i64) -> Result<&Network, Failure> {
    let unknown =
        || Failure::new(format!("The chain {chain_id} is not in the configuration. Name the file with --config."));
    engine.network(chain_id).ok_or_else(unknown)
}

async fn clear(db: &Db, chain_id: i64, reason: &str) -> Result<(), Failure> {
    let mut tx = db.begin().await?;
    let unknown =
        || Failure::new(format!("The chain {chain_id} is unknown. `muniment admin lane list` shows the known chains."));
    let halted = chain::find(&mut tx, chain_id).await?.ok_or_else(unknown)?;
    if halted.halted_reason.is_none() {
        return Err(Failure::new(format!("The chain {chain_id} is not halted.")));
    }
    chain::clear_halt(&mut tx, &halted, &format!("{ACTOR}: {reason}")).await?;
    queue::release(&mut tx, chain_id, "chain_halted").await?;
    tx.commit(Point::Mode).await?;
    println!(
        "The halt of chain {chain_id} is cleared. Work continues if its endpoints show the final block {} again.",
        halted.final_number
    );
    Ok(())
}
