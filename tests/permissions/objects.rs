//! Whose an object is: one's own is there, another's and another organisation's is not, and is told from one that does not exist by nothing.

use std::collections::BTreeMap;

use muniment_domain::user::Role;
use serde_json::json;
use world::on_both_databases;

use super::call;
use super::table::{Line, lines, missing};
use crate::installation::{Answer, Door, Person, Server};

/// Routes whose objects are everybody's to see, or are of the platform: the table of roles says all about them.
const NOBODYS: &[(&str, &str)] = &[
    ("GET", "/v1/offerings/{id}"),
    ("POST", "/v1/offerings/{id}/subscribe"),
    // What a token says of an offering, and of whom, is for its own tests.
    ("GET", "/v1/offerings/{id}/token"),
    ("GET", "/v1/offerings/{id}/token/balances/{address}"),
    ("GET", "/v1/offerings/{id}/token/can-transfer"),
    ("GET", "/v1/offerings/{id}/token/frozen/{address}"),
    ("GET", "/v1/offerings/{id}/token/partitions/{partition}/restriction"),
];

/// Routes for which one's own thing is not enough: a signature is checked against a text that was asked for before.
const NEEDS_MORE: &[(&str, &str)] = &[("POST", "/v1/investor/wallets/{id}/verify")];

/// What somebody has, by the word that stands before its id in a path.
type Things = BTreeMap<&'static str, String>;

const AT: &str = "2026-01-01T00:00:00+00:00";

/// An id whose number tells whose it is.
fn id(prefix: &str, number: usize) -> String {
    format!("{prefix}_01jc000000000000000000000{number}")
}

/// An offering of an organisation with a distribution, a subscription and an entitlement of an investor.
async fn offer(door: &Door, number: usize, issuer: &Person, investor: &Person) -> (Things, Things) {
    let [org, off, sub, dist, ent, wal] = ["iss", "off", "sub", "dist", "ent", "wal"].map(|prefix| id(prefix, number));
    let token = format!("0x{number:040x}");
    let inv = investor.get("/v1/auth/me").await.text("/investor_id");
    for sql in [
        format!(
            "insert into issuers (id, name, status, version, created_at, updated_at) values ('{org}', 'Org', 'active', 1, '{AT}', '{AT}')"
        ),
        format!("update users set issuer_id = '{org}' where id = '{}'", issuer.id),
        format!(
            "insert into offerings (id, issuer_id, name, status, template, currency, minimum_investment, hard_cap, unit_price, token_symbol, \
            token_decimals, partition_id, issuance_policy, chain_id, token_status, visibility, version, created_at, updated_at) values ('{off}', '{org}', \
            'House', 'draft', 'real_estate_equity', 'EUR', 100, 100000, 100, 'HSE{number}', 2, 1, 'rolling', 1, 'not_deployed', 'private', 1, '{AT}', '{AT}')"
        ),
        format!(
            "insert into subscriptions (id, offering_id, investor_id, status, amount, cooling_off_expires_at, version, created_at, updated_at) \
            values ('{sub}', '{off}', '{inv}', 'committed', 100, '{AT}', 1, '{AT}', '{AT}')"
        ),
        format!(
            "insert into distributions (id, offering_id, kind, status, method, currency, total_amount, chain_id, token_address, partition_id, \
            payout_token, payout_symbol, payout_decimals, funding_wallet, record_date, payment_date, created_by, version, created_at, updated_at) \
            values ('{dist}', '{off}', 'rent', 'draft', 'direct_payout', 'EUR', 100, 1, '{token}', 1, '{token}', 'EUR', 6, '{token}', '{AT}', '{AT}', 'x', 1, \
            '{AT}', '{AT}')"
        ),
        format!(
            "insert into entitlements (id, distribution_id, offering_id, investor_id, wallet_address, payee_address, balance_at_record, gross, \
            withholding_rate_basis_points, withholding, net, status, version, created_at, updated_at) values ('{ent}', '{dist}', '{off}', '{inv}', '{token}', \
            '{token}', '1', 1, 0, 0, 1, 'calculated', 1, '{AT}', '{AT}')"
        ),
        format!(
            "insert into wallets (id, investor_id, address, created_at) values ('{wal}', '{inv}', '{token}', '{AT}')"
        ),
        format!(
            "insert into events (id, type, subject_type, subject_id, sequence, data, created_at) values ('{}', 'offering.created', 'offering', \
            '{off}', 1, '{{}}', '{AT}')",
            id("evt", number)
        ),
        format!(
            "insert into events (id, type, subject_type, subject_id, sequence, data, created_at) values ('{}', 'wallet.frozen', 'wallet', \
            '{wal}', 1, '{{}}', '{AT}')",
            id("evt", number + 5)
        ),
    ] {
        door.write(&sql).await;
    }
    let of_org = [
        ("offerings", off),
        ("subscriptions", sub.clone()),
        ("distributions", dist.clone()),
        ("events", id("evt", number)),
    ];
    let of_investor = [
        ("subscriptions", sub),
        ("distributions", dist),
        ("events", id("evt", number + 5)),
        ("investors", inv),
        ("wallets", wal),
    ];
    (of_org.into(), of_investor.into())
}

