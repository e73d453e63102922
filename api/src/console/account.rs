//! The own account of a person: their second factor and their sessions.

use axum::extract::{Path, RawQuery};
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::console::act::{self, Act, Thing};
use crate::console::desk::Desk;
use crate::console::field::{Kind, needed};
use crate::console::form::Form;
use crate::console::list::Listed;
use crate::console::nav::EVERYBODY;
use crate::console::record::{self, Facts, Record, Section, fact};
use crate::console::table::{Row, Table, age, cell};
use crate::console::wording;
use crate::http::error::Result;

/// The address of this page.
pub const PATH: &str = "/console/account";

const ACTS: &[Act] = &[
    Act::post("set-up", "Set up a second factor", "/v1/auth/mfa/totp", "Shows a secret for your authenticator app.")
        .by(EVERYBODY)
        .from(&["off"])
        .shows("secret")
        .said("Type this secret into your authenticator app. Then confirm the second factor with a code of the app."),
    Act::post(
        "confirm",
        "Confirm the second factor",
        "/v1/auth/mfa/totp/confirm",
        "From then on every sign-in asks for a code. Your other sessions end.",
    )
    .by(EVERYBODY)
    .from(&["off"])
    .fields(&[needed("code", "Code of your app", Kind::Line)])
    .said("The second factor is on."),
    Act::post(
        "recovery-codes",
        "New recovery codes",
        "/v1/auth/mfa/recovery-codes",
        "Ten codes. Each is good for one sign-in without the app. Earlier codes stop working.",
    )
    .by(EVERYBODY)
    .from(&["on"])
    .shows("recovery_codes")
    .said("Each code is good for one sign-in without the app. Earlier codes stopped working."),
    Act::post(
        "remove",
        "Remove the second factor",
        "/v1/auth/mfa/totp",
        "A password alone signs you in. Your other sessions end.",
    )
    .by(EVERYBODY)
    .delete()
    .from(&["on"])
    .grave()
    .said("The second factor is removed."),
    Act::post("end-others", "End the other sessions", "/v1/auth/sessions", "You stay signed in only here.")
        .by(EVERYBODY)
        .delete()
        .said("Your other sessions have ended."),
];

#[derive(Deserialize)]
struct Me {
    name: String,
    email: String,
    roles: Vec<String>,
    mfa: Mfa,
}

#[derive(Deserialize)]
struct Mfa {
    enabled: bool,
}

#[derive(Deserialize)]
struct Session {
    id: String,
    device_name: Option<String>,
    ip: Option<String>,
    created_at: DateTime<Utc>,
    last_used_at: DateTime<Utc>,
    current: bool,
}

/// The page.
pub async fn page(desk: Desk) -> Result<Response> {
    let me: Me = desk.read("/v1/auth/me").await?;
    let sessions: Listed<Session> = desk.read("/v1/auth/sessions").await?;
    let factor = if me.mfa.enabled { cell("on").toned("done", "done") } else { cell("off").toned("person", "person") };
    let rows = vec![
        fact("E-mail address", cell(&me.email)),
        fact("Roles", cell(me.roles.iter().map(|role| wording::word(role)).collect::<Vec<_>>().join(", "))),
        fact("Second factor", factor),
    ];
    let must = desk.person.must_enrol(&desk.console.app);
    let record = Record {
        above: ("Overview", "/console".to_owned()),
        name: me.name.clone(),
        note: must.then(|| "Set up a second factor first. Until then the other pages are closed to you.".to_owned()),
        facts: vec![Facts { title: "Your account", right: String::new(), rows }],
        offers: act::offers(&desk, ACTS, &thing(&me)),
        sections: vec![section(&desk, &sessions.data)],
        ..Record::default()
    };
    record::page(&desk, PATH, record).await
}

fn section(desk: &Desk, sessions: &[Session]) -> Section {
    let row = |one: &Session| Row {
        id: one.id.clone(),
        cells: vec![
            cell(one.device_name.as_deref().unwrap_or("no name")).two(if one.current { "this one" } else { "" }),
            cell(one.ip.as_deref().unwrap_or("not known")),
            age(desk.now(), one.last_used_at),
            age(desk.now(), one.created_at),
        ],
    };
    Section {
        id: "sessions",
        title: "Sessions",
        small: "where you are signed in".to_owned(),
        table: Table {
            columns: &[("Device", ""), ("Address", ""), ("Last used", "num"), ("Age", "num")],
            rows: sessions.iter().map(row).collect(),
            empty: ("No session.", ""),
        },
        pages: (None, None),
        ..Section::default()
    }
}

/// The page before an act.
pub async fn sheet(desk: Desk, Path(word): Path<String>, RawQuery(query): RawQuery) -> Result<Response> {
    let me: Me = desk.read("/v1/auth/me").await?;
    act::sheet(&desk, &thing(&me), act::find(ACTS, &word)?, query.as_deref()).await
}

/// The act.
pub async fn act(desk: Desk, Path(word): Path<String>, form: Form) -> Result<Response> {
    let me: Me = desk.read("/v1/auth/me").await?;
    act::carry_out(&desk, &form, &thing(&me), act::find(ACTS, &word)?).await
}

fn thing(me: &Me) -> Thing {
    let status = if me.mfa.enabled { "on" } else { "off" }.to_owned();
    Thing { nav: PATH, above: "Your account", at: PATH.to_owned(), name: me.name.clone(), status, ..Thing::default() }
}
