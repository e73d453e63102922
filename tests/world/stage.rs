//! A thread with a runtime of its own for proxies between the tested programs.
//!
//! A test may block its thread, freeze the binary or end its own runtime: the proxies go on.

use std::future::Future;

use tokio::sync::oneshot;

pub(crate) struct Stage {
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Stage {
    /// Runs the work, with every task that it spawns, until it ends or the value is dropped.
    pub(crate) fn run(work: impl Future<Output = ()> + Send + 'static) -> Self {
        let (end, ended) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime starts").block_on(async {
                tokio::select! { () = work => {}, _ = ended => {} }
            });
        });
        Self { end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
