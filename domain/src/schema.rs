//! OpenAPI schemas of the domain's words, named after their noun.

use std::fmt::Display;

use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{RefOr, schema::SchemaType};

/// Modules that are not named after the noun that users know.
const NOUNS: [(&str, &str); 1] = [("recorder", "audit")];

/// The schema of a string that is one of these words, each with its meaning.
pub fn described<T: Display>(description: &str, words: &[(&'static str, T)]) -> RefOr<Schema> {
    let lines: Vec<_> = words.iter().map(|(word, meaning)| format!("- `{word}`: {meaning}")).collect();
    let object = ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::String))
        .enum_values(Some(words.iter().map(|(word, _)| *word)))
        .description(Some(format!("{description}\n\n{}", lines.join("\n"))));
    RefOr::T(object.into())
}

/// The schema of an enum of words, described by its comment and the comment of each word, as the compiler shows them to a macro.
pub fn enumeration(comments: &[&str], words: &[(&'static str, &[&str])]) -> RefOr<Schema> {
    let words: Vec<_> = words.iter().map(|(word, comments)| (*word, text(comments))).collect();
    described(&text(comments), &words)
}

/// The sentences of comments, which are attributes such as `doc = " A sentence."`. Other attributes are left out.
fn text(comments: &[&str]) -> String {
    let sentences = comments.iter().filter_map(|attribute| {
        // The compiler writes a comment as a string, or as a raw string if it has quotation marks.
        let (_, quoted) = attribute.strip_prefix("doc")?.split_once('"')?;
        let (text, _) = quoted.rsplit_once('"')?;
        Some(text.trim().replace("\\\"", "\""))
    });
    sentences.collect::<Vec<_>>().join(" ")
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
    fn an_enum_is_described_by_its_comments() {
        crate::words! {
            /// How it rains,
            /// if it does.
            #[derive(Default)]
            Rain {
                /// A "drizzle".
                #[default]
                Light = "light",
                /// A downpour.
                Heavy = "heavy",
            }
        }
        let schema = serde_json::json!(<Rain as utoipa::PartialSchema>::schema());
        let described = "How it rains, if it does.\n\n- `light`: A \"drizzle\".\n- `heavy`: A downpour.";
        assert_eq!((&schema["description"], &schema["enum"]), (&described.into(), &vec!["light", "heavy"].into()));
        assert_eq!((Rain::default(), Rain::ALL.len()), (Rain::Light, 2));
    }

    #[test]
    fn a_word_list_is_named_after_its_noun() {
        assert_eq!(name("muniment_domain::operation::state", "Status"), "OperationStatus");
        assert_eq!(name("muniment_domain::payout_day", "Kind"), "PayoutDayKind");
        assert_eq!(name("muniment_domain::role", "Role"), "Role");
        assert_eq!(name("muniment_domain::reason", "ForceReason"), "ForceReason");
        assert_eq!(name("muniment_domain::recorder::act", "ActorKind"), "AuditActorKind");
    }
}
