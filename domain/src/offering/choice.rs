//! What an issuer chooses from when it describes an offering.

use std::fmt;

use crate::error::UnknownWord;

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

/// The payment methods that an offering accepts, the usual one first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaymentMethods(pub Vec<PaymentMethod>);

impl PaymentMethods {
    /// The usual one.
    pub fn first(&self) -> Option<PaymentMethod> {
        self.0.first().copied()
    }
}

impl fmt::Display for PaymentMethods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(|method| method.as_str()).collect::<Vec<_>>().join(" "))
    }
}

// Used by sqlx to read the column.
impl TryFrom<String> for PaymentMethods {
    type Error = UnknownWord;

    fn try_from(text: String) -> Result<Self, UnknownWord> {
        text.split_whitespace().map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}
