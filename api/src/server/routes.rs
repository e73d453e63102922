//! Every endpoint, composed of the tables of all folders.

use std::sync::LazyLock;

use crate::access::route::Route;
use crate::server::{document, health};
use crate::{
    account, alert, api_key, approval, audit, compliance, distribution, docs, error_page, investor, issuer, network,
    offering, operation, operator, policy, report, subscription, test_clock, token, user, webhook,
};

/// Every endpoint.
pub static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    [
        health::routes(),
        report::routes(),
        policy::routes(),
        audit::routes(),
        document::routes(),
        error_page::routes(),
        docs::routes(),
        network::routes(),
        subscription::routes(),
        offering::routes(),
        approval::routes(),
        api_key::routes(),
        test_clock::routes(),
        token::routes(),
        compliance::routes(),
        operation::routes(),
        operator::routes(),
        account::routes(),
        alert::routes(),
        user::routes(),
        investor::routes(),
        issuer::routes(),
        webhook::routes(),
        distribution::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
});
