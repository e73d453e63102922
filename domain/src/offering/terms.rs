//! Validation of an offering's terms, from the row alone.

use chrono::{DateTime, Duration, Utc};
use serde_json::{Value, json};

use super::Offering;
use super::choice::{Template, Visibility};
use crate::date_or_time::UTC_OFFSET_MINUTES;
use crate::exemption::COOLING_OFF_HOURS_MAX;
use crate::money::Money;
use crate::{Error, Result, canonical, country};

/// Currencies with two decimals, in which offerings can be made.
const CURRENCIES: &str = "AED AUD BGN BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF IDR ILS INR MXN MYR NOK NZD PHP PLN RON SAR SEK SGD THB \
    TRY USD ZAR";
const NAME_CHARACTERS: std::ops::RangeInclusive<usize> = 3..=160;
const DESCRIPTION_CHARACTERS_MAX: usize = 20_000;
const SYMBOL_CHARACTERS: std::ops::RangeInclusive<usize> = 2..=11;
/// If the calendar opens an offering later than this, it counts as opened at the later time.
const OPENED_LATE_MINUTES: i64 = 60;
/// The limit of a token's supply in base units: 96 bits.
pub const TOKEN_UNITS_MAX: u128 = (1 << 96) - 1;
/// Limit on the partitions of a token.
const PARTITIONS_MAX: i64 = 32;

/// Validates the terms. The error names every invalid field.
pub fn check(o: &Offering, now: DateTime<Utc>) -> Result<()> {
    Error::all([
        check_name(o),
        check_description(o),
        check_cover(o),
        check_currency(o),
        check_symbol(o),
        check_decimals(o),
        check_partition(o),
        check_amounts(o),
        check_zone(o),
        check_calendar(o, now),
        check_countries("/allowed_countries", &o.allowed_countries),
        check_countries("/blocked_countries", &o.blocked_countries).and_then(|()| check_both_countries(o)),
        check_holder_cap(o),
        check_payment_methods(o),
        check_raise(o),
        check_visibility(o),
        check_accreditation(o),
        check_cooling_off(o),
        check_lockup(o),
    ])
}

fn check_name(o: &Offering) -> Result<()> {
    if !NAME_CHARACTERS.contains(&o.name.trim().chars().count()) || o.name.chars().any(char::is_control) {
        return Err(Error::field("/name", "length_out_of_range", "The name must have 3 to 160 characters."));
    }
    Ok(())
}

fn check_description(o: &Offering) -> Result<()> {
    if o.description.chars().count() > DESCRIPTION_CHARACTERS_MAX {
        let detail = format!("The description can have at most {DESCRIPTION_CHARACTERS_MAX} characters.");
        return Err(Error::field("/description", "above_maximum", detail));
    }
    Ok(())
}

fn check_cover(o: &Offering) -> Result<()> {
    if o.cover_image_url.as_deref().is_some_and(|url| !is_web_address(url)) {
        return Err(Error::field("/cover_image_url", "url_forbidden", "The address must begin with https://."));
    }
    Ok(())
}

fn check_currency(o: &Offering) -> Result<()> {
    if !country::is_listed(CURRENCIES, &o.currency) {
        let detail = format!("The currency must be one of: {CURRENCIES}.");
        return Err(Error::field("/currency", "currency_unknown", detail));
    }
    Ok(())
}

/// Whether a text can be the address of a web page or document.
pub fn is_web_address(url: &str) -> bool {
    let host = url.strip_prefix("https://").map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let sound = |host: &str| host.contains('.') && !host.contains('@');
    url.len() <= 2_000 && host.is_some_and(sound) && !url.chars().any(|c| c.is_whitespace() || c.is_control())
}

fn check_symbol(o: &Offering) -> Result<()> {
    let capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    if !SYMBOL_CHARACTERS.contains(&o.token_symbol.len()) || !o.token_symbol.bytes().all(capital) {
        return Err(Error::field(
            "/token_symbol",
            "symbol_format",
            "The symbol must have 2 to 11 capital letters and digits.",
        ));
    }
    Ok(())
}

