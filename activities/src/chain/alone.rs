//! Each endpoint by itself. For a question where one of them must not decide for the others.

use super::Chain;

impl Chain {
    /// The chain as each endpoint alone shows it. Endpoints that rest after faults are left out if there are others.
    pub fn alone(&self) -> Vec<Self> {
        let asked = self.candidates();
        let each = self.endpoints().iter().enumerate();
        let each = each.filter(|(_, endpoint)| asked.iter().any(|one| std::ptr::eq(*one, *endpoint)));
        each.map(|(at, _)| Self { only: Some(at), ..self.clone() }).collect()
    }
}
