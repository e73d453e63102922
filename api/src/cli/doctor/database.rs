//! Checks of the database: reachable, migrated, and with the extensions of the queue.

use muniment_domain::db::Db;
use muniment_domain::{migrate, row_security};

use super::{Check, key_file};
use crate::config::{Config, database};

/// The extensions of PostgreSQL that the queue's tables are made with.
const EXTENSIONS: [&str; 2] = ["hstore", "pgcrypto"];

/// The checks, and the database for those that need it. Nothing is changed, not even a missing table is made.
pub async fn check(config: &Config) -> (Vec<Check>, Option<Db>) {
    let shown = redacted(&config.database.url);
    if let Some(path) = config.database.url.strip_prefix("sqlite:").map(|rest| rest.trim_start_matches("//")) {
        let path = path.split('?').next().unwrap_or(path);
        if !path.contains(":memory:") && !std::path::Path::new(path).exists() {
            let check = Check::warn(
                "database",
                format!("{path} does not exist yet"),
                "`muniment migrate` or the first start creates it",
            );
            return (vec![check], None);
        }
    }
    let db = match database::open(config).await {
        Ok(db) => db,
        Err(failure) => return (vec![Check::fail("database", shown, failure.to_string())], None),
    };
    let mut checks = vec![Check::fine("database", format!("{shown} answers"))];
    checks.push(migrations(&db).await);
    checks.push(key_file::check(&config.auth.key_file, &db).await);
    if db.is_shared() {
        checks.push(extensions(&db).await);
        checks.push(role(&db).await);
    }
    (checks, Some(db))
}

async fn migrations(db: &Db) -> Check {
    let newest = migrate::newest_version();
    let (subject, found) = ("migrations", |applied: i64| format!("{applied} of {newest}"));
    match migrate::applied_version(db).await {
        Ok(Some(applied)) if applied == newest => Check::fine(subject, found(applied)),
        Ok(Some(applied)) if applied > newest => {
            let advice = format!("the database is newer than this binary: use a binary that has migration {applied}");
            Check::fail(subject, found(applied), advice)
        }
        Ok(applied) => Check::warn(subject, found(applied.unwrap_or(0)), "run `muniment migrate`"),
        Err(error) => Check::fail(subject, error.to_string(), "check that the user of the URL may read the tables"),
    }
}

async fn extensions(db: &Db) -> Check {
    let subject = "extensions";
    match migrate::extensions_offered(db, &EXTENSIONS).await {
        Ok(offered) => match EXTENSIONS.iter().find(|name| !offered.iter().any(|o| o == *name)) {
            None => Check::fine(subject, EXTENSIONS.join(", ")),
            Some(missing) => {
                let advice =
                    "install the server's contrib package (Debian: postgresql-contrib); the queue's tables need it";
                Check::fail(subject, format!("{missing} is not installed on the server"), advice)
            }
        },
        Err(error) => {
            Check::fail(subject, error.to_string(), "check that the user of the URL may read pg_available_extensions")
        }
    }
}

async fn role(db: &Db) -> Check {
    let subject = "database role";
    match row_security::applies(db).await {
        Ok(Some(false)) => {
            let advice = "use a role that owns the tables, is not a superuser and does not have BYPASSRLS: row security does not protect investors' data from other roles";
            Check::warn(subject, "row security does not apply to it".to_owned(), advice)
        }
        Ok(_) => Check::fine(subject, "an ordinary role".to_owned()),
        Err(error) => Check::fail(subject, error.to_string(), "check that the user of the URL may read pg_roles"),
    }
}

// The password is between the first colon and the last at sign of the authority, or in the query behind it.
fn redacted(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let authority = rest.split('?').next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((credentials, host)) => format!("{scheme}://{}@{host}", credentials.split(':').next().unwrap_or_default()),
        // It may be the password that was cut off.
        None if rest.contains('@') => format!("{scheme}://…"),
        None => format!("{scheme}://{authority}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_is_hidden_in_debug_output() {
        assert_eq!(redacted("postgres://m:se@cret@db:5432/muniment?password=x"), "postgres://m@db:5432/muniment");
        assert_eq!(redacted("postgres://db/muniment?user=u&password=hunter2"), "postgres://db/muniment");
        assert_eq!(redacted("postgres://u:a?b@db/muniment"), "postgres://…");
        assert_eq!(redacted("sqlite:data/muniment.db"), "sqlite:data/muniment.db");
    }
}
