//! Asking twice starts one thing: the answer is stored in the commit of its effect and given again.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use muniment_domain::idempotency::{self, Answer, Key, Seen};
use muniment_domain::point::Point;
use utoipa::IntoParams;

use crate::answer::PROBLEM_JSON;
use crate::app::App;
use crate::code::Code;
use crate::error::{Problem, Result};
use crate::submission::{Intent, Submission};

/// The header of the key.
pub const HEADER: &str = "idempotency-key";

/// The header, as the document shows it.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "the document reads it; requests are read by `key_of`")]
pub struct IdempotencyKey {
    /// New for each new request, such as a UUID: the same key with the same body starts nothing twice and gets the first answer again.
    #[param(
        rename = "Idempotency-Key",
        min_length = 1,
        max_length = 255,
        pattern = "^[!#-~]+$",
        example = "mint-2026-11-20-a"
    )]
    key: String,
}

/// The same where a person may do without.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "the document reads it; requests are read by `key_of`")]
pub struct OptionalIdempotencyKey {
    /// New for each new request, such as a UUID: the same key with the same body starts nothing twice. An API key has to send one.
    #[param(
        rename = "Idempotency-Key",
        min_length = 1,
        max_length = 255,
        pattern = "^[!#-~]+$",
        example = "subscribe-2026-11-20-a"
    )]
    key: Option<String>,
}

const CHARACTERS_MAX: usize = 255;
/// How often a request that lost a race looks again before it says that it is busy.
const TRIES: usize = 3;

/// The key of a request, bare or as a quoted string; needed, because only it tells a repetition from a second wish.
pub fn key_of(headers: &HeaderMap) -> Result<String> {
    let Some(value) = headers.get(HEADER) else {
        let detail =
            "Send the header Idempotency-Key with a value of your own, new for each new request, such as a UUID.";
        return Err(Problem::new(Code::IdempotencyKeyRequired, detail));
    };
    let text = value.to_str().unwrap_or_default().trim();
    let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let visible = bare.bytes().all(|byte| (0x21..=0x7e).contains(&byte) && byte != b'"');
    if (1..=CHARACTERS_MAX).contains(&bare.len()) && visible && headers.get_all(HEADER).iter().count() == 1 {
        return Ok(bare.to_owned());
    }
    let detail = format!("An Idempotency-Key has 1 to {CHARACTERS_MAX} visible ASCII characters.");
    Err(Problem::new(Code::IdempotencyKeyInvalid, detail))
}

