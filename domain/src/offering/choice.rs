//! What an issuer chooses from when it describes an offering.

crate::words! {
    /// The kind of asset.
    Template {
        /// Equity in real estate.
        RealEstateEquity = "real_estate_equity",
        /// Debt secured by real estate.
        RealEstateDebt = "real_estate_debt",
        /// Loan to a company.
        PrivateCredit = "private_credit",
        /// Units of a fund.
        FundUnits = "fund_units",
        /// A bond.
        Bond = "bond",
        /// Share of revenue.
        RevenueShare = "revenue_share",
    }
}

crate::words! {
    /// Who can see the offering.
    Visibility {
        /// Everybody.
        Public = "public",
        /// Users who are logged in.
        Members = "members",
        /// The issuer, staff and existing subscribers.
        Private = "private",
    }
}

impl Visibility {
    /// Lists for users who are logged in show these.
    pub const LISTED: [Self; 2] = [Self::Public, Self::Members];
}

crate::words! {
    /// When the identity must be approved.
    KycRequirement {
        /// Before a subscription.
        BeforeSubscribe = "before_subscribe",
        /// Before the mint.
        BeforeMint = "before_mint",
    }
}

crate::words! {
    /// When tokens are minted.
    IssuancePolicy {
        /// After each acceptance.
        Rolling = "rolling",
        /// After the offering is closed.
        OnClose = "on_close",
    }
}

crate::words! {
    /// How subscribers pay.
    PaymentMethod {
        /// Bank transfer.
        BankTransfer = "bank_transfer",
        /// Card.
        Card = "card",
        /// Stablecoin.
        Stablecoin = "stablecoin",
    }
}
