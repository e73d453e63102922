//! The output of a child process, kept while it runs.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the rest of the output is waited for; a grandchild may hold the pipe open for longer.
const REST: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(crate) struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Log {
    /// Reads a stream to its end on a thread of its own, so the child never blocks on a full pipe.
    pub(crate) fn follow(&mut self, stream: impl Read + Send + 'static) {
        let lines = self.lines.clone();
        self.readers.push(std::thread::spawn(move || {
            for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
                locked(&lines).push(String::from_utf8_lossy(&line).into_owned());
            }
        }));
    }

    /// Waits until all that the child wrote before its end is read.
    pub(crate) fn finish(&self) {
        let start = Instant::now();
        while start.elapsed() < REST && !self.has_ended() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn has_ended(&self) -> bool {
        self.readers.iter().all(JoinHandle::is_finished)
    }

    pub(crate) fn text(&self) -> String {
        self.lines().join("\n")
    }

    pub(crate) fn tail(&self, lines: usize) -> String {
        let all = self.lines();
        all[all.len().saturating_sub(lines)..].join("\n")
    }

    /// The first line that holds the words, as soon as it is printed. None once the child has ended without it.
    pub(crate) fn line_with(&self, words: &str, patience: Duration) -> Option<String> {
        let start = Instant::now();
        loop {
            // Before the lines are read: nothing comes after the end.
            let is_last = start.elapsed() > patience || self.has_ended();
            if let Some(line) = self.lines().iter().find(|line| line.contains(words)) {
                return Some(line.clone());
            }
            if is_last {
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn lines(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        locked(&self.lines)
    }
}

fn locked(lines: &Mutex<Vec<String>>) -> std::sync::MutexGuard<'_, Vec<String>> {
    lines.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