/// Accepts an intent once for its key, and gives the first answer again for ever after.
pub async fn once<T: Intent>(app: &App, submission: &Submission<T>) -> Result<Response> {
    let key = &submission.key;
    if !submission.has_key() {
        return unkeyed(app, submission).await;
    }
    let _in_use = InUse::take(app, key)?;
    for _ in 0..TRIES {
        let mut tx = app.db.begin().await?;
        match idempotency::look(&mut tx, key).await? {
            Seen::Nothing => {}
            Seen::Answered(answer) => return Ok(tagged::<T>(replayed(&answer), &answer)),
            Seen::Operation(id) => return Err(spent(&id, &format!("/blockchain/operations/{id}"))),
            Seen::Approval(id) => return Err(spent(&id, &format!("/v1/approvals/{id}"))),
            Seen::Subscription(id) => return Err(spent(&id, &format!("/v1/subscriptions/{id}"))),
        }
        let answer = match submission.body.accept(app, &mut tx, submission.requester()).await {
            Ok(answer) => answer,
            // A row was moved since it was read: everything is read again.
            Err(muniment_domain::Error::Stale { .. }) => continue,
            Err(error) => {
                // Nothing that was written may stand. Of two at once the loser is refused here, and finds the winner's answer.
                drop(tx);
                tx = app.db.begin().await?;
                if let Some(answer) = idempotency::replay(&mut tx, key).await? {
                    return Ok(tagged::<T>(replayed(&answer), &answer));
                }
                match refusal(submission, Problem::from(error)) {
                    Ok(answer) => answer,
                    Err(problem) => return Err(problem),
                }
            }
        };
        match idempotency::store(&mut tx, key, &answer).await {
            Ok(()) => {
                tx.commit(Point::Accept).await?;
                return Ok(tagged::<T>(response(&answer), &answer));
            }
            Err(muniment_domain::Error::Stale { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Problem::bare(Code::IdempotencyInProgress))
}

/// Accepts what a person asks for without a key: nothing is remembered, and asking again asks again.
async fn unkeyed<T: Intent>(app: &App, submission: &Submission<T>) -> Result<Response> {
    for _ in 0..TRIES {
        let mut tx = app.db.begin().await?;
        match submission.body.accept(app, &mut tx, submission.requester()).await {
            Ok(answer) => {
                tx.commit(Point::Accept).await?;
                return Ok(tagged::<T>(response(&answer), &answer));
            }
            Err(muniment_domain::Error::Stale { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Problem::unavailable("others moved the same rows again and again"))
}

/// With the tag of what it holds.
fn tagged<T: Intent>(mut response: Response, answer: &Answer) -> Response {
    if let Some(Ok(tag)) = T::etag(answer).map(HeaderValue::try_from) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// A no by the rules is an answer too, and is given again. One that time alone may turn into a yes is not.
pub fn refusal<T>(submission: &Submission<T>, problem: Problem) -> Result<Answer> {
    let status = problem.code.status();
    if !matches!(status, 409 | 422) || problem.code.is_retryable() {
        return Err(problem);
    }
    let body = problem.body(&submission.key.path, &submission.request_id).to_string();
    Ok(Answer { status: i64::from(status), location: None, body })
}

fn spent(id: &str, path: &str) -> Problem {
    let detail = format!("This Idempotency-Key started {id}. Use a new key for a new request.");
    Problem::new(Code::IdempotencyKeySpent, detail).with_resource(path.to_owned())
}

/// A stored answer, given again.
pub fn replayed(answer: &Answer) -> Response {
    let mut response = response(answer);
    response.headers_mut().insert(HeaderName::from_static("idempotent-replayed"), HeaderValue::from_static("true"));
    response
}

/// An answer as the client gets it.
pub fn response(answer: &Answer) -> Response {
    let status = u16::try_from(answer.status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let media_type = if status.is_success() { "application/json" } else { PROBLEM_JSON };
    let mut response = (status, [(header::CONTENT_TYPE, media_type)], answer.body.clone()).into_response();
    if let Some(Ok(location)) = answer.location.as_deref().map(HeaderValue::from_str) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// Marks a key while its first request is being answered here. Other processes are held off by the database.
pub struct InUse<'a> {
    app: &'a App,
    name: String,
}

impl<'a> InUse<'a> {
    /// Marks it, unless it is marked.
    pub fn take(app: &'a App, key: &Key) -> Result<Self> {
        let name = format!("{} {} {} {}", key.principal, key.method, key.path, key.key);
        let mut keys = app.keys_in_use.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !keys.insert(name.clone()) {
            return Err(Problem::new(
                Code::IdempotencyInProgress,
                "The first request with this key is still being answered.",
            ));
        }
        Ok(Self { app, name })
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

    fn key(value: &'static str) -> Result<String, Code> {
        let headers = HeaderMap::from_iter([(HeaderName::from_static(HEADER), HeaderValue::from_static(value))]);
        key_of(&headers).map_err(|problem| problem.code)
    }

    #[test]
    fn a_key_is_visible_ascii_bare_or_quoted() {
        assert_eq!(key("mint-7").unwrap(), "mint-7");
        assert_eq!(key("\"mint-7\"").unwrap(), "mint-7");
        for value in ["", "\"\"", "a b", "a\"b"] {
            assert_eq!(key(value), Err(Code::IdempotencyKeyInvalid), "{value}");
        }
        assert_eq!(key_of(&HeaderMap::new()).unwrap_err().code, Code::IdempotencyKeyRequired);
    }
}
