//! The terms of an offering in a request: all of them for a new offering, some for a change. Null clears an optional term.

use chrono::Datelike;
use muniment_domain::exemption::Exemption;
use muniment_domain::id::IssuerId;
use muniment_domain::offering::Offering;
use muniment_domain::offering::choice::{
    IssuancePolicy, KycRequirement, PaymentMethod, PaymentMethods, Template, Visibility,
};
use serde::{Deserialize, Deserializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Object, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::app::App;
use crate::field::amount::Amount;
use crate::field::cause::Partition;
use crate::http::error::{Problem, Result, check_that};
use crate::http::instant::Instant;

const COUNTRIES_MAX: usize = 250;
/// Twenty years: the longest lock that the token accepts, less the days between the decision and the mint.
const LOCKUP_DAYS_MAX: i64 = 7_300;
const CLOSING_YEAR_MAX: i32 = 2999;

/// The required terms of an offering, in the order of the specification.
pub const NEEDED: [&str; 9] = [
    "name",
    "template",
    "currency",
    "minimum_investment",
    "target_amount",
    "hard_cap",
    "token_symbol",
    "network",
    "closes_at",
];

/// The terms of the request.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[schema(as = OfferingTermsGiven)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// The issuer of the new offering. It cannot be changed later.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    pub issuer_id: Option<IssuerId>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, min_length = 3, max_length = 160, example = "Solar Park Alentejo")]
    name: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    template: Option<Template>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, max_length = 20000, example = "A share in a solar park.")]
    description: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 2000, pattern = "^https://")]
    cover_image_url: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, pattern = "^[A-Z]{3}$")]
    currency: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    minimum_investment: Option<Amount>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Amount>)]
    maximum_investment: Option<Option<Amount>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    target_amount: Option<Amount>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Amount>)]
    soft_cap: Option<Option<Amount>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    hard_cap: Option<Amount>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    unit_price: Option<Amount>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, pattern = "^[A-Z0-9]{2,11}$")]
    token_symbol: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, minimum = 0, maximum = 18)]
    token_decimals: Option<i64>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    partition: Option<Partition>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, max_length = 64, example = "dev")]
    network: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    visibility: Option<Visibility>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Instant>)]
    opens_at: Option<Option<Instant>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    closes_at: Option<Instant>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    auto_open: Option<bool>,
    /// The time zone of the offering as minutes ahead of UTC. A record date ends at midnight in this zone. Daylight saving time is not
    /// applied.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, minimum = -720, maximum = 840)]
    utc_offset_minutes: Option<i64>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    exemption: Option<Exemption>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<CoolingOff>)]
    cooling_off: Option<Option<CoolingOff>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Lockup>)]
    lockup: Option<Option<Lockup>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    kyc_requirement: Option<KycRequirement>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    issuance_policy: Option<IssuancePolicy>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    accreditation_required: Option<bool>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, max_items = 250)]
    allowed_countries: Option<Vec<String>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, max_items = 250)]
    blocked_countries: Option<Vec<String>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i64>, minimum = 1)]
    holder_cap: Option<Option<i64>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    one_subscription_per_investor: Option<bool>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, min_items = 1)]
    payment_methods: Option<Vec<PaymentMethod>>,
}

/// A cooling-off period that is longer than the exemption requires.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[schema(as = NewCoolingOff)]
#[serde(deny_unknown_fields)]
struct CoolingOff {
    #[serde(rename = "mode")]
    _mode: Option<CoolingOffMode>,
    #[schema(minimum = 0, maximum = 1440)]
    hours: i64,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[schema(as = NewCoolingOffMode)]
#[serde(rename_all = "snake_case")]
enum CoolingOffMode {
    AfterCommitment,
}

/// The lockup period of the tokens.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[schema(as = NewLockup)]
#[serde(deny_unknown_fields)]
struct Lockup {
    enabled: bool,
    #[serde(rename = "rule")]
    _rule: Option<LockupRule>,
    #[schema(minimum = 0, maximum = 7300)]
    days: Option<i64>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[schema(as = NewLockupRule)]
#[serde(rename_all = "snake_case")]
enum LockupRule {
    AfterClose,
}

/// Distinguishes null from a missing field.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// The schema of the terms for a request, where it differs.
pub fn schema(differ: impl FnOnce(&mut Object)) -> RefOr<Schema> {
    let mut schema = Terms::schema();
    if let RefOr::T(Schema::Object(fields)) = &mut schema {
        differ(fields);
    }
    schema
}

impl Terms {
    /// Refuses a new offering that leaves out what every offering has.
    pub fn must_be_whole(&self) -> Result<()> {
        let given = [
            self.name.is_some(),
            self.template.is_some(),
            self.currency.is_some(),
            self.minimum_investment.is_some(),
            self.target_amount.is_some(),
            self.hard_cap.is_some(),
            self.token_symbol.is_some(),
            self.network.is_some(),
            self.closes_at.is_some(),
        ];
        let is_id = self.issuer_id.as_ref().is_none_or(|id| id.check().is_ok());
        let issuer = check_that(is_id, "/issuer_id", "id_format", "The id of an issuer looks like iss_01k….");
        let required = NEEDED.iter().zip(given);
        let required = required
            .map(|(name, is_there)| check_that(is_there, format!("/{name}"), "required", "The field is required."));
        Problem::all([issuer].into_iter().chain(required))
    }

