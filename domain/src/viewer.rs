//! The investor whose rows the read transactions of a task may see. The module `row_security` creates the policies.

use std::sync::Arc;

use crate::id::InvestorId;

/// The viewer without an investor id; no row belongs to it.
const NOBODY: &str = "nobody";

tokio::task_local! {
    static VIEWER: Arc<str>;
}

/// Runs the work so that its read transactions see only the rows of this investor.
pub async fn limited_to<F: Future>(investor_id: Option<&InvestorId>, work: F) -> F::Output {
    let viewer = investor_id.filter(|investor_id| investor_id.check().is_ok());
    VIEWER.scope(viewer.map_or(NOBODY, InvestorId::as_str).into(), work).await
}

/// Whether this task sees the rows of one investor only.
pub(crate) fn is_limited() -> bool {
    VIEWER.try_with(|_| ()).is_ok()
}

/// The statement that begins a restricted read transaction. One message for both commands, so that it costs no extra round trip.
pub(crate) fn begin(begin: &str) -> Option<String> {
    VIEWER.try_with(|viewer| format!("{begin}; set local app.investor_id = '{viewer}'")).ok()
}
