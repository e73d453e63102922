//! OpenAPI schemas of the domain's words, named after their noun.

use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{RefOr, schema::SchemaType};

/// Modules that are not named after the noun that users know.
const NOUNS: [(&str, &str); 1] = [("recorder", "audit")];

/// The schema of a string that is one of these words.
pub fn words(words: impl Iterator<Item = &'static str>) -> RefOr<Schema> {
    RefOr::T(ObjectBuilder::new().schema_type(SchemaType::new(Type::String)).enum_values(Some(words)).into())
}

/// The schema name, such as `OperationStatus` for `Status` of `muniment_domain::operation::state`: several nouns have a `Status`.
pub fn name(module: &str, name: &str) -> String {
    let noun = module.split("::").skip(1).find(|part| *part != "state").unwrap_or_default();
    let noun = NOUNS.iter().find(|(module, _)| *module == noun).map_or(noun, |(_, noun)| noun);
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    let noun: String = noun.split('_').filter(|word| !word.is_empty()).map(capital).collect();
    if noun.ends_with(name) {
        noun
    } else if name.ends_with(&noun) {
        name.to_owned()
    } else {
        format!("{noun}{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_list_is_named_after_its_noun() {
        assert_eq!(name("muniment_domain::operation::state", "Status"), "OperationStatus");
        assert_eq!(name("muniment_domain::payout_day", "Kind"), "PayoutDayKind");
        assert_eq!(name("muniment_domain::role", "Role"), "Role");
        assert_eq!(name("muniment_domain::reason", "ForceReason"), "ForceReason");
        assert_eq!(name("muniment_domain::recorder::act", "ActorKind"), "AuditActorKind");
    }
}