fn check_decimals(o: &Offering) -> Result<()> {
    if !(0..=18).contains(&o.token_decimals) {
        return Err(Error::field("/token_decimals", "out_of_range", "The token must have 0 to 18 decimals."));
    }
    Ok(())
}

fn check_partition(o: &Offering) -> Result<()> {
    if !(1..=PARTITIONS_MAX).contains(&o.partition_id) {
        return Err(Error::field("/partition", "partition_unknown", "The partition must be between 1 and 32."));
    }
    Ok(())
}

fn check_amounts(o: &Offering) -> Result<()> {
    let shown = |minor| Money::from_minor(minor).to_string();
    let above = |pointer, most: &str, limit: i64| {
        let detail = format!("The amount cannot exceed the {most} of {}.", shown(limit));
        Err(Error::field(pointer, "above_maximum", detail).with_params(json!({ "maximum": shown(limit) })))
    };
    let all = [
        ("/unit_price", Some(o.unit_price)),
        ("/minimum_investment", Some(o.minimum_investment)),
        ("/maximum_investment", o.maximum_investment),
        ("/soft_cap", o.soft_cap),
        ("/target_amount", Some(o.target_amount)),
        ("/hard_cap", Some(o.hard_cap)),
    ];
    // What follows compares the amounts with each other, and divides by one of them.
    Error::all(all.map(|(pointer, amount)| match amount {
        Some(amount) if amount <= 0 => {
            let params = json!({ "minimum": "0.01" });
            Err(Error::field(pointer, "below_minimum", "The amount must be above zero.").with_params(params))
        }
        _ => Ok(()),
    }))?;
    if o.minimum_investment > o.maximum_investment.unwrap_or(o.hard_cap) {
        let (most, limit) = o.maximum_investment.map_or(("hard cap", o.hard_cap), |most| ("maximum", most));
        return above("/minimum_investment", most, limit);
    }
    if o.maximum_investment.is_some_and(|most| most > o.hard_cap) {
        return above("/maximum_investment", "hard cap", o.hard_cap);
    }
    if o.soft_cap.is_some_and(|soft| soft > o.target_amount) {
        return above("/soft_cap", "target amount", o.target_amount);
    }
    if o.target_amount > o.hard_cap {
        return above("/target_amount", "hard cap", o.hard_cap);
    }
    // A hard cap that is no multiple could never be reached exactly.
    if o.hard_cap % o.unit_price != 0 {
        let lower = o.hard_cap - o.hard_cap % o.unit_price;
        let params = json!({ "nearest_lower": shown(lower), "nearest_higher": shown(lower + o.unit_price) });
        let detail = format!("The hard cap must be a multiple of the unit price, {}.", shown(o.unit_price));
        return Err(Error::field("/hard_cap", "amount_not_multiple", detail).with_params(params));
    }
    let decimals = o.decimals();
    let units = Money::from_minor(o.hard_cap).base_units(Money::from_minor(o.unit_price), decimals);
    if units.is_none_or(|units| units > TOKEN_UNITS_MAX) {
        let detail = format!("The hard cap buys more than the {TOKEN_UNITS_MAX} smallest units that a token can have.");
        let params = json!({ "maximum_units": TOKEN_UNITS_MAX.to_string() });
        return Err(Error::field("/hard_cap", "above_maximum", detail).with_params(params));
    }
    let bounds = [("/minimum_investment", Some(o.minimum_investment)), ("/maximum_investment", o.maximum_investment)];
    let buys = |amount: i64| Money::from_minor(amount).base_units(Money::from_minor(o.unit_price), decimals).is_some();
    match bounds.iter().find(|(_, amount)| amount.is_some_and(|amount| !buys(amount))) {
        Some((pointer, _)) => Err(Error::field(
            pointer,
            "amount_not_multiple",
            "The amount does not buy a whole number of the token's smallest units.",
        )),
        None => Ok(()),
    }
}

