//! A contract written by hand: the first byte of the calldata says what to do.

use alloy::primitives::{Address, B256, Bytes, U256, keccak256};

pub const STORE: u8 = 1;
pub const REVERT: u8 = 2;
pub const LOAD: u8 = 3;
pub const SPIN: u8 = 4;
pub const INVALID: u8 = 5;
pub const CREATE: u8 = 6;
pub const SCENE: u8 = 7;
pub const FORWARD: u8 = 8;
pub const DESTROY: u8 = 9;

/// Calldata: the command, then words.
pub fn command(command: u8, words: &[U256]) -> Bytes {
    let mut data = vec![command];
    words.iter().for_each(|word| data.extend(word.to_be_bytes::<32>()));
    data.into()
}

/// Calldata: the command, then bytes as they are.
pub fn command_with(command: u8, rest: &[u8]) -> Bytes {
    [&[command], rest].concat().into()
}

/// The data of a custom error `NotListed(address)`.
pub fn custom_error(address: Address) -> Bytes {
    [&keccak256("NotListed(address)")[..4], &B256::left_padding_from(address.as_slice())[..]].concat().into()
}

/// The data of `Error(string)`.
pub fn error_string(text: &str) -> Bytes {
    let mut data = vec![0x08, 0xc3, 0x79, 0xa0];
    data.extend(U256::from(32).to_be_bytes::<32>());
    data.extend(U256::from(text.len()).to_be_bytes::<32>());
    data.extend(text.as_bytes());
    data.resize(4 + 64 + text.len().div_ceil(32) * 32, 0);
    data.into()
}

/// Init code that returns `runtime`, which must be shorter than 64 KiB.
pub fn init(runtime: &[u8]) -> Bytes {
    let size = (runtime.len() as u16).to_be_bytes();
    // PUSH2 size, PUSH1 14, PUSH0, CODECOPY, PUSH2 size, PUSH0, RETURN, padding up to 14 bytes.
    let mut code = vec![0x61, size[0], size[1], 0x60, 14, 0x5f, 0x39, 0x61, size[0], size[1], 0x5f, 0xf3, 0, 0];
    code.extend_from_slice(runtime);
    code.into()
}

/// Copies the calldata after the command to memory 0 and leaves its length on the stack.
const REST: &[u8] = &[0x60, 1, 0x36, 0x03, 0x80, 0x60, 1, 0x5f, 0x37];

pub fn runtime() -> Vec<u8> {
    let word = |at: u8| vec![0x60, at, 0x35];
    let mut code = vec![];
    // SSTORE(word 1, word 33); LOG2(value; the topics are a constant and the slot).
    let mut store = [word(33), word(1), vec![0x55]].concat();
    store.extend([word(33), vec![0x5f, 0x52], word(1), vec![0x60, 0xaa, 0x60, 0x20, 0x5f, 0xa2, 0x00]].concat());
    let revert = [REST, &[0x5f, 0xfd]].concat();
    let load = [word(1), vec![0x54, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3]].concat();
    let invalid = vec![0xfe];
    // CREATE(value 0, memory 0, length) and return the address.
    let create = [REST, &[0x5f, 0x5f, 0xf0, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3]].concat();
    // NUMBER, TIMESTAMP, BASEFEE, CHAINID, GASLIMIT, COINBASE, GASPRICE, ORIGIN, CALLER, CALLVALUE, SELFBALANCE.
    let mut scene = vec![];
    let fields = [0x43, 0x42, 0x48, 0x46, 0x45, 0x41, 0x3a, 0x32, 0x33, 0x34, 0x47];
    for (index, op) in fields.iter().enumerate() {
        scene.extend([*op, 0x61, (index * 32 / 256) as u8, (index * 32 % 256) as u8, 0x52]);
    }
    scene.extend([0x61, 1, 0x60, 0x5f, 0xf3]);
    // CALL(gas, word 1, callvalue, no data) and return whether it succeeded.
    let mut forward = vec![0x5f, 0x5f, 0x5f, 0x5f, 0x34];
    forward.extend([word(1), vec![0x5a, 0xf1, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3]].concat());
    let destroy = [word(1), vec![0xff]].concat();
    let bodies: [(u8, Vec<u8>); 8] = [
        (STORE, store),
        (REVERT, revert),
        (LOAD, load),
        (INVALID, invalid),
        (CREATE, create),
        (SCENE, scene),
        (FORWARD, forward),
        (DESTROY, destroy),
    ];
    // Each command: CALLDATALOAD(0) >> 248 == id ? body : next. SPIN is a loop that jumps to itself.
    for (id, body) in bodies {
        let next = (code.len() + 13 + body.len()) as u16;
        code.extend([0x5f, 0x35, 0x60, 248, 0x1c, 0x60, id, 0x18, 0x61, (next >> 8) as u8, next as u8, 0x57, 0x5b]);
        code.extend(body);
        code.push(0x5b);
    }
    let here = (code.len() + 13) as u16;
    let [high, low] = here.to_be_bytes();
    // Anything else stops, so that the contract can be sent ether.
    code.extend([0x5f, 0x35, 0x60, 248, 0x1c, 0x60, SPIN, 0x14, 0x61, high, low, 0x57, 0x00]);
    code.extend([0x5b, 0x61, high, low, 0x56]);
    code
}
