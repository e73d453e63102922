//! The endpoints of accounts: one row each.

use super::{email, login, me, password, refresh, register, second_factor, session, step_up};
use crate::access::csrf;
use crate::access::permission::{Access, OWN, OWN_READ};
use crate::access::route::{Rate, Route, route};

/// The endpoints of accounts.
pub fn routes() -> Vec<Route> {
    vec![
        route!(super::jwks, Access::Open),
        route!(csrf::token, OWN).own_account(),
        route!(register::register, Access::Door).rate(Rate::Login).own_account(),
        route!(login::login, Access::Door).rate(Rate::Login).own_account(),
        route!(login::verify_second_factor, Access::Door).own_account(),
        route!(refresh::refresh, Access::Door).own_account(),
        route!(email::verify, Access::Door).own_account(),
        route!(email::resend, OWN).own_account(),
        route!(session::logout, OWN).own_account(),
        route!(me::read, OWN_READ).own_account(),
        route!(me::change, OWN).own_account(),
        route!(session::list, OWN).own_account(),
        route!(session::end_others, OWN).own_account(),
        route!(session::end, OWN).own_account(),
        route!(password::change, OWN).own_account(),
        route!(password::forgot, Access::Door).rate(Rate::Login).own_account(),
        route!(password::reset, Access::Door).own_account(),
        route!(second_factor::enrol, OWN).proved_email().step_up().own_account(),
        route!(second_factor::remove, OWN).step_up().own_account(),
        route!(second_factor::confirm, OWN).proved_email().own_account(),
        route!(second_factor::recovery_codes, OWN).step_up().own_account(),
        route!(step_up::step_up, OWN).own_account(),
    ]
}
