//! An installation on which every kind of operation can be requested several times.

use std::time::Duration;

use alloy::primitives::Address;
use futures::future::join_all;
use muniment_devchain::{Config, Devchain};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use world::{Anvil, Database, KEYS, Mining};

use super::ask::FAR;
use super::kind::Kind;
use crate::installation::{Installation, PayoutFixture, Terms, in_days, signer_of, wallet};

/// Positions in the list of offerings.
const MINTED_TO: [usize; 3] = [PAY, BATCH, ESCROW];
const MINT: usize = 1;
const MINT_LOCKED: usize = 2;
const PAY: usize = 3;
const BATCH: usize = 4;
const ESCROW: usize = 5;
/// From here on each round has an offering to deploy, one to pause and one to unpause.
const DEPLOY: usize = 6;
const OFFERINGS_PER_ROUND: usize = 3;
/// Holders of the first offering's token that one round uses.
const HOLDERS: usize = 10;
/// The expiring locks expire after this many days.
const DUE_DAYS: i64 = 30;

/// Where the contracts run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    Anvil,
    /// The embedded chain.
    Embedded,
}

pub struct Stage {
    pub day: PayoutFixture,
    /// Approved distributions, by their offering's position and the round.
    agreed: [Vec<String>; 3],
    /// Distributions paid earlier, which an audit can declare.
    paid: Vec<String>,
    _chain: Option<DropGuard>,
}

/// Serves the embedded chain until the guard is dropped.
async fn embedded() -> (Anvil, DropGuard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (chain, stop) = (Devchain::open(Config::default()).unwrap(), CancellationToken::new());
    let told = stop.clone();
    tokio::spawn(async move { chain.serve(listener, told).await.unwrap() });
    (Anvil::at(&url), stop.drop_guard())
}

fn terms(rounds: usize) -> Vec<Terms> {
    let mut terms = vec![Terms::free(HOLDERS * rounds), Terms::free(rounds), Terms::locked(rounds)];
    terms.extend([Terms::free(1), Terms::free(2), Terms::free(3)]);
    terms.extend(vec![Terms::free(1); OFFERINGS_PER_ROUND * rounds]);
    terms
}

impl Stage {
    /// Prepares this many rounds.
    pub async fn new(node: Node, database: Database, rounds: usize) -> Self {
        let (anvil, chain) = match node {
            Node::Anvil => (Anvil::start(Mining::Quick), None),
            Node::Embedded => {
                let (anvil, guard) = embedded().await;
                (anvil, Some(guard))
            }
        };
        let mut site = Installation::on(anvil, database, Mining::Quick, &terms(rounds), 1).await;
        site.config.pays_in(&site.platform, signer_of(KEYS[1]));
        site.config.engine("payout_page_holders", 2);
        // No fee bumps while a test stops the blocks.
        site.config.chain("bump_after_seconds", "600");
        // Every kind waits for the same block at once.
        site.config.chain("in_flight_max", "32");
        let server = site.start().await;
        let colleague = site.second_person(&server).await;
        let day = PayoutFixture { site, server, token: Address::ZERO, colleague };
        let mut stage = Self { day, agreed: Default::default(), paid: Vec::new(), _chain: chain };
        stage.tokens(rounds).await;
        stage.money(rounds).await;
        stage.holders(rounds).await;
        stage
    }

    pub fn site(&self) -> &Installation {
        &self.day.site
    }

    /// Deploys every token except those that the test deploys, and mints the initial units.
    async fn tokens(&mut self, rounds: usize) {
        let (site, server) = (&self.day.site, &self.day.server);
        // Units are in the first partition; each round restricts one partition and unrestricts another.
        let restricted = |number: usize| json!({ "restricted": number > 0 && number.is_multiple_of(2) });
        let partitions: Vec<Value> = (0..=2 * rounds).map(restricted).collect();
        let body = json!({ "offering_id": site.offerings[0], "partitions": partitions });
        assert_eq!(server.post("/blockchain/deploy-token", "token-0", body).await.status, 202);
        for number in MINT..DEPLOY {
            assert_eq!(server.deploy(&format!("token-{number}"), &site.offerings[number]).await.status, 202);
        }
        let paused = (0..rounds).flat_map(|round| [Kind::Pause, Kind::Unpause].map(|kind| place(kind, round)));
        for number in paused {
            assert_eq!(server.deploy(&format!("token-{number}"), &site.offerings[number]).await.status, 202);
        }
        site.settled().await;
        for round in 0..rounds {
            let offering = &site.offerings[place(Kind::Unpause, round)];
            let body = json!({ "offering_id": offering, "reason_code": "investigation" });
            assert_eq!(server.post("/blockchain/pause", &format!("paused-{round}"), body).await.status, 202);
        }
        for number in [0].into_iter().chain(MINTED_TO) {
            assert_eq!(server.mint(&format!("units-{number}"), &site.offerings[number]).await.status, 202);
        }
        site.settled().await;
        self.day.token = self.token(0).await;
    }

