//! `GET /blockchain/operations/series`: the last hour, minute by minute, and what failed by its reason and age.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use chrono::{DateTime, Duration, SubsecRound, Timelike, Utc};
use muniment_domain::db::Tx;
use muniment_domain::{attempt, chain, lane, operation};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::http::error::Result;
use crate::http::instant::Instant;
use crate::http::pages::Parameters;

const MINUTES: i64 = 60;
/// How many confirmations are read. The minutes before them are not shown.
const CONFIRMED_MAX: i64 = 5_000;
/// How many transactions of a signer are read.
const OFFERS_MAX: i64 = 200;
/// How many open failures of each status are read.
const FAILURES_MAX: i64 = 1_000;

/// The last hour of the engine.
#[derive(Serialize, ToSchema)]
#[schema(as = OperationSeries)]
pub struct View {
    /// One entry a minute, oldest first.
    minutes: Vec<Minute>,
    /// What the platform offered for gas, by chain.
    fees: Vec<Fees>,
    /// The operations that failed and wait for an operator, by error code: the most frequent first. At most 1000 failed operations and 1000
    /// dead letters are counted, the newest.
    failures: Vec<Failures>,
    as_of: Instant,
}

/// What was confirmed in a minute.
#[derive(Serialize, ToSchema)]
#[schema(as = OperationMinute)]
struct Minute {
    /// When the minute began.
    started_at: Instant,
    /// How many operations were confirmed. Null for minutes before the newest 5000 confirmations.
    confirmed: Option<i64>,
    /// The median time from submission to finality in milliseconds.
    p50_milliseconds: Option<i64>,
    /// The 99th percentile in milliseconds.
    p99_milliseconds: Option<i64>,
}

/// What was offered for a unit of gas on a chain.
#[derive(Serialize, ToSchema)]
#[schema(as = OfferedFees)]
struct Fees {
    chain_id: i64,
    network: String,
    /// The most that the configuration allows, in wei.
    #[schema(example = "300000000000")]
    cap_wei: Option<String>,
    /// The highest offer of each of the minutes in wei; null where nothing was signed. Only the newest 200 transactions of a signer are read.
    #[schema(example = json!(["14100000000", null]))]
    offered_wei: Vec<Option<String>>,
}

/// The open failures with one error code, by age.
#[derive(Clone, Default, Serialize, ToSchema)]
#[schema(as = OpenFailures)]
struct Failures {
    #[schema(example = "reverts")]
    code: String,
    /// Failed within the last hour.
    within_1_hour: i64,
    /// Failed one to six hours ago.
    within_6_hours: i64,
    /// Failed six to twenty-four hours ago.
    within_24_hours: i64,
    /// Failed earlier.
    older: i64,
}

/// Read the last hour minute by minute.
///
/// Only the newest rows are read, so the request costs the same however many operations there are.
#[utoipa::path(
    get,
    path = "/blockchain/operations/series",
    responses((status = 200, body = View)),
)]
pub async fn read(State(app): State<App>, uri: Uri) -> Result<Json<View>> {
    Parameters::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    let now = tx.now();
    let this_minute = now.trunc_subsecs(0).with_second(0).unwrap_or(now);
    let from = this_minute - Duration::minutes(MINUTES - 1);
    let confirmed = operation::confirmed_since(&mut tx, from, CONFIRMED_MAX).await?;
    let fees = fees(&app, &mut tx, from).await?;
    let failures = failures(&operation::open_failures(&mut tx, FAILURES_MAX).await?, now);
    Ok(Json(View { minutes: minutes(&confirmed, from), fees, failures, as_of: Instant(now) }))
}

/// The minute of a time, counted from the first.
fn minute(from: DateTime<Utc>, at: DateTime<Utc>) -> Option<usize> {
    usize::try_from((at - from).num_minutes()).ok().filter(|minute| at >= from && *minute < MINUTES as usize)
}

