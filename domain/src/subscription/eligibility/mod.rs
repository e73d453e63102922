//! Eligibility of subscriptions: one pure function over known facts. The request, its preview, the acceptance and the mint use the
//! same rules.

mod facts;

use chrono::Duration;
use serde_json::{Value, json};

pub use facts::{Facts, Investor, Relation, ReservationLimit, Stage, read_relation, read_reservation_limit};

use super::reservation;
use crate::investor::{Screening, Status as KycStatus};
use crate::money::Money;
use crate::offering::Status as Offered;
use crate::offering::choice::KycRequirement;
use crate::{Code, Error, country};

/// The version of the rules. Stored checks name it, to show later which rules applied.
pub const RULES_VERSION: i64 = 5;

/// The result of one rule.
#[derive(Debug)]
pub struct Check {
    /// The rule.
    pub rule: &'static str,
    /// The refusal, if the rule is not met.
    pub refused: Option<Error>,
}

/// Evaluates the rules in order. The caller gets the first refusal; a preview shows all results.
pub fn evaluate(facts: &Facts<'_>) -> Vec<Check> {
    type Rule = (&'static str, fn(&Facts<'_>) -> Option<Error>);
    let rules: &[Rule] = match facts.stage {
        Stage::Commit => &[
            ("offering_open", offering_open),
            ("country", in_country),
            ("identity", identity_before_subscribing),
            ("sanctions", not_found_by_a_screening),
            ("accreditation", accreditation),
            ("suitability", acknowledged),
            ("risk_warning", warned_long_enough),
            ("amount", amount_in_bounds),
            ("unit_price", whole_units),
            ("one_subscription", one_subscription),
            ("investor_limit", investor_limit),
            ("means", within_means),
            ("hard_cap", hard_cap),
            ("reservation", reserved_by_words),
            ("holder_cap", holder_cap),
        ],
        Stage::Accept => &[
            ("offering_under_way", offering_under_way),
            ("country", in_country),
            ("identity", identity),
            ("sanctions", screened_and_clear),
            ("accreditation", accreditation),
            ("unit_price", whole_units),
            ("means", within_means),
            ("holder_cap", holder_cap),
            ("wallet", wallet),
            ("payment", paid_in_full),
        ],
        // The limit of holders is checked over the whole list of a mint, not for each subscription.
        Stage::Mint => &[
            ("country", in_country),
            ("identity", identity),
            ("sanctions", screened_and_clear),
            ("accreditation", accreditation),
            ("means", within_means),
            ("wallet", wallet),
        ],
    };
    rules.iter().map(|(rule, check)| Check { rule, refused: check(facts) }).collect()
}

/// The results as answers and stored checks show them.
pub fn to_json(checks: &[Check]) -> Value {
    let one = |check: &Check| {
        let why = check.refused.as_ref().and_then(Error::refusal);
        json!({ "rule": check.rule, "passed": check.refused.is_none(), "code": why.map(|(code, _)| code),
            "detail": why.map(|(_, detail)| detail) })
    };
    checks.iter().map(one).collect()
}

/// The first refusal; if there is none, the results to store.
pub fn verdict(checks: Vec<Check>) -> crate::Result<Value> {
    let record = to_json(&checks);
    match checks.into_iter().find_map(|check| check.refused) {
        Some(refusal) => Err(refusal),
        None => Ok(record),
    }
}

fn offering_open(f: &Facts<'_>) -> Option<Error> {
    let now_closed = f.offering.closes_at.is_some_and(|at| at <= f.now);
    if f.offering.status == Offered::Open && !now_closed {
        return None;
    }
    let state = if now_closed { "past its closing time".to_owned() } else { f.offering.status.to_string() };
    Some(Error::refused(Code::OfferingNotOpen, format!("The offering is {state} and takes no subscriptions.")))
}

fn offering_under_way(f: &Facts<'_>) -> Option<Error> {
    if matches!(f.offering.status, Offered::Open | Offered::Paused | Offered::Closed) {
        return None;
    }
    Some(Error::refused(Code::InvalidState, format!("The offering is {}.", f.offering.status)))
}

/// A refusal because of the investor, not of a field of the request; its pointer is the whole request.
fn person(code: &'static str, detail: impl Into<String>) -> Option<Error> {
    Some(Error::field("", code, detail))
}

fn in_country(f: &Facts<'_>) -> Option<Error> {
    let (o, code) = (f.offering, f.investor.country.as_str());
    if !country::is_known(code) {
        // Without a country an investor would pass every list of blocked countries.
        return person("country_required", "The investor's profile has no country of residence.");
    }
    let allowed = o.allowed_countries.is_empty() || country::is_listed(&o.allowed_countries, code);
    if allowed && !country::is_listed(&o.blocked_countries, code) && o.exemption.profile().admits(code) {
        return None;
    }
    person("country_blocked", format!("The offering is not open to residents of {code}."))
}

