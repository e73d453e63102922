//! A summary of an operation's arguments: a page of two hundred lines becomes a count and a total.

use serde_json::{Map, Value, json};

/// The maximum depth of a summary.
const DEPTH_MAX: usize = 2;

/// A summary of the arguments, short enough for a list of steps.
pub fn summary(payload: &Value, position: i64) -> Value {
    let own = |name: &str| payload.get(name).and_then(|pages| pages.get(usize::try_from(position).ok()?));
    // An operation of several pages keeps one for each of its steps.
    match own("pages") {
        Some(page) => json!({ "page": shorten(page, 1) }),
        None => shorten(payload, 0),
    }
}

fn shorten(value: &Value, depth: usize) -> Value {
    match value {
        Value::Object(fields) if depth <= DEPTH_MAX => {
            let short: Map<_, _> =
                fields.iter().map(|(name, value)| (name.clone(), shorten(value, depth + 1))).collect();
            Value::Object(short)
        }
        Value::Object(fields) => json!({ "fields": fields.len() }),
        Value::Array(items) => lines(items),
        scalar => scalar.clone(),
    }
}

fn lines(items: &[Value]) -> Value {
    let units = items.iter().map(|item| item.get("units")?.as_str()?.parse::<u128>().ok());
    // A sum that leaves out a line would be worse than none.
    match units.collect::<Option<Vec<_>>>() {
        Some(units) if !items.is_empty() => json!({
            "count": items.len(),
            "units": units.iter().fold(0u128, |sum, units| sum.saturating_add(*units)).to_string(),
        }),
        _ => json!({ "count": items.len() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_told_by_its_count_and_its_sum() {
        let line = |units: &str| json!({ "holder": "0x01", "units": units });
        let page = json!({ "op_id": 7, "partition": 1, "lines": [line("5"), line("340282366920938463463374607431768211000")] });
        let short = summary(&json!({ "page": page }), 0);
        assert_eq!(short["page"]["op_id"], 7);
        assert_eq!(short["page"]["lines"], json!({ "count": 2, "units": "340282366920938463463374607431768211005" }));
        let second = summary(&json!({ "pages": [{ "op_id": 7 }, { "op_id": 8 }] }), 1);
        assert_eq!(second["page"]["op_id"], 8);
        assert_eq!(summary(&json!({ "holders": ["0x01", "0x02"] }), 0)["holders"], json!({ "count": 2 }));
    }
}
