//! Environment variables override the file: `MUNIMENT_` and the path of the key in capitals.

use toml::{Table, Value};

use crate::config::Config;
use crate::failure::Failure;

const PREFIX: &str = "MUNIMENT_";

/// The configuration of a file's text with the variables applied. `database.url` is `MUNIMENT_DATABASE_URL`.
pub fn overridden(text: &str, environment: &[(String, String)]) -> Result<Config, Failure> {
    let mut table: Table = text.parse().map_err(Failure::new)?;
    let defaults = Value::try_from(Config::default()).map_err(Failure::new)?;
    for (path, default) in leaves(&defaults) {
        let variable = format!("{PREFIX}{}", path.join("_").to_uppercase());
        if let Some((_, given)) = environment.iter().find(|(name, _)| *name == variable) {
            let value = like(default, given)
                .ok_or_else(|| Failure::new(format!("{variable} is {given:?}, but must be {}.", default.type_str())))?;
            set(&mut table, &path, value);
        }
    }
    table
        .try_into()
        .map_err(|error: toml::de::Error| Failure::new(format!("The configuration is invalid: {}", error.message())))
}

// Lists, such as the chains, have no variable: they are written in the file.
fn leaves(value: &Value) -> Vec<(Vec<&str>, &Value)> {
    let Some(table) = value.as_table() else { return Vec::new() };
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(_) => found.extend(leaves(value).into_iter().map(|(mut path, leaf)| {
                path.insert(0, key);
                (path, leaf)
            })),
            Value::Array(_) => {}
            leaf => found.push((vec![key.as_str()], leaf)),
        }
    }
    found
}

fn like(default: &Value, text: &str) -> Option<Value> {
    match default {
        Value::Integer(_) => text.trim().parse().ok().map(Value::Integer),
        Value::Boolean(_) => text.trim().parse().ok().map(Value::Boolean),
        Value::Float(_) => text.trim().parse().ok().map(Value::Float),
        _ => Some(Value::String(text.to_owned())),
    }
}

fn set(table: &mut Table, path: &[&str], value: Value) {
    match path {
        [] => {}
        [key] => {
            table.insert((*key).to_owned(), value);
        }
        [section, rest @ ..] => {
            if let Value::Table(inner) =
                table.entry((*section).to_owned()).or_insert_with(|| Value::Table(Table::new()))
            {
                set(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
        let variables: Vec<_> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        overridden(text, &variables).map_err(|failure| failure.to_string())
    }

    #[test]
    fn environment_overrides_the_file() {
        let variables = [
            ("MUNIMENT_DATABASE_URL", "postgres://db/m"),
            ("MUNIMENT_LISTEN", "0.0.0.0:9000"),
            ("MUNIMENT_LOG", "debug"),
            ("MUNIMENT_ENGINE_MINT_PAGE_HOLDERS", "7"),
            ("MUNIMENT_DATA", "elsewhere"),
        ];
        let config = with("log = \"warn\"\n[database]\nconnections_max = 3", &variables).unwrap();
        assert_eq!(config.database.url, "postgres://db/m");
        assert_eq!(config.database.connections_max, 3);
        assert_eq!(config.listen.port(), 9000);
        assert_eq!(config.log, "debug");
        assert_eq!(config.engine.mint_page_holders, 7);
    }

    #[test]
    fn invalid_variable_is_named() {
        let refused = with("", &[("MUNIMENT_LIMITS_BODY_BYTES_MAX", "many")]).unwrap_err();
        assert!(refused.contains("MUNIMENT_LIMITS_BODY_BYTES_MAX"), "{refused}");
        assert!(with("", &[("MUNIMENT_LISTEN", "here")]).is_err());
    }
}
