//! Reasons of compliance actions: from a fixed list, so that they can be counted and reported.

crate::words! {
    /// Why an address or partition is frozen, locked or restricted, or released.
    Reason {
        /// A match in a sanctions screening.
        Sanctions = "sanctions",
        /// An order of a court or an authority.
        CourtOrder = "court_order",
        /// An investigation.
        Investigation = "investigation",
        /// The identity must be proved again.
        IdentityExpired = "identity_expired",
        /// The holder requested it.
        HolderRequest = "holder_request",
        /// The holder lost the wallet.
        LostWallet = "lost_wallet",
        /// The terms of the offering require it.
        OfferingTerms = "offering_terms",
        /// Correction of an error.
        ErrorCorrection = "error_correction",
        /// The cause no longer exists.
        Resolved = "resolved",
    }
}

crate::words! {
    /// Why units are moved without their holder. No other reason is allowed.
    ForceReason {
        /// An order of a court or an authority.
        CourtOrder = "court_order",
        /// Return of lost units to their holder.
        Recovery = "recovery",
        /// Correction of an error.
        ErrorCorrection = "error_correction",
        /// A match in a sanctions screening.
        Sanctions = "sanctions",
    }
}

crate::words! {
    /// Why a subscription is rejected.
    RejectionReason {
        /// The identity was not confirmed.
        Identity = "identity",
        /// A match in a sanctions screening.
        Sanctions = "sanctions",
        /// The source of funds was not shown.
        SourceOfFunds = "source_of_funds",
        /// The offering is not suitable for the investor.
        Unsuitable = "unsuitable",
        /// The payment came from somebody else or not as agreed.
        Payment = "payment",
        /// The offering is oversubscribed.
        Oversubscribed = "oversubscribed",
        /// The issuer's decision.
        IssuerDecision = "issuer_decision",
    }
}
