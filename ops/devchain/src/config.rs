//! The configuration of a chain.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use alloy::primitives::{Address, U256, address};

/// Seconds since the Unix epoch; a parameter, so that tests and simulations own the time.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Settings of a chain. The genesis values count only when the chain is new.
#[derive(Clone)]
pub struct Config {
    /// Folder of `devchain.log` and `devchain.lock`; `None` keeps the chain in memory.
    pub dir: Option<PathBuf>,
    /// The chain id; a stored chain with another one is refused.
    pub chain_id: u64,
    /// Accounts funded at genesis, in wei.
    pub accounts: Vec<(Address, U256)>,
    /// Base fee of the genesis block in wei.
    pub base_fee: u64,
    /// Gas limit of every block.
    pub gas_limit: u64,
    /// `None` mines as soon as a transaction arrives, else a block is made every interval.
    pub block_time: Option<Duration>,
    /// Past states kept for historic calls, in blocks.
    pub history_blocks: u64,
    /// The source of timestamps.
    pub clock: Clock,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            dir: None,
            chain_id: 31337,
            accounts: DEV_ACCOUNTS.iter().map(|account| (*account, ether(10_000))).collect(),
            base_fee: 1_000_000_000,
            gas_limit: 30_000_000,
            block_time: None,
            history_blocks: 256,
            clock: system_clock(),
        }
    }
}

/// The machine's clock.
#[allow(clippy::disallowed_methods)] // The one place that reads it: everything else is handed a `Clock`.
pub fn system_clock() -> Clock {
    Arc::new(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs()))
}

/// `amount` ether in wei.
pub fn ether(amount: u64) -> U256 {
    U256::from(amount) * U256::from(1_000_000_000_000_000_000u64)
}

/// The ten accounts of the well-known development mnemonic (test … junk): public, worthless keys.
pub const DEV_ACCOUNTS: [Address; 10] = [
    address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266"),
    address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"),
    address!("3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"),
    address!("90F79bf6EB2c4f870365E785982E1f101E93b906"),
    address!("15d34AAf54267DB7D7c367839AAf71A00a2C6A65"),
    address!("9965507D1a55bcC2695C58ba16FB37d819B0A4dc"),
    address!("976EA74026E726554dB657fA54763abd0C3a0aa9"),
    address!("14dC79964da2C08b23698B3D3cc7Ca32193d9955"),
    address!("23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"),
    address!("a0Ee7A142d267C1f36714E4a8F75612F20a79720"),
];
