//! The checks of a new API key: its scopes, its limit, its networks.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::user::Roles;

use super::NewKeyRequest;
use crate::access::permission::{SCOPES, scopes_of};
use crate::app::App;
use crate::field::name::check_name;
use crate::http::error::{Problem, Result, check_that};
use crate::http::origin;

const DAYS_MAX: i64 = 730;
const NETWORKS_MAX: usize = 20;
const PER_MINUTE_MAX: i64 = 100_000;

/// Refuses scopes that the roles may not give.
pub fn check_rights(request: &NewKeyRequest, roles: &Roles, app: &App) -> Result<()> {
    let allowed = scopes_of(roles);
    Problem::all([check_scopes(request, &allowed), check_rate(request, roles, app)])
}

fn check_scopes(request: &NewKeyRequest, allowed: &[&str]) -> Result<()> {
    if request.scopes.is_empty() {
        return Err(Problem::field("/scopes", "required", format!("Name at least one scope: {}.", allowed.join(", "))));
    }
    Problem::all(request.scopes.iter().enumerate().map(|(index, scope)| {
        let pointer = format!("/scopes/{index}");
        if !SCOPES.contains(&scope.as_str()) {
            return Err(Problem::field(pointer, "scope_unknown", format!("The scope {scope} does not exist.")));
        }
        if !allowed.contains(&scope.as_str()) {
            let detail = format!("You do not have this scope yourself. You can give: {}.", allowed.join(", "));
            return Err(Problem::field(pointer, "scope_forbidden", detail));
        }
        check_that(!request.scopes[..index].contains(scope), pointer, "duplicate", "The scope is named twice.")
    }))
}

fn check_rate(request: &NewKeyRequest, roles: &Roles, app: &App) -> Result<()> {
    // Only staff may exceed the platform's limit. Zero means no limit.
    let most = match app.rates.key_per_minute {
        platform if platform > 0 && !roles.is_staff() => i64::from(platform).min(PER_MINUTE_MAX),
        _ => PER_MINUTE_MAX,
    };
    let is_rate = request.rate_limit.is_none_or(|rate| (1..=most).contains(&rate));
    check_that(is_rate, "/rate_limit", "out_of_range", format!("The limit must be 1 to {most} requests per minute."))
}

/// Refuses a key that is wrong whatever the roles of its owner.
pub fn check(request: &NewKeyRequest, now: DateTime<Utc>) -> Result<()> {
    let latest = now + Duration::days(DAYS_MAX);
    let is_ahead = request.expires_at.is_none_or(|at| at.0 > now && at.0 <= latest);
    let (days, most) = (
        format!("The time must be within the next {DAYS_MAX} days."),
        format!("At most {NETWORKS_MAX} networks are allowed."),
    );
    let networks = &request.allowed_cidrs;
    let whole = [
        check_name("/name", &request.name),
        check_that(is_ahead, "/expires_at", "out_of_range", days),
        check_that(networks.len() <= NETWORKS_MAX, "/allowed_cidrs", "too_long", most),
    ];
    let each = networks.iter().enumerate().map(|(index, network)| {
        let is_network = origin::is_within([127, 0, 0, 1].into(), network).is_some();
        let detail = "Use an IP address or a network such as 203.0.113.0/24.";
        check_that(is_network, format!("/allowed_cidrs/{index}"), "network_format", detail)
    });
    Problem::all(whole.into_iter().chain(each))
}
