//! Inserts a large market into PostgreSQL: issuers, offerings, investors and subscriptions.

use crate::installation::{CHAIN_ID, PASSWORD_HASH};
use crate::seed::{LONG_AGO, Series, for_each};
use crate::view::View;

/// Offerings of an issuer.
const PER_ISSUER: u64 = 100;
/// Subscriptions of an offering, and of an investor.
const EACH: u64 = 10;
/// The amount of a subscription, in minor units.
const AMOUNT: u64 = 100_000;
/// Spreads the subscriptions of an investor over the offerings.
const STRIDE: u64 = 7_919;
/// Investors who are logged in.
pub const PEOPLE: u64 = 32;
/// More investors, who log in again and again. They are others, because an eleventh session would end the first.
pub const VISITORS: u64 = 4;
/// Members of issuers who are logged in.
pub const MEMBERS: u64 = 8;

/// The inserted market.
#[derive(Clone, Copy, Debug)]
pub struct Market {
    series: Series,
    offerings: u64,
    /// The subscriptions. They belong to the newest offerings.
    subscriptions: u64,
}

impl Market {
    /// Inserts a market of this size.
    pub async fn new(view: &View, offerings: u64, subscriptions: u64) -> Self {
        let market = Self { series: Series::fresh(), offerings, subscriptions };
        let mut statements = market.people();
        statements.push(market.offerings_sql());
        statements.push(market.subscriptions_sql());
        let (dropped, made) = indexes(view).await;
        let all = [dropped, statements, made].concat();
        view.bulk(&all).await;
        market
    }

    /// An open public offering, chosen by a number.
    pub fn open_offering(&self, draw: u64) -> String {
        // Offerings with the last digit 3 to 9 are open; each seventh is for members only.
        let tens = draw % (self.offerings / 10);
        let number = (3..10).map(|digit| tens * 10 + digit).find(|number| number % 7 != 0).unwrap_or(tens * 10 + 3);
        self.series.offering(number)
    }

    /// The id of the investor with this number.
    pub fn investor(&self, number: u64) -> String {
        self.series.subscription(number).replacen("sub_", "inv_", 1)
    }

    /// The e-mail address of an investor who can log in.
    pub fn investor_email(&self, number: u64) -> String {
        self.series.email("holder", number)
    }

    /// The e-mail address of a member of an issuer. Number 0 belongs to the newest issuer.
    pub fn member_email(&self, number: u64) -> String {
        self.series.email("issuer", number)
    }

    /// An offering of that member's issuer.
    pub fn offering_of_member(&self, number: u64, draw: u64) -> String {
        let issuers = self.offerings / PER_ISSUER;
        let first = (issuers - 1 - number % issuers) * PER_ISSUER;
        self.series.offering(first + draw % PER_ISSUER)
    }

    fn people(&self) -> Vec<String> {
        let (series, times) = (self.series, format!("'{LONG_AGO}', '{LONG_AGO}'"));
        let (investors, issuers) = (self.subscriptions / EACH, self.offerings / PER_ISSUER);
        let email = |name: &str| format!("'{name}' || cast(i as text) || '{}'", &series.email("", 0)[1..]);
        let users = "insert into users (id, email, name, status, version, created_at, updated_at, roles, password_hash, issuer_id, \
            email_verified_at)";
        let user = |id: String, name, roles, issuer: &str| {
            let email = email(name);
            format!(
                "{id}, {email}, 'Bench', 'active', 1, {times}, '{roles}', '{PASSWORD_HASH}', {issuer}, '{LONG_AGO}'"
            )
        };
        let newest = series.sql_of("iss", &format!("{} - i % {issuers}", issuers - 1));
        let own = series.sql("usr");
        let member = series.sql_of("usr", "500000000 + i");
        vec![
            for_each(
                issuers,
                "insert into issuers (id, name, status, version, created_at, updated_at)",
                &format!("{}, 'Bench', 'active', 1, {times}", series.sql("iss")),
            ),
            for_each(PEOPLE + VISITORS, users, &user(own.clone(), "holder", "investor", "null")),
            for_each(MEMBERS, users, &user(member, "issuer", "issuer", &newest)),
            for_each(
                investors,
                "insert into investors (id, user_id, legal_name, country, kyc_status, version, created_at, updated_at)",
                &format!(
                    "{}, case when i < {} then {own} end, 'Holder', 'DE', 'approved', 1, {times}",
                    series.sql("inv"),
                    PEOPLE + VISITORS
                ),
            ),
            for_each(
                investors,
                "insert into wallets (id, investor_id, address, verified_at, created_at, is_default)",
                &format!("{}, {}, {}, {times}, true", series.sql("wal"), series.sql("inv"), series.wallet_sql("i")),
            ),
        ]
    }

    fn offerings_sql(&self) -> String {
        let (series, count) = (self.series, self.offerings);
        let insert = "insert into offerings (id, issuer_id, name, status, template, currency, minimum_investment, hard_cap, unit_price, \
                      token_symbol, token_decimals, partition_id, issuance_policy, chain_id, token_status, version, visibility, \
                      committed_total, created_at, updated_at)";
        let issuer = series.sql_of("iss", &format!("i / {PER_ISSUER}"));
        let (subscribed_from, committed) = (count - self.subscriptions / EACH, (EACH - 1) * AMOUNT);
        let select = format!(
            "{}, {issuer}, 'Harbour ' || cast(i * {STRIDE} % 100003 as text), \
             case i % 10 when 0 then 'draft' when 1 then 'settled' when 2 then 'closed' else 'open' end, 'real_estate_equity', 'EUR', \
             100000, 500000000000, 100, 'BENCH', 2, 1, 'rolling', {CHAIN_ID}, 'not_deployed', 1, \
             case i % 7 when 0 then 'members' else 'public' end, case when i < {subscribed_from} then 0 else {committed} end, \
             '{LONG_AGO}', '{LONG_AGO}'",
            series.sql("off")
        );
        for_each(count, insert, &select)
    }

    /// Half are accepted, some can still be withdrawn, and one of each offering is cancelled.
    fn subscriptions_sql(&self) -> String {
        let (series, investors) = (self.series, self.subscriptions / EACH);
        let insert = "insert into subscriptions (id, offering_id, investor_id, status, amount, quantity, wallet_address, \
                      cooling_off_expires_at, version, created_at, updated_at)";
        let investor = format!("cast(i as bigint) * {STRIDE} % {investors}");
        let select = format!(
            "{}, {}, {}, case when i % 10 < 5 then 'accepted' when i % 10 < 8 then 'committed' when i % 10 = 8 then 'binding' \
             else 'cancelled' end, {AMOUNT}, '100000', {}, '{LONG_AGO}', 1, '{LONG_AGO}', '{LONG_AGO}'",
            series.sql("sub"),
            series.sql_of("off", &format!("{} - i / {EACH}", self.offerings - 1)),
            series.sql_of("inv", &investor),
            series.wallet_sql(&investor),
        );
        for_each(self.subscriptions, insert, &select)
    }
}

/// Statements that drop and rebuild the indexes of subscriptions. To build them at the end is much faster than to maintain them.
async fn indexes(view: &View) -> (Vec<String>, Vec<String>) {
    let of =
        "from pg_indexes where tablename = 'subscriptions' and indexname not in (select conname from pg_constraint)";
    let dropped = view.texts(&format!("select 'drop index ' || indexname {of}")).await;
    (dropped, view.texts(&format!("select indexdef {of}")).await)
}
