//! The reference node.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::http::Client;

const HOW: &str = "anvil 1.7.1 is needed: run `npm ci` in contracts/, or set MUNIMENT_ANVIL to its binary";

pub struct Anvil {
    process: Child,
    pub address: String,
}

fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("MUNIMENT_ANVIL") {
        return path.into();
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("contracts/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil")
}

impl Anvil {
    /// Starts anvil with the given genesis time.
    pub fn start(genesis_seconds: u64) -> Self {
        let binary = binary();
        let version = Command::new(&binary).arg("--version").output();
        let version = version.unwrap_or_else(|error| panic!("{}: {error}; {HOW}", binary.display()));
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        assert!(version.contains("1.7.1"), "{version}: {HOW}");
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Command::new(binary)
            .args(["--port", &port.to_string(), "--timestamp", &genesis_seconds.to_string(), "--silent"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let anvil = Self { process, address: format!("127.0.0.1:{port}") };
        for _ in 0..200 {
            if Client::connect(&anvil.address).is_ok() {
                return anvil;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("anvil does not listen on {}", anvil.address);
    }
}

impl Drop for Anvil {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
