//! API keys: who acts by which, until when, and their end.

use axum::extract::{Path, RawQuery};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::id::UserId;
use muniment_domain::user::Role;
use serde::Deserialize;

use crate::code::Code;
use crate::console::act::{self, Act, Thing};
use crate::console::desk::Desk;
use crate::console::field::{Kind, needed, optional};
use crate::console::form::Form;
use crate::console::list::{self, Asked, List, Listed};
use crate::console::names::Names;
use crate::console::table::{Row, Table, cell};
use crate::console::wording;
use crate::http::error::{Problem, Result};

/// The address of this page.
pub const PATH: &str = "/console/keys";
const KEEPERS: &[Role] = &[Role::Issuer, Role::Admin];

const CREATE: Act = Act::post(
    "create",
    "New key",
    "/v1/api-keys",
    "A program acts by it for you. It is shown once. A key of the platform takes a second person.",
)
.by(KEEPERS)
.shows("key")
.fields(&[
    needed("name", "Name", Kind::Line),
    needed("scopes", "Scopes", Kind::Lines).hint("one a line, such as ops:read"),
    optional("expires_at", "Ends", Kind::Moment),
    optional("allowed_cidrs", "Only from these networks", Kind::Lines).hint("one a line, such as 203.0.113.0/24"),
    optional("rate_limit", "Requests a minute", Kind::Number),
])
.said("The key is made.");

const ACTS: &[Act] = &[
    Act::post(
        "rotate",
        "Rotate",
        "/v1/api-keys/{id}/rotate",
        "Makes the next key. The old one ends after the overlap.",
    )
    .by(KEEPERS)
    .shows("key")
    .from(&["active"])
    .fields(&[optional("overlap_hours", "Hours with both keys", Kind::Number)])
    .said("The next key is made."),
    Act::post("revoke", "Revoke", "/v1/api-keys/{id}", "Nothing can be done by this key from now on.")
        .by(KEEPERS)
        .delete()
        .grave()
        .from(&["active"])
        .said("The key is revoked."),
];

#[derive(Deserialize)]
struct Key {
    id: String,
    name: String,
    prefix: String,
    scopes: Vec<String>,
    user_id: UserId,
    expires_at: DateTime<Utc>,
    revoked_at: Option<DateTime<Utc>>,
    replaced_by: Option<String>,
}

/// The list.
pub async fn page(desk: Desk, RawQuery(query): RawQuery) -> Result<Response> {
    let asked = Asked::read(PATH, query.as_deref());
    let listed: Listed<Key> = desk.read(&asked.api("/v1/api-keys", &[])).await?;
    let now = desk.now();
    let may = desk.is_one_of(KEEPERS);
    let names = Names::of(&desk, listed.data.iter().map(|key| key.user_id.as_str())).await?;
    let row = |key: &Key| {
        let (tone, icon, word) = match status(key, now) {
            "active" => ("done", "done", "Active"),
            "revoked" => ("failed", "failed", "Revoked"),
            _ => ("none", "none", "Expired"),
        };
        let act = |word: &str, name: &str| match may && status(key, now) == "active" {
            true => cell(name).to(format!("{PATH}/{}/act/{word}", key.id)),
            false => cell(""),
        };
        let replaced = key.replaced_by.as_deref().map(|id| format!("replaced by {}", wording::short_id(id)));
        Row {
            id: key.id.clone(),
            cells: vec![
                cell(&key.name).two(key.prefix.clone()),
                cell(word).toned(tone, icon).two(replaced.unwrap_or_default()),
                cell(key.scopes.join(", ")),
                names.cell(&key.user_id),
                cell(wording::moment(key.expires_at)),
                act("rotate", "Rotate…"),
                act("revoke", "Revoke…"),
            ],
        }
    };
    let rows: Vec<Row> = listed.data.iter().map(row).collect();
    let list = List {
        title: "API keys",
        pages: asked.around(rows.len()),
        count: listed.pagination.total.map(|total| wording::count(total, "key", "keys")).unwrap_or_default(),
        table: Table {
            columns: &[
                ("Key", ""),
                ("Status", ""),
                ("Scopes", "hide-s"),
                ("Acts for", "hide-s"),
                ("Ends", ""),
                ("", ""),
                ("", ""),
            ],
            rows,
            empty: ("No key is here.", "A program acts by a key for its owner."),
        },
        offers: act::offers(&desk, &[CREATE], &everything()),
        ..List::default()
    };
    list::page(&desk, PATH, list).await
}

fn status(key: &Key, now: DateTime<Utc>) -> &'static str {
    match key.revoked_at {
        Some(_) => "revoked",
        None if key.expires_at <= now => "expired",
        None => "active",
    }
}

/// The page on which a key is made.
pub async fn new(desk: Desk, Path(word): Path<String>, RawQuery(query): RawQuery) -> Result<Response> {
    act::sheet(&desk, &everything(), act::find(&[CREATE], &word)?, query.as_deref()).await
}

/// Makes one.
pub async fn create(desk: Desk, Path(word): Path<String>, form: Form) -> Result<Response> {
    act::carry_out(&desk, &form, &everything(), act::find(&[CREATE], &word)?).await
}

/// The page before an act.
pub async fn sheet(
    desk: Desk,
    Path((id, word)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    act::sheet(&desk, &thing(&desk, &id).await?, act::find(ACTS, &word)?, query.as_deref()).await
}

/// The act.
pub async fn act(desk: Desk, Path((id, word)): Path<(String, String)>, form: Form) -> Result<Response> {
    act::carry_out(&desk, &form, &thing(&desk, &id).await?, act::find(ACTS, &word)?).await
}

/// A key has no page of its own.
pub async fn place() -> Response {
    crate::console::desk::away(PATH)
}

/// The key with this id. The API shows keys in their list only, newest first.
async fn find(desk: &Desk, id: &str) -> Result<Key> {
    let mut page = 1;
    loop {
        let listed: Listed<Key> = desk.read(&format!("/v1/api-keys?limit=100&page={page}")).await?;
        if listed.data.is_empty() {
            return Err(Problem::new(Code::NotFound, format!("There is no key {id}.")));
        }
        if let Some(key) = listed.data.into_iter().find(|key| key.id == id) {
            return Ok(key);
        }
        page += 1;
    }
}

async fn thing(desk: &Desk, id: &str) -> Result<Thing> {
    let key = find(desk, id).await?;
    Ok(Thing {
        nav: PATH,
        above: "API keys",
        id: key.id.clone(),
        at: format!("{PATH}/{}", key.id),
        name: key.name.clone(),
        status: status(&key, desk.now()).to_owned(),
        ..Thing::default()
    })
}

fn everything() -> Thing {
    Thing { nav: PATH, above: "API keys", at: PATH.to_owned(), name: "New".to_owned(), ..Thing::default() }
}
