//! The measured platform: a new database, a configuration and the real binary.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use alloy::primitives::B256;
use alloy::signers::local::PrivateKeySigner;
use muniment_activities::platform::Platform;
use muniment_domain::clock::Clock;
use muniment_domain::contract::{self, Kind};
use muniment_domain::db::Db;
use muniment_domain::id::Ids;
use muniment_domain::point::Point;
use muniment_domain::user::{self, Role, Roles, Status};
use muniment_domain::{api_key, migrate};
use muniment_workflows::engine::queue_tables;
use muniment_workflows::requester::Requester;
use muniment_workflows::settings::Settings;
use muniment_workflows::token::deploy::{self, Request};
use tempfile::TempDir;
use world::{Binary, Cluster, Database, Engine, Launch, Sqlite, free_port};

use crate::bare_chain::IN_FLIGHT;
use crate::client::Client;
use crate::seed::{self, Series};
use crate::view::View;

/// The chain id of every node here.
pub const CHAIN_ID: u64 = 31337;
/// The e-mail address of the operator.
pub const EMAIL: &str = "bench@demo.example";
/// The password of the operator.
pub const PASSWORD: &str = "correct horse battery staple";
/// The hash of the password, with the least memory.
pub const PASSWORD_HASH: &str =
    "$argon2id$v=19$m=64,t=1,p=1$jV4Sw11rR4x3tE3p2+5rrw$+G2BvpaQZ0zw8VGM7xqzRava8iRmlLNfkGmmn2hZBmk";
const PAYOUT_PAGE: usize = 200;
const HEALTHY: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(900);

/// A platform that can be started.
pub struct Installation {
    /// The bench's own connection to the database.
    pub view: View,
    /// The ids of its offerings.
    pub series: Series,
    /// The bearer key of an operator.
    pub key: String,
    /// Rate limits that differ from the defaults, from the next start on.
    pub rates: &'static str,
    /// Holders on a page of a payout, from the next start on.
    pub payout_page_holders: usize,
    /// Transactions in flight for each signer.
    pub in_flight: usize,
    /// A second endpoint of the chain, from the next start on.
    pub second_endpoint: Option<String>,
    /// The address of the database.
    pub url: String,
    operator: String,
    folder: TempDir,
    _database: Database,
}

/// The chain in the configuration.
pub struct Link<'a> {
    /// The endpoint.
    pub url: &'a str,
    /// The contracts.
    pub platform: Platform,
    /// The signers.
    pub keys: &'a [B256],
    /// The interval of polls for a head, in milliseconds.
    pub poll_milliseconds: u64,
    /// The time between two blocks, in seconds.
    pub block_seconds: u64,
}

impl Installation {
    /// A migrated database with an operator's key and this number of offerings.
    pub async fn new(engine: Engine, offerings: u64, platform: Platform) -> Self {
        let database = match engine {
            Engine::Sqlite => Database::Sqlite(Sqlite::fresh()),
            Engine::Postgres => Database::Postgres(cluster().await.database().await),
        };
        let url = database.url();
        let db = Db::open(&url, 4, Clock::System, Ids::Random).await.expect("the database opens");
        migrate::run(&db).await.expect("the migrations run");
        queue_tables::migrate(&db).await.expect("the queue's migrations run");
        let mut tx = db.begin().await.expect("a transaction begins");
        let secret: [u8; 32] = [db.ids().bytes(), db.ids().bytes()].concat().try_into().expect("32 bytes");
        let roles = Roles::only(Role::Operator);
        let (status, password_hash) = (Status::Active, Some(PASSWORD_HASH));
        let new = user::New { email: EMAIL, name: "Bench", roles, status, password_hash, issuer_id: None };
        let operator = user::create(&mut tx, &new).await.expect("a user");
        let scopes = "distributions:read distributions:write offerings:read ops:read ops:write";
        let key = api_key::issue(&mut tx, &operator, "bench", scopes, 1, secret).await.expect("a key");
        let chain_id = CHAIN_ID.cast_signed();
        contract::ensure(&mut tx, chain_id, platform.factory, Kind::Factory).await.expect("a contract");
        tx.commit(Point::Housekeeping).await.expect("a commit");
        db.close().await;
        drop(db);
        let (view, series) = (View::open(&url).await, Series::fresh());
        seed::offerings(&view, series, offerings, CHAIN_ID).await;
        let folder = tempfile::tempdir().expect("the temporary folder is writable");
        let rates = "key_per_minute = 0\nwrite_per_minute = 0\n";
        Self {
            view,
            series,
            key,
            rates,
            payout_page_holders: PAYOUT_PAGE,
            in_flight: IN_FLIGHT,
            second_endpoint: None,
            url,
            operator: operator.into(),
            folder,
            _database: database,
        }
    }

