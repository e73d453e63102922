//! One seed: two workers, people, a chain and a clock, each moved by chance, one move at a time.

use std::sync::{Arc, Mutex};

use chrono::Duration;
use muniment_activities::chain::Chain;
use muniment_activities::config::{ChainConfig, Finality};
use muniment_activities::signer::Signer;
use muniment_domain::point::{Point, When, plan};
use muniment_domain::{Error, Result, meanwhile};
use muniment_workflows::engine::{Engine, StartError};
use muniment_workflows::settings::Settings;
use world::Seed;

use crate::endpoint::{Endpoint, Shared};
use crate::fault::Fault;
use crate::middle::{Ended, Meanwhile, Place};
use crate::mood::Mood;
use crate::net::Net;
use crate::oracle::{self, Oracle};
use crate::people::{self, People};
use crate::refused;
use crate::request::Request;
use crate::stage::Stage;
use crate::terms;
use crate::trace::Trace;
use crate::worker::{Move, Worker};

/// How many moves are made before everything is left to drain.
const TURNS: u64 = 130;
/// How long a move is waited for that never ends.
const GIVEN_UP_SECONDS: u64 = 60;
/// The first turn in which the market may go above every cap, in the seeds in which it does.
const DEAR_FROM: u64 = 10;

/// A seed under way.
pub struct Run<'a> {
    pub stage: &'a Stage,
    pub seed: Seed,
    pub shared: Arc<Shared>,
    pub config: ChainConfig,
    pub settings: Settings,
    pub workers: [Worker; 2],
    pub trace: &'a Trace,
    pub offerings: Vec<String>,
    /// Requests whose answer was lost: they are made again under the same key.
    pub unanswered: Vec<Request>,
    pub asked: u64,
    pub crashes: Vec<(Point, When)>,
    pub oracle: Oracle,
    armed: Option<(Point, When)>,
    /// The only crash that is planned; none for any.
    aim: Option<(Point, When)>,
    number: u64,
    /// The endpoint that lies.
    liar: Option<usize>,
    /// Whether the market goes above every cap and stays there, so that the engine has to give up.
    turns_dear: bool,
    /// Whether each process has a key of its own, and not both.
    pub keys_apart: bool,
    /// Whether people leave what waits and what was given up alone until the chain has shown its last word: only then does the engine give
    /// up surely, and a late success prove it.
    pub waits: bool,
    /// What people do about what waits for them.
    pub people: People,
}

/// A move in the middle of another one: what it is, and its end.
type Other = (String, Cell);
type Cell = Arc<Mutex<Option<Ended<Result<String>>>>>;

impl<'a> Run<'a> {
    /// Sets the scene of a seed.
    pub async fn begin(
        stage: &'a Stage,
        number: u64,
        aim: Option<(Point, When)>,
        trace: &'a Trace,
        thorough: bool,
    ) -> Self {
        stage.reset(number).await;
        plan::clear();
        plan::seen();
        let mut seed = Seed::new(number);
        // Aimed seeds look for what is rare, and giving up takes a long chain of events.
        let turns_dear = seed.chance(if aim.is_some() { 0.5 } else { 0.1 });
        let waits = aim.is_some_and(|(point, _)| matches!(point, Point::DeadLetter | Point::MarkConfirmed));
        let turns_dear = turns_dear || waits;
        let config = terms::of_chain(&mut seed, turns_dear);
        let lag = if let Finality::Confirmations(count) = config.finality { count } else { 2 + seed.below(4) };
        let mut net = Net::new(Seed::new(seed.draw()), lag, stage.now());
        for _ in 0..2 {
            net.mine(stage.now(), 1.0);
        }
        let liar = (config.quorum == 2).then_some(seed.below(2) as usize);
        let settings = terms::of_engine(&mut seed);
        let keys_apart = seed.chance(0.2);
        let people = if aim.is_some() { People::Diligent } else { People::draw(&mut seed) };
        let shared = Shared::new(net, Mood::none(), stage.server());
        meanwhile::visit(Some(shared.visitor()));
        let offerings = stage.offer(&mut seed).await.expect("the scene is set");
        Self {
            stage,
            seed,
            shared,
            config,
            settings,
            workers: Default::default(),
            trace,
            offerings,
            unanswered: Vec::new(),
            asked: 0,
            crashes: Vec::new(),
            oracle: Oracle::new(thorough),
            armed: None,
            aim,
            number,
            liar,
            turns_dear,
            keys_apart,
            waits,
            people,
        }
    }

