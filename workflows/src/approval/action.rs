//! The actions that need an approval, each with its request. This is the only list of them.

use muniment_domain::db::Tx;
use muniment_domain::id::{ApprovalId, BatchId, OperationId};
use muniment_domain::operation::Operation;
use muniment_domain::user::Role;
use muniment_domain::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval_request::About;
use crate::compliance;
use crate::investor::{erasure, suspension};
use crate::operator::{abandon, chain_history, close_nonce};
use crate::payout::{approval as payout_approval, entitlement, reclaim, reissue};
use crate::requester::Requester;
use crate::settings::Settings;
use crate::staff::{access, api_key, policy};
use crate::token::{mint, mint_list};
use crate::{offering, staff};

/// A requested action, in the form in which it is stored, hashed, shown and executed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Mints exactly this list, whose amount reaches the threshold.
    Mint(mint_list::MintList),
    /// Approves the payout of exactly this list, whose total reaches the threshold.
    Payout(payout_approval::PayoutList),
    /// Excludes an entitlement permanently.
    ExcludeEntitlement(entitlement::Request),
    /// Pays a failed or released entitlement again.
    ReissueEntitlement(entitlement::Request),
    /// Pays exactly this list of failed or released entitlements again.
    Reissue(reissue::ReissueList),
    /// Ends a list early, so that its escrow is returned.
    Reclaim(reclaim::Request),
    /// Abandons an operation that moves value.
    Abandon(abandon::Request),
    /// Closes a used nonce that nothing explains.
    CloseNonce(close_nonce::Request),
    /// Accepts the new history of a halted chain.
    AcceptHistory(chain_history::Request),
    /// Cancels an offering.
    CancelOffering(offering::Request),
    /// Ends the suspension of an investor.
    Reinstate(suspension::Reinstate),
    /// Erases an investor's personal data.
    EraseInvestor(erasure::Request),
    /// Invites a new member of staff.
    Invite(staff::Invite),
    /// Changes the roles of a member of staff.
    SetRoles(staff::SetRoles),
    /// Disables or enables a member of staff, or ends the sessions.
    ChangeAccess(access::Request),
    /// Creates a platform API key.
    CreateApiKey(api_key::Request),
    /// Replaces the business limits.
    ChangePolicies(policy::Change),
    /// Makes a compliance operation. Its own `action` field tells which.
    #[serde(untagged)]
    Compliance(compliance::Request),
}

/// The result of an executed action.
#[derive(Clone, Debug, Default)]
pub struct ExecutionResult {
    /// The operation, if there is one.
    pub operation_id: Option<OperationId>,
    /// The batch, if there are several.
    pub batch_id: Option<BatchId>,
}

impl ExecutionResult {
    /// The result with one operation.
    fn operation(op: &Operation) -> Self {
        Self { operation_id: Some(op.id.clone()), batch_id: None }
    }
}

