//! Users: who can sign in, with which roles, and what two admins can change about it.

use axum::extract::{Path, RawQuery};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::id::IssuerId;
use serde::Deserialize;

use crate::console::act::{self, ADMINS, Act, Thing, Touch};
use crate::console::desk::Desk;
use crate::console::field::{Field, Kind, REASON, needed, optional};
use crate::console::form::Form;
use crate::console::list::{self, Asked, List, Listed};
use crate::console::record::{self, Facts, Record, fact};
use crate::console::table::{Row, Table, age, cell, short, state};
use crate::console::wording;
use crate::http::error::Result;

/// The address of this page.
pub const PATH: &str = "/console/users";
const TABS: &[(&str, &str)] =
    &[("", "All"), ("active", "Active"), ("pending_verification", "Not verified"), ("disabled", "Disabled")];
const ROLES: Kind = Kind::Several(&[
    ("investor", "Investor"),
    ("issuer", "Issuer"),
    ("operator", "Operator"),
    ("admin", "Admin"),
    ("auditor", "Auditor"),
]);
const WITH: Field = needed("roles", "Roles", ROLES);

const INVITE: Act = Act::post("invite", "Invite", "/v1/users", "Another admin has to approve; then a mail is sent.")
    .by(ADMINS)
    .touching(Touch::Two)
    .fields(&[needed("email", "E-mail address", Kind::Line), needed("name", "Name", Kind::Line), WITH, REASON]);

const ACTS: &[Act] = &[
    Act::post("roles", "Change the roles", "/v1/users/{id}/roles", "Staff can be made or unmade only by two admins.")
        .by(ADMINS)
        .patch()
        .touching(Touch::Two)
        .fields(&[WITH, optional("pii_read", "The auditor sees personal data", Kind::Flag), REASON])
        .said("The roles are changed."),
    Act::post("disable", "Disable", "/v1/users/{id}/disable", "They cannot sign in, and every session ends.")
        .by(ADMINS)
        .touching(Touch::Two)
        .from(&["active", "pending_verification"])
        .grave()
        .fields(&[REASON])
        .said("The user is disabled."),
    Act::post("enable", "Enable", "/v1/users/{id}/enable", "They can sign in again.")
        .by(ADMINS)
        .touching(Touch::Two)
        .from(&["disabled"])
        .fields(&[REASON])
        .said("The user can sign in again."),
    Act::post("sign-out", "End every session", "/v1/users/{id}/revoke-sessions", "They are signed out everywhere.")
        .by(ADMINS)
        .touching(Touch::Two)
        .fields(&[REASON])
        .said("Every session has ended."),
    Act::post("invite-again", "Send the invitation again", "/v1/users/{id}/invitation", "The mail is sent once more.")
        .by(ADMINS)
        .touching(Touch::Outside)
        .from(&["pending_verification"])
        .said("The mail is on its way."),
];

#[derive(Deserialize)]
struct Person {
    id: String,
    email: String,
    name: String,
    roles: Vec<String>,
    status: String,
    email_verified: bool,
    pii_read: bool,
    issuer_id: Option<IssuerId>,
    created_at: DateTime<Utc>,
}

/// The list.
pub async fn page(desk: Desk, RawQuery(query): RawQuery) -> Result<Response> {
    let asked = Asked::read(PATH, query.as_deref());
    let listed: Listed<Person> =
        desk.read(&asked.api("/v1/users", &[("status", asked.one_of("status", TABS))])).await?;
    let now = desk.now();
    let row = |one: &Person| Row {
        id: one.id.clone(),
        cells: vec![
            cell(&one.name).two(one.email.clone()).to(format!("{PATH}/{}", one.id)),
            cell(one.roles.iter().map(|role| wording::word(role)).collect::<Vec<_>>().join(", ")),
            state(&one.status),
            age(now, one.created_at),
        ],
    };
    let rows: Vec<Row> = listed.data.iter().map(row).collect();
    let list = List {
        title: "Users",
        tabs: asked.tabs("status", TABS),
        pages: asked.around(rows.len()),
        count: listed.pagination.total.map(|total| wording::count(total, "user", "users")).unwrap_or_default(),
        table: Table {
            columns: &[("User", ""), ("Roles", ""), ("Status", ""), ("Age", "num")],
            rows,
            empty: ("Nobody is here.", "Choose another tab."),
        },
        offers: act::offers(&desk, &[INVITE], &everything()),
        ..List::default()
    };
    list::page(&desk, PATH, list).await
}

/// One user.
pub async fn one(desk: Desk, Path(id): Path<String>) -> Result<Response> {
    let one = find(&desk, &id).await?;
    let yes = |yes: bool| cell(if yes { "yes" } else { "no" });
    let rows = vec![
        fact("E-mail address", cell(&one.email)),
        fact("Verified", yes(one.email_verified)),
        fact("Roles", cell(one.roles.iter().map(|role| wording::word(role)).collect::<Vec<_>>().join(", "))),
        fact("Sees personal data as an auditor", yes(one.pii_read)),
        fact("Issuer", one.issuer_id.as_deref().map_or_else(|| cell("none"), short)),
        fact("Since", cell(wording::moment(one.created_at))),
        fact("Id", cell(&one.id)),
    ];
    let record = Record {
        above: ("Users", PATH.to_owned()),
        name: one.name.clone(),
        state: Some(state(&one.status)),
        links: vec![("What they did", format!("/console/audit?actor={}", one.id))],
        facts: vec![Facts { title: "User", right: String::new(), rows }],
        offers: act::offers(&desk, ACTS, &thing(&one)),
        ..Record::default()
    };
    record::page(&desk, PATH, record).await
}

async fn find(desk: &Desk, id: &str) -> Result<Person> {
    desk.read(&format!("/v1/users/{id}")).await
}

/// The page before an act.
pub async fn sheet(
    desk: Desk,
    Path((id, word)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    act::sheet(&desk, &thing(&find(&desk, &id).await?), act::find(ACTS, &word)?, query.as_deref()).await
}

/// The act.
pub async fn act(desk: Desk, Path((id, word)): Path<(String, String)>, form: Form) -> Result<Response> {
    act::carry_out(&desk, &form, &thing(&find(&desk, &id).await?), act::find(ACTS, &word)?).await
}

/// The page of an invitation.
pub async fn new(desk: Desk, Path(word): Path<String>, RawQuery(query): RawQuery) -> Result<Response> {
    act::sheet(&desk, &everything(), act::find(&[INVITE], &word)?, query.as_deref()).await
}

/// Asks for an invitation.
pub async fn invite(desk: Desk, Path(word): Path<String>, form: Form) -> Result<Response> {
    act::carry_out(&desk, &form, &everything(), act::find(&[INVITE], &word)?).await
}

fn thing(one: &Person) -> Thing {
    Thing {
        nav: PATH,
        above: "Users",
        id: one.id.clone(),
        at: format!("{PATH}/{}", one.id),
        name: one.name.clone(),
        status: one.status.clone(),
        ..Thing::default()
    }
}

fn everything() -> Thing {
    Thing { nav: PATH, above: "Users", at: PATH.to_owned(), name: "New".to_owned(), ..Thing::default() }
}
