//! Speed up: a person asks for a higher fee for a sent transaction, on the same nonce.

use muniment_activities::chain::fees::{self, Bump, Fees};
use muniment_activities::config::ChainConfig;
use muniment_domain::attempt::{self, Attempt};
use muniment_domain::command;
use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;
use muniment_domain::operation::{self, Operation, Status};
use muniment_domain::point::Point;
use muniment_domain::step::{self, State, Step};
use muniment_domain::{Code, Error, Result, lane};

use crate::engine::Engine;
use crate::engine::execution;
use crate::engine::rebroadcast::{self, Stored};

/// The present fees alone decide.
const NO_MARKET: Fees = Fees { max_fee_per_gas: 0, max_priority_fee_per_gas: 0 };

/// Accepts the command. The operation must have a sent transaction, and its fee must be below the cap.
pub async fn ask(
    tx: &mut Tx,
    config: &ChainConfig,
    operation_id: &OperationId,
    bump_percent: Option<i64>,
    actor: &str,
    reason: &str,
) -> Result<Operation> {
    let (op, _, newest) = newest(tx, operation_id).await?;
    let percent = percent(config, bump_percent);
    if fees::bump(fees_of(&newest), percent, NO_MARKET, config.max_fee_per_gas_cap()) == Bump::AtCap {
        return Err(at_cap(config));
    }
    crate::operator::command::ask(tx, operation_id, command::Kind::SpeedUp, bump_percent, actor, reason).await?;
    Ok(op)
}

/// Accepts the command for a named fee, in the commit of a retry that uses the stored transaction again.
pub async fn ask_for(tx: &mut Tx, operation_id: &OperationId, fee: u128, actor: &str, reason: &str) -> Result<()> {
    let (_, _, newest) = newest(tx, operation_id).await?;
    let offered = newest.max_fee_per_gas.0.max(1);
    let percent = fee.saturating_mul(100).div_ceil(offered).saturating_sub(100);
    if percent < fees::BUMP_PERCENT_MIN {
        let detail = format!(
            "The transaction already offers {offered} wei. Nodes refuse a replacement with less than {} percent more.",
            fees::BUMP_PERCENT_MIN
        );
        return Err(Error::field("/max_fee_per_gas", "below_minimum", detail));
    }
    let percent = i64::try_from(percent).unwrap_or(i64::MAX);
    crate::operator::command::ask(tx, operation_id, command::Kind::SpeedUp, Some(percent), actor, reason).await?;
    Ok(())
}

/// Signs the replacement with the higher fee, stores it, and then sends it.
pub async fn speed_up(engine: &Engine, operation_id: &OperationId, bump_percent: Option<i64>) -> Result<Stored> {
    let mut tx = engine.db.read().await?;
    let (op, step, newest) = newest(&mut tx, operation_id).await?;
    let lane = lane::find(&mut tx, &newest.lane_id).await?;
    drop(tx);
    let network = execution::network_of(engine, &op)?;
    let config = &network.chain.config;
    // A person who names the increase wants no other one, whatever the market asks for.
    let market = match bump_percent {
        Some(_) => NO_MARKET,
        None => network.fees(engine.db.clock().now()).await.map_err(|fault| execution::unavailable(&fault))?,
    };
    let raised = fees::bump(fees_of(&newest), percent(config, bump_percent), market, config.max_fee_per_gas_cap());
    let Bump::Raised(fees) = raised else { return Err(at_cap(config)) };
    let (kind, transaction) = rebroadcast::replacement(config, &lane, &step, &newest, fees);
    rebroadcast::store_and_send(engine, network, &lane, &newest, kind, &transaction, Point::SpeedUp).await
}

async fn newest(tx: &mut Tx, operation_id: &OperationId) -> Result<(Operation, Step, Attempt)> {
    let op = operation::find(tx, operation_id).await?;
    let steps = step::of_operation(tx, &op.id).await?;
    let own = attempt::of_operation(tx, &op.id).await?;
    let signed = steps.into_iter().find(|s| s.state == State::Signed).filter(|_| op.status == Status::Submitted);
    let newest = signed.and_then(|step| {
        let newest = own.into_iter().rfind(|a| a.position == step.position && a.cycle == op.cycle)?;
        Some((step, newest))
    });
    let Some((step, newest)) = newest else {
        let detail = format!("The operation is {} and has no transaction that waits for a block.", op.status);
        return Err(op.illegal(detail));
    };
    Ok((op, step, newest))
}

fn percent(config: &ChainConfig, asked: Option<i64>) -> u64 {
    asked.and_then(|percent| u64::try_from(percent).ok()).unwrap_or(config.bump_percent)
}

fn fees_of(newest: &Attempt) -> Fees {
    Fees { max_fee_per_gas: newest.max_fee_per_gas.0, max_priority_fee_per_gas: newest.max_priority_fee_per_gas.0 }
}

fn at_cap(config: &ChainConfig) -> Error {
    let detail = format!(
        "The replacement would exceed the fee cap of {} gwei. Raise max_fee_per_gas_gwei_cap of the chain, or wait.",
        config.max_fee_per_gas_gwei_cap
    );
    Error::refused(Code::FeeCapReached, detail)
}
