//! Who calls: the bearer token of a request, and the person or the key behind it.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use muniment_domain::audit::{self as domain, Act, acting};
use muniment_domain::session::Session;
use muniment_domain::{issuer, principal, wall};

use crate::app::App;
use crate::audit;
use crate::code::Code;
use crate::csrf;
use crate::error::{Problem, Result};
use crate::origin::{self, Origin};
use crate::permission::{Access, Permission};
use crate::rate::Standing;

const KEY_PREFIX: &str = "rap_";

/// The caller, as the rows say now: a revoked key, an ended session or a changed role bites at once.
#[derive(Clone, Debug)]
pub struct Principal(pub principal::Principal);

impl Principal {
    /// Whether this person belongs to the platform's staff.
    pub fn is_staff(&self) -> bool {
        self.0.roles.is_staff()
    }

    /// The session; 403 for a key, which has none.
    pub fn session(&self) -> Result<&Session> {
        self.0.session().ok_or_else(|| Problem::new(Code::RoleForbidden, "A person may do this, an API key may not."))
    }

    /// Demands that whoever calls has followed the mail that proves the address, where the platform asks for that. Staff was invited by one.
    pub fn email_proved(&self, app: &App) -> Result<()> {
        if self.0.email_verified || self.is_staff() || !app.auth.needs_proved_email {
            return Ok(());
        }
        let detail = "Follow the link in the mail first; POST /v1/auth/verify-email/resend sends it again.";
        Err(Problem::new(Code::EmailNotVerified, detail))
    }

    /// Demands that the person has just shown again who they are.
    pub fn stepped_up(&self, app: &App) -> Result<()> {
        if self.0.is_stepped_up(app.db.clock().now()) {
            return Ok(());
        }
        Err(Problem::new(
            Code::StepUpRequired,
            "Show again who you are, by POST /v1/auth/step-up, and repeat this within five minutes.",
        ))
    }
}

