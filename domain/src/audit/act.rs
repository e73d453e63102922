//! Who acts. The task of a request knows it from the door on, and every transaction that it begins: a handler can neither forget the line
//! nor write a wrong one.

use std::sync::Arc;

crate::words! {
    /// By what somebody acts.
    ActorKind {
        /// In a session.
        Person = "person",
        /// By an API key.
        Key = "key",
        /// Without having shown who they are: at the door.
        Anonymous = "anonymous",
        /// On the command line of the host.
        Host = "host",
        /// The engine, of itself: by the chain's word or by the calendar's.
        Engine = "engine",
    }
}

/// What somebody is about to do.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Act {
    /// The person; for a key its owner.
    pub actor: Option<String>,
    pub kind: ActorKind,
    pub session_id: Option<String>,
    pub key_id: Option<String>,
    pub ip: Option<String>,
    /// The route, or the command.
    pub action: String,
    /// What the request names.
    pub object_id: Option<String>,
    pub request_id: Option<String>,
}

impl Act {
    /// What is done on the host, by whoever may.
    pub fn on_host(command: &str) -> Self {
        Self {
            actor: None,
            kind: ActorKind::Host,
            session_id: None,
            key_id: None,
            ip: None,
            action: command.to_owned(),
            object_id: None,
            request_id: None,
        }
    }
}

tokio::task_local! {
    static ACT: Arc<Act>;
}

/// Does the work as this act: each of its commits writes a line.
pub async fn acting<F: Future>(act: Act, work: F) -> F::Output {
    ACT.scope(Arc::new(act), work).await
}

/// The act that this task is about; none where the engine works of itself.
pub(super) fn current() -> Option<Arc<Act>> {
    ACT.try_with(Arc::clone).ok()
}
