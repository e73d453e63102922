//! Counts RPC calls by method. Providers bill by the call, so tests and metrics watch these numbers.
use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::rpc::Request;

/// Counts calls by method, and request bodies.
#[derive(Default)]
pub(crate) struct CallCounter {
    posts: AtomicU64,
    methods: Mutex<BTreeMap<&'static str, u64>>,
}

impl CallCounter {
    pub fn count(&self, requests: &[Request]) {
        self.posts.fetch_add(1, Ordering::Relaxed);
        let mut methods = self.methods.lock().unwrap_or_else(PoisonError::into_inner);
        for request in requests {
            *methods.entry(request.method).or_default() += 1;
        }
    }

    pub fn posts(&self) -> u64 {
        self.posts.load(Ordering::Relaxed)
    }

    pub fn by_method(&self) -> BTreeMap<&'static str, u64> {
        self.methods.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
