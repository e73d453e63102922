//! Ids: a TypeID has a prefix for its kind and a UUIDv7 in 26 characters that sort by time.

mod kind;
mod typed;

use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};

pub use kind::*;
pub use typed::{Id, IdKind};

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const SUFFIX_LENGTH: usize = 26;

/// The source of random bits: the system or a seed.
#[derive(Clone, Debug)]
pub enum Ids {
    /// The operating system.
    Random,
    /// A sequence from a seed, for replays.
    Seeded(Arc<Mutex<u64>>),
}

impl Ids {
    /// The same ids for the same seed and times.
    pub fn seeded(seed: u64) -> Self {
        Self::Seeded(Arc::new(Mutex::new(seed)))
    }

    /// Sixteen random bytes.
    pub fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0u8; 16];
        match self {
            Self::Random => {
                // Without a random source no id is safe, and nothing else can work either.
                getrandom::fill(&mut bytes).expect("the operating system has a random source");
            }
            Self::Seeded(state) => {
                let mut state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                for half in bytes.chunks_mut(8) {
                    half.copy_from_slice(&split_mix(&mut state).to_be_bytes());
                }
            }
        }
        bytes
    }

    /// Creates an id: an `OperationId` is `op_01k…`.
    pub fn new_id<K: IdKind>(&self, now: DateTime<Utc>) -> Id<K> {
        let mut bytes = self.bytes();
        let millis = u64::try_from(now.timestamp_millis()).unwrap_or(0).to_be_bytes();
        bytes[..6].copy_from_slice(&millis[2..]);
        // Version 7 and the variant of RFC 9562.
        bytes[6] = 0x70 | (bytes[6] & 0x0f);
        bytes[8] = 0x80 | (bytes[8] & 0x3f);
        Id::of_bits(u128::from_be_bytes(bytes))
    }
}

/// The next number of a SplitMix64 sequence.
pub fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The 26 characters of 128 bits.
fn encode(value: u128) -> String {
    (0..SUFFIX_LENGTH).rev().map(|i| char::from(ALPHABET[(value >> (5 * i)) as usize & 31])).collect()
}

/// The 128 bits of an id as a ULID, the form that the queue needs: the same alphabet in capitals.
pub fn ulid_of(id: &str) -> String {
    id.rsplit('_').next().unwrap_or_default().to_ascii_uppercase()
}

#[cfg(test)]
mod tests;