/// What everybody makes for themselves.
async fn furnish(server: &Server, person: &Person, things: &mut Things) {
    let made = person
        .post("/v1/webhooks/endpoints", json!({ "url": "https://hooks.portal.example/in", "event_types": ["*"] }))
        .await;
    things.insert("endpoints", made.text("/id"));
    let key = person.post("/v1/api-keys", json!({ "name": "k", "scopes": ["me:read"] })).await;
    if key.status == 201 {
        things.insert("api-keys", key.text("/id"));
    }
    things.insert("sessions", Person::log_in(server, &person.email).await.session_id);
}

fn hidden(line: &Line, answer: &Answer) -> bool {
    // A path that names a person says the same of every other one, whether there is such or not.
    let names_a_person = line.path.starts_with("/v1/investors/{");
    answer.problem() == if names_a_person { (403, "forbidden".to_owned()) } else { (404, "not_found".to_owned()) }
}

on_both_databases! {
    async fn what_is_not_ones_own_is_not_there(database: Database) {
        let door = Door::new(database).await;
        let server = door.open().await;
        let investors = [door.person(&server, "ada", Role::Investor).await, door.person(&server, "bruno", Role::Investor).await];
        let issuers = [door.person(&server, "issa", Role::Issuer).await, door.person(&server, "issb", Role::Issuer).await];
        let (mut of_orgs, mut of_investors) = (Vec::new(), Vec::new());
        for number in 0..2 {
            let (mut of_org, mut of_investor) = offer(&door, number + 1, &issuers[number], &investors[number]).await;
            furnish(&server, &issuers[number], &mut of_org).await;
            furnish(&server, &investors[number], &mut of_investor).await;
            of_orgs.push(of_org);
            of_investors.push(of_investor);
        }
        let (mut wrong, mut judged) = (Vec::new(), 0);
        // What takes a thing away comes last.
        let mut lines = lines();
        lines.sort_by_key(|line| line.method == "DELETE");
        for line in lines.iter().filter(|line| line.path.contains('{') && !NOBODYS.contains(&(line.method, line.path))) {
            for (letter, person, things) in [('I', &investors[0], &of_investors), ('S', &issuers[0], &of_orgs)] {
                if !line.admits(letter) {
                    continue;
                }
                let at = |whose: Option<&Things>| line.at(|noun| whose.and_then(|things| things.get(noun).cloned()).unwrap_or_else(|| missing(noun)));
                // Another's before one's own: a call may change what it is about.
                for (name, whose) in [("a missing one", None), ("another's", Some(&things[1]))] {
                    let path = at(whose);
                    let answer = call(&person.client(), line, &path, &format!("{judged}-{letter}")).await;
                    judged += 1;
                    if (name != "a missing one" && path == at(None)) || !hidden(line, &answer) {
                        wrong.push(format!("{} {path} ({name}) for {letter}: {:?}", line.method, answer.problem()));
                    }
                }
                if NEEDS_MORE.contains(&(line.method, line.path)) {
                    continue;
                }
                let answer = call(&person.client(), line, &at(Some(&things[0])), &format!("own-{judged}")).await;
                if matches!(answer.status, 401 | 403 | 404 | 500..) {
                    wrong.push(format!("{} {} (one's own) for {letter}: {:?}", line.method, line.path, answer.problem()));
                }
            }
        }
        crate::source::must_be_clean("objects", &wrong);
        assert!(judged >= 20, "too few objects were asked for: {judged}");
    }
}
