//! The demo: README's tour works as printed, on a first start and on a later one, and there is something for every page to show.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};
use tempfile::TempDir;
use world::{Binary, Launch, http_client};

use crate::installation::PATIENCE;

const END: &str = "── end of the block";

/// A demo in a folder of its own.
pub struct Demo {
    folder: TempDir,
    process: Binary,
}

impl Demo {
    pub fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("muniment-demo.").tempdir().unwrap();
        let process = Self::launch(folder.path(), &[]).spawn();
        let demo = Self { folder, process };
        demo.is_ready();
        demo
    }

    fn launch(folder: &Path, words: &[&str]) -> Launch {
        let launch = Launch::new(words.iter().copied()).folder(folder);
        launch.env("MUNIMENT_LISTEN", "127.0.0.1:0").env("MUNIMENT_DEVCHAIN_LISTEN", "127.0.0.1:0")
    }

    fn again(&mut self) {
        self.process.kill();
        self.process = Self::launch(self.folder.path(), &[]).spawn();
        self.is_ready();
    }

    fn is_ready(&self) {
        let printed = self.process.line_with("Ctrl-C stops everything", PATIENCE);
        assert!(printed.is_some(), "the demo does not start\n{}", self.process.log());
    }

    /// Runs a command that ends, beside the demo.
    fn command(&self, words: &[&str]) -> (bool, String) {
        let (status, text) = Self::launch(self.folder.path(), words).output();
        (status.success(), text)
    }

    fn value(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.folder.path().join("data/demo.env")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
        line.unwrap_or_else(|| panic!("{name} is missing")).trim_matches('\'').to_owned()
    }

    pub async fn get(&self, path: &str) -> Value {
        let request = http_client().get(format!("{}{path}", self.value("API"))).bearer_auth(self.value("KEY"));
        request.send().await.unwrap().json().await.unwrap()
    }

    /// The distinct values of a field in a list.
    async fn each(&self, path: &str, pointer: &str) -> Vec<String> {
        let list = self.get(path).await;
        let rows = list["data"].as_array().unwrap_or_else(|| panic!("{path}: {list}"));
        let mut found: Vec<_> =
            rows.iter().filter_map(|row| Some(row.pointer(pointer)?.as_str()?.to_owned())).collect();
        found.sort();
        found.dedup();
        found
    }

    async fn until(&self, path: &str, what: &str, is_so: impl Fn(&Value) -> bool) {
        for _ in 0..600 {
            if is_so(&self.get(path).await) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("in vain until {what}: {:#}\n{}", self.get(path).await, self.process.log());
    }
}

/// A shell that keeps its variables from block to block, as a person's terminal does.
struct Shell {
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
}