fn check_zone(o: &Offering) -> Result<()> {
    if !UTC_OFFSET_MINUTES.contains(&o.utc_offset_minutes) {
        let detail = "The UTC offset must be between -720 and 840 minutes.";
        return Err(Error::field("/utc_offset_minutes", "out_of_range", detail));
    }
    Ok(())
}

fn check_calendar(o: &Offering, now: DateTime<Utc>) -> Result<()> {
    if o.auto_open && o.opens_at.is_none() {
        return Err(Error::field("/opens_at", "required", "Automatic opening needs an opening time."));
    }
    let Some(closes_at) = o.closes_at else {
        return Err(Error::field("/closes_at", "required", "The closing time is required."));
    };
    let begins = opening_time(o, now);
    if closes_at <= now || closes_at <= begins {
        return Err(Error::field(
            "/closes_at",
            "below_minimum",
            "The closing time must be in the future and after the opening time.",
        ));
    }
    let days = o.exemption.profile().open_days_min;
    if closes_at < begins + Duration::days(days) {
        let detail = format!("Under {} the offering must be open for at least {days} days.", o.exemption);
        return Err(Error::field("/closes_at", "below_minimum", detail).with_params(json!({ "days": days })));
    }
    Ok(())
}

/// When the offering opens or opened. A calendar that opens it slightly late does not shorten it; a late publication does.
pub fn opening_time(o: &Offering, now: DateTime<Utc>) -> DateTime<Utc> {
    let opened = o.published_at.unwrap_or(now);
    o.opens_at.filter(|at| opened - *at < Duration::minutes(OPENED_LATE_MINUTES)).unwrap_or(opened)
}

fn check_countries(pointer: &'static str, list: &str) -> Result<()> {
    if let Some(unknown) = list.split_ascii_whitespace().find(|code| !country::is_known(code)) {
        let detail = format!("{unknown} is not a country code of ISO 3166-1, such as DE.");
        return Err(Error::field(pointer, "country_format", detail));
    }
    Ok(())
}

fn check_both_countries(o: &Offering) -> Result<()> {
    let both = o.blocked_countries.split_ascii_whitespace().find(|code| country::is_listed(&o.allowed_countries, code));
    if let Some(both) = both {
        let detail = format!("{both} is both allowed and blocked.");
        return Err(Error::field("/blocked_countries", "conflict", detail));
    }
    Ok(())
}

fn check_holder_cap(o: &Offering) -> Result<()> {
    if o.holder_cap.is_some_and(|cap| cap < 1) {
        return Err(Error::field("/holder_cap", "below_minimum", "The limit of holders must be at least 1."));
    }
    Ok(())
}

fn check_payment_methods(o: &Offering) -> Result<()> {
    if o.payment_methods.0.is_empty() {
        return Err(Error::field("/payment_methods", "required", "Select at least one payment method."));
    }
    Ok(())
}

/// An issuer can tighten the requirements of an exemption but never loosen them.
fn exceeds_exemption(pointer: &'static str, detail: String) -> Result<()> {
    Err(Error::field(pointer, "exemption_limit", detail))
}

fn check_raise(o: &Offering) -> Result<()> {
    let (profile, name) = (o.exemption.profile(), o.exemption);
    if let Some(most) = profile.raise_max.filter(|most| o.hard_cap > *most) {
        let detail = format!("Under {name} the hard cap cannot exceed {}.", Money::from_minor(most));
        return exceeds_exemption("/hard_cap", detail);
    }
    Ok(())
}

fn check_visibility(o: &Offering) -> Result<()> {
    let (profile, name) = (o.exemption.profile(), o.exemption);
    if !profile.may_be_public && o.visibility == Visibility::Public {
        return exceeds_exemption("/visibility", format!("Under {name} the offering cannot be public."));
    }
    Ok(())
}