impl Action {
    /// The name of the action.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Mint(_) => mint_list::ACTION,
            Self::Payout(_) => payout_approval::ACTION,
            Self::ExcludeEntitlement(_) => "exclude_entitlement",
            Self::ReissueEntitlement(_) => "reissue_entitlement",
            Self::Reissue(_) => "reissue",
            Self::Reclaim(_) => "reclaim",
            Self::Abandon(_) => "abandon",
            Self::CloseNonce(_) => "close_nonce",
            Self::AcceptHistory(_) => "accept_history",
            Self::CancelOffering(_) => offering::CANCEL,
            Self::Reinstate(_) => "reinstate",
            Self::EraseInvestor(_) => "erase_investor",
            Self::Invite(_) => "invite",
            Self::SetRoles(_) => "set_roles",
            Self::ChangeAccess(_) => access::ACTION,
            Self::CreateApiKey(_) => api_key::ACTION,
            Self::ChangePolicies(_) => "change_policies",
            Self::Compliance(request) => request.row().action,
        }
    }

    /// The roles that can approve it.
    pub const fn approver_roles(&self) -> &'static [Role] {
        match self {
            Self::Mint(_)
            | Self::Payout(_)
            | Self::ExcludeEntitlement(_)
            | Self::ReissueEntitlement(_)
            | Self::Reissue(_)
            | Self::Reclaim(_)
            | Self::Abandon(_)
            | Self::CloseNonce(_)
            | Self::CancelOffering(_)
            | Self::Reinstate(_)
            | Self::EraseInvestor(_)
            | Self::Compliance(_) => &[Role::Operator, Role::Admin],
            Self::Invite(_)
            | Self::SetRoles(_)
            | Self::ChangeAccess(_)
            | Self::CreateApiKey(_)
            | Self::ChangePolicies(_)
            | Self::AcceptHistory(_) => &[Role::Admin],
        }
    }

    /// Whether only admins can approve it. There may be only one admin.
    pub fn takes_admins(&self) -> bool {
        self.approver_roles() == [Role::Admin]
    }

    /// Whether its execution must ask the chain. Such an action is executed by the engine, not in the commit of the approval.
    pub const fn asks_chain(&self) -> bool {
        matches!(self, Self::Abandon(_) | Self::CloseNonce(_) | Self::AcceptHistory(_))
    }

    /// What the approval shows.
    pub fn about(&self) -> About {
        match self {
            Self::Mint(list) => list.about(),
            Self::Payout(list) => list.about(),
            Self::ExcludeEntitlement(request) => payout_approval::about(request, self.word()),
            Self::ReissueEntitlement(request) => payout_approval::about(request, self.word()),
            Self::Reissue(list) => list.about(),
            Self::Reclaim(request) => request.about(),
            Self::Abandon(request) => request.about(),
            Self::CloseNonce(request) => request.about(),
            Self::AcceptHistory(request) => request.about(),
            Self::CancelOffering(request) => request.about(),
            Self::Reinstate(request) => request.about(),
            Self::EraseInvestor(request) => request.about(),
            Self::Invite(request) => request.about(),
            Self::SetRoles(request) => request.about(),
            Self::ChangeAccess(request) => request.about(),
            Self::CreateApiKey(request) => request.about(),
            Self::ChangePolicies(change) => change.about(),
            Self::Compliance(request) => request.about(),
        }
    }

    /// Refuses an action that could not be executed now. Changes nothing.
    pub async fn check(&self, tx: &mut Tx, settings: &Settings) -> Result<()> {
        match self {
            Self::Mint(list) => mint_list::check(tx, settings, list).await,
            Self::Payout(list) => payout_approval::check(tx, list).await,
            Self::ExcludeEntitlement(request) => entitlement::check_exclusion(tx, request).await,
            Self::ReissueEntitlement(request) => entitlement::check_reissue(tx, request).await.map(|_| ()),
            Self::Reissue(list) => reissue::check(tx, list).await,
            Self::Reclaim(request) => reclaim::check(tx, request).await,
            Self::Abandon(request) => abandon::check(tx, request).await,
            Self::CloseNonce(request) => close_nonce::check(tx, request).await,
            Self::AcceptHistory(request) => chain_history::check(tx, request).await,
            Self::CancelOffering(request) => offering::check(tx, request).await,
            Self::Reinstate(request) => request.check(tx).await,
            Self::EraseInvestor(request) => request.check(tx).await,
            Self::Invite(request) => request.check(tx).await,
            Self::SetRoles(request) => request.check(tx).await,
            Self::ChangeAccess(request) => request.check(tx).await,
            Self::CreateApiKey(request) => request.check(tx).await,
            Self::ChangePolicies(change) => change.check(tx, settings).await,
            Self::Compliance(request) => compliance::check(tx, request).await,
        }
    }

    /// Executes the action.
    pub async fn execute(self, tx: &mut Tx, settings: &Settings, by: &Requester) -> Result<ExecutionResult> {
        match self {
            Self::Mint(list) => {
                let accepted = mint::request_list(tx, settings, list, by).await?;
                Ok(ExecutionResult { operation_id: None, batch_id: Some(accepted.batch_id) })
            }
            Self::Reinstate(request) => request.execute(tx, by).await.map(|()| ExecutionResult::default()),
            Self::EraseInvestor(request) => request.execute(tx).await.map(|()| ExecutionResult::default()),
            Self::Invite(request) => request.execute(tx).await.map(|()| ExecutionResult::default()),
            Self::SetRoles(request) => request.execute(tx).await.map(|()| ExecutionResult::default()),
            Self::ChangeAccess(request) => request.execute(tx).await.map(|_| ExecutionResult::default()),
            // The requester collects the key later, because nobody else may see its secret.
            Self::CreateApiKey(request) => request.check(tx).await.map(|()| ExecutionResult::default()),
            Self::ChangePolicies(change) => change.execute(tx, settings, by).await.map(|()| ExecutionResult::default()),
            Self::Compliance(request) => {
                let op = compliance::request(tx, &request, by).await?;
                match op.batch_id {
                    // The operation on one token is named; the others are found by the batch.
                    Some(batch_id) => Ok(ExecutionResult { operation_id: Some(op.id), batch_id: Some(batch_id) }),
                    None => Ok(ExecutionResult::operation(&op)),
                }
            }
            Self::Payout(list) => {
                payout_approval::agree(tx, &list, by).await?;
                Ok(ExecutionResult::default())
            }
            Self::ExcludeEntitlement(request) => {
                entitlement::exclude(tx, &request, by).await?;
                Ok(ExecutionResult::default())
            }
            Self::ReissueEntitlement(request) => {
                let paying = entitlement::reissue(tx, settings, &request, by).await?;
                Ok(ExecutionResult { operation_id: None, batch_id: paying.into_iter().find_map(|op| op.batch_id) })
            }
            Self::Reissue(list) => {
                let paying = reissue::execute(tx, settings, &list, by).await?;
                Ok(ExecutionResult { operation_id: None, batch_id: paying.into_iter().find_map(|op| op.batch_id) })
            }
            Self::Reclaim(request) => Ok(ExecutionResult::operation(&reclaim::request(tx, &request, by).await?)),
            Self::CancelOffering(request) => offering::end(tx, &request, by).await.map(|_| ExecutionResult::default()),
            Self::Abandon(_) | Self::CloseNonce(_) | Self::AcceptHistory(_) => Err(Error::Unreadable {
                what: "approval of",
                id: self.about().subject_id,
                why: "only the engine can execute it, because that asks the chain".to_owned(),
            }),
        }
    }

    /// The payload that is stored and hashed.
    pub fn payload(&self) -> Result<Value> {
        serde_json::to_value(self).map_err(|e| unreadable("new", &e))
    }

    /// Reads an action from a stored payload.
    pub fn read(approval_id: &ApprovalId, payload: Value) -> Result<Self> {
        serde_json::from_value(payload).map_err(|e| unreadable(approval_id, &e))
    }
}

fn unreadable(id: &str, why: &serde_json::Error) -> Error {
    Error::Unreadable { what: "approval", id: id.to_owned(), why: why.to_string() }
}
