//! Merkle trees as in RFC 6962: one root hash over an ordered list of hashes, with short proofs.

use crate::canonical::sha256;

crate::words! {
    /// The side of a sibling hash on the path to the root.
    Side {
        /// The sibling comes before.
        Left = "left",
        /// The sibling comes after.
        Right = "right",
    }
}

/// A sibling hash on the path to the root.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Sibling {
    pub side: Side,
    pub hash: String,
}

/// The root over hashes in this order.
pub(super) fn root(hashes: &[String]) -> String {
    let mut level: Vec<_> = hashes.iter().map(|hash| leaf(hash)).collect();
    while level.len() > 1 {
        level = above(&level);
    }
    level.pop().unwrap_or_default()
}

/// The sibling hashes from a leaf up to the root.
pub(super) fn path(hashes: &[String], mut index: usize) -> Vec<Sibling> {
    let mut level: Vec<_> = hashes.iter().map(|hash| leaf(hash)).collect();
    let mut path = Vec::new();
    while level.len() > 1 {
        let (beside, side) = if index.is_multiple_of(2) { (index + 1, Side::Right) } else { (index - 1, Side::Left) };
        // The last hash of an odd level has no sibling and moves up unchanged.
        path.extend(level.get(beside).map(|hash| Sibling { side, hash: hash.clone() }));
        (level, index) = (above(&level), index / 2);
    }
    path
}

fn above(level: &[String]) -> Vec<String> {
    level.chunks(2).map(|pair| if let [left, right] = pair { node(left, right) } else { pair[0].clone() }).collect()
}

// Leaves and inner nodes have different prefix bytes, so that a leaf cannot be presented as an inner node.
fn leaf(hash: &str) -> String {
    sha256(&format!("\0{hash}"))
}

fn node(left: &str, right: &str) -> String {
    sha256(&format!("\u{1}{left}{right}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hash_leads_to_the_root_only_by_its_own_path() {
        for count in 1..20 {
            let hashes: Vec<String> = (0..count).map(|number| sha256(&number.to_string())).collect();
            let whole = root(&hashes);
            let climbed = |index: usize, from: &str| {
                path(&hashes, index).iter().fold(leaf(from), |below, sibling| match sibling.side {
                    Side::Left => node(&sibling.hash, &below),
                    Side::Right => node(&below, &sibling.hash),
                })
            };
            for (index, hash) in hashes.iter().enumerate() {
                assert_eq!(climbed(index, hash), whole, "{index} of {count}");
                assert_ne!(climbed(index, "another"), whole, "{index} of {count}");
            }
            assert_ne!(root(&hashes[1..]), whole);
        }
    }
}
