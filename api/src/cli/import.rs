//! `muniment admin lane import`: shows what the chain did with a key since the backup, and writes it if requested.

use alloy_primitives::B256;
use clap::Args;
use muniment_workflows::engine::{Engine, Network};
use muniment_workflows::reconciliation::import::{self, Call, Found, Match, Origin, Subscription};

use crate::failure::Failure;

/// The lane to import, and what of it.
#[derive(Debug, PartialEq, Eq, Args)]
pub struct Import {
    /// Id of the lane; `muniment admin lane list` prints it.
    #[arg(value_name = "LANE")]
    pub lane: String,
    /// Write what can be imported; without it, nothing changes.
    #[arg(long)]
    pub apply: bool,
    /// Mark as known a call (0x…) or one line of a call (0x…:3) that belongs to nothing here. Can be repeated.
    #[arg(long = "acknowledge", value_name = "NAME", requires = "apply", value_parser = parse_name)]
    pub acknowledged: Vec<(B256, Option<usize>)>,
}

fn parse_name(name: &str) -> Result<(B256, Option<usize>), &'static str> {
    let (hash, line) = name.split_once(':').map_or((name, None), |(hash, line)| (hash, Some(line)));
    let line = line.map(str::parse).transpose().ok();
    match (hash.parse(), line) {
        (Ok(hash), Some(line)) => Ok((hash, line)),
        _ => Err("write a call as 0x… and a line of it as 0x…:3"),
    }
}

/// Shows what was found and, if asked to, writes it.
pub async fn run(engine: &Engine, network: &Network, asked: &Import, actor: &str) -> Result<(), Failure> {
    if asked.apply {
        import::acknowledge(engine, network, &asked.lane, &asked.acknowledged, actor).await?;
        for id in import::apply(engine, network, &asked.lane, actor).await? {
            println!("imported as {id}");
        }
    }
    let found = import::find(engine, network, &asked.lane).await?;
    show(&found);
    let left = found.calls.iter().filter(|call| !call.is_settled()).count();
    match (left, asked.apply) {
        (0, _) => {
            println!("Nothing is left to import. `admin lane resume {} REASON` lets the lane sign again.", asked.lane)
        }
        (_, false) => println!("Nothing was written. `--apply` imports what can be imported."),
        (left, true) => {
            return Err(Failure::new(format!(
                "{left} calls could not be imported; the lane is unchanged. Acknowledge a call that belongs to nothing here by its name."
            )));
        }
    }
    Ok(())
}

fn show(found: &Found) {
    let lane = &found.lane;
    println!("lane {}  {}  {}  next nonce {}", lane.id, lane.signer, lane.mode, lane.next_nonce);
    let Some((first, last)) = found.blocks else {
        println!("The database knows every transaction of the key up to the final block.");
        return;
    };
    println!(
        "final blocks {first} to {last}: {} transactions above the counter, {} calls that this database did not sign",
        found.uncounted,
        found.calls.len()
    );
    for call in &found.calls {
        let (mined, target) = (&call.mined, call.mined.to.unwrap_or_default().to_checksum(None));
        println!("block {}  nonce {}  {}  {} of {target}", mined.block_number, mined.nonce, mined.hash, call.function);
        println!("  {}", in_words(call));
        if let Origin::Page(_, _, lines) = &call.standing {
            for (index, line) in lines.iter().enumerate() {
                println!("  line {index}  {}", line_in_words(call, index, line));
            }
        }
    }
}

fn in_words(call: &Call) -> String {
    match &call.standing {
        Origin::Awaited(id) => format!("known: {id} requests this call and will find it"),
        Origin::Deployment(id, _) => format!("unknown: the deployment of {id}"),
        Origin::Page(id, page, lines) => {
            format!("unknown: operation {} of the token of {id}, {} lines", page.op_id, lines.len())
        }
        Origin::Paid(entitlements) => format!(
            "unknown: it paid what is unpaid here and would be paid again; exclude it first: {}",
            entitlements.join(", ")
        ),
        Origin::Strange(true) => "unknown, and acknowledged".to_owned(),
        Origin::Strange(false) => {
            format!("unknown, and matches nothing here; if that is right: --acknowledge {}", call.name(None))
        }
    }
}

fn line_in_words(call: &Call, index: usize, line: &Match) -> String {
    let (holder, units) = (line.line.holder().to_checksum(None), line.line.units());
    let what = match &line.subscription {
        Subscription::Fits(id) => id.clone(),
        Subscription::Held(id, operation) => format!("{id} is in {operation}: cancel that first"),
        Subscription::Missing(true) => "no accepted subscription, acknowledged".to_owned(),
        Subscription::Missing(false) => {
            format!("no accepted subscription; if that is right: --acknowledge {}", call.name(Some(index)))
        }
    };
    format!("{holder}  {units}  {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledged_calls_need_their_exact_name() {
        let hash = format!("0x{}", "ab".repeat(32));
        let line = format!("{hash}:3");
        assert_eq!(parse_name(&hash), Ok((B256::repeat_byte(0xab), None)));
        assert_eq!(parse_name(&line), Ok((B256::repeat_byte(0xab), Some(3))));
        for name in ["0xab", &format!("{hash}:"), &format!("{hash}:x"), &format!("{line}:4")] {
            assert!(parse_name(name).is_err(), "{name}");
        }
    }
}