fn identity(f: &Facts<'_>) -> Option<Error> {
    match f.investor.kyc_status {
        KycStatus::Approved => None,
        status => person("kyc_required", format!("The investor's identity must be approved; it is {status}.")),
    }
}

/// A suspended investor cannot subscribe to any offering.
fn identity_before_subscribing(f: &Facts<'_>) -> Option<Error> {
    let suspended = f.investor.kyc_status == KycStatus::Suspended;
    if f.offering.kyc_requirement == KycRequirement::BeforeSubscribe || suspended { identity(f) } else { None }
}

fn screened_and_clear(f: &Facts<'_>) -> Option<Error> {
    match f.investor.sanctions_status {
        Screening::Clear => None,
        // The text does not tell the investor about a match; only compliance may know.
        Screening::NotScreened | Screening::Hit => {
            person("sanctions_not_clear", "The investor has no clear sanctions screening.")
        }
    }
}

/// Before the identity is required there may be no screening yet, but a match counts at once.
fn not_found_by_a_screening(f: &Facts<'_>) -> Option<Error> {
    let found = f.investor.sanctions_status == Screening::Hit;
    if f.offering.kyc_requirement == KycRequirement::BeforeSubscribe || found { screened_and_clear(f) } else { None }
}

fn accreditation(f: &Facts<'_>) -> Option<Error> {
    let profile = f.offering.exemption.profile();
    if f.investor.is_accredited(f.now) {
        return None;
    }
    if f.offering.accreditation_required || profile.accredited_only {
        return person("accreditation_required", "The offering is for accredited investors only.");
    }
    let most = profile.unaccredited_max.filter(|most| f.relation.unaccredited >= *most)?;
    let detail = format!("Under {} the limit of {most} non-accredited investors is reached.", f.offering.exemption);
    person("accreditation_required", detail)
}

fn acknowledged(f: &Facts<'_>) -> Option<Error> {
    let needed = f.offering.exemption.profile().acknowledgements;
    let missing: Vec<_> = needed.iter().filter(|needed| f.acknowledged.iter().all(|said| said != **needed)).collect();
    if missing.is_empty() {
        return None;
    }
    let detail = format!("Under {} the investor must acknowledge: {}.", f.offering.exemption, needed.join(", "));
    let error = Error::field("/acknowledgements", "acknowledgement_required", detail);
    Some(error.with_params(json!({ "missing": missing })))
}

/// A first-time investor must wait after the risk warning. The refusal here also records the warning.
fn warned_long_enough(f: &Facts<'_>) -> Option<Error> {
    let hours = Duration::hours(f.offering.exemption.profile().first_warning_hours);
    let from = f.investor.risk_warned_at.unwrap_or(f.now) + hours;
    if hours.is_zero() || from <= f.now {
        return None;
    }
    let detail = format!(
        "Under {} a first-time investor must wait after the risk warning. Subscribe again after {}.",
        f.offering.exemption,
        from.to_rfc3339()
    );
    Some(Error::refused(Code::CoolingOffActive, detail))
}

fn amount_in_bounds(f: &Facts<'_>) -> Option<Error> {
    let currency = &f.offering.currency;
    let bound = |code, name: &str, minor: i64| {
        let limit = Money::from_minor(minor).to_string();
        let detail = format!("The {name} amount is {limit} {currency}.");
        Some(Error::field("/amount", code, detail).with_params(json!({ name: limit })))
    };
    match f.offering.maximum_investment {
        _ if f.amount < f.offering.minimum_investment => {
            bound("below_minimum", "minimum", f.offering.minimum_investment)
        }
        Some(maximum) if f.amount > maximum => bound("above_maximum", "maximum", maximum),
        _ => None,
    }
}

/// The smallest amount in minor units that buys whole base units. Every amount must be a multiple of it.
pub fn step_of(unit_price: i64, token_decimals: i64) -> i64 {
    let units = 10u128.pow(u32::try_from(token_decimals).unwrap_or(0));
    let price = u128::from(unit_price.unsigned_abs().max(1));
    let (mut a, mut b) = (price, units);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(price / a).unwrap_or(i64::MAX)
}

