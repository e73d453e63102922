//! Everything that the oracle wants to know of the database, read at once.

use std::collections::BTreeMap;

use alloy::primitives::{Address, B256, keccak256};
use muniment_domain::Result;
use muniment_domain::operation::{Move, Status};
use muniment_domain::sql::sql;
use sqlx::FromRow;

use crate::ledger::Ledger;
use crate::stage::Stage;
use crate::worker::PERSON;

#[derive(FromRow)]
pub struct Operation {
    pub id: String,
    pub kind: String,
    pub status: String,
    pub resolution: Option<String>,
    pub subject: String,
    pub note: String,
    /// The transaction that is proposed as its proof.
    pub proposed: Option<String>,
    /// Whether it has a next time, or a cause that it is parked on.
    pub waits: bool,
}

#[derive(FromRow)]
pub struct Step {
    pub operation: String,
    pub position: i64,
    pub name: String,
    pub target: String,
    pub calldata: Vec<u8>,
    pub op_number: Option<i64>,
    pub payload_hash: Option<String>,
    pub state: String,
    pub outcome: Option<String>,
    pub lane: Option<String>,
    pub tx_hash: Option<String>,
    pub subject: String,
}

#[derive(FromRow)]
pub struct Attempt {
    pub operation: String,
    pub position: i64,
    pub cycle: i64,
    pub lane: String,
    pub nonce: i64,
    pub open: bool,
}

#[derive(FromRow)]
pub struct Lane {
    pub id: String,
    pub signer: String,
    pub next_nonce: i64,
    pub mode: String,
}

#[derive(FromRow)]
pub struct Line {
    pub operation: String,
    pub from: Option<String>,
    pub to: String,
    pub actor: String,
    pub events: i64,
}

pub struct Item {
    pub operation: String,
    pub subject: String,
    pub live: bool,
    pub minted_by: Option<String>,
}

/// The database at one moment.
pub struct Facts {
    pub operations: Vec<Operation>,
    pub steps: Vec<Step>,
    pub attempts: Vec<Attempt>,
    pub lanes: Vec<Lane>,
    pub history: Vec<Line>,
    pub items: Vec<Item>,
    pub tokens: Vec<(String, Option<String>)>,
    /// By offering and wallet.
    pub holdings: BTreeMap<(String, String), u128>,
    pub halted: Option<String>,
    /// A step that is included where another block is followed, or none.
    pub misplaced: Option<String>,
}

/// The rows of a failed seed, to find its cause.
pub async fn remains(stage: &Stage) -> String {
    let lines: Vec<(String,)> = stage
        .rows(sql(
            "select 'chain head ' || head_number || ' final ' || final_number || ' ' || coalesce(blocked_reason, '') from chains \
             union all select 'lane ' || id || ' ' || signer || ' next ' || next_nonce || ' ' || mode from lanes \
             union all select 'operation ' || id || ' ' || status || ' cycle ' || cycle || ' ' || coalesce(error_code, '') || ' ' || \
             coalesce(blocked_reason, '') || ' ' || coalesce(resolution, '') from operations \
             union all select 'step ' || operation_id || ' ' || position || ' ' || state || ' ' || coalesce(outcome, '') || ' lane ' || \
             coalesce(lane_id, '') || ' nonce ' || coalesce(cast(nonce as text), '') || ' block ' || \
             coalesce(cast(block_number as text), '') || ' ' || coalesce(tx_hash, '') from operation_steps \
             union all select 'attempt ' || operation_id || ' ' || position || ' ' || kind || ' ' || tx_hash || ' nonce ' || nonce || \
             ' open ' || cast(open as text) || ' block ' || coalesce(cast(block_number as text), '') || ' ' || \
             coalesce(last_answer, '') from attempts \
             union all select 'header ' || number || ' ' || hash from chain_blocks \
             union all select 'final ' || final_number || ' ' || final_hash from chains \
             union all select 'foreign ' || signer || ' nonce ' || nonce || ' block ' || block_number from foreign_transactions",
        ))
        .await;
    lines.into_iter().map(|(line,)| line).collect::<Vec<_>>().join("\n")
}

/// Reads them.
pub async fn facts(stage: &Stage) -> Facts {
    read(stage).await.expect("rows")
}

