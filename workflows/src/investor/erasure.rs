//! Forgetting an investor: one person asks for it, another one allows it, and nothing that is still owed stands in the way.

use muniment_domain::db::Tx;
use muniment_domain::{Code, Error, Result, erasure, investor};
use serde::{Deserialize, Serialize};

use crate::approval::action::About;
use crate::engine::timer;

/// Whose data go, as two persons agree on it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Whose.
    pub investor_id: String,
    /// Why.
    pub reason: String,
}

impl Request {
    /// What the second person sees first.
    pub fn about(&self) -> About {
        About {
            subject_type: "investor",
            subject_id: self.investor_id.clone(),
            offering_id: None,
            amount: None,
            reason: Some(self.reason.clone()),
            live_key: format!("erase:{}", self.investor_id),
        }
    }

    /// Refuses while something is owed, held or under way, and says what.
    pub async fn check(&self, tx: &mut Tx) -> Result<()> {
        let i = investor::find(tx, &self.investor_id).await?;
        if i.erased_at.is_some() {
            return Err(done(&i.id));
        }
        let in_the_way = erasure::in_the_way(tx, &i.id).await?;
        if in_the_way.is_empty() {
            return Ok(());
        }
        let detail = format!("{} cannot be forgotten yet. There is: {}.", i.id, in_the_way.join(", "));
        Err(Error::refused(Code::InvalidState, detail))
    }

    /// Forgets the investor, in the commit of the second person's yes.
    pub async fn execute(self, tx: &mut Tx) -> Result<()> {
        if !erasure::hold(tx, &self.investor_id).await? {
            return Err(done(&self.investor_id));
        }
        self.check(tx).await?;
        let i = investor::find(tx, &self.investor_id).await?;
        erasure::erase(tx, &i).await?;
        timer::set(tx, &i.id, None).await
    }
}

fn done(id: &str) -> Error {
    Error::refused(Code::InvalidState, format!("{id} was forgotten before."))
}
