//! One hash over many in their order, as in RFC 6962: whoever knows it needs a few hashes to see that one of them is among them.

use crate::canonical::sha256;

crate::words! {
    /// On which side of the way up a hash stands.
    Side {
        /// Before it.
        Left = "left",
        /// Behind it.
        Right = "right",
    }
}

/// A hash on the way up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Sibling {
    pub side: Side,
    pub hash: String,
}

/// The root over hashes in their order.
pub(super) fn root(hashes: &[String]) -> String {
    let mut level: Vec<_> = hashes.iter().map(|hash| leaf(hash)).collect();
    while level.len() > 1 {
        level = above(&level);
    }
    level.pop().unwrap_or_default()
}

/// What stands beside the way from one of them up to the root.
pub(super) fn way(hashes: &[String], mut index: usize) -> Vec<Sibling> {
    let mut level: Vec<_> = hashes.iter().map(|hash| leaf(hash)).collect();
    let mut way = Vec::new();
    while level.len() > 1 {
        let (beside, side) = if index.is_multiple_of(2) { (index + 1, Side::Right) } else { (index - 1, Side::Left) };
        // The last one of an odd number goes up as it is.
        way.extend(level.get(beside).map(|hash| Sibling { side, hash: hash.clone() }));
        (level, index) = (above(&level), index / 2);
    }
    way
}

fn above(level: &[String]) -> Vec<String> {
    level.chunks(2).map(|pair| if let [left, right] = pair { node(left, right) } else { pair[0].clone() }).collect()
}

// The bytes in front keep a leaf from being shown as an inner node.
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
    fn each_hash_leads_to_the_root_by_its_own_way_alone() {
        for count in 1..20 {
            let hashes: Vec<String> = (0..count).map(|number| sha256(&number.to_string())).collect();
            let whole = root(&hashes);
            let climbed = |index: usize, from: &str| {
                way(&hashes, index).iter().fold(leaf(from), |below, sibling| match sibling.side {
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