/// The layer of one route: lets in whom the route's row admits. Without a row nobody is.
pub async fn admit(
    State((app, permission)): State<(App, Option<&'static Permission>)>,
    request: Request,
    next: Next,
) -> Response {
    let (mut standing, mut principal) = (None, None);
    let (mut parts, body) = request.into_parts();
    let verdict = judge(&app, permission, &parts, &mut standing, &mut principal).await;
    let act = permission.and_then(|permission| audit::act_of(&app, permission, &parts, principal.as_ref()));
    let kept = permission.zip(act.clone()).filter(|_| principal.is_some());
    let own = permission.is_some_and(Permission::is_of_ones_own);
    let walled = principal.as_ref().filter(|principal| own && principal.0.is_only_investor());
    let viewer = walled.map(|principal| principal.0.investor_id.clone());
    let mut response = match verdict {
        Ok(()) => {
            if let Some(principal) = principal {
                parts.extensions.insert(principal);
            }
            let answer = next.run(Request::from_parts(parts, body));
            let answer = async {
                match viewer {
                    Some(viewer) => wall::seen_by(viewer.as_deref(), answer).await,
                    None => answer.await,
                }
            };
            // Known to the task before any handler runs: whatever it commits gets its line in the audit log.
            match act {
                Some(act) => acting(act, answer).await,
                None => answer.await,
            }
        }
        Err(problem) => problem.into_response(),
    };
    if let Some((permission, act)) = kept {
        response = keep(&app, permission, act, response).await;
    }
    if let Some(standing) = standing {
        standing.tell(response.headers_mut());
    }
    response
}

/// Keeps that a known caller was turned away, or has read what is a person's own: without its line the answer is not given.
async fn keep(app: &App, permission: &Permission, act: Act, response: Response) -> Response {
    let refused = audit::refusal(permission, &response).map(Code::as_str);
    let read = permission.is_kept() && response.status().is_success();
    if refused.is_none() && !read {
        return response;
    }
    match domain::note(&app.db, act, refused).await {
        Ok(()) => response,
        Err(error) => Problem::from(error).into_response(),
    }
}

/// In this order: who calls (401), whether a page of somebody else made it call (403), how often (429), and whether it may (403).
async fn judge(
    app: &App,
    permission: Option<&Permission>,
    request: &Parts,
    standing: &mut Option<Standing>,
    caller: &mut Option<Principal>,
) -> Result<()> {
    let Some(permission) = permission else { return Err(Problem::bare(Code::RoleForbidden)) };
    let headers = &request.headers;
    let origin = Origin::of(headers, request.extensions.get(), &app.limits.trusted_proxies);
    let mut limit = |name, who: &str, quota| match app.limiter.take(name, who, quota, app.db.clock().now()) {
        Ok(stands) => {
            *standing = stands;
            Ok(())
        }
        Err((problem, stands)) => {
            *standing = Some(stands);
            Err(problem)
        }
    };
    let token = match (permission.access, headers.get(header::AUTHORIZATION)) {
        (Access::Open, _) => return Ok(()),
        (Access::Door, _) => {
            let (name, quota) = match permission.takes_guesses() {
                true => ("login", app.rates.login_per_minute),
                false => ("anonymous", app.rates.anonymous_per_minute),
            };
            limit(name, &origin.network(), quota)?;
            origin::check_page(headers, &app.limits.origins)?;
            return Ok(());
        }
        (Access::Public, None) => {
            limit("anonymous", &origin.network(), app.rates.anonymous_per_minute)?;
            return Ok(());
        }
        (_, None) if permission.is_opened(app) => {
            limit("anonymous", &origin.network(), app.rates.anonymous_per_minute)?;
            return Ok(());
        }
        (_, None) => Err(missing()),
        (_, Some(value)) => value.to_str().ok().and_then(bearer).ok_or_else(|| invalid(Code::TokenInvalid)),
    };
    let known = match token {
        Ok(token) => authenticate(app, token, &origin).await,
        Err(problem) => Err(problem),
    };
    let principal = match known {
        Ok(principal) => principal,
        Err(problem) => {
            // Whoever tries tokens counts as nobody.
            limit("anonymous", &origin.network(), app.rates.anonymous_per_minute)?;
            return Err(problem);
        }
    };
    let page = if request.method.is_safe() { Ok(()) } else { csrf::check(app, &principal.0, headers) };
    let (name, who, quota) = bucket(app, &principal.0, request);
    let often = limit(name, who, quota);
    let mut verdict = page.and_then(|()| often.clone()).and_then(|()| permission.admit(app, &principal));
    // The one place where the people of a suspended organisation are stopped; reads are not looked at for it.
    if let (Ok(()), Some(id)) = (&verdict, &principal.0.issuer_id)
        && permission.acts_for_organisation(&principal)
    {
        verdict = issuer::must_act(&mut app.db.read().await?, id).await.map_err(Problem::from);
    }
    // Whoever comes too often is nobody here: a refusal that is kept costs a write.
    *caller = often.is_ok().then_some(principal);
    verdict
}

fn bucket<'a>(app: &App, principal: &'a principal::Principal, request: &Parts) -> (&'static str, &'a str, u32) {
    let rates = &app.rates;
    match principal.key() {
        Some(key) => {
            ("key", &key.id, key.per_minute.and_then(|own| u32::try_from(own).ok()).unwrap_or(rates.key_per_minute))
        }
        None if asks_chain(request.uri.path()) => ("token-read", &principal.user_id, rates.token_read_per_minute),
        // It reads everything that there is, and leaves a line.
        None if request.uri.path() == "/v1/investor/export" => {
            ("user-write", &principal.user_id, rates.write_per_minute)
        }
        None if request.method.is_safe() => ("user-read", &principal.user_id, rates.read_per_minute),
        // What one person does by hand a few times a minute, and a runaway page does all the time.
        None if request.uri.path().ends_with("/subscribe") => {
            ("subscribe", &principal.user_id, rates.subscribe_per_minute)
        }
        None if request.uri.path().ends_with("/bulk-retry") => {
            ("bulk-retry", &principal.user_id, rates.bulk_retry_per_minute)
        }
        None if request.uri.path().starts_with("/blockchain/") => {
            ("operator-write", &principal.user_id, rates.operator_write_per_minute)
        }
        None => ("user-write", &principal.user_id, rates.write_per_minute),
    }
}

