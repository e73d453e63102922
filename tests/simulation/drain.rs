//! The end of a seed: faults stop, people resolve what waits for them, and everything must come to rest.

use std::collections::BTreeMap;

use muniment_domain::sql::sql;

use crate::fault::Fault;
use crate::net::GWEI;
use crate::oracle;
use crate::people::{self, People};
use crate::request::{Request, What};
use crate::run::Run;
use crate::ways;
use crate::worker::Move;

type Broken = Result<(), String>;

/// How many blocks it may take.
const ROUNDS: u64 = 150;
/// How often a person retries an operation before giving it up.
const RETRIES: u64 = 3;
/// Blocks that people wait who leave what was given up alone.
const PATIENCE: u64 = 16;

impl Run<'_> {
    /// Lets everything drain; whatever is still under way then is stuck.
    pub async fn drain(&mut self) -> Broken {
        self.note("all faults stop".to_owned());
        // A planned crash stays planned: people's own moves are mostly made from here on.
        self.oracle.draining = true;
        {
            let mut state = self.shared.state();
            state.mood.heal();
            (state.outage, state.down, state.frozen) = (false, None, None);
            let mut net = self.shared.net();
            (net.broke, net.keeps_orphans) = (false, false);
        }
        if self.waits {
            // The engine gives up what the market leaves waiting.
            for round in 0..PATIENCE {
                let index = self.next_worker(round);
                self.round(index).await?;
            }
        }
        {
            let mut net = self.shared.net();
            (net.is_dear, net.base_fee) = (false, GWEI);
        }
        // An endpoint that was taken for another chain is looked at again by a process that starts.
        for index in 0..2 {
            self.workers[index].crash();
        }
        while let Some(request) = self.unanswered.pop() {
            people::answer(self, request).await?;
        }
        let mut tries = BTreeMap::new();
        if self.people != People::Diligent {
            self.wait_for_people(&mut tries).await?;
        }
        let patience = if self.waits { PATIENCE } else { 0 };
        for round in 0..ROUNDS {
            let index = self.next_worker(round);
            self.round(index).await?;
            // What took effect in part must be finished, and the issuer makes room for it.
            self.shared.net().lift_caps = round >= ROUNDS / 2;
            if round % 4 == 3 {
                people::tend_lanes(self, 0).await?;
                if round >= patience {
                    self.resolve(&mut tries).await?;
                }
            }
            if self.is_quiet().await {
                return self.last_look().await;
            }
        }
        self.oracle.must_be_quiet(&oracle::facts(self.stage).await)
    }

    /// Lets everything go on without those who do not come, until nothing goes on without them. Then each operation has a way on, and in the
    /// end they come.
    async fn wait_for_people(&mut self, tries: &mut BTreeMap<String, u64>) -> Broken {
        let mut rested = 0;
        for round in 0..ROUNDS {
            let index = self.next_worker(round);
            self.round(index).await?;
            if round % 4 == 3 && self.people == People::Careless {
                people::tend_lanes(self, 0).await?;
                self.resolve(tries).await?;
            }
            // What people decide on is final by then.
            rested = if ways::only_people_can_go_on(&oracle::facts(self.stage).await) { rested + 1 } else { 0 };
            if rested > PATIENCE {
                break;
            }
        }
        let facts = oracle::facts(self.stage).await;
        self.oracle.judge(&facts, &self.shared.net())?;
        let boot = (0..2).find(|index| self.workers[*index].engine().is_none());
        if let Some(index) = boot {
            self.boot(index).await?;
        }
        let engine = self.workers[0].engine().expect("nothing stops it now").clone();
        let waiting = ways::each_has_one(&engine, &facts).await?;
        if waiting > 0 {
            self.hit(Fault::NobodyCame);
        }
        self.note(format!("people come; {waiting} operations wait for them"));
        self.people = People::Diligent;
        Ok(())
    }

    /// Deploys the tokens before anything goes wrong, so that there is something to mint.
    pub async fn head_start(&mut self) -> Broken {
        self.oracle.draining = true;
        for index in 0..2 {
            self.boot(index).await?;
        }
        for n in 0..self.offerings.len() {
            let offering = self.offerings[n].clone();
            people::answer(self, Request { what: What::Deploy, offering, key: format!("start-{n}") }).await?;
        }
        for _ in 0..9 {
            self.round(0).await?;
        }
        self.oracle.draining = false;
        Ok(())
    }

    /// The worker that finds what a round brings. Where only one of them has the key, chance decides who gets a wake.
    fn next_worker(&mut self, round: u64) -> usize {
        let next = if self.keys_apart { self.seed.below(2) } else { round % 2 };
        next as usize
    }

    /// A block passes, and one worker does everything that it finds to do.
    async fn round(&mut self, index: usize) -> Broken {
        self.pass_time(12);
        let now = self.stage.now();
        self.shared.net().mine(now, 1.0);
        for worker in 0..2 {
            if self.workers[worker].engine().is_none() {
                self.boot(worker).await?;
            }
        }
        // The loops of the process, or their parts: who follows the chain is decided by a lease, and nothing may depend on it.
        let orders: &[Move] = if self.seed.chance(0.3) {
            &[Move::Keep, Move::Settle, Move::KeepSweeping, Move::Refill]
        } else {
            &[Move::Follow, Move::Finalise, Move::Tend, Move::Observe, Move::Sweep, Move::Refill]
        };
        for order in orders {
            self.act(index, order.clone()).await?;
        }
        while let Some(id) = self.take_wake().await {
            self.act(index, Move::Wake(vec![id])).await?;
        }
        for lane in 0..self.workers[index].lanes() {
            self.act(index, Move::Sign(lane)).await?;
            self.act(index, Move::Send(lane)).await?;
        }
        Ok(())
    }

    /// People resolve what needs them: by proof, by trying again, and in the end by giving up.
    async fn resolve(&mut self, tries: &mut BTreeMap<String, u64>) -> Broken {
        let waiting = sql("select id, suggested_action ->> 'tx_hash', error_code from operations \
             where status in ('failed', 'dead_letter') and resolution is null order by id");
        let rows: Vec<(String, Option<String>, Option<String>)> = self.stage.rows(waiting).await;
        for (id, proposed, code) in rows {
            if !self.people.care_for(&id) {
                continue;
            }
            let tried = tries.entry(id.clone()).or_default();
            *tried += 1;
            let tried = *tried;
            let order = match proposed.and_then(|hash| hash.parse().ok()) {
                Some(hash) if tried % 2 == 1 => Move::Confirm(id, hash),
                _ if code.as_deref() == Some("stuck") && tried > RETRIES && tried.is_multiple_of(2) => Move::Cancel(id),
                _ if tried <= RETRIES || tried.is_multiple_of(3) => Move::Retry(id),
                _ => Move::Abandon(id),
            };
            self.act(0, order).await?;
        }
        Ok(())
    }

    async fn is_quiet(&mut self) -> bool {
        // The cheap question first: mostly it is answered by no.
        let unfinished = sql("select count(*) from operations where status <> 'confirmed' and resolution is null");
        let unfinished: Vec<(i64,)> = self.stage.rows(unfinished).await;
        unfinished == [(0,)] && oracle::facts(self.stage).await.is_quiet()
    }

    async fn last_look(&mut self) -> Broken {
        let facts = oracle::facts(self.stage).await;
        let net = self.shared.net();
        self.oracle.judge(&facts, &net)?;
        self.oracle.judge_end(&facts, &net)
    }
}
