//! A repeated request takes effect once: the answer is stored in the commit of the effect and returned again.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use futures::future::BoxFuture;
use muniment_domain::db::Tx;
use muniment_domain::id::{Id, IdKind};
use muniment_domain::idempotency::{self, Answer, Key, KeyState};
use muniment_domain::point::Point;
use utoipa::IntoParams;

use crate::app::App;
use crate::change::submission::{Sent, Submission};
use crate::change::{Change, ChangeRequest};
use crate::code::Code;
use crate::field::id::location;
use crate::http::error::{PROBLEM_JSON, Problem, Result};

/// The header of the key.
pub const HEADER: &str = "idempotency-key";

/// The header, as the document shows it.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "the document reads it; requests are read by `key_of`")]
pub struct IdempotencyKey {
    /// A new value for each new request, such as a UUID. A repeated request with the same key and body has its effect once and gets the
    /// first answer again. API keys must send it with requests that move money or change a chain.
    #[param(
        rename = "Idempotency-Key",
        min_length = 1,
        max_length = 255,
        pattern = "^[!#-~]+$",
        example = "mint-2026-11-20-a"
    )]
    key: Option<String>,
}

const CHARACTERS_MAX: usize = 255;
/// How often a request that lost a race looks again before it says that it is busy.
const TRIES: usize = 3;

/// The key of a request, bare or as a quoted string, if it has one.
pub fn key_of(headers: &HeaderMap) -> Result<Option<String>> {
    let Some(value) = headers.get(HEADER) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let visible = bare.bytes().all(|byte| (0x21..=0x7e).contains(&byte) && byte != b'"');
    if (1..=CHARACTERS_MAX).contains(&bare.len()) && visible && headers.get_all(HEADER).iter().count() == 1 {
        return Ok(Some(bare.to_owned()));
    }
    let detail = format!("An Idempotency-Key has 1 to {CHARACTERS_MAX} visible ASCII characters.");
    Err(Problem::new(Code::IdempotencyKeyInvalid, detail))
}

/// The refusal of a program that named none.
pub fn required() -> Problem {
    let detail = "Send the header Idempotency-Key with a value of your own, new for each new request, such as a UUID.";
    Problem::new(Code::IdempotencyKeyRequired, detail)
}

/// Carries out the request that is the body itself.
pub async fn once<T: ChangeRequest>(app: &App, submission: &Submission<T>) -> Result<Response> {
    perform(app, submission, &submission.body).await
}

/// Carries out a change once for its key, and repeats the first answer after that. Without a key nothing is remembered.
pub async fn perform<T: Sync, C: Change>(app: &App, submission: &Submission<T>, change: &C) -> Result<Response> {
    let sent = &submission.sent;
    let attempt = |tx| attempt(app, sent, change, tx).boxed();
    let (answer, response) = carry_out(app, sent, C::DECIDES, &attempt).await?;
    Ok(tagged(response, C::etag(&answer)))
}

/// Does so for a body whose checks need more than the body. `checked` is what they found.
pub async fn once_checked<T: ChangeRequest>(
    app: &App,
    submission: &Submission<T>,
    checked: Result<()>,
) -> Result<Response> {
    let Err(refused) = checked else { return once(app, submission).await };
    let answer = earlier(app, &submission.sent, refused).await?;
    Ok(tagged(replayed(&answer), <T as ChangeRequest>::etag(&answer)))
}

/// The end of a request whose body is refused before anything is tried: the answer of its key, or the refusal.
pub async fn answer_or(app: &App, sent: &Sent, refused: Problem) -> Result<Response> {
    Ok(replayed(&earlier(app, sent, refused).await?))
}

/// The answer that the key of a refused body had before. A body that was right when it was sent first can be wrong now, because a time in it
/// has passed: its effect stays, and so does its answer. The refusal itself is not stored, so that the body can be corrected.
async fn earlier(app: &App, sent: &Sent, refused: Problem) -> Result<Answer> {
    if !sent.key.is_named() {
        return Err(refused);
    }
    let _in_use = InUse::take(app, &sent.key)?;
    answered(app, &mut app.db.read().await?, sent).await?.ok_or(refused)
}

