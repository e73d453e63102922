//! Inserts offerings, investors and subscriptions by the thousand, with statements that both databases understand.

use std::sync::atomic::{AtomicU64, Ordering};

use alloy::primitives::Address;

use crate::view::View;

/// The time of all seeded rows; long ago, so that nothing is due.
pub const LONG_AGO: &str = "2026-01-01T00:00:00+00:00";
/// The last ten digits of an id are its number and this.
pub const NUMBERS_FROM: u64 = 1_000_000_000;
const ISSUER: &str = "iss_01000000000000000000000000";

/// A series of ids that no other run has. Chains are reused, and a token is found by its offering's id.
#[derive(Clone, Copy, Debug)]
pub struct Series(u64);

impl Series {
    /// The next series.
    pub fn fresh() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Self(10_000_000 + COUNT.fetch_add(1, Ordering::Relaxed))
    }

    /// The id of the offering with this number.
    pub fn offering(self, number: u64) -> String {
        self.id("off", number)
    }

    /// The id of the subscription with this number.
    pub fn subscription(self, number: u64) -> String {
        self.id("sub", number)
    }

    /// The id of the operation with this number.
    pub fn operation(self, number: u64) -> String {
        self.id("op", number)
    }

    /// The id of the user with this number.
    pub fn user(self, number: u64) -> String {
        self.id("usr", number)
    }

    /// The id of the event with this number.
    pub fn event(self, number: u64) -> String {
        self.id("evt", number)
    }

    /// A transaction hash as an SQL expression of the number `i`.
    pub fn hash_sql(self) -> String {
        format!("'0x{}{}' || cast(1000000000 + i as text)", "f".repeat(46), self.0)
    }

    fn id(self, prefix: &str, number: u64) -> String {
        format!("{prefix}_01000000{}{}", self.0, NUMBERS_FROM + number)
    }

    /// An id as an SQL expression of the number `i`.
    pub fn sql(self, prefix: &str) -> String {
        self.sql_of(prefix, "i")
    }

    /// An id as an SQL expression of another number.
    pub fn sql_of(self, prefix: &str, number: &str) -> String {
        format!("'{prefix}_01000000{}' || cast(1000000000 + {number} as text)", self.0)
    }

    /// The address of an investor's wallet as an SQL expression of a number.
    pub fn wallet_sql(self, number: &str) -> String {
        format!("'0x{}{}' || cast(1000000000 + {number} as text)", "0".repeat(22), self.0)
    }

    /// An e-mail address that no other run has.
    pub fn email(self, name: &str, number: u64) -> String {
        format!("{name}{number}-{}@bench.example", self.0)
    }
}

/// A statement that inserts a row for each number from 0 up to the count.
pub fn for_each(count: u64, insert: &str, select: &str) -> String {
    format!(
        "with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < {count}) {insert} select {select} from n"
    )
}

/// Open offerings without a token.
pub async fn offerings(view: &View, series: Series, count: u64, chain_id: u64) {
    let issuer = "insert into issuers (id, name, status, version, created_at, updated_at) select";
    view.execute(&format!(
        "{issuer} '{ISSUER}', 'Bench', 'active', 1, '{LONG_AGO}', '{LONG_AGO}' where not exists (select 1 from issuers)"
    ))
    .await;
    let insert = "insert into offerings (id, issuer_id, name, status, template, currency, minimum_investment, hard_cap, unit_price, \
                  token_symbol, token_decimals, partition_id, issuance_policy, chain_id, token_status, version, created_at, updated_at)";
    let select = format!(
        "{}, '{ISSUER}', 'Bench', 'open', 'real_estate_equity', 'EUR', 100000, 500000000000, 100, 'BENCH', 2, 1, 'rolling', {chain_id}, \
         'not_deployed', 1, '{LONG_AGO}', '{LONG_AGO}'",
        series.sql("off")
    );
    view.execute(&for_each(count, insert, &select)).await;
}

/// Approved investors, each with a verified wallet and an accepted subscription to the offering.
pub async fn subscriptions(view: &View, series: Series, offering: &str, count: u64) {
    let (investor, times) = (series.sql("inv"), format!("'{LONG_AGO}', '{LONG_AGO}'"));
    let insert = "insert into investors (id, legal_name, country, kyc_status, sanctions_status, version, created_at, updated_at)";
    view.execute(&for_each(count, insert, &format!("{investor}, 'Holder', 'DE', 'approved', 'clear', 1, {times}")))
        .await;
    let wallet = "'0x00000000000000000000000000000a' || cast(1000000000 + i as text)";
    let insert = "insert into subscriptions (id, offering_id, investor_id, status, amount, quantity, wallet_address, \
                  cooling_off_expires_at, version, created_at, updated_at)";
    let select = format!(
        "{}, '{offering}', {investor}, 'accepted', 100000, '100000', {wallet}, '{LONG_AGO}', 1, {times}",
        series.sql("sub")
    );
    view.execute(&for_each(count, insert, &select)).await;
    let committed = count * 100_000;
    view.execute(&format!(
        "update offerings set committed_total = committed_total + {committed} where id = '{offering}'"
    ))
    .await;
    wallets(view, series, count).await;
}

/// The verified wallet of each of these investors.
async fn wallets(view: &View, series: Series, count: u64) {
    let insert = "insert into wallets (id, investor_id, address, verified_at, created_at)";
    let address = "'0x00000000000000000000000000000a' || cast(1000000000 + i as text)";
    let select = format!("{}, {}, {address}, '{LONG_AGO}', '{LONG_AGO}'", series.sql("wal"), series.sql("inv"));
    view.execute(&for_each(count, insert, &select)).await;
}

/// The wallet of the investor of this number.
pub fn wallet(number: usize) -> Address {
    format!("00000000000000000000000000000a{}", 1_000_000_000 + number).parse().expect("an address")
}

/// Gives an offering a token without a chain, for rows in which nothing is executed.
pub async fn pretend_token(view: &View, offering: &str, chain_id: u64) {
    let (token, hash) = (format!("0x{}", "7".repeat(40)), format!("0x{}", "7".repeat(64)));
    view.execute(&format!(
        "update offerings set token_status = 'deployed', token_address = '{token}', token_tx_hash = '{hash}' where id = '{offering}'"
    ))
    .await;
    view.execute(&format!(
        "insert into contracts (chain_id, address, kind, offering_id, next_op_number, created_at) \
         values ({chain_id}, '{token}', 'token', '{offering}', 1, '{LONG_AGO}')"
    ))
    .await;
}
