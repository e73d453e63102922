//! `POST /v1/offerings` and `PATCH /v1/offerings/{id}`.

use std::borrow::Cow;

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::Error;
use muniment_domain::db::Tx;
use muniment_domain::id::{IssuerId, OfferingId};
use muniment_domain::idempotency::Answer;
use muniment_domain::offering::{Offering, Scope, find_detail};
use muniment_workflows::offering;
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use serde_json::json;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::record::{self, Full};
use super::terms::{self, Terms};
use super::{Audience, checked, running};
use crate::access::principal::Principal;
use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::code::Code;
use crate::field::id::location;
use crate::http::error::{Problem, Result};
use crate::http::version::{IfAnyMatch, OptionalSeen};

/// The terms of the new offering.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Draft {
    terms: Terms,
    #[serde(skip)]
    owner: Option<(IssuerId, Audience)>,
    #[serde(skip)]
    chain_id: Option<i64>,
}

/// Create a draft offering.
///
/// Answers 201 with its location.
#[utoipa::path(
    post,
    path = "/v1/offerings",
    request_body = Draft,
    params(IdempotencyKey),
    responses((status = 201, body = Full, headers(("ETag")))),
    extensions(("x-codes" = json!(["forbidden", "not_found", "invalid_state"]))),
)]
pub async fn create(
    State(app): State<App>,
    principal: Principal,
    mut submission: Submission<Draft>,
) -> Result<Response> {
    let body = &mut submission.body;
    let own = principal.0.issuer_id.clone();
    // Staff name the issuer; other callers have one.
    let issuer_id = match (principal.is_staff(), body.terms.issuer_id.take(), own) {
        (true, Some(named), _) => named,
        (true, None, _) => return Err(Problem::field("/issuer_id", "required", "The issuer is required.")),
        (false, _, None) => return Err(Problem::new(Code::Forbidden, "You are not a member of an issuer.")),
        (false, Some(named), Some(own)) if named != own => {
            return Err(Problem::field(
                "/issuer_id",
                "unexpected",
                "You can create offerings only for your own issuer.",
            ));
        }
        (false, _, Some(own)) => own,
    };
    let audience = if principal.is_staff() { Audience::Staff } else { Audience::Org };
    body.owner = Some((issuer_id, audience));
    body.chain_id = body.terms.chain_id(&app)?;
    idempotency::once(&app, &submission).await
}

impl Form for Draft {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Problem::all([self.terms.must_be_whole(), self.terms.check()])
    }
}

impl ChangeRequest for Draft {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let Some((issuer_id, audience)) = self.owner.clone() else { return Err(unnamed()) };
        let mut draft = Offering { issuer_id, ..Offering::default() };
        self.terms.clone().apply(self.chain_id, &mut draft);
        let stored = offering::create(tx, draft, &by).await?;
        answer(app, tx, &stored, audience, 201).await
    }

    fn etag(answer: &Answer) -> Option<String> {
        record::tag_of(answer)
    }
}

impl PartialSchema for Draft {
    fn schema() -> RefOr<Schema> {
        terms::schema(|fields| {
            fields.description = Some("A new offering.".to_owned());
            fields.required = terms::NEEDED.iter().map(|name| (*name).to_owned()).collect();
            fields.example = Some(json!({
                "name": "Solar Park Alentejo", "template": "real_estate_equity", "description": "A share in a solar park.",
                "currency": "EUR", "minimum_investment": "1000.00", "target_amount": "200000.00", "hard_cap": "250000.00",
                "token_symbol": "SOLAR", "network": "dev", "closes_at": "2036-06-30T22:00:00Z",
            }));
        })
    }
}

impl ToSchema for Draft {
    fn name() -> Cow<'static, str> {
        "NewOffering".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Terms::schemas(schemas);
    }
}

/// A change.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Change {
    terms: Terms,
    #[serde(skip)]
    target: Option<Target>,
}

#[derive(Debug)]
struct Target {
    id: OfferingId,
    scope: Scope,
    audience: Audience,
    chain_id: Option<i64>,
    seen: Option<i64>,
}

/// Change an offering.
///
/// A draft can change completely; later only some fields can. `If-Match` is required except for a draft.
#[utoipa::path(
    patch,
    path = "/v1/offerings/{id}",
    request_body = Change,
    params(IdempotencyKey, OptionalSeen),
    responses((status = 200, body = Full, headers(("ETag")))),
    extensions(("x-codes" = json!(["invalid_state", "version_conflict", "precondition_required"]))),
)]
pub async fn change(
    State(app): State<App>,
    id: Path<OfferingId>,
    principal: Principal,
    IfAnyMatch(seen): IfAnyMatch,
    mut submission: Submission<Change>,
) -> Result<Response> {
    let id = checked(id)?;
    let audience = if principal.is_staff() { Audience::Staff } else { Audience::Org };
    let chain_id = submission.body.terms.chain_id(&app)?;
    submission.body.target = Some(Target { id, scope: running(&principal), audience, chain_id, seen });
    idempotency::once(&app, &submission).await
}

impl Form for Change {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        if self.terms.issuer_id.is_some() {
            return Err(Problem::field("/issuer_id", "unexpected", "The issuer of an offering cannot be changed."));
        }
        self.terms.check()
    }
}

impl ChangeRequest for Change {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let Some(target) = &self.target else { return Err(unnamed()) };
        let apply = |o: &mut Offering| self.terms.clone().apply(target.chain_id, o);
        let o = offering::change(tx, &target.scope, &target.id, target.seen, apply, &by).await?;
        answer(app, tx, &o, target.audience, 200).await
    }

    fn etag(answer: &Answer) -> Option<String> {
        record::tag_of(answer)
    }
}

impl PartialSchema for Change {
    fn schema() -> RefOr<Schema> {
        terms::schema(|fields| {
            fields.description = Some("What changes. Null takes away what may be absent.".to_owned());
            fields.properties.remove("issuer_id");
            fields.example = Some(json!({ "description": "A share in a solar park, with a battery." }));
        })
    }
}

impl ToSchema for Change {
    fn name() -> Cow<'static, str> {
        "ChangeOfOffering".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Terms::schemas(schemas);
    }
}

/// The offering as the answer to a change.
pub async fn answer(
    app: &App,
    tx: &mut Tx,
    o: &Offering,
    audience: Audience,
    status: i64,
) -> muniment_domain::Result<Answer> {
    let shown = find_detail(tx, &Scope::All, &o.id).await?;
    let body = record::text(&record::full(app, tx, &shown, audience).await?)?;
    Ok(Answer { status, location: (status == 201).then(|| location(&o.id)), body })
}

/// The handler did not set the id.
pub fn unnamed() -> Error {
    Error::refused(muniment_domain::Code::NotFound, "The offering id is missing.")
}