    /// Accepts the deployment of these offerings, before a process is started.
    pub async fn accept_deployments(&self, numbers: std::ops::Range<u64>) {
        let db = Db::open(&self.url, 2, Clock::System, Ids::Random).await.expect("the database opens");
        let numbers: Vec<u64> = numbers.collect();
        for chunk in numbers.chunks(200) {
            let mut tx = db.begin().await.expect("a transaction begins");
            // As a request does.
            tx.gather_writes();
            for number in chunk {
                let id = self.series.offering(*number);
                let by =
                    Requester { actor: self.operator.clone(), request_id: None, idempotency_key: Some(id.clone()) };
                let request = Request::of(id);
                deploy::request(&mut tx, &Settings::default(), request, &by).await.expect("a deployment is accepted");
            }
            tx.commit(Point::Accept).await.expect("a commit");
        }
        db.close().await;
    }

    /// Starts the binary in a role and waits until the API answers; a worker has none. Returns the process and the port.
    pub async fn start(&self, role: &str, link: Option<&Link<'_>>) -> (Binary, u16) {
        let port = free_port();
        let file = self.folder.path().join(format!("{role}-{port}.toml"));
        std::fs::write(&file, self.configuration(port, link)).expect("the temporary folder is writable");
        let launch = Launch::new(["--config".into(), file.into_os_string(), role.into()]).program(program());
        if role == "worker" {
            return (launch.spawn(), port);
        }
        (launch.healthy(&format!("http://127.0.0.1:{port}/healthz"), HEALTHY).await, port)
    }

    /// A client of the API at this port.
    pub async fn client(&self, port: u16) -> Client {
        Client::connect(port, &self.key).await
    }

    /// Deploys the token of the offering, and waits until it is deployed.
    pub async fn deploy_token(&self, client: &mut Client, offering: &str) {
        client.deploy(offering).await;
        let deployed = "select count(*) from offerings where token_status = 'deployed'";
        self.view.reached(deployed, 1, PATIENCE).await.expect("the token is deployed");
    }

    /// Mints all accepted subscriptions of the offering, and waits until they are minted.
    pub async fn mint_all(&self, client: &mut Client, offering: &str, holders: usize) {
        let body = format!("{{\"offering_id\":\"{offering}\"}}");
        let (status, answer) = client.post("/blockchain/trigger-mint", "mint-all", &body).await;
        assert_eq!(status, 202, "{answer}");
        let minted = "select count(*) from subscriptions where status = 'minted'";
        self.view.reached(minted, holders as i64, PATIENCE).await.expect("all is minted");
    }

    fn configuration(&self, port: u16, link: Option<&Link<'_>>) -> String {
        let (url, key_file) = (&self.url, self.folder.path().join("auth.json"));
        let mut text = format!(
            "profile = \"development\"\npublic_offering_list = true\nlisten = \"127.0.0.1:{port}\"\nlog = \"error\"\n[auth]\nkey_file = {key_file:?}\nstaff_second_factor = false\n\
             [rates]\n{}[webhooks]\nallow_insecure = true\n[limits]\ntrusted_proxies = [\"127.0.0.1\"]\n[database]\nurl = \"{url}\"\n\
             [engine]\nmint_dual_control_threshold = \"9999999999999.99\"\npayout_dual_control_threshold = \"9999999999999.99\"\n\
             mint_platform_dual_control_threshold = \"9999999999999.99\"\npayout_platform_dual_control_threshold = \"9999999999999.99\"\n",
            self.rates
        );
        if let Some(link) = link {
            text += &format!("payout_page_holders = {}\n", self.payout_page_holders);
            let key = |key: &B256| format!("{{ kind = \"raw\", private_key = \"{key}\" }}");
            let signers = link.keys.iter().map(key).collect::<Vec<_>>().join(", ");
            let payer = PrivateKeySigner::from_bytes(&link.keys[0]).expect("a key").address();
            let Link { url, platform, poll_milliseconds, block_seconds, .. } = link;
            let endpoints: Vec<&str> = [*url].into_iter().chain(self.second_endpoint.as_deref()).collect();
            text += &format!(
                "[[chains]]\nkey = \"bench\"\nchain_id = {CHAIN_ID}\nendpoints = {endpoints:?}\nfinality = \"tag\"\n\
                 poll_milliseconds = {poll_milliseconds}\nblock_seconds = {block_seconds}\nin_flight_max = {}\nfactory = \"{}\"\nregistry = \"{}\"\n\
                 signers = [{signers}]\ndistributor = \"{}\"\npayout_tokens = [{{ address = \"{}\", symbol = \"DUSD\", decimals = 6, \
                 payer = \"{payer}\" }}]\n",
                self.in_flight, platform.factory, platform.registry, platform.distributor, platform.coin
            );
        }
        text
    }
}

/// A PostgreSQL cluster on disk. In memory commits would cost nothing.
async fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    let start = || CLUSTER.get_or_init(|| Cluster::start_in(Some(&std::env::temp_dir())));
    tokio::task::spawn_blocking(start).await.expect("the cluster starts")
}

/// The release binary: `MUNIMENT_BINARY`, or the one beside this program.
fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("MUNIMENT_BINARY") {
        return path.into();
    }
    let beside = std::env::current_exe().expect("the path of this program").with_file_name("muniment");
    assert!(beside.exists(), "build it first: cargo build --profile optimised -p muniment-api");
    beside
}
