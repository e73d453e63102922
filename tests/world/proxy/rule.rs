//! When a fault strikes.

use std::time::{Duration, Instant};

use super::fault::Fault;
use crate::Seed;

/// A fault with its conditions; all of them must hold.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(super) fault: Fault,
    methods: Vec<String>,
    probability: f64,
    skip: u64,
    hits_max: u64,
    lasts: Option<Duration>,
}

impl Rule {
    /// This fault at each call that it can mean, for ever.
    pub fn new(fault: Fault) -> Self {
        let methods = fault.methods().iter().map(|method| (*method).to_owned()).collect();
        Self { fault, methods, probability: 1.0, skip: 0, hits_max: u64::MAX, lasts: None }
    }

    /// Only at these methods.
    #[must_use]
    pub fn on(mut self, methods: &[&str]) -> Self {
        self.methods = methods.iter().map(|method| (*method).to_owned()).collect();
        self
    }

    /// At this fraction of the calls.
    #[must_use]
    pub fn chance(mut self, probability: f64) -> Self {
        self.probability = probability;
        self
    }

    /// Not at the first so many calls.
    #[must_use]
    pub fn after(mut self, calls: u64) -> Self {
        self.skip = calls;
        self
    }

    /// Until it has hit so many times.
    #[must_use]
    pub fn times(mut self, hits: u64) -> Self {
        self.hits_max = hits;
        self
    }

    /// For so long after it was added.
    #[must_use]
    pub fn lasting(mut self, time: Duration) -> Self {
        self.lasts = Some(time);
        self
    }
}

/// A rule in force.
pub(super) struct Active {
    pub(super) rule: Rule,
    pub(super) hits: u64,
    pub(super) removed: bool,
    seen: u64,
    since: Instant,
    seed: Seed,
}

impl Active {
    pub(super) fn new(rule: Rule, seed: Seed) -> Self {
        Self { rule, hits: 0, removed: false, seen: 0, since: Instant::now(), seed }
    }

    /// Whether it strikes at this call. Each call draws once, so what other rules do changes nothing.
    pub(super) fn strikes(&mut self, method: &str) -> bool {
        let rule = &self.rule;
        let meant = rule.methods.is_empty() || rule.methods.iter().any(|name| name == method);
        if self.removed || !meant || rule.lasts.is_some_and(|time| self.since.elapsed() > time) {
            return false;
        }
        self.seen += 1;
        let drawn = self.seed.chance(rule.probability);
        drawn && self.seen > rule.skip && self.hits < rule.hits_max
    }

    /// Counts a hit, unless another call has taken the last one meanwhile.
    pub(super) fn hit(&mut self) -> bool {
        let left = self.hits < self.rule.hits_max;
        self.hits += u64::from(left);
        left
    }
}
