//! The moment between the disk and the eye: a block that is durable and was never shown.

use alloy::primitives::{Address, U256};

use super::*;
use crate::config::Config;
use crate::store;

fn config(name: &str) -> Config {
    let dir = std::env::temp_dir().join(format!("devchain-writer-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    Config { dir: Some(dir), clock: Arc::new(|| 1_900_000_000), ..Config::default() }
}

fn open(config: &Config) -> (RwLock<Chain>, Writer, Option<std::fs::File>) {
    let opened = store::open(config).unwrap();
    (RwLock::new(opened.chain), Writer::new(opened.journal, config.clock.clone()), opened.lock)
}

#[test]
fn a_block_that_was_written_and_not_shown_is_there_after_a_crash() {
    let config = config("written");
    let (chain, mut writer, lock) = open(&config);
    change(&chain).schedule.ahead(77);
    writer.stage(&chain);
    writer.stage(&chain);
    let staged = std::mem::take(&mut writer.staged);
    writer.persist(&chain, &staged).unwrap();
    // The process ends here: nothing is shown, nobody got an answer.
    assert_eq!(read(&chain).head().header.number, 0);
    let hash = staged.blocks[1].block.hash;
    drop((chain, writer, lock));

    let (chain, _writer, _lock) = open(&config);
    assert_eq!(read(&chain).head().header.number, 2);
    assert_eq!(read(&chain).head().hash, hash);
    assert_eq!(read(&chain).schedule.ahead_seconds, 77);
}

#[test]
fn a_block_that_was_built_and_not_written_is_gone() {
    let config = config("built");
    let (chain, mut writer, lock) = open(&config);
    writer.stage(&chain);
    drop((chain, writer, lock));
    assert_eq!(read(&open(&config).0).head().header.number, 0);
}

#[test]
fn a_writer_that_could_not_write_takes_no_more_commands() {
    let config = config("broken");
    let (chain, mut writer, _lock) = open(&config);
    // A journal that is open for reading only stands in for a full disk.
    writer.journal = Some(Journal::read_only(&config.dir.clone().unwrap().join("devchain.log")));
    for _ in 0..2 {
        let slot = Slot::default();
        writer.run(&chain, vec![(Command::Mine(1, None), slot.clone())]);
        let fault = hold(&slot).take().unwrap().pop().unwrap().unwrap_err();
        assert!(fault.message.contains("free space"), "{}", fault.message);
        assert_eq!(read(&chain).head().header.number, 0);
    }
}

#[test]
fn a_balance_set_from_outside_outlives_a_restart_and_leaves_the_past_alone() {
    let config = config("balance");
    let (chain, mut writer, lock) = open(&config);
    let address = Address::repeat_byte(9);
    writer.mine(&chain, 1, None).unwrap();
    writer.flush(&chain);
    writer.set_balance(&chain, address, U256::from(5)).unwrap();
    drop((chain, writer, lock));
    let (chain, _writer, _lock) = open(&config);
    let chain = read(&chain);
    assert_eq!(chain.latest().account(&address).unwrap().balance, U256::from(5));
    assert_eq!(chain.view(0).unwrap().account(&address), None);
}

#[test]
fn orders_that_come_together_share_one_write() {
    let config = config("together");
    let (chain, mut writer, _lock) = open(&config);
    let log = config.dir.clone().unwrap().join("devchain.log");
    let marks = |bytes: Vec<u8>| bytes.windows(4).filter(|window| window == b"MBLK").count();
    assert_eq!(marks(std::fs::read(&log).unwrap()), 1);
    writer.run(&chain, (0..3).map(|_| (Command::Mine(1, None), Slot::default())).collect());
    assert_eq!(marks(std::fs::read(&log).unwrap()), 2);
    assert_eq!(read(&chain).head().header.number, 3);
}
