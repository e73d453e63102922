//! Opens the database for a role of the process.

use muniment_domain::clock::Clock;
use muniment_domain::db::Db;
use muniment_domain::id::Ids;
use muniment_domain::migrate;
use muniment_workflows::engine::queue;

use crate::config::Config;
use crate::failure::Failure;

/// Opens it as it is.
pub async fn open(config: &Config) -> Result<Db, Failure> {
    let db = Db::open(&config.database.url, config.database.connections_max, Clock::System, Ids::Random).await;
    Ok(db?)
}

/// Opens it and brings it up to this binary. Several processes may do so at once: the migrations wait for one another.
pub async fn open_current(config: &Config) -> Result<Db, Failure> {
    let db = open(config).await?;
    migrate::run(&db).await?;
    queue::migrate(&db).await?;
    Ok(db)
}