/// The result of an attempt: the open transaction, the answer and the name of the write. None if a row changed meanwhile.
type Done = Option<(Tx, Answer, Point)>;

/// The loop. It is compiled once for all changes.
async fn carry_out<'a>(
    app: &'a App,
    sent: &Sent,
    decides: bool,
    attempt: &(dyn Fn(Tx) -> BoxFuture<'a, Result<Done>> + Sync),
) -> Result<(Answer, Response)> {
    let key = &sent.key;
    let _in_use = InUse::take(app, key)?;
    for number in 0..TRIES {
        let mut tx = match (decides, number) {
            (true, _) => app.db.read().await?,
            (false, 0) => app.db.begin_late().await?,
            (false, _) => app.db.begin().await?,
        };
        if let Some(answer) = answered(app, &mut tx, sent).await? {
            let response = replayed(&answer);
            return Ok((answer, response));
        }
        let refused = match attempt(tx).await {
            // A row changed since it was read: everything is read again.
            Ok(None) => continue,
            // Guards of the last writes can refuse it, too.
            Ok(Some((tx, answer, point))) => match commit(app, tx, sent, &answer, point).await {
                Ok(true) => {
                    let response = response(&answer);
                    return Ok((answer, response));
                }
                Ok(false) => continue,
                Err(problem) => problem,
            },
            Err(problem) if decides && is_passing(&problem) => continue,
            Err(problem) => problem,
        };
        if !key.is_named() {
            return Err(refused);
        }
        // A refusal by the rules is an answer too. Nothing that was written before it stays.
        let answer = refusal(app, sent, refused)?;
        if commit(app, app.db.begin().await?, sent, &answer, Point::Accept).await? {
            let response = response(&answer);
            return Ok((answer, response));
        }
    }
    if key.is_named() && !decides {
        return Err(Problem::bare(Code::IdempotencyInProgress));
    }
    Err(Problem::unavailable("other requests changed the same rows again and again"))
}

/// Whether a decision can come out otherwise a moment later.
fn is_passing(problem: &Problem) -> bool {
    matches!(problem.code, Code::ServiceUnavailable | Code::VersionConflict)
}

