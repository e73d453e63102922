//! Reading tokens costs the same for a thousand as for one, and every event reaches the ledger.

use alloy::primitives::{Address, U256};
use muniment_domain::clock::Clock;
use muniment_domain::id::of;
use muniment_domain::offering::{self, Offering};
use muniment_domain::point::{Point, When};
use muniment_domain::{chain, token_read};
use muniment_workflows::engine::Engine;
use muniment_workflows::engine::follow;
use muniment_workflows::engine::follow::Pass;
use muniment_workflows::engine::{finalise, ledger};
use world::{Database, FaultProxy, Mining, on_both_databases};

use crate::installation::{CHAIN_ID, EngineFixture, Installation, Terms, ended};
use crate::statements::Statements;

/// The cost of reading one block.
#[derive(Debug, PartialEq, Eq)]
struct Cost {
    statements: usize,
    calls: u64,
    rows: usize,
}

/// An engine that the test moves by manual, and its node.
struct ManualEngine {
    site: Installation,
    engine: Engine,
    node: FaultProxy,
}

impl ManualEngine {
    /// With one minted token.
    async fn new(database: Database) -> Self {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(2), Terms::free(3)]).await;
        let node = FaultProxy::start(site.anvil.url(), 1);
        let fixture = site.engine_fixture(|config| config.endpoints = vec![node.url().to_owned()]).await;
        fixture.deploy(&site.offerings[0]).await;
        site.finalised().await;
        fixture.mint(&site.offerings[0]).await;
        site.finalised().await;
        let engine = fixture.engine.clone();
        fixture.halt().await;
        let manual = Self { site, engine, node };
        manual.block().await;
        ledger::index(&manual.engine, manual.engine.network(CHAIN_ID).unwrap()).await.unwrap();
        manual
    }

    /// Mines a block and follows it, which makes one more block final.
    async fn block(&self) {
        self.site.anvil.mine(1).await;
        while follow::follow(&self.engine, self.engine.network(CHAIN_ID).unwrap()).await.unwrap() != Pass::Still {}
    }

    async fn cursors(&self) -> Vec<Vec<String>> {
        let tokens = "select offering_id, pace, cast(block_number as text), cast(read_at as text) from token_cursors order by offering_id";
        let chains =
            "select cast(chain_id as text), cast(block_number as text), cast(read_at as text) from token_reads";
        [self.site.rows(tokens).await, self.site.rows(chains).await].concat()
    }

    /// Measures the cost of reading the tokens of one more final block.
    async fn cost(&self) -> Cost {
        self.block().await;
        let (before, called) = (self.cursors().await, self.node.trace().calls.values().sum::<u64>());
        let (statements, counting) = Statements::follow();
        ledger::index(&self.engine, self.engine.network(CHAIN_ID).unwrap()).await.unwrap();
        drop(counting);
        let rows = self.cursors().await.iter().zip(&before).filter(|(after, before)| after != before).count();
        let calls = self.node.trace().calls.values().sum::<u64>() - called;
        Cost { statements: statements.texts().len(), calls, rows }
    }

    /// Adds tokens, as if they were made in a block that is not read yet.
    async fn add_tokens(&self, count: u64) {
        let mut tx = self.engine.db.begin().await.unwrap();
        let made_in = chain::find(&mut tx, CHAIN_ID).await.unwrap().unwrap().final_number + 1;
        let one = offering::find(&mut tx, &self.site.offerings[0].as_str().into()).await.unwrap();
        for number in 0..count {
            let id = tx.new_id::<of::Offering>();
            let other = Offering { id: id.clone(), ..one.clone() };
            offering::insert(&mut tx, &other).await.unwrap();
            let address = Address::left_padding_from(&(1 << 32 | number).to_be_bytes());
            token_read::begin(&mut tx, CHAIN_ID, &[(&id, address, made_in)]).await.unwrap();
        }
        tx.commit(Point::Housekeeping).await.unwrap();
    }
}

