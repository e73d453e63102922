//! Transactions, calls and estimates on the contract, those that fail too.

use super::{NOBODY, Script};
use crate::world::contract::{self, command, command_with};
use crate::world::wallet::{Tx, Wallet};
use alloy::primitives::{Address, TxKind, U256};
use serde_json::json;

impl Script {
    pub(super) fn calls(&mut self, contract: Address) {
        let wallet = Wallet::new(0);
        let store = |slot: u64, value: u64| command(contract::STORE, &[U256::from(slot), U256::from(value)]);
        let call = |nonce, data| Tx::new(nonce, TxKind::Call(contract), data);
        self.send("store", &wallet.sign(call(5, store(1, 7))));
        self.send("store again", &wallet.sign(call(6, store(1, 8))));
        self.send("clear for a refund", &wallet.sign(call(7, store(1, 0))));
        self.send("store legacy", &wallet.sign_legacy(call(8, store(2, 9))));
        let slot = U256::from(2).into();
        self.send("store with access list", &wallet.sign_access_list(call(9, store(2, 10)), contract, slot));
        self.send("transfer", &wallet.sign(Tx::transfer(10, NOBODY, 12345)));
        let to = command(contract::FORWARD, &[U256::from_be_slice(NOBODY.as_slice())]);
        self.send("forward value", &wallet.sign(Tx { value: U256::from(99), ..call(11, to) }));
        let create = command_with(contract::CREATE, &contract::init(&[0x00]));
        self.send("create inside", &wallet.sign(call(12, create)));
        self.send("much calldata", &wallet.sign(call(13, command_with(0xff, &[7; 5000]))));
        self.step("storage", "eth_getStorageAt", json!([contract, "0x2", "latest"]));
        self.step("storage", "eth_getStorageAt", json!([contract, "0x2", "0x9"]));
        for (label, data) in [
            ("load", command(contract::LOAD, &[U256::from(2)])),
            ("scene", command(contract::SCENE, &[])),
            ("custom error", command_with(contract::REVERT, &contract::custom_error(NOBODY))),
            ("error string", command_with(contract::REVERT, &contract::error_string("not today"))),
            ("empty revert", command_with(contract::REVERT, &[])),
            ("invalid", command(contract::INVALID, &[])),
            ("spin", command(contract::SPIN, &[])),
            ("nothing", command_with(0xff, &[])),
        ] {
            let request = json!({ "from": wallet.address(), "to": contract, "data": data });
            self.step(label, "eth_call", json!([request, "latest"]));
        }
        let scene = json!({ "from": NOBODY, "to": contract, "input": command(contract::SCENE, &[]), "value": "0x5" });
        self.step("value without funds", "eth_call", json!([scene, "latest"]));
        let scene = json!({ "to": contract, "input": command(contract::SCENE, &[]), "gasPrice": "0x77359400" });
        self.step("price without funds", "eth_call", json!([scene, "latest"]));
        let scene = json!({ "from": wallet.address(), "to": contract, "input": command(contract::SCENE, &[]),
            "maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x1", "gas": "0x186a0" });
        self.step("fees", "eth_call", json!([scene, "latest"]));
        self.step("create by call", "eth_call", json!([{ "data": contract::init(&[0x00]) }, "latest"]));
    }

    pub(super) fn estimates(&mut self, contract: Address) {
        let from = Wallet::new(0).address();
        let store = command(contract::STORE, &[U256::from(77), U256::from(7)]);
        let clear = command(contract::STORE, &[U256::from(2), U256::ZERO]);
        let forward = command(contract::FORWARD, &[U256::from_be_slice(contract.as_slice())]);
        let custom = command_with(contract::REVERT, &contract::custom_error(NOBODY));
        let text = command_with(contract::REVERT, &contract::error_string("not today"));
        let deploy = contract::init(&contract::runtime());
        for (label, request) in [
            ("transfer", json!({ "from": from, "to": NOBODY, "value": "0x1" })),
            ("store", json!({ "from": from, "to": contract, "data": store })),
            ("clear", json!({ "from": from, "to": contract, "data": clear })),
            ("forward", json!({ "from": from, "to": contract, "data": forward, "value": "0x1" })),
            ("deploy", json!({ "from": from, "data": deploy })),
            ("with fees", json!({ "from": from, "to": contract, "data": store, "maxFeePerGas": "0x77359400" })),
            ("capped", json!({ "from": from, "to": contract, "data": store, "gas": "0x186a0" })),
            ("custom error", json!({ "from": from, "to": contract, "data": custom })),
            ("error string", json!({ "from": from, "to": contract, "data": text })),
            ("invalid", json!({ "from": from, "to": contract, "data": command(contract::INVALID, &[]) })),
            ("too little gas", json!({ "from": from, "to": contract, "data": store, "gas": "0x5300" })),
            ("no funds", json!({ "from": NOBODY, "to": contract, "value": "0xffffffffffffffffff" })),
            (
                "no funds for gas",
                json!({ "from": Wallet::poor().address(), "to": contract, "data": store, "gasPrice": "0x77359400" }),
            ),
            ("floor", json!({ "from": from, "to": NOBODY, "data": command_with(7, &[7; 3000]) })),
        ] {
            self.step(label, "eth_estimateGas", json!([request]));
        }
    }

    pub(super) fn mined_failures(&mut self, contract: Address) {
        let wallet = Wallet::new(0);
        for (nonce, label, data) in [
            (14, "mined custom error", command_with(contract::REVERT, &contract::custom_error(NOBODY))),
            (15, "mined invalid", command(contract::INVALID, &[])),
            (16, "mined out of gas", command(contract::SPIN, &[])),
            (17, "mined no code", command(contract::DESTROY, &[U256::from_be_slice(NOBODY.as_slice())])),
        ] {
            self.send(label, &wallet.sign(Tx::new(nonce, TxKind::Call(contract), data).gas(100_000)));
        }
        self.send("whole block", &wallet.sign(Tx::transfer(18, NOBODY, 1).gas(30_000_000)));
    }
}
