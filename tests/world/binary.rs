//! The real binary, started, stopped and killed from outside.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use crate::log::Log;
use crate::{http_client, repository};

const POLL: Duration = Duration::from_millis(20);
const TAIL_LINES: usize = 60;

/// A command to start.
#[derive(Clone, Default)]
pub struct Launch {
    program: Option<PathBuf>,
    args: Vec<OsString>,
    env: BTreeMap<String, OsString>,
    folder: Option<PathBuf>,
}

impl Launch {
    /// With these arguments and an environment of only search paths.
    pub fn new<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> Self {
        let env = ["PATH", "HOME", "TMPDIR"];
        let env = env.iter().filter_map(|key| Some(((*key).to_owned(), std::env::var_os(key)?)));
        Self { args: args.into_iter().map(Into::into).collect(), env: env.collect(), ..Self::default() }
    }

    /// Another program, such as an older release.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// Run by a shell after a command of its own, for inherited settings.
    #[must_use]
    pub fn behind(mut self, word: &str) -> Self {
        let program = self.program.take().unwrap_or_else(path);
        let script = format!("{word}; exec \"$0\" \"$@\"");
        let own = std::mem::take(&mut self.args);
        self.args = ["-c".into(), script.into(), program.into_os_string()].into_iter().chain(own).collect();
        self.program = Some("sh".into());
        self
    }

    /// Sets one more variable.
    #[must_use]
    pub fn env(mut self, key: &str, value: impl Into<OsString>) -> Self {
        self.env.insert(key.to_owned(), value.into());
        self
    }

    /// Sets the working folder.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.program.clone().unwrap_or_else(path));
        command.args(&self.args).env_clear().envs(&self.env);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }

    /// Runs a command that ends by itself, and returns its whole output.
    pub fn output(&self) -> (ExitStatus, String) {
        let output = self.command().output().expect("the binary can be run");
        let printed = [output.stdout, output.stderr].concat();
        (output.status, String::from_utf8_lossy(&printed).into_owned())
    }

    /// Starts it and returns at once.
    pub fn spawn(&self) -> Binary {
        let mut child = self.command().spawn().expect("the binary can be run");
        let mut log = Log::default();
        log.follow(child.stdout.take().expect("stdout is piped"));
        log.follow(child.stderr.take().expect("stderr is piped"));
        Binary { child, log }
    }

    /// Starts it and waits until this address answers with success.
    pub async fn healthy(&self, url: &str, patience: Duration) -> Binary {
        let mut binary = self.spawn();
        let (client, start) = (http_client(), Instant::now());
        loop {
            if let Ok(answer) = client.get(url).send().await
                && answer.status().is_success()
            {
                return binary;
            }
            if let Some(status) = binary.exited() {
                panic!("the binary ended before it was healthy ({status}).\n{}", binary.log());
            }
            assert!(start.elapsed() < patience, "{url} is not healthy after {patience:?}.\n{}", binary.log());
            tokio::time::sleep(POLL).await;
        }
    }
}

/// A running process; killed with the value.
pub struct Binary {
    child: Child,
    log: Log,
}

impl Binary {
    /// Sends `kill -9` and waits for the end.
    pub fn kill(&mut self) -> ExitStatus {
        let _ = self.child.kill();
        let status = self.child.wait().expect("a child can be waited for");
        self.log.finish();
        status
    }

    /// Sends SIGTERM and waits; fails if it takes longer.
    pub fn terminate(&mut self, patience: Duration) -> ExitStatus {
        self.signal(Signal::TERM);
        let status = self.wait(patience);
        status.unwrap_or_else(|| panic!("still running {patience:?} after SIGTERM.\n{}", self.log.tail(TAIL_LINES)))
    }

    /// Stops all its threads.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Continues the stopped process; its leases may have expired.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Sets the longest file size that the process may write; none removes the limit.
    pub fn limit_file_bytes(&self, bytes: Option<u64>) {
        let limit = Rlimit { current: bytes, maximum: None };
        prlimit(Some(Pid::from_child(&self.child)), Resource::Fsize, limit).expect("a child can be limited");
    }

    /// Waits until it ends by itself, for instance at a crash point.
    pub fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        loop {
            let status = self.exited();
            if status.is_some() || start.elapsed() > patience {
                return status;
            }
            std::thread::sleep(POLL);
        }
    }

    /// Its exit status, once it has ended; then its whole output is in the log.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().expect("a child can be asked");
        if status.is_some() {
            self.log.finish();
        }
        status
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its output so far, both streams.
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// The first line with these words, once it is printed.
    pub fn line_with(&self, words: &str, patience: Duration) -> Option<String> {
        self.log.line_with(words, patience)
    }

    fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }
}

impl Drop for Binary {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("── the binary's last lines\n{}", self.log.tail(TAIL_LINES));
        }
    }
}

/// `ops/test` builds it once for all; alone, a test process makes sure that it is not a stale one.
fn path() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let path = PATH.get_or_init(|| {
        if let Some(path) = std::env::var_os("MUNIMENT_BINARY") {
            return path.into();
        }
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let build = ["build", "--locked", "-p", "muniment-api", "--bin", "muniment"];
        let built = Command::new(cargo).args(build).current_dir(repository()).status();
        assert!(built.is_ok_and(|status| status.success()), "the binary does not build");
        // This program lies in `deps` beside it.
        let own = std::env::current_exe().expect("a program knows its path");
        let folder = own.parent().and_then(|deps| deps.parent()).expect("a test lies in deps/");
        folder.join("muniment")
    });
    path.clone()
}
