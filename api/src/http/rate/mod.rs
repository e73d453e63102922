//! Rate limits: a token bucket for each caller, in this process only. The counters of failed logins, which protect accounts, are in the
//! database.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use chrono::{DateTime, Utc};

use crate::code::Code;
use crate::http::error::{Problem, Result};

/// After a minute an untouched bucket is full again, so it can be forgotten.
const WINDOW_SECONDS: i64 = 60;
/// How many buckets one window of one limit has room for. A full window gives way to the next one at once: strangers never share a bucket, and
/// who fills the table makes it forget at most itself and what was idle.
const BUCKETS_MAX: usize = 10_000;

/// Marks a read that belongs to a request which was counted already. Only this process can mark one.
#[derive(Clone, Copy, Debug)]
pub struct Counted;

/// The state of a caller's bucket after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The name of the limit.
    pub name: &'static str,
    quota: u32,
    left: u32,
    full_in_seconds: i64,
}

#[derive(Clone, Copy)]
struct Bucket {
    // In thousandths, because a quota of less than sixty refills by less than one a second.
    tokens: i64,
    at: DateTime<Utc>,
}

#[derive(Default)]
struct Windows {
    now: HashMap<String, Bucket>,
    before: HashMap<String, Bucket>,
    began: DateTime<Utc>,
}

/// All buckets. Each limit has its own room: strangers, who cost nothing to make, never crowd out those who have logged in.
#[derive(Default)]
pub struct Limiter(Mutex<HashMap<&'static str, Windows>>);

impl Limiter {
    /// Takes a token out of the caller's bucket; 429 if it is empty. None where there is no limit.
    pub fn take(
        &self,
        name: &'static str,
        who: &str,
        quota: u32,
        now: DateTime<Utc>,
    ) -> Result<Option<Usage>, (Problem, Usage)> {
        if quota == 0 {
            return Ok(None);
        }
        let mut limits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let full = i64::from(quota) * 1_000;
        let bucket = limits.entry(name).or_default().bucket(who, Bucket { tokens: full, at: now }, now);
        let refill = (now - bucket.at).num_milliseconds().max(0).saturating_mul(i64::from(quota)) / WINDOW_SECONDS;
        bucket.tokens = full.min(bucket.tokens.saturating_add(refill));
        bucket.at = now;
        let taken = bucket.tokens >= 1_000;
        if taken {
            bucket.tokens -= 1_000;
        }
        let tokens = bucket.tokens;
        drop(limits);
        let seconds_for = |thousandths: i64| (thousandths * WINDOW_SECONDS + full - 1) / full;
        let left = u32::try_from(tokens / 1_000).unwrap_or(0);
        let usage = Usage { name, quota, left, full_in_seconds: seconds_for(full - tokens) };
        if taken {
            return Ok(Some(usage));
        }
        let wait = u64::try_from(seconds_for(1_000 - tokens)).unwrap_or(1).max(1);
        let detail = format!("The limit {name} is {quota} requests per minute. Try again in {wait} seconds.");
        Err((Problem::new(Code::RateLimited, detail).with_retry_after(wait), usage))
    }
}

impl Windows {
    fn bucket(&mut self, who: &str, full: Bucket, now: DateTime<Utc>) -> &mut Bucket {
        let full_table = self.now.len() >= BUCKETS_MAX && !self.now.contains_key(who);
        if full_table || (now - self.began).num_seconds() >= WINDOW_SECONDS {
            self.before = std::mem::take(&mut self.now);
            self.began = now;
        }
        let known = self.before.get(who).copied();
        self.now.entry(who.to_owned()).or_insert_with(|| known.unwrap_or(full))
    }
}

impl Usage {
    /// Says it in the answer's headers (draft-ietf-httpapi-ratelimit-headers).
    pub fn write_to(&self, headers: &mut HeaderMap) {
        let policy = format!("\"{}\";q={};w={WINDOW_SECONDS}", self.name, self.quota);
        let usage = format!("\"{}\";r={};t={}", self.name, self.left, self.full_in_seconds);
        for (name, text) in [("ratelimit-policy", policy), ("ratelimit", usage)] {
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
