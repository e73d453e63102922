//! Gas limits from estimates, and page sizes from gas limits.

/// Margin on an estimate in percent, because state can change between the estimate and the block.
const MARGIN_PERCENT: u64 = 20;

/// The call does not fit into one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the call needs {estimate} gas, above the cap of {cap} for one transaction; use a smaller page")]
pub struct AboveCap {
    /// The estimate of the node.
    pub estimate: u64,
    /// The cap of the chain.
    pub cap: u64,
}

/// The gas limit for an estimate: a fifth more, never above the cap.
pub fn limit(estimate: u64, cap: u64) -> Result<u64, AboveCap> {
    if estimate > cap {
        return Err(AboveCap { estimate, cap });
    }
    // In 128 bits, so that no estimate can overflow.
    let margin = u128::from(estimate) * u128::from(100 + MARGIN_PERCENT) / 100;
    Ok(u64::try_from(margin).unwrap_or(u64::MAX).min(cap))
}

/// The gas of a page: a fixed part and a part for each holder. A request is cut into pages by it, without asking a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GasModel {
    /// Gas of a page without holders.
    pub base: u64,
    /// Gas for each holder.
    pub per_holder: u64,
}

impl GasModel {
    /// A page that whitelists, mints and locks: measured, rounded up.
    pub const MINT_PAGE: GasModel = GasModel { base: 120_000, per_holder: 36_000 };
    /// A page that pays holders who never held the coin, directly or from escrow: measured, rounded up.
    pub const PAYOUT_PAGE: GasModel = GasModel { base: 120_000, per_holder: 32_000 };

    /// The gas of this number of holders in this number of pages.
    pub fn of_pages(self, pages: usize, holders: usize) -> u128 {
        u128::from(self.base) * pages as u128 + u128::from(self.per_holder) * holders as u128
    }
}

/// How many holders fit on a page so that its gas limit with margin stays below the cap; at least one.
pub fn page_holders_max(model: GasModel, cap: u64) -> usize {
    let room = (u128::from(cap) * 100 / u128::from(100 + MARGIN_PERCENT)).saturating_sub(u128::from(model.base));
    usize::try_from(room / u128::from(model.per_holder.max(1))).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_a_margin_but_stays_below_the_cap() {
        assert_eq!(limit(100_000, 16_000_000), Ok(120_000));
        assert_eq!(limit(15_000_000, 16_000_000), Ok(16_000_000));
        assert_eq!(limit(16_000_001, 16_000_000), Err(AboveCap { estimate: 16_000_001, cap: 16_000_000 }));
    }

    #[test]
    fn a_full_page_fits_with_its_margin() {
        for cap in [500_000, 8_000_000, 16_000_000, 32_000_000] {
            let holders = page_holders_max(GasModel::MINT_PAGE, cap) as u64;
            let GasModel { base, per_holder } = GasModel::MINT_PAGE;
            let estimate = base + per_holder * holders;
            assert!(limit(estimate, cap).is_ok_and(|limit| limit >= estimate), "{cap}");
            assert!(estimate * 12 / 10 <= cap && (estimate + per_holder) * 12 / 10 > cap, "{cap}");
        }
        assert_eq!(page_holders_max(GasModel::MINT_PAGE, 1), 1);
    }
}
