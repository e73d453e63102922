//! Environment variables override the file: `MUNIMENT_` and the path of the key in capitals.

use toml::{Table, Value};

use crate::config::Config;
use crate::failure::Failure;

const PREFIX: &str = "MUNIMENT_";
/// The folder of the demo, which is no key and begins like one.
const DATA: &str = "MUNIMENT_DATA";

/// The configuration of a file's text with the variables applied. `database.url` is `MUNIMENT_DATABASE_URL`.
pub fn overridden(text: &str, environment: &[(String, String)]) -> Result<Config, Failure> {
    let mut table: Table = text.parse().map_err(Failure::new)?;
    let defaults = Value::try_from(Config::default()).map_err(Failure::new)?;
    let leaves = leaves(&defaults);
    known(&leaves, environment)?;
    for (path, default) in leaves {
        let variable = variable(&path);
        if let Some((_, given)) = environment.iter().find(|(name, _)| *name == variable) {
            let refused = |must: &str| Failure::new(format!("{variable} is {given:?}, but must be {must}."));
            let value = like(default, given).ok_or_else(|| refused(default.type_str()))?;
            set(&mut table, &path, value);
            // Each value by itself, so that the error names its variable.
            let whole: Result<Config, toml::de::Error> = table.clone().try_into();
            whole.map_err(|error| refused(&format!("valid: {}", error.message().trim())))?;
        }
    }
    table
        .try_into()
        .map_err(|error: toml::de::Error| Failure::new(format!("The configuration is invalid: {}", error.message())))
}

/// The variable of a key.
fn variable(path: &[&str]) -> String {
    format!("{PREFIX}{}", path.join("_").to_uppercase())
}

/// Refuses a variable that resembles a key and names none: a mistyped key would otherwise leave its default in force. A variable that
/// resembles no key is left alone, because orchestrators set variables that begin with the name of a service.
fn known(leaves: &[(Vec<&str>, &Value)], environment: &[(String, String)]) -> Result<(), Failure> {
    let variables: Vec<_> = leaves.iter().map(|(path, _)| variable(path)).collect();
    let sections = leaves.iter().filter(|(path, _)| path.len() > 1).map(|(path, _)| variable(&path[..1]) + "_");
    let sections: Vec<_> = sections.collect();
    for (name, _) in environment.iter().filter(|(name, _)| name.starts_with(PREFIX) && name != DATA) {
        let in_section = sections.iter().any(|section| name.starts_with(section));
        let is_near = variables.iter().any(|known| known.starts_with(name) || name.starts_with(known));
        if (in_section || is_near) && !variables.contains(name) {
            return Err(Failure::new(format!(
                "The environment variable {name} belongs to no key. `database.url` is MUNIMENT_DATABASE_URL; ops/muniment.toml shows all keys."
            )));
        }
    }
    Ok(())
}

// Lists of texts are separated by commas. The chains have no variable: they are written in the file.
fn leaves(value: &Value) -> Vec<(Vec<&str>, &Value)> {
    let Some(table) = value.as_table() else { return Vec::new() };
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(_) => found.extend(leaves(value).into_iter().map(|(mut path, leaf)| {
                path.insert(0, key);
                (path, leaf)
            })),
            Value::Array(_) if key == "chains" => {}
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
        Value::Array(_) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Some(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
        }
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
        let refused = with("", &[("MUNIMENT_LISTEN", "here")]).unwrap_err();
        assert!(refused.contains("MUNIMENT_LISTEN") && refused.contains("here"), "{refused}");
        let refused = with("", &[("MUNIMENT_DATABASE_URLL", "postgres://db/m")]).unwrap_err();
        assert!(refused.contains("MUNIMENT_DATABASE_URLL"), "{refused}");
        assert!(with("", &[("MUNIMENT_LISTENN", "0.0.0.0:1")]).is_err());
        // What an orchestrator sets for a service of this name.
        assert!(with("", &[("MUNIMENT_PORT", "tcp://10.0.0.7:80"), ("MUNIMENT_SERVICE_HOST", "10.0.0.7")]).is_ok());
    }

    #[test]
    fn a_list_of_the_environment_is_separated_by_commas() {
        let origins = [("MUNIMENT_LIMITS_ORIGINS", "https://portal.example, https://other.example")];
        assert_eq!(with("", &origins).unwrap().limits.origins, ["https://portal.example", "https://other.example"]);
        assert_eq!(with("", &[("MUNIMENT_LIMITS_ORIGINS", "")]).unwrap().limits.origins, Vec::<String>::new());
        let proxies = [("MUNIMENT_LIMITS_TRUSTED_PROXIES", "10.0.0.1")];
        assert_eq!(with("", &proxies).unwrap().limits.trusted_proxies.len(), 1);
    }
}
