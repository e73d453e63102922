//! Who may call what: the caller, the permission of each route, the CSRF token.

pub mod admit;
pub mod audited;
pub mod csrf;
pub mod permission;
pub mod principal;
pub mod route;
