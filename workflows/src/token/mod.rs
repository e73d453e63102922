//! Tokens: deploying them, minting them and reading them.
//!
//! # A deployment
//!
//! 1. `POST /blockchain/deploy-token` (`api/src/token/deploy.rs`) calls `deploy::request`. The offering must be approved, open, paused or
//!    closed, and must have no token. A live key refuses a second unfinished deployment.
//! 2. One commit writes the operation, its step with the calldata, its first history row, its wake and the idempotent answer. The answer is
//!    202.
//! 3. A worker takes the wake. `engine::process::intake` collects wakes that arrive together, and the chain simulates all their calls in
//!    one request. A certain revert ends the operation as `failed` with the decoded error; no nonce is used.
//! 4. `engine::process::submitter` keeps the prepared step until its lane has room. Then one commit writes nonces, signed bytes and
//!    `submitted` for many operations, and the bytes are sent.
//! 5. The follower finds the transaction in a block and stores the receipt together with its cursor.
//! 6. When the block is final, the receipt must contain `TokenDeployed` with our payload. One commit sets `confirmed` and the offering's
//!    token, and writes the event `offering.token_deployed`.
//!
//! # A mint
//!
//! `ARCHITECTURE.md` describes the life of a mint. More details:
//!
//! 1. `mint::ask` picks the accepted subscriptions and says why it skips others. Each page gets an operation number of the token, and
//!    each subscription an item. While an item is live, no other operation can have its subscription.
//! 2. Amounts minted without an approval add up over an offering and a day (UTC), in one guarded update in the commit of the request. So
//!    parts below the threshold count together. A request that was given up or repeated stays in the sum: at worst, an approver is needed.
//! 3. From `engine.mint_dual_control_threshold` on, `mint::ask` stores only an approval with the list (holder, wallet, units) as canonical
//!    JSON, and its hash. The approval computes the list again and compares. A changed list ends the approval as `execution_failed`.
//! 4. `split` cuts a page that would revert because of some lines, before it is signed or when a person retries it. The page ends as
//!    `failed`, abandoned, `page_split`; the new operations belong to the same batch. A page that reverts for another reason, such as a
//!    cap, stays whole, because no line of it is the cause.
//! 5. `mint::settle` marks the subscriptions `minted` in the commit that confirms the page. It writes no balance: balances come from the
//!    token's events (`engine::ledger`).
//!
//! # Reads for portals
//!
//! `GET /v1/offerings/{id}/token…` asks the contract itself, at the newest block, by its hash (`view`). All requests of one second see one
//! block. Equal questions about a block cost the node one request; later callers wait for the same answer. Everything else that is shown of
//! a token, portfolios too, comes from the ledger, which has final blocks only.

pub mod deploy;
mod kind;
pub mod mint;
pub mod mint_list;
pub mod split;
pub mod view;

pub use kind::{DeployToken, Mint};
