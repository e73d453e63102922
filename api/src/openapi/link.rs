//! Links from answers to related endpoints: an answer with an id links to the endpoints under that id. Portals can build buttons from them,
//! and tests follow them. Answers under a known id do not repeat its links.

use serde_json::{Map, Value, json};

/// Ids in answers: the schema of the answer, the pointer to the id, and the path under which the object is found.
const BESIDE: [(&str, &str, &str); 5] = [
    ("Asked", "/approval/id", "/v1/approvals"),
    ("List_Delivery", "/data/0/id", "/v1/webhooks/deliveries"),
    ("List_Subscription", "/data/0/id", "/v1/subscriptions"),
    ("Operation", "/id", "/blockchain/operations"),
    ("Subscribed", "/subscription_id", "/v1/subscriptions"),
];

/// A route that takes the id of one thing of a collection.
struct Target {
    collection: String,
    /// The names in its path; the last one is the thing's own.
    names: Vec<String>,
    operation_id: String,
}

/// Adds the links to all answers that lead somewhere.
pub fn add(document: &mut Value) {
    let targets = targets(document);
    let mut links = Map::new();
    for (path, operations) in document["paths"].as_object_mut().into_iter().flatten() {
        for (method, operation) in operations.as_object_mut().into_iter().flatten() {
            for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
                let Some((pointer, collection)) = leads(path, method, response) else { continue };
                if !status.starts_with('2') {
                    continue;
                }
                for target in targets.iter().filter(|target| target.collection == collection) {
                    let Some(link) = link(path, pointer, target) else { continue };
                    let name = format!("{}{}", target.operation_id, pointer.replace('/', "."));
                    response["links"][&target.operation_id] = json!({ "$ref": format!("#/components/links/{name}") });
                    links.insert(name, link);
                }
            }
        }
    }
    document["components"]["links"] = Value::Object(links);
}

fn targets(document: &Value) -> Vec<Target> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let operations =
        paths.flat_map(|(path, operations)| operations.as_object().into_iter().flatten().map(move |(_, o)| (path, o)));
    operations
        .filter_map(|(path, operation)| {
            let (collection, rest) = path.rsplit_once("/{")?;
            let own = rest.split_once('}')?.0.to_owned();
            let names = names(collection).into_iter().chain([own]).collect();
            let operation_id = operation["operationId"].as_str()?.to_owned();
            Some(Target { collection: collection.to_owned(), names, operation_id })
        })
        .collect()
}

fn names(path: &str) -> Vec<String> {
    path.split('/').filter_map(|word| Some(word.strip_prefix('{')?.strip_suffix('}')?.to_owned())).collect()
}

/// The pointer to an id in an answer, and its collection.
fn leads<'a>(path: &'a str, method: &str, response: &Value) -> Option<(&'static str, &'a str)> {
    let schema = response["content"]["application/json"]["schema"]["$ref"].as_str()?.rsplit('/').next()?;
    let beside = BESIDE.iter().find(|(known, _, collection)| *known == schema && !path.starts_with(collection));
    if let Some((_, pointer, collection)) = beside {
        return Some((*pointer, *collection));
    }
    match method {
        // The configuration names the chains, by number.
        "get" if path != "/blockchain/chains" => Some(("/data/0/id", path)),
        "post" => Some(("/id", path)),
        _ => None,
    }
}

/// The link, if all names of the target's path are known from there.
fn link(path: &str, pointer: &str, target: &Target) -> Option<Value> {
    let (own, others) = target.names.split_last()?;
    let asked = names(path);
    if !others.iter().all(|name| asked.contains(name)) {
        return None;
    }
    let others = others.iter().map(|name| (name.clone(), json!(format!("$request.path.{name}"))));
    let parameters: Map<_, _> = others.chain([(own.clone(), json!(format!("$response.body#{pointer}")))]).collect();
    Some(json!({ "operationId": target.operation_id, "parameters": parameters }))
}