/// Whether a path is one of the reads of a token.
pub fn asks_chain(path: &str) -> bool {
    let rest = path.strip_prefix("/v1/offerings/").and_then(|rest| rest.split_once('/'));
    rest.is_some_and(|(_, rest)| rest == "token" || rest.starts_with("token/"))
}

async fn authenticate(app: &App, token: &str, origin: &Origin) -> Result<Principal> {
    if token.starts_with(KEY_PREFIX) {
        let mut tx = app.db.read().await?;
        let known = principal::by_key(&mut tx, token).await.map_err(challenged)?;
        let allowed = known.key().map_or("", |key| key.allowed_cidrs.as_str());
        if !allowed.is_empty() && !allowed.split(' ').any(|network| origin::is_within(origin.ip, network) == Some(true))
        {
            return Err(Problem::new(Code::IpNotAllowed, format!("The key may not be used from {}.", origin.ip)));
        }
        return Ok(Principal(known));
    }
    let claims = app.auth.tokens.read(token).map_err(invalid)?;
    let mut tx = app.db.read().await?;
    let known = principal::by_session(&mut tx, &claims.sid).await.map_err(challenged)?;
    if known.user_id != claims.sub {
        return Err(invalid(Code::TokenInvalid));
    }
    Ok(Principal(known))
}

/// The token of an Authorization header.
pub fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn missing() -> Problem {
    let problem = Problem::new(Code::TokenMissing, "Send the header Authorization: Bearer <access token or API key>.");
    problem.with_authenticate("Bearer".to_owned())
}

// One text for unknown, expired and revoked keys: which of them it is tells a thief something and the owner nothing new.
fn invalid(code: Code) -> Problem {
    let detail = match code {
        Code::TokenExpired => "The access token has expired. Get a new one by POST /v1/auth/refresh.",
        _ => "The bearer token is unknown, expired or revoked.",
    };
    Problem::new(code, detail).with_authenticate(challenge(code))
}

fn challenge(code: Code) -> String {
    format!("Bearer error=\"invalid_token\", error_description=\"{}\"", code.title())
}

fn challenged(error: muniment_domain::Error) -> Problem {
    let problem = Problem::from(error);
    match problem.code.status() {
        401 => {
            let challenge = challenge(problem.code);
            problem.with_authenticate(challenge)
        }
        _ => problem,
    }
}

impl<S: Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        // The layer has put it there; a handler that asks for one on an open route is a mistake of ours.
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Problem::internal("a handler without its principal"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_a_token_are_told_from_other_reads() {
        assert!(["token", "token/can-transfer"].iter().all(|rest| asks_chain(&format!("/v1/offerings/off_1/{rest}"))));
        assert!(
            !["/v1/offerings/token", "/v1/offerings/off_1/tokens", "/v1/offerings/off_1"]
                .iter()
                .any(|path| asks_chain(path))
        );
    }

    #[test]
    fn a_bearer_token_is_read_whatever_the_case_of_its_scheme() {
        assert_eq!(bearer("Bearer rap_live_ab"), Some("rap_live_ab"));
        assert_eq!(bearer("bearer  eyJhbGciOi "), Some("eyJhbGciOi"));
        for header in ["Basic cmFw", "Bearer", "Bearer ", "rap_live_ab"] {
            assert_eq!(bearer(header), None, "{header}");
        }
    }
}