    /// Refuses what no offering could have.
    pub fn check(&self) -> Result<()> {
        let lockup = self.lockup.flatten();
        let days = lockup.and_then(|lockup| lockup.days);
        let has_days = lockup.is_none_or(|lockup| lockup.enabled == lockup.days.is_some_and(|days| days > 0));
        // Times computed from the end must stay within the years that both databases support.
        let is_period_of_days = days.is_none_or(|days| days >= 0);
        let is_short = days.is_none_or(|days| days <= LOCKUP_DAYS_MAX);
        let is_near = self.closes_at.is_none_or(|at| at.0.year() <= CLOSING_YEAR_MAX);
        let is_period = self.cooling_off.flatten().is_none_or(|own| own.hours >= 0);
        let (longest, latest) = (
            format!("The lockup can be at most {LOCKUP_DAYS_MAX} days."),
            format!("The year can be at most {CLOSING_YEAR_MAX}."),
        );
        Problem::all([
            check_that(has_days, "/lockup/days", "required", "Give days exactly if the lockup is enabled."),
            check_that(is_period_of_days, "/lockup/days", "below_minimum", "Days cannot be negative."),
            check_that(is_short, "/lockup/days", "above_maximum", longest),
            check_that(is_near, "/closes_at", "above_maximum", latest),
            check_that(is_period, "/cooling_off/hours", "below_minimum", "Cooling-off hours cannot be negative."),
            check_countries("/allowed_countries", self.allowed_countries.as_deref()),
            check_countries("/blocked_countries", self.blocked_countries.as_deref()),
        ])
    }

    /// The named chain, if there is one.
    pub fn chain_id(&self, app: &App) -> Result<Option<i64>> {
        let Some(key) = &self.network else { return Ok(None) };
        match app.chain_of(key) {
            Some(id) => Ok(Some(id)),
            None => Err(Problem::field("/network", "unknown_chain", format!("The chain {key} is not configured."))),
        }
    }

    /// Applies the given terms to an offering.
    pub fn apply(self, chain_id: Option<i64>, o: &mut Offering) {
        let minor = |amount: Amount| amount.0.minor();
        set(&mut o.name, self.name.map(|name| name.trim().to_owned()));
        set(&mut o.template, self.template);
        set(&mut o.description, self.description);
        set(&mut o.cover_image_url, self.cover_image_url);
        set(&mut o.currency, self.currency);
        set(&mut o.minimum_investment, self.minimum_investment.map(minor));
        set(&mut o.maximum_investment, self.maximum_investment.map(|amount| amount.map(minor)));
        set(&mut o.target_amount, self.target_amount.map(minor));
        set(&mut o.soft_cap, self.soft_cap.map(|amount| amount.map(minor)));
        set(&mut o.hard_cap, self.hard_cap.map(minor));
        set(&mut o.unit_price, self.unit_price.map(minor));
        set(&mut o.token_symbol, self.token_symbol);
        set(&mut o.token_decimals, self.token_decimals);
        set(&mut o.partition_id, self.partition.map(|partition| i64::from(partition.0)));
        set(&mut o.chain_id, chain_id);
        set(&mut o.visibility, self.visibility);
        set(&mut o.opens_at, self.opens_at.map(|at| at.map(|at| at.0)));
        set(&mut o.closes_at, self.closes_at.map(|at| Some(at.0)));
        set(&mut o.auto_open, self.auto_open);
        set(&mut o.utc_offset_minutes, self.utc_offset_minutes);
        set(&mut o.exemption, self.exemption);
        set(&mut o.cooling_off_hours, self.cooling_off.map(|own| own.map(|own| own.hours)));
        set(&mut o.lockup_days, self.lockup.map(|lockup| lockup.and_then(|lockup| lockup.days)));
        set(&mut o.kyc_requirement, self.kyc_requirement);
        set(&mut o.issuance_policy, self.issuance_policy);
        set(&mut o.accreditation_required, self.accreditation_required);
        set(&mut o.allowed_countries, self.allowed_countries.map(|list| list.join(" ")));
        set(&mut o.blocked_countries, self.blocked_countries.map(|list| list.join(" ")));
        set(&mut o.holder_cap, self.holder_cap);
        set(&mut o.one_subscription_per_investor, self.one_subscription_per_investor);
        set(&mut o.payment_methods, self.payment_methods.map(PaymentMethods));
    }
}

fn check_countries(pointer: &'static str, list: Option<&[String]>) -> Result<()> {
    let blank = |code: &String| code.is_empty() || code.contains(char::is_whitespace);
    if list.is_some_and(|list| list.len() > COUNTRIES_MAX || list.iter().any(blank)) {
        return Err(Problem::field(pointer, "country_format", "Use ISO 3166-1 country codes such as DE."));
    }
    Ok(())
}

fn set<T>(field: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *field = given;
    }
}
