//! Contracts of the platform, and the operation numbers of each.

use alloy_primitives::Address;

use crate::column::Hex;
use crate::db::Tx;
use crate::id::OfferingId;
use crate::rows::portions;
use crate::sql::{insert_into, sql};
use crate::{Code, Error, Result};

crate::words! {
    /// The kind of a contract.
    Kind {
        /// Deploys tokens.
        Factory = "factory",
        /// Lists the agents and their roles.
        Registry = "registry",
        /// The token of an offering.
        Token = "token",
        /// Pays distributions.
        Distributor = "distributor",
    }
}

/// Stores a contract; a known contract stays unchanged.
pub async fn ensure(tx: &mut Tx, chain_id: i64, address: Address, kind: Kind) -> Result<()> {
    let now = tx.now();
    insert_into("contracts")
        .set("chain_id", chain_id)
        .set("address", Hex(address))
        .set("kind", kind)
        .set("next_op_number", 1)
        .set("created_at", now)
        .push(" on conflict do nothing")
        .execute(tx)
        .await?;
    Ok(())
}

/// Stores tokens, each with its chain and its offering; a known contract stays unchanged.
pub async fn ensure_tokens(tx: &mut Tx, tokens: &[(i64, Address, &str)]) -> Result<()> {
    let now = tx.now();
    for portion in portions(tx, tokens) {
        sql("insert into contracts (chain_id, address, kind, offering_id, next_op_number, created_at)")
            .values(portion, |(chain_id, address, offering_id)| {
                (*chain_id, Hex(*address), Kind::Token, *offering_id, 1, now)
            })
            .push(" on conflict do nothing")
            .write(tx)
            .await?;
    }
    Ok(())
}

/// Stores a contract from the configuration. The contract configured last is preferred over earlier ones.
pub async fn configure(tx: &mut Tx, chain_id: i64, address: Address, kind: Kind) -> Result<()> {
    ensure(tx, chain_id, address, kind).await?;
    let now = tx.now();
    sql("update contracts set configured_at = $3 where chain_id = $1 and address = $2")
        .bind((chain_id, Hex(address), now))
        .execute(tx)
        .await?;
    Ok(())
}

/// Stores the implementation that all tokens of a factory are clones of.
pub async fn set_implementation(tx: &mut Tx, chain_id: i64, factory: Address, implementation: Address) -> Result<()> {
    sql("update contracts set implementation = $3 where chain_id = $1 and address = $2")
        .bind((chain_id, Hex(factory), Hex(implementation)))
        .execute(tx)
        .await?;
    Ok(())
}

/// Reserves `count` operation numbers of a contract and returns the first. A rollback releases them.
pub async fn reserve_op_numbers(tx: &mut Tx, chain_id: i64, address: Address, count: i64) -> Result<i64> {
    let next = sql("update contracts set next_op_number = next_op_number + $3
        where chain_id = $1 and address = $2 returning next_op_number")
    .bind((chain_id, Hex(address), count))
    .optional_scalar::<i64>(tx)
    .await?;
    next.map(|n| n - count).ok_or_else(|| {
        Error::refused(Code::ContractMissing, format!("Chain {chain_id} has no known contract {address}."))
    })
}

/// Raises the counter above the numbers seen on the chain, after a restore. It never decreases.
pub async fn raise_op_number(tx: &mut Tx, chain_id: i64, address: Address, above: i64) -> Result<()> {
    sql("update contracts set next_op_number = $3 + 1 where chain_id = $1 and address = $2 and next_op_number <= $3")
        .bind((chain_id, Hex(address), above))
        .execute(tx)
        .await?;
    Ok(())
}

/// All contracts of a chain with their kinds.
pub async fn of_chain(tx: &mut Tx, chain_id: i64) -> Result<Vec<(Hex<Address>, Kind)>> {
    sql("select address, kind from contracts where chain_id = $1 order by address").bind(chain_id).rows(tx).await
}

/// The tokens of a chain, each with its offering.
pub async fn of_offerings(tx: &mut Tx, chain_id: i64) -> Result<Vec<(Hex<Address>, OfferingId)>> {
    sql("select address, offering_id from contracts where chain_id = $1 and offering_id is not null
         order by address")
    .bind(chain_id)
    .rows(tx)
    .await
}

/// The contracts that the policy gate needs for calls to these targets: the known targets, the factory and the distributor. Not
/// all tokens, because there is one for each offering.
pub async fn for_policy_gate(tx: &mut Tx, chain_id: i64, targets: &[Address]) -> Result<Vec<(Hex<Address>, Kind)>> {
    let mut found = Vec::new();
    for portion in portions(tx, targets) {
        found.extend(
            sql("select address, kind from contracts where chain_id = $1 and kind in :called
                 union select address, kind from contracts where chain_id = $1 and address in (")
            .words(":called", &[Kind::Factory, Kind::Distributor])
            .bind(chain_id)
            .list(portion.iter().map(|address| Hex(*address)))
            .push(")")
            .rows::<(Hex<Address>, Kind)>(tx)
            .await?,
        );
    }
    Ok(found)
}

/// Picks the contract that was configured last.
pub(crate) const LAST_CONFIGURED: &str = "order by configured_at desc nulls last, created_at desc limit 1";

/// The configured contract of a kind of which a chain has one, such as the distributor.
pub async fn only(tx: &mut Tx, chain_id: i64, kind: Kind) -> Result<Address> {
    let all = sql("select address from contracts where chain_id = $1 and kind = $2 ").push(LAST_CONFIGURED);
    let found = all.bind((chain_id, kind)).optional_scalar::<Hex<Address>>(tx).await?;
    found.map(|address| address.0).ok_or_else(|| missing(chain_id, kind))
}

/// The refusal of a chain without a configured contract of this kind.
pub(crate) fn missing(chain_id: i64, kind: Kind) -> Error {
    Error::refused(Code::ContractMissing, format!("Chain {chain_id} has no known {kind}. Configure it and restart."))
}
