//! The endpoints of investors: one row each.

use super::{accreditation, decision, document, erasure, export, kyc, portfolio, profile, suspension, tax, wallet};
use crate::access::permission::{IDENTITIES, INVESTOR, INVESTORS, OWN_INVESTOR, PERSON};
use crate::access::route::{Rate, Route, route};

/// The endpoints of investors.
pub fn routes() -> Vec<Route> {
    vec![
        route!(profile::read, INVESTOR).own_rows(),
        route!(profile::change, INVESTOR),
        route!(kyc::submit, INVESTOR).proved_email(),
        route!(export::read, INVESTOR).rate(Rate::Write).audits_reads().own_rows(),
        route!(wallet::list, INVESTOR).own_rows(),
        route!(wallet::add, INVESTOR).proved_email(),
        route!(wallet::verify, INVESTOR).proved_email(),
        route!(wallet::prefer, INVESTOR).proved_email(),
        route!(wallet::remove, INVESTOR),
        route!(super::list, INVESTORS),
        route!(super::detail, INVESTORS).audits_reads(),
        route!(portfolio::read, OWN_INVESTOR).own_rows(),
        route!(kyc::review, PERSON).step_up().audits_reads(),
        route!(decision::decide, IDENTITIES),
        route!(accreditation::accredit, IDENTITIES),
        route!(tax::withhold, PERSON),
        route!(document::list, INVESTORS).audits_reads(),
        route!(document::add, PERSON),
        route!(suspension::suspend, IDENTITIES),
        route!(suspension::reinstate, IDENTITIES),
        route!(erasure::erase, PERSON).step_up(),
    ]
}
