//! Opens the database for a role of the process.

use std::time::Duration;

use muniment_activities::config::Profile;
use muniment_domain::clock::Clock;
use muniment_domain::db::Db;
use muniment_domain::id::Ids;
use muniment_domain::migrate;
use muniment_domain::test_clock;
use muniment_workflows::engine::queue_tables;

use crate::config::Config;
use crate::failure::Failure;

/// The pause between two tries to reach a database that is away.
const AWAY: Duration = Duration::from_secs(2);

/// Opens it as it is.
pub async fn open(config: &Config) -> Result<Db, Failure> {
    Ok(connect(config).await?)
}

async fn connect(config: &Config) -> muniment_domain::Result<Db> {
    connect_by(config, clock(config.profile)).await
}

async fn connect_by(config: &Config, clock: Clock) -> muniment_domain::Result<Db> {
    Db::open(&config.database.url, config.database.connections_max, clock, Ids::Random).await
}

/// The clock of a profile: only in development can it be moved forward.
fn clock(profile: Profile) -> Clock {
    if profile == Profile::Development { Clock::ahead() } else { Clock::System }
}

/// Opens it with a clock that other parts of the process share, and brings it up to this binary.
pub async fn open_current_by(config: &Config, clock: Clock) -> Result<Db, Failure> {
    migrated(connect_by(config, clock).await?).await
}

/// Opens it and brings it up to this binary. Several processes may do so at once: the migrations wait for one another.
pub async fn open_current(config: &Config) -> Result<Db, Failure> {
    migrated(open(config).await?).await
}

/// The same for a process that serves. A server that is away is waited for: after a power cut everything starts at once.
pub async fn open_when_there(config: &Config) -> Result<Db, Failure> {
    let mut told = false;
    loop {
        match connect(config).await {
            Err(error) if error.is_away() && config.database.url.starts_with("postgres") => {
                if !told {
                    tracing::error!(error.cause = %error, "the database is away; the process starts when it answers");
                }
                told = true;
                tokio::time::sleep(AWAY).await;
            }
            opened => return migrated(opened?).await,
        }
    }
}

async fn migrated(db: Db) -> Result<Db, Failure> {
    migrate::run(&db).await?;
    queue_tables::migrate(&db).await?;
    if db.clock().is_for_tests() {
        db.clock().set_ahead(test_clock::ahead(&mut db.read().await?).await?);
    }
    Ok(db)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_moves_the_clock_in_production() {
        assert!(clock(Profile::Development).is_for_tests());
        assert!(!clock(Profile::Production).is_for_tests());
    }
}
