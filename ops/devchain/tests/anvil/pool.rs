//! Pending, replaced and rejected transactions.

use super::{NOBODY, Script};
use crate::world::contract::{self, command};
use crate::world::wallet::{GWEI, Tx, Wallet};
use alloy::primitives::{Address, TxKind, U256};
use serde_json::json;

impl Script {
    pub(super) fn pool(&mut self, contract: Address) {
        let wallet = Wallet::new(1);
        let store = |nonce: u64| {
            let data = command(contract::STORE, &[U256::from(nonce + 100), U256::from(nonce + 1)]);
            Tx::new(nonce, TxKind::Call(contract), data)
        };
        let count = |script: &mut Self, label: &str| {
            for tag in ["latest", "pending"] {
                script.step(label, "eth_getTransactionCount", json!([wallet.address(), tag]));
            }
        };
        // A gap: two wait until the first comes, then all are in one block.
        let [first, second, third] = [0, 1, 2].map(|nonce| wallet.sign(store(nonce)));
        self.step("gap", "eth_sendRawTransaction", third.params());
        self.step("gap", "eth_sendRawTransaction", second.params());
        self.look("gap waits", &second);
        count(self, "gap waits");
        self.step("known", "eth_sendRawTransaction", second.params());
        self.send("gap filled", &first);
        self.level(0x16);
        self.look("gap filled", &third);
        count(self, "gap filled");
        self.step("gap filled", "eth_getBlockReceipts", json!(["0x14"]));
        self.step("gap filled", "eth_getBlockByNumber", json!(["0x14", true]));
        self.step("known and mined", "eth_sendRawTransaction", second.params());
        // Replacement: a better price takes the place, a worse one does not.
        self.step("manual", "evm_setAutomine", json!([false]));
        let old = wallet.sign(store(3).fees(10 * GWEI, GWEI));
        let new = wallet.sign(store(3).fees(20 * GWEI, 2 * GWEI));
        self.step("replaced", "eth_sendRawTransaction", old.params());
        self.step("replaced", "eth_sendRawTransaction", wallet.sign(store(3).fees(9 * GWEI, GWEI / 2)).params());
        self.step("replacing", "eth_sendRawTransaction", new.params());
        self.look("replacing", &new);
        self.step("replaced", "eth_getTransactionByHash", json!([old.hash]));
        // Order in a block: by tip over all senders.
        let other = Wallet::new(2);
        let rich = other.sign(Tx::transfer(0, NOBODY, 5).fees(30 * GWEI, 5 * GWEI));
        let next = other.sign(Tx::transfer(1, NOBODY, 6).fees(20 * GWEI, GWEI));
        self.step("order", "eth_sendRawTransaction", rich.params());
        self.step("order", "eth_sendRawTransaction", next.params());
        count(self, "before mining");
        self.tick();
        self.step("order", "eth_getBlockByNumber", json!(["pending", false]));
        self.step("order", "evm_mine", json!([]));
        self.step("order", "eth_getBlockByNumber", json!(["latest", true]));
        self.step("order", "eth_getBlockReceipts", json!(["latest"]));
        self.step("replaced", "eth_getTransactionReceipt", json!([old.hash]));
        self.step("order", "eth_feeHistory", json!(["0x3", "latest", [0, 25, 50, 75, 100]]));
        self.step("automatic", "evm_setAutomine", json!([true]));
    }

    pub(super) fn refusals(&mut self) {
        let wallet = Wallet::new(2);
        let transfer = |nonce| Tx::transfer(nonce, NOBODY, 1);
        let heavy = Tx::new(2, TxKind::Create, vec![0; 49_153]);
        for (label, raw) in [
            ("nonce too low", wallet.sign(transfer(0).fees(21 * GWEI, GWEI))),
            ("no funds", Wallet::poor().sign(transfer(0))),
            ("too little gas", wallet.sign(transfer(2).gas(20_999))),
            ("above the block", wallet.sign(transfer(2).gas(30_000_001))),
            ("below the base fee", wallet.sign(transfer(2).fees(1000, 1))),
            ("tip above the cap", wallet.sign(transfer(2).fees(20 * GWEI, 21 * GWEI))),
            ("another chain", wallet.sign(Tx { chain_id: 1, ..transfer(2) })),
            ("too much init code", wallet.sign(heavy.gas(20_000_000))),
        ] {
            self.step(label, "eth_sendRawTransaction", raw.params());
        }
        self.step("not a transaction", "eth_sendRawTransaction", json!(["0x02c0"]));
        self.step("no transaction", "eth_sendRawTransaction", json!(["0x"]));
        // Anvil takes this one, finds that it cannot run, and mines an empty block.
        let shallow = wallet.sign(Tx { data: vec![7; 1000].into(), ..transfer(2).gas(38_000) });
        self.step("below the floor", "eth_sendRawTransaction", shallow.params());
        self.level(0x1b);
    }
}
