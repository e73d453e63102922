//! The schemas of events: one for each kind of the catalog, told apart by `type`.

use muniment_domain::event_data;
use muniment_domain::event_type::CATALOG;
use serde_json::{Map, Value, json};

/// Replaces the schema of an event, whose data are any object, by a choice between the kinds.
pub fn add(schemas: &mut Value) {
    let any = schemas["Event"].take();
    let (mut ways, mut mapping) = (Vec::new(), Map::new());
    for kind in CATALOG {
        let mut schema = any.clone();
        schema["description"] = json!(kind.about);
        schema["properties"]["type"] =
            json!({ "type": "string", "const": kind.name, "description": "The kind.", "example": kind.name });
        let mut data = event_data::schema(kind.name);
        data["description"] = any["properties"]["data"]["description"].clone();
        schema["properties"]["data"] = data;
        let name = name(kind.name);
        let reference = format!("#/components/schemas/{name}");
        ways.push(json!({ "$ref": reference }));
        mapping.insert(kind.name.to_owned(), json!(reference));
        schemas[name] = schema;
    }
    schemas["Event"] = json!({
        "description": any["description"],
        "oneOf": ways,
        "discriminator": { "propertyName": "type", "mapping": mapping },
    });
}

/// `OfferingTokenDeployedEvent` for `offering.token_deployed`.
fn name(kind: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    kind.split(['.', '_']).map(capital).chain(["Event".to_owned()]).collect()
}
