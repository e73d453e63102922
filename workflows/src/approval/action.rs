//! The actions that need a second person, each with the request that its operation takes: the one list.

use muniment_domain::db::Tx;
use muniment_domain::operation::Operation;
use muniment_domain::user::Role;
use muniment_domain::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compliance;
use crate::investor::{erasure, suspension};
use crate::operator::abandon;
use crate::payout::{approval as payout_approval, entitlement, reclaim, reissue};
use crate::requester::Requester;
use crate::settings::Settings;
use crate::staff::{api_key, policy};
use crate::token::{mint, mint_list};
use crate::{offering, staff};

/// What was asked for, as it is stored, hashed, shown and executed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// A mint whose amount needs two persons: exactly this list.
    Mint(mint_list::MintList),
    /// The execution of a payout from the threshold on: exactly this list.
    Payout(payout_approval::PayoutList),
    /// Taking somebody out of a distribution for good.
    ExcludeEntitlement(entitlement::Request),
    /// Paying somebody anew whose payment was given up.
    ReissueEntitlement(entitlement::Request),
    /// Paying many anew: exactly this list.
    Reissue(reissue::ReissueList),
    /// Ending a list early, so that its escrow comes back.
    Reclaim(reclaim::Request),
    /// Giving up an operation that moves value.
    Abandon(abandon::Request),
    /// Calling an offering off.
    CancelOffering(offering::Request),
    /// Ending the suspension of an investor.
    Reinstate(suspension::Reinstate),
    /// Forgetting who an investor is.
    EraseInvestor(erasure::Request),
    /// Somebody new on the staff.
    Invite(staff::Invite),
    /// Other roles for somebody, where staff is concerned.
    SetRoles(staff::SetRoles),
    /// A key of the platform.
    CreateApiKey(api_key::Request),
    /// Other business limits.
    ChangePolicies(policy::Change),
    /// A compliance operation that needs two people. Its own `action` tells which.
    #[serde(untagged)]
    Compliance(compliance::Request),
}

/// What an action is about, for lists and for the one live approval of its subject.
#[derive(Clone, Debug)]
pub struct About {
    /// What kind of thing.
    pub subject_type: &'static str,
    /// Which.
    pub subject_id: String,
    /// The offering that it belongs to.
    pub offering_id: Option<String>,
    /// Minor units and their currency, where money is meant.
    pub amount: Option<(i64, String)>,
    /// The maker's own words.
    pub reason: Option<String>,
    /// While an approval with this key is live, the same cannot be asked for again.
    pub live_key: String,
}

/// What came of an action.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// The operation, if it is one.
    pub operation_id: Option<String>,
    /// The batch, if it is several.
    pub batch_id: Option<String>,
}

impl Done {
    /// One operation.
    fn operation(op: &Operation) -> Self {
        Self { operation_id: Some(op.id.clone()), batch_id: None }
    }
}