    /// Funds the payer, pays every holder once, and has the next distributions approved. Each amount is different.
    async fn money(&mut self, rounds: usize) {
        self.day.fund(signer_of(KEYS[1]), 1_000_000).await;
        let day = &self.day;
        let ways = MINTED_TO.iter().enumerate().map(|(at, place)| (at, day.site.offerings[*place].clone()));
        let all = ways.flat_map(|(at, offering)| (0..=rounds).map(move |number| (at, number, offering.clone())));
        let calculated = all.map(|(at, number, offering)| async move {
            let cents = (at + 1) * (700 + 400 * at + 31 * number);
            let method = if MINTED_TO[at] == ESCROW { "distributor" } else { "direct_payout" };
            let total = format!("{}.{:02}", cents / 100, cents % 100);
            (at, number, day.calculated_of(&offering, method, &total).await)
        });
        for (at, number, id) in join_all(calculated).await {
            if number == 0 {
                day.executed(&id).await;
                self.paid.push(id);
            } else {
                day.submitted(&id).await;
                self.agreed[at].push(id);
            }
        }
        for id in &self.paid {
            day.reaches(id, "completed").await;
        }
    }

    /// Freezes the holders that a round unfreezes or moves, and lets locks expire.
    async fn holders(&self, rounds: usize) {
        let (site, server) = (&self.day.site, &self.day.server);
        for round in 0..rounds {
            for kind in [Kind::Unfreeze, Kind::Force] {
                let frozen = site.freeze(server, &format!("frozen-{round}-{kind:?}"), holder(kind, round)).await;
                assert_eq!(frozen.status, 202, "{frozen:?}");
            }
            let address = wallet(holder(Kind::Unlock, round)).to_checksum(None);
            let due = in_days(DUE_DAYS).to_rfc3339();
            let body =
                site.about(json!({ "address": address, "partition": "1", "quantity": "5.00", "release_at": due }));
            assert_eq!(server.post("/blockchain/lock", &format!("due-{round}"), body).await.status, 202);
            let address = wallet(holder(Kind::ReleaseLock, round)).to_checksum(None);
            let body =
                site.about(json!({ "address": address, "partition": "1", "quantity": "5.00", "release_at": FAR }));
            assert_eq!(server.post("/blockchain/lock", &format!("far-{round}"), body).await.status, 202);
            let body = self.recovery(Kind::Reinstate, round).await;
            let key = format!("recovered-{round}");
            server.request_and_approve(&self.day.colleague, "/blockchain/recover", &key, body).await;
        }
        site.settled().await;
        // The chain's time decides, and nothing else here depends on it.
        let passed = Duration::from_secs(86_400 * (DUE_DAYS.cast_unsigned() + 1)).as_secs();
        site.anvil.rpc().call("evm_increaseTime", json!([passed])).await;
        site.anvil.mine(1).await;
        assert_eq!(site.exactly_once().await.attention, 0);
    }

    /// The offering of a row.
    pub fn offering(&self, kind: Kind, round: usize) -> &str {
        &self.site().offerings[place(kind, round)]
    }

    /// The token of a row's offering.
    pub async fn token_of(&self, kind: Kind, round: usize) -> Address {
        self.token(place(kind, round)).await
    }

    /// The token of an offering.
    pub async fn token(&self, place: usize) -> Address {
        self.site().tokens_of(&self.site().offerings[place]).await[0].address
    }

    /// The distribution of a row.
    pub fn distribution(&self, kind: Kind, round: usize) -> &str {
        match kind {
            Kind::Pay => &self.agreed[0][round],
            Kind::PayBatch => &self.agreed[1][round],
            Kind::Escrow => &self.agreed[2][round],
            _ => &self.paid[round],
        }
    }
}

/// The position of a row's offering.
fn place(kind: Kind, round: usize) -> usize {
    match kind {
        Kind::Deploy => DEPLOY + OFFERINGS_PER_ROUND * round,
        Kind::Pause => DEPLOY + OFFERINGS_PER_ROUND * round + 1,
        Kind::Unpause => DEPLOY + OFFERINGS_PER_ROUND * round + 2,
        Kind::Mint => MINT,
        Kind::MintLocked => MINT_LOCKED,
        Kind::Pay => PAY,
        Kind::PayBatch => BATCH,
        Kind::Escrow => ESCROW,
        Kind::Audit => MINTED_TO[round],
        _ => 0,
    }
}

/// The number of the investor of a row.
pub fn holder(kind: Kind, round: usize) -> usize {
    let place = match kind {
        // Each round mints one subscription, that of the holder with its number.
        Kind::Mint | Kind::MintLocked => return round,
        Kind::Freeze => 0,
        Kind::Unfreeze => 1,
        Kind::Lock => 2,
        Kind::Unlock => 3,
        Kind::Force => 4,
        Kind::Recover => 6,
        Kind::Reinstate => 7,
        Kind::Redeem => 8,
        Kind::ReleaseLock => 9,
        _ => return 0,
    };
    HOLDERS * round + place
}

/// The recipient of a forced transfer.
pub fn receiver(round: usize) -> usize {
    HOLDERS * round + 5
}

/// The partition of a row.
pub fn partition(kind: Kind, round: usize) -> u64 {
    2 * round as u64 + if kind == Kind::Restrict { 2 } else { 3 }
}

/// The wallet that replaces a lost one.
pub fn replacement(kind: Kind, round: usize) -> Address {
    wallet(if kind == Kind::Recover { 1_000 } else { 2_000 } + round)
}

/// The hash of the declared report.
pub fn report(round: usize) -> String {
    format!("{round:02x}").repeat(32).replace("00", "a0")
}
