//! One value for either database, so that one test runs on both.

use crate::{Postgres, Sqlite};

/// Which database a test runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The embedded default.
    Sqlite,
    /// The server.
    Postgres,
}

/// A fresh database of a test; dropping it deletes it.
pub enum Database {
    /// In a folder of its own.
    Sqlite(Sqlite),
    /// In the shared cluster.
    Postgres(Postgres),
}

impl Database {
    /// Creates a database. On the server it is migrated.
    pub async fn fresh(engine: Engine) -> Self {
        match engine {
            Engine::Sqlite => Self::Sqlite(Sqlite::fresh()),
            Engine::Postgres => Self::Postgres(Postgres::fresh().await),
        }
    }

    /// The URL.
    pub fn url(&self) -> String {
        match self {
            Self::Sqlite(sqlite) => sqlite.url(),
            Self::Postgres(postgres) => postgres.url(),
        }
    }
}

/// Writes each `async fn name(database: Database)` as two tests, `name::sqlite` and `name::postgres`.
#[macro_export]
macro_rules! on_both_databases {
    ($($(#[$meta:meta])* async fn $name:ident($database:ident: Database) $body:block)*) => {
        $(
            $(#[$meta])*
            mod $name {
                #[allow(unused_imports, reason = "a short test may use nothing of its file")]
                use super::*;

                async fn run($database: $crate::Database) $body

                #[tokio::test(flavor = "multi_thread")]
                async fn sqlite() {
                    run($crate::Database::fresh($crate::Engine::Sqlite).await).await;
                }

                #[tokio::test(flavor = "multi_thread")]
                async fn postgres() {
                    run($crate::Database::fresh($crate::Engine::Postgres).await).await;
                }
            }
        )*
    };
}
