//! Why compliance acts on a holder or a partition: one of a list, so that it can be counted and told.

crate::words! {
    /// Why an address or a partition is frozen, locked or restricted, or set free again.
    Reason {
        /// A hit in the screening.
        Sanctions = "sanctions",
        /// A court or an authority ordered it.
        CourtOrder = "court_order",
        /// Something is being looked into.
        Investigation = "investigation",
        /// The identity must be proved anew.
        IdentityExpired = "identity_expired",
        /// The holder asked for it.
        HolderRequest = "holder_request",
        /// The holder has lost the wallet.
        LostWallet = "lost_wallet",
        /// The terms of the offering ask for it.
        OfferingTerms = "offering_terms",
        /// What was done before was a mistake.
        ErrorCorrection = "error_correction",
        /// The cause is gone.
        Resolved = "resolved",
    }
}

crate::words! {
    /// Why units are moved without their holder: only these.
    Force {
        /// A court or an authority ordered it.
        CourtOrder = "court_order",
        /// The holder is given back what was lost.
        Recovery = "recovery",
        /// What was done before was a mistake.
        ErrorCorrection = "error_correction",
        /// A hit in the screening.
        Sanctions = "sanctions",
    }
}

crate::words! {
    /// Why a subscription is turned down.
    Rejection {
        /// The identity could not be confirmed.
        Identity = "identity",
        /// A hit in the screening.
        Sanctions = "sanctions",
        /// Where the money comes from was not shown.
        SourceOfFunds = "source_of_funds",
        /// What is offered does not fit the investor.
        Unsuitable = "unsuitable",
        /// The money came from somebody else, or not as agreed.
        Payment = "payment",
        /// More was subscribed than is given out.
        Oversubscribed = "oversubscribed",
        /// The issuer does not take it.
        IssuerDecision = "issuer_decision",
    }
}
