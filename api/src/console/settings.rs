//! Settings: the policies that two admins change, and what the configuration fixes.

use axum::extract::{Path, RawQuery};
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::console::act::{self, ADMINS, Act, Thing, Touch};
use crate::console::desk::Desk;
use crate::console::field::{Field, Kind, REASON, needed};
use crate::console::form::Form;
use crate::console::names::Names;
use crate::console::record::{self, Facts, Record, Section, fact};
use crate::console::table::{Row, Table, cell};
use crate::console::wording;
use crate::http::error::Result;

/// The address of this page.
pub const PATH: &str = "/console/settings";

const FIELDS: &[Field] = &[
    needed("limits/mint_dual_control_threshold", "Mints take two people from this amount a day", Kind::Line),
    needed("limits/payout_dual_control_threshold", "Payouts take two people from this amount", Kind::Line),
    needed("limits/mint_platform_dual_control_threshold", "The same for the mints of all offerings", Kind::Line),
    needed("limits/payout_platform_dual_control_threshold", "The same for the payouts of all offerings", Kind::Line),
    needed("limits/means_raise_days", "Days between two rises of an investor's declared means", Kind::Number),
    needed("limits/payout_dust_threshold", "Smaller payouts are held", Kind::Line),
    needed("limits/approval_hours", "Hours until an approval ends", Kind::Number),
    needed("limits/payment_due_days", "Days to pay a subscription", Kind::Number),
    needed("limits/kyc_months", "Months until an identity is checked again", Kind::Number),
    needed("limits/kyc_months_at_high_risk", "The same at high risk", Kind::Number),
    needed("limits/issuer_invitations_per_day", "Invitations of an issuer a day", Kind::Number),
    needed("limits/unverified_hours", "Hours in which words reserve room", Kind::Number),
    needed("limits/unverified_investor_percent", "Share that one unverified investor reserves, percent", Kind::Number),
    needed("limits/unverified_total_percent", "Share that all unverified reserve, percent", Kind::Number),
    needed("limits/unpaid_investor_percent", "Share that one unpaid investor reserves, percent", Kind::Number),
    REASON,
];

const CHANGE: Act =
    Act::post("change", "Change the policies", "/v1/policies", "A second admin has to approve exactly these values.")
        .by(ADMINS)
        .put()
        .touching(Touch::Two)
        .grave()
        .fields(FIELDS)
        .said("Asked for. A second person has to decide.");

#[derive(Deserialize)]
struct Policies {
    version: i64,
    limits: Map<String, Value>,
    fixed: Value,
    bounds: Vec<Bound>,
    maker: Option<String>,
    checker: Option<String>,
    reason: Option<String>,
    since: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
struct Bound {
    name: String,
    minimum: Value,
    maximum: Value,
}

#[derive(Deserialize)]
struct Version {
    version: String,
    migration: i64,
}

/// The page.
pub async fn page(desk: Desk) -> Result<Response> {
    let policies: Policies = desk.read("/v1/policies").await?;
    let program: Version = desk.read("/version").await?;
    let mut rows: Vec<_> = FIELDS
        .iter()
        .filter_map(|field| Some((field, field.name.strip_prefix("limits/")?)))
        .map(|(field, name)| {
            let bound = policies.bounds.iter().find(|bound| bound.name == name);
            let range = bound.map(|bound| format!("{} to {}", text(&bound.minimum), text(&bound.maximum)));
            fact(field.label, cell(text(&policies.limits[name])).two(range.unwrap_or_default()))
        })
        .collect();
    rows.push(fact("Why", cell(policies.reason.clone().unwrap_or_else(|| "as delivered".to_owned()))));
    let people = [&policies.maker, &policies.checker].into_iter().flatten();
    let names = Names::of(&desk, people.map(String::as_str)).await?;
    let who = |id: &Option<String>| id.as_deref().map_or_else(|| cell("nobody"), |id| names.cell(id));
    rows.push(fact("Asked for by", who(&policies.maker)));
    rows.push(fact("Approved by", who(&policies.checker)));
    let record = Record {
        above: ("Overview", "/console".to_owned()),
        name: "Settings".to_owned(),
        sub: format!("muniment {}, schema {}", program.version, program.migration),
        links: vec![("Users", "/console/users".to_owned()), ("API keys", "/console/keys".to_owned())],
        facts: vec![Facts {
            title: "Policies",
            right: format!(
                "version {}{}",
                policies.version,
                policies.since.map(|at| format!(", since {}", wording::moment(at))).unwrap_or_default()
            ),
            rows,
        }],
        offers: act::offers(&desk, &[CHANGE], &thing(&policies)),
        sections: vec![fixed(&policies.fixed)],
        ..Record::default()
    };
    record::page(&desk, PATH, record).await
}

/// What the configuration fixes, one line a value.
fn fixed(value: &Value) -> Section {
    let mut lines = Vec::new();
    flatten("", value, &mut lines);
    let row =
        |(name, value): (String, String)| Row { id: format!("fixed-{name}"), cells: vec![cell(&name), cell(value)] };
    Section {
        id: "fixed",
        title: "Fixed by the configuration",
        small: "a change needs a restart".to_owned(),
        table: Table {
            columns: &[("Key", ""), ("Value", "num")],
            rows: lines.into_iter().map(row).collect(),
            empty: ("Nothing.", ""),
        },
        pages: (None, None),
        ..Section::default()
    }
}

fn flatten(path: &str, value: &Value, lines: &mut Vec<(String, String)>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| flatten(&below(name), value, lines)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| flatten(&below(&index.to_string()), value, lines));
        }
        value => lines.push((path.to_owned(), text(value))),
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The page before the change, filled with what counts now.
pub async fn sheet(desk: Desk, Path(word): Path<String>, RawQuery(query): RawQuery) -> Result<Response> {
    let policies: Policies = desk.read("/v1/policies").await?;
    let query = filled(&policies, query.unwrap_or_default());
    act::sheet(&desk, &thing(&policies), act::find(&[CHANGE], &word)?, Some(&query)).await
}

/// The query with the values that count now.
fn filled(policies: &Policies, query: String) -> String {
    let mut fields = form_urlencoded::Serializer::new(query);
    for (name, value) in &policies.limits {
        fields.append_pair(&format!("limits/{name}"), &text(value));
    }
    fields.finish()
}

/// Asks for the change.
pub async fn change(desk: Desk, Path(word): Path<String>, form: Form) -> Result<Response> {
    let policies: Policies = desk.read("/v1/policies").await?;
    act::carry_out(&desk, &form, &thing(&policies), act::find(&[CHANGE], &word)?).await
}

fn thing(policies: &Policies) -> Thing {
    Thing {
        nav: PATH,
        above: "Settings",
        at: PATH.to_owned(),
        name: "Policies".to_owned(),
        version: Some(policies.version),
        ..Thing::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_the_configuration_are_shown_one_a_line() {
        let mut lines = Vec::new();
        flatten("", &json!({ "engine": { "a": 1 }, "chains": [{ "b": null }] }), &mut lines);
        let line = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(lines, [line("chains.0.b", "null"), line("engine.a", "1")]);
    }
}