fn whole_units(f: &Facts<'_>) -> Option<Error> {
    let step = step_of(f.offering.unit_price, f.offering.token_decimals);
    let over = f.amount % step;
    if over == 0 {
        return None;
    }
    let [lower, higher] = [f.amount - over, f.amount - over + step].map(|minor| Money::from_minor(minor).to_string());
    let detail = format!("The amount must buy whole units. The nearest amounts are {lower} and {higher}.");
    let error = Error::field("/amount", "amount_not_multiple", detail);
    Some(error.with_params(json!({ "nearest_lower": lower, "nearest_higher": higher })))
}

fn one_subscription(f: &Facts<'_>) -> Option<Error> {
    let again = f.offering.one_subscription_per_investor && f.relation.own_count > 0;
    again
        .then(|| Error::refused(Code::DuplicateSubscription, "The offering allows one subscription for each investor."))
}

/// The maximum applies to the sum of an investor's subscriptions.
fn investor_limit(f: &Facts<'_>) -> Option<Error> {
    let maximum = f.offering.maximum_investment?;
    let left = (maximum - f.relation.own_total).max(0);
    // The rule on the amount has already refused an amount that is too large by itself.
    if f.amount <= left || f.amount > maximum {
        return None;
    }
    let left = Money::from_minor(left).to_string();
    let detail =
        format!("With the investor's other subscriptions, at most {left} {} more is allowed.", f.offering.currency);
    Some(Error::field("/amount", "investor_limit_exceeded", detail).with_params(json!({ "available": left })))
}

/// The investment limit that the law ties to income and net worth.
fn within_means(f: &Facts<'_>) -> Option<Error> {
    let limit = f.offering.exemption.profile().investor_limit?.of(f.investor.means);
    let used = f.relation.used;
    let left = (limit - used).max(0);
    if f.investor.is_accredited(f.now) || f.amount <= left {
        return None;
    }
    let [limit, used, left] = [limit, used, left].map(|minor| Money::from_minor(minor).to_string());
    let detail = format!(
        "Under {} the investment limit is {limit}, from the income and net worth in the profile; {used} is already used.",
        f.offering.exemption
    );
    let params = json!({ "limit": limit, "used": used, "remaining": left });
    Some(Error::field("/amount", "investor_limit_exceeded", detail).with_params(params))
}

fn hard_cap(f: &Facts<'_>) -> Option<Error> {
    (f.offering.committed_total + f.amount > f.offering.hard_cap).then(|| reservation::exceeded(f.offering))
}

/// A cap fills with money. What is only promised reserves a bounded part of it.
fn reserved_by_words(f: &Facts<'_>) -> Option<Error> {
    let reservation_limit = f.reservation_limit?;
    let (left, what) = match reservation_limit.unverified {
        None => (reservation_limit.own, "Before a payment the investor can reserve at most"),
        Some(all) if all < reservation_limit.own => {
            (all, "Investors whose identity is not approved can together reserve only")
        }
        Some(_) => (reservation_limit.own, "Before the identity is approved the investor can reserve at most"),
    };
    let left = left.max(0);
    if f.amount <= left {
        return None;
    }
    let left = Money::from_minor(left).to_string();
    let detail = format!("{what} {left} {} more of this offering.", f.offering.currency);
    Some(Error::field("/amount", "reservation_limit_exceeded", detail).with_params(json!({ "available": left })))
}

fn holder_cap(f: &Facts<'_>) -> Option<Error> {
    let cap = f.relation.holder_cap?;
    if f.relation.other_holders < cap {
        return None;
    }
    person("holder_cap_reached", format!("The limit of {cap} holders is reached."))
}

fn wallet(f: &Facts<'_>) -> Option<Error> {
    match f.relation.wallet_verified {
        Some(_) if f.relation.wallet_retired => {
            Some(Error::field("/wallet_address", "wallet_retired", "The wallet is retired because it was lost."))
        }
        None => Some(Error::field("/wallet_address", "wallet_required", "The subscription has no wallet yet.")),
        Some(false) => Some(Error::field(
            "/wallet_address",
            "wallet_unverified",
            "The investor has not proved control over the wallet yet.",
        )),
        Some(true) => None,
    }
}

fn paid_in_full(f: &Facts<'_>) -> Option<Error> {
    if f.held == f.amount {
        return None;
    }
    let [held, amount, excess] =
        [f.held, f.amount, f.held - f.amount].map(|minor| Money::from_minor(minor).to_string());
    if f.held > f.amount {
        let detail =
            format!("{excess} {} more was received than subscribed. Record the refund first.", f.offering.currency);
        return Some(Error::field("", "overpaid", detail).with_params(json!({ "excess": excess, "amount": amount })));
    }
    let detail = format!("{held} {} was received; {amount} is subscribed.", f.offering.currency);
    Some(Error::field("", "payment_required", detail).with_params(json!({ "received": held, "amount": amount })))
}

#[cfg(test)]
mod test;
