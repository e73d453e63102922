//! What a life starts from: the platform's contracts on a fresh chain, two offerings, investors with wallets of their own.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use alloy::primitives::{Address, B256, U256};
use chrono::Duration;
use muniment_activities::chain::Chain;
use muniment_activities::config::{ChainConfig, PayoutTokenConfig, Profile};
use muniment_activities::contract::registry::Roles;
use muniment_activities::payout::coin;
use muniment_activities::platform::Platform;
use muniment_activities::signer::Signer;
use muniment_devchain::{Config, Devchain, ether};
use muniment_domain::clock::Clock;
use muniment_domain::db::{Db, Tx};
use muniment_domain::id::{Ids, of};
use muniment_domain::money::Money;
use muniment_domain::offering::choice::{IssuancePolicy, Template};
use muniment_domain::offering::{self, Offering, Status};
use muniment_domain::point::Point;
use muniment_domain::subscription::{self, NewAccepted};
use muniment_domain::{investor, migrate};
use muniment_workflows::engine::queue_tables;
use world::Seed;

use crate::node::Line;
use crate::payday::FUNDS;
use crate::people;

pub const CHAIN: i64 = 31_337;
pub const HOLDERS: usize = 5;
pub const PARTITION: i64 = 1;
/// The second at which every life begins.
const BEGIN: i64 = 1_800_000_000;

/// A fresh platform.
pub struct Stage {
    pub db: Db,
    pub chain: Devchain,
    pub line: Arc<Line>,
    pub platform: Platform,
    pub config: ChainConfig,
    pub signers: Vec<Signer>,
    pub offerings: Vec<String>,
    pub investors: Vec<String>,
    clock: Arc<AtomicI64>,
}

fn key(number: u8) -> B256 {
    B256::repeat_byte(number)
}

/// The key of a holder's wallet: holders trade without asking anybody.
pub fn holder_key(number: usize) -> B256 {
    key(0x60 + number as u8)
}

pub fn signer(key: B256) -> Signer {
    Signer::raw(key, Profile::Development).unwrap()
}

/// The wallet of a holder.
pub fn holder(number: usize) -> Address {
    signer(holder_key(number)).address()
}

impl Stage {
    pub async fn set(url: &str, number: u64) -> Self {
        let clock = Arc::new(AtomicI64::new(BEGIN * 1_000_000));
        let ids = Ids::Seeded(Arc::new(Mutex::new(number)));
        let db = Db::open(url, 4, Clock::Manual(clock.clone()), ids).await.unwrap();
        migrate::run(&db).await.unwrap();
        queue_tables::migrate(&db).await.unwrap();
        let (deployer, signers) = (signer(key(0x10)), vec![signer(key(0x11)), signer(key(0x12))]);
        let everyone = signers.iter().chain([&deployer]).map(Signer::address);
        // Twice as many wallets as holders: what a wallet loses moves to another one.
        let accounts = everyone.chain((0..2 * HOLDERS).map(holder)).map(|account| (account, ether(1_000))).collect();
        let seconds = clock.clone();
        let time = Arc::new(move || seconds.load(Ordering::SeqCst).cast_unsigned() / 1_000_000);
        let chain = Devchain::open(Config { accounts, clock: time, ..Config::default() }).unwrap();
        let mut seed = Seed::new(number);
        let line = Line::new(chain.clone(), Seed::new(seed.draw()));
        let config = ChainConfig {
            endpoints: vec!["memory:".to_owned()],
            bump_after_seconds: 30,
            in_flight_max: 1 + seed.below(6) as u32,
            ..ChainConfig::default()
        };
        let agents: Vec<_> = signers.iter().map(|s| (s.address(), Roles::ALL)).collect();
        let plain = Chain::in_process(config.clone(), vec![line.clone()]);
        let platform = Platform::deploy(&plain, &deployer, &agents).await.unwrap();
        let payer = signers[0].address();
        let coin =
            PayoutTokenConfig { address: platform.coin, symbol: "DUSD".to_owned(), decimals: 6, payer: Some(payer) };
        let config = ChainConfig {
            factory: Some(platform.factory),
            registry: Some(platform.registry),
            distributor: Some(platform.distributor),
            payout_tokens: vec![coin],
            ..config
        };
        let mut stage =
            Self { db, chain, line, platform, config, signers, offerings: Vec::new(), investors: Vec::new(), clock };
        stage.people(&mut seed).await;
        let funds = coin::mint_play_money(payer, platform.coin, payer, U256::from(FUNDS));
        people::send(&stage, key(0x10), platform.coin, funds.data);
        stage
    }

    pub fn chain(&self) -> Chain {
        let clock = self.clock.clone();
        let milliseconds = move || clock.load(Ordering::SeqCst).cast_unsigned() / 1_000;
        Chain::in_process(self.config.clone(), vec![self.line.clone()]).with_clock(Arc::new(milliseconds))
    }

    pub fn pass_time(&self, seconds: i64) {
        self.db.clock().advance(Duration::seconds(seconds));
    }

    async fn people(&mut self, seed: &mut Seed) {
        let mut tx = self.db.begin().await.unwrap();
        offering::insert_issuer(&mut tx, &"iss_one".into(), "Issuer").await.unwrap();
        for n in 0..HOLDERS {
            let id = tx.new_id::<of::Investor>();
            investor::insert(&mut tx, &id, None, "Investor", "CH").await.unwrap();
            investor::insert_wallet(&mut tx, &id, holder(n)).await.unwrap();
            self.investors.push(id.into());
        }
        for n in 0..2 {
            let id = tx.new_id::<of::Offering>();
            insert_offering(&mut tx, &id, n, seed.chance(0.4)).await;
            for (h, investor_id) in self.investors.iter().enumerate() {
                let quantity = u128::from(10 + seed.below(90));
                let amount = Money::from_minor(quantity as i64);
                let accepted = NewAccepted {
                    offering_id: &id,
                    investor_id: &investor_id.as_str().into(),
                    amount,
                    quantity,
                    wallet: holder(h),
                };
                subscription::insert_accepted(&mut tx, &accepted).await.unwrap();
            }
            self.offerings.push(id.into());
        }
        tx.commit(Point::Housekeeping).await.unwrap();
    }
}

async fn insert_offering(tx: &mut Tx, id: &str, number: usize, locked: bool) {
    let now = tx.now();
    let offered = Offering {
        id: id.into(),
        issuer_id: "iss_one".into(),
        name: format!("Offering {number}"),
        status: Status::Closed,
        template: Template::RealEstateEquity,
        currency: "USD".to_owned(),
        minimum_investment: 1,
        hard_cap: 1_000_000,
        target_amount: 1_000_000,
        unit_price: 1,
        token_symbol: format!("LIFE{number}"),
        token_decimals: 0,
        partition_id: PARTITION,
        issuance_policy: IssuancePolicy::OnClose,
        lockup_release_at: locked.then(|| now + Duration::minutes(20)),
        chain_id: CHAIN,
        created_at: now,
        updated_at: now,
        ..Offering::default()
    };
    offering::insert(tx, &offered).await.unwrap();
}
