#![doc = include_str!("../README.md")]

pub mod abandon;
pub mod advance;
mod backoff;
pub mod cancel;
mod catch_up;
mod conclude;
pub mod deploy;
pub mod effect;
pub mod engine;
pub mod failure;
pub mod finalise;
pub mod follow;
pub mod keeper;
pub mod lane;
pub mod mark_confirmed;
pub mod mint;
pub mod poll;
pub mod prepare;
pub mod queue;
pub mod requester;
pub mod retry;
pub mod settings;
pub mod submit;
pub mod submitter;
pub mod sweep;
pub mod tend;
pub mod worker;