on_both_databases! {
    async fn the_events_of_a_proved_block_are_known_without_a_question(database: Database) {
        let ManualEngine { site, engine, node } = ManualEngine::new(database).await;
        assert_eq!(site.count("holdings where balance <> '0'").await, 2, "the mint is in the ledger");
        assert_eq!(node.trace().calls.get("eth_getLogs"), None);
        // Another process followed the blocks: this one has to ask, and reads the same.
        let events = "select cast(block_number as text), cast(log_index as text), kind, coalesce(to_address, ''), coalesce(quantity, '')
            from token_events order by block_number, log_index, line";
        let before = site.rows(events).await;
        let mut tx = engine.db.begin().await.unwrap();
        let cursor = token_read::cursor(&mut tx, &site.offerings[0].as_str().into()).await.unwrap().unwrap();
        token_read::reset(&mut tx, &cursor).await.unwrap();
        tx.commit(Point::Index).await.unwrap();
        engine.db.close().await;
        drop(engine);
        let other = site.engine_at(Clock::System, |config| config.endpoints = vec![node.url().to_owned()]).await;
        assert_eq!(site.rows(events).await.len(), 0);
        ledger::index(&other, other.network(CHAIN_ID).unwrap()).await.unwrap();
        assert!(node.trace().calls.contains_key("eth_getLogs"));
        assert_eq!(site.rows(events).await, before);
    }

    async fn the_events_of_a_mint_are_stored_with_its_verdict(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(2)]).await;
        let fixture = site.engine_fixture(|_| ()).await;
        fixture.deploy(&site.offerings[0]).await;
        site.finalised().await;
        fixture.mint(&site.offerings[0]).await;
        site.all_in_pool(1).await;
        let engine = fixture.engine.clone();
        fixture.halt().await;
        let network = engine.network(CHAIN_ID).unwrap();
        for _ in 0..5 {
            site.anvil.mine(1).await;
            while follow::follow(&engine, network).await.unwrap() != Pass::Still {}
        }
        let results = async || {
            (site.count("token_events where kind = 'transfer'").await, site.count("operations where kind = 'mint' and status = 'confirmed'").await)
        };
        assert_eq!(results().await, (0, 0), "the mint is final");
        ended(Point::Finalise, When::Before, finalise::finalise(&engine, network)).await;
        assert_eq!(results().await, (0, 0));
        ended(Point::Finalise, When::After, finalise::finalise(&engine, network)).await;
        let (events, confirmed) = results().await;
        assert!(events > 0 && confirmed == 1, "{events} {confirmed}");
        engine.db.close().await;
    }

    async fn a_verdict_finds_its_block_without_asking_the_chain(database: Database) {
        let manual = ManualEngine::new(database).await;
        let ManualEngine { site, engine, node } = &manual;
        let fixture = EngineFixture::run(engine.clone());
        fixture.deploy(&site.offerings[1]).await;
        site.all_in_pool(1).await;
        fixture.halt().await;
        // Far enough for the block to be final, and below others that are.
        for _ in 0..40 {
            manual.block().await;
        }
        let asked = node.trace().calls;
        finalise::finalise(engine, engine.network(CHAIN_ID).unwrap()).await.unwrap();
        assert_eq!(site.count("operations where status = 'confirmed'").await, 3);
        assert_eq!(node.trace().calls, asked);
        for _ in 0..5 {
            site.anvil.mine(400).await;
            while follow::follow(engine, engine.network(CHAIN_ID).unwrap()).await.unwrap() != Pass::Still {}
        }
        let kept = site.count("chain_blocks").await;
        assert!((512..=1_100).contains(&kept), "{kept}");
        engine.db.close().await;
    }

    async fn the_events_of_a_block_are_known_after_the_follower_has_dropped_its_header(database: Database) {
        let manual = ManualEngine::new(database).await;
        manual.block().await;
        manual.site.write("delete from chain_blocks").await;
        ledger::index(&manual.engine, manual.engine.network(CHAIN_ID).unwrap()).await.unwrap();
        let read = "token_reads r join chains c on c.chain_id = r.chain_id where r.block_number = c.final_number";
        assert_eq!(manual.site.count(read).await, 1);
        assert_eq!(manual.node.trace().calls.get("eth_getLogs"), None);
    }

    async fn reading_a_block_costs_the_same_for_a_thousand_tokens(database: Database) {
        let shared = matches!(database, Database::Postgres(_));
        let manual = ManualEngine::new(database).await;
        let one = manual.cost().await;
        assert_eq!((one.rows, one.calls), (1, 0), "the block proves that it has no events: {one:?}");
        assert_eq!(one.statements > 0, shared, "{one:?}");
        manual.add_tokens(1_000).await;
        // First their past events are read, then they are read with the others.
        manual.block().await;
        ledger::index(&manual.engine, manual.engine.network(CHAIN_ID).unwrap()).await.unwrap();
        assert_eq!(manual.site.count("token_cursors where pace = 'chain'").await, 1_001);
        assert_eq!(manual.cost().await, one);
        // With this many tokens the query names no address; foreign events are dropped, and ours reach the ledger.
        let ManualEngine { site, engine, node } = manual;
        engine.db.close().await;
        drop((engine, node));
        let server = site.start().await;
        assert_eq!(server.deploy("deploy-1", &site.offerings[1]).await.status, 202);
        site.finalised().await;
        assert_eq!(server.mint("mint-1", &site.offerings[1]).await.status, 202);
        site.finalised().await;
        let token = site.tokens_of(&site.offerings[1]).await[0].address;
        let held = format!("select wallet_address, balance from holdings where offering_id = '{}'", site.offerings[1]);
        let held = site.rows(&held).await;
        assert_eq!(held.len(), 3);
        for row in held {
            assert_eq!(site.balance_of(token, row[0].parse().unwrap()).await, row[1].parse::<U256>().unwrap());
        }
        assert_eq!(site.count("token_cursors where pace = 'chain'").await, 1_002);
    }
}
