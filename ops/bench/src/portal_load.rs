//! The requests of portals: a mix of lists and details for each kind of caller.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::client::{Client, Identity};
use crate::installation::{EMAIL, Installation, PASSWORD};
use crate::market::{MEMBERS, Market, PEOPLE, VISITORS};

/// The logged-in people and their market.
pub struct PortalLoad {
    market: Market,
    anonymous: Identity,
    operator: Identity,
    investors: Vec<Investor>,
    members: Vec<Identity>,
    keys: AtomicU64,
}

struct Investor {
    identity: Identity,
    id: String,
    subscription: String,
}

impl PortalLoad {
    /// Logs everybody in.
    pub async fn new(site: &Installation, port: u16, market: Market) -> Self {
        let mut client = site.client(port).await;
        client.log_in(EMAIL, PASSWORD).await;
        let operator = client.identity();
        // The operator's password was hashed again with the present settings. All others get the same hash, which saves time.
        let hash = format!("(select password_hash from users where email = '{EMAIL}')");
        site.view.execute(&format!("update users set password_hash = {hash} where email like '%@bench.example'")).await;
        let (mut investors, mut members) = (Vec::new(), Vec::new());
        for number in 0..PEOPLE {
            client.log_in(&market.investor_email(number), PASSWORD).await;
            let id = market.investor(number);
            let own = format!("select id from subscriptions where investor_id = '{id}' order by id limit 1");
            let subscription = site.view.texts(&own).await.concat();
            investors.push(Investor { identity: client.identity(), id, subscription });
        }
        for number in 0..MEMBERS {
            client.log_in(&market.member_email(number), PASSWORD).await;
            members.push(client.identity());
        }
        Self { market, anonymous: (String::new(), None), operator, investors, members, keys: AtomicU64::new(0) }
    }

    /// Reads what this turn reads.
    pub async fn read(&self, client: &mut Client, turn: usize) {
        let (identity, path) = self.request(turn);
        client.act_as(identity);
        let (status, answer) = client.get(&path).await;
        assert_eq!(status, 200, "{path}: {answer}");
    }

    /// Subscribes: in each turn another investor, to another offering.
    pub async fn subscribe(&self, client: &mut Client, turn: usize) {
        let investor = &self.investors[turn % self.investors.len()];
        client.act_as(&investor.identity);
        let path = format!("/v1/offerings/{}/subscribe", self.market.open_offering(turn as u64));
        let key = self.keys.fetch_add(1, Ordering::Relaxed).to_string();
        let (status, answer) = client.post(&path, &key, "{\"amount\":\"1500.00\"}").await;
        assert_eq!(status, 201, "{path}: {answer}");
    }

    /// The e-mail addresses of investors without a session.
    pub fn visitors(&self) -> Vec<String> {
        (PEOPLE..PEOPLE + VISITORS).map(|number| self.market.investor_email(number)).collect()
    }

    fn request(&self, turn: usize) -> (&Identity, String) {
        // Multiples of an odd constant reach every offering, and none twice in a row.
        let draw = (turn as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let investor = &self.investors[turn / 16 % self.investors.len()];
        let (own, member) = (&investor.identity, turn / 16 % self.members.len());
        let offering = self.market.open_offering(draw);
        let even = (turn / 16).is_multiple_of(2);
        match turn % 16 {
            0 | 1 => (&self.anonymous, "/v1/offerings".to_owned()),
            2 => (&self.anonymous, "/v1/offerings?page=40".to_owned()),
            3 => (&self.anonymous, "/v1/offerings?status=open,closed&sort=name".to_owned()),
            4 | 5 => (own, format!("/v1/offerings/{offering}")),
            6 => (own, "/v1/offerings?sort=closes_at".to_owned()),
            7 | 8 => (own, "/v1/subscriptions".to_owned()),
            9 => (own, format!("/v1/subscriptions/{}", investor.subscription)),
            10 | 11 => (own, format!("/v1/investors/{}/portfolio", investor.id)),
            12 if even => (&self.members[member], "/v1/offerings?page=2".to_owned()),
            12 => (&self.members[member], "/v1/subscriptions".to_owned()),
            13 => {
                let offering = self.market.offering_of_member(member as u64, draw);
                (&self.members[member], format!("/v1/offerings/{offering}/subscriptions"))
            }
            14 if even => (&self.operator, format!("/v1/subscriptions?offering_id={offering}")),
            14 => (&self.operator, "/v1/subscriptions?status=accepted&page=20".to_owned()),
            _ if even => (&self.operator, "/blockchain/operations?limit=50".to_owned()),
            _ => (&self.operator, "/v1/subscriptions?page=40".to_owned()),
        }
    }
}