async fn read(stage: &Stage) -> Result<Facts> {
    let tx = &mut stage.db.read().await?;
    let number = |text: String| text.parse::<u128>().expect("a number of units");
    let items: Vec<(String, String, bool, Option<String>)> =
        sql("select m.operation_id, m.subject_id, m.live, s.mint_operation_id \
         from operation_items m join subscriptions s on s.id = m.subject_id order by m.operation_id, m.subject_id")
        .rows(tx)
        .await?;
    let holdings: Vec<(String, String, String)> =
        sql("select offering_id, wallet_address, balance from holdings").rows(tx).await?;
    Ok(Facts {
        operations: sql(
            "select id, kind, status, resolution, subject_id as subject, coalesce(blocked_reason, '') || ' ' || \
             coalesce(error_code, '') as note, suggested_action ->> 'tx_hash' as proposed, next_action_at is not null or (status = 'pending' and blocked_reason is not null) as waits \
             from operations order by id",
        )
        .rows(tx)
        .await?,
        steps: sql(
            "select s.operation_id as operation, position, name, target, calldata, op_number, payload_hash, state, outcome, \
             s.lane_id as lane, s.tx_hash, o.subject_id as subject from operation_steps s join operations o on o.id = s.operation_id \
             order by s.operation_id, position",
        )
        .rows(tx)
        .await?,
        attempts: sql("select operation_id as operation, position, cycle, lane_id as lane, nonce, open from attempts \
                       order by lane_id, nonce, number")
        .rows(tx)
        .await?,
        lanes: sql("select id, signer, next_nonce, mode from lanes order by id").rows(tx).await?,
        history: sql(
            "select h.operation_id as operation, from_status as \"from\", to_status as \"to\", actor, (select count(*) from events e \
             where e.subject_id = h.operation_id and e.sequence = h.version and e.type = 'operation.' || h.to_status) as events \
             from operation_history h order by h.operation_id, h.version",
        )
        .rows(tx)
        .await?,
        items: items
            .into_iter()
            .map(|(operation, subject, live, minted_by)| Item { operation, subject, live, minted_by })
            .collect(),
        tokens: sql("select id, token_address from offerings order by id").rows(tx).await?,
        holdings: holdings.into_iter().map(|(offering, wallet, units)| ((offering, wallet), number(units))).collect(),
        misplaced: sql(
            "select s.operation_id from operation_steps s join chains c on c.chain_id = s.chain_id \
             left join chain_blocks b on b.chain_id = s.chain_id and b.number = s.block_number \
             where s.state = 'included' and s.nonce is not null and (s.block_hash <> b.hash or s.block_number > c.head_number)",
        )
        .optional_scalar(tx)
        .await?,
        halted: sql("select halted_reason from chains where halted_reason is not null").optional_scalar(tx).await?,
    })
}

impl Facts {
    pub fn status(&self, operation: &str) -> &str {
        self.operations.iter().find(|o| o.id == operation).map_or("", |o| o.status.as_str())
    }

    /// How many operations the engine still works on.
    pub fn live(&self) -> usize {
        self.operations.iter().filter(|o| ["pending", "submitted"].contains(&o.status.as_str())).count()
    }

    pub fn is_quiet(&self) -> bool {
        self.restless().is_none()
    }

    /// The first thing that has not come to rest.
    pub fn restless(&self) -> Option<String> {
        if let Some(reason) = &self.halted {
            return Some(format!("the chain is halted: {reason}"));
        }
        let rests = |o: &&Operation| o.status == "confirmed" || o.resolution.is_some();
        if let Some(o) = self.operations.iter().find(|o| !rests(o)) {
            return Some(format!("{} is {} ({})", o.id, o.status, o.note));
        }
        if let Some(s) = self.steps.iter().find(|s| s.state == "signed" || s.state == "included") {
            return Some(format!("step {} of {} is {}", s.position, s.operation, s.state));
        }
        if let Some(a) = self.attempts.iter().find(|a| a.open) {
            return Some(format!("an attempt of {} with nonce {} is open", a.operation, a.nonce));
        }
        if let Some(i) = self.items.iter().find(|i| i.live) {
            return Some(format!("{} is still held by {}", i.subject, i.operation));
        }
        self.lanes.iter().find(|l| l.mode != "active").map(|l| format!("lane {} is {}", l.id, l.mode))
    }
}

impl Step {
    /// Whether its effect is in this state of the chain.
    pub fn is_executed(&self, ledger: &Ledger) -> bool {
        let payload: B256 = self.payload_hash.as_deref().unwrap_or_default().parse().unwrap_or_default();
        if self.name == "deployToken" {
            return ledger.deployed.get(&keccak256(&self.subject)) == Some(&payload);
        }
        let target: Address = self.target.parse().unwrap_or_default();
        let id = self.op_number.unwrap_or_default().cast_unsigned();
        ledger.tokens.get(&target).and_then(|t| t.executed.get(&id)) == Some(&payload)
    }

    /// Contract, operation id and payload.
    pub fn key(&self) -> Option<(String, i64, String)> {
        Some((self.target.clone(), self.op_number?, self.payload_hash.clone()?))
    }
}

impl Line {
    /// Whether the table of moves has it, and whether a person made it where only a person may.
    pub fn is_legal(&self) -> bool {
        let (Some(from), Ok(to)) = (&self.from, self.to.parse::<Status>()) else { return self.to == "pending" };
        let Ok(from) = from.parse::<Status>() else { return false };
        let moved = Move::ALL.iter().any(|by| from.next(*by) == Some(to));
        // A resolution is a line of history that leaves the status.
        let resolved = from == to && from.needs_operator();
        (moved || resolved) && (!from.needs_operator() || self.actor == PERSON)
    }
}
