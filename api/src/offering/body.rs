//! The bodies of the actions on an offering.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use utoipa::ToSchema;

use super::terms::Terms;
use super::write::Change;
use crate::change::check_reason;
use crate::change::submission::Form;
use crate::http::error::{Problem, Result};

/// The request body. It has no fields.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = OfferingMoved)]
#[serde(deny_unknown_fields)]
pub struct Empty {}

/// The request body with an optional reason.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = OfferingRemark)]
#[serde(deny_unknown_fields)]
pub struct OptionalReason {
    #[schema(nullable = false, min_length = 1, max_length = 500)]
    pub reason: Option<String>,
}

/// The request body with a required reason.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = OfferingWhy)]
#[serde(deny_unknown_fields)]
pub struct RequiredReason {
    /// The reason, which the history shows.
    #[schema(min_length = 1, max_length = 500)]
    pub reason: String,
}

/// The changes that the issuer should make.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = OfferingWish)]
#[serde(deny_unknown_fields)]
pub struct RequestedChanges {
    #[schema(min_length = 1, max_length = 500)]
    pub comment: String,
}

/// The changed terms and the reason.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = OfferingMaterialChange)]
#[serde(deny_unknown_fields)]
pub struct MaterialChange {
    #[schema(min_length = 1, max_length = 500)]
    pub reason: String,
    /// The changed terms.
    #[schema(value_type = Change)]
    pub changes: Terms,
}

impl Form for Empty {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Ok(())
    }
}

impl Form for OptionalReason {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        self.reason.as_deref().map_or(Ok(()), check_reason)
    }
}

impl Form for RequiredReason {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_reason(&self.reason)
    }
}

impl Form for RequestedChanges {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_reason(&self.comment).map_err(|_| {
            Problem::field("/comment", "length_out_of_range", "The comment must have 1 to 500 characters.")
        })
    }
}

impl Form for MaterialChange {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        let issuer = match self.changes.issuer_id {
            Some(_) => {
                let detail = "The issuer of an offering cannot be changed.";
                Err(Problem::field("/changes/issuer_id", "unexpected", detail))
            }
            None => Ok(()),
        };
        Problem::all([check_reason(&self.reason), issuer, self.changes.check()])
    }
}