    /// Lives through the seed; an error says which promise was broken.
    pub async fn live(&mut self) -> std::result::Result<(), String> {
        if self.seed.chance(0.7) {
            self.head_start().await?;
        }
        self.shared.state().mood = Mood::draw(&mut self.seed, self.liar);
        let nth = 1 + self.seed.below(3);
        match self.aim {
            // A rare write may pass only once.
            Some((point, when)) => self.arm(point, when, 1),
            // Every point, before and after, in turn over the seeds.
            None => {
                let point = Point::ALL[(self.number as usize / 2) % Point::ALL.len()];
                let when = if self.number.is_multiple_of(2) { When::Before } else { When::After };
                self.arm(point, when, nth);
            }
        }
        for turn in 0..TURNS {
            if self.turns_dear && turn >= DEAR_FROM && self.shared.net().become_dear() {
                self.note("the market becomes dear".to_owned());
            }
            self.turn().await?;
        }
        self.drain().await
    }

    fn arm(&mut self, point: Point, when: When, nth: u64) {
        let ends = self.aim.is_some() || self.seed.chance(0.75);
        self.shared.state().crash_ends = ends;
        let what = if ends { "a crash" } else { "a failure" };
        self.note(format!("{what} is planned at {point} {when:?}, passing {nth}"));
        plan::crash_at(point, when, nth);
        self.armed = Some((point, when));
    }

    pub fn note(&self, line: String) {
        let at = self.stage.now() % 1_000_000;
        self.trace.note(format!("{at} s  {line}"));
    }

    pub fn pass_time(&mut self, seconds: u64) {
        self.stage.db.clock().advance(Duration::seconds(seconds.cast_signed()));
        self.shared.state().now = self.stage.now();
    }

    /// Plans a crash anywhere, now and then.
    pub fn tempt_fate(&mut self) {
        if self.armed.is_none() && self.aim.is_none() && self.seed.chance(0.03) {
            let point = *self.seed.pick(Point::ALL);
            let when = if self.seed.chance(0.5) { When::Before } else { When::After };
            self.arm(point, when, 1);
        }
    }

    /// A process starts, as far as the chain lets it.
    pub async fn boot(&mut self, index: usize) -> std::result::Result<(), String> {
        let node =
            |n| Arc::new(Endpoint { index: n, shared: self.shared.clone() }) as Arc<dyn muniment_activities::Node>;
        let chain = Chain::in_process(self.config.clone(), vec![node(0), node(1)]);
        let chain = chain.with_clock(Arc::new(self.stage.milliseconds()));
        let chains = vec![(chain, self.keys(index))];
        let started = Engine::start(self.stage.db.clone(), self.settings.clone(), chains);
        let started = match self.shared.until_ended(started).await {
            Ended::By(started) => started,
            Ended::Killed => return self.judge(index, "start", Ended::Killed),
            Ended::GivenUp => return self.judge(index, "start", Ended::GivenUp),
        };
        match started {
            Ok(engine) => {
                self.note(format!("worker {index} starts"));
                self.workers[index].begin(engine);
                self.act(index, Move::WakeAll).await
            }
            Err(StartError::Domain(error)) => self.judge(index, "start", Ended::By(Err(error))),
            Err(StartError::Chain { fault, .. }) => {
                self.note(format!("worker {index} cannot start: {fault}"));
                Ok(())
            }
            Err(other) => Err(format!("a worker does not start: {other}")),
        }
    }

    /// The keys that a process starts with: those of the configuration, which may have changed since.
    fn keys(&mut self, index: usize) -> Vec<Signer> {
        let mut keys = self.stage.signers.clone();
        if self.keys_apart {
            self.hit(Fault::KeysApart);
            keys.swap(0, index);
            keys.truncate(1);
        } else if !self.oracle.draining && self.seed.chance(0.1) {
            self.hit(Fault::KeyTaken);
            keys.remove(self.seed.below(2) as usize);
        }
        keys
    }

    /// One move of one worker, with whatever happens in the middle of it.
    pub async fn act(&mut self, index: usize, order: Move) -> std::result::Result<(), String> {
        let label = format!("worker {index}: {order:?}");
        if matches!(order, Move::Retry(_)) {
            // A new cycle forgets the outcome of the one before.
            self.inspect().await?;
        }
        let follows = matches!(order, Move::Follow | Move::Keep);
        let (same, is_limited, keeps) = (order.clone(), order.is_limited(), matches!(order, Move::Keep));
        let Some(running) = self.workers[index].start(order) else { return Ok(()) };
        let other = self.arrange(1 - index, same, is_limited).await;
        let ended = self.shared.until_ended(running).await;
        self.shared.state().meanwhile = None;
        let beside = self.shared.state().other.take();
        if let Some(beside) = beside {
            beside.await.map_err(|error| format!("the move in the middle failed: {error}"))?;
        }
        if let Some((what, cell)) = other
            && let Some(other) = cell.lock().expect("no thread panicked with it").take()
        {
            self.judge(1 - index, &format!("  meanwhile worker {}: {what}", 1 - index), other)?;
        }
        if keeps && !matches!(ended, Ended::By(Ok(_))) {
            self.workers[index].begin_again().await;
        }
        self.judge(index, &label, ended)?;
        if follows && self.takes_a_look() {
            self.inspect().await?;
        }
        self.look().await
    }

