//! One call on its way through the rules, to the node and back.

use serde_json::{Value, json};

use super::fault::Fault;
use super::pool::Signed;
use super::trace::{Fate, Sent};
use super::{Shared, lie};
use crate::rpc::{number, quantity};

const SEND: &str = "eth_sendRawTransaction";

pub(super) enum Outcome {
    Answer(Value),
    Status(u16),
    Garbage,
    Hangup,
}

/// The rules that strike at one call, by their place.
struct Struck(Vec<(usize, Fault)>);

impl Struck {
    fn draw(shared: &Shared, method: &str) -> Self {
        let mut state = shared.state();
        *state.trace.calls.entry(method.to_owned()).or_default() += 1;
        let rules = state.rules.iter_mut().enumerate();
        Self(rules.filter_map(|(id, rule)| rule.strikes(method).then(|| (id, rule.rule.fault.clone()))).collect())
    }
}

impl Shared {
    /// Counts the hit; false when the rule has had its last one.
    fn hit(&self, id: usize, fault: &Fault) -> bool {
        let mut state = self.state();
        let hit = state.rules[id].hit();
        *state.trace.hits.entry(fault.name()).or_default() += u64::from(hit);
        hit
    }
}

pub(super) async fn visit(shared: &Shared, mut call: Value) -> Outcome {
    let method = call["method"].as_str().unwrap_or_default().to_owned();
    let signed = if method == SEND { Signed::read(&call["params"]) } else { None };
    let struck = Struck::draw(shared, &method);
    for (id, fault) in &struck.0 {
        if let Some(outcome) = before(shared, *id, fault, &mut call, signed.as_ref()).await {
            let fate = match &outcome {
                Outcome::Answer(answer) => refusal(answer).unwrap_or(Fate::Lost),
                _ => Fate::Lost,
            };
            record(shared, signed, fate);
            return outcome;
        }
    }
    let Ok(answer) = shared.node.post(call.to_string()).await else {
        record(shared, signed, Fate::Lost);
        return Outcome::Hangup;
    };
    let Ok(mut answer) = serde_json::from_str::<Value>(&answer) else {
        return Outcome::Garbage;
    };
    record(shared, signed, refusal(&answer).unwrap_or(Fate::Taken));
    for (id, fault) in &struck.0 {
        if after(shared, *id, fault, &method, &call, &mut answer).await {
            return Outcome::Hangup;
        }
    }
    Outcome::Answer(answer)
}

/// What strikes before the node sees the call; an outcome ends the visit.
async fn before(
    shared: &Shared,
    id: usize,
    fault: &Fault,
    call: &mut Value,
    signed: Option<&Signed>,
) -> Option<Outcome> {
    match fault {
        Fault::DropRequest => shared.hit(id, fault).then_some(Outcome::Hangup),
        Fault::Status(status) => shared.hit(id, fault).then_some(Outcome::Status(*status)),
        Fault::Garbage => shared.hit(id, fault).then_some(Outcome::Garbage),
        Fault::Error(code, words) => shared.hit(id, fault).then(|| error(call, *code, words)),
        Fault::Delay(time) => {
            if shared.hit(id, fault) {
                tokio::time::sleep(*time).await;
            }
            None
        }
        Fault::StaleHead(behind) => {
            let (place, older) = older_head(shared, call, *behind).await?;
            if shared.hit(id, fault) {
                call["params"][place] = older;
            }
            None
        }
        Fault::EarlyFinality => {
            if call["params"][0] == "finalized" && shared.hit(id, fault) {
                call["params"][0] = json!("latest");
            }
            None
        }
        Fault::StandStill(height) => stopped_at(shared, id, fault, call, *height),
        Fault::ReplacementRule => {
            let refused = shared.state().pool.underpriced(signed?);
            (refused && shared.hit(id, fault)).then(|| error(call, -32000, "replacement transaction underpriced"))
        }
        Fault::GapRule => {
            let signed = signed?;
            let count = json!([signed.sender.to_string(), "latest"]);
            let count = shared.node.try_call("eth_getTransactionCount", count).await.ok()?;
            let next = shared.state().pool.next(signed.sender, number(&count)?);
            let words = format!("nonce too high: next nonce {next}, tx nonce {}", signed.nonce);
            (signed.nonce > next && shared.hit(id, fault)).then(|| error(call, -32000, &words))
        }
        _ => None,
    }
}

/// What strikes once the node has answered; true breaks the connection.
async fn after(shared: &Shared, id: usize, fault: &Fault, method: &str, call: &Value, answer: &mut Value) -> bool {
    match fault {
        Fault::DropResponse => shared.hit(id, fault),
        Fault::Duplicate => {
            if shared.hit(id, fault) {
                let _ = shared.node.post(call.to_string()).await;
            }
            false
        }
        _ => {
            let mut told = answer["result"].clone();
            if lie::tell(fault, method, &call["params"], &mut told) && shared.hit(id, fault) {
                answer["result"] = told;
            }
            false
        }
    }
}

/// The place of `latest` in a call, and the number that stands for it when the node is behind.
async fn older_head(shared: &Shared, call: &Value, behind: u64) -> Option<(usize, Value)> {
    let place = call["params"].as_array()?.iter().position(|param| param == "latest")?;
    let head = shared.node.try_call("eth_blockNumber", json!([])).await.ok()?;
    Some((place, quantity(number(&head)?.saturating_sub(behind))))
}

/// A node that stopped: tags mean its last block, and it does not know any later one.
fn stopped_at(shared: &Shared, id: usize, fault: &Fault, call: &mut Value, height: u64) -> Option<Outcome> {
    if call["method"] == "eth_blockNumber" {
        let answer = json!({ "jsonrpc": "2.0", "id": call["id"], "result": quantity(height) });
        return shared.hit(id, fault).then_some(Outcome::Answer(answer));
    }
    let params = call["params"].as_array_mut()?;
    for param in params {
        let later = number(param).is_some_and(|at| at > height && at < 1 << 40);
        if matches!(param.as_str(), Some("latest" | "pending" | "finalized" | "safe")) && shared.hit(id, fault) {
            *param = quantity(height);
        } else if later && shared.hit(id, fault) {
            let unknown = json!({ "jsonrpc": "2.0", "id": call["id"], "result": null });
            let is_block = call["method"] == "eth_getBlockByNumber";
            return Some(if is_block { Outcome::Answer(unknown) } else { error(call, -32000, "header not found") });
        }
    }
    None
}

fn error(call: &Value, code: i64, words: &str) -> Outcome {
    let error = json!({ "code": code, "message": words });
    Outcome::Answer(json!({ "jsonrpc": "2.0", "id": call["id"], "error": error }))
}

fn refusal(answer: &Value) -> Option<Fate> {
    Some(Fate::Refused(answer["error"]["message"].as_str()?.to_owned()))
}

fn record(shared: &Shared, signed: Option<Signed>, fate: Fate) {
    let Some(signed) = signed else { return };
    let mut state = shared.state();
    if fate == Fate::Taken {
        state.pool.add(&signed);
    }
    state.trace.sent.push(Sent { signed, fate });
}
