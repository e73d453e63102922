//! The engine's own limits, each with its unit last.

use muniment_activities::chain::gas::GasModel;
use muniment_domain::money::Money;
use muniment_domain::policy::{Limits, defaults};
use serde::{Deserialize, Serialize};

/// The `[engine]` section of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Limit of holders in one mint transaction. The gas cap of the chain can make it lower.
    pub mint_page_holders: usize,
    /// Gas of a mint page without its holders. With the next setting it gives the number of holders that the chain's gas cap allows.
    pub mint_page_gas: u64,
    /// Gas for each holder of a mint page.
    pub mint_holder_gas: u64,
    /// Amount from which a mint needs an approval, in the currency of its offering. Amounts minted on the same day without an approval are
    /// added.
    pub mint_dual_control_threshold: Money,
    /// Total from which a payout needs an approval, in the currency of its offering. Totals submitted on the same day without an approval
    /// are added.
    pub payout_dual_control_threshold: Money,
    /// The same for all mints of the day, whatever their offerings. Currencies count at par.
    pub mint_platform_dual_control_threshold: Money,
    /// The same for all payouts of the day, whatever their offerings.
    pub payout_platform_dual_control_threshold: Money,
    /// Days after which an investor may declare a higher income or net worth again. 0 means at any time.
    pub means_raise_days: u32,
    /// Hours until a pending approval expires.
    pub approval_hours: u32,
    /// Months for which an identity check is valid.
    pub kyc_months: u32,
    /// Months for which it is valid for a high-risk investor.
    pub kyc_months_at_high_risk: u32,
    /// Members that an issuer may invite in one day.
    pub issuer_invitations_per_day: u32,
    /// Share of the hard cap that one investor may reserve before a payment, in percent.
    pub unpaid_investor_percent: u32,
    /// Share of the hard cap that one investor may reserve before the identity is approved, in percent.
    pub unverified_investor_percent: u32,
    /// Share of the hard cap that all these investors may reserve together, in percent.
    pub unverified_total_percent: u32,
    /// Hours after which their subscriptions expire, unless the identity is approved or the amount is paid.
    pub unverified_hours: u32,
    /// Limit of holders in one payout transaction.
    pub payout_page_holders: usize,
    /// Smallest net amount that is paid. A smaller one is held.
    pub payout_dust_threshold: Money,
    /// Days until a binding subscription must be paid.
    pub payment_due_days: u32,
    /// Transient faults in one cycle after which an operation becomes a dead letter.
    pub attempts_max: u32,
    /// First pause after a transient fault, in seconds.
    pub backoff_base_seconds: u64,
    /// Longest pause after a transient fault, in seconds.
    pub backoff_cap_seconds: u64,
    /// Pause between two tries during an outage, in seconds.
    pub outage_pause_seconds: u64,
    /// Pause between two sweeps for overdue rows, in seconds.
    pub sweep_seconds: u64,
    /// Wakes that one process works on at once, for each class of operations.
    pub concurrency: usize,
    /// Limit of operations that one commit signs.
    pub sign_batch: usize,
    /// Limit of final steps that one commit settles. Of long calls it settles fewer.
    pub settle_batch: usize,
    /// Seconds that a stopping process waits for its current moves.
    pub drain_seconds: u64,
    /// Pause between two reads of each signer's nonce, balance and roles, in seconds.
    pub observe_seconds: u64,
    /// Hours for which finished jobs stay in the queue's tables.
    pub queue_retention_hours: u64,
}

impl Settings {
    /// The business limits of the configuration.
    pub fn limits(&self) -> Limits {
        Limits {
            mint_dual_control_threshold: self.mint_dual_control_threshold,
            payout_dual_control_threshold: self.payout_dual_control_threshold,
            mint_platform_dual_control_threshold: self.mint_platform_dual_control_threshold,
            payout_platform_dual_control_threshold: self.payout_platform_dual_control_threshold,
            means_raise_days: self.means_raise_days,
            payout_dust_threshold: self.payout_dust_threshold,
            payment_due_days: self.payment_due_days,
            approval_hours: self.approval_hours,
            kyc_months: self.kyc_months,
            kyc_months_at_high_risk: self.kyc_months_at_high_risk,
            issuer_invitations_per_day: self.issuer_invitations_per_day,
            unpaid_investor_percent: self.unpaid_investor_percent,
            unverified_investor_percent: self.unverified_investor_percent,
            unverified_total_percent: self.unverified_total_percent,
            unverified_hours: self.unverified_hours,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mint_page_holders: 200,
            mint_page_gas: GasModel::MINT_PAGE.base,
            mint_holder_gas: GasModel::MINT_PAGE.per_holder,
            mint_dual_control_threshold: Money::from_minor(25_000_000),
            payout_dual_control_threshold: Money::from_minor(1_000_000),
            mint_platform_dual_control_threshold: defaults::mint_platform_dual_control_threshold(),
            payout_platform_dual_control_threshold: defaults::payout_platform_dual_control_threshold(),
            means_raise_days: defaults::means_raise_days(),
            approval_hours: 72,
            kyc_months: 24,
            kyc_months_at_high_risk: 12,
            issuer_invitations_per_day: defaults::issuer_invitations_per_day(),
            unpaid_investor_percent: defaults::unpaid_investor_percent(),
            unverified_investor_percent: defaults::unverified_investor_percent(),
            unverified_total_percent: defaults::unverified_total_percent(),
            unverified_hours: defaults::unverified_hours(),
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
            settle_batch: 256,
            drain_seconds: 20,
            observe_seconds: 120,
            queue_retention_hours: 24,
        }
    }
}