    /// Whether the chain was reorganised so lately that the move before may have seen it.
    fn takes_a_look(&self) -> bool {
        let mut net = self.shared.net();
        let looks = net.looks > 0;
        net.looks = net.looks.saturating_sub(1);
        looks
    }

    /// What will happen at one of the move's questions to the chain, or at one of its calls of the database.
    async fn arrange(&mut self, other: usize, same: Move, may_hang: bool) -> Option<Other> {
        let on_server = self.stage.db.is_shared();
        if self.oracle.draining || !self.seed.chance(if on_server { 0.4 } else { 0.15 }) {
            return None;
        }
        let (place, at) = match (self.seed.below(3), on_server) {
            (0, true) => (Place::Commit, self.seed.below(2)),
            // There each statement is a call of its own.
            (1, true) => (Place::Database, self.seed.below(24)),
            (1, false) => (Place::Database, self.seed.below(6)),
            _ => (Place::Question, self.seed.below(4)),
        };
        let mut arranged = None;
        let meanwhile = match self.seed.below(10) {
            0 => Meanwhile::Kill { served: false },
            1 => Meanwhile::Kill { served: true },
            2 if may_hang => Meanwhile::Hang,
            2..5 => Meanwhile::Chain,
            by => {
                let by_person = by == 5 && self.people.decides(&mut self.seed);
                let order = match by_person {
                    true => people::decision(self).await?,
                    // Two of a kind want the same rows.
                    false if on_server && self.seed.chance(0.4) => same,
                    false => self.engine_move(other),
                };
                let cell: Cell = Arc::default();
                let (what, kept, shared) = (format!("{order:?}"), Arc::clone(&cell), self.shared.clone());
                let running = self.workers[other].start(order)?;
                arranged = Some((what, cell));
                Meanwhile::Move(Box::pin(async move {
                    let ended = shared.until_ended(running).await;
                    *kept.lock().expect("no thread panicked with it") = Some(ended);
                }))
            }
        };
        self.shared.state().meanwhile = Some((place, at, meanwhile));
        arranged
    }

    /// Refusals are answers, crashes end the process, and everything else that is an error is a bug.
    pub fn judge(
        &mut self,
        index: usize,
        label: &str,
        ended: Ended<Result<String>>,
    ) -> std::result::Result<(), String> {
        let ended = match ended {
            Ended::By(ended) => ended,
            Ended::Killed => {
                self.crash(index, label);
                return Ok(());
            }
            Ended::GivenUp => {
                self.note(format!("{label} -> given up"));
                self.pass_time(GIVEN_UP_SECONDS);
                return Ok(());
            }
        };
        // What a loop or a send does not pass on: a process that was planned to end there must not go on.
        let fired = self.armed.is_some() && !plan::is_planned();
        match ended {
            Ok(_) | Err(Error::Crashed(_)) if fired && self.shared.state().crash_ends => self.crash(index, label),
            Ok(said) => self.note(format!("{label} -> {said}")),
            Err(Error::Crashed(point)) => self.note(format!("{label} -> the commit {point} failed")),
            Err(refused) if refused.refusal().is_some() => self.note(format!("{label} -> {refused}")),
            Err(stale @ Error::Stale { .. }) => self.note(format!("{label} -> {stale}")),
            Err(other) => {
                self.note(format!("{label} -> {other}"));
                return Err(format!("{label} failed: {other}"));
            }
        }
        if fired {
            self.armed = None;
        }
        Ok(())
    }

    /// The process ends, as planned or in the middle of something.
    fn crash(&mut self, index: usize, label: &str) {
        let mut at = "in the middle".to_owned();
        if !plan::is_planned()
            && let Some((point, when)) = self.armed.take()
        {
            at = format!("at {point} {when:?}");
            self.crashes.push((point, when));
        }
        self.note(format!("{label} -> CRASH {at}"));
        self.workers[index].crash();
    }

    /// The oracle looks after every move that wrote something.
    pub async fn look(&mut self) -> std::result::Result<(), String> {
        if let Some(refused) = refused::take() {
            return Err(format!("no guard saw it, only the database: {refused}"));
        }
        let wrote = plan::seen().iter().any(|(_, when)| *when == When::After);
        if wrote && self.oracle.wants_to_look() { self.inspect().await } else { Ok(()) }
    }

    async fn inspect(&mut self) -> std::result::Result<(), String> {
        let facts = oracle::facts(self.stage).await;
        let mut net = self.shared.net();
        net.busy = facts.live() > 0;
        self.oracle.judge(&facts, &net)
    }

    pub fn hit(&self, fault: Fault) {
        self.shared.net().hit(fault);
    }
}
