//! Investors: identity checks, suspension, erasure and proof of a wallet.
//!
//! 1. **Identity.** `POST /v1/investor/kyc` seals the submitted data with a key that the database does not have; no answer contains the
//!    data. Each move of the status (`muniment_domain::investor::state`) adds one row to `kyc_decisions`, which never change, and one
//!    event.
//! 2. **End of an approval.** An approval expires by a timer. The commit that ends it for any reason holds the investor's entitlements that
//!    the payer has not signed yet, and leaves the investor out of mints that wait (`kyc::approval_ended`). A calculation at the same moment
//!    locks the same distribution, and a mint the same offering, so one of the two sees the other. A list of the distributor pays as it
//!    was declared: there a freeze on the chain holds the investor.
//! 3. **Suspension.** It suggests freezes and makes none: a freeze is an operation of a token.
//! 4. **Wallets.** Claiming an address takes it from nobody. It belongs to the investor who signs the platform's text with its key
//!    (`wallet_proof`). A contract wallet is asked, with no transaction open.
//! 5. **Export.** `GET /v1/investor/export` reads all data of a person in one transaction, as of one moment.
//! 6. **Erasure.** `Action::EraseInvestor` removes the personal data (`muniment_domain::erasure`) in the commit of the approval, if nothing
//!    is owed, held or in progress. Ledger and audit log keep ids without a name. It locks the investor's row like a commitment does, so
//!    one of the two sees the other.
//! 7. **Own record.** An investor who joins the staff keeps the record. Only another member of the staff decides about it, or about a
//!    wallet or an entitlement of it (`own_record`).

pub mod erasure;
pub mod kyc;
pub mod suspension;
pub mod wallet_proof;
