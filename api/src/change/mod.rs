//! Changes: a request that changes something is carried out once for its idempotency key. Whatever has to be asked of a chain is asked first,
//! with no transaction open. The change, its history and its answer are then written in one commit.

pub mod idempotency;
#[cfg(test)]
mod idempotency_test;
pub mod submission;

use muniment_domain::db::Tx;
use muniment_domain::idempotency::Answer;
use muniment_domain::point::Point;
use muniment_workflows::requester::Requester;

use self::submission::Form;
use crate::app::App;
use crate::http::error::{Problem, Result};

/// How long a reason may be.
const REASON_CHARACTERS_MAX: usize = 500;

/// A change that is carried out once for its idempotency key, in one commit.
pub trait Change: Sync {
    /// What was found out before anything is written.
    type Decision: Send;
    /// Whether `decide` asks something that no transaction may wait for, such as a chain.
    const DECIDES: bool = true;

    /// Finds out what is to be written, while no transaction is open.
    fn decide(&self, app: &App) -> impl Future<Output = Result<Self::Decision>> + Send;

    /// Writes it. Returns the answer and the name of this write.
    fn apply(
        &self,
        app: &App,
        tx: &mut Tx,
        decision: Self::Decision,
        by: Requester,
    ) -> impl Future<Output = muniment_domain::Result<(Answer, Point)>> + Send;

    /// The ETag of an answer, if its resource is changed by its version.
    fn etag(_: &Answer) -> Option<String> {
        None
    }
}

/// A body that says all that is to be written.
pub trait ChangeRequest: Form {
    /// Writes it into the transaction, with all that belongs to it. Returns the answer.
    fn accept(
        &self,
        app: &App,
        tx: &mut Tx,
        by: Requester,
    ) -> impl Future<Output = muniment_domain::Result<Answer>> + Send;

    /// The ETag of an answer, if its resource is changed by its version.
    fn etag(_: &Answer) -> Option<String> {
        None
    }
}

/// The body of most requests is all that is to be written.
impl<T: ChangeRequest> Change for T {
    type Decision = ();
    const DECIDES: bool = false;

    async fn decide(&self, _: &App) -> Result<()> {
        Ok(())
    }

    async fn apply(&self, app: &App, tx: &mut Tx, (): (), by: Requester) -> muniment_domain::Result<(Answer, Point)> {
        Ok((self.accept(app, tx, by).await?, Point::Accept))
    }

    fn etag(answer: &Answer) -> Option<String> {
        <T as ChangeRequest>::etag(answer)
    }
}

/// A reason is for those who read the history later: there must be one.
pub fn check_reason(reason: &str) -> Result<()> {
    let length = reason.chars().count();
    if reason.trim().is_empty() {
        return Err(Problem::field("/reason", "required", "A reason is required. The history shows it."));
    }
    if length > REASON_CHARACTERS_MAX {
        let detail = format!("The reason can have at most {REASON_CHARACTERS_MAX} characters, but has {length}.");
        return Err(Problem::field("/reason", "above_maximum", detail));
    }
    Ok(())
}