fn check_accreditation(o: &Offering) -> Result<()> {
    let (profile, name) = (o.exemption.profile(), o.exemption);
    if profile.accredited_only && !o.accreditation_required {
        let detail = format!("Under {name} only accredited investors may subscribe.");
        return exceeds_exemption("/accreditation_required", detail);
    }
    Ok(())
}

fn check_cooling_off(o: &Offering) -> Result<()> {
    let (profile, name) = (o.exemption.profile(), o.exemption);
    match (o.cooling_off_hours, profile.hours()) {
        (Some(_), None) => exceeds_exemption(
            "/cooling_off",
            format!("Under {name} the cooling-off period is counted back from the closing time and cannot be set."),
        ),
        (Some(own), Some(least)) if !(least..=COOLING_OFF_HOURS_MAX).contains(&own) => exceeds_exemption(
            "/cooling_off",
            format!("Under {name} the cooling-off period must be {least} to {COOLING_OFF_HOURS_MAX} hours."),
        ),
        _ => Ok(()),
    }
}

fn check_lockup(o: &Offering) -> Result<()> {
    let days = lockup_days_min(o);
    if o.lockup_days.unwrap_or(0) < days {
        let detail = format!("Under {} tokens must be locked for at least {days} days.", o.exemption);
        return exceeds_exemption("/lockup", detail);
    }
    Ok(())
}

/// The minimum lockup of the tokens, in days.
pub fn lockup_days_min(o: &Offering) -> i64 {
    // Regulation S has a shorter lockup for debt.
    let debt = [Template::RealEstateDebt, Template::PrivateCredit, Template::Bond];
    let profile = o.exemption.profile();
    if debt.contains(&o.template) { profile.debt_lockup_days } else { profile.lockup_days }
}

/// The terms as one JSON value. The approval freezes its hash.
pub fn value(o: &Offering) -> Value {
    json!({
        "name": o.name, "template": o.template, "description": o.description, "currency": o.currency,
        "minimum_investment": o.minimum_investment, "maximum_investment": o.maximum_investment, "target_amount": o.target_amount,
        "soft_cap": o.soft_cap, "hard_cap": o.hard_cap, "unit_price": o.unit_price, "token_symbol": o.token_symbol,
        "token_decimals": o.token_decimals, "partition": o.partition_id, "chain_id": o.chain_id, "visibility": o.visibility,
        "opens_at": o.opens_at.map(|at| at.timestamp_millis()), "closes_at": o.closes_at.map(|at| at.timestamp_millis()),
        "auto_open": o.auto_open, "exemption": o.exemption, "cooling_off_hours": o.cooling_off_hours, "lockup_days": o.lockup_days,
        "kyc_requirement": o.kyc_requirement, "issuance_policy": o.issuance_policy,
        "accreditation_required": o.accreditation_required, "allowed_countries": o.allowed_countries,
        "blocked_countries": o.blocked_countries, "holder_cap": o.holder_cap,
        "one_subscription_per_investor": o.one_subscription_per_investor, "payment_methods": o.payment_methods.to_string(),
        "terms_version": o.terms_version, "utc_offset_minutes": o.utc_offset_minutes,
    })
}

/// The hash of the present terms.
pub fn sha256(o: &Offering) -> Result<String> {
    let text = canonical::text(&value(o));
    let text = text.map_err(|e| Error::Unreadable { what: "offering", id: o.id.to_string(), why: e.to_string() })?;
    Ok(canonical::sha256(&text))
}

/// The names of the changed fields of the terms.
pub fn changed(before: &Offering, after: &Offering) -> Vec<String> {
    let (before, after) = (value(before), value(after));
    let fields = after.as_object().into_iter().flatten();
    fields.filter(|(name, now)| before[name.as_str()] != **now).map(|(name, _)| name.clone()).collect()
}
