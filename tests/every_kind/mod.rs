//! Every kind of operation under every fault, through the front api: what it does is done once, is told when it is final, and never twice.

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
