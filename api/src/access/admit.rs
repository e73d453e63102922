//! The layer before every handler: it authenticates the caller and checks the access of the endpoint.

use axum::extract::{Request, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use muniment_domain::audit::{self as domain, Act, acting};
use muniment_domain::{issuer, row_security};

use crate::access::permission::Access;
use crate::access::principal::{Known, Principal, authenticate, bearer, invalid, missing};
use crate::access::route::{Rate, Route};
use crate::access::{audited, csrf};
use crate::app::App;
use crate::code::Code;
use crate::http::error::{Problem, Result};
use crate::http::origin::{self, Origin};
use crate::http::rate::{Counted, Usage};

/// The layer of one endpoint.
pub async fn admit(State((app, route)): State<(App, &'static Route)>, request: Request, next: Next) -> Response {
    let (mut usage, mut principal) = (None, None);
    let (mut parts, body) = request.into_parts();
    let verdict = check(&app, route, &parts, &mut usage, &mut principal).await;
    let act = audited::of(&app, route, &parts, principal.as_ref());
    let noted = act.clone().filter(|_| principal.is_some());
    let limited = principal.as_ref().filter(|principal| route.own_rows && principal.0.is_only_investor());
    let viewer = limited.map(|principal| principal.0.investor_id.clone());
    let mut response = match verdict {
        Ok(()) => {
            if let Some(principal) = principal.filter(|caller| route.answers_as(&app, caller)) {
                parts.extensions.insert(principal);
            }
            parts.extensions.insert(route);
            let answer = next.run(Request::from_parts(parts, body));
            let answer = async {
                match viewer {
                    Some(viewer) => row_security::limited_to(viewer.as_ref(), answer).await,
                    None => answer.await,
                }
            };
            // The task knows the act before any handler runs: whatever it commits gets its audit entry.
            match act {
                Some(act) => acting(act, answer).await,
                None => answer.await,
            }
        }
        Err(problem) => problem.into_response(),
    };
    if let Some(act) = noted {
        response = note(&app, route, act, response).await;
    }
    if let Some(usage) = usage {
        usage.write_to(response.headers_mut());
    }
    response
}

/// Writes the audit entry of a refusal, or of a read that shows a person's own data. Without its entry the answer is not given.
async fn note(app: &App, route: &Route, act: Act, response: Response) -> Response {
    let refused = audited::refusal(route, &response).map(Code::as_str);
    let read = route.audits_reads && response.status().is_success();
    if refused.is_none() && !read {
        return response;
    }
    match domain::write_single(&app.db, act, refused).await {
        Ok(()) => response,
        Err(error) => Problem::from(error).into_response(),
    }
}

/// How many times the room of a network a site of IPv6 has: an office with many networks works, and who has 65,536 of them gains little.
const NETWORKS_OF_SITE: u32 = 16;

/// Counts a caller who is not known, by network. The site is asked first, so that its networks do not fill the table.
fn count_stranger(
    origin: &Origin,
    rate: Rate,
    quota: u32,
    mut take: impl FnMut(&'static str, &str, u32) -> Result<()>,
) -> Result<()> {
    if let Some(site) = origin.site() {
        take(rate.name(), &site, quota.saturating_mul(NETWORKS_OF_SITE))?;
    }
    take(rate.name(), &origin.network(), quota)
}

/// Checks in this order: the caller (401), the page that sent the request (403), the rate limit (429), and the permission (403).
async fn check(
    app: &App,
    route: &Route,
    request: &Parts,
    usage: &mut Option<Usage>,
    caller: &mut Option<Principal>,
) -> Result<()> {
    let headers = &request.headers;
    let origin = Origin::of(headers, request.extensions.get(), &app.limits.trusted_proxies);
    let counted = request.extensions.get::<Counted>().is_some();
    let mut limit = |name, who: &str, quota| match app.limiter.take(
        name,
        who,
        if counted { 0 } else { quota },
        app.db.clock().now(),
    ) {
        Ok(stands) => {
            *usage = stands;
            Ok(())
        }
        Err((problem, stands)) => {
            *usage = Some(stands);
            Err(problem)
        }
    };
    let anonymous = Rate::Anonymous;
    let is_stranger = !headers.contains_key(header::AUTHORIZATION) && request.extensions.get::<Known>().is_none();
    match route.access {
        Access::Open => return Ok(()),
        Access::Door => {
            // What a page of another origin sends costs its reader nothing.
            origin::check_page(headers, &app.limits.origins)?;
            return count_stranger(&origin, route.rate, route.rate.per_minute(&app.rates), limit);
        }
        _ if is_stranger && route.is_public(app) => {
            return count_stranger(&origin, anonymous, anonymous.per_minute(&app.rates), limit);
        }
        _ => (),
    }
    let principal = match identify(app, request, &origin).await {
        Ok(principal) => principal,
        Err(problem) => {
            // A caller who tries tokens counts as anonymous.
            count_stranger(&origin, anonymous, anonymous.per_minute(&app.rates), &mut limit)?;
            return Err(problem);
        }
    };
    let page = if request.method.is_safe() { Ok(()) } else { csrf::check(app, &principal.0, headers) };
    let often = match principal.0.key() {
        Some(key) => {
            let own = key.per_minute.and_then(|own| u32::try_from(own).ok());
            limit("key", &key.id, own.unwrap_or(app.rates.key_per_minute))
        }
        None => {
            let rate = route.rate_of(&request.uri);
            limit(rate.name(), &principal.0.user_id, rate.per_minute(&app.rates))
        }
    };
    let mut verdict = page.and_then(|()| often.clone()).and_then(|()| route.admit(app, &principal));
    if verdict.is_ok() {
        verdict = issuer_works(app, route, &principal).await;
    }
    // A caller above the limit stays unknown: an audit entry for each refusal would cost a write.
    *caller = often.is_ok().then_some(principal);
    verdict
}

/// The caller: the person whom a page of the console has marked, otherwise the owner of the token.
async fn identify(app: &App, request: &Parts, origin: &Origin) -> Result<Principal> {
    if let Some(Known(person)) = request.extensions.get() {
        return Ok(person.clone());
    }
    let shown = request.headers.get(header::AUTHORIZATION).ok_or_else(missing)?;
    let token = shown.to_str().ok().and_then(bearer).ok_or_else(|| invalid(Code::TokenInvalid))?;
    authenticate(app, token, origin).await
}

/// The one place that stops the people of a suspended issuer. Reads are allowed.
async fn issuer_works(app: &App, route: &Route, principal: &Principal) -> Result<()> {
    match &principal.0.issuer_id {
        Some(id) if route.acts_for_issuer(principal) => {
            issuer::check_not_suspended(&mut app.db.read().await?, id).await.map_err(Problem::from)
        }
        _ => Ok(()),
    }
}
