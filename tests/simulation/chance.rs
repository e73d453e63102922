//! What comes next: one turn of a seed.

use std::sync::Arc;

use alloy::primitives::{B256, Bytes, keccak256};
use alloy::sol_types::SolCall;
use muniment_activities::contract::bindings::token::PlatformSecurityToken7518::mintPageCall;
use muniment_domain::sql::sql;

use crate::block::Tx;
use crate::fault::Fault;
use crate::ledger::AGENT;
use crate::net::GWEI;
use crate::people::{self, People};
use crate::run::Run;
use crate::worker::Move;

type Broken = Result<(), String>;

/// Steps that may wait to be signed before a lane takes a turn.
const WAITING_MAX: usize = 24;
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
        if self.workers[index].engine().is_none() {
            return self.boot(index).await;
        }
        match self.seed.below(100) {
            0..20 => self.wake(index).await,
            20..34 if self.workers[index].waiting() > 0 => self.sign(index).await,
            34..44 if self.workers[index].sending().is_some() => self.send(index).await,
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
            _ if self.people == People::Away => self.act(index, Move::Keep).await,
            _ => people::operate(self, index).await,
        }
    }

    /// A move that a worker makes by itself.
    pub fn engine_move(&mut self, index: usize) -> Move {
        let lane = self.seed.below(2) as usize;
        match self.seed.below(40) {
            0..8 => Move::Follow,
            8..14 => Move::Finalise,
            14..19 => Move::Tend,
            19..22 => Move::Sweep,
            22 => Move::Check,
            23 => Move::Hold,
            24 => Move::Prune,
            25 => Move::WakeAll,
            26 => Move::Observe,
            27..33 => Move::Keep,
            33..35 => Move::Settle,
            35 => Move::KeepSweeping,
            36 if self.workers[index].waiting() > 0 => Move::Sign(lane),
            37 if self.workers[index].sending().is_some() => Move::Send(lane),
            _ => Move::Refill,
        }
    }

    /// One lane takes a turn. Now and then its task ends instead, and its operations with it.
    pub async fn sign(&mut self, index: usize) -> Broken {
        let lane = self.seed.below(2) as usize;
        if self.seed.chance(0.05) && self.workers[index].end_lane(lane) {
            self.hit(Fault::LaneEnded);
            self.note(format!("worker {index}: the task of lane {lane} ends"));
            return Ok(());
        }
        self.act(index, Move::Sign(lane)).await
    }

    async fn send(&mut self, index: usize) -> Broken {
        match self.workers[index].sending() {
            Some(lane) => self.act(index, Move::Send(lane)).await,
            None => Ok(()),
        }
    }

    /// A wake of the queue reaches a worker: a due one, or one that nobody expected.
    pub async fn wake(&mut self, index: usize) -> Broken {
        if self.seed.chance(0.1) {
            let ids: Vec<(String,)> = self.stage.rows(sql("select id from operations order by id")).await;
            if ids.is_empty() {
                return Ok(());
            }
            let id = self.seed.pick(&ids).0.clone();
            return self.act(index, Move::Advance(id)).await;
        }
        // A lane has only so many places before it takes what arrived.
        if self.workers[index].waiting() >= WAITING_MAX {
            return self.act(index, Move::Sign(0)).await;
        }
        let Some(id) = self.take_wake().await else { return Ok(()) };
        if self.seed.chance(0.3) {
            let mut ids = vec![id];
            while ids.len() < 4
                && let Some(other) = self.take_wake().await
            {
                ids.push(other);
            }
            let order = match self.seed.below(8) {
                0..3 => Move::Together(ids),
                3 => {
                    self.hit(Fault::Overflow);
                    Move::Overflow(ids)
                }
                _ => Move::Wake(ids),
            };
            return self.act(index, order).await;
        }
        let order = if self.seed.chance(0.5) { Move::Advance(id.clone()) } else { Move::Wake(vec![id.clone()]) };
        self.act(index, order).await?;
        if self.seed.chance(0.15) {
            self.hit(Fault::WakeDoubled);
            let index = self.seed.below(2) as usize;
            return self.act(index, Move::Advance(id)).await;
        }
        Ok(())
    }

    /// Takes a due wake from the queue, in no particular order.
    pub async fn take_wake(&mut self) -> Option<String> {
        let jobs = self.stage.due_jobs().await;
        if jobs.is_empty() {
            return None;
        }
        let (id, payload) = self.seed.pick(&jobs);
        self.stage.delete_jobs(Some(id)).await;
        serde_json::from_slice(payload).ok()
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
            17..19 => self.shared.net().keeps_orphans = false,
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
            13 if net.has_open_calls() => {
                net.hit(Fault::LongGapAfterReorg);
                net.leap_after_reorganisation(now, GAP_BLOCKS);
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
        self.stage.delete_jobs(None).await;
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
