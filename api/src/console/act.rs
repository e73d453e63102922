//! Acts of people, each behind a page that says what it will do. A noun lists its acts; the page, the form and the call are the same for all.

use askama::Template;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use muniment_domain::user::Role;
use serde_json::{Map, Value, json};

use crate::code::Code;
use crate::console::desk::Desk;
use crate::console::field::{Field, Filled, Kind};
use crate::console::form::{Form, KEY};
use crate::console::frame::Frame;
use crate::console::{html, problem};
use crate::http::error::{Problem, Result};

/// The systems that an act changes.
#[derive(Clone, Copy)]
pub enum Touch {
    /// Our books only.
    Books,
    /// It can send a transaction.
    Chain,
    /// It can take two people.
    Two,
    /// It leaves the platform, by mail or by a request.
    Outside,
}

/// An act.
#[derive(Clone, Copy)]
pub struct Act {
    /// Its word in an address.
    pub word: &'static str,
    /// The text of its button.
    pub name: &'static str,
    /// What it does.
    does: &'static str,
    method: Verb,
    /// The address of the API. `{id}` is the thing, `{of}` a part of it.
    path: &'static str,
    touch: Touch,
    roles: &'static [Role],
    /// The statuses in which it is possible; empty for all.
    from: &'static [&'static str],
    /// The word under which the API lists it as possible; empty if it lists none.
    listed: &'static str,
    fields: &'static [Field],
    /// The field of the body that names the thing.
    own: &'static str,
    /// The message on the next page.
    said: &'static str,
    /// The field of the answer with a secret, which is shown once.
    secret: &'static str,
    is_grave: bool,
    opens: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Post,
    Patch,
    Put,
    Delete,
}

/// The roles that act for the platform.
pub const OPERATORS: &[Role] = &[Role::Operator, Role::Admin];
/// The roles that act for an offering.
pub const ORGANISERS: &[Role] = &[Role::Issuer, Role::Operator, Role::Admin];
/// The roles that administer the platform.
pub const ADMINS: &[Role] = &[Role::Admin];

impl Act {
    /// An act that posts to this address.
    pub const fn post(word: &'static str, name: &'static str, path: &'static str, does: &'static str) -> Self {
        Self {
            word,
            name,
            does,
            method: Verb::Post,
            path,
            touch: Touch::Books,
            roles: OPERATORS,
            from: &[],
            listed: "",
            fields: &[],
            own: "",
            said: "Done.",
            secret: "",
            is_grave: false,
            opens: false,
        }
    }

    /// Sends it by PATCH.
    pub const fn patch(self) -> Self {
        Self { method: Verb::Patch, ..self }
    }

    /// Sends it by PUT.
    pub const fn put(self) -> Self {
        Self { method: Verb::Put, ..self }
    }

    /// Sends it by DELETE.
    pub const fn delete(self) -> Self {
        Self { method: Verb::Delete, ..self }
    }

    /// Asks for these fields.
    pub const fn fields(self, fields: &'static [Field]) -> Self {
        Self { fields, ..self }
    }

    /// Allows it to these roles.
    pub const fn by(self, roles: &'static [Role]) -> Self {
        Self { roles, ..self }
    }

    /// Makes it possible in these statuses only.
    pub const fn from(self, from: &'static [&'static str]) -> Self {
        Self { from, ..self }
    }

    /// Makes it possible only where the API lists this word.
    pub const fn listed(self, listed: &'static str) -> Self {
        Self { listed, ..self }
    }

    /// Sets what it changes besides the database.
    pub const fn touching(self, touch: Touch) -> Self {
        Self { touch, ..self }
    }

    /// Sets the message on the next page.
    pub const fn said(self, said: &'static str) -> Self {
        Self { said, ..self }
    }

    /// Sends the id of the thing in this field of the body.
    pub const fn about(self, own: &'static str) -> Self {
        Self { own, ..self }
    }

    /// Shows the secret in this field of the answer, once.
    pub const fn shows(self, secret: &'static str) -> Self {
        Self { secret, ..self }
    }

    /// Marks it as hard to take back.
    pub const fn grave(self) -> Self {
        Self { is_grave: true, ..self }
    }

    /// Opens the page of the new thing that the answer holds.
    pub const fn opens(self) -> Self {
        Self { opens: true, ..self }
    }

    /// The fields that a person fills in.
    fn asked(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| !matches!(field.kind, Kind::Fixed(_)))
    }

    fn tag(&self) -> (&'static str, &'static str, &'static str) {
        match self.touch {
            Touch::Books => ("", "book", "Books only"),
            Touch::Chain => ("chain", "net", "Sends a transaction"),
            Touch::Two => ("two", "two", "Can take two people"),
            Touch::Outside => ("chain", "net", "Leaves the platform"),
        }
    }

    fn why_not(&self, thing: &Thing) -> Option<String> {
        let status = thing.status.as_str();
        let fits = self.from.is_empty() || self.from.contains(&status);
        let is_listed = self.listed.is_empty() || thing.allowed.iter().any(|word| word == self.listed);
        (!fits || !is_listed).then(|| format!("Not now: the status is {}.", status.replace('_', " ")))
    }
}

