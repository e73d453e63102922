//! Every kind of operation under every fault, through the API: executed once, and reported when final.

mod abandon;
mod ask;
mod crash;
mod happy;
mod kind;
mod late;
mod reorg;
mod replay;
mod revert;
mod stage;
mod traces;
