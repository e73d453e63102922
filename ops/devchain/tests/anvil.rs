//! The same script of calls against anvil and against this chain, compared field by field.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "anvil/allowed.rs"]
mod allowed;
#[path = "anvil/script.rs"]
mod script;
mod world;

use muniment_devchain::Config;
use world::anvil::Anvil;
use world::http::{Client, serve};

const GENESIS_SECONDS: u64 = 1_900_000_000;

#[test]
fn every_method_answers_as_anvil_does() {
    let anvil = Anvil::start(GENESIS_SECONDS);
    let config = Config { clock: std::sync::Arc::new(|| GENESIS_SECONDS), ..Config::default() };
    let ours = serve(config);
    let theirs = script::run(Client::connect(&anvil.address).unwrap());
    let ours = script::run(Client::connect(&ours.address).unwrap());
    assert_eq!(theirs.len(), ours.len());
    let mut differences = Vec::new();
    for (theirs, ours) in theirs.iter().zip(&ours) {
        assert_eq!(theirs.label, ours.label);
        allowed::compare(&theirs.label, &theirs.response, &ours.response, &mut differences);
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
    println!("{} responses compared", ours.len());
}
