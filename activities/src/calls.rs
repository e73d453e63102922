//! Counts the calls that went out, because what the engine costs a provider is a promise of ours.
use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::rpc::Request;

/// Calls by method, and the bodies that carried them.
#[derive(Default)]
pub(crate) struct Calls {
    posts: AtomicU64,
    methods: Mutex<BTreeMap<&'static str, u64>>,
}

impl Calls {
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
