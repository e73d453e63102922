//! The acting person or process. The task of a request carries the act, and every transaction that it begins takes it over. So no handler can forget
//! the audit entry or write a wrong one.

use std::sync::Arc;

use crate::id::{ApiKeyId, SessionId};

crate::words! {
    /// How somebody acts.
    ActorKind {
        /// A person in a session.
        Person = "person",
        /// A program with an API key.
        Key = "key",
        /// A caller without authentication, for example at login.
        Anonymous = "anonymous",
        /// A command on the host.
        Host = "host",
        /// The engine, because of a chain event or a timer.
        Engine = "engine",
    }
}

/// One action of a caller.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Act {
    /// The person; for an API key its owner.
    pub actor: Option<String>,
    pub kind: ActorKind,
    pub session_id: Option<SessionId>,
    pub key_id: Option<ApiKeyId>,
    pub ip: Option<String>,
    /// The route or the command.
    pub action: String,
    /// The object that the request names.
    pub object_id: Option<String>,
    pub request_id: Option<String>,
}

impl Act {
    /// The act of a command on the host.
    pub fn host_command(command: &str) -> Self {
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

/// Runs the work as this act: each of its commits writes an audit entry.
pub async fn acting<F: Future>(act: Act, work: F) -> F::Output {
    ACT.scope(Arc::new(act), work).await
}

/// The act of this task; none for the engine.
pub(super) fn current() -> Option<Arc<Act>> {
    ACT.try_with(Arc::clone).ok()
}
