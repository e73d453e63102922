//! What comes next: one turn of a seed.

use std::sync::Arc;

use alloy::primitives::{B256, Bytes, keccak256};
use alloy::sol_types::SolCall;
use muniment_activities::contract::bindings::token::PlatformSecurityToken7518::mintPageCall;
use sqlx::Row;

use crate::block::Tx;
use crate::fault::Fault;
use crate::ledger::AGENT;
use crate::net::GWEI;
use crate::people;
use crate::run::Run;
use crate::worker::Move;

type Broken = Result<(), String>;

/// More blocks than the engine walks one by one.
const GAP_BLOCKS: u64 = 600;

impl Run<'_> {
    /// One thing happens.
    pub async fn turn(&mut self) -> Broken {
        let passed = self.seed.below(4);
        self.pass_time(passed);
        self.tempt_fate();
        self.relent();
        let index = self.seed.below(2) as usize;
        if self.workers[index].engine.is_none() {
            return self.boot(index).await;
        }
        match self.seed.below(100) {
            0..20 => self.wake(index).await,
            20..30 if self.workers[index].has_prepared() > 0 => self.submit(index).await,
            20..64 => {
                let order = self.engine_move(index);
                self.act(index, order).await
            }
            64..82 => {
                let now = self.stage.now();
                let odds = *self.seed.pick(&[0.3, 0.7, 1.0]);
                self.pass_time(12);
                self.shared.net().mine(now + 12, odds);
                self.note("a block".to_owned());
                Ok(())
            }
            82..88 => {
                self.mishap();
                Ok(())
            }
            88..94 => people::ask(self).await,
            _ => people::operate(self, index).await,
        }
    }

    /// A move that a worker makes by itself.
    pub fn engine_move(&mut self, index: usize) -> Move {
        match self.seed.below(31) {
            0..9 => Move::Follow,
            9..16 => Move::Finalise,
            29 => Move::Observe,
            16..21 => Move::Tend,
            21..24 => Move::Sweep,
            24 => Move::Check,
            25 => Move::Hold,
            26 => Move::Prune,
            27 => Move::WakeAll,
            28 if self.workers[index].has_prepared() > 0 => Move::Submit(1),
            _ => Move::Refill(1 + self.seed.below(4) as usize),
        }
    }

    pub async fn submit(&mut self, index: usize) -> Broken {
        let count = 1 + self.seed.below(self.workers[index].has_prepared().max(1) as u64) as usize;
        self.act(index, Move::Submit(count)).await
    }

    /// A wake of the queue reaches a worker: a due one, or one that nobody expected.
    pub async fn wake(&mut self, index: usize) -> Broken {
        if self.seed.chance(0.1) {
            let ids: Vec<String> = sqlx::query_scalar("select id from operations order by id")
                .fetch_all(self.stage.pool())
                .await
                .expect("ids");
            if ids.is_empty() {
                return Ok(());
            }
            let id = self.seed.pick(&ids).clone();
            return self.act(index, Move::Advance(id)).await;
        }
        let Some(id) = self.take_wake().await else { return Ok(()) };
        if self.seed.chance(0.3) {
            let mut ids = vec![id];
            while ids.len() < 4
                && let Some(other) = self.take_wake().await
            {
                ids.push(other);
            }
            return self.act(index, Move::Together(ids)).await;
        }
        self.act(index, Move::Advance(id.clone())).await?;
        if self.seed.chance(0.15) {
            self.hit(Fault::WakeDoubled);
            let index = self.seed.below(2) as usize;
            return self.act(index, Move::Advance(id)).await;
        }
        Ok(())
    }

    /// Takes a due wake from the queue, in no particular order.
    pub async fn take_wake(&mut self) -> Option<String> {
        let due = "select id, job from Jobs where status = 'Pending' and run_at <= $1 order by id";
        let now = self.stage.now().cast_signed();
        let jobs = sqlx::query(due).bind(now).fetch_all(self.stage.pool()).await.expect("jobs");
        if jobs.is_empty() {
            return None;
        }
        let job = self.seed.pick(&jobs);
        let (id, payload): (String, Vec<u8>) = (job.get(0), job.get(1));
        sqlx::query("delete from Jobs where id = $1").bind(id).execute(self.stage.pool()).await.expect("a job");
        serde_json::from_slice(&payload).ok()
    }

    /// What lasts comes to an end.
    fn relent(&mut self) {
        let ends = self.seed.below(60);
        let mut state = self.shared.state();
        match ends {
            0..5 => state.outage = false,
            5..9 => state.down = None,
            9..12 => state.frozen = None,
            12..15 => self.shared.net().broke = false,
            15..17 => self.shared.net().set_base_fee(GWEI),
            _ => {}
        }
    }

    /// The world outside does something unkind.
    fn mishap(&mut self) {
        let now = self.stage.now();
        let what = self.seed.below(15);
        let amount = self.seed.below(600);
        let mut state = self.shared.state();
        let mut net = self.shared.net();
        match what {
            0 => state.outage = true,
            1 => state.down = Some(amount as usize % 2),
            2 => state.frozen = Some((amount as usize % 2, net.blocks.clone(), net.last)),
            3 => {
                if !net.pool.is_empty() {
                    net.hit(Fault::PoolEvicted);
                }
                net.pool.clear();
            }
            4..7 => net.reorganise(now),
            7 => {
                net.set_base_fee(GWEI * u128::from(2 + amount % 40));
                net.hit(Fault::Spike);
            }
            8 => net.broke = true,
            9 => self.send_foreign(&mut net, amount),
            10 | 11 => agent(&mut net, amount),
            12 => {
                net.hit(Fault::ClockBack);
                self.stage.db.clock().advance(-chrono::Duration::seconds(amount.cast_signed()));
            }
            13 if amount < 120 => {
                net.hit(Fault::LongGap);
                net.grow(now, GAP_BLOCKS);
            }
            13 => net.reorganise(now),
            _ => {
                net.hit(Fault::ClockJump);
                self.stage.db.clock().advance(chrono::Duration::seconds(amount.cast_signed()));
            }
        }
        drop(net);
        state.now = self.stage.now();
        drop(state);
        self.note(format!("mishap {what} ({amount})"));
    }

    /// Somebody else signs with a key of ours.
    fn send_foreign(&self, net: &mut crate::net::Net, amount: u64) {
        let from = self.stage.signers[amount as usize % 2].address();
        let nonce = net.head().ledger.nonces.get(&from).copied().unwrap_or(0);
        let salt = net.next_salt();
        let tx = Arc::new(Tx::strange(from, nonce, from, Bytes::new(), salt));
        net.hit(Fault::ForeignNonce);
        net.seen.insert(tx.hash, tx.clone());
        net.pool.insert((from, nonce), tx);
    }

    /// The queue's tables are emptied, while their work is under way.
    pub async fn empty_queue(&mut self) {
        sqlx::query("delete from Jobs").execute(self.stage.pool()).await.expect("an empty queue");
        self.hit(Fault::QueueEmptied);
        self.note("the queue is emptied".to_owned());
    }
}

/// An agent sends what we sent, with a key of their own, or something else under our operation id.
fn agent(net: &mut crate::net::Net, amount: u64) {
    let calls: Vec<Arc<Tx>> = net.seen.values().filter(|t| t.ours && !t.data.is_empty()).cloned().collect();
    if calls.is_empty() {
        return;
    }
    let call = calls[amount as usize % calls.len()].clone();
    let mut data = call.data.clone();
    let conflicting = amount.is_multiple_of(5) && !net.is_part(keccak256(&data));
    if conflicting && let Ok(mut page) = mintPageCall::abi_decode(&data) {
        page.lines.push(B256::with_last_byte(1));
        data = page.abi_encode().into();
        net.hit(Fault::AgentConflicts);
    } else {
        net.hit(Fault::AgentExecutes);
    }
    let nonce = net.pool.keys().filter(|(from, _)| *from == AGENT).map(|(_, nonce)| nonce + 1).max();
    let nonce = nonce.unwrap_or(net.head().ledger.nonces.get(&AGENT).copied().unwrap_or(0));
    let salt = net.next_salt();
    let tx = Arc::new(Tx::strange(AGENT, nonce, call.to, data, salt));
    net.pool.insert((AGENT, nonce), tx);
}
