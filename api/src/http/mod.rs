//! HTTP for every endpoint: problems, bodies, pages of a list, versions, media types, rate limits. Knows no endpoint.

pub mod accept;
pub mod body;
pub mod csv;
pub mod endpoint;
pub mod error;
pub mod instant;
pub mod json;
pub mod origin;
pub mod pages;
pub mod places;
pub mod pointer;
pub mod rate;
pub mod request_id;
pub mod trace;
pub mod unique;
pub mod version;
