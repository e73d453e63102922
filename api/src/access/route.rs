//! One row per endpoint. The router, the layers before a handler and the OpenAPI document read all that they know of an endpoint from its
//! row. The method and the path stand once, in the `utoipa::path` attribute of the handler.

use axum::http::{Method, Uri};
use axum::routing::{MethodFilter, MethodRouter, on};
use muniment_domain::user::Role;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::{OpenApi, RefOr};

use crate::access::permission::{Access, OFFERINGS};
use crate::access::principal::Principal;
use crate::app::App;
use crate::code::Code;
use crate::config::rates::Rates;
use crate::http::endpoint::Endpoint;
use crate::http::error::{Problem, Result};

/// The row of an endpoint: `route!(handler, access)`, followed by what else is special about it.
macro_rules! route {
    ($($name:ident)::+, $access:expr) => {{
        #[derive(utoipa::OpenApi)]
        #[openapi(paths($($name)::+))]
        struct Document;
        let document = <Document as utoipa::OpenApi>::openapi();
        $crate::access::route::Route::new(document, $access, $crate::http::endpoint::Endpoint::new($($name)::+))
    }};
}
pub(crate) use route;

/// The limit that counts the requests of an endpoint. An API key has a limit of its own instead, and a request without a token counts as
/// anonymous wherever it is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Requests without a token.
    Anonymous,
    /// Requests in which passwords can be guessed, or which cause mails.
    Login,
    /// Reads of a person.
    Read,
    /// Reads that ask a chain.
    TokenRead,
    /// Writes of a person.
    Write,
    /// Writes of an operator.
    OperatorWrite,
    /// Subscriptions.
    Subscribe,
    /// Retries of many operations at once.
    BulkRetry,
}

impl Rate {
    /// Its name in the headers of an answer.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::Login => "login",
            Self::Read => "user-read",
            Self::TokenRead => "token-read",
            Self::Write => "user-write",
            Self::OperatorWrite => "operator-write",
            Self::Subscribe => "subscribe",
            Self::BulkRetry => "bulk-retry",
        }
    }

    /// How many requests a minute are allowed.
    pub const fn per_minute(self, rates: &Rates) -> u32 {
        match self {
            Self::Anonymous => rates.anonymous_per_minute,
            Self::Login => rates.login_per_minute,
            Self::Read => rates.read_per_minute,
            Self::TokenRead => rates.token_read_per_minute,
            Self::Write => rates.write_per_minute,
            Self::OperatorWrite => rates.operator_write_per_minute,
            Self::Subscribe => rates.subscribe_per_minute,
            Self::BulkRetry => rates.bulk_retry_per_minute,
        }
    }
}

/// One row.
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, with the names of its parameters in braces.
    pub path: String,
    /// The access.
    pub access: Access,
    /// Whether the person must have confirmed their identity in the last minutes.
    pub step_up: bool,
    /// Whether the caller must have proved the e-mail address: an unproved address owns nothing.
    pub proved_email: bool,
    /// The limit that a person's requests count against.
    pub rate: Rate,
    /// Whether an API key must send an Idempotency-Key: a request repeated by mistake would move money or reach a chain twice.
    pub requires_idempotency_key: bool,
    /// Whether the answer holds a secret: it is stored encrypted under its idempotency key.
    pub answers_secret: bool,
    /// Whether each read gets an audit entry: it shows everything that is known of a person.
    pub audits_reads: bool,
    /// Whether each refusal gets an audit entry, not only those for missing rights.
    pub audits_refusals: bool,
    /// Whether row security applies: an investor reads here only rows of their own.
    pub own_rows: bool,
    /// Whether `public_offering_list` of the configuration lets everybody read it.
    pub opened_by_configuration: bool,
    /// Whether it is about the caller's own login and nothing else.
    pub own_account: bool,
    /// Whether it is a health probe, which is answered under any load.
    pub probe: bool,
    /// Whether a request with `wait` waits for events. It may take longer, and takes no place of others.
    pub waits: bool,
    /// The media types of its successful answers.
    pub media_types: Vec<String>,
    /// Its part of the OpenAPI document.
    pub document: OpenApi,
    endpoint: Endpoint<App>,
}

impl Route {
    /// The row of a handler with its part of the document.
    pub fn new(document: OpenApi, access: Access, endpoint: Endpoint<App>) -> Self {
        let (method, path) = location(&document);
        let rate = match access {
            Access::Open | Access::Door => Rate::Anonymous,
            _ if method == Method::GET => Rate::Read,
            _ => Rate::Write,
        };
        Self {
            media_types: media_types(&document),
            method,
            path,
            access,
            step_up: false,
            proved_email: false,
            rate,
            requires_idempotency_key: false,
            answers_secret: false,
            audits_reads: false,
            audits_refusals: false,
            own_rows: false,
            opened_by_configuration: false,
            own_account: false,
            probe: false,
            waits: false,
            document,
            endpoint,
        }
    }

    /// The person must have confirmed their identity in the last minutes.
    pub fn step_up(self) -> Self {
        Self { step_up: true, ..self }
    }

    /// The caller must have proved the e-mail address.
    pub fn proved_email(self) -> Self {
        Self { proved_email: true, ..self }
    }

    /// Requests count against another limit than that of the method.
    pub fn rate(self, rate: Rate) -> Self {
        Self { rate, ..self }
    }

    /// An API key must send an Idempotency-Key.
    pub fn requires_idempotency_key(self) -> Self {
        Self { requires_idempotency_key: true, ..self }
    }

    /// The answer holds a secret.
    pub fn answers_secret(self) -> Self {
        Self { answers_secret: true, ..self }
    }

