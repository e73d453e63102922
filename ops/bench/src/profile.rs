//! Where a process spends its processor time, as `perf` samples it.

use std::process::Stdio;

use tempfile::NamedTempFile;
use tokio::process::{Child, Command};

/// Functions of a profile that are printed.
const FIRST: usize = 10;
/// Samples a second. No round number, so that a timer is not sampled in step.
const FREQUENCY: &str = "499";

/// A profile that is being taken.
pub struct Profile {
    samples: NamedTempFile,
    perf: Option<Child>,
}

impl Profile {
    /// Samples a process until it ends.
    pub fn of(pid: u32) -> Self {
        let samples = NamedTempFile::new().expect("the temporary folder is writable");
        let mut perf = Command::new("perf");
        perf.args(["record", "-q", "-F", FREQUENCY, "-p", &pid.to_string(), "-o"]).arg(samples.path());
        let perf = perf.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn().ok();
        Self { samples, perf }
    }

    /// The first functions with their shares, after the process has ended. Without `perf`, or where the kernel refuses it, says so.
    pub async fn text(self) -> String {
        let Some(mut perf) = self.perf else { return "no profile: perf is not installed".to_owned() };
        if !perf.wait().await.is_ok_and(|ended| ended.success()) {
            return "no profile: the kernel refuses to sample (kernel.perf_event_paranoid)".to_owned();
        }
        let mut report = Command::new("perf");
        report
            .args(["report", "--stdio", "-q", "--no-children", "-F", "overhead,symbol", "-i"])
            .arg(self.samples.path());
        let report = report.stdin(Stdio::null()).stderr(Stdio::null()).output().await;
        let report = report.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let lines = report.lines().map(str::trim).filter(|line| !line.is_empty());
        let first: Vec<String> = lines.take(FIRST).map(named).collect();
        if first.is_empty() { "no profile: no samples were taken".to_owned() } else { first.join("; ") }
    }
}

/// A line of the report without the mark of user and kernel, and without what would break the table.
fn named(line: &str) -> String {
    let (share, symbol) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let symbol = symbol.trim();
    let symbol = symbol.strip_prefix("[.] ").or_else(|| symbol.strip_prefix("[k] ")).unwrap_or(symbol);
    format!("{share} `{}`", symbol.replace('|', "/"))
}
