//! The checks of a new API key: its scopes, its limit, its networks.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::user::Roles;

use super::NewKeyRequest;
use crate::access::permission::{SCOPES, scopes_of};
use crate::app::App;
use crate::field::name::check_name;
use crate::http::error::{Problem, Result};
use crate::http::origin;

const DAYS_MAX: i64 = 730;
const NETWORKS_MAX: usize = 20;
const PER_MINUTE_MAX: i64 = 100_000;

/// Refuses scopes that the roles may not give.
pub fn check_rights(request: &NewKeyRequest, roles: &Roles, app: &App) -> Result<()> {
    let allowed = scopes_of(roles);
    if request.scopes.is_empty() {
        return Err(Problem::field("/scopes", "required", format!("Name at least one scope: {}.", allowed.join(", "))));
    }
    for (index, scope) in request.scopes.iter().enumerate() {
        let pointer = format!("/scopes/{index}");
        if !SCOPES.contains(&scope.as_str()) {
            return Err(Problem::field(pointer, "scope_unknown", format!("The scope {scope} does not exist.")));
        }
        if !allowed.contains(&scope.as_str()) {
            let detail = format!("You do not have this scope yourself. You can give: {}.", allowed.join(", "));
            return Err(Problem::field(pointer, "scope_forbidden", detail));
        }
        if request.scopes[..index].contains(scope) {
            return Err(Problem::field(pointer, "duplicate", "The scope is named twice."));
        }
    }
    // Only staff may exceed the platform's limit. Zero means no limit.
    let most = match app.rates.key_per_minute {
        platform if platform > 0 && !roles.is_staff() => i64::from(platform).min(PER_MINUTE_MAX),
        _ => PER_MINUTE_MAX,
    };
    if request.rate_limit.is_some_and(|rate| !(1..=most).contains(&rate)) {
        return Err(Problem::field(
            "/rate_limit",
            "out_of_range",
            format!("The limit must be 1 to {most} requests per minute."),
        ));
    }
    Ok(())
}

/// Refuses a key that is wrong whatever the roles of its owner.
pub fn check(request: &NewKeyRequest, now: DateTime<Utc>) -> Result<()> {
    check_name("/name", &request.name)?;
    let latest = now + Duration::days(DAYS_MAX);
    if request.expires_at.is_some_and(|at| at.0 <= now || at.0 > latest) {
        return Err(Problem::field(
            "/expires_at",
            "out_of_range",
            format!("The time must be within the next {DAYS_MAX} days."),
        ));
    }
    if request.allowed_cidrs.len() > NETWORKS_MAX {
        return Err(Problem::field(
            "/allowed_cidrs",
            "too_long",
            format!("At most {NETWORKS_MAX} networks are allowed."),
        ));
    }
    for (index, network) in request.allowed_cidrs.iter().enumerate() {
        if origin::is_within([127, 0, 0, 1].into(), network).is_none() {
            let detail = "Use an IP address or a network such as 203.0.113.0/24.";
            return Err(Problem::field(format!("/allowed_cidrs/{index}"), "network_format", detail));
        }
    }
    Ok(())
}
