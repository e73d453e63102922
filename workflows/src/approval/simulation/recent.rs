//! The simulations of the last seconds: a page that reads itself again costs the node nothing more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use chrono::{DateTime, Duration, Utc};
use muniment_domain::Result;
use muniment_domain::approval::Approval;
use tokio::sync::Mutex;

use super::attempt::{Simulation, simulate};
use crate::engine::Engine;
use crate::token::view::TokenViews;

/// How long an answer is shown again.
const KEPT_SECONDS: i64 = 5;
/// Approvals whose last answer is kept.
const KEPT_MAX: usize = 1_000;

/// An answer with the version of the approval.
type Answer = Option<(i64, Simulation)>;

/// The last answer for each approval. Requests that come while a chain is asked wait for the one answer.
#[derive(Default)]
pub struct Recent {
    answers: StdMutex<HashMap<String, Arc<Mutex<Answer>>>>,
}

impl Recent {
    /// The simulation of an approval, at most some seconds old. What a chain did not answer is kept as well.
    pub async fn simulate(&self, engine: &Engine, heads: &TokenViews, a: &Approval) -> Result<Simulation> {
        let place = self.place(&a.id);
        let mut answer = place.lock().await;
        if let Some((version, known)) = answer.as_ref()
            && *version == a.version
            && is_fresh(known.tried_at, engine.db.clock().now())
        {
            return Ok(known.clone());
        }
        let found = simulate(engine, heads, a).await?;
        *answer = Some((a.version, found.clone()));
        Ok(found)
    }

    fn place(&self, id: &str) -> Arc<Mutex<Answer>> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= KEPT_MAX {
            answers.clear();
        }
        answers.entry(id.to_owned()).or_default().clone()
    }
}

fn is_fresh(tried_at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    (Duration::zero()..Duration::seconds(KEPT_SECONDS)).contains(&(now - tried_at))
}
