//! Each endpoint by itself. For a question where one of them must not decide for the others.

use super::{Chain, combined};
use crate::fault::Fault;

impl Chain {
    /// The chain as each endpoint alone shows it. Endpoints that rest after faults are left out if there are others.
    pub fn alone(&self) -> Vec<Self> {
        let asked = self.candidates();
        let each = self.endpoints().iter().enumerate();
        let each = each.filter(|(_, endpoint)| asked.iter().any(|one| std::ptr::eq(*one, *endpoint)));
        each.map(|(at, _)| Self { only: Some(at), ..self.clone() }).collect()
    }

    /// The answer that as many endpoints as the quorum requires give, each asked alone. None while they do not agree, and a fault where too
    /// few of them answer.
    pub async fn agreed<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        ask: impl Fn(Self) -> F,
        is_same: impl Fn(&T, &T) -> bool,
    ) -> Result<Option<T>, Fault> {
        let (quorum, mut answers, mut faults) = (self.quorum(), Vec::new(), Vec::new());
        for endpoint in self.alone() {
            match ask(endpoint).await {
                Ok(answer) if answers.iter().filter(|other| is_same(other, &answer)).count() + 1 == quorum => {
                    return Ok(Some(answer));
                }
                Ok(answer) => answers.push(answer),
                Err(fault) => faults.push(fault),
            }
        }
        if answers.len() < quorum { Err(combined(faults)) } else { Ok(None) }
    }
}