/// One attempt: the decision with no transaction open, then everything that is written.
async fn attempt<C: Change>(app: &App, sent: &Sent, change: &C, tx: Tx) -> Result<Done> {
    let (mut tx, decision) = if C::DECIDES {
        drop(tx);
        let decision = change.decide(app).await?;
        (app.db.begin().await?, decision)
    } else {
        (tx, change.decide(app).await?)
    };
    // What a change writes last, its answer and its audit entries are one statement.
    tx.gather_writes();
    match change.apply(app, &mut tx, decision, sent.requester()).await {
        Ok((answer, point)) => Ok(Some((tx, answer, point))),
        Err(muniment_domain::Error::Stale { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Does so for the object in the path: checks its id and passes it to the body.
pub async fn once_for<T: ChangeRequest, K: IdKind>(
    app: &App,
    id: Id<K>,
    mut submission: Submission<T>,
    name: impl FnOnce(&mut T, Id<K>),
) -> Result<Response> {
    id.check()?;
    name(&mut submission.body, id);
    once(app, &submission).await
}

/// The answer that a request under this key had before, if any. Whose answer is forgotten is refused if its effect is not.
async fn answered(app: &App, tx: &mut Tx, sent: &Sent) -> Result<Option<Answer>> {
    let key = &sent.key;
    match idempotency::find(tx, key).await? {
        KeyState::Nothing => Ok(None),
        KeyState::Spent(id) => Err(spent(&id)),
        KeyState::Answered(answer) if !sent.answers_secret => Ok(Some(answer)),
        KeyState::Answered(answer) => {
            let plain =
                app.auth.secrets.unseal(&owner(key), &answer.body).and_then(|bytes| String::from_utf8(bytes).ok());
            let body = plain.ok_or_else(|| Problem::internal("an answer was sealed with another secret"))?;
            Ok(Some(Answer { body, ..answer }))
        }
    }
}

/// Stores the answer in the commit of its effect. False if another request under this key was first: then nothing is committed.
async fn commit(app: &App, mut tx: Tx, sent: &Sent, answer: &Answer, point: Point) -> Result<bool> {
    let (key, mut kept) = (&sent.key, answer.clone());
    if sent.answers_secret {
        kept.body = app.seal(&owner(key), answer.body.as_bytes())?;
    }
    let stored = async {
        idempotency::store(&mut tx, key, &kept).await?;
        tx.commit(point).await
    };
    match stored.await {
        Ok(()) => Ok(true),
        Err(muniment_domain::Error::Stale { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whose a sealed answer is: it cannot be moved to another key.
fn owner(key: &Key) -> String {
    format!("answer {} {}", key.principal, key.spent_for())
}

/// A no by the rules is an answer too, and is given again. One that time alone may turn into a yes is not.
fn refusal(app: &App, sent: &Sent, problem: Problem) -> Result<Answer> {
    let status = problem.code.status();
    if !matches!(status, 409 | 422) || problem.is_retryable() {
        return Err(problem);
    }
    let body = problem.body(&app.api_url, &sent.key.path, &sent.request_id).to_string();
    Ok(Answer { status: i64::from(status), location: None, body })
}

/// The refusal of a key whose effect is known by this id.
fn spent(id: &str) -> Problem {
    let detail = format!("This Idempotency-Key started {id}. Use a new key for a new request.");
    Problem::new(Code::IdempotencyKeySpent, detail).with_resource(location(id))
}

/// A stored answer, given again.
fn replayed(answer: &Answer) -> Response {
    let mut response = response(answer);
    response.headers_mut().insert(HeaderName::from_static("idempotent-replayed"), HeaderValue::from_static("true"));
    response
}

/// The answer with the ETag of what it shows.
fn tagged(mut response: Response, tag: Option<String>) -> Response {
    if let Some(Ok(tag)) = tag.map(HeaderValue::try_from) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// An answer as the client gets it.
fn response(answer: &Answer) -> Response {
    let status = u16::try_from(answer.status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let media_type = if status.is_success() { "application/json" } else { PROBLEM_JSON };
    let mut response = match answer.body.is_empty() {
        true => status.into_response(),
        false => (status, [(header::CONTENT_TYPE, media_type)], answer.body.clone()).into_response(),
    };
    if let Some(Ok(location)) = answer.location.as_deref().map(HeaderValue::from_str) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// Marks a key while its first request is being answered here. Other processes are held off by the database.
struct InUse<'a> {
    app: &'a App,
    name: String,
}

impl<'a> InUse<'a> {
    /// Marks the key as in use, if there is one and it is free.
    fn take(app: &'a App, key: &Key) -> Result<Option<Self>> {
        if !key.is_named() {
            return Ok(None);
        }
        let name = format!("{} {} {} {}", key.principal, key.method, key.path, key.key);
        let mut keys = app.keys_in_use.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !keys.insert(name.clone()) {
            return Err(Problem::new(
                Code::IdempotencyInProgress,
                "The first request with this key is still being answered.",
            ));
        }
        Ok(Some(Self { app, name }))
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.app.keys_in_use.lock().unwrap_or_else(std::sync::PoisonError::into_inner).remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(value: &'static str) -> Result<Option<String>, Code> {
        let headers = HeaderMap::from_iter([(HeaderName::from_static(HEADER), HeaderValue::from_static(value))]);
        key_of(&headers).map_err(|problem| problem.code)
    }

    #[test]
    fn idempotency_key_is_visible_ascii() {
        for value in ["mint-7", "\"mint-7\""] {
            assert_eq!(key(value).unwrap().as_deref(), Some("mint-7"));
        }
        for value in ["", "\"\"", "a b", "a\"b"] {
            assert_eq!(key(value), Err(Code::IdempotencyKeyInvalid), "{value}");
        }
        assert!(key_of(&HeaderMap::new()).is_ok_and(|key| key.is_none()));
    }
}
