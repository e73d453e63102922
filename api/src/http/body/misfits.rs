//! Every field of a body that cannot be read. serde stops at the first one, so it is taken out of the body and the rest is read again.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::missing::{self, Schemas};
use super::{REQUIRED, field};
use crate::code::Code;
use crate::http::error::{FIELDS_MAX, Field, Problem};
use crate::http::json::Misfit;

/// How many bytes are read for one refusal, so that a large invalid body costs little more than a valid one.
const READ_BYTES_MAX: usize = 262_144;

/// The problem of a body that cannot be read. `read` tries to read it as its type, and returns why that fails.
pub fn problem(sent: Value, bytes: usize, schemas: Schemas, read: fn(Value) -> Option<Misfit>) -> Problem {
    let missing = missing::pointers(schemas, &sent);
    let mut rest = Rest { sent, taken: BTreeSet::new(), taken_items: BTreeMap::new() };
    let mut fields = Vec::new();
    for _ in 0..(READ_BYTES_MAX / bytes.max(1)).clamp(1, FIELDS_MAX) {
        let Some(misfit) = read(rest.sent.clone()) else { break };
        let path = misfit.pointer;
        let found = field(&path, &misfit.error.to_string());
        // A missing field cannot be taken out, but the object around it can.
        let unreadable = if found.code == REQUIRED { path } else { found.pointer.clone() };
        let at = rest.original(&found.pointer);
        if !rest.taken.contains(&at) {
            fields.push(Field { pointer: at, ..found });
        }
        if !rest.take(&unreadable) {
            break;
        }
    }
    let is_taken = |at: &String| rest.taken.contains(at);
    fields.extend(missing.into_iter().filter(|at| !is_taken(at)).map(|at| {
        let name = at.rsplit('/').next().unwrap_or_default();
        let detail = format!("The field {name} is missing.");
        Field { pointer: at, code: REQUIRED, detail, params: None }
    }));
    Problem::of_fields(fields).unwrap_or_else(|| Problem::bare(Code::ValidationFailed))
}

/// A body without what was taken out of it.
struct Rest {
    sent: Value,
    // The JSON pointers of what was taken out.
    taken: BTreeSet<String>,
    // How many items were taken out of each list. All of them stood before the item that is found next.
    taken_items: BTreeMap<String, usize>,
}

impl Rest {
    /// Where the caller wrote what is now here.
    fn original(&self, path: &str) -> String {
        let (mut at, mut here) = (String::new(), Some(&self.sent));
        for step in path.split('/').skip(1) {
            let (next, step) = match here {
                Some(Value::Array(items)) => {
                    let index: usize = step.parse().unwrap_or_default();
                    let before = self.taken_items.get(&at).copied().unwrap_or_default();
                    (items.get(index), (index + before).to_string())
                }
                Some(other) => (other.pointer(&format!("/{step}")), step.to_owned()),
                None => (None, step.to_owned()),
            };
            at = format!("{at}/{step}");
            here = next;
        }
        at
    }

    /// Takes out what is here. False if that is the whole body, or nothing.
    fn take(&mut self, path: &str) -> bool {
        let at = self.original(path);
        let Some((around, last)) = path.rsplit_once('/') else { return false };
        let list = self.original(around);
        let is_taken = match self.sent.pointer_mut(around) {
            Some(Value::Object(fields)) => fields.remove(&last.replace("~1", "/").replace("~0", "~")).is_some(),
            Some(Value::Array(items)) => match last.parse::<usize>().ok().filter(|index| *index < items.len()) {
                Some(index) => {
                    items.remove(index);
                    *self.taken_items.entry(list).or_default() += 1;
                    true
                }
                None => false,
            },
            _ => false,
        };
        is_taken && self.taken.insert(at)
    }
}
