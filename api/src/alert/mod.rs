//! `/v1/auth/me/alerts`: the mails about events that the caller wants.

mod routes;

use axum::Json;
use axum::extract::State;
use muniment_domain::alert::{self, Pace, Rule};
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::point::Point;
use muniment_domain::webhook::Owner;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use routes::routes;

use crate::access::principal::Principal;
use crate::app::App;
use crate::http::body::Input;
use crate::http::error::{Problem, Result};
use crate::webhook::{check_offerings, check_types, owner};

const RULES_MAX: usize = 20;

/// The mails about events that a user gets.
#[derive(Serialize, ToSchema)]
#[schema(as = AlertSettings)]
pub struct View {
    /// The rules in force.
    rules: Vec<RuleBody>,
    /// Whether these are the rules of the role, because the user has set none.
    is_default: bool,
}

/// The rules to set.
#[derive(Deserialize, ToSchema)]
#[schema(as = ChangeOfAlertSettings)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// All rules; an empty list means no mails. Null returns to the rules of the role.
    #[schema(max_items = 20)]
    rules: Option<Vec<RuleBody>>,
}

/// Events that are mailed.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = AlertRule)]
#[serde(deny_unknown_fields)]
struct RuleBody {
    /// Event types, `*` for all, or all of a subject such as `subscription.*`.
    #[schema(min_items = 1, max_items = 100, example = json!(["subscription.*"]))]
    event_types: Vec<String>,
    /// The offerings whose events are mailed. Null means all.
    #[schema(min_items = 1, max_items = 100, example = json!(["off_01jc8yq3k5e9v8w2m4n6p7r9st"]))]
    offering_ids: Option<Vec<OfferingId>>,
    /// How soon the mail is sent.
    pace: Pace,
}

/// Read which events are mailed to you.
#[utoipa::path(
    get,
    path = "/v1/auth/me/alerts",
    responses((status = 200, body = View)),
)]
pub async fn read(State(app): State<App>, principal: Principal) -> Result<Json<View>> {
    view(&mut app.db.read().await?, &principal).await.map(Json)
}

/// Set which events are mailed to you.
///
/// Mails go to a proved e-mail address. Of one event type there is at most one mail an hour, which counts what happened since the last.
#[utoipa::path(
    put,
    path = "/v1/auth/me/alerts",
    request_body = Change,
    responses((status = 200, body = View)),
)]
pub async fn replace(State(app): State<App>, principal: Principal, Input(body): Input<Change>) -> Result<Json<View>> {
    let mut tx = app.db.begin().await?;
    let owner = owner(&mut tx, &principal).await?;
    let rules = body.rules.map(|rules| check(&owner, rules)).transpose()?;
    alert::set_rules(&mut tx, &principal.0.user_id, rules.as_deref()).await?;
    let view = view(&mut tx, &principal).await?;
    tx.commit(Point::Account).await?;
    Ok(Json(view))
}

/// The rules as they are stored. Each names events that the caller may see.
fn check(owner: &Owner, rules: Vec<RuleBody>) -> Result<Vec<Rule>> {
    if rules.len() > RULES_MAX {
        return Err(Problem::field("/rules", "too_long", format!("At most {RULES_MAX} rules are allowed.")));
    }
    let check = |(index, rule): (usize, RuleBody)| {
        let place = |problem: Problem| problem.under(&format!("/rules/{index}"));
        check_types(owner, &rule.event_types).map_err(place)?;
        check_offerings(rule.offering_ids.as_deref()).map_err(place)?;
        Ok(Rule { event_types: rule.event_types, offering_ids: rule.offering_ids, pace: rule.pace })
    };
    rules.into_iter().enumerate().map(check).collect()
}

async fn view(tx: &mut Tx, principal: &Principal) -> Result<View> {
    let set = alert::rules(tx, &principal.0.user_id).await?;
    let is_default = set.is_none();
    let rules = set.unwrap_or_else(|| alert::rules_of_role(&principal.0.roles)).into_iter();
    let body = |r: Rule| RuleBody { event_types: r.event_types, offering_ids: r.offering_ids, pace: r.pace };
    Ok(View { rules: rules.map(body).collect(), is_default })
}
