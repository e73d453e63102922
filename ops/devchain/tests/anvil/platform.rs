//! The platform's own contracts, as far as their deployment goes: gas, code and events.

use alloy::primitives::{Address, Bytes, TxKind, U256, hex};
use serde_json::{Value, json};

use super::Script;
use crate::world::wallet::{Tx, Wallet};

impl Script {
    /// Deploys every artifact with plain constructor arguments.
    pub(super) fn platform(&mut self) {
        let wallet = Wallet::new(2);
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts/artifacts");
        let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        files.sort();
        assert!(!files.is_empty(), "contracts/artifacts has no artifact: run the contracts' build");
        for (nonce, path) in (2..).zip(files) {
            let artifact: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let name = format!("platform {}", path.file_stem().unwrap().to_string_lossy());
            let code = hex::decode(artifact["bytecode"]["object"].as_str().unwrap()).unwrap();
            let data: Bytes = [code, arguments(&artifact, wallet.address())].concat().into();
            let request = json!({ "from": wallet.address(), "data": data });
            self.step(&name, "eth_estimateGas", json!([request]));
            let receipt = self.send(&name, &wallet.sign(Tx::new(nonce, TxKind::Create, data).gas(12_000_000)));
            self.step(&name, "eth_getCode", json!([receipt["contractAddress"], "latest"]));
        }
    }
}

/// Constructor arguments: every address is the deployer's, every text "Coin", every number six, every list empty.
fn arguments(artifact: &Value, deployer: Address) -> Vec<u8> {
    let abi = artifact["abi"].as_array().unwrap();
    let inputs = abi.iter().find(|entry| entry["type"] == "constructor").map(|entry| entry["inputs"].clone());
    let inputs = inputs.and_then(|inputs| inputs.as_array().cloned()).unwrap_or_default();
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    for input in &inputs {
        let word = match input["type"].as_str().unwrap() {
            "address" => U256::from_be_slice(deployer.as_slice()),
            "string" => {
                let offset = U256::from(inputs.len() * 32 + tail.len());
                tail.extend(U256::from(4).to_be_bytes::<32>());
                tail.extend([b"Coin".as_slice(), &[0; 28]].concat());
                offset
            }
            list if list.ends_with("[]") => {
                let offset = U256::from(inputs.len() * 32 + tail.len());
                tail.extend([0; 32]);
                offset
            }
            _ => U256::from(6),
        };
        head.extend(word.to_be_bytes::<32>());
    }
    [head, tail].concat()
}
