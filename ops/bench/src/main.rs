#![doc = include_str!("../README.md")]

mod accept;
mod arguments;
mod bare_chain;
mod bare_portal;
mod bare_post;
mod bare_rows;
mod calls;
mod client;
mod console;
mod cost;
mod counters;
mod fault;
mod finished;
mod flood;
mod idle;
mod installation;
mod latency;
mod market;
mod million;
mod mint;
mod network;
mod node;
mod operation_cost;
mod pace;
mod parked;
mod payout;
mod portal;
mod portal_load;
mod process;
mod profile;
mod progress;
mod reader;
mod receivers;
mod reconcile;
mod recording_proxy;
mod recovered;
mod recovery;
mod runs;
mod sample;
mod seed;
mod stall;
mod table;
mod throughput;
mod view;
mod virtual_clock;
mod webhooks;

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use arguments::{Arguments, ROWS};
use futures::FutureExt;
use table::{Line, Table};
use tokio::time::timeout;

#[tokio::main]
async fn main() {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("muniment-bench: {why}");
            std::process::exit(2);
        }
    };
    let started = Instant::now();
    let mut table = Table::default();
    for (row, ..) in ROWS.iter().filter(|(row, ..)| arguments.wants(row)) {
        let (at, patience) = (Instant::now(), arguments.patience(row, started.elapsed()));
        // A row that takes too long or panics is listed as missing; the other rows still run.
        let measured = AssertUnwindSafe(measure(row, &arguments, &mut table)).catch_unwind();
        let why = match timeout(patience, measured).await {
            Ok(Ok(())) => None,
            Ok(Err(_)) => Some("it panicked; standard error shows where".to_owned()),
            Err(_) => Some(format!("it took longer than its {:.0} s", patience.as_secs_f64())),
        };
        if let Some(why) = why {
            table.add(Line::missing(row, why));
        }
        eprintln!("   {row}: {:.0} s", at.elapsed().as_secs_f64());
    }
    println!("{}\n{}", table.text(), table.goals());
    println!("{} The whole run took {:.0} s.", table::machine(), started.elapsed().as_secs_f64());
}

async fn measure(row: &str, arguments: &Arguments, table: &mut Table) {
    match row {
        "accept" => accept::measure(arguments, table).await,
        "latency" => latency::measure(arguments, table).await,
        "throughput" => throughput::measure(arguments, table).await,
        "mint" => mint::measure(arguments, table).await,
        "payout" => payout::measure(arguments, table).await,
        "calls" => calls::measure(arguments, table).await,
        "recovery" => recovery::measure(arguments, table).await,
        "reconcile" => reconcile::measure(arguments, table).await,
        "million" => million::measure(arguments, table).await,
        "parked" => parked::measure(arguments, table).await,
        "portal" => portal::measure(arguments, table).await,
        "console" => console::measure(arguments, table).await,
        "webhooks" => webhooks::measure(arguments, table).await,
        _ => idle::measure(arguments, table).await,
    }
}