impl Action {
    /// Its name.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Mint(_) => "mint",
            Self::Payout(_) => "payout",
            Self::ExcludeEntitlement(_) => "exclude_entitlement",
            Self::ReissueEntitlement(_) => "reissue_entitlement",
            Self::Reissue(_) => "reissue",
            Self::Reclaim(_) => "reclaim",
            Self::Abandon(_) => "abandon",
            Self::CancelOffering(_) => "cancel_offering",
            Self::Reinstate(_) => "reinstate",
            Self::EraseInvestor(_) => "erase_investor",
            Self::Invite(_) => "invite",
            Self::SetRoles(_) => "set_roles",
            Self::CreateApiKey(_) => "create_api_key",
            Self::ChangePolicies(_) => "change_policies",
            Self::Compliance(request) => request.row().action,
        }
    }

    /// Who may allow it.
    pub const fn checkers(&self) -> &'static [Role] {
        match self {
            Self::Mint(_)
            | Self::Payout(_)
            | Self::ExcludeEntitlement(_)
            | Self::ReissueEntitlement(_)
            | Self::Reissue(_)
            | Self::Reclaim(_)
            | Self::Abandon(_)
            | Self::CancelOffering(_)
            | Self::Reinstate(_)
            | Self::EraseInvestor(_)
            | Self::Compliance(_) => &[Role::Operator, Role::Admin],
            Self::Invite(_) | Self::SetRoles(_) | Self::CreateApiKey(_) | Self::ChangePolicies(_) => &[Role::Admin],
        }
    }

    /// Whether admins alone may allow it, of whom there may be one only.
    pub fn takes_admins(&self) -> bool {
        self.checkers() == [Role::Admin]
    }

    /// Whether it can only be done by a look at the chain, and so by the engine and not by the commit that allows it.
    pub const fn asks_chain(&self) -> bool {
        matches!(self, Self::Abandon(_))
    }

    /// What it is about.
    pub fn about(&self) -> About {
        match self {
            Self::Mint(list) => list.about(),
            Self::Payout(list) => list.about(),
            Self::ExcludeEntitlement(request) => payout_approval::about(request, self.word()),
            Self::ReissueEntitlement(request) => payout_approval::about(request, self.word()),
            Self::Reissue(list) => list.about(),
            Self::Reclaim(request) => request.about(),
            Self::Abandon(request) => request.about(),
            Self::CancelOffering(request) => request.about(),
            Self::Reinstate(request) => request.about(),
            Self::EraseInvestor(request) => request.about(),
            Self::Invite(request) => request.about(),
            Self::SetRoles(request) => request.about(),
            Self::CreateApiKey(request) => request.about(),
            Self::ChangePolicies(change) => change.about(),
            Self::Compliance(request) => request.about(),
        }
    }

    /// Refuses what could not be done now. Changes nothing.
    pub async fn check(&self, tx: &mut Tx, settings: &Settings) -> Result<()> {
        match self {
            Self::Mint(list) => mint_list::check(tx, settings, list).await,
            Self::Payout(list) => payout_approval::check(tx, list).await,
            Self::ExcludeEntitlement(request) => entitlement::check_exclusion(tx, request).await,
            Self::ReissueEntitlement(request) => entitlement::check_reissue(tx, request).await.map(|_| ()),
            Self::Reissue(list) => reissue::check(tx, list).await,
            Self::Reclaim(request) => reclaim::check(tx, request).await,
            Self::Abandon(request) => abandon::check(tx, request).await,
            Self::CancelOffering(request) => offering::check(tx, request).await,
            Self::Reinstate(request) => request.check(tx).await,
            Self::EraseInvestor(request) => request.check(tx).await,
            Self::Invite(request) => request.check(tx).await,
            Self::SetRoles(request) => request.check(tx).await,
            Self::CreateApiKey(request) => request.check(tx).await,
            Self::ChangePolicies(change) => change.check(tx, settings).await,
            Self::Compliance(request) => compliance::check(tx, request).await,
        }
    }

    /// Does it, by the ordinary request of its operation.
    pub async fn execute(self, tx: &mut Tx, settings: &Settings, by: &Requester) -> Result<Done> {
        match self {
            Self::Mint(list) => {
                let accepted = mint::request_list(tx, settings, list, by).await?;
                Ok(Done { operation_id: None, batch_id: Some(accepted.batch_id) })
            }
            Self::Reinstate(request) => request.execute(tx, by).await.map(|()| Done::default()),
            Self::EraseInvestor(request) => request.execute(tx).await.map(|()| Done::default()),
            Self::Invite(request) => request.execute(tx).await.map(|()| Done::default()),
            Self::SetRoles(request) => request.execute(tx).await.map(|()| Done::default()),
            // Its maker takes it: the secret is for nobody else's eyes.
            Self::CreateApiKey(request) => request.check(tx).await.map(|()| Done::default()),
            Self::ChangePolicies(change) => change.execute(tx, settings, by).await.map(|()| Done::default()),
            Self::Compliance(request) => {
                let op = compliance::request(tx, &request, by).await?;
                match op.batch_id {
                    Some(batch_id) => Ok(Done { operation_id: None, batch_id: Some(batch_id) }),
                    None => Ok(Done::operation(&op)),
                }
            }
            Self::Payout(list) => {
                payout_approval::agree(tx, &list, by).await?;
                Ok(Done::default())
            }
            Self::ExcludeEntitlement(request) => {
                entitlement::exclude(tx, &request, by).await?;
                Ok(Done::default())
            }
            Self::ReissueEntitlement(request) => {
                let paying = entitlement::reissue(tx, settings, &request, by).await?;
                Ok(Done { operation_id: None, batch_id: paying.into_iter().find_map(|op| op.batch_id) })
            }
            Self::Reissue(list) => {
                let paying = reissue::execute(tx, settings, &list, by).await?;
                Ok(Done { operation_id: None, batch_id: paying.into_iter().find_map(|op| op.batch_id) })
            }
            Self::Reclaim(request) => Ok(Done::operation(&reclaim::request(tx, &request, by).await?)),
            Self::CancelOffering(request) => offering::end(tx, &request, by).await.map(|_| Done::default()),
            Self::Abandon(request) => Err(Error::Unreadable {
                what: "operation",
                id: request.operation_id,
                why: "it is given up by the engine alone, which asks the chain".to_owned(),
            }),
        }
    }

    /// The value that is stored and hashed.
    pub fn payload(&self) -> Result<Value> {
        serde_json::to_value(self).map_err(|e| unreadable("new", &e))
    }

    /// The action of a stored payload.
    pub fn read(approval_id: &str, payload: Value) -> Result<Self> {
        serde_json::from_value(payload).map_err(|e| unreadable(approval_id, &e))
    }
}

fn unreadable(id: &str, why: &serde_json::Error) -> Error {
    Error::Unreadable { what: "approval", id: id.to_owned(), why: why.to_string() }
}
