//! The output of a child process, kept while it runs.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    /// Reads a stream to its end on a thread of its own, so the child never blocks on a full pipe.
    pub(crate) fn follow(&self, stream: impl Read + Send + 'static) {
        let log = self.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
                log.lines().push(String::from_utf8_lossy(&line).into_owned());
            }
        });
    }

    pub(crate) fn text(&self) -> String {
        self.lines().join("\n")
    }

    pub(crate) fn tail(&self, lines: usize) -> String {
        let all = self.lines();
        all[all.len().saturating_sub(lines)..].join("\n")
    }

    /// The first line that holds the words, as soon as it is printed.
    pub(crate) fn line_with(&self, words: &str, patience: Duration) -> Option<String> {
        let start = Instant::now();
        loop {
            if let Some(line) = self.lines().iter().find(|line| line.contains(words)) {
                return Some(line.clone());
            }
            if start.elapsed() > patience {
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn lines(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
