//! Contracts of the platform, and the numbers that operations get on each of them.

use alloy_primitives::Address;

use crate::column::Hex;
use crate::db::Tx;
use crate::rows::portions;
use crate::{Code, Error, Result, on};

crate::words! {
    /// What a contract is.
    Kind {
        /// Deploys tokens.
        Factory = "factory",
        /// Knows the agents.
        Registry = "registry",
        /// The token of an offering.
        Token = "token",
        /// Pays distributions.
        Distributor = "distributor",
    }
}

/// Notes a contract; a known one stays as it is.
pub async fn ensure(tx: &mut Tx, chain_id: i64, address: Address, kind: Kind, offering_id: Option<&str>) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into contracts (chain_id, address, kind, offering_id, next_op_number, created_at) values ($1, $2, $3, $4, 1, $5) \
         on conflict do nothing")
        .bind(chain_id).bind(Hex(address)).bind(kind).bind(offering_id).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// Notes a contract that the configuration names. The one that it names now comes before those that it named once.
pub async fn configure(tx: &mut Tx, chain_id: i64, address: Address, kind: Kind) -> Result<()> {
    ensure(tx, chain_id, address, kind, None).await?;
    let now = tx.now();
    on!(tx, conn => sqlx::query("update contracts set configured_at = $3 where chain_id = $1 and address = $2")
        .bind(chain_id).bind(Hex(address)).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// Notes the code that every token of a factory is a clone of.
pub async fn set_implementation(tx: &mut Tx, chain_id: i64, factory: Address, implementation: Address) -> Result<()> {
    on!(tx, conn => sqlx::query("update contracts set implementation = $3 where chain_id = $1 and address = $2")
        .bind(chain_id).bind(Hex(factory)).bind(Hex(implementation)).execute(conn).await?.rows_affected());
    Ok(())
}

/// The code that every token of a factory is a clone of, once the factory was asked for it.
pub async fn implementation(tx: &mut Tx, chain_id: i64, factory: Address) -> Result<Option<Address>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, Option<Hex<Address>>>(
        "select implementation from contracts where chain_id = $1 and address = $2")
        .bind(chain_id).bind(Hex(factory)).fetch_optional(conn).await?)
    .flatten()
    .map(|address| address.0))
}

/// Gives out `count` operation numbers of a contract and returns the first. They come back only if the commit does not happen.
pub async fn take_op_numbers(tx: &mut Tx, chain_id: i64, address: Address, count: i64) -> Result<i64> {
    let next = on!(tx, conn => sqlx::query_scalar::<_, i64>(
        "update contracts set next_op_number = next_op_number + $3 where chain_id = $1 and address = $2 returning next_op_number")
        .bind(chain_id).bind(Hex(address)).bind(count).fetch_optional(conn).await?);
    next.map(|n| n - count).ok_or_else(|| {
        Error::refused(Code::ContractMissing, format!("The contract {address} is not known on chain {chain_id}."))
    })
}

/// Lifts the counter above what the chain has seen, after a restored backup. It never goes down.
pub async fn raise_op_number(tx: &mut Tx, chain_id: i64, address: Address, above: i64) -> Result<()> {
    on!(tx, conn => sqlx::query(
        "update contracts set next_op_number = $3 + 1 where chain_id = $1 and address = $2 and next_op_number <= $3")
        .bind(chain_id).bind(Hex(address)).bind(above).execute(conn).await?.rows_affected());
    Ok(())
}

/// The tokens and distributors of a chain: what the gate lets us call besides the factory.
pub async fn of_chain(tx: &mut Tx, chain_id: i64) -> Result<Vec<(Hex<Address>, Kind)>> {
    Ok(
        on!(tx, conn => sqlx::query_as::<_, (Hex<Address>, Kind)>("select address, kind from contracts where chain_id = $1 order by address")
        .bind(chain_id).fetch_all(conn).await?),
    )
}

/// The contracts of a chain that belong to an offering: its token.
pub async fn of_offerings(tx: &mut Tx, chain_id: i64) -> Result<Vec<(Hex<Address>, String)>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, (Hex<Address>, String)>(
        "select address, offering_id from contracts where chain_id = $1 and offering_id is not null order by address")
        .bind(chain_id).fetch_all(conn).await?))
}

/// What the gate needs to know to look at calls of these targets: the targets as far as they are ours, and the few contracts that a
/// call may name. Not all tokens: they are as many as there are offerings.
pub async fn for_gate(tx: &mut Tx, chain_id: i64, targets: &[Address]) -> Result<Vec<(Hex<Address>, Kind)>> {
    let mut found = on!(tx, conn => sqlx::query_as::<_, (Hex<Address>, Kind)>(
        "select address, kind from contracts where chain_id = $1 and kind in ('factory', 'distributor')")
        .bind(chain_id).fetch_all(conn).await?);
    for portion in portions(targets) {
        found.extend(on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("select address, kind from contracts where chain_id = ");
            query.push_bind(chain_id).push(" and address in (");
            let mut list = query.separated(", ");
            for address in portion {
                list.push_bind(Hex(*address));
            }
            query.push(")");
            query.build_query_as::<(Hex<Address>, Kind)>().fetch_all(conn).await?
        }));
    }
    Ok(found)
}

/// The contract of a kind that a chain has one of, such as the factory: the one that is configured.
pub async fn only(tx: &mut Tx, chain_id: i64, kind: Kind) -> Result<Address> {
    on!(tx, conn => sqlx::query_scalar::<_, Hex<Address>>(
        "select address from contracts where chain_id = $1 and kind = $2 order by configured_at desc nulls last, created_at desc limit 1")
        .bind(chain_id).bind(kind).fetch_optional(conn).await?)
    .map(|address| address.0)
    .ok_or_else(|| {
        Error::refused(
            Code::ContractMissing,
            format!("No {kind} is known on chain {chain_id}. Configure it and start again."),
        )
    })
}
