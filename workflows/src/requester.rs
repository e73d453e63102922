//! Who asks, and with which key, so that asking twice starts one thing.

use muniment_domain::id::UserId;

/// The person behind a request.
#[derive(Clone, Debug)]
pub struct Requester {
    /// `usr_…`
    pub actor: String,
    /// The id of the HTTP request, for the logs.
    pub request_id: Option<String>,
    /// The Idempotency-Key with the request that it came with, kept on the operation for ever.
    pub idempotency_key: Option<String>,
}

impl Requester {
    /// The actor as a user.
    pub fn user_id(&self) -> UserId {
        self.actor.as_str().into()
    }
}
