//! Check of the key file: whether it is the one of the database.

use std::path::Path;

use muniment_domain::db::Db;
use muniment_domain::migrate;

use super::Check;
use crate::secrets::{KeyFile, RESTORE, compare};

/// The check. It creates no file.
pub async fn check(path: &Path, db: &Db) -> Check {
    let (subject, shown) = ("key file", path.display());
    // Before the migration of this binary there may be no sample to compare with.
    if !migrate::applied_version(db).await.is_ok_and(|applied| applied >= Some(migrate::newest_version())) {
        return Check::warn(subject, format!("{shown} is not compared with the database"), "run `muniment migrate`");
    }
    match compare(path, db).await {
        Ok(KeyFile::Fits) => Check::fine(subject, format!("{shown} is the one of the database")),
        Ok(KeyFile::Untried) => Check::fine(subject, format!("{shown}; the first start ties the database to it")),
        Ok(KeyFile::New) => Check::warn(
            subject,
            format!("{shown} does not exist yet"),
            "the first start creates it; back it up apart from the database",
        ),
        Ok(KeyFile::Missing) => {
            Check::fail(subject, format!("{shown} is missing, and the database was used with one"), RESTORE)
        }
        Ok(KeyFile::Foreign) => Check::fail(subject, format!("{shown} is not the one of the database"), RESTORE),
        Err(failure) => Check::fail(subject, shown.to_string(), failure.to_string()),
    }
}