impl Shell {
    fn open(folder: &PathBuf) -> Self {
        let mut command = Command::new("bash");
        command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (input, lines) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()).lines());
        let (sender, output) = channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, input, output }
    }

    /// Runs a block and returns what it printed on both streams.
    fn run(&mut self, block: &str) -> String {
        writeln!(self.input, "{{ {block}\n}} 2>&1\necho '{END}'").unwrap();
        let mut printed = String::new();
        loop {
            match self.output.recv_timeout(PATIENCE) {
                Ok(line) if line == END => return printed,
                Ok(line) => printed = printed + &line + "\n",
                Err(error) => panic!("{error}:\n{block}\n{printed}"),
            }
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The commands of README's tour, block by block.
fn tour() -> Vec<String> {
    let text = std::fs::read_to_string(world::repository().join("README.md")).unwrap();
    let blocks = text.split("```sh\n").skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// Takes the whole tour. A block that kills the demo is followed by another start.
fn take_tour(demo: &mut Demo) {
    let mut shell = Shell::open(&demo.folder.path().to_path_buf());
    let blocks = tour();
    assert!(blocks.len() >= 8, "README has the tour");
    for (number, block) in blocks.iter().enumerate() {
        let printed = shell.run(block);
        let is_last = number + 1 == blocks.len();
        for sign in ["Traceback", "curl:", "command not found"] {
            assert!(!printed.contains(sign), "{block}\n{printed}\n{}", demo.process.log());
        }
        assert_eq!(printed.contains("\"retryable\""), is_last, "only the last one is refused:\n{block}\n{printed}");
        assert!(!is_last || printed.contains("token_already_deployed"), "{printed}");
        assert!(printed.lines().all(|line| line.len() < 400), "an unreadable line:\n{block}\n{printed}");
        if block.contains("kill -9") {
            assert!(demo.process.wait(PATIENCE).is_some(), "the demo was killed");
            demo.again();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_of_the_readme_works_as_printed_on_a_first_start_and_on_a_later_one() {
    let mut demo = Demo::start();
    let printed = demo.process.log();
    let (before, _) = printed.split_once("Ctrl-C stops everything").unwrap();
    assert!(before.lines().count() <= 30 && !before.contains(" INFO "), "the invitation is on the screen:\n{printed}");
    demo.get("/v1/offerings").await;
    assert!(demo.process.line_with(" INFO ", PATIENCE).is_some(), "after it everything is logged");
    let known = (demo.value("KEY"), demo.value("PASSWORD"));
    take_tour(&mut demo);
    let warned =
        |log: String| log.lines().filter(|line| line.contains(" WARN ")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(warned(demo.process.log()), Vec::<String>::new(), "a healthy tour warns of nothing");
    let minted = demo.get("/blockchain/operations?type=mint&status=confirmed&limit=100").await["data"].clone();
    assert_eq!(minted.as_array().unwrap().len(), 3, "the exhibit's, and one for each offering of the tour: {minted}");
    demo.again();
    assert_eq!((demo.value("KEY"), demo.value("PASSWORD")), known, "the credentials stay the same");
    take_tour(&mut demo);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_has_something_for_every_page() {
    let mut demo = Demo::start();
    let statuses = demo.each("/blockchain/operations?limit=100", "/status").await;
    for status in ["confirmed", "failed", "dead_letter"] {
        assert!(statuses.iter().any(|known| known == status), "{statuses:?}");
    }
    let dead = demo.get("/blockchain/operations?status=dead_letter").await["data"][0].clone();
    let dead = demo.get(&format!("/blockchain/operations/{}", dead["id"].as_str().unwrap())).await;
    assert_eq!(dead["suggested_action"]["action"], "mark_confirmed", "{dead:#}");
    let failed = demo.get("/blockchain/operations?status=failed").await["data"][0].clone();
    assert_eq!(failed["error"]["code"], "reverts", "{failed:#}");
    let subscriptions = demo.each("/v1/subscriptions?limit=100", "/status").await;
    let all = ["accepted", "binding", "cancelled", "committed", "minted", "pending_reconfirmation", "refund_pending"];
    assert_eq!(subscriptions, [&all[..], &["refunded", "rejected"]].concat());
    let offerings = demo.each("/v1/offerings?limit=100", "/status").await;
    assert_eq!(offerings, ["draft", "in_review", "open"]);
    let checks = demo.each("/v1/investors?limit=100", "/kyc/status").await;
    assert_eq!(checks, ["approved", "in_review", "needs_information", "pending", "rejected"]);
    let distributions = demo.each("/v1/distributions?limit=100", "/status").await;
    assert_eq!(distributions, ["awaiting_approval", "draft", "partially_completed"]);
    let (well, said) = demo.command(&["doctor"]);
    assert!(well && said.contains("0 warnings, 0 failures") && said.contains("runs at"), "{said}");
    let before = demo.each("/blockchain/operations?limit=100", "/id").await;
    demo.again();
    assert_eq!(demo.each("/blockchain/operations?limit=100", "/id").await, before, "nothing is made twice");
    let (well, said) = demo.command(&["demo", "--incident", "key-used-outside"]);
    assert!(well, "{said}");
    demo.until("/blockchain/signers", "the lane is quarantined", quarantined).await;
}

fn quarantined(lanes: &Value) -> bool {
    lanes.to_string().contains("\"quarantined\"")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_incident_of_the_demo_goes_wrong_as_it_says() {
    let mut demo = Demo::start();
    let incident = |demo: &Demo, name: &str| {
        let (well, said) = demo.command(&["demo", "--incident", name]);
        assert!(well, "{name}: {said}\n{}", demo.process.log());
        said.split(' ').find(|word| word.starts_with("op_")).unwrap_or_default().to_owned()
    };
    let shown = |id: &str| format!("/blockchain/operations/{id}");

    let half = incident(&demo, "half-paid-page");
    let steps = |op: &Value| op["steps"].as_array().unwrap().iter().map(|s| s["status"].clone()).collect::<Vec<_>>();
    let operation = demo.get(&shown(&half)).await;
    assert_eq!(operation["status"], "submitted", "{operation:#}");
    assert_eq!(steps(&operation), [json!("final"), json!("signed")], "{operation:#}");
    demo.again();
    demo.until(&shown(&half), "a new start ends the high fees", |op| op["status"] == "confirmed").await;

    let jammed = incident(&demo, "jammed-lane");
    let operation = demo.get(&shown(&jammed)).await;
    assert_eq!(operation["status"], "submitted", "{operation:#}");
    assert!(operation["blocked_reason"].is_string(), "{operation:#}");
    demo.again();
    demo.until(&shown(&jammed), "a new start ends the jam", |op| op["status"] == "confirmed").await;

    let mined = incident(&demo, "mined-dead-letter");
    let proposed = |op: &Value| op["suggested_action"]["action"] == "mark_confirmed";
    demo.until(&shown(&mined), "its success is proposed", proposed).await;
    assert_eq!(demo.get(&shown(&mined)).await["status"], "dead_letter");

    let (well, said) = demo.command(&["demo", "--incident", "restored-backup"]);
    assert!(!well && said.contains("Stop it"), "{said}");
    demo.process.kill();
    let (well, said) = demo.command(&["demo", "--incident", "restored-backup"]);
    assert!(well, "{said}");
    demo.process = Demo::launch(demo.folder.path(), &[]).spawn();
    demo.until_serving().await;
    demo.until("/blockchain/signers", "the restored database is noticed", quarantined).await;
    assert_eq!(demo.get("/blockchain/operations?status=dead_letter").await["data"].as_array().unwrap().len(), 1);
}

impl Demo {
    /// Waits for the API alone.
    async fn until_serving(&self) {
        for _ in 0..600 {
            if http_client().get(format!("{}/healthz", self.value("API"))).send().await.is_ok() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("the API does not answer\n{}", self.process.log());
    }
}
