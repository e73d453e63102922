#![doc = include_str!("../README.md")]

mod accept;
mod arguments;
mod bare_chain;
mod bare_rows;
mod calls;
mod client;
mod finished;
mod ground;
mod idle;
mod latency;
mod million;
mod mint;
mod node;
mod reconcile;
mod recovery;
mod sample;
mod seed;
mod stand;
mod table;
mod tap;
mod throughput;
mod view;

use std::time::Instant;

use arguments::{Arguments, ROWS};
use table::{Line, Table};

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
    for row in ROWS.iter().filter(|row| arguments.wants(row)) {
        let at = Instant::now();
        for line in measure(row, &arguments).await {
            table.add(line);
        }
        eprintln!("   {row}: {:.0} s", at.elapsed().as_secs_f64());
    }
    println!("{}", table.text());
    println!("{} The whole run took {:.0} s.", table::machine(), started.elapsed().as_secs_f64());
}

async fn measure(row: &str, arguments: &Arguments) -> Vec<Line> {
    match row {
        "accept" => accept::measure(arguments).await,
        "latency" => latency::measure(arguments).await,
        "throughput" => throughput::measure(arguments).await,
        "mint" => mint::measure(arguments).await,
        "calls" => calls::measure(arguments).await,
        "recovery" => recovery::measure(arguments).await,
        "reconcile" => reconcile::measure(arguments).await,
        "million" => million::measure(arguments).await,
        _ => idle::measure(arguments).await,
    }
}
