//! What one page has read of the API, by path.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::OnceCell;

use crate::http::error::Result;

/// The answers to one page. Clones share them.
#[derive(Clone, Default)]
pub struct Answers(Arc<Mutex<HashMap<String, Arc<OnceCell<Value>>>>>);

impl Answers {
    /// The answer at this path. Parts of a page that ask for it at the same time wait for one call. A refusal is not kept.
    pub async fn of(&self, path: &str, call: impl Future<Output = Result<Value>>) -> Result<Value> {
        let place = self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(path.to_owned()).or_default().clone();
        place.get_or_try_init(|| call).await.cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;
    use crate::http::error::Problem;

    #[tokio::test]
    async fn two_parts_of_a_page_share_one_call_and_a_refusal_is_asked_again() {
        let (answers, calls) = (Answers::default(), AtomicUsize::new(0));
        let call = async || {
            let number = calls.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            if number == 0 { Err(Problem::internal("not yet")) } else { Ok(json!(number)) }
        };
        assert!(answers.of("/a", call()).await.is_err());
        let (first, second) = tokio::join!(answers.of("/a", call()), answers.of("/a", call()));
        assert_eq!((first.ok(), second.ok()), (Some(json!(1)), Some(json!(1))));
        assert_eq!(answers.of("/b", call()).await.ok(), Some(json!(2)), "another path is another call");
    }
}
