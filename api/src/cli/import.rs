//! `muniment admin lane import`: shows what the chain did with a key since the backup, and writes it if requested.

use alloy_primitives::B256;
use clap::Args;
use muniment_domain::id::LaneId;
use muniment_workflows::engine::{Engine, Network};
use muniment_workflows::reconciliation::import::{self, Call, Match, Origin, UnknownCalls};

use crate::failure::Failure;

/// The lane to import, and what of it.
#[derive(Debug, PartialEq, Eq, Args)]
pub struct Import {
    /// Id of the lane; `muniment admin lane list` prints it.
    #[arg(value_name = "LANE")]
    pub lane: LaneId,
    /// Write what can be imported; without it, nothing changes.
    #[arg(long)]
    pub apply: bool,
    /// Mark as known a call (0x…) or one line of a call (0x…:3) that belongs to nothing here. Can be repeated.
    #[arg(long = "acknowledge", value_name = "NAME", requires = "apply", value_parser = parse_name)]
    pub acknowledged: Vec<(B256, Option<usize>)>,
}

fn parse_name(name: &str) -> Result<(B256, Option<usize>), &'static str> {
    import::parse_name(name).ok_or("write a call as 0x… and a line of it as 0x…:3")
}

/// Prints the unknown calls and imports them if requested.
pub async fn run(engine: &Engine, network: &Network, request: &Import, actor: &str) -> Result<(), Failure> {
    if request.apply {
        import::acknowledge(engine, network, &request.lane, &request.acknowledged, actor).await?;
        for id in import::apply(engine, network, &request.lane, actor).await? {
            println!("imported as {id}");
        }
    }
    let found = import::find(engine, network, &request.lane).await?;
    show(&found);
    let left = found.calls.iter().filter(|call| !call.is_settled()).count();
    match (left, request.apply) {
        (0, _) => {
            println!("Nothing is left to import. `admin lane resume {} REASON` lets the lane sign again.", request.lane)
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

fn show(found: &UnknownCalls) {
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
        if let Origin::Page(_, _, lines) = &call.origin {
            for (index, line) in lines.iter().enumerate() {
                println!("  line {index}  {}", line_in_words(call, index, line));
            }
        }
    }
}

fn in_words(call: &Call) -> String {
    let how = call.is_unmatched().then(|| how_to_acknowledge(call, None));
    call.in_words() + &how.unwrap_or_default()
}

fn line_in_words(call: &Call, index: usize, line: &Match) -> String {
    let how = line.is_unmatched().then(|| how_to_acknowledge(call, Some(index)));
    format!(
        "{}  {}  {}{}",
        line.line.holder().to_checksum(None),
        line.line.units(),
        line.in_words(),
        how.unwrap_or_default()
    )
}

fn how_to_acknowledge(call: &Call, line: Option<usize>) -> String {
    format!("; if that is right: --acknowledge {}", call.name(line))
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