    /// Each read gets an audit entry.
    pub fn audits_reads(self) -> Self {
        Self { audits_reads: true, ..self }
    }

    /// Each refusal gets an audit entry.
    pub fn audits_refusals(self) -> Self {
        Self { audits_refusals: true, ..self }
    }

    /// An investor reads only rows of their own.
    pub fn own_rows(self) -> Self {
        Self { own_rows: true, ..self }
    }

    /// The configuration can let everybody read it.
    pub fn opened_by_configuration(self) -> Self {
        Self { opened_by_configuration: true, ..self }
    }

    /// It is about the caller's own login.
    pub fn own_account(self) -> Self {
        Self { own_account: true, ..self }
    }

    /// It is a health probe.
    pub fn probe(self) -> Self {
        Self { probe: true, ..self }
    }

    /// A request with `wait` waits for events.
    pub fn waits(self) -> Self {
        Self { waits: true, ..self }
    }

    /// The handler, for the router.
    pub fn handler(&self) -> MethodRouter<App> {
        let method = MethodFilter::try_from(self.method.clone()).unwrap_or(MethodFilter::GET);
        on(method, self.endpoint.clone())
    }

    /// Whether it can change something.
    pub fn writes(&self) -> bool {
        self.method != Method::GET
    }

    /// The limit that a request counts against. A subscription that is only tried is a read.
    pub fn rate_of(&self, uri: &Uri) -> Rate {
        let is_dry_run = uri.query().is_some_and(|query| query.split('&').any(|pair| pair == "dry_run=true"));
        if self.rate == Rate::Subscribe && is_dry_run { Rate::Read } else { self.rate }
    }

    /// Whether a request waits for events.
    pub fn is_wait(&self, uri: &Uri) -> bool {
        self.waits && uri.path() == self.path && uri.query().is_some_and(|query| query.contains("wait="))
    }

    /// Whether a request without a token is let in.
    pub fn is_public(&self, app: &App) -> bool {
        self.access == Access::Public || (self.opened_by_configuration && app.public_offering_list)
    }

    /// Whether a known caller is answered as such. What everybody may see is all that a key without its scope sees, and a member of the staff
    /// who has no second factor yet.
    pub fn answers_as(&self, app: &App, principal: &Principal) -> bool {
        let Access::Caller { scope, .. } = OFFERINGS else { return true };
        self.access != Access::Public || (principal.0.has_scope(scope) && !principal.must_enrol(app))
    }

    /// Whether this caller acts here for an issuer: it is a change that only the role of an issuer lets the caller make.
    pub fn acts_for_issuer(&self, principal: &Principal) -> bool {
        let (Access::Person { roles } | Access::Caller { roles, .. }) = self.access else { return false };
        let otherwise = principal.0.roles.list().iter().any(|role| *role != Role::Issuer && roles.contains(role));
        self.writes() && !self.own_account && principal.0.has_role(Role::Issuer) && !otherwise
    }

    /// Refuses an authenticated caller who may not call this endpoint.
    pub fn admit(&self, app: &App, principal: &Principal) -> Result<()> {
        let (roles, scope) = match self.access {
            Access::Open | Access::Door | Access::Public => return Ok(()),
            Access::Person { roles } => (roles, None),
            Access::Caller { roles, scope } => (roles, Some(scope)),
        };
        if !principal.0.roles.any_of(roles) {
            return Err(Problem::new(
                Code::RoleForbidden,
                format!("The role {} does not permit this.", principal.0.roles),
            ));
        }
        if !principal.0.is_person() && scope.is_none() {
            return Err(Problem::new(Code::RoleForbidden, "API keys cannot do this. Log in as a user."));
        }
        if let Some(scope) = scope.filter(|scope| !principal.0.has_scope(scope)) {
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
            let problem = Problem::new(Code::ScopeInsufficient, format!("The API key needs the scope {scope}."));
            return Err(problem.with_authenticate(challenge));
        }
        if principal.must_enrol(app) && !self.own_account {
            let detail = "Staff need a second factor. Set one up with POST /v1/auth/mfa/totp and confirm it with POST /v1/auth/mfa/totp/confirm.";
            return Err(Problem::new(Code::StepUpRequired, detail));
        }
        if self.step_up {
            principal.stepped_up(app)?;
        }
        if self.proved_email {
            principal.email_proved()?;
        }
        Ok(())
    }
}

/// The one operation of a row's document.
fn operation(item: &PathItem) -> Option<(Method, &Operation)> {
    let all = [
        (Method::GET, &item.get),
        (Method::POST, &item.post),
        (Method::PUT, &item.put),
        (Method::PATCH, &item.patch),
        (Method::DELETE, &item.delete),
    ];
    all.into_iter().find_map(|(method, operation)| Some((method, operation.as_ref()?)))
}

fn location(document: &OpenApi) -> (Method, String) {
    let found = document.paths.paths.iter().find_map(|(path, item)| Some((operation(item)?.0, path.clone())));
    found.unwrap_or_default()
}

fn media_types(document: &OpenApi) -> Vec<String> {
    let operations = document.paths.paths.values().filter_map(operation);
    let responses = operations.flat_map(|(_, operation)| &operation.responses.responses);
    let successes = responses.filter(|(status, _)| status.starts_with('2'));
    let mut found: Vec<String> = Vec::new();
    for (_, response) in successes {
        let RefOr::T(response) = response else { continue };
        found.extend(response.content.keys().cloned());
    }
    found.sort();
    found.dedup();
    if found.is_empty() {
        found.push("application/json".to_owned());
    }
    found
}
