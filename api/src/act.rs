//! A person's act on a thing that exists. What has to be asked of a chain is asked first, with no transaction open; then the act, its
//! history and its answer are written in one commit.

use axum::extract::{FromRequest, Request};
use axum::response::Response;
use muniment_domain::db::Tx;
use muniment_domain::idempotency::Answer;
use muniment_domain::point::Point;
use muniment_workflows::requester::Requester;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::code::Code;
use crate::error::{Problem, Result};
use crate::idempotency::{self, InUse};
use crate::submission::Submission;

/// A handler for each move of a thing, which calls `act` beside it: the path names the move, and the body is the same.
macro_rules! moves {
    ($($(#[$doc:meta])* $name:ident = $act:ident;)+) => {
        $($(#[$doc])*
        pub async fn $name(
            axum::extract::State(app): axum::extract::State<App>,
            id: Path<String>,
            principal: Principal,
            submission: Submission<Body>,
        ) -> Result<Response> {
            act(&app, Act::$act, id, &principal, submission).await
        })+
    };
}
pub(crate) use moves;

/// How often an act whose object moved meanwhile is decided again.
const TRIES: usize = 3;
/// How long a reason may be.
const REASON_CHARACTERS_MAX: usize = 500;

/// The body of an act.
pub trait Form: DeserializeOwned + Send {
    /// Refuses what no state of the platform could make right.
    fn check(&self) -> Result<()>;
}

/// A request for an act, read and sound in form.
#[derive(Debug)]
pub struct Written<T>(pub Submission<T>);

impl<T: Form> FromRequest<App> for Written<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        Submission::read(request, app, T::check).await.map(Self)
    }
}

/// An act.
pub trait Act: Sync {
    /// What was found out before anything is written.
    type Decision: Send;

    /// Finds out what is to be written.
    fn decide(&self, app: &App) -> impl Future<Output = Result<Self::Decision>> + Send;

    /// Writes it, and says what is answered and which write this is.
    fn apply(
        &self,
        app: &App,
        tx: &mut Tx,
        decision: Self::Decision,
        by: Requester,
    ) -> impl Future<Output = muniment_domain::Result<(Answer, Point)>> + Send;
}

/// Does an act once for its key, and gives the first answer again for ever after.
pub async fn perform<T>(app: &App, submission: &Submission<T>, act: &impl Act) -> Result<Response> {
    let key = &submission.key;
    let _in_use = InUse::take(app, key)?;
    for _ in 0..TRIES {
        let mut tx = app.db.read().await?;
        if let Some(answer) = idempotency::answered(app, &mut tx, key).await? {
            return Ok(idempotency::replayed(&answer));
        }
        drop(tx);
        let (answer, point, written) = match once(app, submission, act).await {
            Ok(done) => done,
            // Away for a moment, or moved since it was read: everything is read again.
            Err(problem) if matches!(problem.code, Code::ServiceUnavailable | Code::VersionConflict) => continue,
            Err(problem) if !key.is_named() => return Err(problem),
            // A no by the rules is an answer too; it is given again.
            Err(problem) => (idempotency::refusal(submission, problem)?, Point::Accept, None),
        };
        let mut tx = match written {
            Some(tx) => tx,
            None => app.db.begin().await?,
        };
        if idempotency::keep(app, &mut tx, key, &answer).await? {
            tx.commit(point).await?;
            return Ok(idempotency::response(&answer));
        }
    }
    Err(Problem::bare(Code::ServiceUnavailable))
}

async fn once<T>(app: &App, submission: &Submission<T>, act: &impl Act) -> Result<(Answer, Point, Option<Tx>)> {
    let decision = act.decide(app).await?;
    let mut tx = app.db.begin().await?;
    let (answer, point) = act.apply(app, &mut tx, decision, submission.requester()).await?;
    Ok((answer, point, Some(tx)))
}

/// A reason is for those who read the history later: there must be one.
pub fn check_reason(reason: &str) -> Result<()> {
    let length = reason.chars().count();
    if reason.trim().is_empty() {
        return Err(Problem::field("/reason", "required", "Say why: it stands in the history."));
    }
    if length > REASON_CHARACTERS_MAX {
        let detail = format!("A reason has at most {REASON_CHARACTERS_MAX} characters, this one {length}.");
        return Err(Problem::field("/reason", "above_maximum", detail));
    }
    Ok(())
}
