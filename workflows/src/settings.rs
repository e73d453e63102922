//! The engine's own limits, each with its unit last.

use muniment_activities::gas::GasModel;
use muniment_domain::money::Money;
use serde::{Deserialize, Serialize};

/// The `[engine]` section of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How many holders one mint transaction carries at most; the gas cap of the chain may make it fewer.
    pub mint_page_holders: usize,
    /// Gas of a mint page before its first holder; with the next one it says how many holders the gas cap of the chain allows.
    pub mint_page_gas: u64,
    /// Gas of each holder of a mint page.
    pub mint_holder_gas: u64,
    /// From which amount on a mint needs a second person, in the currency of its offering. What was minted of it that day without one
    /// counts with it.
    pub mint_dual_control_threshold: Money,
    /// From which total on the execution of a payout needs a second person, in the currency of its offering. What was offered for
    /// execution that day without one counts with it.
    pub payout_dual_control_threshold: Money,
    /// How long an approval waits for a second person, in hours.
    pub approval_hours: u32,
    /// How long the approval of an investor's identity holds, in months.
    pub kyc_months: u32,
    /// How long it holds for somebody of high risk, in months.
    pub kyc_months_at_high_risk: u32,
    /// How many holders one payout transaction pays at most.
    pub payout_page_holders: usize,
    /// What an investor must at least get to be paid now; less is held.
    pub payout_dust_threshold: Money,
    /// How long a subscription may stay unpaid after it became binding, in days.
    pub payment_due_days: u32,
    /// How many transient faults of one cycle are borne before an operation is a dead letter.
    pub attempts_max: u32,
    /// The first pause after a transient fault, in seconds.
    pub backoff_base_seconds: u64,
    /// The longest pause, in seconds.
    pub backoff_cap_seconds: u64,
    /// How long an operation waits before it looks again whether an outage is over, in seconds.
    pub outage_pause_seconds: u64,
    /// How often overdue operations are looked for, in seconds.
    pub sweep_seconds: u64,
    /// How many wakes one process works on at once, for each class of operations.
    pub concurrency: usize,
    /// How many operations one commit signs at most.
    pub sign_batch: usize,
    /// How many final steps one commit settles at most.
    pub settle_batch: usize,
    /// How long a stopping process waits for moves under way, in seconds.
    pub drain_seconds: u64,
    /// How often the counts, the balance and the role of each signer are looked up, in seconds.
    pub observe_seconds: u64,
    /// How long finished jobs stay in the queue's tables, in hours.
    pub queue_retention_hours: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mint_page_holders: 200,
            mint_page_gas: GasModel::MINT_PAGE.base,
            mint_holder_gas: GasModel::MINT_PAGE.per_holder,
            mint_dual_control_threshold: Money::from_minor(25_000_000),
            payout_dual_control_threshold: Money::from_minor(1_000_000),
            approval_hours: 72,
            kyc_months: 24,
            kyc_months_at_high_risk: 12,
            payout_page_holders: 200,
            payout_dust_threshold: Money::from_minor(1),
            payment_due_days: 10,
            attempts_max: 10,
            backoff_base_seconds: 2,
            backoff_cap_seconds: 300,
            outage_pause_seconds: 15,
            sweep_seconds: 3,
            concurrency: 64,
            sign_batch: 64,
            settle_batch: 64,
            drain_seconds: 20,
            observe_seconds: 120,
            queue_retention_hours: 24,
        }
    }
}