/// An act as a page shows it.
pub struct Offer {
    /// Its name.
    pub name: &'static str,
    /// Its page. None if the person may not act, or if it is not possible now.
    pub href: Option<String>,
    /// What it does, or why not.
    pub does: String,
    /// Whether it is possible now.
    pub is_possible: bool,
    /// What it touches: class, symbol, words.
    pub tag: (&'static str, &'static str, &'static str),
}

/// The acts on a thing in this status, as this person sees them.
pub fn offers(desk: &Desk, acts: &[Act], thing: &Thing) -> Vec<Offer> {
    let offer = |act: &Act| {
        let why_not = act.why_not(thing);
        let may = desk.is_one_of(act.roles) && why_not.is_none();
        Offer {
            name: act.name,
            href: may.then(|| format!("{}/act/{}", thing.at, act.word)),
            is_possible: why_not.is_none(),
            does: why_not.unwrap_or_else(|| act.does.to_owned()),
            tag: act.tag(),
        }
    };
    acts.iter().map(offer).collect()
}

/// The thing that is acted on.
#[derive(Default)]
pub struct Thing {
    /// The row of the navigation.
    pub nav: &'static str,
    /// The name of that page.
    pub above: &'static str,
    /// Its id.
    pub id: String,
    /// Its own page.
    pub at: String,
    /// What people call it.
    pub name: String,
    /// Its status.
    pub status: String,
    /// What the API lists as possible now.
    pub allowed: Vec<String>,
    /// Its version, where the API asks for it.
    pub version: Option<i64>,
    /// The part of it that the act is about: name and value.
    pub part: Vec<(&'static str, String)>,
}

#[derive(Template)]
#[template(path = "sheet.html")]
struct Sheet<'a> {
    frame: Frame,
    act: &'a Act,
    thing: &'a Thing,
    filled: Filled,
    why_not: Option<String>,
    refused: Option<String>,
    /// Where the same sheet is read anew, if this one can only be refused again.
    fresh: Option<String>,
    /// The version that the person has seen.
    version: Option<String>,
    key: String,
}

#[derive(Template)]
#[template(path = "secret.html")]
struct Secret<'a> {
    frame: Frame,
    act: &'a Act,
    thing: &'a Thing,
    secret: String,
}

/// The act with this word.
pub fn find<'a>(acts: &'a [Act], word: &str) -> Result<&'a Act> {
    let none = || Problem::new(Code::NotFound, "There is no such action here.");
    acts.iter().find(|act| act.word == word).ok_or_else(none)
}

/// The page before an act. The query fills its fields.
pub async fn sheet(desk: &Desk, thing: &Thing, act: &Act, query: Option<&str>) -> Result<Response> {
    let frame = Frame::of(desk, thing.nav, act.name).await?;
    let (filled, why_not) = (Filled::of_query(query), act.why_not(thing));
    let (version, key) = (thing.version.map(|version| version.to_string()), desk.key());
    let page = Sheet { frame, act, thing, filled, why_not, refused: None, fresh: None, version, key };
    Ok(html::page(StatusCode::OK, &page))
}