fn minutes(confirmed: &[(DateTime<Utc>, Option<DateTime<Utc>>)], from: DateTime<Utc>) -> Vec<Minute> {
    let mut times = vec![(0, Vec::new()); MINUTES as usize];
    for (end, start) in confirmed {
        if let Some(minute) = minute(from, *end) {
            times[minute].0 += 1;
            times[minute].1.extend(start.map(|start| *end - start));
        }
    }
    // Where reading stopped, the oldest minute is not whole.
    let is_cut = i64::try_from(confirmed.len()).is_ok_and(|read| read >= CONFIRMED_MAX);
    let whole_from =
        confirmed.last().filter(|_| is_cut).and_then(|(oldest, _)| minute(from, *oldest)).map_or(0, |cut| cut + 1);
    let one = |(number, (count, mut times)): (usize, (i64, Vec<Duration>))| {
        times.sort_unstable();
        let of = |percent| operation::percentile(&times, percent).map(|time| time.num_milliseconds());
        Minute {
            started_at: Instant(from + Duration::minutes(number as i64)),
            confirmed: (number >= whole_from).then_some(count),
            p50_milliseconds: of(50),
            p99_milliseconds: of(99),
        }
    };
    times.into_iter().enumerate().map(one).collect()
}

async fn fees(app: &App, tx: &mut Tx, from: DateTime<Utc>) -> Result<Vec<Fees>> {
    let mut found = Vec::new();
    for chain in chain::all(tx).await? {
        let mut offered = vec![None; MINUTES as usize];
        for lane in lane::of_chain(tx, chain.chain_id).await? {
            for (at, fee) in attempt::newest_offers(tx, &lane.id, OFFERS_MAX).await? {
                if let Some(minute) = minute(from, at) {
                    offered[minute] = offered[minute].max(Some(fee.0));
                }
            }
        }
        found.push(Fees {
            chain_id: chain.chain_id,
            network: app.network(chain.chain_id),
            cap_wei: app.chain(chain.chain_id).map(|config| config.max_fee_per_gas_cap().to_string()),
            offered_wei: offered.into_iter().map(|fee| fee.map(|wei: u128| wei.to_string())).collect(),
        });
    }
    Ok(found)
}

fn failures(found: &[(Option<String>, Option<DateTime<Utc>>)], now: DateTime<Utc>) -> Vec<Failures> {
    let mut by_code: BTreeMap<&str, Failures> = BTreeMap::new();
    for (code, failed_at) in found {
        let Some(code) = code else { continue };
        let one = by_code.entry(code).or_insert_with(|| Failures { code: code.clone(), ..Failures::default() });
        let hours = failed_at.map_or(i64::MAX, |at| (now - at).num_hours());
        *match hours {
            ..1 => &mut one.within_1_hour,
            1..6 => &mut one.within_6_hours,
            6..24 => &mut one.within_24_hours,
            _ => &mut one.older,
        } += 1;
    }
    let mut all: Vec<_> = by_code.into_values().collect();
    all.sort_by_key(|one| -(one.within_1_hour + one.within_6_hours + one.within_24_hours + one.older));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + Duration::seconds(seconds)
    }

    #[test]
    fn confirmations_are_counted_in_their_minute() {
        let confirmed = [(at(125), Some(at(123))), (at(121), Some(at(120))), (at(61), None), (at(-5), None)];
        let found = minutes(&confirmed, at(0));
        let counts: Vec<_> = found.iter().take(4).map(|one| one.confirmed).collect();
        assert_eq!((found.len(), counts), (60, vec![Some(0), Some(1), Some(2), Some(0)]));
        assert_eq!((found[2].p50_milliseconds, found[2].p99_milliseconds), (Some(1_000), Some(2_000)));
        assert_eq!(found[1].p50_milliseconds, None);
    }

    #[test]
    fn a_minute_that_was_not_read_whole_is_not_shown() {
        let confirmed = vec![(at(125), None); CONFIRMED_MAX as usize];
        let counts: Vec<_> = minutes(&confirmed, at(0)).iter().take(4).map(|one| one.confirmed).collect();
        assert_eq!(counts, [None, None, None, Some(0)]);
    }

    #[test]
    fn failures_are_counted_by_reason_and_age_and_the_most_frequent_come_first() {
        let code = |code: &str, hours: i64| (Some(code.to_owned()), Some(at(hours * 3_600)));
        let found = failures(
            &[code("stuck", 99), code("reverts", 99), code("reverts", 90), code("reverts", 9)],
            at(100 * 3_600),
        );
        let ages = |one: &Failures| [one.within_1_hour, one.within_6_hours, one.within_24_hours, one.older];
        let shown: Vec<_> = found.iter().map(|one| (one.code.as_str(), ages(one))).collect();
        assert_eq!(shown, [("reverts", [0, 1, 1, 1]), ("stuck", [0, 1, 0, 0])]);
    }
}
