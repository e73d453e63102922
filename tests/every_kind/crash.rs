//! The process ends before and after each durable write of every kind of operation. Each process continues where the one before
//! ended, and the last one finds every effect exactly once.

use std::time::Instant;

use muniment_domain::point::Point;
use world::{Database, Fault, FaultProxy, Rule, on_both_databases};

use super::kind::{ALL, Kind};
use super::stage::{Node, Stage};
use crate::crash::{SIDES, assert_crashed, start_and_crash};
use crate::installation::{PATIENCE, Server};

/// Progress of all operations when a process ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Left {
    /// Transactions with stored bytes.
    signed: u64,
    /// Transactions that a block can include.
    in_pool: u64,
    /// Transactions sent, according to the database.
    noted: u64,
    /// Included steps, according to the database.
    included: u64,
    confirmed: u64,
}

/// An installation whose process ends again and again.
struct Lives {
    stage: Stage,
    proxy: FaultProxy,
    /// The progress before.
    base: Left,
}

impl Lives {
    async fn begin(database: Database) -> Self {
        let mut stage = Stage::new(Node::Anvil, database, 1).await;
        stage.day.server.process.kill();
        let proxy = FaultProxy::start(stage.site().anvil.url(), 1);
        stage.day.site.config.node(proxy.url());
        stage.site().stop_blocks().await;
        let mut lives = Self { stage, proxy, base: Left::default() };
        lives.base = lives.left().await;
        lives
    }

    async fn left(&self) -> Left {
        let site = self.stage.site();
        let count = async |of: &str| site.count(of).await.cast_unsigned();
        Left {
            signed: count("attempts").await - self.base.signed,
            in_pool: site.in_pool().await,
            noted: count("attempts where last_answer in ('accepted', 'already_known')").await - self.base.noted,
            included: count("operation_steps where state in ('included', 'final')").await - self.base.included,
            confirmed: count("operations where status = 'confirmed'").await - self.base.confirmed,
        }
    }

    /// Starts a process with a planned crash and waits until it serves; none if it ended first.
    async fn serves(&mut self, plan: &str) -> bool {
        let process = self.stage.site().launch(&["run"]).env("MUNIMENT_CRASH", plan).spawn();
        match Server::of(process, &self.stage.site().key).await {
            Ok(server) => {
                self.stage.day.server = server;
                true
            }
            Err(mut process) => {
                assert_crashed(&mut process, plan);
                false
            }
        }
    }

    /// Ends at the acceptance of a kind, and around the commit that signs its first step.
    async fn ends_up_to_the_signature(&mut self, kind: Kind, side: &str, signed: u64) {
        // Where an approval is needed, the request is accepted first.
        let accepted = format!("{}.{side}:{}", Point::Accept, kind.facts().people);
        assert!(self.serves(&accepted).await, "{kind:?}: another write reached {accepted}");
        let answer = self.stage.try_ask("first", kind, 0).await;
        assert!(answer.is_none(), "{kind:?}: {accepted} was not reached: {answer:?}");
        assert_crashed(&mut self.stage.day.server.process, &accepted);
        let plan = format!("{}.before:1", Point::Sign);
        // An accepted operation continues by itself; otherwise the request is repeated.
        if self.serves(&plan).await {
            if side == "before" {
                _ = self.stage.try_ask("first", kind, 0).await;
            }
            assert_crashed(&mut self.stage.day.server.process, &plan);
        }
        assert_eq!(self.left().await.signed, signed, "{kind:?}: {plan}");
        let plan = format!("{}.after:1", Point::Sign);
        start_and_crash(self.stage.site(), &plan).await;
        assert_eq!(self.left().await.signed, signed + 1, "{kind:?}: {plan}");
    }

    /// Ends before a point, which changes nothing, and after it, until this progress is reached. A write may be made in parts, and
    /// a refused transaction is sent again after a block's time.
    async fn ends_around(&self, point: Point, after: Left) {
        let before = self.left().await;
        start_and_crash(self.stage.site(), &format!("{point}.before:1")).await;
        assert_eq!(self.left().await, before, "{point}.before");
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            start_and_crash(self.stage.site(), &format!("{point}.after:1")).await;
            if self.left().await == after {
                return;
            }
        }
        panic!("{point}.after left {:?}, and not {after:?}", self.left().await);
    }

    /// From this many stored transactions to their block, after this many earlier ones.
    async fn ends_up_to_the_block(&self, earlier: u64, now: u64) {
        let all = earlier + now;
        let mut left = Left { signed: all, in_pool: now, noted: earlier, included: earlier, ..self.left().await };
        self.ends_around(Point::Send, left).await;
        left.noted = all;
        self.ends_around(Point::Answer, left).await;
        self.stage.site().anvil.mine(1).await;
        (left.in_pool, left.included) = (0, all);
        self.ends_around(Point::Follow, left).await;
    }

    /// Ends around the final commits of this many operations.
    async fn ends_at_the_last_words(&self, operations: u64) {
        self.stage.site().anvil.mine(3).await;
        let left = self.left().await;
        // The events of the blocks are in the commit of the verdicts.
        self.ends_around(Point::Finalise, Left { confirmed: left.confirmed + operations, ..left }).await;
    }
}

on_both_databases! {
    async fn every_kind_is_executed_once_across_crashes(database: Database) {
        // On one database every second kind is ended before its acceptance commits, on the other one after it.
        let first = usize::from(matches!(database, Database::Postgres(_)));
        let mut lives = Lives::begin(database).await;
        let others: Vec<Kind> = ALL.into_iter().filter(|kind| *kind != Kind::Escrow).collect();
        let count = others.len() as u64;
        // Nothing is sent until everything is signed, so that one call sends all of it.
        let refused = Fault::Error(-32000, "txpool is full".to_owned());
        lives.proxy.add(Rule::new(refused).on(&["eth_sendRawTransaction"]));
        for (number, kind) in others.into_iter().enumerate() {
            lives.ends_up_to_the_signature(kind, SIDES[(number + first) % 2], number as u64).await;
        }
        lives.proxy.heal();
        lives.ends_up_to_the_block(0, count).await;
        lives.ends_at_the_last_words(count).await;
        // Operations with several steps run after the others, so that every commit is about one step.
        lives.ends_up_to_the_signature(Kind::Escrow, SIDES[first], count).await;
        for step in 0..Kind::Escrow.facts().steps.len() as u64 {
            if step > 0 {
                lives.ends_around(Point::Sign, Left { signed: count + step + 1, ..lives.left().await }).await;
            }
            lives.ends_up_to_the_block(count + step, 1).await;
        }
        lives.ends_at_the_last_words(1).await;
        lives.stage.day.server = lives.stage.site().start().await;
        let (stage, asked) = (&lives.stage, lives.stage.ask_all(0).await);
        stage.site().mined_until_settled().await;
        stage.is_done(&asked, |_| 1).await;
        assert_eq!(stage.site().exactly_once().await.attention, 0);
        stage.day.sums_agree().await;
    }
}