/// The same page after a refusal, with what was typed and the version on which it was decided.
async fn again(desk: &Desk, form: &Form, thing: &Thing, act: &Act, problem: &Problem) -> Result<Response> {
    let frame = Frame::of(desk, thing.nav, act.name).await?;
    let (code, was_sent) = (problem.code, was_sent(problem.code));
    let is_stale = code == Code::VersionConflict || was_sent && code != Code::IdempotencyInProgress;
    let page = Sheet {
        frame,
        act,
        thing,
        filled: Filled::of_form(form),
        why_not: None,
        refused: Some(sentence(problem)),
        // What has changed is on the thing's own page: a sheet does not show it.
        fresh: is_stale.then(|| if code == Code::VersionConflict { thing.at.clone() } else { fresh(desk, form) }),
        version: form.given("version").map(str::to_owned),
        // Under a new key the same form would take effect twice.
        key: form.given(KEY).filter(|_| was_sent).map_or_else(|| desk.key(), str::to_owned),
    };
    Ok(html::page(problem::status(problem), &page))
}

/// Whether this form was sent before and has, or can still have, an effect.
fn was_sent(code: Code) -> bool {
    matches!(code, Code::IdempotencyInProgress | Code::IdempotencyKeySpent | Code::IdempotencyKeyReuse)
}

fn fresh(desk: &Desk, form: &Form) -> String {
    match form.given("of") {
        Some(of) => format!("{}?of={}", desk.at, form_urlencoded::byte_serialize(of.as_bytes()).collect::<String>()),
        None => desk.at.clone(),
    }
}

fn sentence(problem: &Problem) -> String {
    let fields: Vec<_> = problem.fields().iter().map(|field| field.detail.clone()).collect();
    let told = if fields.is_empty() { problem.detail().unwrap_or_default().to_owned() } else { fields.join(" ") };
    match problem.code {
        Code::IdempotencyInProgress => {
            "The platform still works on it, and does it once. Press the button again in a moment to see what came of it."
                .to_owned()
        }
        code if was_sent(code) => {
            "You sent this form before. This time nothing was changed. Look at what came of it before you do it again."
                .to_owned()
        }
        code => format!("{}. {told} Nothing was changed, and what you typed is kept.", code.title()),
    }
}

/// Performs the act. If the API refuses the input, the same page shows why and keeps what was typed.
pub async fn carry_out(desk: &Desk, form: &Form, thing: &Thing, act: &Act) -> Result<Response> {
    let reply = match send(desk, form, thing, act).await {
        Ok(reply) => reply,
        Err(problem) if matches!(problem.code.status(), 400 | 409 | 412 | 422) || problem.code == Code::MfaInvalid => {
            return again(desk, form, thing, act, &problem).await;
        }
        Err(problem) => return Err(problem),
    };
    if let Some(secret) = reply.body.get(act.secret).and_then(lines) {
        let frame = Frame::of(desk, thing.nav, act.name).await?;
        return Ok(html::page(StatusCode::OK, &Secret { frame, act, thing, secret }));
    }
    let asked = reply.body.get("approval").is_some_and(Value::is_object) && reply.status == StatusCode::ACCEPTED;
    let new = reply.body.get("id").and_then(Value::as_str).filter(|_| act.opens && !asked);
    let to = new.map_or_else(|| thing.at.clone(), |id| format!("{}/{id}", thing.nav));
    Ok(desk.done(&to, if asked { "Asked for. A second person has to decide." } else { act.said }))
}

/// A secret, or several: one a line.
fn lines(secret: &Value) -> Option<String> {
    let list = |list: &Vec<Value>| list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n");
    secret.as_str().map(str::to_owned).or_else(|| secret.as_array().map(list))
}

async fn send(desk: &Desk, form: &Form, thing: &Thing, act: &Act) -> Result<crate::console::call::Reply> {
    let part = form.text("of");
    if !part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-') {
        return Err(Problem::new(Code::NotFound, "There is nothing with this id."));
    }
    let path = act.path.replace("{id}", &thing.id).replace("{of}", part);
    let mut body = Map::new();
    for field in act.fields {
        field.write(form, &mut body);
    }
    if !act.own.is_empty() {
        body.insert(act.own.to_owned(), json!(thing.id));
    }
    let method = match act.method {
        Verb::Post => Method::POST,
        Verb::Patch => Method::PATCH,
        Verb::Put => Method::PUT,
        Verb::Delete => Method::DELETE,
    };
    let body = if act.method == Verb::Delete { Value::Null } else { Value::Object(body) };
    // The version that the page showed, so that nobody overwrites what they did not read.
    let version = form.given("version").map(|version| format!("\"v{version}\""));
    let headers: Vec<_> = version.as_deref().map(|version| ("if-match", version)).into_iter().collect();
    desk.change(method, &path, form, &body, &headers).await
}
