//! Erasing an investor's personal data: one person requests it, another approves it, and no units, money or operation may be open.

use muniment_domain::db::Tx;
use muniment_domain::id::InvestorId;
use muniment_domain::{Code, Error, Result, erasure, investor};
use serde::{Deserialize, Serialize};

use crate::approval_request::About;
use crate::engine::timer;

/// A request to erase an investor's personal data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The investor.
    pub investor_id: InvestorId,
    /// The reason.
    pub reason: String,
}

impl Request {
    /// What the approval shows.
    pub fn about(&self) -> About {
        About::of("investor", &self.investor_id, Some(self.reason.clone()), format!("erase:{}", self.investor_id))
    }

    /// Refuses while the investor holds units, is owed money or has an open operation, and lists these.
    pub async fn check(&self, tx: &mut Tx) -> Result<()> {
        let i = investor::find(tx, &self.investor_id).await?;
        if i.erased_at.is_some() {
            return Err(already_erased(&i.id));
        }
        let obstacles = erasure::obstacles(tx, &i.id).await?;
        if obstacles.is_empty() {
            return Ok(());
        }
        let detail = format!("{} cannot be erased yet. Still open: {}.", i.id, obstacles.join(", "));
        Err(Error::refused(Code::InvalidState, detail))
    }

    /// Erases the personal data, in the commit of the approval.
    pub async fn execute(self, tx: &mut Tx) -> Result<()> {
        if !erasure::lock_row(tx, &self.investor_id).await? {
            return Err(already_erased(&self.investor_id));
        }
        self.check(tx).await?;
        let i = investor::find(tx, &self.investor_id).await?;
        erasure::erase(tx, &i).await?;
        timer::set(tx, &i.id, None).await
    }
}

fn already_erased(id: &InvestorId) -> Error {
    Error::refused(Code::InvalidState, format!("{id} is already erased."))
}
